//! All kinds of rotations, with and without a stall, with restarts in between, and while another
//! thread writes. Logs that are moved or copied to unusual names are recognized by their content.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::read_once::OneShotRuns;
use super::{MAX_OPEN, TailHarness, append, gzip, line, lines, number_of, record};
use crate::input::tail::{StartPosition, Tail, TailOptions};

#[test]
fn new_lines_are_returned_once() {
    let mut harness = TailHarness::new(&["access.log"], false, |folder| {
        fs::write(folder.join("access.log"), lines(100..120)).unwrap();
    });
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

/// The log is moved away and copied back, at once or slowly, and the writer goes on in either file.
#[test]
fn a_log_that_is_copied_back_is_not_read_again() {
    for count in [3, 100] {
        for (names, is_slow) in [
            (["access.log"], false),
            (["access.log"], true),
            (["."], false),
            (["."], true),
        ] {
            let mut harness = TailHarness::new(&names, true, |_| {});
            harness.append("access.log", &lines(0..count));
            harness.wait(1);
            harness.rename("access.log", "moved");
            if is_slow {
                harness.wait(1);
                append(&harness.path("access.log"), &lines(0..count / 2));
                harness.poll_and_read();
                append(&harness.path("access.log"), &lines(count / 2..count));
            } else {
                fs::copy(harness.path("moved"), harness.path("access.log")).unwrap();
            }
            harness.poll_and_read();
            harness.append("moved", &lines(count..count + 2));
            harness.append("access.log", &lines(count + 2..count + 4));
            harness.wait(4);
            let numbers = sorted(harness.lines().iter().map(|text| number_of(text)).collect());
            assert_eq!(
                numbers,
                (0..count + 4).collect::<Vec<_>>(),
                "{names:?} slow {is_slow}: {:?}",
                harness.notices
            );
        }
    }
}

#[test]
fn a_partial_line_is_held() {
    let mut harness = TailHarness::new(&["access.log"], false, |folder| {
        fs::write(folder.join("access.log"), "old\nhalf ").unwrap();
    });
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
    assert_eq!(
        harness.emitted[24].generation,
        harness.emitted[0].generation
    );
}

/// Two writes within one tick of the clock have the same time.
#[test]
fn other_content_of_the_same_length_and_time_is_read() {
    let mut harness = TailHarness::from_start();
    harness.append("access.log", &lines(10..15));
    harness.poll_and_read();
    harness.rename("access.log", "access.log.1");
    harness.append("access.log", "");
    harness.wait(70);
    let rotated = harness.path("access.log.1");
    let time = fs::metadata(&rotated).unwrap().modified().unwrap();
    fs::write(&rotated, lines(15..20)).unwrap();
    File::options()
        .write(true)
        .open(&rotated)
        .unwrap()
        .set_modified(time)
        .unwrap();
    harness.wait(20);
    assert_eq!(
        harness
            .lines()
            .into_iter()
            .map(number_of)
            .collect::<Vec<_>>(),
        (10..20).map(Some).collect::<Vec<_>>()
    );
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
    OpenOptions::new()
        .write(true)
        .open(harness.path("access.log"))
        .unwrap()
        .set_len(0)
        .unwrap();
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
                        fs::rename(
                            from,
                            harness.path(&format!("access.log.{}{ending}", old + 1)),
                        )
                        .unwrap();
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
    for how in [
        "nothing",
        "rename",
        "copytruncate",
        "compress",
        "copycompress",
    ] {
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
        gzip(&folder.join("access.log.2"));
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
        let mut harness = TailHarness::new(names, false, |folder| {
            fs::write(folder.join("a.log"), lines(100..120)).unwrap();
        });
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
    let last_of_b = harness
        .emitted
        .iter()
        .position(|emitted| emitted.log == harness.emitted.last().unwrap().log)
        .unwrap();
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
    assert!(state.iter().any(
        |checkpoint| checkpoint.generation == harness.emitted[0].generation
            && checkpoint.offset == 0
    ));
    assert_eq!(
        harness
            .tail
            .logs()
            .map(|log| (log.offset, log.lag, log.live))
            .collect::<Vec<_>>(),
        [(lines(0..3).len() as u64, 0, true)]
    );
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
    fs::write(
        harness.path("access.log.1.gz"),
        &complete[..complete.len() / 2],
    )
    .unwrap();
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
    let links = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links
        .filter(|link| link.starts_with(folder) && link.to_string_lossy().ends_with(" (deleted)"))
        .count()
}

/// E30. A deleted file is read as long as it is written to. A quiet one is closed after five
/// seconds if its path has newer lines, and otherwise after a minute, as the server may still hold
/// it.
#[test]
fn e30_a_deleted_file_is_closed_when_it_is_quiet() {
    let mut harness = TailHarness::from_start();
    let folder = fs::canonicalize(harness.folder.path()).unwrap();
    let mut quiet = File::create(harness.path("access.log")).unwrap();
    quiet.write_all(line(0).as_bytes()).unwrap();
    harness.poll_and_read();
    fs::remove_file(harness.path("access.log")).unwrap();
    drop(quiet);
    harness.wait(58);
    assert_eq!(
        deleted(&folder),
        1,
        "the server may not have opened a new file yet"
    );
    harness.wait(4);
    assert_eq!(deleted(&folder), 0);

    let mut busy = File::create(harness.path("access.log")).unwrap();
    busy.write_all(line(1).as_bytes()).unwrap();
    harness.poll_and_read();
    fs::remove_file(harness.path("access.log")).unwrap();
    for second in 0..90 {
        busy.write_all(line(2 + second).as_bytes()).unwrap();
        harness.wait(1);
    }
    // A late line of a server with few requests.
    harness.wait(50);
    busy.write_all(line(92).as_bytes()).unwrap();
    harness.wait(1);
    harness.append("access.log", &line(93));
    harness.wait(4);
    // The descriptors of the writer and of the tail.
    assert_eq!(
        deleted(&folder),
        2,
        "it is quiet for less than five seconds"
    );
    harness.wait(3);
    assert_eq!(deleted(&folder), 1, "the descriptor of the writer");
    harness.assert_numbers(94);
}

const LINES: usize = 20_000;

/// Runs a writer of all lines, and `rotate` repeatedly at the same time; returns the numbers of the
/// lines returned.
fn follow(rotate: impl Fn(&Path, &Mutex<File>, usize) + Send + 'static) -> Vec<usize> {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("access.log");
    let options = TailOptions {
        start: StartPosition::Start,
        max_line: 4096,
        block: 64 << 10,
        max_open: MAX_OPEN,
    };
    let mut tail = Tail::new(vec![log.clone()], options, None);
    let open = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&log)
        .unwrap();
    let writer = Arc::new(Mutex::new(open));
    let done = Arc::new(AtomicBool::new(false));
    let (pen, over) = (Arc::clone(&writer), Arc::clone(&done));
    let writing = thread::spawn(move || {
        for number in 0..LINES {
            pen.lock()
                .unwrap()
                .write_all(line(number).as_bytes())
                .unwrap();
            if number % 20 == 0 {
                thread::sleep(Duration::from_micros(200));
            }
        }
        over.store(true, Ordering::Release);
    });
    let over = Arc::clone(&done);
    let rotating = thread::spawn(move || {
        for round in 0.. {
            if over.load(Ordering::Acquire) {
                break;
            }
            rotate(&log, &writer, round);
            thread::sleep(Duration::from_millis(15));
        }
    });
    let mut emitted = Vec::new();
    let mut now = Instant::now();
    let mut last = false;
    loop {
        tail.poll(now, None);
        while tail.read(&mut |piece| record(&mut emitted, piece)) {}
        if last {
            break;
        }
        last = done.load(Ordering::Acquire) && writing.is_finished() && rotating.is_finished();
        now += Duration::from_millis(250);
    }
    for _ in 0..8 {
        now += Duration::from_secs(3);
        tail.poll(now, None);
        while tail.read(&mut |piece| record(&mut emitted, piece)) {}
    }
    writing.join().unwrap();
    rotating.join().unwrap();
    emitted
        .iter()
        .map(|emitted| {
            number_of(emitted.text.as_deref().unwrap())
                .unwrap_or_else(|| panic!("garbled: {emitted:?}"))
        })
        .collect()
}

fn shift(log: &Path) {
    for number in (1..1000).rev() {
        let name = |number: usize| format!("{}.{number}", log.display());
        let _ = fs::rename(name(number), name(number + 1));
    }
}

fn assert_all(mut emitted: Vec<usize>) {
    let count = emitted.len();
    emitted.sort_unstable();
    emitted.dedup();
    assert_eq!(count - emitted.len(), 0, "doubled");
    assert_eq!(LINES - emitted.len(), 0, "lost");
}

#[test]
fn renamed_while_it_is_written() {
    assert_all(follow(|log, writer, round| {
        shift(log);
        fs::rename(log, format!("{}.1", log.display())).unwrap();
        if round % 2 == 0 {
            thread::sleep(Duration::from_millis(5));
        }
        *writer.lock().unwrap() = OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .unwrap();
    }));
}

#[test]
fn copied_and_truncated_while_it_is_written() {
    assert_all(follow(|log, writer, _| {
        shift(log);
        // Nothing is written in between, so no line is destroyed.
        let writer = writer.lock().unwrap();
        fs::copy(log, format!("{}.1", log.display())).unwrap();
        writer.set_len(0).unwrap();
    }));
}

const NAMES: [&str; 9] = [
    "access.log.away",
    "access.log.bak",
    "access.log.save",
    "access.log~",
    "old.log",
    "access-1.log",
    "access.log.1-2026112223.backup",
    "access.log-backup",
    "0",
];

/// How the log gets its other name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MoveMethod {
    Rename,
    CopyTruncate,
    Gzip,
}

