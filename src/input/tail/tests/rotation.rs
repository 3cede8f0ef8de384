//! Rotations of every kind, with and without a stall, and restarts between.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::{TailHarness, line, lines};

#[test]
fn new_lines_are_told_once() {
    let mut rig = TailHarness::new(&["access.log"], false, |folder| fs::write(folder.join("access.log"), lines(100..120)).unwrap());
    assert!(rig.told.is_empty());
    for number in 0..20 {
        rig.append("access.log", &line(number));
        rig.go();
        rig.go();
    }
    rig.assert_numbers(20);
    assert_eq!(rig.told[0].number, 21);
    assert_eq!(rig.told[0].offset, lines(100..120).len() as u64);
}

#[test]
fn a_partial_line_is_held() {
    let mut rig = TailHarness::new(&["access.log"], false, |folder| fs::write(folder.join("access.log"), "old\nhalf ").unwrap());
    rig.wait(70);
    assert!(rig.told.is_empty());
    rig.append("access.log", "a li");
    rig.go();
    rig.append("access.log", "ne\nnext");
    rig.wait(1);
    assert_eq!(rig.lines(), ["half a line"]);
}

#[test]
fn a_renamed_log_is_read_to_its_end() {
    let mut rig = TailHarness::whole();
    let mut writer = File::create(rig.path("access.log")).unwrap();
    writer.write_all(lines(0..10).as_bytes()).unwrap();
    rig.go();
    writer.write_all(lines(10..20).as_bytes()).unwrap();
    rig.rename("access.log", "access.log.1");
    writer.write_all(lines(20..25).as_bytes()).unwrap();
    rig.go();
    writer.write_all(&line(25).as_bytes()[..10]).unwrap();
    rig.go();
    writer.write_all(&line(25).as_bytes()[10..]).unwrap();
    rig.go();
    rig.append("access.log", &lines(26..30));
    rig.wait(80);
    rig.assert_numbers(30);
}

#[test]
fn late_lines_of_a_closed_log_are_told() {
    let mut rig = TailHarness::whole();
    let mut writer = File::create(rig.path("access.log")).unwrap();
    writer.write_all(lines(0..10).as_bytes()).unwrap();
    rig.go();
    rig.rename("access.log", "access.log.1");
    rig.append("access.log", &lines(10..20));
    rig.wait(100);
    writer.write_all(lines(20..25).as_bytes()).unwrap();
    rig.wait(16);
    rig.assert_numbers(25);
    assert_eq!(rig.told[24].number, 15);
    assert_eq!(rig.told[24].generation, rig.told[0].generation);
}

#[test]
fn a_truncated_log_is_finished_in_its_copy() {
    for compressed in [false, true] {
        let mut rig = TailHarness::whole();
        rig.append("access.log", &lines(0..10));
        rig.go();
        rig.append("access.log", &lines(10..40));
        rig.copy_truncate("access.log", "access.log.1");
        if compressed {
            rig.gzip("access.log.1");
        }
        // Beyond its old size, so that size tells nothing.
        rig.append("access.log", &lines(40..120));
        rig.wait(100);
        rig.assert_numbers(120);
    }
}

#[test]
fn a_copy_made_before_all_was_read_is_not_read() {
    let mut rig = TailHarness::whole();
    rig.append("access.log", &lines(0..10));
    rig.go();
    fs::copy(rig.path("access.log"), rig.path("access.log.1")).unwrap();
    rig.append("access.log", &lines(10..20));
    rig.go();
    OpenOptions::new().write(true).open(rig.path("access.log")).unwrap().set_len(0).unwrap();
    rig.go();
    rig.append("access.log", &lines(20..30));
    rig.wait(100);
    rig.assert_numbers(30);
}

#[test]
fn rotations_that_were_missed_are_read_in_order() {
    for (compressed, copied) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut rig = TailHarness::whole();
        rig.append("access.log", &lines(0..10));
        rig.go();
        rig.append("access.log", &lines(10..20));
        for rotation in 0..3 {
            for old in (1..3).rev() {
                for ending in ["", ".gz"] {
                    let from = rig.path(&format!("access.log.{old}{ending}"));
                    if from.exists() {
                        fs::rename(from, rig.path(&format!("access.log.{}{ending}", old + 1))).unwrap();
                    }
                }
            }
            if copied {
                rig.copy_truncate("access.log", "access.log.1");
            } else {
                rig.rename("access.log", "access.log.1");
            }
            if compressed {
                rig.gzip("access.log.1");
            }
            rig.append("access.log", &lines(20 + rotation * 10..30 + rotation * 10));
        }
        rig.wait(100);
        rig.assert_numbers(50);
    }
}

