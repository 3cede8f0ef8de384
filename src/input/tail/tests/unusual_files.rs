//! Unusual files: oversized lines, holes, byte-order marks, padding, links, compressed files,
//! several names.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::{TailHarness, append, gzip, line, lines, number_of};
use crate::log::source::ContentHash;

#[test]
fn an_oversized_line_is_skipped_however_it_is_written() {
    for cut in [1, 511, 512, 513, 4096, 9_999, 10_000] {
        let mut harness = TailHarness::from_start();
        let text = format!("one\n{}\ntwo\nthr", "x".repeat(10_000));
        harness.append("access.log", &text[..cut]);
        harness.poll_and_read();
        harness.append("access.log", &text[cut..]);
        harness.poll_and_read();
        harness.append("access.log", "ee\n");
        harness.poll_and_read();
        assert_eq!(
            harness.lines(),
            ["one", "OVERSIZED", "two", "three"],
            "{cut}"
        );
        assert_eq!(
            harness
                .emitted
                .iter()
                .map(|emitted| emitted.number)
                .collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert_eq!(harness.emitted[2].offset, 4 + 10_001);
    }
}

#[test]
fn a_line_of_the_maximum_length_is_kept() {
    let mut harness = TailHarness::from_start();
    let long = "y".repeat(4096);
    for part in [
        "a\n",
        &long[..700],
        &long[700..3000],
        &long[3000..],
        "\nb\n",
    ] {
        harness.append("access.log", part);
        harness.poll_and_read();
    }
    assert_eq!(harness.lines(), ["a", &long, "b"]);
}

#[test]
fn a_leading_hole_and_a_byte_order_mark_are_skipped() {
    let mut harness = TailHarness::from_start();
    let file = File::create(harness.path("access.log")).unwrap();
    file.write_all_at(line(0).as_bytes(), 1 << 30).unwrap();
    harness.poll_and_read();
    harness.append("access.log", &line(1));
    harness.poll_and_read();
    harness.assert_numbers(2);
    assert_eq!(harness.emitted[0].offset, 1 << 30);
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &format!("\u{feff}{}", line(0)));
    harness.poll_and_read();
    harness.assert_numbers(1);
}

#[test]
fn a_writer_that_does_not_append_leaves_a_hole() {
    let mut harness = TailHarness::from_start();
    let file = File::create(harness.path("access.log")).unwrap();
    let mut at = 0;
    for round in 0..4 {
        for number in round * 50..round * 50 + 50 {
            file.write_all_at(line(number).as_bytes(), at).unwrap();
            at += line(number).len() as u64;
        }
        if round % 2 == 0 {
            harness.poll_and_read();
        }
        harness.copy_truncate("access.log", "access.log.1");
        harness.poll_and_read();
        fs::remove_file(harness.path("access.log.1")).unwrap();
    }
    harness.wait(10);
    harness.assert_numbers(200);
}

#[test]
fn preallocated_space_is_read_as_it_is_filled() {
    let mut harness = TailHarness::from_start();
    let file = File::create(harness.path("access.log")).unwrap();
    file.set_len(100_000).unwrap();
    harness.poll_and_read();
    let mut at = 0;
    for number in 0..100 {
        file.write_all_at(line(number).as_bytes(), at).unwrap();
        at += line(number).len() as u64;
        harness.poll_and_read();
    }
    harness.assert_numbers(100);
}

