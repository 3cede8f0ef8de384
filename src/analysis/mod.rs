//! Decides what the hits of a run mean: which rules apply on each site, what answered, who is a prober, what is new.
//!
//! Everything here is a pure function of merged tallies, so a report is the same for any number of threads and any
//! split of a log. This module reads no log, prints nothing and knows no command-line flags; renderers print
//! [`model::Report`].

pub mod anonymize;
pub mod block_candidates;
pub mod build;
mod campaigns;
pub mod diff;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod floods;
pub mod hit;
pub(crate) mod labels;
pub mod learn;
pub mod merge;
pub mod model;
pub mod notes;
pub mod novelty;
pub mod path_answer;
mod rows;
pub mod rule_status;
pub mod site;
pub mod snapshot;
mod soft_404;
pub mod status;
pub mod timeline;