#[test]
fn a_log_moved_away_and_back_is_not_told_twice() {
    for seconds in [1, 100] {
        let mut rig = TailHarness::whole();
        rig.append("access.log", &lines(0..10));
        rig.go();
        rig.rename("access.log", "away");
        rig.wait(seconds);
        rig.rename("away", "access.log");
        rig.append("access.log", &lines(10..20));
        rig.wait(10);
        rig.assert_numbers(20);
    }
}

#[test]
fn a_restart_goes_on_where_it_was() {
    for how in ["nothing", "rename", "copytruncate", "compress", "copycompress"] {
        let mut rig = TailHarness::whole();
        rig.append("access.log", &lines(0..10));
        rig.go();
        let state = rig.tail.checkpoints();
        rig.append("access.log", &lines(10..20));
        match how {
            "rename" => rig.rename("access.log", "access.log.1"),
            "compress" => {
                rig.rename("access.log", "access.log.1");
                rig.gzip("access.log.1");
            }
            "copytruncate" => rig.copy_truncate("access.log", "access.log.1"),
            "copycompress" => {
                rig.copy_truncate("access.log", "access.log.1");
                rig.gzip("access.log.1");
            }
            _ => {}
        }
        rig.append("access.log", &lines(20..60));
        rig.restart(state);
        rig.wait(100);
        rig.assert_numbers(60);
    }
}

#[test]
fn an_inode_that_is_used_again_is_another_log() {
    let mut rig = TailHarness::whole();
    for round in 0..5 {
        rig.append("access.log", &lines(round * 10..round * 10 + 10));
        rig.go();
        fs::remove_file(rig.path("access.log")).unwrap();
        if round % 2 == 0 {
            rig.wait(70);
        }
    }
    rig.assert_numbers(50);
}

#[test]
fn a_log_that_is_missing_is_waited_for() {
    let mut rig = TailHarness::new(&["access.log"], false, |_| {});
    rig.wait(10);
    assert_eq!(rig.notices.len(), 1, "{:?}", rig.notices);
    rig.append("access.log", "x\n");
    rig.wait(1);
    assert_eq!(rig.lines(), ["x"]);
    fs::remove_file(rig.path("access.log")).unwrap();
    rig.wait(10);
    rig.append("access.log", "y\n");
    rig.wait(1);
    assert_eq!(rig.lines(), ["x", "y"]);
    assert_eq!(rig.notices.len(), 4, "{:?}", rig.notices);
}

#[test]
fn siblings_that_were_there_are_read_only_from_the_start() {
    let prepare = |folder: &Path| {
        fs::write(folder.join("access.log.2"), lines(0..10)).unwrap();
        super::gzip(&folder.join("access.log.2"));
        fs::write(folder.join("access.log.1"), lines(10..20)).unwrap();
        fs::write(folder.join("access.log"), lines(20..30)).unwrap();
    };
    for names in [&["access.log"][..], &["."], &["*"]] {
        let mut rig = TailHarness::new(names, false, prepare);
        rig.wait(10);
        assert!(rig.told.is_empty());
        let mut rig = TailHarness::new(names, true, prepare);
        rig.wait(10);
        rig.assert_numbers(30);
    }
}

#[test]
fn a_file_that_appears_in_a_folder_is_read_whole() {
    for names in [&["."][..], &["*.log"]] {
        let mut rig = TailHarness::new(names, false, |folder| fs::write(folder.join("a.log"), lines(100..120)).unwrap());
        rig.append("b.log", &lines(0..5));
        rig.wait(2);
        rig.rename("b.log", "b.log.1");
        rig.append("b.log", &lines(5..10));
        rig.wait(2);
        rig.assert_numbers(10);
    }
}

