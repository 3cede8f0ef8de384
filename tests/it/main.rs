//! Runs the binary on real files, as a user would. One program, so that it links once.

#![allow(missing_docs, reason = "tests say what they do in their names")]

mod laws;
mod rig;
mod samples;
