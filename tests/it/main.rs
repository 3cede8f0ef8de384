//! Runs the binary on real files, as a user would. One program, so that it links once.

#![allow(missing_docs, reason = "tests say what they do in their names")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what a test needs and cannot have is its failure")]

mod addresses;
mod answers;
mod budget;
mod cases;
mod changing;
mod choice;
mod clients;
mod content;
mod context;
mod detection;
mod evasions;
mod explain;
mod files;
mod floors;
mod follow;
mod formats;
mod hostile;
mod laws;
mod learn;
mod live_view;
mod memory;
mod merge;
mod ordinary;
mod outputs;
mod packed;
mod packing;
mod privacy;
mod report;
mod resources;
mod rig;
mod rules_cli;
mod samples;
mod servers;
