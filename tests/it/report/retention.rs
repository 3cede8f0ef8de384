//! `--keep` and `--keep-runs`: old folders of ours go, and nothing else does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::harness::{Out, entries, picture};
use super::site::Site;
use crate::harness::Harness;

/// Makes a folder as old as a run of 2020 would have left it: by its name, and by the times of its files.
fn aged(out: &Path, name: &str) -> String {
    let old = format!("{}-20200102T030405Z", name.split('-').next().unwrap());
    fs::rename(out.join(name), out.join(&old)).unwrap();
    for file in entries(&out.join(&old)).into_iter().map(|(file, _)| out.join(&old).join(file)).chain([out.join(&old)]) {
        assert!(Command::new("touch").args(["-d", "2020-01-02T03:04:05Z"]).arg(file).status().unwrap().success());
    }
    old
}

#[test]
fn the_newest_runs_are_kept() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    for run in 1..=6_u64 {
        site.write(5);
        site.run(&["--keep-runs", "3"]);
        let out = Out::read(&harness);
        let numbers: Vec<u64> = out.names().iter().map(|name| name[..6].parse().unwrap()).collect();
        assert_eq!(numbers, (1..=run).skip(run.saturating_sub(3) as usize).collect::<Vec<_>>());
        assert_eq!(out.latest.as_deref(), Some(out.last().name.as_str()));
    }
}

#[test]
fn old_runs_are_removed_by_age() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    for _ in 0..3 {
        site.write(5);
        site.run(&[]);
    }
    let out = harness.path("out");
    let names: Vec<_> = Out::read(&harness).folders.into_iter().map(|folder| folder.name).collect();
    let old: Vec<_> = names[..2].iter().map(|name| aged(&out, name)).collect();
    site.write(5);
    site.run(&["--keep", "36500d"]);
    assert_eq!(Out::read(&harness).folders.len(), 4, "nothing is that old");
    site.write(5);
    site.run(&["--keep", "90d"]);
    let left = Out::read(&harness);
    assert_eq!((left.folders.len(), left.names().iter().any(|name| old.iter().any(|old| old == name))), (3, false), "{:?}", left.names());
}

/// A run that tells nothing tidies up too, and says nothing of it.
#[test]
fn a_run_with_nothing_new_removes_old_folders() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    for _ in 0..2 {
        site.write(5);
        site.run(&[]);
    }
    let first = Out::read(&harness).folders[0].name.clone();
    aged(&harness.path("out"), &first);
    let run = site.run(&["--keep", "90d"]);
    assert_eq!((run.text().as_str(), run.stderr.as_str(), Out::read(&harness).folders.len()), ("", "", 1));
}

#[test]
fn other_entries_are_not_removed() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    fs::create_dir(harness.path("precious")).unwrap();
    harness.file("precious/report.json", "{}");
    let out = harness.path("out");
    fs::create_dir(&out).unwrap();
    // A name like one of ours with nothing of ours in it, a name of none, and a link.
    for name in ["000001-20200101T000000Z", "2020-01-01", "notes"] {
        fs::create_dir(out.join(name)).unwrap();
        fs::write(out.join(name).join("mine.txt"), "mine").unwrap();
    }
    symlink(harness.path("precious"), out.join("000002-20200101T000000Z")).unwrap();
    let before = picture(&harness.path("precious"));
    for _ in 0..3 {
        site.write(5);
        site.run(&["--keep-runs", "1", "--keep", "1d"]);
    }
    assert!(picture(&harness.path("precious")) == before);
    let names: Vec<_> = entries(&out).into_iter().map(|(name, _)| name).collect();
    for name in ["000001-20200101T000000Z", "2020-01-01", "notes", "000002-20200101T000000Z"] {
        assert!(names.iter().any(|there| there == name), "{name} is gone: {names:?}");
    }
    // Theirs, one folder of ours, `latest` and `.state`.
    assert_eq!(names.len(), 7, "{names:?}");
}
