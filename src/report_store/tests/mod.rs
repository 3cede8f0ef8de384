mod entries;
pub(super) mod faults;
mod recovery;
mod retention;
mod system;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{RenameFlags, renameat_with};
use tempfile::TempDir;

use crate::report_store::tests::faults::FileSystem;
use crate::report_store::*;

const PRIVATE: Access = Access {
    mode: 0o600,
    group: None,
};

/// What readers see: the contents of each folder's files.
type Reports = BTreeMap<String, String>;

/// An `--out` that does not exist yet, in a temporary folder: in memory where possible, because
/// these tests sync often.
fn staging_folder() -> (TempDir, PathBuf) {
    let staging_folder = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let out = staging_folder.path().join("out");
    (staging_folder, out)
}

/// Opens a folder that no other run holds. A child of another test may still hold it for an
/// instant.
fn try_open(out: &Path, access: Access) -> Result<ReportStore, ReportStoreError> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match ReportStore::open(out, access) {
            Err(ReportStoreError::Held { .. }) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

fn open(out: &Path) -> ReportStore {
    try_open(out, PRIVATE).unwrap()
}

fn write(staging: &mut Staging<'_>, name: &str, text: &str) -> Result<(), ReportStoreError> {
    let mut file = staging.file(name)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|error| file.explain(error))?;
    file.finish()
}

/// Stages the folders of a run, with this text in each.
fn stage(
    store: &ReportStore,
    number: u64,
    folders: &[&str],
    text: &str,
) -> Result<Run, ReportStoreError> {
    let mut staging = store.stage(number)?;
    for folder in folders {
        staging.folder(folder)?;
        write(&mut staging, "pairs.csv", text)?;
        write(
            &mut staging,
            REPORT,
            &format!("{{\"generated_by\":\"probewatch\",\"text\":\"{text}\"}}"),
        )?;
    }
    staging.finish()
}

/// Stages and publishes a run.
fn publish(out: &Path, number: u64, folders: &[&str], text: &str) -> Run {
    let store = open(out);
    let run = stage(&store, number, folders, text).unwrap();
    store.publish(&run).unwrap();
    run
}

/// Applies retention at a time, in a run that did not write anything. Returns the number of removed
/// folders.
fn prune(store: &ReportStore, keep: Retention, now: SystemTime) -> usize {
    store
        .prune(keep, store.clock(None, now, &[], keep).unwrap())
        .unwrap()
        .removed
}

