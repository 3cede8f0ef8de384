//! Makes the report: rows, answers, campaigns and what is new, from merged tallies and the
//! decisions of [`judge`](crate::judge).
//!
//! Everything here is a pure function of them, so a report is the same for any number of threads
//! and any split of a log, and saved reports merge into the report of all logs. This module prints
//! nothing and does not depend on command-line flags; renderers print [`model::ReportModel`].

pub(crate) mod anonymize;
pub(crate) mod answers;
pub(crate) mod block_candidates;
pub(crate) mod block_list;
mod block_traffic;
pub(crate) mod build;
pub(crate) mod campaigns;
pub(crate) mod class_hits;
pub(crate) mod diff;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod floods;
pub(crate) mod hit;
pub(crate) mod labels;
pub(crate) mod learn;
pub(crate) mod live_scan;
pub(crate) mod merge;
pub(crate) mod model;
pub(crate) mod networks;
pub(crate) mod notes;
pub(crate) mod novelty;
pub(crate) mod path_answer;
mod rows;
pub(crate) mod snapshot;
mod soft_404;
pub(crate) mod status;
mod third_party;
pub(crate) mod timeline;
pub(crate) mod verify;
pub(crate) mod withdrawn;
