//! Where reports go (group G): full disks, limits, closed pipes, closed descriptors, modes, groups
//! and links.
//!
//! An output that cannot be written results in exit code 4, moves no checkpoint and leaves nothing
//! partial: the next run reports everything.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read as _, Write as _, pipe};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::harness::{Out, command, entries, report, snapshot};
use super::interrupt::{can_trace, output, traced};
use super::mounts::{self, mounting};
use super::site::Site;
use crate::harness::{Harness, Run, finish, is_installed, skip};

/// A site with an earlier run, and so many new lines that no small disk can hold their report.
fn full(harness: &Harness) -> Site<'_> {
    let mut site = Site::new(harness);
    site.write(3);
    site.run(&[]);
    site.write(500);
    site
}

/// G1. The disk of the reports is full, and they are written when there is space again.
#[test]
fn the_disk_for_reports_is_full() {
    let harness = Harness::new();
    let site = full(&harness);
    let args = Site::args(&[]);
    let run = mounts::report(&args);
    let script = format!(
        "mv out first; mkdir out; mount -t tmpfs -o size=64k none out; cp -a first/. out/\n\
         cp state/report.json before; {run}; cmp state/report.json before; cat printed; ls -A out | wc -l; cat errors >&2\n\
         mount -o remount,size=64m out; {run}; rm -rf first; cp -a out kept; umount out; rm -rf out; mv kept out"
    );
    let Some(run) = mounting("G1", &harness, &script) else {
        return;
    };
    // The folder of the first run, `latest` and `.state`, as before.
    assert_eq!(
        run.text().split_whitespace().collect::<Vec<_>>(),
        ["exit", "4", "3", "exit", "0"],
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("out") && run.stderr.contains("no space left on device"),
        "{}",
        run.stderr
    );
    fs::remove_dir_all(harness.path("mounted")).unwrap();
    site.assert_complete("a disk that was full");
}

/// G5. An exhausted quota: writes of the reports and of the state fail with its error.
#[test]
fn an_exhausted_quota() {
    if !can_trace("G5") {
        return;
    }
    for (file, what) in [
        (
            "out/.run-2.tmp/2026-11-02/pairs.csv",
            "choose another --out",
        ),
        ("state/report.json.tmp", "choose another --state"),
    ] {
        let harness = Harness::new();
        let mut site = full(&harness);
        let before = (
            snapshot(&harness.path("out")),
            fs::read(harness.path("state/report.json")).unwrap(),
        );
        let path = harness.path(file);
        let options = [
            "-P",
            path.to_str().unwrap(),
            "-e",
            "trace=write",
            "-e",
            "inject=write:error=EDQUOT",
        ];
        let run =
            Run::of(output(&mut traced(&harness, &options, &Site::args(&["--daily"]))).output);
        assert_eq!(
            (run.code, run.stdout.len(), run.stderr.lines().count()),
            (4, 0, 1),
            "{file}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("quota exceeded; free some space or ") && run.stderr.contains(what),
            "{file}: {}",
            run.stderr
        );
        assert!(
            (
                snapshot(&harness.path("out")),
                fs::read(harness.path("state/report.json")).unwrap()
            ) == before,
            "{file}: something is left"
        );
        assert!(!harness.path("state/report.json.tmp").exists(), "{file}");
        site.write(1);
        site.run(&[]);
        site.assert_complete("a quota that was used up");
    }
}

