//! Rotations of every kind during writes (E1-E9, E15, E23, E29, E30).

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::follower::{Follower, MODES, follow};
use super::logrotate::Logrotate;
use super::oracle::{exactly_once, on_disk};
use super::writer::{Reopen, Writer};
use super::{assert_complete, stage};

/// Whether the follower is stopped during the rotation.
#[derive(Clone, Copy, PartialEq)]
enum FollowerPause {
    No,
    Yes,
}

/// Rotates while a writer writes continuously, and compares with the disk.
fn rotated(
    test: &str,
    watch: &[&str],
    directives: &str,
    has_script: bool,
    rotations: u32,
    stall: FollowerPause,
) {
    let (harness, writer) = stage();
    fs::create_dir(harness.path("log/old")).unwrap();
    let flag = harness.path("reopen");
    let script = format!("postrotate\n touch {}\nendscript", flag.display());
    let directives = if has_script {
        format!("{directives}\n{script}")
    } else {
        directives.to_owned()
    };
    let Some(logrotate) = Logrotate::new(test, &harness, &directives) else {
        return;
    };
    let mut follower = follow(&harness, watch);
    follower.until_seen(0..10);
    let busy = writer.go(if has_script {
        Reopen::Signalled(flag)
    } else {
        Reopen::Every(200)
    });
    for _ in 0..rotations {
        let before = follower.hits();
        follower.until("the writer writes", |output| {
            output.hits.len() > before + 100
        });
        if stall == FollowerPause::Yes {
            follower.stall();
            // Lines that could be missed.
            thread::sleep(Duration::from_millis(70));
        }
        logrotate.rotate();
        if stall == FollowerPause::Yes {
            thread::sleep(Duration::from_millis(70));
            follower.resume();
        }
    }
    assert_complete(&harness, follower, &mut busy.stop());
}

/// The log in this mode.
fn log_in<'a>(mode: &[&'a str]) -> Vec<&'a str> {
    mode.iter().copied().chain(["log/access.log"]).collect()
}

/// E1.
#[test]
fn create_while_the_writer_keeps_the_old_log() {
    rotated(
        "E1",
        &log_in(MODES[0]),
        "create",
        false,
        12,
        FollowerPause::No,
    );
}

/// E2.
#[test]
fn create_with_polling_only() {
    rotated(
        "E2",
        &log_in(MODES[1]),
        "create",
        false,
        12,
        FollowerPause::No,
    );
}

/// E3.
#[test]
fn copytruncate() {
    for mode in MODES {
        rotated(
            "E3",
            &log_in(mode),
            "copytruncate",
            false,
            3,
            FollowerPause::No,
        );
    }
}

/// E4.
#[test]
fn copytruncate_while_the_follower_is_stopped() {
    for mode in MODES {
        rotated(
            "E4",
            &log_in(mode),
            "copytruncate",
            false,
            3,
            FollowerPause::Yes,
        );
    }
}

/// E4.
#[test]
fn copytruncate_and_compress_while_the_follower_is_stopped() {
    rotated(
        "E4, compressed",
        &log_in(MODES[0]),
        "copytruncate\ncompress",
        false,
        3,
        FollowerPause::Yes,
    );
}

/// E5. The size does not show it: the log is longer than before at the next poll.
#[test]
fn copytruncate_and_grown_past_its_old_size() {
    for mode in MODES {
        let (harness, mut writer) = stage();
        let Some(logrotate) = Logrotate::new("E5", &harness, "copytruncate") else {
            return;
        };
        let mut follower = follow(&harness, &log_in(mode));
        follower.until_seen(0..10);
        follower.stall();
        writer.write(20);
        logrotate.rotate();
        writer.write(200);
        follower.resume();
        assert_complete(&harness, follower, &mut writer);
    }
}

/// E6.
#[test]
fn compress_at_once() {
    rotated(
        "E6",
        &log_in(MODES[0]),
        "create\ncompress",
        true,
        3,
        FollowerPause::No,
    );
    rotated(
        "E6, stalled",
        &log_in(MODES[1]),
        "create\ncompress",
        true,
        3,
        FollowerPause::Yes,
    );
}

