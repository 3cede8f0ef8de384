//! Runs the binary on real files, as a user would. One program, so that it links once.

#![allow(missing_docs, reason = "tests say what they do in their names")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what a test needs and cannot have is its failure")]

mod addresses;
mod answers;
mod cases;
mod changing_logs;
mod clients;
mod compressed;
mod compression;
mod content;
mod context;
mod detection;
mod evasions;
mod explain;
mod files;
mod follow;
mod formats;
mod harness;
mod hostile;
mod input_selection;
mod invariants;
mod layers;
mod learn;
mod live_view;
mod memory;
mod memory_budget;
mod merge;
mod ordinary;
mod outputs;
mod privacy;
mod report;
mod resources;
mod rules_cli;
mod samples;
mod schema;
mod servers;