/// What readers see of report folders, each of them complete.
fn reports(out: &Path) -> Reports {
    let mut reports = Reports::new();
    for name in names(out)
        .into_iter()
        .filter(|name| ReportDirName::parse(name).is_some())
    {
        let folder = out.join(&name);
        assert_eq!(names(&folder), ["pairs.csv", "report.json"], "{name}");
        let text = fs::read_to_string(folder.join("pairs.csv")).unwrap();
        assert!(
            fs::read_to_string(folder.join(REPORT))
                .unwrap()
                .ends_with(&format!("\"{text}\"}}")),
            "{name}: {text}"
        );
        reports.insert(name, text);
    }
    reports
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn hidden(dir: &Path) -> Vec<String> {
    names(dir)
        .into_iter()
        .filter(|name| name.starts_with('.'))
        .collect()
}

fn latest(out: &Path) -> String {
    fs::read_link(out.join(LATEST))
        .unwrap()
        .into_os_string()
        .into_string()
        .unwrap()
}

fn expected(reports: &[(&str, &str)]) -> Reports {
    reports
        .iter()
        .map(|(name, text)| ((*name).into(), (*text).into()))
        .collect()
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const RUN_1: &str = "000001-20261120T000500Z";
const RUN_2: &str = "000002-20261121T000500Z";
const RUN_3: &str = "000003-20261122T000500Z";

#[test]
fn folders_appear_when_they_are_published() {
    let (_temp_dir, out) = staging_folder();
    let store = open(&out);
    assert_eq!(store.last_run_number().unwrap(), 0);
    store.recover(None).unwrap();
    let run = stage(&store, 1, &[RUN_1], "one").unwrap();
    assert_eq!(names(&out), [".run-1.tmp"]);
    assert_eq!(
        run,
        Run {
            number: 1,
            folders: vec![RUN_1.into()]
        }
    );
    store.publish(&run).unwrap();
    store.publish(&run).unwrap();
    assert_eq!(names(&out), [RUN_1, LATEST]);
    assert_eq!(
        (reports(&out), latest(&out)),
        (expected(&[(RUN_1, "one")]), RUN_1.into())
    );
    drop(store);
    publish(&out, 2, &[RUN_2], "two");
    assert_eq!(
        (reports(&out), latest(&out)),
        (expected(&[(RUN_1, "one"), (RUN_2, "two")]), RUN_2.into())
    );
    let store = open(&out);
    assert_eq!(store.last_run_number().unwrap(), 2);
    fs::remove_dir_all(out.join(RUN_2)).unwrap();
    store
        .recover(Some(&Run {
            number: 2,
            folders: vec![RUN_2.into()],
        }))
        .unwrap();
    assert_eq!(
        reports(&out),
        expected(&[(RUN_1, "one")]),
        "removed reports are not missed"
    );
}

#[test]
fn periods_are_replaced_as_a_whole() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &["2026-11-19", "2026-11-20"], "one");
    assert_eq!(latest(&out), "2026-11-20");
    publish(&out, 2, &["2026-11-20", "2026-11-21"], "two");
    assert_eq!(
        reports(&out),
        expected(&[
            ("2026-11-19", "one"),
            ("2026-11-20", "two"),
            ("2026-11-21", "two")
        ])
    );
    assert_eq!((latest(&out), hidden(&out)), ("2026-11-21".into(), vec![]));
    publish(&out, 3, &["2026-11-18"], "late");
    assert_eq!(latest(&out), "2026-11-21", "late lines make no latest day");
    fs::create_dir(out.join("2026-12-31")).unwrap();
    publish(&out, 4, &["2026-11-17"], "late");
    assert_eq!(
        latest(&out),
        "2026-11-21",
        "nor does a folder that is not ours"
    );
    fs::remove_dir(out.join("2026-12-31")).unwrap();
    publish(&out, 5, &["2026-11-18T13"], "hour");
    assert_eq!(
        latest(&out),
        "2026-11-18T13",
        "the latest of what is made now"
    );
    assert_eq!(
        open(&out).last_run_number().unwrap(),
        0,
        "periods have no number"
    );
}

/// Readers find a folder at every instant, if folders can be swapped.
#[test]
fn a_replaced_period_is_never_missing() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &["2026-11-20"], "0");
    let day = out.join("2026-11-20");
    let other = out.join("other");
    fs::create_dir(&other).unwrap();
    let can = renameat_with(CWD, &day, CWD, &other, RenameFlags::EXCHANGE).is_ok();
    if can {
        renameat_with(CWD, &day, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    }
    fs::remove_dir(&other).unwrap();
    let done = AtomicBool::new(false);
    let looks = thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let (mut looks, mut missing) = (0_u64, 0_u64);
            while !done.load(Ordering::Relaxed) {
                looks += 1;
                missing += u64::from(!day.is_dir());
            }
            (looks, missing)
        });
        for number in 2..200 {
            publish(&out, number, &["2026-11-20"], &number.to_string());
        }
        done.store(true, Ordering::Relaxed);
        looking.join().unwrap()
    });
    assert!(
        looks.0 > 1_000 && (looks.1 == 0 || !can),
        "missing at {} of {} looks",
        looks.1,
        looks.0
    );
    assert_eq!(
        (reports(&out), hidden(&out)),
        (expected(&[("2026-11-20", "199")]), vec![])
    );
}

