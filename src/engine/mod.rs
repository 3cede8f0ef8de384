//! Matches log lines against rules: the same bytes always result in the same verdict, whatever the
//! thread or the chunk size.
//!
//! Pure: it reads no file, clock or terminal, and it cannot fail. What depends on other lines is
//! decided elsewhere.

mod candidates;
pub(crate) mod explain;
mod line_scanner;
mod matcher;
mod newline_index;
mod parsed_request;
mod path_interner;
mod verdict_cache;
mod worker_state;

pub(crate) use self::verdict_cache::{SharedCache, Verdict};
pub use line_scanner::{LineScanner, ScanOptions};
pub use matcher::Matcher;
pub(crate) use parsed_request::ParsedRequest;
pub use worker_state::WorkerState;

#[cfg(test)]
mod tests;
