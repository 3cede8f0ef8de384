//! Reports who is probing a web site, for what, and which probes were answered, from its access logs.
//!
//! A [`Scanner`] matches the lines of logs against a [`RuleSet`] and makes a [`Report`]: rows of clients, paths and answers, and
//! the JSON, CSV and text that the `probewatch` command prints. It reads the formats of nginx, Apache and many others, compressed
//! or not, and detects them line by line.
//!
//! # Examples
//!
//! Lines from a reader:
//!
//! ```
//! use probewatch::{RuleSet, Scanner};
//!
//! let log = br#"203.0.113.66 - - [02/Nov/2026:08:07:09 +0000] "GET /.git/config HTTP/1.1" 200 268 "-" "curl/8.5.0"
//! 203.0.113.66 - - [02/Nov/2026:08:07:10 +0000] "GET /.env HTTP/1.1" 404 153 "-" "curl/8.5.0"
//! 192.0.2.10 - - [02/Nov/2026:08:07:12 +0000] "GET /about/ HTTP/1.1" 200 3377 "-" "Mozilla/5.0"
//! "#;
//! let scanner = Scanner::new(RuleSet::builtin()?);
//! let report = scanner.scan_reader("access.log", log.as_slice())?;
//!
//! for client in report.clients() {
//!     println!("{}: {} probes, {} answered, {}", client.client, client.hits, client.answered, client.rules.join(" "));
//! }
//! assert_eq!(report.counts().lines, 3);
//! assert_eq!(report.clients()[0].client, "203.0.113.66");
//! assert_eq!(report.clients()[0].rules, ["dotfiles/env", "vcs/git"]);
//! assert_eq!(report.answers()[0].path, "/.git/config");
//! # Ok::<(), probewatch::Error>(())
//! ```
//!
//! All logs in a folder, as a table and as JSON:
//!
//! ```
//! use std::io;
//!
//! use probewatch::{RuleSet, Scanner, Severity};
//!
//! let report = Scanner::new(RuleSet::builtin()?).min_severity(Severity::Medium).scan_path("samples")?;
//! report.write_table(100, io::stdout())?;
//! let mut json = Vec::new();
//! report.write_json(&mut json)?;
//! # assert!(json.starts_with(b"{"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a log becomes a report
//!
//! 1. Logs are opened, decompressed and cut into chunks of whole lines.
//! 2. The fields of each line are found.
//! 3. The request target is normalized and matched against the rules: literals first, then regular expressions. A line that
//!    matches is a hit.
//! 4. Hits are counted, in bounded memory. Counts of parts of a log merge into the counts of the whole log.
//! 5. What needs the whole log is decided, such as which answers differ from what the site answers to any path, and the rows are
//!    built.
//! 6. The report is written as a table, CSV, JSON or a page. Text is escaped, and what looks like a password or a token is masked.
//!
//! Steps 1 to 4 run in parallel. The same logs give the same report, with any number of threads.

// The modules are in layers: a module uses only modules of lower layers, and in layer 0 there are no cycles. A test reads this
// table and checks all `use` paths against it.
//
// | layer | modules |
// | --- | --- |
// | 8 | `cli` · `internals` |
// | 7 | `config` |
// | 6 | `commands` |
// | 5 | `api` · `tui` |
// | 4 | `render` · `scan` · `state` |
// | 3 | `analysis` |
// | 2 | `alerting` · `block` · `engine` · `server_config` |
// | 1 | `alert_sinks` · `formats` · `geoip` · `input` · `report_store` · `rules` · `tally` |
// | 0 | `collections` · `log` · `os` · `soft_404` · `text` |
//
// Of the steps above, `input` does the first, `formats` the second, `engine` with `rules` the third, `tally` the fourth,
// `analysis` the fifth, and `render` with `text` the sixth. `scan` runs the first four, over whole logs or as logs grow.

#![cfg_attr(not(feature = "internals"), allow(unreachable_pub, reason = "items that only `internals` exports"))]

mod alert_sinks;
mod alerting;
mod analysis;
mod api;
mod block;
mod cli;
mod collections;
mod commands;
mod config;
mod engine;
mod formats;
mod geoip;
mod input;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod log;
mod os;
mod render;
mod report_store;
mod rules;
mod scan;
mod server_config;
mod soft_404;
mod state;
mod tally;
mod text;
mod tui;

pub use analysis::model::LineTotals;
pub use api::{Error, Report, ReportedInput, ReportedRow, ReportedSample, Scanner};
pub use log::finding::Severity;
pub use render::GroupBy;
pub use rules::{Rule, RuleChoice, RuleSet};

#[doc(hidden)]
pub use os::allocator::Allocator;

/// Runs the command line of the process. For the `probewatch` binary.
#[doc(hidden)]
#[must_use]
pub fn run() -> std::process::ExitCode {
    cli::run().into()
}
