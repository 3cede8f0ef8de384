//! What the system does to a whole process: umask, limits, full and read-only file systems, other
//! users.

use std::process::Output;

use rustix::process::{Resource, Rlimit, geteuid, setrlimit};

use crate::report_store::tests::*;

fn passed(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&run.stderr)
    );
    true
}

/// Runs in its own process, because the umask is per process.
#[test]
#[ignore = "run by `the_umask_does_not_matter`"]
fn publish_once() {
    let out = out_from_environment();
    let store = ReportStore::open(
        &out,
        Access {
            mode: 0o640,
            group: None,
        },
    )
    .unwrap();
    let run = stage(&store, 1, &[RUN_1], "one").unwrap();
    store.publish(&run).unwrap();
}

#[test]
fn the_umask_does_not_matter() {
    for umask in ["000", "022", "077"] {
        let (_temp_dir, out) = staging_folder();
        passed(
            &other_process(
                "system::publish_once",
                &format!("umask {umask}; exec"),
                &out,
            )
            .output()
            .unwrap(),
        );
        let folder = out.join(RUN_1);
        assert_eq!(
            [mode(&out), mode(&folder), mode(folder.join(REPORT))],
            [0o750, 0o750, 0o640],
            "{umask}"
        );
    }
}

/// Runs in its own process, because the limit is per process.
#[test]
#[ignore = "run by `a_size_limit_is_an_error`"]
fn stage_past_the_size_limit() {
    let out = out_from_environment();
    let store = ReportStore::open(&out, PRIVATE).unwrap();
    setrlimit(
        Resource::Fsize,
        Rlimit {
            current: Some(4096),
            maximum: Some(4096),
        },
    )
    .unwrap();
    let refusal = stage(&store, 1, &[RUN_1], &"x".repeat(5000))
        .unwrap_err()
        .to_string();
    let file = out.join(".run-1.tmp").join(RUN_1).join("pairs.csv");
    assert_eq!(
        refusal,
        format!(
            "cannot write {}: file too large; raise the file size limit (ulimit -f)",
            file.display()
        )
    );
    assert_eq!(names(&out), [""; 0]);
}

#[test]
fn a_size_limit_is_an_error() {
    let (_temp_dir, out) = staging_folder();
    passed(
        &other_process("system::stage_past_the_size_limit", "exec", &out)
            .output()
            .unwrap(),
    );
}

/// Runs in its own process, with a small file system at its `--out`.
#[test]
#[ignore = "run by `a_full_disk_changes_nothing`"]
fn publish_on_a_full_disk() {
    let out = out_from_environment();
    let (first, second) = ("1".repeat(20_000), "2".repeat(20_000));
    let mut book = publish(&out, 1, &["2026-11-20"], &first);
    let (mut refused, mut wrote) = (0, 0);
    for ballast in (0..256 * 1024).step_by(4096) {
        let store = open(&out);
        store.recover(Some(&book)).unwrap();
        // At most as much as fits.
        let _ = fs::write(out.join("ballast"), vec![0; ballast]);
        let staged = stage(
            &store,
            book.number + 1,
            &["2026-11-20", "2026-11-21"],
            &second,
        );
        let committed = staged.is_ok();
        let done = staged.and_then(|run| {
            book = run;
            store.publish(&book)
        });
        match done {
            Ok(()) => wrote += 1,
            Err(error) => {
                refused += 1;
                assert!(
                    error.to_string().ends_with(
                        "no space left on device; free some space or choose another --out"
                    ),
                    "{error}"
                );
            }
        }
        if !committed {
            assert_eq!(hidden(&out), [""; 0], "nothing is left to fill the disk");
        }
        fs::remove_file(out.join("ballast")).unwrap();
        store.recover(Some(&book)).unwrap();
        let expected = if book.number == 1 {
            expected(&[("2026-11-20", &first)])
        } else {
            expected(&[("2026-11-20", &second), ("2026-11-21", &second)])
        };
        assert!(reports(&out) == expected && hidden(&out).is_empty());
    }
    assert!(
        wrote > 3 && refused > 3,
        "{wrote} written, {refused} refused"
    );
}

