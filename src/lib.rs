//! Reports who is probing a web site, for what, and which probes were answered, from its access
//! logs.
//!
//! A [`Scanner`] matches the lines of logs against a [`RuleSet`] and makes a [`Report`]: rows of
//! clients, paths and answers, and the JSON, CSV and text that the `probewatch` command prints. It
//! reads the formats of nginx, Apache and many others, compressed or not, and detects them line by
//! line.
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
//! # The way of a line
//!
//! Each step knows only what the step before it made. Here is one line, and what it is after each
//! step; the module that does the step stands on the left.
//!
//! ```text
//! input     203.0.113.66 - - [02/Nov/2026:08:07:09 +0000] "GET /%2eGIT/config?v=1 HTTP/1.1" 200 268 "-" "curl/8.5.0"
//!           a log is opened, decompressed and cut into chunks of whole lines
//! formats   LogEntry { client: 203.0.113.66, time: 08:07:09, request: GET /%2eGIT/config?v=1 HTTP/1.1, status: 200, bytes: 268 }
//!           the fields of the line, found by its format
//! text      path: /.git/config   query: v=1
//!           the target, decoded and in lower case
//! engine    [vcs/git]
//!           the rules of `rules` that match: literals first, then regular expressions
//! tally     (203.0.113.66, /.GIT/config, status 200, 268 bytes, [vcs/git]) -> 1 hit, first and last at 08:07:09
//!           hits are counted, in bounded memory; counts of parts of a log merge into the counts of the whole log
//! judge     outcome: answered, answer: distinct, severity: critical
//!           what needs the whole log is decided, as whether the answer differs from what the site answers to any path
//! report    Row { client: 203.0.113.66, path: /.GIT/config, outcome: answered, answer: distinct, severity: critical, hits: 1 }
//!           hits are grouped by client, path and rule, and sorted
//! render    critical  /.GIT/config  200  268  vcs/git  1  203.0.113.66  2026-11-02 08:07
//!           a table, CSV, JSON or a page; text is escaped, and what looks like a password or a token is masked
//! ```
//!
//! The first five steps run in parallel, over whole logs or as logs grow (`scan`). What always
//! holds, each by a test:
//!
//! - Parsing never fails: a line is read in a format, or matched as raw text and counted as
//!   unparsed. No line is lost or counted twice.
//! - Whether a line matches depends on that line alone. What depends on other lines is a function
//!   of the merged counts, so the same logs give the same report with any number of threads, in any
//!   parts, mapped or read.
//! - The time is that of the log. Nothing is fetched. No text of a log is printed but escaped.
//!
//! # Where to add
//!
//! - A log format: a table in `src/formats/builtin.toml`. A rule: a table in `rules/`. Neither
//!   needs code.
//! - A flag: its declaration in `src/config/flags.rs`, its name in the sets of `src/cli/args.rs`,
//!   and its use.
//! - A column of CSV: a line in `COLUMNS` of `src/render/csv.rs`, and its name in the tables that
//!   have it.
//! - An output format: a file in `src/render`, and its arm in `render`.

// The modules are in layers: a module uses only modules of lower layers, and in layer 0 there are
// no cycles. A test reads this table and checks all `use` paths against it.
//
// | layer | modules |
// | --- | --- |
// | 10 | `cli` · `internals` |
// | 9 | `config` |
// | 8 | `commands` |
// | 7 | `api` · `tui` |
// | 6 | `render` · `state` |
// | 5 | `report` |
// | 4 | `judge` |
// | 3 | `scan` |
// | 2 | `alerting` · `block` · `engine` · `server_config` |
// | 1 | `alert_sinks` · `formats` · `geoip` · `input` · `report_store` · `rules` · `tally` |
// | 0 | `collections` · `log` · `os` · `soft_404` · `text` |

#![cfg_attr(
    not(feature = "internals"),
    allow(unreachable_pub, reason = "items that only `internals` exports")
)]

mod alert_sinks;
mod alerting;
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
mod judge;
mod log;
mod os;
mod render;
mod report;
mod report_store;
mod rules;
mod scan;
mod server_config;
mod soft_404;
mod state;
mod tally;
mod text;
mod tui;

pub use api::{Error, Report, ReportedInput, ReportedRow, ReportedSample, Scanner};
pub use log::finding::Severity;
pub use render::GroupBy;
pub use rules::{Rule, RuleChoice, RuleSet};
pub use scan::input_summary::LineTotals;

#[doc(hidden)]
pub use os::allocator::Allocator;

/// Runs the command line of the process. For the `probewatch` binary.
#[doc(hidden)]
#[must_use]
pub fn run() -> std::process::ExitCode {
    cli::run().into()
}