#[test]
fn a_truncation_just_before_a_rename_is_seen() {
    let mut rig = TailHarness::whole();
    rig.append("access.log", &lines(0..20));
    rig.go();
    rig.append("access.log", &lines(20..30));
    rig.copy_truncate("access.log", "access.log.1");
    rig.append("access.log", &lines(30..90));
    rig.rename("access.log.1", "access.log.2");
    rig.rename("access.log", "access.log.1");
    rig.append("access.log", &lines(90..100));
    rig.wait(100);
    rig.assert_numbers(100);
}

#[test]
fn logs_are_read_in_turn() {
    let mut rig = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("a.log"), lines(0..1000)).unwrap();
        fs::write(folder.join("b.log"), lines(1000..1005)).unwrap();
    });
    let last_of_b = rig.told.iter().position(|told| told.log == rig.told.last().unwrap().log).unwrap();
    assert!(last_of_b < 20, "{last_of_b}");
    assert_eq!(rig.told.len(), 1005);
    rig.go();
    assert_eq!(rig.told.len(), 1005);
}

#[test]
fn generations_are_new_before_they_are_told() {
    let mut rig = TailHarness::whole();
    assert!(!rig.tail.has_new_generation());
    rig.append("access.log", &lines(0..3));
    rig.look();
    assert!(rig.tail.has_new_generation());
    let state = rig.tail.checkpoints();
    assert!(!rig.tail.has_new_generation());
    rig.go();
    assert!(state.iter().any(|checkpoint| checkpoint.generation == rig.told[0].generation && checkpoint.offset == 0));
    assert_eq!(rig.tail.logs().map(|log| (log.offset, log.lag, log.live)).collect::<Vec<_>>(), [(lines(0..3).len() as u64, 0, true)]);
}

#[test]
fn a_half_packed_copy_is_waited_for() {
    let mut rig = TailHarness::whole();
    rig.append("access.log", &lines(0..300));
    rig.go();
    rig.append("access.log", &lines(300..600));
    rig.copy_truncate("access.log", "access.log.1");
    rig.gzip("access.log.1");
    let whole = fs::read(rig.path("access.log.1.gz")).unwrap();
    fs::write(rig.path("access.log.1.gz"), &whole[..whole.len() / 2]).unwrap();
    rig.append("access.log", &lines(600..610));
    rig.wait(1);
    // What it holds would leave a gap.
    assert_eq!(rig.told.len(), 300);
    fs::write(rig.path("access.log.1.gz"), &whole).unwrap();
    rig.wait(2);
    rig.assert_numbers(610);
}

/// The descriptors of this process that lead to files without a name in a folder.
fn deleted(folder: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.starts_with(folder) && link.to_string_lossy().ends_with(" (deleted)")).count()
}

/// E30. A deleted file that is written to all the time is let go after a minute, and one that is quiet after five seconds: what was
/// written until then is told.
#[test]
fn e30_a_deleted_file_is_let_go_after_a_minute_at_most() {
    let mut rig = TailHarness::whole();
    let folder = fs::canonicalize(rig.folder.path()).unwrap();
    let mut quiet = File::create(rig.path("access.log")).unwrap();
    quiet.write_all(line(0).as_bytes()).unwrap();
    rig.go();
    fs::remove_file(rig.path("access.log")).unwrap();
    drop(quiet);
    rig.wait(4);
    assert_eq!(deleted(&folder), 1, "it is quiet for less than five seconds");
    rig.wait(2);
    assert_eq!(deleted(&folder), 0);

    let mut busy = File::create(rig.path("access.log")).unwrap();
    busy.write_all(line(1).as_bytes()).unwrap();
    rig.go();
    fs::remove_file(rig.path("access.log")).unwrap();
    for second in 0..58 {
        busy.write_all(line(2 + second).as_bytes()).unwrap();
        rig.wait(1);
    }
    // The one that writes, and the one that reads.
    assert_eq!(deleted(&folder), 2, "it is still read");
    for second in 58..62 {
        busy.write_all(line(2 + second).as_bytes()).unwrap();
        rig.wait(1);
    }
    assert_eq!(deleted(&folder), 1, "it is still open");
    let told = rig.lines().len();
    assert!(told >= 60, "{told} lines");
    rig.assert_numbers(told);
}
