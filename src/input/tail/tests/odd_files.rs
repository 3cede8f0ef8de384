//! Odd files: too long lines, holes, marks, padding, links, packed ones, more than one name.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use super::{TailHarness, append, gzip, line, lines};

#[test]
fn a_line_too_long_is_passed_over_at_any_cut() {
    for cut in [1, 511, 512, 513, 4096, 9_999, 10_000] {
        let mut rig = TailHarness::whole();
        let text = format!("one\n{}\ntwo\nthr", "x".repeat(10_000));
        rig.append("access.log", &text[..cut]);
        rig.go();
        rig.append("access.log", &text[cut..]);
        rig.go();
        rig.append("access.log", "ee\n");
        rig.go();
        assert_eq!(rig.lines(), ["one", "OVERSIZED", "two", "three"], "{cut}");
        assert_eq!(rig.told.iter().map(|told| told.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(rig.told[2].offset, 4 + 10_001);
    }
}

#[test]
fn a_long_line_that_is_not_too_long_is_held() {
    let mut rig = TailHarness::whole();
    let long = "y".repeat(4096);
    for part in ["a\n", &long[..700], &long[700..3000], &long[3000..], "\nb\n"] {
        rig.append("access.log", part);
        rig.go();
    }
    assert_eq!(rig.lines(), ["a", &long, "b"]);
}

#[test]
fn a_hole_and_a_mark_at_the_front_are_no_text() {
    let mut rig = TailHarness::whole();
    let file = File::create(rig.path("access.log")).unwrap();
    file.write_all_at(line(0).as_bytes(), 1 << 30).unwrap();
    rig.go();
    rig.append("access.log", &line(1));
    rig.go();
    rig.assert_numbers(2);
    assert_eq!(rig.told[0].offset, 1 << 30);
    let mut rig = TailHarness::whole();
    rig.append("access.log", &format!("\u{feff}{}", line(0)));
    rig.go();
    rig.assert_numbers(1);
}

#[test]
fn a_writer_that_does_not_append_leaves_a_hole() {
    let mut rig = TailHarness::whole();
    let file = File::create(rig.path("access.log")).unwrap();
    let mut at = 0;
    for round in 0..4 {
        for number in round * 50..round * 50 + 50 {
            file.write_all_at(line(number).as_bytes(), at).unwrap();
            at += line(number).len() as u64;
        }
        if round % 2 == 0 {
            rig.go();
        }
        rig.copy_truncate("access.log", "access.log.1");
        rig.go();
        fs::remove_file(rig.path("access.log.1")).unwrap();
    }
    rig.wait(10);
    rig.assert_numbers(200);
}

#[test]
fn what_is_allocated_ahead_is_filled_in() {
    let mut rig = TailHarness::whole();
    let file = File::create(rig.path("access.log")).unwrap();
    file.set_len(100_000).unwrap();
    rig.go();
    let mut at = 0;
    for number in 0..100 {
        file.write_all_at(line(number).as_bytes(), at).unwrap();
        at += line(number).len() as u64;
        rig.go();
    }
    rig.assert_numbers(100);
}

#[test]
fn two_names_of_one_file_are_followed_once() {
    let prepare = |folder: &Path| {
        fs::write(folder.join("access.log"), lines(0..5)).unwrap();
        fs::hard_link(folder.join("access.log"), folder.join("hard")).unwrap();
        symlink("access.log", folder.join("soft")).unwrap();
    };
    for names in [&["access.log", "hard", "soft"][..], &["."], &["*"], &[".", "access.log"]] {
        let mut rig = TailHarness::new(names, true, prepare);
        rig.wait(3);
        rig.assert_numbers(5);
    }
}

#[test]
fn a_link_that_leads_elsewhere_is_followed() {
    let mut rig = TailHarness::new(&["access.log"], true, |folder| {
        fs::write(folder.join("one"), lines(0..5)).unwrap();
        symlink("one", folder.join("access.log")).unwrap();
    });
    rig.append("one", &lines(5..10));
    fs::write(rig.path("two"), lines(10..15)).unwrap();
    symlink("two", rig.path("next")).unwrap();
    rig.rename("next", "access.log");
    rig.wait(2);
    rig.assert_numbers(15);
}

#[test]
fn logs_that_begin_alike_are_not_confused() {
    let header = "#Fields: date time\n".repeat(100);
    let mut rig = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("a.log"), &header).unwrap();
        fs::write(folder.join("b.log"), &header).unwrap();
    });
    rig.append("a.log", "a\n");
    rig.append("b.log", "b\n");
    rig.go();
    assert_eq!(rig.lines().iter().filter(|line| **line == "a" || **line == "b").count(), 2);
    assert_eq!(rig.lines().len(), 202);
    let names: std::collections::HashSet<_> = rig.told.iter().map(|told| told.generation).collect();
    assert_eq!(names.len(), 2);
    rig.rename("a.log", "a.log.1");
    fs::write(rig.path("a.log"), format!("{header}c\n")).unwrap();
    let state = rig.tail.checkpoints();
    rig.restart(state);
    rig.wait(3);
    assert_eq!(rig.lines().len(), 303);
}