#[test]
fn lines_after_a_long_run_of_nuls_are_read() {
    for before in ["", "a partial line"] {
        for is_hole in [false, true] {
            let mut harness = TailHarness::from_start();
            harness.append("access.log", &format!("{}{before}", lines(0..5)));
            harness.poll_and_read();
            let file = File::options()
                .append(true)
                .open(harness.path("access.log"))
                .unwrap();
            let start = file.metadata().unwrap().len();
            if is_hole {
                file.set_len(start + (3 << 20)).unwrap();
            } else {
                harness.append("access.log", &"\0".repeat(3 << 20));
            }
            harness.poll_and_read();
            assert_eq!(harness.lines().len(), 5);
            let first = usize::from(!before.is_empty());
            harness.append("access.log", &lines(5 - first..10));
            harness.poll_and_read();
            if before.is_empty() {
                harness.assert_numbers(10);
                assert_eq!(harness.emitted[5].offset, start + (3 << 20));
            } else {
                // The partial line ends after the NULs.
                assert_eq!(harness.lines()[5], "OVERSIZED");
                harness.emitted.remove(5);
                harness.assert_numbers(10);
            }
            let checkpoints = harness.tail.checkpoints();
            harness.restart(checkpoints);
            harness.append("access.log", &lines(10..12));
            harness.poll_and_read();
            harness.assert_numbers(12);
        }
    }
}

#[test]
fn lines_after_nuls_in_a_compressed_log_are_read() {
    let mut harness = TailHarness::new(&["access.log"], true, |folder| {
        let text = format!("{}{}{}", lines(0..5), "\0".repeat(300_000), lines(5..10));
        fs::write(folder.join("access.log.1"), text).unwrap();
        gzip(&folder.join("access.log.1"));
        fs::write(folder.join("access.log"), lines(10..12)).unwrap();
    });
    harness.wait(5);
    harness.assert_numbers(12);
}

#[test]
fn two_names_of_one_file_are_followed_once() {
    let prepare = |folder: &Path| {
        fs::write(folder.join("access.log"), lines(0..5)).unwrap();
        fs::hard_link(folder.join("access.log"), folder.join("hard")).unwrap();
        symlink("access.log", folder.join("soft")).unwrap();
    };
    for names in [
        &["access.log", "hard", "soft"][..],
        &["."],
        &["*"],
        &[".", "access.log"],
    ] {
        let mut harness = TailHarness::new(names, true, prepare);
        harness.wait(3);
        harness.assert_numbers(5);
    }
}

#[test]
fn a_changed_symlink_is_followed() {
    let mut harness = TailHarness::new(&["access.log"], true, |folder| {
        fs::write(folder.join("one"), lines(0..5)).unwrap();
        symlink("one", folder.join("access.log")).unwrap();
    });
    harness.append("one", &lines(5..10));
    fs::write(harness.path("two"), lines(10..15)).unwrap();
    symlink("two", harness.path("next")).unwrap();
    harness.rename("next", "access.log");
    harness.wait(2);
    harness.assert_numbers(15);
    assert!(
        harness
            .notices
            .iter()
            .any(|notice| notice.contains("may have been passed over")),
        "{:?}",
        harness.notices
    );
}

/// The link is switched each day. The second target was empty at the last poll and the third was
/// never seen.
#[test]
fn targets_of_a_link_that_were_missed_are_read() {
    for (dir, file) in [
        ("", "access.DATE"),
        ("", "access-DATE.log"),
        ("DATE/", "access.log"),
        ("", "real-00DAY.log"),
    ] {
        let at = |day: usize| {
            format!("{dir}{file}")
                .replace("DATE", &format!("202611{day}"))
                .replace("DAY", &day.to_string())
        };
        let mut harness = TailHarness::new(&["access.log"], false, |folder| {
            for day in [22, 23, 24] {
                fs::create_dir_all(folder.join(at(day)).parent().unwrap()).unwrap();
                fs::write(folder.join(at(day)), lines(day * 1000..day * 1000 + 3)).unwrap();
            }
            symlink(at(24), folder.join("access.log")).unwrap();
        });
        let switch = |harness: &TailHarness, day: usize, text: &str| {
            fs::create_dir_all(harness.path(&at(day)).parent().unwrap()).unwrap();
            fs::write(harness.path(&at(day)), text).unwrap();
            symlink(at(day), harness.path("next")).unwrap();
            harness.rename("next", "access.log");
        };
        harness.append(&at(24), &lines(0..3));
        harness.poll_and_read();
        switch(&harness, 25, "");
        harness.poll_and_read();
        let state = harness.tail.checkpoints();
        harness.append(&at(25), &lines(3..6));
        switch(&harness, 26, &lines(6..9));
        switch(&harness, 27, &lines(9..12));
        harness.restart(state);
        harness.wait(3);
        harness.assert_numbers(12);
        // A file of an earlier date that appears now was not the target.
        fs::create_dir_all(harness.path(&at(21)).parent().unwrap()).unwrap();
        fs::write(harness.path(&at(21)), lines(900..903)).unwrap();
        let state = harness.tail.checkpoints();
        harness.restart(state);
        harness.wait(3);
        harness.assert_numbers(12);
        assert!(
            harness
                .notices
                .iter()
                .any(|notice| notice.contains("is older than what was read before")),
            "{:?}",
            harness.notices
        );
    }
}