const MOVE_METHODS: [MoveMethod; 3] = [
    MoveMethod::Rename,
    MoveMethod::CopyTruncate,
    MoveMethod::Gzip,
];

fn move_away(folder: &Path, name: &str, how: MoveMethod) {
    let (from, to) = (folder.join("access.log"), folder.join(name));
    match how {
        MoveMethod::Rename => fs::rename(from, to).unwrap(),
        MoveMethod::CopyTruncate => {
            fs::copy(&from, to).unwrap();
            OpenOptions::new()
                .write(true)
                .open(from)
                .unwrap()
                .set_len(0)
                .unwrap();
        }
        MoveMethod::Gzip => {
            fs::rename(from, &to).unwrap();
            gzip(&to);
        }
    }
}

fn sorted(mut emitted: Vec<Option<usize>>) -> Vec<usize> {
    emitted.sort_unstable();
    emitted
        .into_iter()
        .map(|number| number.expect("a whole line"))
        .collect()
}

/// `read` of the 100 lines are read before the move, the others are not.
fn each(mut test: impl FnMut(&str, MoveMethod, &'static str, usize)) {
    for name in NAMES {
        for how in MOVE_METHODS {
            for target in ["access.log", "."] {
                for read in [3, 40, 100] {
                    test(name, how, target, read);
                }
            }
        }
    }
}

#[test]
fn a_running_follower_recognizes_a_log_by_any_name() {
    each(|name, how, target, read| {
        let mut harness = TailHarness::new(&[target], true, |folder| {
            append(&folder.join("access.log"), &lines(0..read));
        });
        append(&harness.path("access.log"), &lines(read..100));
        move_away(harness.folder.path(), name, how);
        append(&harness.path("access.log"), &lines(100..110));
        harness.wait(20);
        let emitted = harness.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(
            sorted(emitted),
            (0..110).collect::<Vec<_>>(),
            "{name} {how:?} {target} {read} {:?}",
            harness.notices
        );
    });
}

#[test]
fn a_restarted_follower_recognizes_a_log_by_any_name() {
    each(|name, how, target, read| {
        let mut harness = TailHarness::new(&[target], true, |folder| {
            append(&folder.join("access.log"), &lines(0..read));
        });
        let state = harness.tail.checkpoints();
        append(&harness.path("access.log"), &lines(read..100));
        move_away(harness.folder.path(), name, how);
        append(&harness.path("access.log"), &lines(100..110));
        harness.restart(state);
        harness.wait(5);
        let state = harness.tail.checkpoints();
        append(&harness.path("access.log"), &lines(110..120));
        harness.restart(state);
        harness.wait(5);
        let emitted = harness.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(
            sorted(emitted),
            (0..120).collect::<Vec<_>>(),
            "{name} {how:?} {target} {read} {:?}",
            harness.notices
        );
    });
}

#[test]
fn reading_once_recognizes_a_log_by_any_name() {
    each(|name, how, target, read| {
        let target = if target == "." { "" } else { target };
        let mut runs = OneShotRuns::new();
        append(&runs.path("access.log"), &lines(0..read));
        let mut emitted = runs.run(&[target]);
        append(&runs.path("access.log"), &lines(read..100));
        move_away(runs.folder.path(), name, how);
        append(&runs.path("access.log"), &lines(100..110));
        emitted.extend(runs.run(&[target]));
        append(&runs.path("access.log"), &lines(110..120));
        emitted.extend(runs.run(&[target]));
        assert_eq!(
            sorted(emitted),
            (0..120).collect::<Vec<_>>(),
            "{name} {how:?} {target} {read} {:?}",
            runs.notices
        );
    });
}

/// A copy beside its log, with the lines that were read and more.
#[test]
fn a_copy_of_a_log_is_not_another_log() {
    for name in NAMES
        .into_iter()
        .filter(|name| !["old.log", "0"].contains(name))
    {
        for read in [3, 40, 100] {
            let mut runs = OneShotRuns::new();
            append(&runs.path("access.log"), &lines(0..read));
            let mut emitted = runs.run(&[""]);
            append(&runs.path("access.log"), &lines(read..100));
            fs::copy(runs.path("access.log"), runs.path(name)).unwrap();
            append(&runs.path("access.log"), &lines(100..110));
            emitted.extend(runs.run(&[""]));
            emitted.extend(runs.run(&[""]));
            assert_eq!(
                sorted(emitted),
                (0..110).collect::<Vec<_>>(),
                "{name} {read} {:?}",
                runs.notices
            );
        }
    }
}

/// The target of a symbolic link changes between two runs.
#[test]
fn the_rest_of_the_old_link_target_is_read() {
    for (old, new) in [
        ("access-2026-11-22.log", "access-2026-11-23.log"),
        ("a", "b"),
        ("b", "a"),
        ("logs/a", "logs/b"),
        ("2026-11-22/access.log", "2026-11-23/access.log"),
    ] {
        for is_run in [true, false] {
            for is_two in [true, false] {
                let runs = OneShotRuns::new();
                let folder = runs.folder.path().to_owned();
                for path in [old, new] {
                    fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
                }
                append(&folder.join(old), &lines(0..40));
                symlink(old, folder.join("current")).unwrap();
                let switch = || {
                    append(&folder.join(old), &lines(40..100));
                    append(&folder.join(new), &lines(100..110));
                    fs::remove_file(folder.join("current")).unwrap();
                    symlink(new, folder.join("current")).unwrap();
                };
                let emitted = if is_run {
                    let mut runs = runs;
                    let mut emitted = runs.run(&["current"]);
                    switch();
                    emitted.extend(runs.run(&["current"]));
                    if is_two {
                        emitted.extend(runs.run(&["current"]));
                    }
                    emitted
                } else {
                    let mut harness = TailHarness::new(&["."], true, |_| {});
                    harness.folder = runs.folder;
                    harness.paths = vec![harness.path("current")];
                    harness.restart(Vec::new());
                    let state = harness.tail.checkpoints();
                    switch();
                    harness.restart(state);
                    if is_two {
                        harness.wait(5);
                        let state = harness.tail.checkpoints();
                        harness.restart(state);
                    }
                    harness.wait(5);
                    harness.lines().iter().map(|text| number_of(text)).collect()
                };
                assert_eq!(
                    sorted(emitted),
                    (0..110).collect::<Vec<_>>(),
                    "{old} {new} run {is_run} two {is_two}"
                );
            }
        }
    }
}
