//! Events of changes and their limits (E14, E16-E19, E26, E28): events may be lost, lines may not.

use std::fs;
use std::process::Command;

use super::follower::{FOLLOW, Follower, MODES, follow};
use super::writer::{Reopen, Writer, line};
use super::{assert_complete, mounting, stage, works};
use crate::harness::{EXE, skip};

/// E14.
#[test]
fn a_folder_that_is_removed_and_created_again() {
    for mode in MODES {
        for run_measured in ["log/site/access.log", "log/site"] {
            let (harness, _) = stage();
            let folder = harness.path("log/site");
            let mut first = 0;
            let mut follower = None;
            for _ in 0..3 {
                fs::create_dir(&folder).unwrap();
                let mut writer = Writer::from(folder.join("access.log"), first);
                writer.write(5);
                let follower = follower
                    .get_or_insert_with(|| follow(&harness, &[mode, &[run_measured]].concat()));
                follower.until_seen(first..first + 5);
                writer.write(5);
                follower.until_seen(first..first + 10);
                first += 10;
                fs::remove_dir_all(&folder).unwrap();
            }
            let output = follower.unwrap().end();
            super::exactly_once(&super::oracle::Disk::new(), &[&output.hits]).unwrap();
            assert_eq!(output.hits.len(), 30, "{mode:?}, {run_measured}");
        }
    }
}

/// E16. More events than the system queues, and a new log among them.
#[test]
fn a_queue_that_overflows() {
    let limit: u64 = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .map_or(0, |text| text.trim().parse().unwrap());
    if limit == 0 || limit > 200_000 {
        return skip("E16", "no queue that could be filled soon");
    }
    let (harness, mut writer) = stage();
    let mut follower = follow(&harness, &["log"]);
    follower.until_seen(0..10);
    follower.stall();
    let noise = harness.path("log/noise");
    for _ in 0..limit / 2 {
        fs::write(&noise, "").unwrap();
        fs::remove_file(&noise).unwrap();
    }
    writer.write(20);
    fs::rename(
        harness.path("log/access.log"),
        harness.path("log/access.log.1"),
    )
    .unwrap();
    writer.write(20);
    writer.reopen();
    writer.write(20);
    let mut late = Writer::from(harness.path("log/late.log"), 9000);
    late.write(20);
    follower.resume();
    follower.until_seen(9000..9020);
    assert_complete(&harness, follower, &mut writer);
}

/// E17. Both inotify limits, each in its own namespace, so that no other process is affected.
#[test]
fn no_watches_left() {
    for limit in ["max_inotify_instances", "max_inotify_watches"] {
        let line = format!(r#"echo 0 > /proc/sys/user/{limit} && exec "$0" "$@""#);
        if !works(Command::new("unshare").args(["-Ur", "sh", "-c", &line, "true"])) {
            return skip(
                "E17",
                "no name space for users in which the limit can be set",
            );
        }
        let (harness, mut writer) = stage();
        let mut command = Command::new("unshare");
        command
            .args(["-Ur", "sh", "-c", &line, EXE])
            .args(FOLLOW)
            .args(["log", "log/access.log"])
            .current_dir(harness.path(""));
        let mut follower = Follower::start(&mut command);
        follower.until_seen(0..10);
        writer.write(10);
        follower.until_seen(10..20);
        fs::rename(
            harness.path("log/access.log"),
            harness.path("log/access.log.1"),
        )
        .unwrap();
        writer.reopen();
        writer.write(10);
        let output = assert_complete(&harness, follower, &mut writer);
        let notices: Vec<_> = output
            .notices
            .lines()
            .filter(|line| line.contains("polling instead"))
            .collect();
        assert_eq!(notices.len(), 1, "{limit}: {}", output.notices);
    }
}

/// E18. Another process writes to the lower layer.
#[test]
fn the_lower_layer_of_an_overlay() {
    let (harness, mut writer) = stage();
    for name in ["upper", "work", "merged"] {
        fs::create_dir(harness.path(name)).unwrap();
    }
    let mount = r#"mount -t overlay overlay -o lowerdir=log,upperdir=upper,workdir=work merged; exec "$0" "$@""#;
    let Some(mut command) = mounting("E18", &harness, mount, &["merged/access.log"]) else {
        return;
    };
    let mut follower = Follower::start(&mut command);
    follower.until_seen(0..10);
    for _ in 0..3 {
        writer.write(5);
        follower.until_seen([writer.next() - 1]);
    }
    assert_complete(&harness, follower, &mut writer);
}

/// E19. The mount keeps the old log for ever, which a notice reports.
#[test]
fn a_single_file_that_is_mounted() {
    let (harness, mut writer) = stage();
    harness.file("mounted.log", "");
    let mount = r#"mount --bind log/access.log mounted.log; exec "$0" "$@""#;
    let Some(mut command) = mounting("E19", &harness, mount, &["mounted.log"]) else {
        return;
    };
    let mut follower = Follower::start(&mut command);
    follower.until_seen(0..10);
    fs::rename(
        harness.path("log/access.log"),
        harness.path("log/access.log.1"),
    )
    .unwrap();
    writer.write(5);
    follower.until_seen(10..15);
    follower.until("a word on the mount", |output| {
        output.notices.contains("mount")
    });
    writer.write(5);
    follower.until_seen(15..20);
    let output = follower.end();
    let notices = output
        .notices
        .lines()
        .filter(|line| line.contains("is a mounted file"))
        .count();
    assert_eq!(notices, 1, "{}", output.notices);
    assert_eq!(output.hits.len(), 20);
}

/// E26. A thousand quiet logs and a busy one.
#[test]
fn a_busy_log_does_not_delay_the_others() {
    for mode in MODES {
        let (harness, writer) = stage();
        for n in 0..1000 {
            harness.file(format!("log/site{n}.log"), line(100_000 + n));
        }
        let mut follower = follow(&harness, &[mode, &["log"]].concat());
        follower.until_seen(100_000..101_000);
        let busy = writer.go(Reopen::Never);
        for n in [0, 499, 999] {
            let mut quiet = Writer::from(harness.path(format!("log/site{n}.log")), 200_000 + n);
            quiet.write(1);
            follower.until_seen([200_000 + n]);
        }
        assert_complete(&harness, follower, &mut busy.stop());
    }
}

/// E28. An append-only log is only read.
#[test]
fn an_append_only_log() {
    let (harness, mut writer) = stage();
    let path = harness.path("log/access.log");
    if !works(Command::new("chattr").arg("+a").arg(&path)) {
        return skip("E28", "chattr +a is not allowed here");
    }
    let mut follower = follow(&harness, &["log/access.log"]);
    follower.until_seen(0..10);
    writer.write(5);
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        assert_complete(&harness, follower, &mut writer)
    }));
    // Otherwise the folder could not be removed.
    assert!(works(Command::new("chattr").arg("-a").arg(&path)));
    done.unwrap();
}