/// Without the second name, a run cannot know whether a swap was done.
#[test]
fn without_hard_links_a_period_is_replaced_in_two_steps() {
    let (_temp_dir, out) = staging_folder();
    faults::set_file_system(FileSystem {
        can_exchange: true,
        can_link: false,
        order: 0,
    });
    publish(&out, 1, &["2026-11-20"], "one");
    let store = open(&out);
    let run = stage(&store, 2, &["2026-11-20"], "two").unwrap();
    assert_eq!(
        fs::read(out.join(".run-2.tmp/.new-2026-11-20")).unwrap(),
        b""
    );
    store.publish(&run).unwrap();
    assert_eq!(
        (reports(&out), hidden(&out)),
        (expected(&[("2026-11-20", "two")]), vec![])
    );
}

#[test]
fn a_file_is_read_back() {
    use std::io::Read;
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &["2026-11-19"], "one");
    let store = open(&out);
    let mut text = String::new();
    store
        .open_file("2026-11-19", "pairs.csv")
        .unwrap()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "one");
    assert!(store.open_file("2026-11-19", "none.csv").unwrap().is_none());
    assert!(store.open_file("2026-11-20", REPORT).unwrap().is_none());
    assert!(store.open_file("..", REPORT).is_err());
    std::os::unix::fs::symlink("pairs.csv", out.join("2026-11-19/link")).unwrap();
    std::os::unix::fs::symlink("2026-11-19", out.join("2026-11-20")).unwrap();
    for (folder, file, what) in [
        (
            "2026-11-19",
            "link",
            "2026-11-19/link: it is a symbolic link;",
        ),
        (
            "2026-11-20",
            REPORT,
            "2026-11-20: it is not a folder of reports;",
        ),
    ] {
        let refusal = store.open_file(folder, file).unwrap_err();
        assert!(
            matches!(refusal, ReportStoreError::InTheWay { .. })
                && refusal.to_string().contains(what),
            "{refusal}"
        );
    }
}

#[test]
fn unfinished_folders_are_never_committed() {
    let (_temp_dir, out) = staging_folder();
    let store = open(&out);
    let mut staging = store.stage(1).unwrap();
    assert!(staging.file(REPORT).is_err(), "there is no folder yet");
    staging.folder(RUN_1).unwrap();
    assert!(staging.folder(RUN_1).is_err());
    drop(staging);
    assert_eq!(names(&out), [""; 0]);
    for complete in [false, true] {
        let mut staging = store.stage(1).unwrap();
        staging.folder(RUN_1).unwrap();
        write(&mut staging, REPORT, "probewatch").unwrap();
        let mut file = staging.file("pairs.csv").unwrap();
        file.write_all(b"half").unwrap();
        if complete {
            file.finish().unwrap();
        } else {
            drop(file);
        }
        assert_eq!(staging.finish().is_ok(), complete);
        assert_eq!(names(&out).is_empty(), !complete);
    }
    store.recover(None).unwrap();
    assert_eq!(names(&out), [""; 0]);
    let mut staging = store.stage(1).unwrap();
    for name in [
        "../escape",
        "latest",
        "",
        ".",
        "12-20261120T000500Z",
        "2026-11-31",
    ] {
        assert!(
            staging
                .folder(name)
                .unwrap_err()
                .to_string()
                .contains("this is not the name of a run or a period"),
            "{name}"
        );
    }
}

/// Runs an ignored test in its own process, after a shell prefix, with the folder in its
/// environment.
fn other_process(test: &str, before: &str, out: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!(
        "{before} \"$0\" --ignored --nocapture --exact report_store::tests::{test}"
    ));
    command
        .arg(std::env::current_exe().unwrap())
        .env("PROBEWATCH_TEST_OUT", out);
    command
}

fn out_from_environment() -> PathBuf {
    std::env::var_os("PROBEWATCH_TEST_OUT").unwrap().into()
}

fn at(text: &str) -> SystemTime {
    text.parse::<jiff::Timestamp>().unwrap().into()
}
