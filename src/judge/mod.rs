//! Decides what the hits of merged tallies mean: which rules apply on each site, which answers
//! stand out, and who is a prober.
//!
//! A decision about a log, in [`LogAnalysis`](rule_status::LogAnalysis), is a pure function of its
//! merged tallies, so it is the same for any number of threads and any split of the log. The same
//! decisions are made one line at a time for live logs
//! ([`LiveAnalysis`](rule_status::LiveAnalysis)). This module makes no rows, reads no log and
//! prints nothing.

pub(crate) mod flood_index;
pub(crate) mod guesses;
mod probe_answers;
pub(crate) mod prober;
pub(crate) mod proxied;
pub(crate) mod report_input;
pub(crate) mod rule_status;
pub(crate) mod site;