/// G3. The disk of the state is full: what was staged is not reported.
#[test]
fn the_disk_for_the_state_is_full() {
    let harness = Harness::new();
    let site = full(&harness);
    let run = mounts::report(&Site::args(&[]));
    let script = format!(
        "mv state first; mkdir -m 700 state; mount -t tmpfs -o size=256k,mode=700 none state; cp -a first/. state/\n\
         dd if=/dev/zero of=state/filler bs=4k 2> /dev/null || true; {run}; cat printed; ls -A out | wc -l; cat errors >&2; rm state/filler\n\
         {run}; rm -rf first; cp -a state kept; umount state; rm -rf state; mv kept state; chmod 700 state"
    );
    let Some(run) = mounting("G3", &harness, &script) else {
        return;
    };
    assert_eq!(
        run.text().split_whitespace().collect::<Vec<_>>(),
        ["exit", "4", "3", "exit", "0"],
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("state/report.json"), "{}", run.stderr);
    site.assert_complete("a disk that was full of other things");
}

/// D12. Neither the state nor the reports can be written.
#[test]
fn a_read_only_disk() {
    for what in ["state", "out"] {
        let harness = Harness::new();
        let site = full(&harness);
        let run = mounts::report(&Site::args(&[]));
        let script = format!(
            "mount --bind {what} {what}; mount -o remount,bind,ro {what}; {run}; cat printed; cat errors >&2; umount {what}; {run}"
        );
        let Some(run) = mounting("D12", &harness, &script) else {
            return;
        };
        assert_eq!(run.text(), "exit 4\nexit 0\n", "{what}: {}", run.stderr);
        assert!(
            run.stderr.to_lowercase().contains("read-only file system"),
            "{what}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(what), "{what}: {}", run.stderr);
        site.assert_complete("a disk that was read-only");
    }
}

/// D12. The same by modes, for other users than root.
#[test]
fn folders_without_write_permission() {
    const WHO: [&str; 4] = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let harness = Harness::new();
    let site = full(&harness);
    if !rustix::process::geteuid().is_root() || !is_installed("setpriv") {
        return skip("D12, by modes", "needs root and setpriv");
    }
    let program = harness.path("probewatch");
    fs::copy(crate::harness::EXE, &program).unwrap();
    fs::set_permissions(harness.path(""), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(harness.path("log"), Permissions::from_mode(0o755)).unwrap();
    for (state, out) in [("new/state", "out"), ("state", "new/out")] {
        let before = snapshot(&harness.path("out"));
        let mut command = harness.program(WHO[0]);
        command
            .args(&WHO[1..])
            .arg(&program)
            .args(["report", "--state", state, "--out", out])
            .args(Site::args(&[]));
        let run = finish(&mut command);
        assert!(
            [2, 4].contains(&run.code),
            "{state} {out}: {} {}",
            run.code,
            run.stderr
        );
        assert_eq!(
            (run.stdout.len(), run.stderr.lines().count()),
            (0, 1),
            "{}",
            run.stderr
        );
        assert!(snapshot(&harness.path("out")) == before);
    }
    site.run(&[]);
    site.assert_complete("after runs of another user");
}

/// G2. The mail cannot be printed; the folders are complete.
#[test]
fn a_mail_to_a_full_device() {
    let harness = Harness::new();
    let site = full(&harness);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = finish(command(&harness, &Site::args(&[])).stdout(full));
    assert_eq!(
        (run.code, run.stderr.lines().count()),
        (4, 1),
        "{}",
        run.stderr
    );
    assert_eq!(
        site.assert_complete("a mail that was lost").folders.len(),
        2
    );
    assert_eq!(site.run(&[]).text(), "", "the mail is sent once at most");
    site.assert_complete("a run with nothing new");
}

/// G4.
#[test]
fn a_limit_on_file_sizes() {
    let harness = Harness::new();
    let site = full(&harness);
    if !is_installed("prlimit") {
        return skip("G4", "there is no prlimit");
    }
    for limit in ["0", "1000", "20000"] {
        let before = (
            snapshot(&harness.path("out")),
            fs::read(harness.path("state/report.json")).unwrap(),
        );
        let limit = format!("--fsize={limit}");
        let args = [
            &["report", "--state", "state", "--out", "out"][..],
            &Site::args(&[]),
        ]
        .concat();
        let run = finish(&mut harness.under(&["prlimit", &limit], args));
        assert_eq!(
            (run.code, run.stdout.len()),
            (4, 0),
            "{limit}: {}",
            run.stderr
        );
        assert!(
            before
                == (
                    snapshot(&harness.path("out")),
                    fs::read(harness.path("state/report.json")).unwrap()
                ),
            "{limit}"
        );
    }
    site.run(&[]);
    site.assert_complete("a limit that was lifted");
}

/// G6. The mail is not read; the folders are complete.
#[test]
fn standard_output_closed_before_the_mail() {
    let harness = Harness::new();
    let site = full(&harness);
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let run = finish(command(&harness, &Site::args(&[])).stdout(writer));
    assert_eq!((run.code, run.stderr.as_str()), (141, ""));
    assert_eq!(
        site.assert_complete("a mail that was not read")
            .folders
            .len(),
        2
    );
}

/// G7. Closed descriptors are not written to.
#[test]
fn closed_descriptors() {
    for closed in [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let harness = Harness::new();
        let mut site = full(&harness);
        let log = fs::read(harness.path("log/access.log")).unwrap();
        let args = Site::args(&[]).join("' '");
        let run = finish(&mut harness.shell(&format!(
            "exec \"$0\" report --state state --out out '{args}' {closed}"
        )));
        let expected = if closed == "2>&-" { 0 } else { 4 };
        assert_eq!(run.code, expected, "{closed}");
        assert!(
            fs::read(harness.path("log/access.log")).unwrap() == log,
            "{closed}"
        );
        site.write(1);
        site.run(&[]);
        site.assert_complete(closed);
    }
}

/// G8. A full non-blocking pipe: the mail is printed when there is space.
#[test]
fn a_slow_reader_of_a_non_blocking_pipe() {
    let harness = Harness::new();
    let site = full(&harness);
    let (mut reader, writer) = pipe().unwrap();
    fcntl_setfl(&writer, fcntl_getfl(&writer).unwrap() | OFlags::NONBLOCK).unwrap();
    let mut filler = writer.try_clone().unwrap();
    let mut before = 0;
    while let Ok(n) = filler.write(&[b'x'; 100]) {
        before += n;
    }
    drop(filler);
    let mut command = command(&harness, &Site::args(&[]));
    let child = command
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(command);
    // Everything but the mail is done before anything is read from the pipe.
    let start = std::time::Instant::now();
    while entries(&harness.path("out")).len() < 3 {
        assert!(
            start.elapsed() < crate::follow::follower::DEADLINE,
            "no second folder"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut got = Vec::new();
    reader.read_to_end(&mut got).unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mail = String::from_utf8(got.split_off(before)).unwrap();
    assert!(mail.ends_with('\n') && mail.lines().count() > 2, "{mail}");
    site.assert_complete("a slow reader");
}

/// G10. Neither a log nor its folder can be the folder of reports.
#[test]
fn no_log_is_overwritten() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(20);
    let log = fs::read(harness.path("log/access.log")).unwrap();
    symlink("log/access.log", harness.path("soft.log")).unwrap();
    for out in ["log/access.log", "soft.log"] {
        let run = harness.run(["report", "--state", "state", "--out", out, "log/access.log"]);
        assert!(
            [2, 4].contains(&run.code),
            "{out}: {} {}",
            run.code,
            run.stderr
        );
        assert_eq!(
            (run.stdout.len(), run.stderr.lines().count()),
            (0, 1),
            "{}",
            run.stderr
        );
        assert!(
            fs::read(harness.path("log/access.log")).unwrap() == log,
            "{out}"
        );
    }
}

/// G10. Reports in a folder of logs are not read as logs.
#[test]
fn reports_are_no_logs() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    for _ in 0..4 {
        site.write(20);
        let args = [
            &["report", "--state", "log/state", "--out", "log/out"][..],
            &super::harness::QUICK,
            &["log"],
        ]
        .concat();
        let run = harness.run(&args);
        // To refuse it is right too.
        if run.code == 2 {
            assert!(
                run.stderr.contains("log/out") || run.stderr.contains("log/state"),
                "{}",
                run.stderr
            );
            assert_eq!(
                entries(&harness.path("log")).len(),
                1,
                "it is refused before anything is made"
            );
            return;
        }
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    Out::read_as(&harness.path("log/out"), 0o600)
        .sums()
        .assert_same(&site.expected(), "reports beside the logs");
}

/// G12. With any umask and any mode.
#[test]
fn modes_of_files_and_folders() {
    for umask in ["000", "022", "077", "777"] {
        for (given, mode) in [
            (None, 0o600),
            (Some("0640"), 0o640),
            (Some("644"), 0o644),
            (Some("0660"), 0o660),
        ] {
            let harness = Harness::new();
            let mut site = Site::new(&harness);
            site.write(5);
            fs::create_dir(harness.path("out")).unwrap();
            let given = given.map_or(String::new(), |mode| format!("--mode {mode}"));
            let args = Site::args(&[]).join("' '");
            let run = finish(&mut harness.shell(&format!(
                "umask {umask}; exec \"$0\" report --state state --out out {given} '{args}'"
            )));
            assert_eq!(run.code, 0, "{umask} {given}: {}", run.stderr);
            let out = Out::read_as(&harness.path("out"), mode);
            assert_eq!(out.folders.len(), 1, "{umask} {given}");
            for (name, bits) in entries(&harness.path("state")) {
                assert_eq!(bits & 0o777, 0o600, "the state is private: {name}");
            }
        }
    }
}

/// G12.
#[test]
fn an_invalid_mode_is_refused() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(1);
    for mode in ["8", "0o600", "rw", "-1", "07777777"] {
        let run = site.try_run(&[&format!("--mode={mode}")]);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{mode}: {}",
            run.stderr
        );
    }
    // Only the owner can write what the owner reads later.
    assert!(entries(&harness.path("out")).is_empty());
}

#[test]
fn reports_belong_to_the_given_group() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    let unknown = site.try_run(&["--group", "no-such-group-here"]);
    assert_eq!(
        (unknown.code, unknown.stdout.len()),
        (2, 0),
        "{}",
        unknown.stderr
    );
    assert!(
        unknown.stderr.contains("no-such-group-here"),
        "{}",
        unknown.stderr
    );
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let adm = groups.lines().find_map(|line| {
        line.strip_prefix("adm:x:")?
            .split(':')
            .next()?
            .parse::<u32>()
            .ok()
    });
    let (true, Some(adm)) = (rustix::process::geteuid().is_root(), adm) else {
        return skip("--group", "needs root and a group adm");
    };
    site.run(&["--group", "adm", "--mode", "0640"]);
    let out = Out::read_as(&harness.path("out"), 0o640);
    let folder = harness.path("out").join(out.names()[0]);
    let paths = entries(&folder)
        .into_iter()
        .map(|(name, _)| folder.join(name))
        .chain([folder.clone()]);
    for path in paths {
        assert_eq!(
            fs::metadata(&path).unwrap().gid(),
            adm,
            "{}",
            path.display()
        );
    }
}