#[test]
fn a_folder_that_is_made_anew_is_followed_on() {
    let mut rig = TailHarness::new(&["logs/access.log"], true, |folder| {
        fs::create_dir(folder.join("logs")).unwrap();
        fs::write(folder.join("logs/access.log"), lines(0..5)).unwrap();
    });
    fs::remove_dir_all(rig.path("logs")).unwrap();
    rig.wait(4);
    fs::create_dir(rig.path("logs")).unwrap();
    rig.append("logs/access.log", &lines(5..10));
    rig.wait(2);
    rig.assert_numbers(10);
}

#[test]
fn an_old_folder_is_found() {
    for compressed in [false, true] {
        let mut rig = TailHarness::new(&["access.log"], true, |folder| fs::create_dir(folder.join("old")).unwrap());
        rig.append("access.log", &lines(0..5));
        rig.go();
        rig.append("access.log", &lines(5..10));
        rig.rename("access.log", "old/access.log-20261101");
        rig.append("access.log", &lines(10..20));
        rig.rename("access.log", "old/access.log-20261102");
        if compressed {
            rig.gzip("old/access.log-20261102");
        }
        rig.append("access.log", &lines(20..25));
        rig.wait(10);
        rig.assert_numbers(25);
    }
}

#[test]
fn a_file_written_anew_by_an_editor_goes_on() {
    let mut rig = TailHarness::whole();
    rig.append("access.log", &lines(0..20));
    rig.go();
    fs::copy(rig.path("access.log"), rig.path("tmp")).unwrap();
    rig.append("tmp", &lines(20..30));
    rig.rename("tmp", "access.log");
    rig.wait(10);
    rig.assert_numbers(30);
}

#[test]
fn a_clean_restart_repeats_nothing() {
    let mut rig = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("access.log.1"), lines(0..10)).unwrap();
        fs::write(folder.join("access.log"), lines(10..20)).unwrap();
        gzip(&folder.join("access.log.1"));
    });
    for round in 2..6 {
        let state = rig.tail.checkpoints();
        rig.restart(state);
        rig.append("access.log", &lines(round * 10..round * 10 + 10));
        rig.wait(1);
    }
    rig.assert_numbers(60);
    let mut expected: Vec<_> = (1..=10).collect();
    expected.extend(1..=50);
    assert_eq!(rig.told.iter().map(|told| told.number).collect::<Vec<_>>(), expected);
}

#[test]
fn what_cannot_be_read_is_said_once() {
    let mut rig = TailHarness::new(&["access.log", "pipe"], true, |folder| {
        fs::create_dir(folder.join("access.log")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    });
    rig.wait(10);
    assert_eq!(rig.notices.len(), 1, "{:?}", rig.notices);
    let mut writer = OpenOptions::new().append(true).create(true).open(rig.path("access.log/a.log")).unwrap();
    writer.write_all(line(0).as_bytes()).unwrap();
    rig.wait(2);
    rig.assert_numbers(1);
}

#[test]
fn a_deleted_log_is_let_go() {
    for ends_in_nuls in [false, true] {
        let mut rig = TailHarness::whole();
        rig.append("access.log", &lines(0..5));
        if ends_in_nuls {
            OpenOptions::new().write(true).open(rig.path("access.log")).unwrap().set_len(50_000).unwrap();
        }
        rig.go();
        assert_eq!(rig.tail.logs().count(), 1);
        fs::remove_file(rig.path("access.log")).unwrap();
        rig.wait(3);
        assert_eq!(rig.tail.logs().count(), 1, "a writer may hold it");
        rig.wait(5);
        assert_eq!(rig.tail.logs().count(), 0);
        rig.assert_numbers(5);
    }
}

#[test]
fn packed_logs_without_a_live_one_are_read_from_the_start_only() {
    let prepare = |folder: &Path| {
        for (name, numbers) in [("access.log.2", 0..10), ("access.log.1", 10..20)] {
            append(&folder.join(name), &lines(numbers));
            gzip(&folder.join(name));
        }
    };
    let mut whole = TailHarness::new(&["."], true, prepare);
    whole.assert_numbers(20);
    whole.append("access.log", &lines(20..25));
    whole.wait(2);
    whole.assert_numbers(25);
    let mut end = TailHarness::new(&["."], false, prepare);
    end.wait(20);
    assert_eq!(end.lines().len(), 0, "{:?}", end.notices);
}

#[test]
fn a_log_that_rests_is_looked_at_within_four_looks() {
    let mut rig = TailHarness::whole();
    rig.append("access.log", &lines(0..1));
    rig.wait(30);
    rig.append("access.log", &lines(1..2));
    rig.wait(1);
    rig.assert_numbers(2);
    rig.append("access.log", &lines(2..3));
    rig.go();
    rig.assert_numbers(3);
    rig.wait(30);
    rig.append("access.log", &lines(3..4));
    rig.tail.force_full_poll();
    rig.go();
    rig.assert_numbers(4);
}