/// The link was rotated as a file is, and its target was compressed. The target before it was never
/// seen.
#[test]
fn targets_of_a_rotated_link_are_read() {
    for compressed in [false, true] {
        let mut harness = TailHarness::new(&["access.log"], true, |folder| {
            fs::write(folder.join("access.log"), lines(0..3)).unwrap();
        });
        let state = harness.tail.checkpoints();
        harness.rename("access.log", "access.log.2");
        for number in [1, 2] {
            fs::write(
                harness.path(&format!("real-000{number}.log")),
                lines(number * 3..number * 3 + 3),
            )
            .unwrap();
        }
        symlink("real-0002.log", harness.path("access.log.1")).unwrap();
        fs::write(harness.path("access.log"), lines(9..12)).unwrap();
        if compressed {
            gzip(&harness.path("real-0002.log"));
        }
        harness.restart(state);
        harness.wait(3);
        harness.assert_numbers(12);
    }
}

/// While nothing runs, the target of the link is truncated and written again, and the link is
/// rotated as a file is. The target has two names in the folder that is followed, one of a rotated
/// file and one that no rotation gives.
#[test]
fn a_truncated_target_of_a_rotated_link_is_read() {
    let mut harness = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("other.log"), lines(0..3)).unwrap();
        fs::write(folder.join("real-0009.log"), lines(3..10)).unwrap();
        symlink("real-0009.log", folder.join("access.log")).unwrap();
    });
    let state = harness.tail.checkpoints();
    fs::write(harness.path("real-0009.log"), lines(10..15)).unwrap();
    harness.rename("access.log", "access.log-20260111");
    fs::write(harness.path("access.log"), lines(15..20)).unwrap();
    // A scan remembers only files that did not change within the last two seconds.
    thread::sleep(Duration::from_millis(2100));
    harness.restart(state);
    harness.wait(20);
    let mut numbers: Vec<_> = harness
        .lines()
        .iter()
        .map(|text| number_of(text).unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(
        numbers,
        (0..20).collect::<Vec<_>>(),
        "{:?}",
        harness.notices
    );
}

/// A copy was made before all was read, and then the log was truncated. Its checkpoint has a name
/// that is no sibling's.
#[test]
fn a_copy_of_a_part_of_unclaimed_content_is_not_read_again() {
    for compressed in [false, true] {
        let mut harness = TailHarness::new(&["access.log*"], true, |folder| {
            fs::write(folder.join("access.log"), lines(0..100)).unwrap();
        });
        let mut state = harness.tail.checkpoints();
        state[0].path = harness.path("real-0004.log").into_os_string().into_vec();
        fs::write(harness.path("access.log.1"), lines(0..50)).unwrap();
        if compressed {
            harness.gzip("access.log.1");
        }
        fs::write(harness.path("access.log"), lines(100..105)).unwrap();
        harness.restart(state);
        harness.wait(20);
        harness.assert_numbers(105);
    }
}

