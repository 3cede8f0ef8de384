//! All kinds of rotations, with and without a stall, and with restarts in between.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::{TailHarness, line, lines};

#[test]
fn new_lines_are_returned_once() {
    let mut harness = TailHarness::new(&["access.log"], false, |folder| fs::write(folder.join("access.log"), lines(100..120)).unwrap());
    assert!(harness.emitted.is_empty());
    for number in 0..20 {
        harness.append("access.log", &line(number));
        harness.poll_and_read();
        harness.poll_and_read();
    }
    harness.assert_numbers(20);
    assert_eq!(harness.emitted[0].number, 21);
    assert_eq!(harness.emitted[0].offset, lines(100..120).len() as u64);
}

#[test]
fn a_partial_line_is_held() {
    let mut harness = TailHarness::new(&["access.log"], false, |folder| fs::write(folder.join("access.log"), "old\nhalf ").unwrap());
    harness.wait(70);
    assert!(harness.emitted.is_empty());
    harness.append("access.log", "a li");
    harness.poll_and_read();
    harness.append("access.log", "ne\nnext");
    harness.wait(1);
    assert_eq!(harness.lines(), ["half a line"]);
}

#[test]
fn a_renamed_log_is_read_to_its_end() {
    let mut harness = TailHarness::from_start();
    let mut writer = File::create(harness.path("access.log")).unwrap();
    writer.write_all(lines(0..10).as_bytes()).unwrap();
    harness.poll_and_read();
    writer.write_all(lines(10..20).as_bytes()).unwrap();
    harness.rename("access.log", "access.log.1");
    writer.write_all(lines(20..25).as_bytes()).unwrap();
    harness.poll_and_read();
    writer.write_all(&line(25).as_bytes()[..10]).unwrap();
    harness.poll_and_read();
    writer.write_all(&line(25).as_bytes()[10..]).unwrap();
    harness.poll_and_read();
    harness.append("access.log", &lines(26..30));
    harness.wait(80);
    harness.assert_numbers(30);
}

#[test]
fn late_lines_of_a_closed_log_are_returned() {
    let mut harness = TailHarness::from_start();
    let mut writer = File::create(harness.path("access.log")).unwrap();
    writer.write_all(lines(0..10).as_bytes()).unwrap();
    harness.poll_and_read();
    harness.rename("access.log", "access.log.1");
    harness.append("access.log", &lines(10..20));
    harness.wait(100);
    writer.write_all(lines(20..25).as_bytes()).unwrap();
    harness.wait(16);
    harness.assert_numbers(25);
    assert_eq!(harness.emitted[24].number, 15);
    assert_eq!(harness.emitted[24].generation, harness.emitted[0].generation);
}

#[test]
fn a_truncated_log_is_finished_in_its_copy() {
    for compressed in [false, true] {
        let mut harness = TailHarness::from_start();
        harness.append("access.log", &lines(0..10));
        harness.poll_and_read();
        harness.append("access.log", &lines(10..40));
        harness.copy_truncate("access.log", "access.log.1");
        if compressed {
            harness.gzip("access.log.1");
        }
        // Larger than before, so that the size does not show the truncation.
        harness.append("access.log", &lines(40..120));
        harness.wait(100);
        harness.assert_numbers(120);
    }
}

#[test]
fn a_copy_made_before_all_was_read_is_not_read() {
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &lines(0..10));
    harness.poll_and_read();
    fs::copy(harness.path("access.log"), harness.path("access.log.1")).unwrap();
    harness.append("access.log", &lines(10..20));
    harness.poll_and_read();
    OpenOptions::new().write(true).open(harness.path("access.log")).unwrap().set_len(0).unwrap();
    harness.poll_and_read();
    harness.append("access.log", &lines(20..30));
    harness.wait(100);
    harness.assert_numbers(30);
}

