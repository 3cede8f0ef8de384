//! Names that are taken, folders that are links, an `--out` that is removed, and an `--out` of
//! another state.

use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};

use rustix::process::geteuid;

use crate::report_store::tests::*;

#[test]
fn the_folder_is_created_but_not_its_parent() {
    let (_temp_dir, out) = staging_folder();
    let deep = out.join("deep");
    let refusal = ReportStore::open(&deep, PRIVATE).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        format!(
            "cannot make {}: no such file or directory; make the folder first or choose another --out",
            deep.display()
        )
    );
    fs::write(&out, "").unwrap();
    let refusal = ReportStore::open(&out, PRIVATE).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        format!(
            "cannot open {}: not a directory; choose another --out",
            out.display()
        )
    );
    fs::remove_file(&out).unwrap();
    open(&out);
    assert_eq!(mode(&out), 0o700);
    set_mode(&out, 0o755);
    open(&out);
    assert_eq!(mode(&out), 0o755, "what was there keeps its rights");
}

#[test]
fn a_link_to_the_folder_is_followed_if_this_user_owns_it() {
    let (staging_folder, out) = staging_folder();
    let link = staging_folder.path().join("link");
    symlink(&out, &link).unwrap();
    assert!(
        ReportStore::open(&link, PRIVATE).is_err(),
        "it leads nowhere"
    );
    fs::create_dir(&out).unwrap();
    for link in [link.clone(), link.join("")] {
        publish(&link, 1, &[RUN_1], "one");
        assert_eq!(reports(&out), expected(&[(RUN_1, "one")]));
        fs::remove_dir_all(out.join(RUN_1)).unwrap();
    }
    if geteuid().is_root() {
        lchown(&link, Some(65534), None).unwrap();
        for link in [link.clone(), link.join("")] {
            let refusal = ReportStore::open(&link, PRIVATE).unwrap_err().to_string();
            assert!(
                refusal.ends_with(
                    "/link: it is a symbolic link of another user; name the folder it leads to"
                ),
                "{refusal}"
            );
        }
    }
}

#[test]
fn one_run_at_a_time() {
    let (_temp_dir, out) = staging_folder();
    let store = open(&out);
    let refusal = ReportStore::open(&out, PRIVATE).unwrap_err();
    assert!(matches!(refusal, ReportStoreError::Held { .. }));
    assert_eq!(
        refusal.to_string(),
        format!(
            "{}: another run writes to this folder; wait for its end, and give every --state an --out of its own",
            out.display()
        )
    );
    drop(store);
    open(&out);
}

#[test]
fn modes_and_groups() {
    let is_root = geteuid().is_root();
    for (mode_of_file, mode_of_folder) in [
        (0o600, 0o700),
        (0o640, 0o750),
        (0o644, 0o755),
        (0o400, 0o700),
    ] {
        let (_temp_dir, out) = staging_folder();
        let group = is_root.then_some(65534);
        let store = try_open(
            &out,
            Access {
                mode: mode_of_file,
                group,
            },
        )
        .unwrap();
        let run = stage(&store, 1, &[RUN_1], "one").unwrap();
        assert_eq!(
            mode(out.join(".run-1.tmp")),
            0o700,
            "others see nothing before it is whole"
        );
        store.publish(&run).unwrap();
        let folder = out.join(RUN_1);
        assert_eq!([mode(&out), mode(&folder)], [mode_of_folder; 2]);
        for file in [REPORT, "pairs.csv"] {
            assert_eq!(mode(folder.join(file)), mode_of_file);
        }
        for path in [out.clone(), folder.clone(), folder.join(REPORT)]
            .into_iter()
            .filter(|_| is_root)
        {
            assert_eq!(fs::metadata(path).unwrap().gid(), 65534);
        }
    }
}

