//! `follow` as a process: writers of numbered lines, the real logrotate and nginx, pauses, kills
//! and restarts.
//!
//! The oracle is the disk: each line that is there at the end was reported once (`oracle`). Tests
//! that need root or a missing program are skipped with a message. Lines that a rotation destroyed
//! do not count.

mod actions;
mod alerts;
mod answers;
mod descriptors;
mod floods;
pub(crate) mod follower;
mod geoip;
mod guesses;
mod identity;
mod lines;
pub(crate) mod logrotate;
mod names;
mod oracle;
mod outlets;
mod pipe;
mod privilege;
mod recipes;
mod rotation;
mod server;
mod signals;
mod state;
mod unit;
mod unparsed;
mod waking;
mod writer;

use std::fs;
use std::process::Command;

use crate::harness::{Harness, skip};

use follower::{Follower, FollowerOutput};
use oracle::{exactly_once, on_disk};
use writer::Writer;

/// A folder `log` with ten lines in `access.log`.
fn stage() -> (Harness, Writer) {
    let harness = Harness::new();
    fs::create_dir(harness.path("log")).unwrap();
    let mut writer = Writer::open(harness.path("log/access.log"));
    writer.write(10);
    (harness, writer)
}

/// Waits for all lines on disk and for one more, stops the follower, and compares.
fn assert_complete(
    harness: &Harness,
    mut follower: Follower,
    writer: &mut Writer,
) -> FollowerOutput {
    follower.until_seen(on_disk(&harness.path("log")).into_keys());
    writer.reopen();
    writer.write(1);
    follower.until_seen([writer.next() - 1]);
    let output = follower.end();
    exactly_once(&on_disk(&harness.path("log")), &[&output.hits]).unwrap();
    output
}

/// A command that starts in its own mount namespace, if the system allows that; `line` is shell and
/// ends with `exec "$0" "$@"`.
fn mounting(test: &str, harness: &Harness, line: &str, args: &[&str]) -> Option<Command> {
    // Root needs no user namespace; others get one if the system has them.
    let flags = ["-m", "-Urm"]
        .into_iter()
        .find(|flags| works(Command::new("unshare").args([flags, "true"])));
    let Some(flags) = flags else {
        skip(test, "no name space for mounts: needs root");
        return None;
    };
    let probe = line.replace(r#"exec "$0" "$@""#, "true");
    if !works(
        Command::new("unshare")
            .args([flags, "sh", "-ec", &probe])
            .current_dir(harness.path("")),
    ) {
        skip(test, "the mount is not allowed here");
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args([flags, "sh", "-ec", line, crate::harness::EXE])
        .args(follower::FOLLOW)
        .args(args)
        .current_dir(harness.path(""));
    Some(command)
}

pub(crate) fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
