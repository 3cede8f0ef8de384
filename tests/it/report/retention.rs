//! `--keep` and `--keep-runs` remove old report folders, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::harness::{Out, entries, snapshot};
use super::site::Site;
use crate::harness::Harness;

/// Creates a folder with the name and file times of a run of 2020.
fn aged(out: &Path, name: &str) -> String {
    let old = format!("{}-20200102T030405Z", name.split('-').next().unwrap());
    fs::rename(out.join(name), out.join(&old)).unwrap();
    for file in entries(&out.join(&old))
        .into_iter()
        .map(|(file, _)| out.join(&old).join(file))
        .chain([out.join(&old)])
    {
        assert!(
            Command::new("touch")
                .args(["-d", "2020-01-02T03:04:05Z"])
                .arg(file)
                .status()
                .unwrap()
                .success()
        );
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
        let numbers: Vec<u64> = out
            .names()
            .iter()
            .map(|name| name[..6].parse().unwrap())
            .collect();
        assert_eq!(
            numbers,
            (1..=run)
                .skip(run.saturating_sub(3) as usize)
                .collect::<Vec<_>>()
        );
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
    let names: Vec<_> = Out::read(&harness)
        .folders
        .into_iter()
        .map(|folder| folder.name)
        .collect();
    let old: Vec<_> = names[..2].iter().map(|name| aged(&out, name)).collect();
    site.write(5);
    site.run(&["--keep", "36500d"]);
    assert_eq!(Out::read(&harness).folders.len(), 4, "nothing is that old");
    site.write(5);
    site.run(&["--keep", "90d"]);
    let left = Out::read(&harness);
    assert_eq!(
        (
            left.folders.len(),
            left.names()
                .iter()
                .any(|name| old.iter().any(|old| old == name))
        ),
        (3, false),
        "{:?}",
        left.names()
    );
}

/// A run without news removes old folders too, silently.
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
    assert_eq!(
        (
            run.text().as_str(),
            run.stderr.as_str(),
            Out::read(&harness).folders.len()
        ),
        ("", "", 1)
    );
}

/// A clock that is years ahead of all folders removes none that was young by the newest of them, in
/// this run and in later ones.
#[test]
fn a_clock_that_jumped_removes_nothing() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    let out = harness.path("out");
    for _ in 0..4 {
        site.write(5);
        site.run(&[]);
    }
    let names: Vec<_> = Out::read(&harness)
        .folders
        .into_iter()
        .map(|folder| folder.name)
        .collect();
    for (name, day) in names
        .iter()
        .zip(["20200801", "20201002", "20201102", "20201120"])
    {
        fs::rename(
            out.join(name),
            out.join(format!("{}-{day}T030405Z", &name[..6])),
        )
        .unwrap();
    }
    site.write(5);
    let run = site.run(&["--keep", "60d"]);
    assert_eq!(
        Out::read(&harness).folders.len(),
        4,
        "the first is 111 days older than the fourth"
    );
    assert!(
        run.stderr.contains(" days ahead of the last report: ")
            && run.stderr.contains("and keeps 3 older folders"),
        "{}",
        run.stderr
    );
    site.write(5);
    let run = site.run(&["--keep", "60d"]);
    assert_eq!(
        (run.stderr.as_str(), Out::read(&harness).folders.len()),
        ("", 5),
        "printed once"
    );
}

#[test]
fn other_entries_are_not_removed() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    fs::create_dir(harness.path("precious")).unwrap();
    harness.file("precious/report.json", "{}");
    let out = harness.path("out");
    fs::create_dir(&out).unwrap();
    // A report folder's name without a report, another name, and a link.
    for name in ["000001-20200101T000000Z", "2020-01-01", "notes"] {
        fs::create_dir(out.join(name)).unwrap();
        fs::write(out.join(name).join("mine.txt"), "mine").unwrap();
    }
    symlink(
        harness.path("precious"),
        out.join("000002-20200101T000000Z"),
    )
    .unwrap();
    let before = snapshot(&harness.path("precious"));
    for _ in 0..3 {
        site.write(5);
        site.run(&["--keep-runs", "1", "--keep", "1d"]);
    }
    assert!(snapshot(&harness.path("precious")) == before);
    let names: Vec<_> = entries(&out).into_iter().map(|(name, _)| name).collect();
    for name in [
        "000001-20200101T000000Z",
        "2020-01-01",
        "notes",
        "000002-20200101T000000Z",
    ] {
        assert!(
            names.iter().any(|there| there == name),
            "{name} is gone: {names:?}"
        );
    }
    // Those entries, one report folder, `latest` and `.state`.
    assert_eq!(names.len(), 7, "{names:?}");
}

/// The index lists the folders that exist, the newest first, and links to their pages alone.
#[test]
fn the_index_follows_the_folders() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    let links = || {
        let index = fs::read_to_string(harness.path("out/index.html")).unwrap();
        let links = index
            .split("href=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned());
        links
            .filter(|link| !link.starts_with('#'))
            .collect::<Vec<_>>()
    };
    site.write(5);
    site.run(&[]);
    assert!(!harness.path("out/index.html").exists());
    for run in 2..=5 {
        site.write(5);
        site.run(&["--html", "--keep-runs", "3"]);
        let out = Out::read(&harness);
        let pages: Vec<_> = out
            .names()
            .into_iter()
            .rev()
            .filter(|name| !name.starts_with("000001-"))
            .map(|name| format!("{name}/report.html"))
            .collect();
        assert_eq!(links(), pages, "run {run}");
        assert!(
            pages
                .iter()
                .all(|page| harness.path("out").join(page).is_file())
        );
    }
    let before = fs::metadata(harness.path("out/index.html")).unwrap();
    site.run(&["--html", "--keep-runs", "3"]);
    let after = fs::metadata(harness.path("out/index.html")).unwrap();
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&before),
        std::os::unix::fs::MetadataExt::ino(&after),
        "nothing is new"
    );
    site.run(&["--html", "--keep-runs", "1"]);
    assert_eq!(
        links().len(),
        1,
        "a run with nothing new removes folders, and their rows"
    );
}

/// A page of that name that is not an index is refused before a line is read.
#[test]
fn another_index_is_not_replaced() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    fs::create_dir(harness.path("out")).unwrap();
    harness.file("out/index.html", "<h1>mine</h1>");
    let run = super::harness::report(&harness, &Site::args(&["--html"]));
    assert_eq!((run.code, run.stdout.len()), (4, 0), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("index.html: the index of reports belongs there, and it is another page"),
        "{}",
        run.stderr
    );
    assert_eq!(
        fs::read_to_string(harness.path("out/index.html")).unwrap(),
        "<h1>mine</h1>"
    );
    fs::remove_file(harness.path("out/index.html")).unwrap();
    site.run(&["--html"]);
    site.assert_complete("an index in the way");
}