/// F14, K2. Links in the folder are not followed.
#[test]
fn links_among_the_reports() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    site.run(&[]);
    fs::create_dir(harness.path("precious")).unwrap();
    harness.file("precious/report.json", "precious");
    let before = snapshot(&harness.path("precious"));
    // Somebody changed the target of `latest`: it is replaced.
    fs::remove_file(harness.path("out/latest")).unwrap();
    symlink(harness.path("precious"), harness.path("out/latest")).unwrap();
    site.write(5);
    site.run(&[]);
    let out = site.assert_complete("latest led elsewhere");
    assert_eq!(out.latest.as_deref(), Some(out.last().name.as_str()));
    // And names that a run is about to use.
    for name in [".run-3.tmp", ".run-000003.tmp", ".latest.tmp"] {
        symlink(harness.path("precious"), harness.path("out").join(name)).unwrap();
    }
    site.write(5);
    let run = site.try_run(&[]);
    assert!([0, 4].contains(&run.code), "{}", run.stderr);
    for name in [".run-3.tmp", ".run-000003.tmp", ".latest.tmp"] {
        let _ = fs::remove_file(harness.path("out").join(name));
    }
    site.run(&[]);
    site.assert_complete("links in the way");
    assert!(snapshot(&harness.path("precious")) == before);
}

