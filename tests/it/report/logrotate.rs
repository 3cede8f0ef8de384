//! Runs before, between and after rotations of every mode, with the newest log given alone, with
//! its siblings, by its folder and by a glob: the totals are those of one `scan` over all lines.
//!
//! The server pauses during rotations, so that even `copytruncate` loses nothing.

use super::harness::{QUICK, entries, full, report_ok};
use super::site::{LOG, Site};
use crate::follow::logrotate::Logrotate;
use crate::harness::Harness;

/// How the log is given on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LogArgument {
    Alone,
    /// As a shell expands `access.log*`: the files that exist when the run starts.
    WithSiblings,
    Folder,
    Pattern,
}

const GIVEN: [LogArgument; 4] = [
    LogArgument::Alone,
    LogArgument::WithSiblings,
    LogArgument::Folder,
    LogArgument::Pattern,
];

impl LogArgument {
    fn run(self, harness: &Harness) {
        let siblings: Vec<_> = entries(&harness.path("log"))
            .into_iter()
            .map(|(name, _)| format!("log/{name}"))
            .collect();
        let paths = match self {
            Self::Alone => vec![LOG],
            Self::WithSiblings => siblings.iter().map(String::as_str).collect(),
            Self::Folder => vec!["log"],
            Self::Pattern => vec!["log/access.log*"],
        };
        let args = [&QUICK[..], &paths].concat();
        report_ok(harness, &args);
    }
}

/// Whether the server still writes to the rotated file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Writes {
    On,
    Not,
}

/// After which of the steps a run is made: one bit per step.
const RUNS: [u32; 5] = [
    0b1111_1111,
    0b1000_0001,
    0b1010_1011,
    0b1001_0101,
    0b1100_0001,
];

/// Writes and rotates, with runs in between, and sums up.
fn rotated(directives: &str, writes: Writes) {
    for (n, given) in GIVEN.into_iter().enumerate() {
        // In the short test: a run at each step, and one other set of steps for each way of giving
        // the log.
        for (_, runs) in RUNS
            .into_iter()
            .enumerate()
            .filter(|&(m, _)| full() || m == 0 || m == n + 1)
        {
            let harness = Harness::new();
            let mut site = Site::new(&harness);
            let Some(logrotate) =
                Logrotate::new(&format!("logrotate, {directives}"), &harness, directives)
            else {
                return;
            };
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
            site.assert_complete(&format!(
                "{directives:?}, {given:?}, {writes:?}, runs {runs:#b}"
            ));
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

/// Two rotations within a second get different names here, because the real names would be the
/// same.
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
        let Some(logrotate) =
            Logrotate::new(&format!("logrotate, {directives}"), &harness, directives)
        else {
            return;
        };
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
        site.assert_complete(&format!("{directives:?}, {given:?}"));
    }
}

/// A first run after rotations: with the folder or a glob it reads all of them.
#[test]
fn a_first_run_after_rotations() {
    for given in [
        LogArgument::WithSiblings,
        LogArgument::Folder,
        LogArgument::Pattern,
    ] {
        let harness = Harness::new();
        let mut site = Site::new(&harness);
        let Some(logrotate) = Logrotate::new(
            "a first run after rotations",
            &harness,
            "create\ncompress\ndelaycompress",
        ) else {
            return;
        };
        for _ in 0..3 {
            site.write(5);
            logrotate.rotate();
            site.reopen();
        }
        site.write(5);
        given.run(&harness);
        site.assert_complete(&format!("{given:?}"));
        logrotate.rotate();
        site.reopen();
        site.write(5);
        given.run(&harness);
        site.assert_complete(&format!("{given:?}, and a rotation"));
    }
}

/// The way of giving the log changes from run to run.
#[test]
fn one_log_with_several_names() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    let Some(logrotate) = Logrotate::new("one log by several names", &harness, "create\ncompress")
    else {
        return;
    };
    for round in 0..8 {
        site.write(5);
        GIVEN[round % 4].run(&harness);
        site.assert_complete(&format!("round {round}"));
        site.write(2);
        logrotate.rotate();
        site.reopen();
    }
}
