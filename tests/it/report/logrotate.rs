//! Runs before, between and after rotations of every mode (point 2), with the newest log given alone, with its siblings, by
//! its folder and by a pattern: the totals are those of one `scan` over all lines.
//!
//! The server waits for each rotation, so that even `copytruncate` destroys nothing.

use super::harness::{QUICK, entries, full, well};
use super::site::{LOG, Site};
use crate::follow::logrotate::Logrotate;
use crate::harness::Harness;

/// How the log is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Given {
    Alone,
    /// As a shell does with `access.log*`: whatever is there when the run starts.
    WithSiblings,
    Folder,
    Pattern,
}

const GIVEN: [Given; 4] = [Given::Alone, Given::WithSiblings, Given::Folder, Given::Pattern];

impl Given {
    fn run(self, harness: &Harness) {
        let siblings: Vec<_> = entries(&harness.path("log")).into_iter().map(|(name, _)| format!("log/{name}")).collect();
        let paths = match self {
            Self::Alone => vec![LOG],
            Self::WithSiblings => siblings.iter().map(String::as_str).collect(),
            Self::Folder => vec!["log"],
            Self::Pattern => vec!["log/access.log*"],
        };
        let args = [&QUICK[..], &paths].concat();
        well(harness, &args);
    }
}

/// Whether the server still writes into what was moved away.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Writes {
    On,
    Not,
}

/// Between which of the steps a run is made: a bit a step.
const RUNS: [u32; 5] = [0b1111_1111, 0b1000_0001, 0b1010_1011, 0b1001_0101, 0b1100_0001];

/// Writes and rotates, with runs in between, and adds up.
fn rotated(directives: &str, writes: Writes) {
    for (n, given) in GIVEN.into_iter().enumerate() {
        // Not in full: a run at each step, and one of the other ways with each way of naming.
        for (_, runs) in RUNS.into_iter().enumerate().filter(|&(m, _)| full() || m == 0 || m == n + 1) {
            let harness = Harness::new();
            let mut site = Site::new(&harness);
            let Some(logrotate) = Logrotate::new(&format!("logrotate, {directives}"), &harness, directives) else { return };
            let mut step = 0;
            let mut run = |site: &Site<'_>| {
                if runs & (1 << step) != 0 {
                    given.run(site.harness);
                }
                step += 1;
            };
            site.write(10);
            run(&site);
            site.write(5);
            logrotate.rotate();
            if writes == Writes::On {
                site.write(3);
                run(&site);
                site.write(2);
            } else {
                run(&site);
            }
            site.reopen();
            site.write(5);
            run(&site);
            logrotate.rotate();
            site.reopen();
            run(&site);
            logrotate.rotate();
            site.reopen();
            site.write(4);
            site.begin_line(40);
            run(&site);
            site.finish_line();
            run(&site);
            logrotate.rotate();
            site.reopen();
            run(&site);
            site.write(1);
            run(&site);
            site.settle(&format!("{directives:?}, {given:?}, {writes:?}, runs {runs:#b}"));
        }
    }
}

#[test]
fn create() {
    rotated("create", Writes::On);
    rotated("create", Writes::Not);
}

#[test]
fn nocreate() {
    rotated("nocreate", Writes::On);
}

#[test]
fn copytruncate() {
    rotated("copytruncate", Writes::Not);
}

#[test]
fn compress() {
    rotated("create\ncompress", Writes::Not);
}

#[test]
fn copytruncate_and_compress() {
    rotated("copytruncate\ncompress", Writes::Not);
}

#[test]
fn delaycompress() {
    rotated("create\ncompress\ndelaycompress", Writes::On);
}

#[test]
fn copytruncate_and_delaycompress() {
    rotated("copytruncate\ncompress\ndelaycompress", Writes::Not);
}

/// Two rotations within a second have names of their own here: a number that counts nanoseconds is not to be had.
#[test]
fn dateext() {
    dated("create\ndateext\ndateformat -%Y%m%d-%s");
}

#[test]
fn dateext_and_compress() {
    dated("create\ndateext\ndateformat -%Y%m%d-%s\ncompress\ndelaycompress");
}

/// As [`rotated`], but with two rotations: each takes a second.
fn dated(directives: &str) {
    for given in GIVEN {
        let harness = Harness::new();
        let mut site = Site::new(&harness);
        let Some(logrotate) = Logrotate::new(&format!("logrotate, {directives}"), &harness, directives) else { return };
        site.write(10);
        given.run(&harness);
        for _ in 0..2 {
            site.write(5);
            logrotate.rotate();
            site.write(2);
            site.reopen();
            site.write(3);
            given.run(&harness);
        }
        site.settle(&format!("{directives:?}, {given:?}"));
    }
}

/// A first run that comes after rotations: by the folder or a pattern it reads them all.
#[test]
fn a_first_run_after_rotations() {
    for given in [Given::WithSiblings, Given::Folder, Given::Pattern] {
        let harness = Harness::new();
        let mut site = Site::new(&harness);
        let Some(logrotate) = Logrotate::new("a first run behind rotations", &harness, "create\ncompress\ndelaycompress") else { return };
        for _ in 0..3 {
            site.write(5);
            logrotate.rotate();
            site.reopen();
        }
        site.write(5);
        given.run(&harness);
        site.settle(&format!("{given:?}"));
        logrotate.rotate();
        site.reopen();
        site.write(5);
        given.run(&harness);
        site.settle(&format!("{given:?}, and a rotation"));
    }
}

/// The way of naming changes from run to run.
#[test]
fn one_log_with_several_names() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    let Some(logrotate) = Logrotate::new("one log by several names", &harness, "create\ncompress") else { return };
    for round in 0..8 {
        site.write(5);
        GIVEN[round % 4].run(&harness);
        site.settle(&format!("round {round}"));
        site.write(2);
        logrotate.rotate();
        site.reopen();
    }
}