/// F14. A link with the name of a day's folder, or of its report, is an error and is not followed.
#[test]
fn a_link_with_the_name_of_a_period() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    site.run(&["--daily"]);
    let day = harness.path("out").join(Out::read(&harness).names()[0]);
    let away = harness.path("precious");
    fs::rename(&day, &away).unwrap();
    let before = snapshot(&away);
    symlink(&away, &day).unwrap();
    site.write(5);
    let run = site.try_run(&["--daily"]);
    assert_eq!((run.code, run.stdout.len()), (4, 0), "{}", run.stderr);
    assert!(snapshot(&away) == before, "the link was followed");
    fs::remove_file(&day).unwrap();
    fs::rename(&away, &day).unwrap();
    fs::rename(day.join("report.json"), harness.path("report.json")).unwrap();
    symlink(harness.path("report.json"), day.join("report.json")).unwrap();
    let run = site.try_run(&["--daily"]);
    assert!([2, 4].contains(&run.code), "{} {}", run.code, run.stderr);
    fs::rename(harness.path("report.json"), day.join("report.json")).unwrap();
    site.run(&["--daily"]);
    site.assert_complete("links in the place of a day");
}

/// F14. Other files among the reports are not touched.
#[test]
fn other_files_among_the_reports() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    fs::create_dir_all(harness.path("out/notes/deep")).unwrap();
    harness.file("out/notes/deep/a", "mine");
    harness.file("out/index.html", "mine");
    for _ in 0..3 {
        site.write(5);
        site.run(&["--keep-runs", "1"]);
    }
    assert_eq!(
        fs::read_to_string(harness.path("out/notes/deep/a")).unwrap(),
        "mine"
    );
    assert_eq!(
        fs::read_to_string(harness.path("out/index.html")).unwrap(),
        "mine"
    );
}