#[test]
fn missed_rotations_are_read_in_order() {
    for (compressed, copied) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut harness = TailHarness::from_start();
        harness.append("access.log", &lines(0..10));
        harness.poll_and_read();
        harness.append("access.log", &lines(10..20));
        for rotation in 0..3 {
            for old in (1..3).rev() {
                for ending in ["", ".gz"] {
                    let from = harness.path(&format!("access.log.{old}{ending}"));
                    if from.exists() {
                        fs::rename(from, harness.path(&format!("access.log.{}{ending}", old + 1))).unwrap();
                    }
                }
            }
            if copied {
                harness.copy_truncate("access.log", "access.log.1");
            } else {
                harness.rename("access.log", "access.log.1");
            }
            if compressed {
                harness.gzip("access.log.1");
            }
            harness.append("access.log", &lines(20 + rotation * 10..30 + rotation * 10));
        }
        harness.wait(100);
        harness.assert_numbers(50);
    }
}

#[test]
fn a_log_moved_away_and_back_is_read_once() {
    for seconds in [1, 100] {
        let mut harness = TailHarness::from_start();
        harness.append("access.log", &lines(0..10));
        harness.poll_and_read();
        harness.rename("access.log", "away");
        harness.wait(seconds);
        harness.rename("away", "access.log");
        harness.append("access.log", &lines(10..20));
        harness.wait(10);
        harness.assert_numbers(20);
    }
}

#[test]
fn a_restart_continues_at_the_checkpoint() {
    for how in ["nothing", "rename", "copytruncate", "compress", "copycompress"] {
        let mut harness = TailHarness::from_start();
        harness.append("access.log", &lines(0..10));
        harness.poll_and_read();
        let state = harness.tail.checkpoints();
        harness.append("access.log", &lines(10..20));
        match how {
            "rename" => harness.rename("access.log", "access.log.1"),
            "compress" => {
                harness.rename("access.log", "access.log.1");
                harness.gzip("access.log.1");
            }
            "copytruncate" => harness.copy_truncate("access.log", "access.log.1"),
            "copycompress" => {
                harness.copy_truncate("access.log", "access.log.1");
                harness.gzip("access.log.1");
            }
            _ => {}
        }
        harness.append("access.log", &lines(20..60));
        harness.restart(state);
        harness.wait(100);
        harness.assert_numbers(60);
    }
}

#[test]
fn a_reused_inode_is_another_log() {
    let mut harness = TailHarness::from_start();
    for round in 0..5 {
        harness.append("access.log", &lines(round * 10..round * 10 + 10));
        harness.poll_and_read();
        fs::remove_file(harness.path("access.log")).unwrap();
        if round % 2 == 0 {
            harness.wait(70);
        }
    }
    harness.assert_numbers(50);
}

#[test]
fn a_missing_log_is_waited_for() {
    let mut harness = TailHarness::new(&["access.log"], false, |_| {});
    harness.wait(10);
    assert_eq!(harness.notices.len(), 1, "{:?}", harness.notices);
    harness.append("access.log", "x\n");
    harness.wait(1);
    assert_eq!(harness.lines(), ["x"]);
    fs::remove_file(harness.path("access.log")).unwrap();
    harness.wait(10);
    harness.append("access.log", "y\n");
    harness.wait(1);
    assert_eq!(harness.lines(), ["x", "y"]);
    assert_eq!(harness.notices.len(), 4, "{:?}", harness.notices);
}

#[test]
fn existing_siblings_are_read_only_from_the_start() {
    let prepare = |folder: &Path| {
        fs::write(folder.join("access.log.2"), lines(0..10)).unwrap();
        super::gzip(&folder.join("access.log.2"));
        fs::write(folder.join("access.log.1"), lines(10..20)).unwrap();
        fs::write(folder.join("access.log"), lines(20..30)).unwrap();
    };
    for names in [&["access.log"][..], &["."], &["*"]] {
        let mut harness = TailHarness::new(names, false, prepare);
        harness.wait(10);
        assert!(harness.emitted.is_empty());
        let mut harness = TailHarness::new(names, true, prepare);
        harness.wait(10);
        harness.assert_numbers(30);
    }
}

#[test]
fn a_file_that_appears_in_a_folder_is_read_whole() {
    for names in [&["."][..], &["*.log"]] {
        let mut harness = TailHarness::new(names, false, |folder| fs::write(folder.join("a.log"), lines(100..120)).unwrap());
        harness.append("b.log", &lines(0..5));
        harness.wait(2);
        harness.rename("b.log", "b.log.1");
        harness.append("b.log", &lines(5..10));
        harness.wait(2);
        harness.assert_numbers(10);
    }
}

