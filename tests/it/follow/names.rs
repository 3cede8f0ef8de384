//! Logs that are moved or copied to names that no rotation gives, with changing links, and during
//! compression: recognised by their content.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;

use super::follower::follow;
use super::oracle::{exactly_once, on_disk};
use super::stage;
use super::writer::Writer;
use crate::compression::COMPRESSIONS;

const NAMES: [&str; 5] = [
    "access.log.away",
    "access.log~",
    "old.log",
    "access-1.log",
    "access.log.1-2026112223.backup",
];

/// While not running, and with unread lines.
#[test]
fn a_moved_log_is_read_to_its_end() {
    for target in ["log", "log/access.log"] {
        for (is_copied, name) in [false, true]
            .into_iter()
            .zip(NAMES.into_iter().cycle())
            .chain(NAMES.map(|name| (false, name)))
        {
            let (harness, mut writer) = stage();
            let args = ["--state", "state", target];
            let mut follower = follow(&harness, &args);
            follower.until_seen(0..10);
            let first = follower.end();
            writer.write(5);
            let (log, away) = (
                harness.path("log/access.log"),
                harness.path("log").join(name),
            );
            if is_copied {
                fs::copy(&log, away).unwrap();
                OpenOptions::new()
                    .write(true)
                    .open(&log)
                    .unwrap()
                    .set_len(0)
                    .unwrap();
            } else {
                fs::rename(&log, away).unwrap();
            }
            writer.reopen();
            writer.write(5);
            let mut follower = follow(&harness, &args);
            follower.until_seen(10..20);
            let second = follower.end();
            exactly_once(&on_disk(&harness.path("log")), &[&first.hits, &second.hits])
                .unwrap_or_else(|what| panic!("{target} {name}: {what}"));
        }
    }
}

#[test]
fn the_rest_of_a_link_target_is_read() {
    for folders in [["2026-11-22", "2026-11-23"], ["", ""]] {
        let (harness, _) = stage();
        fs::remove_file(harness.path("log/access.log")).unwrap();
        let names: Vec<_> = folders
            .iter()
            .zip([22, 23])
            .map(|(folder, day)| {
                if folder.is_empty() {
                    format!("day-{day}")
                } else {
                    format!("{folder}/access.log")
                }
            })
            .collect();
        let link = |name: &str| {
            let _ = fs::remove_file(harness.path("current"));
            symlink(harness.path("log").join(name), harness.path("current")).unwrap();
        };
        for name in &names {
            fs::create_dir_all(harness.path("log").join(name).parent().unwrap()).unwrap();
        }
        let mut old = Writer::from(harness.path("log").join(&names[0]), 0);
        old.write(10);
        link(&names[0]);
        let args = ["--state", "state", "current"];
        let mut follower = follow(&harness, &args);
        follower.until_seen(0..10);
        let first = follower.end();
        old.write(5);
        Writer::from(harness.path("log").join(&names[1]), 15).write(5);
        link(&names[1]);
        let mut follower = follow(&harness, &args);
        follower.until_seen(10..20);
        let second = follower.end();
        exactly_once(&on_disk(&harness.path("log")), &[&first.hits, &second.hits])
            .unwrap_or_else(|what| panic!("{names:?}: {what}"));
    }
}

/// The compressed file is complete, and the plain one still exists.
#[test]
fn a_start_during_compression_reads_the_log_once() {
    for compression in COMPRESSIONS {
        for target in ["log", "log/access.log"] {
            let (harness, mut writer) = stage();
            let (plain, compressed) = (
                harness.path("log/access.log.1"),
                harness.path(format!("log/access.log.1.{}", compression.ending())),
            );
            fs::rename(harness.path("log/access.log"), &plain).unwrap();
            fs::write(&compressed, compression.pack(&fs::read(&plain).unwrap())).unwrap();
            writer.reopen();
            writer.write(5);
            let mut follower = follow(&harness, &[target]);
            follower.until_seen(0..15);
            fs::remove_file(compressed).unwrap();
            writer.write(1);
            follower.until_seen([15]);
            exactly_once(&on_disk(&harness.path("log")), &[&follower.end().hits])
                .unwrap_or_else(|what| panic!("{compression:?} {target}: {what}"));
        }
    }
}