/// Runs in its own process, with a file system at its `--out` that becomes read-only.
#[test]
#[ignore = "run by `a_read_only_disk_is_refused_at_once`"]
fn publish_on_a_read_only_disk() {
    let out = out_from_environment();
    let run = publish(&out, 1, &[RUN_1], "one");
    assert!(
        Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&out)
            .status()
            .unwrap()
            .success()
    );
    let refusal = ReportStore::open(&out, PRIVATE).unwrap_err().to_string();
    assert_eq!(
        refusal,
        format!(
            "cannot write to {}: read-only file system; choose an --out that may be written to",
            out.display()
        )
    );
    assert_eq!(
        (reports(&out), run.number),
        (expected(&[(RUN_1, "one")]), 1)
    );
}

/// A shell prefix that gives a process a small file system of its own at `--out`; `None` if that is
/// not permitted.
fn own_disk() -> Option<&'static str> {
    const MOUNT: &str = "mount -t tmpfs -o size=256k,nr_inodes=64 tmpfs \"$PROBEWATCH_TEST_OUT\"";
    let (_temp_dir, out) = staging_folder();
    fs::create_dir(&out).unwrap();
    let may = Command::new("unshare")
        .args(["-m", "sh", "-c", MOUNT])
        .env("PROBEWATCH_TEST_OUT", &out)
        .output();
    may.is_ok_and(|run| run.status.success()).then_some(MOUNT)
}

fn on_its_own_disk(test: &str) {
    // Only root may mount, and not everywhere.
    let Some(mount) = own_disk() else { return };
    let (_temp_dir, out) = staging_folder();
    fs::create_dir(&out).unwrap();
    let inner = other_process(test, &format!("{mount} && exec"), &out);
    let mut outer = Command::new("unshare");
    outer
        .arg("-m")
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("PROBEWATCH_TEST_OUT", &out);
    passed(&outer.output().unwrap());
    assert_eq!(names(&out), [""; 0], "it was on the other disk");
}

#[test]
fn a_full_disk_changes_nothing() {
    on_its_own_disk("system::publish_on_a_full_disk");
}

#[test]
fn a_read_only_disk_is_refused_at_the_start() {
    on_its_own_disk("system::publish_on_a_read_only_disk");
}

/// Runs in its own process as another user.
#[test]
#[ignore = "run by `a_folder_of_others_is_refused_at_once`"]
fn open_as_another_user() {
    let out = out_from_environment();
    let theirs = out.join("theirs");
    assert_eq!(
        ReportStore::open(&theirs, PRIVATE).unwrap_err().to_string(),
        format!(
            "cannot write to {}: permission denied; choose an --out that is yours to write to, and a --group you belong to",
            theirs.display()
        )
    );
    let report_folders = out.join("ours");
    let refusal = ReportStore::open(
        &report_folders,
        Access {
            mode: 0o640,
            group: Some(0),
        },
    )
    .and_then(|store| store.stage(1).map(|_| ()))
    .unwrap_err();
    assert!(
        refusal.to_string().starts_with("cannot set the rights of "),
        "{refusal}"
    );
    assert!(
        refusal.to_string().ends_with(": operation not permitted; choose an --out that is yours to write to, and a --group you belong to")
    );
    publish(&report_folders, 1, &[RUN_1], "one");
    assert_eq!(hidden(&report_folders), [""; 0]);
}

#[test]
fn a_folder_of_another_user_is_refused_at_the_start() {
    if !geteuid().is_root() {
        return;
    }
    let (staging_folder, out) = staging_folder();
    set_mode(staging_folder.path(), 0o755);
    fs::create_dir(&out).unwrap();
    set_mode(&out, 0o777);
    fs::create_dir(out.join("theirs")).unwrap();
    let as_nobody = || {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .env("PROBEWATCH_TEST_OUT", &out)
            .current_dir("/");
        command
    };
    let program = std::env::current_exe().unwrap();
    if !as_nobody()
        .args(["test", "-x"])
        .arg(&program)
        .status()
        .is_ok_and(|status| status.success())
    {
        // There is no `setpriv`, or that user has no access to the folder.
        return;
    }
    let test = "report_store::tests::system::open_as_another_user";
    passed(
        &as_nobody()
            .arg(&program)
            .args(["--ignored", "--nocapture", "--exact", test])
            .output()
            .unwrap(),
    );
}