/// What the index does not say, because a page cannot be read, is said.
#[test]
fn a_page_that_cannot_be_read_is_named() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    site.run(&["--html"]);
    let folder = fs::read_link(harness.path("out/latest")).unwrap();
    let page = format!("out/{}/report.html", folder.display());
    fs::remove_file(harness.path(&page)).unwrap();
    symlink("/etc/passwd", harness.path(&page)).unwrap();
    site.write(5);
    let run = site.try_run(&["--html"]);
    assert!(
        run.stderr.contains("report.html") && run.stderr.contains("index.html lacks its numbers"),
        "{} {}",
        run.code,
        run.stderr
    );
}

/// F7. Reports that the user deleted are not missed, and not written again.
#[test]
fn folders_that_were_deleted() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    for _ in 0..2 {
        site.write(5);
        site.run(&[]);
    }
    let gone = Out::read(&harness);
    for name in gone.names() {
        fs::remove_dir_all(harness.path("out").join(name)).unwrap();
    }
    assert_eq!(site.run(&[]).text(), "");
    assert_eq!(
        Out::visible(&harness.path("out"), 0o600).folders.len(),
        0,
        "nothing is new"
    );
    site.write(5);
    site.run(&[]);
    let out = Out::read(&harness);
    assert_eq!(
        (
            out.sums().get("hits"),
            out.last().name.starts_with("000003-")
        ),
        (5, true),
        "{:?}",
        out.names()
    );
    fs::remove_dir_all(harness.path("out")).unwrap();
    site.write(5);
    site.run(&[]);
    let out = Out::read(&harness);
    assert_eq!(
        (
            out.sums().get("hits"),
            out.last().name.starts_with("000004-")
        ),
        (5, true),
        "{:?}",
        out.names()
    );
    assert_eq!(out.latest.as_deref(), Some(out.last().name.as_str()));
}