#[test]
fn a_setgid_folder_passes_on_its_group() {
    if !geteuid().is_root() {
        return;
    }
    let (_temp_dir, out) = staging_folder();
    fs::create_dir(&out).unwrap();
    chown(&out, None, Some(65534)).unwrap();
    set_mode(&out, 0o2750);
    publish(&out, 1, &[RUN_1], "one");
    assert_eq!(
        fs::metadata(out.join(RUN_1).join(REPORT)).unwrap().gid(),
        65534
    );
}

#[test]
fn existing_entries_are_not_touched() {
    let (staging_folder, out) = staging_folder();
    fs::create_dir(&out).unwrap();
    fs::write(out.join(LATEST), "mine").unwrap();
    let refusal = ReportStore::open(&out, PRIVATE).unwrap_err().to_string();
    assert!(
        refusal.ends_with(
            "/latest: it is not a link to the latest report; move it away or choose another --out"
        ),
        "{refusal}"
    );
    fs::remove_file(out.join(LATEST)).unwrap();
    symlink("nowhere", out.join(LATEST)).unwrap();

    let elsewhere = staging_folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(REPORT), "probewatch").unwrap();
    fs::write(out.join("2026-11-18"), "mine").unwrap();
    fs::create_dir(out.join("2026-11-19")).unwrap();
    fs::write(out.join("2026-11-19/notes.txt"), "mine").unwrap();
    symlink(&elsewhere, out.join("2026-11-20")).unwrap();
    publish(&out, 1, &[RUN_1], "one");
    assert_eq!(latest(&out), RUN_1);
    let store = open(&out);
    for taken in ["2026-11-18", "2026-11-19", "2026-11-20", RUN_1] {
        let refusal = stage(&store, 2, &[taken], "two").unwrap_err();
        assert!(
            matches!(refusal, ReportStoreError::InTheWay { .. }),
            "{refusal}"
        );
        assert!(
            refusal
                .to_string()
                .starts_with(&format!("{}: ", out.join(taken).display())),
            "{refusal}"
        );
        assert_eq!(hidden(&out), [""; 0]);
    }
    assert_eq!(
        (fs::read(out.join("2026-11-18")).unwrap(), names(&elsewhere)),
        (b"mine".to_vec(), vec![REPORT.to_owned()])
    );
}

/// Created after the run was committed: the run cannot be published.
#[test]
fn entries_in_the_way_of_a_committed_run_are_not_touched() {
    for in_the_way in ["file", "folder", "link", "latest"] {
        let (staging_folder, out) = staging_folder();
        let store = open(&out);
        let run = stage(&store, 1, &[RUN_1], "one").unwrap();
        let place = out.join(if in_the_way == "latest" {
            LATEST
        } else {
            RUN_1
        });
        match in_the_way {
            "folder" => fs::create_dir(&place).unwrap(),
            "link" => symlink(staging_folder.path(), &place).unwrap(),
            _ => fs::write(&place, "mine").unwrap(),
        }
        for _ in 0..2 {
            let refusal = store.publish(&run).unwrap_err();
            assert!(
                matches!(&refusal, ReportStoreError::InTheWay { path, .. } if *path == place),
                "{refusal}"
            );
            assert!(place.symlink_metadata().is_ok());
        }
        fs::rename(&place, staging_folder.path().join("moved")).unwrap();
        store.recover(Some(&run)).unwrap();
        assert_eq!(
            (reports(&out), latest(&out), hidden(&out)),
            (expected(&[(RUN_1, "one")]), RUN_1.into(), vec![]),
            "{in_the_way}"
        );
    }
}

