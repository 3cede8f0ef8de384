//! The subcommands, a file or folder each, and what they share: settings, errors, exit codes and messages.

mod common;
pub mod diff;
mod error;
pub mod explain;
pub mod follow;
pub mod formats;
pub mod learn;
pub mod merge;
pub mod message;
pub mod reference;
pub mod report;
mod rule_context;
pub mod rules;
pub mod scan;

mod server_logs;
mod settings;
mod signals;
pub mod stdout;

pub use self::error::Exit;
pub use settings::{
    Anonymize, ClientSettings, DiffSettings, FollowSettings, LearnSettings, MergeSettings, ReportFilterSettings, ReportSettings,
    ReportTask, ScanSettings, StateSettings,
};
