//! Renders a finished report, and lets no byte of a log out unescaped.
//!
//! Renderers write what [`model`] holds; they read no log, judge nothing and know no command line.

mod csv;
mod facts;
#[cfg(test)]
mod fixture;
mod json;
pub mod mask;
pub mod model;
pub mod ndjson;
pub mod sanitize;
pub mod sink;

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Aligned text for a person.
    #[default]
    Table,
    /// One CSV table.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object a hit.
    Ndjson,
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// A client, a path and an outcome.
    #[default]
    Pair,
    /// A client.
    Client,
    /// A path.
    Path,
    /// A rule.
    Rule,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// On a terminal that can.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
