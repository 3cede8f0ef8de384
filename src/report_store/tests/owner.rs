//! A folder belongs to one state: runs of another state do not touch what it committed.

use std::os::unix::fs::{MetadataExt, symlink};

use crate::report_store::tests::*;

/// Opens the folder for a state with this file.
fn open_for(out: &Path, state: &Path) -> Result<ReportStore, ReportStoreError> {
    open(out).for_state(state.to_owned())
}

#[test]
fn a_run_of_another_state_keeps_a_committed_run() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (staging_folder.path().join("mine.json"), staging_folder.path().join("other.json"));
    let store = open_for(&out, &mine).unwrap();
    let run = stage(&store, 1, &[RUN_1], "one").unwrap();
    // Committed, and interrupted before it was published.
    fs::write(&mine, "{}").unwrap();
    drop(store);
    let refusal = open_for(&out, &other).unwrap_err();
    assert!(matches!(&refusal, ReportStoreError::Shared { path, owner } if *path == out.join(".state") && *owner == mine), "{refusal}");
    let store = open_for(&out, &mine).unwrap();
    store.recover(Some(&run)).unwrap();
    assert_eq!((reports(&out), hidden(&out)), (expected(&[(RUN_1, "one")]), vec![".state".to_owned()]));
}

#[test]
fn the_folder_of_a_deleted_state_can_be_used() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (staging_folder.path().join("mine.json"), staging_folder.path().join("other.json"));
    fs::write(&mine, "{}").unwrap();
    let store = open_for(&out, &mine).unwrap();
    store.publish(&stage(&store, 1, &[RUN_1], "one").unwrap()).unwrap();
    drop(store);
    fs::remove_file(&mine).unwrap();
    let store = open_for(&out, &other).unwrap();
    store.publish(&stage(&store, 2, &[RUN_2], "two").unwrap()).unwrap();
    let text = fs::read_to_string(out.join(".state")).unwrap();
    assert_eq!(text, format!("{}\n{}", fs::metadata(&out).unwrap().ino(), other.display()));
    assert_eq!(mode(out.join(".state")), 0o600);
}

#[test]
fn a_copied_folder_has_no_owner() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (staging_folder.path().join("mine.json"), staging_folder.path().join("other.json"));
    fs::write(&mine, "{}").unwrap();
    let store = open_for(&out, &mine).unwrap();
    store.publish(&stage(&store, 1, &[RUN_1], "one").unwrap()).unwrap();
    let copy = staging_folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(out.join(".state"), copy.join(".state")).unwrap();
    open_for(&copy, &other).unwrap();
    drop(store);
    assert!(open_for(&out, &other).is_err());
}

#[test]
fn a_run_without_reports_does_not_own_the_folder() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (staging_folder.path().join("mine.json"), staging_folder.path().join("other.json"));
    fs::write(&mine, "{}").unwrap();
    open_for(&out, &mine).unwrap().recover(None).unwrap();
    assert_eq!(names(&out), [""; 0]);
    open_for(&out, &other).unwrap();
}

#[test]
fn an_empty_or_partial_owner_file_is_ignored() {
    let (staging_folder, out) = staging_folder();
    fs::create_dir(&out).unwrap();
    fs::write(out.join(".state"), "").unwrap();
    fs::write(out.join(".state.tmp"), "/half").unwrap();
    let store = open_for(&out, &staging_folder.path().join("mine.json")).unwrap();
    store.recover(None).unwrap();
    assert_eq!(names(&out), [".state"]);
    fs::remove_file(out.join(".state")).unwrap();
    symlink("elsewhere", out.join(".state")).unwrap();
    drop(store);
    let refusal = open_for(&out, &staging_folder.path().join("mine.json")).unwrap_err();
    assert!(refusal.to_string().contains("/.state: it is a symbolic link"), "{refusal}");
}