#[test]
fn a_truncation_just_before_a_rename_is_detected() {
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &lines(0..20));
    harness.poll_and_read();
    harness.append("access.log", &lines(20..30));
    harness.copy_truncate("access.log", "access.log.1");
    harness.append("access.log", &lines(30..90));
    harness.rename("access.log.1", "access.log.2");
    harness.rename("access.log", "access.log.1");
    harness.append("access.log", &lines(90..100));
    harness.wait(100);
    harness.assert_numbers(100);
}

#[test]
fn logs_are_read_in_turn() {
    let mut harness = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("a.log"), lines(0..1000)).unwrap();
        fs::write(folder.join("b.log"), lines(1000..1005)).unwrap();
    });
    let last_of_b = harness.emitted.iter().position(|emitted| emitted.log == harness.emitted.last().unwrap().log).unwrap();
    assert!(last_of_b < 20, "{last_of_b}");
    assert_eq!(harness.emitted.len(), 1005);
    harness.poll_and_read();
    assert_eq!(harness.emitted.len(), 1005);
}

#[test]
fn a_generation_is_new_before_its_first_line() {
    let mut harness = TailHarness::from_start();
    assert!(!harness.tail.has_new_generation());
    harness.append("access.log", &lines(0..3));
    harness.poll();
    assert!(harness.tail.has_new_generation());
    let state = harness.tail.checkpoints();
    assert!(!harness.tail.has_new_generation());
    harness.poll_and_read();
    assert!(state.iter().any(|checkpoint| checkpoint.generation == harness.emitted[0].generation && checkpoint.offset == 0));
    assert_eq!(harness.tail.logs().map(|log| (log.offset, log.lag, log.live)).collect::<Vec<_>>(), [(lines(0..3).len() as u64, 0, true)]);
}

#[test]
fn an_incomplete_compressed_copy_is_waited_for() {
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &lines(0..300));
    harness.poll_and_read();
    harness.append("access.log", &lines(300..600));
    harness.copy_truncate("access.log", "access.log.1");
    harness.gzip("access.log.1");
    let complete = fs::read(harness.path("access.log.1.gz")).unwrap();
    fs::write(harness.path("access.log.1.gz"), &complete[..complete.len() / 2]).unwrap();
    harness.append("access.log", &lines(600..610));
    harness.wait(1);
    // Returning its lines would leave a gap.
    assert_eq!(harness.emitted.len(), 300);
    fs::write(harness.path("access.log.1.gz"), &complete).unwrap();
    harness.wait(2);
    harness.assert_numbers(610);
}

/// The number of descriptors of this process that lead to deleted files in a folder.
fn deleted(folder: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.starts_with(folder) && link.to_string_lossy().ends_with(" (deleted)")).count()
}

/// E30. A deleted file that is still written to is closed after a minute, and a quiet one after five seconds. All
/// lines written until then are returned.
#[test]
fn e30_a_deleted_file_is_closed_after_a_minute_at_most() {
    let mut harness = TailHarness::from_start();
    let folder = fs::canonicalize(harness.folder.path()).unwrap();
    let mut quiet = File::create(harness.path("access.log")).unwrap();
    quiet.write_all(line(0).as_bytes()).unwrap();
    harness.poll_and_read();
    fs::remove_file(harness.path("access.log")).unwrap();
    drop(quiet);
    harness.wait(4);
    assert_eq!(deleted(&folder), 1, "it is quiet for less than five seconds");
    harness.wait(2);
    assert_eq!(deleted(&folder), 0);

    let mut busy = File::create(harness.path("access.log")).unwrap();
    busy.write_all(line(1).as_bytes()).unwrap();
    harness.poll_and_read();
    fs::remove_file(harness.path("access.log")).unwrap();
    for second in 0..58 {
        busy.write_all(line(2 + second).as_bytes()).unwrap();
        harness.wait(1);
    }
    // The descriptors of the writer and of the tail.
    assert_eq!(deleted(&folder), 2, "it is still read");
    for second in 58..62 {
        busy.write_all(line(2 + second).as_bytes()).unwrap();
        harness.wait(1);
    }
    assert_eq!(deleted(&folder), 1, "it is still open");
    let emitted = harness.lines().len();
    assert!(emitted >= 60, "{emitted} lines");
    harness.assert_numbers(emitted);
}
