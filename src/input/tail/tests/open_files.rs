//! More logs than files may be open.

use std::fs;

use super::read_once::OneShotRuns;
use super::{FILE_LIMITS, TailHarness, append, line, lines, number_of};
use crate::input::tail::StartPosition;

/// Number of logs in these tests.
const LOGS: usize = 40;

fn log(number: usize) -> String {
    format!("site{number:02}.log")
}

impl TailHarness {
    /// Follows a folder with at most `max_open` open files.
    fn with_limit(max_open: usize) -> Self {
        let mut harness = Self::new(&["."], true, |_| {});
        harness.options.max_open = max_open;
        harness.restart(Vec::new());
        harness
    }

    /// Writes one line to each log.
    fn write_each(&self, round: usize) {
        for number in 0..LOGS {
            self.append(&log(number), &line(round * LOGS + number));
        }
    }

    /// Asserts that every line was returned once, in any order of the logs.
    fn assert_each_once(&self, count: usize) {
        let mut numbers: Vec<_> = self.lines().iter().map(|text| number_of(text)).collect();
        numbers.sort_unstable();
        assert_eq!(
            numbers,
            (0..count).map(Some).collect::<Vec<_>>(),
            "{:?}",
            self.notices
        );
    }
}

#[test]
fn logs_are_followed_through_rotations_with_few_open_files() {
    for max_open in [0, 1, 5, LOGS] {
        let mut harness = TailHarness::with_limit(max_open);
        harness.write_each(0);
        harness.wait(2);
        for rotation in 1..4 {
            for number in 0..LOGS {
                for old in (1..rotation).rev() {
                    harness.rename(
                        &format!("{}.{old}", log(number)),
                        &format!("{}.{}", log(number), old + 1),
                    );
                }
                // A line that is written just before the rotation, and one in the next file.
                harness.append(&log(number), &line(2 * rotation * LOGS - LOGS + number));
                harness.rename(&log(number), &format!("{}.1", log(number)));
                harness.append(&log(number), &line(2 * rotation * LOGS + number));
            }
            harness.poll_and_read();
            assert!(
                harness.tail.open_files <= max_open,
                "{} of {max_open} files are open",
                harness.tail.open_files
            );
            harness.wait(2);
        }
        harness.assert_each_once(7 * LOGS);
        assert!(harness.notices.is_empty(), "{:?}", harness.notices);
    }
}

#[test]
fn a_file_that_was_deleted_while_it_was_closed_is_reported() {
    for max_open in FILE_LIMITS {
        let mut harness = TailHarness::with_limit(max_open);
        harness.append("site.log", &lines(0..5));
        harness.wait(2);
        // The last line is only in a deleted file by the next poll.
        harness.append("site.log", &line(5));
        harness.append("next", &lines(6..8));
        harness.rename("next", "site.log");
        harness.wait(3);
        let numbers: Vec<_> = harness
            .lines()
            .iter()
            .filter_map(|text| number_of(text))
            .collect();
        let lost: Vec<_> = harness
            .notices
            .iter()
            .filter(|notice| notice.contains("was removed while it was closed"))
            .collect();
        if max_open == 0 {
            assert_eq!(
                (numbers, lost.len()),
                ([0, 1, 2, 3, 4, 6, 7].to_vec(), 1),
                "{:?}",
                harness.notices
            );
            assert!(
                lost[0].contains(&format!("after byte {}", lines(0..5).len())),
                "{}",
                lost[0]
            );
        } else {
            assert_eq!(
                (numbers, lost.len()),
                ((0..8).collect(), 0),
                "{:?}",
                harness.notices
            );
        }
    }
}

#[test]
fn a_file_that_is_read_to_its_end_is_closed_before_others() {
    let mut harness = TailHarness::with_limit(2);
    harness.append("a.log", &line(0));
    harness.append("b.log", &line(1));
    harness.poll_and_read();
    // Both were read. One of them makes room for the new log, whose line is not read yet.
    harness.append("c.log", &line(2));
    harness.wait(1);
    harness.append("c.log", &line(3));
    harness.poll();
    harness.rename("c.log", "away");
    fs::remove_file(harness.path("away")).unwrap();
    harness.wait(3);
    harness.assert_each_once(4);
}

#[test]
fn all_logs_are_read_once_with_few_open_files() {
    for max_open in FILE_LIMITS {
        let mut runs = OneShotRuns {
            max_open,
            ..OneShotRuns::new()
        };
        for run in 0..3 {
            for number in 0..LOGS {
                let path = runs.path(&log(number));
                if run == 2 {
                    fs::rename(&path, runs.path(&format!("{}.1", log(number)))).unwrap();
                }
                append(&path, &line(run * LOGS + number));
            }
            let mut numbers = runs.run_with(&[""], StartPosition::Start);
            numbers.sort_unstable();
            assert_eq!(
                numbers,
                (run * LOGS..(run + 1) * LOGS).map(Some).collect::<Vec<_>>(),
                "run {run}: {:?}",
                runs.notices
            );
            assert!(runs.notices.is_empty(), "{:?}", runs.notices);
        }
    }
}

/// One scan finds more siblings than may be open.
#[test]
fn all_siblings_are_read_in_order_with_few_open_files() {
    for max_open in FILE_LIMITS {
        let mut runs = OneShotRuns {
            max_open,
            ..OneShotRuns::new()
        };
        for number in 0..LOGS {
            let name = format!("access.log.{}", LOGS - number);
            append(&runs.path(&name), &lines(number * 20..number * 20 + 20));
            if number % 2 == 0 {
                super::gzip(&runs.path(&name));
            }
        }
        append(&runs.path("access.log"), &lines(LOGS * 20..LOGS * 20 + 5));
        let numbers = runs.run_with(&["access.log"], StartPosition::Start);
        assert_eq!(
            numbers,
            (0..LOGS * 20 + 5).map(Some).collect::<Vec<_>>(),
            "{:?}",
            runs.notices
        );
    }
}
