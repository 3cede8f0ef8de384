//! The subcommands, a file or folder each, and what they share: settings, errors, exit codes and
//! messages.

pub(crate) mod block;
mod common;
pub(crate) mod diff;
mod error;
pub(crate) mod explain;
pub(crate) mod follow;
pub(crate) mod formats;
pub(crate) mod learn;
pub(crate) mod merge;
pub(crate) mod message;
mod metrics;
pub(crate) mod reference;
pub(crate) mod report;
mod reports_and_logs;
pub(crate) mod rules;
pub(crate) mod scan;

mod server_logs;
mod settings;
mod signals;
pub(crate) mod stdout;
pub(crate) mod verify;

pub(crate) use self::error::Exit;
pub(crate) use settings::{
    Anonymize, BlockSettings, ClientSettings, FollowSettings, LearnSettings, ReportSettings,
    ReportTask, ScanSettings, StateSettings, VerifySettings,
};
