//! `report` as a process: runs from cron between writes, rotations and kills, and their output.
//!
//! The oracle is one `scan` over every line that was written: the reports of all runs add up to it
//! (`harness`). Tests that need root or a missing program are skipped with a message.

mod block_lists;
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
mod unreadable;
mod week;