/// E6. What was not read before compression is read from the compressed file.
#[test]
fn compressed_while_not_running() {
    let (harness, mut writer) = stage();
    let Some(logrotate) = Logrotate::new("E6, packed while down", &harness, "create\ncompress")
    else {
        return;
    };
    let args = ["--state", "state", "log/access.log"];
    let mut follower = follow(&harness, &args);
    follower.until_seen(0..10);
    let first = follower.end();
    writer.write(20);
    logrotate.rotate();
    writer.reopen();
    writer.write(5);
    let mut follower = follow(&harness, &args);
    follower.until_seen(10..35);
    let second = follower.end();
    assert!(harness.path("log/access.log.1.gz").exists());
    exactly_once(&on_disk(&harness.path("log")), &[&first.hits, &second.hits]).unwrap();
}

/// E7.
#[test]
fn delaycompress() {
    rotated(
        "E7, delaycompress",
        &log_in(MODES[0]),
        "create\ncompress\ndelaycompress",
        true,
        3,
        FollowerPause::No,
    );
    rotated(
        "E7, delaycompress, stalled",
        &log_in(MODES[0]),
        "create\ncompress\ndelaycompress",
        true,
        3,
        FollowerPause::Yes,
    );
}

/// E7.
#[test]
fn dateext() {
    rotated(
        "E7, dateext",
        &log_in(MODES[0]),
        "create\ndateext\ndateformat -%Y%m%d-%s",
        true,
        2,
        FollowerPause::Yes,
    );
    rotated(
        "E7, dateext, compress",
        &log_in(MODES[1]),
        "create\ndateext\ncompress",
        true,
        1,
        FollowerPause::Yes,
    );
}

/// E7.
#[test]
fn olddir() {
    rotated(
        "E7, olddir",
        &log_in(MODES[0]),
        "create\nolddir old",
        true,
        2,
        FollowerPause::No,
    );
    rotated(
        "E7, olddir, stalled",
        &log_in(MODES[0]),
        "create\nolddir old\ncompress",
        true,
        2,
        FollowerPause::Yes,
    );
}

/// E7.
#[test]
fn sharedscripts() {
    rotated(
        "E7, sharedscripts",
        &log_in(MODES[0]),
        "create\nsharedscripts",
        true,
        2,
        FollowerPause::No,
    );
}

/// E7.
#[test]
fn nocreate() {
    rotated(
        "E7, nocreate",
        &log_in(MODES[0]),
        "nocreate",
        true,
        3,
        FollowerPause::No,
    );
    rotated(
        "E7, nocreate, stalled",
        &log_in(MODES[1]),
        "nocreate",
        true,
        2,
        FollowerPause::Yes,
    );
}

/// E7.
#[test]
fn renamecopy() {
    rotated(
        "E7, renamecopy",
        &log_in(MODES[0]),
        "create\nrenamecopy",
        true,
        2,
        FollowerPause::No,
    );
    rotated(
        "E7, renamecopy, stalled",
        &log_in(MODES[0]),
        "create\nrenamecopy",
        true,
        2,
        FollowerPause::Yes,
    );
}

/// Rotated files are not new logs.
#[test]
fn a_folder_is_followed_through_rotations() {
    rotated(
        "a folder, create",
        &["log"],
        "create",
        true,
        4,
        FollowerPause::No,
    );
    rotated(
        "a folder, compress",
        &["log"],
        "create\ncompress",
        true,
        3,
        FollowerPause::Yes,
    );
    rotated(
        "a folder, copytruncate",
        &["log"],
        "copytruncate",
        false,
        3,
        FollowerPause::No,
    );
}

#[test]
fn a_glob_is_followed_through_rotations() {
    rotated(
        "a glob",
        &["log/access.log*"],
        "create\ncompress\ndelaycompress",
        true,
        4,
        FollowerPause::No,
    );
}

/// E8. All of them are found and read.
#[test]
fn three_rotations_while_the_follower_is_stopped() {
    for directives in [
        "create",
        "create\ncompress",
        "create\ncompress\ndelaycompress",
        "copytruncate",
    ] {
        for mode in MODES {
            let (harness, mut writer) = stage();
            let Some(logrotate) = Logrotate::new("E8", &harness, directives) else {
                return;
            };
            let mut follower = follow(&harness, &log_in(mode));
            follower.until_seen(0..10);
            follower.stall();
            for _ in 0..3 {
                writer.write(20);
                logrotate.rotate();
                writer.reopen();
            }
            writer.write(20);
            follower.resume();
            let output = assert_complete(&harness, follower, &mut writer);
            assert_eq!(output.hits.len(), 10 + 80 + 1, "{directives}, {mode:?}");
        }
    }
}