/// What was read of a log was not saved when it was copied and truncated: the copy is read again,
/// as the same content. Its checkpoint has a name that is no sibling's.
#[test]
fn a_copy_of_content_of_which_nothing_is_saved_keeps_its_identity() {
    let mut harness = TailHarness::new(&["access.log*"], true, |folder| {
        fs::write(folder.join("access.log"), lines(0..100)).unwrap();
    });
    let mut state = harness.tail.checkpoints();
    (state[0].offset, state[0].lines, state[0].tail) = (0, 0, ContentHash::new(b""));
    state[0].path = harness.path("real-0004.log").into_os_string().into_vec();
    fs::write(harness.path("access.log.1"), lines(0..110)).unwrap();
    for log in ["real-0004.log", "access.log"] {
        fs::write(harness.path(log), lines(110..115)).unwrap();
    }
    harness.restart(state);
    harness.wait(20);
    let identities: std::collections::HashSet<_> = harness
        .emitted
        .iter()
        .map(|line| (line.generation, line.offset))
        .collect();
    assert_eq!(identities.len(), 115, "{:?}", harness.notices);
}

#[test]
fn logs_with_the_same_head_are_distinguished() {
    let header = "#Fields: date time\n".repeat(100);
    let mut harness = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("a.log"), &header).unwrap();
        fs::write(folder.join("b.log"), &header).unwrap();
    });
    harness.append("a.log", "a\n");
    harness.append("b.log", "b\n");
    harness.poll_and_read();
    assert_eq!(
        harness
            .lines()
            .iter()
            .filter(|line| **line == "a" || **line == "b")
            .count(),
        2
    );
    assert_eq!(harness.lines().len(), 202);
    let names: std::collections::HashSet<_> = harness
        .emitted
        .iter()
        .map(|emitted| emitted.generation)
        .collect();
    assert_eq!(names.len(), 2);
    harness.rename("a.log", "a.log.1");
    fs::write(harness.path("a.log"), format!("{header}c\n")).unwrap();
    let state = harness.tail.checkpoints();
    harness.restart(state);
    harness.wait(3);
    assert_eq!(harness.lines().len(), 303);
}

#[test]
fn a_recreated_folder_is_followed() {
    let mut harness = TailHarness::new(&["logs/access.log"], true, |folder| {
        fs::create_dir(folder.join("logs")).unwrap();
        fs::write(folder.join("logs/access.log"), lines(0..5)).unwrap();
    });
    fs::remove_dir_all(harness.path("logs")).unwrap();
    harness.wait(4);
    fs::create_dir(harness.path("logs")).unwrap();
    harness.append("logs/access.log", &lines(5..10));
    harness.wait(2);
    harness.assert_numbers(10);
}

#[test]
fn files_in_olddir_are_found() {
    for compressed in [false, true] {
        let mut harness = TailHarness::new(&["access.log"], true, |folder| {
            fs::create_dir(folder.join("old")).unwrap();
        });
        harness.append("access.log", &lines(0..5));
        harness.poll_and_read();
        harness.append("access.log", &lines(5..10));
        harness.rename("access.log", "old/access.log-20261101");
        harness.append("access.log", &lines(10..20));
        harness.rename("access.log", "old/access.log-20261102");
        if compressed {
            harness.gzip("old/access.log-20261102");
        }
        harness.append("access.log", &lines(20..25));
        harness.wait(10);
        harness.assert_numbers(25);
    }
}

#[test]
fn a_file_replaced_by_an_editor_is_continued() {
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &lines(0..20));
    harness.poll_and_read();
    fs::copy(harness.path("access.log"), harness.path("tmp")).unwrap();
    harness.append("tmp", &lines(20..30));
    harness.rename("tmp", "access.log");
    harness.wait(10);
    harness.assert_numbers(30);
}

