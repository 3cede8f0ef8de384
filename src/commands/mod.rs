//! What the subcommands do, one file each: wiring only. How a run ends and what it says on the way is here as well.

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

mod server_logs;
mod settings;
mod signals;
pub mod stdout;

pub use exit::Exit;
pub use settings::{
    Anonymize, ClientSettings, DiffSettings, FollowSettings, LearnSettings, MergeSettings, ReportFilterSettings, ReportSettings,
    ReportTask, ScanSettings, StateSettings,
};
