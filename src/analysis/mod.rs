//! Decides what the hits of a run mean: which rules apply on each site, what answered, who is a prober, what is new.
//!
//! Everything here is a pure function of merged tallies, so a report is the same for any number of threads and any
//! split of a log. This module reads no log, prints nothing and does not depend on command-line flags; renderers print
//! [`model::ReportModel`].

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
mod flood_index;
pub(crate) mod floods;
pub(crate) mod guesses;
pub(crate) mod hit;
pub(crate) mod labels;
pub(crate) mod learn;
pub(crate) mod merge;
pub(crate) mod model;
pub(crate) mod networks;
pub(crate) mod notes;
pub(crate) mod novelty;
pub(crate) mod path_answer;
mod probe_answers;
mod prober;
pub(crate) mod proxied;
pub(crate) mod report_input;
mod rows;
pub(crate) mod rule_status;
pub(crate) mod site;
pub(crate) mod snapshot;
mod soft_404;
pub(crate) mod status;
mod third_party;
pub(crate) mod timeline;
pub(crate) mod verify;
pub(crate) mod withdrawn;
