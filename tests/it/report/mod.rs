//! `report` as a process: runs from cron between writes, rotations and kills, and what they leave.
//!
//! The oracle is one `scan` over every line that was ever written: the reports of all runs add up to it (`harness`). What
//! needs root, or a program that is missing, says so and is left out by name.

mod blocks;
mod compressed;
mod crash;
mod every_call;
mod harness;
mod interrupt;
mod logrotate;
mod mail;
mod mounts;
mod novelty;
mod outputs;
mod overlap;
mod periods;
mod retention;
mod samples;
mod site;
mod sites;
mod state;
mod week;