#[test]
fn a_removed_out_folder_is_an_error() {
    let wipe = |out: &Path| fs::remove_dir_all(out).unwrap();
    let (_temp_dir, out) = staging_folder();
    let store = open(&out);
    wipe(&out);
    let refusal = store.stage(1).unwrap_err().to_string();
    assert!(
        refusal.ends_with(
            "/.run-1.tmp: no such file or directory; make the folder first or choose another --out"
        ),
        "{refusal}"
    );

    let store = open(&out);
    let mut staging = store.stage(1).unwrap();
    wipe(&out);
    assert!(staging.folder(RUN_1).is_err());
    drop(staging);

    let store = open(&out);
    let mut staging = store.stage(1).unwrap();
    staging.folder(RUN_1).unwrap();
    let mut file = staging.file(REPORT).unwrap();
    file.write_all(b"probewatch").unwrap();
    wipe(&out);
    let refusal = file.finish().unwrap_err().to_string();
    assert!(
        refusal.contains(
            "/out/.run-1.tmp/000001-20261120T000500Z/report.json: it was removed during the run;"
        ),
        "{refusal}"
    );
    drop(staging);

    let store = open(&out);
    let mut staging = store.stage(1).unwrap();
    staging.folder(RUN_1).unwrap();
    write(&mut staging, REPORT, "probewatch").unwrap();
    wipe(&out);
    fs::create_dir(&out).unwrap();
    assert!(
        staging.finish().is_err(),
        "another folder of that name is not it"
    );
    assert_eq!(names(&out), [""; 0]);

    let store = open(&out);
    let mut staging = store.stage(1).unwrap();
    staging.folder(RUN_1).unwrap();
    write(&mut staging, REPORT, "probewatch").unwrap();
    fs::rename(out.join(".run-1.tmp"), out.join("elsewhere")).unwrap();
    assert!(staging.finish().is_err(), "it would be lost there");
    wipe(&out.join("elsewhere"));

    let run = stage(&store, 1, &[RUN_1], "one").unwrap();
    wipe(&out.join(".run-1.tmp"));
    let refusal = store.publish(&run).unwrap_err();
    assert!(
        matches!(&refusal, ReportStoreError::Lost { path } if *path == out.join(RUN_1)),
        "{refusal}"
    );
}

/// Between a run and the next start, the day's folder was put back.
#[test]
fn a_day_restored_by_hand_is_replaced() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &["2026-11-19"], "one");
    let store = open(&out);
    let run = stage(&store, 2, &["2026-11-19"], "two").unwrap();
    let old = out.join(".run-2.tmp/.old-2026-11-19");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("pairs.csv"), "one").unwrap();
    store.recover(Some(&run)).unwrap();
    assert_eq!(
        (reports(&out), hidden(&out)),
        (expected(&[("2026-11-19", "two")]), vec![])
    );
}

/// Opens the folder for a state with this file.
fn open_for(out: &Path, state: &Path) -> Result<ReportStore, ReportStoreError> {
    open(out).for_state(state.to_owned())
}

#[test]
fn a_run_of_another_state_keeps_a_committed_run() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (
        staging_folder.path().join("mine.json"),
        staging_folder.path().join("other.json"),
    );
    let store = open_for(&out, &mine).unwrap();
    let run = stage(&store, 1, &[RUN_1], "one").unwrap();
    // Committed, and interrupted before it was published.
    fs::write(&mine, "{}").unwrap();
    drop(store);
    let refusal = open_for(&out, &other).unwrap_err();
    assert!(
        matches!(&refusal, ReportStoreError::Shared { path, owner } if *path == out.join(".state") && *owner == mine),
        "{refusal}"
    );
    let store = open_for(&out, &mine).unwrap();
    store.recover(Some(&run)).unwrap();
    assert_eq!(
        (reports(&out), hidden(&out)),
        (expected(&[(RUN_1, "one")]), vec![".state".to_owned()])
    );
}