/// F7.
#[test]
fn a_day_that_was_deleted() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    site.run(&["--daily"]);
    fs::remove_dir_all(harness.path("out").join(Out::read(&harness).names()[0])).unwrap();
    site.write(7);
    site.run(&["--daily"]);
    assert_eq!(Out::read(&harness).sums().get("hits"), 7);
}

/// An unusable folder is refused before anything is read.
#[test]
fn an_out_folder_that_cannot_be_used() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    harness.file("file", "mine");
    for out in ["no/such/folder", "file", "/dev/null", "/proc/self/out"] {
        let run = harness.run(["report", "--state", "state", "--out", out, "log/access.log"]);
        assert_eq!(
            (run.code, run.stdout.len(), run.stderr.lines().count()),
            (4, 0, 1),
            "{out}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(out), "{out}: {}", run.stderr);
        assert!(!harness.path("state/report.json").exists(), "{out}");
    }
    assert_eq!(fs::read_to_string(harness.path("file")).unwrap(), "mine");
    site.run(&[]);
    site.assert_complete("a place at last");
}

#[test]
fn missing_arguments() {
    let harness = Harness::new();
    harness.file("access.log", crate::harness::log(5));
    for args in [
        &["report", "access.log"][..],
        &["report", "--state", "state", "access.log"],
        &["report", "--out", "out", "access.log"],
        &["report", "--state", "state", "--out", "out"],
        &["report", "--state", "state", "--out", "out", "-"],
        &[
            "report",
            "--state",
            "state",
            "--out",
            "out",
            "--daily",
            "--hourly",
            "access.log",
        ],
        &[
            "report",
            "--state",
            "state",
            "--out",
            "out",
            "--notify-level",
            "loud",
            "access.log",
        ],
        &[
            "report",
            "--state",
            "state",
            "--out",
            "out",
            "--keep",
            "long",
            "access.log",
        ],
        &[
            "report",
            "--state",
            "state",
            "--out",
            "out",
            "--keep-runs",
            "0",
            "access.log",
        ],
    ] {
        let run = harness.run(args);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{args:?}: {}",
            run.stderr
        );
        assert!(
            !run.stderr.is_empty() && entries(&harness.path("out")).is_empty(),
            "{args:?}"
        );
    }
    // And a missing log is an unreadable input, as is a glob without matches: the rest is reported.
    for gone in ["gone.log", "*.none"] {
        let run = report(&harness, &[gone, "access.log"]);
        assert!(
            run.code == 3 && run.stderr.contains(gone),
            "{gone}: {} {}",
            run.code,
            run.stderr
        );
    }
    assert_eq!(Out::read(&harness).sums().get("lines"), 5);
}

/// The given folders may be links, as systemd makes them with `DynamicUser`.
#[test]
fn the_given_folders_may_be_links() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    for (name, mode) in [("out", 0o755), ("state", 0o700)] {
        fs::create_dir(harness.path(format!("private-{name}"))).unwrap();
        fs::set_permissions(
            harness.path(format!("private-{name}")),
            Permissions::from_mode(mode),
        )
        .unwrap();
        symlink(format!("private-{name}"), harness.path(name)).unwrap();
    }
    for _ in 0..2 {
        site.write(5);
        site.run(&[]);
        site.assert_complete("named by links");
    }
    assert!(
        fs::symlink_metadata(harness.path("out"))
            .unwrap()
            .is_symlink()
            && fs::symlink_metadata(harness.path("state"))
                .unwrap()
                .is_symlink()
    );
}
