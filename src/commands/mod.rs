//! What the subcommands do, one file each: wiring only. How a run ends and what it says on the way is here as well.

mod brief;
pub mod completions;
pub mod diff;
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
mod reports;
pub mod rules;
mod run;
pub mod scan;
pub mod schema;
mod screen;
mod servers;
mod settings;
mod signals;
mod statistics;
pub mod stdout;

pub use exit::Exit;
pub use settings::{
    Anonymize, ClientSettings, DiffSettings, FollowSettings, LearnSettings, MergeSettings, ReportSettings, RetoldSettings, Settings,
    StateSettings, Task,
};