#[test]
fn the_folder_of_a_deleted_state_can_be_used() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (
        staging_folder.path().join("mine.json"),
        staging_folder.path().join("other.json"),
    );
    fs::write(&mine, "{}").unwrap();
    let store = open_for(&out, &mine).unwrap();
    store
        .publish(&stage(&store, 1, &[RUN_1], "one").unwrap())
        .unwrap();
    drop(store);
    fs::remove_file(&mine).unwrap();
    let store = open_for(&out, &other).unwrap();
    store
        .publish(&stage(&store, 2, &[RUN_2], "two").unwrap())
        .unwrap();
    let text = fs::read_to_string(out.join(".state")).unwrap();
    assert_eq!(
        text,
        format!("{}\n{}", fs::metadata(&out).unwrap().ino(), other.display())
    );
    assert_eq!(mode(out.join(".state")), 0o600);
}

#[test]
fn a_copied_folder_has_no_owner() {
    let (staging_folder, out) = staging_folder();
    let (mine, other) = (
        staging_folder.path().join("mine.json"),
        staging_folder.path().join("other.json"),
    );
    fs::write(&mine, "{}").unwrap();
    let store = open_for(&out, &mine).unwrap();
    store
        .publish(&stage(&store, 1, &[RUN_1], "one").unwrap())
        .unwrap();
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
    let (mine, other) = (
        staging_folder.path().join("mine.json"),
        staging_folder.path().join("other.json"),
    );
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
    assert!(
        refusal
            .to_string()
            .contains("/.state: it is a symbolic link"),
        "{refusal}"
    );
}

const DAYS: [&str; 2] = ["2026-11-19", "2026-11-20"];

/// What is left of a day whose new report is lost.
#[test]
fn a_folder_without_its_report_is_set_aside() {
    for left in [
        &[][..],
        &["pairs.csv"],
        &["clients.csv", "report.html", "summary.txt"],
        &["pairs.csv", REPORT],
    ] {
        let (_temp_dir, out) = staging_folder();
        publish(&out, 1, &DAYS, "one");
        let day = out.join(DAYS[0]);
        for round in 0..2 {
            fs::remove_dir_all(&day).unwrap();
            fs::create_dir(&day).unwrap();
            for file in left {
                fs::write(day.join(file), "").unwrap();
            }
            let store = open(&out);
            let mut staging = store.stage(2).unwrap();
            let aside = out.join(if round == 0 {
                "2026-11-19.incomplete"
            } else {
                "2026-11-19.incomplete.incomplete"
            });
            assert_eq!(staging.folder(DAYS[0]).unwrap(), Some(aside.clone()));
            write(&mut staging, "pairs.csv", "two").unwrap();
            write(
                &mut staging,
                REPORT,
                "{\"generated_by\":\"probewatch\",\"text\":\"two\"}",
            )
            .unwrap();
            assert_eq!(staging.folder(DAYS[1]).unwrap(), None);
            write(&mut staging, "pairs.csv", "two").unwrap();
            write(
                &mut staging,
                REPORT,
                "{\"generated_by\":\"probewatch\",\"text\":\"two\"}",
            )
            .unwrap();
            store.publish(&staging.finish().unwrap()).unwrap();
            assert_eq!(
                (reports(&out), names(&aside)),
                (
                    expected(&DAYS.map(|day| (day, "two"))),
                    left.iter().map(ToString::to_string).collect()
                )
            );
        }
    }
}

#[test]
fn a_folder_with_another_file_is_not_set_aside() {
    let (_temp_dir, out) = staging_folder();
    fs::create_dir_all(out.join("2026-11-19")).unwrap();
    for file in ["pairs.csv", "notes.txt"] {
        fs::write(out.join("2026-11-19").join(file), "mine").unwrap();
    }
    let refusal = open(&out)
        .stage(1)
        .unwrap()
        .folder("2026-11-19")
        .unwrap_err()
        .to_string();
    let path = out.join("2026-11-19");
    let what = format!(
        "{0}: it is not a folder of reports; move it away (mv '{0}' '{0}.old') or choose another --out",
        path.display()
    );
    assert_eq!(
        (refusal, names(&out)),
        (what, vec!["2026-11-19".to_owned()])
    );
}