/// E9. The rest of the old log first, then the ones between, then the new one.
#[test]
fn rotations_while_not_running() {
    for directives in [
        "create",
        "create\ncompress\ndelaycompress",
        "copytruncate",
        "copytruncate\ncompress",
    ] {
        let (harness, mut writer) = stage();
        let Some(logrotate) = Logrotate::new("E9", &harness, directives) else {
            return;
        };
        let args = ["--state", "state", "log/access.log"];
        let mut follower = follow(&harness, &args);
        follower.until_seen(0..10);
        let first = follower.end();
        for _ in 0..3 {
            writer.write(20);
            logrotate.rotate();
            writer.reopen();
        }
        writer.write(20);
        let mut follower = follow(&harness, &args);
        follower.until_seen(10..90);
        let second = follower.end();
        exactly_once(&on_disk(&harness.path("log")), &[&first.hits, &second.hits])
            .unwrap_or_else(|e| panic!("{directives}: {e}"));
        let numbers: Vec<_> = second
            .hits
            .iter()
            .map(|hit| hit.number().unwrap())
            .collect();
        assert!(
            numbers.is_sorted(),
            "{directives}: not in the order they were written: {numbers:?}"
        );
    }
}

/// E15.
#[test]
fn moved_away_and_back() {
    for mode in MODES {
        let (harness, mut writer) = stage();
        let mut follower = follow(&harness, &log_in(mode));
        follower.until_seen(0..10);
        for _ in 0..3 {
            fs::rename(harness.path("log/access.log"), harness.path("log/away")).unwrap();
            writer.write(5);
            follower.until_seen([writer.next() - 1]);
            fs::rename(harness.path("log/away"), harness.path("log/access.log")).unwrap();
            writer.write(5);
            follower.until_seen([writer.next() - 1]);
        }
        assert_complete(&harness, follower, &mut writer);
    }
}

/// E23. The rest is written to the old log, under its new name.
#[test]
fn a_line_split_by_a_rotation() {
    for mode in MODES {
        let (harness, mut writer) = stage();
        let mut follower = follow(&harness, &log_in(mode));
        follower.until_seen(0..10);
        let mut new = None;
        writer.write_in_parts(&[40], |_| {
            fs::rename(
                harness.path("log/access.log"),
                harness.path("log/access.log.1"),
            )
            .unwrap();
            let mut log = Writer::from(harness.path("log/access.log"), 1000);
            log.write(5);
            follower.until_seen(1000..1005);
            new = Some(log);
        });
        follower.until_seen([10]);
        assert_complete(&harness, follower, &mut new.unwrap());
    }
}

/// E29, E30. Logs that were read to the end are closed, also deleted ones: otherwise their disk
/// space would not be freed.
#[test]
fn descriptors_are_closed_after_many_quick_rotations() {
    let (harness, mut writer) = stage();
    let mut follower = follow(&harness, &["log/access.log"]);
    follower.until_seen(0..10);
    let logs = |follower: &Follower| {
        follower
            .descriptors()
            .iter()
            .filter(|path| leads_to_log(path))
            .count()
    };
    assert!(logs(&follower) <= 1, "{:?}", follower.descriptors());
    for round in 0..30 {
        fs::rename(
            harness.path("log/access.log"),
            harness.path(format!("log/access.log.{round}")),
        )
        .unwrap();
        writer.write(1);
        writer.reopen();
        writer.write(4);
        follower.until_seen([writer.next() - 1]);
    }
    let disk = on_disk(&harness.path("log"));
    follower.until_seen(disk.keys().copied());
    for round in 0..30 {
        fs::remove_file(harness.path(format!("log/access.log.{round}"))).unwrap();
    }
    follower.until_process("old logs are closed", |follower| logs(follower) <= 1);
    writer.write(1);
    follower.until_seen([writer.next() - 1]);
    exactly_once(&disk, &[&follower.end().hits]).unwrap();
}

fn leads_to_log(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("access.log"))
}

/// A test of the harness: logrotate does what the cases need.
#[test]
fn the_disk_holds_all_lines_after_a_rotation() {
    let (harness, mut writer) = stage();
    let Some(logrotate) =
        Logrotate::new("the harness with logrotate", &harness, "create\ncompress")
    else {
        return;
    };
    for _ in 0..2 {
        logrotate.rotate();
        writer.reopen();
        writer.write(7);
    }
    let compressed = fs::read(harness.path("log/access.log.2.gz")).unwrap();
    assert!(compressed.starts_with(&[0x1f, 0x8b]));
    assert_eq!(
        on_disk(&harness.path("log"))
            .into_keys()
            .collect::<Vec<_>>(),
        (0..24).collect::<Vec<_>>()
    );
}
