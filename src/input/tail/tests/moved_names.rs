//! Logs that are moved or copied to names that no rotation gives: known by their text, whatever the name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::read_once::OneShotRuns;
use super::{TailHarness, append, gzip, lines, number_of};

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

/// How the log comes by its other name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MoveMethod {
    Rename,
    CopyTruncate,
    Gzip,
}

const WAYS: [MoveMethod; 3] = [MoveMethod::Rename, MoveMethod::CopyTruncate, MoveMethod::Gzip];

fn move_away(folder: &Path, name: &str, how: MoveMethod) {
    let (from, to) = (folder.join("access.log"), folder.join(name));
    match how {
        MoveMethod::Rename => fs::rename(from, to).unwrap(),
        MoveMethod::CopyTruncate => {
            fs::copy(&from, to).unwrap();
            fs::OpenOptions::new().write(true).open(from).unwrap().set_len(0).unwrap();
        }
        MoveMethod::Gzip => {
            fs::rename(from, &to).unwrap();
            gzip(&to);
        }
    }
}

fn sorted(mut told: Vec<Option<usize>>) -> Vec<usize> {
    told.sort_unstable();
    told.into_iter().map(|number| number.expect("a whole line")).collect()
}

/// `read` lines are read before it is moved, the others of 100 are not.
fn each(mut test: impl FnMut(&str, MoveMethod, &'static str, usize)) {
    for name in NAMES {
        for how in WAYS {
            for target in ["access.log", "."] {
                for read in [3, 40, 100] {
                    test(name, how, target, read);
                }
            }
        }
    }
}

#[test]
fn a_follower_that_runs_knows_a_log_by_any_name() {
    each(|name, how, target, read| {
        let mut rig = TailHarness::new(&[target], true, |folder| append(&folder.join("access.log"), &lines(0..read)));
        append(&rig.path("access.log"), &lines(read..100));
        move_away(rig.folder.path(), name, how);
        append(&rig.path("access.log"), &lines(100..110));
        rig.wait(20);
        let told = rig.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(sorted(told), (0..110).collect::<Vec<_>>(), "{name} {how:?} {target} {read} {:?}", rig.notices);
    });
}

#[test]
fn a_follower_that_starts_again_knows_a_log_by_any_name() {
    each(|name, how, target, read| {
        let mut rig = TailHarness::new(&[target], true, |folder| append(&folder.join("access.log"), &lines(0..read)));
        let state = rig.tail.checkpoints();
        append(&rig.path("access.log"), &lines(read..100));
        move_away(rig.folder.path(), name, how);
        append(&rig.path("access.log"), &lines(100..110));
        rig.restart(state);
        rig.wait(5);
        let state = rig.tail.checkpoints();
        append(&rig.path("access.log"), &lines(110..120));
        rig.restart(state);
        rig.wait(5);
        let told = rig.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(sorted(told), (0..120).collect::<Vec<_>>(), "{name} {how:?} {target} {read} {:?}", rig.notices);
    });
}

#[test]
fn a_run_knows_a_log_by_any_name() {
    each(|name, how, target, read| {
        let target = if target == "." { "" } else { target };
        let mut runs = OneShotRuns::new();
        append(&runs.path("access.log"), &lines(0..read));
        let mut told = runs.run(&[target]);
        append(&runs.path("access.log"), &lines(read..100));
        move_away(runs.folder.path(), name, how);
        append(&runs.path("access.log"), &lines(100..110));
        told.extend(runs.run(&[target]));
        append(&runs.path("access.log"), &lines(110..120));
        told.extend(runs.run(&[target]));
        assert_eq!(sorted(told), (0..120).collect::<Vec<_>>(), "{name} {how:?} {target} {read} {:?}", runs.notices);
    });
}

/// A copy that lies beside its log: with what was read of it, and with more.
#[test]
fn a_copy_of_a_log_is_no_other_log() {
    for name in NAMES.into_iter().filter(|name| !["old.log", "0"].contains(name)) {
        for read in [3, 40, 100] {
            let mut runs = OneShotRuns::new();
            append(&runs.path("access.log"), &lines(0..read));
            let mut told = runs.run(&[""]);
            append(&runs.path("access.log"), &lines(read..100));
            fs::copy(runs.path("access.log"), runs.path(name)).unwrap();
            append(&runs.path("access.log"), &lines(100..110));
            told.extend(runs.run(&[""]));
            told.extend(runs.run(&[""]));
            assert_eq!(sorted(told), (0..110).collect::<Vec<_>>(), "{name} {read} {:?}", runs.notices);
        }
    }
}

/// A link is switched while nothing runs.
#[test]
fn the_rest_of_what_a_link_led_to_is_read() {
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
                let told = if is_run {
                    let mut runs = runs;
                    let mut told = runs.run(&["current"]);
                    switch();
                    told.extend(runs.run(&["current"]));
                    if is_two {
                        told.extend(runs.run(&["current"]));
                    }
                    told
                } else {
                    let mut rig = TailHarness::new(&["."], true, |_| {});
                    rig.folder = runs.folder;
                    rig.paths = vec![rig.path("current")];
                    rig.restart(Vec::new());
                    let state = rig.tail.checkpoints();
                    switch();
                    rig.restart(state);
                    if is_two {
                        rig.wait(5);
                        let state = rig.tail.checkpoints();
                        rig.restart(state);
                    }
                    rig.wait(5);
                    rig.lines().iter().map(|text| number_of(text)).collect()
                };
                assert_eq!(sorted(told), (0..110).collect::<Vec<_>>(), "{old} {new} run {is_run} two {is_two}");
            }
        }
    }
}
