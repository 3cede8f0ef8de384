//! Integration tests that run the binary on real files. One program, so that it is linked once.
//!
//! Comments that start with a letter and a number, such as `E10`, refer to a case in the project's
//! list of faults: A files that change, B content, C compression, D paths, E rotation, F state, G
//! outputs, H hostile text, I clients, J resources, K privileges.

#![allow(missing_docs, reason = "tests say what they do in their names")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test needs and cannot have is its failure"
)]

mod addresses;
mod answers;
mod block;
mod block_programs;
mod cases;
mod changing_logs;
mod clients;
mod compressed;
mod compression;
mod content;
mod context;
mod detection;
mod discovery;
mod evasions;
mod explain;
mod exports;
mod files;
mod follow;
mod formats;
mod geoip;
mod harness;
mod hostile;
mod html;
mod incident;
mod input_selection;
mod invariants;
mod layers;
mod leaks;
mod learn;
mod library;
mod live_view;
mod memory;
mod memory_budget;
mod merge;
mod ordinary;
mod outputs;
mod privacy;
mod ranges;
mod readme;
mod report;
mod resources;
mod rules_cli;
mod samples;
mod schema;
mod screens;
mod secrets;
mod servers;
mod spark;
mod users;
mod verify;
