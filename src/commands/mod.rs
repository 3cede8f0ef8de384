//! The subcommands, a file or folder each, and what they share: settings, errors, exit codes and messages.

mod common;
pub mod completions;
pub mod diff;
mod error;
mod exit;
pub mod explain;
pub mod follow;
pub mod formats;
pub mod learn;
pub mod man;
pub mod merge;
pub mod message;
mod progress;
pub mod report;
mod report_files;
mod rule_context;
pub mod rules;
pub mod scan;
pub mod schema;

mod server_logs;
mod settings;
mod signals;
pub mod stdout;

pub use exit::Exit;
pub use settings::{
    Anonymize, ClientSettings, DiffSettings, FollowSettings, LearnSettings, MergeSettings, ReportFilterSettings, ReportSettings,
    ReportTask, ScanSettings, StateSettings,
};