#[test]
fn a_clean_restart_repeats_nothing() {
    let mut harness = TailHarness::new(&["."], true, |folder| {
        fs::write(folder.join("access.log.1"), lines(0..10)).unwrap();
        fs::write(folder.join("access.log"), lines(10..20)).unwrap();
        gzip(&folder.join("access.log.1"));
    });
    for round in 2..6 {
        let state = harness.tail.checkpoints();
        harness.restart(state);
        harness.append("access.log", &lines(round * 10..round * 10 + 10));
        harness.wait(1);
    }
    harness.assert_numbers(60);
    let mut expected: Vec<_> = (1..=10).collect();
    expected.extend(1..=50);
    assert_eq!(
        harness
            .emitted
            .iter()
            .map(|emitted| emitted.number)
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn an_unreadable_path_is_reported_once() {
    let mut harness = TailHarness::new(&["access.log", "pipe"], true, |folder| {
        fs::create_dir(folder.join("access.log")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
    });
    harness.wait(10);
    assert_eq!(harness.notices.len(), 1, "{:?}", harness.notices);
    let mut writer = OpenOptions::new()
        .append(true)
        .create(true)
        .open(harness.path("access.log/a.log"))
        .unwrap();
    writer.write_all(line(0).as_bytes()).unwrap();
    harness.wait(2);
    harness.assert_numbers(1);
}

#[test]
fn a_deleted_log_is_closed() {
    for ends_in_nuls in [false, true] {
        let mut harness = TailHarness::from_start();
        harness.append("access.log", &lines(0..5));
        if ends_in_nuls {
            OpenOptions::new()
                .write(true)
                .open(harness.path("access.log"))
                .unwrap()
                .set_len(50_000)
                .unwrap();
        }
        harness.poll_and_read();
        assert_eq!(harness.tail.logs().count(), 1);
        fs::remove_file(harness.path("access.log")).unwrap();
        harness.wait(3);
        assert_eq!(harness.tail.logs().count(), 1, "a writer may hold it");
        harness.wait(60);
        assert_eq!(harness.tail.logs().count(), 0);
        harness.assert_numbers(5);
    }
}

#[test]
fn compressed_logs_without_a_live_one_are_read_only_from_the_start() {
    let prepare = |folder: &Path| {
        for (name, numbers) in [("access.log.2", 0..10), ("access.log.1", 10..20)] {
            append(&folder.join(name), &lines(numbers));
            gzip(&folder.join(name));
        }
    };
    let mut from_start = TailHarness::new(&["."], true, prepare);
    from_start.assert_numbers(20);
    from_start.append("access.log", &lines(20..25));
    from_start.wait(2);
    from_start.assert_numbers(25);
    let mut end = TailHarness::new(&["."], false, prepare);
    end.wait(20);
    assert_eq!(end.lines().len(), 0, "{:?}", end.notices);
}

#[test]
fn an_idle_log_is_polled_within_four_polls() {
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &lines(0..1));
    harness.wait(30);
    harness.append("access.log", &lines(1..2));
    harness.wait(1);
    harness.assert_numbers(2);
    harness.append("access.log", &lines(2..3));
    harness.poll_and_read();
    harness.assert_numbers(3);
    harness.wait(30);
    harness.append("access.log", &lines(3..4));
    harness.tail.force_full_poll();
    harness.poll_and_read();
    harness.assert_numbers(4);
}

/// Where a folder is watched, events may still be missing.
#[test]
fn a_watched_idle_log_is_polled_within_twelve_polls() {
    let mut harness = TailHarness::from_start();
    harness.tail.set_watched(true);
    harness.append("access.log", &lines(0..1));
    harness.wait(30);
    harness.append("access.log", &lines(1..2));
    let polls = (1..).take_while(|_| {
        harness.poll_and_read();
        harness.lines().len() < 2
    });
    assert!((4..12).contains(&polls.count()));
    harness.assert_numbers(2);
}
