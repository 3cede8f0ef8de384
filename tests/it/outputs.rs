//! Outputs: full disks, closed pipes, closed descriptors, narrow terminals; the old report or the
//! new one, never a partial one. And exit codes, with their messages.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, pipe};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, OFlags, fcntl_getfl, fcntl_setfl, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{EXE, Harness, Run, finish, is_installed, line, log, skip};

const FORMATS: [&str; 4] = ["table", "csv", "json", "ndjson"];

/// A log with so many probes that every report is longer than any pipe or buffer.
fn long_log() -> String {
    (0..4_000)
        .map(|n| {
            line(
                &format!("192.0.2.{}", n % 250),
                &format!("GET /{n}/.git/config HTTP/1.1"),
                404,
            )
        })
        .collect()
}

fn names(harness: &Harness) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(harness.path(""))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(harness: &Harness, name: &str) -> u32 {
    fs::metadata(harness.path(name))
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

/// G1.
#[test]
fn a_full_disk_keeps_the_old_report() {
    const MOUNT: &str = "mount -t tmpfs -o size=16k none out";
    let harness = Harness::new();
    fs::create_dir(harness.path("out")).unwrap();
    harness.file("access.log", long_log());
    // In its own mount namespace, so that nothing stays mounted.
    let may = |line: &str| {
        Command::new("unshare")
            .args(["--mount", "sh", "-c", line])
            .current_dir(harness.path(""))
            .output()
    };
    if !may(MOUNT).is_ok_and(|o| o.status.success()) {
        return skip("g1", "only root can mount a small disk");
    }
    for format in ["csv", "json", "ndjson"] {
        let script = format!(
            "{MOUNT} && echo old > out/report && {{ \"$0\" scan -f {format} -o out/report access.log; echo \"exit $?\"; cat out/report; ls -A out; }}"
        );
        let run = finish(&mut harness.under(&["unshare", "--mount", "sh", "-c", &script], [""; 0]));
        assert_eq!(
            run.text(),
            "exit 4\nold\nreport\n",
            "{format}: {}",
            run.stderr
        );
        assert!(
            run.stderr
                .contains("out/report: no space left on device; free some space"),
            "{}",
            run.stderr
        );
    }
}

/// G2.
#[test]
fn a_full_device_is_an_error_in_one_line() {
    let harness = Harness::new();
    harness.file("access.log", log(100));
    let full = || {
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let scans = FORMATS.map(|format| vec!["scan", "-f", format, "access.log"]);
    let others = [
        vec!["rules", "list"],
        vec!["explain", "/x"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["scan", "--help"],
        vec!["--version"],
    ];
    for args in scans.into_iter().chain(others) {
        let run = finish(harness.command(&args).stdout(full()));
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (4, 1),
            "{args:?}: {}",
            run.stderr
        );
    }
    let run = harness.run(["scan", "-o", "/dev/full", "access.log"]);
    assert_eq!(
        (run.code, run.stderr.lines().count()),
        (4, 1),
        "{}",
        run.stderr
    );
}

/// G4.
#[test]
fn a_file_size_limit_is_an_error_and_no_crash() {
    let harness = Harness::new();
    harness.file("access.log", long_log());
    if !is_installed("prlimit") {
        return skip("g4", "there is no prlimit");
    }
    for format in ["csv", "json", "ndjson"] {
        harness.file("report", "old\n");
        let run = finish(&mut harness.under(
            &["prlimit", "--fsize=4096"],
            ["scan", "-f", format, "-o", "report", "access.log"],
        ));
        assert_eq!(run.code, 4, "{format}: {}", run.stderr);
        assert_eq!(fs::read_to_string(harness.path("report")).unwrap(), "old\n");
        let stdout = fs::File::create(harness.path("printed")).unwrap();
        let run = finish(
            harness
                .under(
                    &["prlimit", "--fsize=4096"],
                    ["scan", "-f", format, "access.log"],
                )
                .stdout(stdout),
        );
        assert_eq!(run.code, 4, "{format}: {}", run.stderr);
    }
    assert_eq!(names(&harness), ["access.log", "printed", "report"]);
}

/// G6.
#[test]
fn a_closed_pipe_ends_the_run_silently() {
    let harness = Harness::new();
    harness.file("access.log", long_log());
    for format in ["csv", "json", "ndjson"] {
        let mut command = harness.command(["scan", "-q", "-f", format, "access.log"]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!(
            (run.code, run.stderr.as_str(), first.ends_with('\n')),
            (141, "", true),
            "{format}"
        );
    }
}

/// G6.
#[test]
fn a_pipe_closed_from_the_start() {
    let harness = Harness::new();
    harness.file("access.log", log(100));
    let scans = FORMATS.map(|format| vec!["scan", "-f", format, "access.log"]);
    let others = [
        vec!["rules", "list"],
        vec!["explain", "/x"],
        vec!["completions", "zsh"],
        vec!["man"],
        vec!["scan", "--help"],
    ];
    for args in scans.into_iter().chain(others) {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let run = finish(harness.command(&args).stdout(writer));
        assert_eq!((run.code, run.stderr.as_str()), (141, ""), "{args:?}");
    }
}

/// G7.
#[test]
fn closed_descriptors_write_to_no_other_file() {
    let harness = Harness::new();
    // Damaged, so that there is a message on standard error.
    let text = format!("{}no line of any log\n", log(50));
    harness.file("access.log", &text);
    for closed in [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        for what in [
            "-f json access.log",
            "-f ndjson access.log gone.log",
            "--full -o report access.log",
        ] {
            let run = finish(&mut harness.shell(&format!("exec \"$0\" scan {what} {closed}")));
            let expected: &[i32] = if what.contains("gone") {
                &[0, 2, 3, 4]
            } else {
                &[0, 2, 4]
            };
            assert!(
                expected.contains(&run.code),
                "{what} {closed}: {}",
                run.code
            );
            assert_eq!(
                fs::read_to_string(harness.path("access.log")).unwrap(),
                text,
                "{what} {closed}"
            );
        }
        let report = fs::read_to_string(harness.path("report")).unwrap();
        assert!(
            report.contains("WHERE EACH LINE WENT") && !report.contains("note:"),
            "{report}"
        );
        fs::remove_file(harness.path("report")).unwrap();
    }
    assert_eq!(names(&harness), ["access.log"]);
}

/// G8.
#[test]
fn a_slow_reader_of_a_non_blocking_pipe_gets_everything() {
    let harness = Harness::new();
    harness.file("access.log", long_log());
    for format in ["csv", "json", "ndjson"] {
        let args = ["scan", "-q", "-f", format, "access.log"];
        let expected = harness.run(args);
        let (mut reader, writer) = pipe().unwrap();
        fcntl_setfl(&writer, fcntl_getfl(&writer).unwrap() | OFlags::NONBLOCK).unwrap();
        let full = writer.try_clone().unwrap();
        let mut command = harness.command(args);
        let mut child = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(command);
        // Not a byte is read before the pipe is full.
        while poll(
            &mut [PollFd::new(&full, PollFlags::OUT)],
            Some(&Timespec::default()),
        )
        .unwrap()
            > 0
        {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{format}: ended with a pipe that was not full"
            );
            std::thread::yield_now();
        }
        drop(full);
        let (mut got, mut piece) = (Vec::new(), [0; 700]);
        while let n @ 1.. = reader.read(&mut piece).unwrap() {
            got.extend_from_slice(&piece[..n]);
            std::thread::yield_now();
        }
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{format}");
        assert!(
            got == expected.stdout,
            "{format}: {} of {} bytes",
            got.len(),
            expected.stdout.len()
        );
    }
}

/// G10.
#[test]
fn no_input_is_overwritten() {
    let harness = Harness::new();
    let text = log(50);
    harness.file("access.log", &text);
    symlink("access.log", harness.path("soft.log")).unwrap();
    fs::hard_link(harness.path("access.log"), harness.path("hard.log")).unwrap();
    for output in ["access.log", "./access.log", "soft.log", "hard.log"] {
        let run = harness.run(["scan", "-o", output, "access.log"]);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{output}: {}",
            run.stderr
        );
        assert!(
            run.stderr
                .contains("--output would overwrite an input; choose another file"),
            "{}",
            run.stderr
        );
    }
    let stdout = fs::OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap();
    assert_eq!(
        finish(harness.command(["scan", "access.log"]).stdout(stdout)).code,
        2
    );
    assert_eq!(
        fs::read_to_string(harness.path("access.log")).unwrap(),
        text
    );
    assert_eq!(names(&harness), ["access.log", "hard.log", "soft.log"]);
}

/// G12.
#[test]
fn reports_are_private_with_any_umask() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    for umask in ["000", "022", "777"] {
        fs::set_permissions(harness.file("old", "old"), Permissions::from_mode(0o666)).unwrap();
        for name in ["new", "old"] {
            let run = finish(&mut harness.shell(&format!(
                "umask {umask}; exec \"$0\" scan -f json -o {name} access.log"
            )));
            assert_eq!(
                (run.code, mode(&harness, name)),
                (0, 0o600),
                "{umask} {name}: {}",
                run.stderr
            );
        }
        fs::remove_file(harness.path("new")).unwrap();
        fs::remove_file(harness.path("old")).unwrap();
    }
}

/// G13.
#[test]
fn any_width_and_terminal_work() {
    let harness = Harness::new();
    harness.file(
        "access.log",
        log(200)
            + &line(
                "2001:db8::1",
                &format!("GET /{}/.env HTTP/1.1", "deep/".repeat(60)),
                200,
            ),
    );
    for columns in [
        "",
        "0",
        "10",
        "20",
        "80",
        "200",
        "-1",
        "99999999999999999999",
        "wide",
    ] {
        let run = finish(
            harness
                .command(["scan", "--full", "access.log"])
                .env("COLUMNS", columns),
        );
        assert_eq!(run.code, 0, "{columns}: {}", run.stderr);
        assert!(run.text().contains("vcs/git"), "{columns}: {}", run.text());
    }
    for (name, value) in [
        ("TERM", "dumb"),
        ("TERM", ""),
        ("NO_COLOR", "1"),
        ("NO_COLOR", ""),
    ] {
        assert_eq!(
            finish(harness.command(["scan", "access.log"]).env(name, value)).code,
            0,
            "{name}={value}"
        );
    }
}

/// G13.
#[test]
fn output_on_a_terminal_is_escaped() {
    let harness = Harness::new();
    harness.file("access.log", log(200));
    if !is_installed("script") {
        return skip("output_on_a_terminal_is_escaped", "there is no script");
    }
    let on_terminal = |setup: &str| {
        let line = format!("script -qec '{setup} {EXE} scan --full access.log' /dev/null");
        let output = harness.shell(&line).env("TERM", "xterm").output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{setup}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(on_terminal("").contains("\x1b["), "a terminal gets colours");
    for setup in ["NO_COLOR=1", "TERM=dumb"] {
        let text = on_terminal(setup);
        assert!(
            text.contains("/.git/config") && !text.contains('\x1b'),
            "{setup}: {text:?}"
        );
    }
    for columns in ["0", "1", "10", "20", "80", "200"] {
        assert!(
            on_terminal(&format!("stty cols {columns};")).contains(".git"),
            "{columns}"
        );
    }
}

#[test]
fn a_report_is_replaced_atomically_and_kept_if_the_run_fails() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    harness.file("report", "old\n");
    for failing in [
        &["scan", "-o", "report", "gone*"][..],
        &["scan", "-o", "report", "--only", "no-such", "access.log"],
    ] {
        assert_eq!(harness.run(failing).code, 2);
        assert_eq!(fs::read_to_string(harness.path("report")).unwrap(), "old\n");
    }
    let printed = harness.run(["scan", "-f", "csv", "access.log"]).text();
    let run = harness.run(["scan", "-f", "csv", "-o", "report", "access.log"]);
    assert_eq!(
        (run.code, run.stdout.len(), run.stderr.as_str()),
        (0, 0, "")
    );
    assert_eq!(fs::read_to_string(harness.path("report")).unwrap(), printed);
    assert_eq!(names(&harness), ["access.log", "report"]);
    assert_eq!(
        harness
            .run(["scan", "-f", "csv", "-o", "-", "access.log"])
            .text(),
        printed
    );
}

#[test]
fn a_link_at_the_output_is_replaced() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    harness.file("precious", "precious\n");
    symlink("precious", harness.path("report")).unwrap();
    assert_eq!(harness.run(["scan", "-o", "report", "access.log"]).code, 0);
    assert_eq!(
        fs::read_to_string(harness.path("precious")).unwrap(),
        "precious\n"
    );
    assert!(
        fs::symlink_metadata(harness.path("report"))
            .unwrap()
            .is_file()
    );
    assert_eq!(mode(&harness, "report"), 0o600);
}

#[test]
fn fail_on_compares_severities() {
    let harness = Harness::new();
    harness.file(
        "medium.log",
        line("192.0.2.1", "GET /wp-login.php HTTP/1.1", 404),
    );
    harness.file(
        "high.log",
        line("192.0.2.1", "GET /.git/config HTTP/1.1", 404),
    );
    harness.file(
        "raised.log",
        line("192.0.2.1", "GET /.git/config HTTP/1.1", 200),
    );
    harness.file("calm.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    let cases = [
        ("high.log", "info", 1),
        ("high.log", "high", 1),
        ("high.log", "critical", 0),
        ("high.log", "never", 0),
        ("raised.log", "critical", 1),
        ("calm.log", "info", 0),
        ("medium.log", "critical", 0),
    ];
    for (name, level, code) in cases {
        let run = harness.run(["scan", "--fail-on", level, name]);
        assert_eq!(run.code, code, "{name} {level}: {}", run.text());
    }
    // A finding has precedence over an unreadable input.
    assert_eq!(
        harness
            .run(["scan", "--fail-on", "low", "high.log", "gone.log"])
            .code,
        1
    );
    assert_eq!(
        harness
            .run(["scan", "--fail-on", "low", "calm.log", "gone.log"])
            .code,
        3
    );
}

#[test]
fn unreadable_input_exits_with_3_and_single_bad_lines_with_0() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    harness.file(
        "some.log",
        format!("{}nonsense\n{}\n", log(50), "x".repeat(2 << 20)),
    );
    harness.file("none.log", "nothing here\nis a line\nof an access log\n");
    harness.file("empty.log", "");
    harness.file(
        "broken.gz",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03broken",
    );
    for (name, code) in [
        ("access.log", 0),
        ("some.log", 0),
        ("empty.log", 0),
        ("none.log", 3),
        ("broken.gz", 3),
        ("gone.log", 3),
    ] {
        let (run, report) = harness.json([name, "access.log"]);
        assert_eq!(run.code, code, "{name}: {}", run.stderr);
        assert_eq!(
            run.stderr.contains(&format!("{name}: ")),
            code == 3,
            "{name}: {}",
            run.stderr
        );
        let has_problem = report["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .any(|i| i["path"] == name && i["problem"].is_string());
        assert_eq!(has_problem, code == 3, "{name}: {report}");
    }
}

#[test]
fn an_output_that_cannot_be_opened_exits_with_4_before_reading() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    fs::create_dir(harness.path("folder")).unwrap();
    for (output, advice) in [
        ("no/such/folder/report", "make the folder first"),
        ("folder", "it is a folder"),
        ("folder/", "it names a folder"),
    ] {
        let run = harness.run(["scan", "--stats", "-o", output, "access.log"]);
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (4, 1),
            "{output}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains(output) && run.stderr.contains(advice),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn no_space_for_matched_lines_exits_with_4() {
    let harness = Harness::new();
    // More than is kept in memory.
    harness.file(
        "access.log",
        line(
            "192.0.2.1",
            &format!("GET /.env?{} HTTP/1.1", "x".repeat(1_000)),
            404,
        )
        .repeat(20_000),
    );
    let run = finish(
        harness
            .command(["scan", "-f", "ndjson", "access.log"])
            .env("TMPDIR", harness.path("no/such/folder")),
    );
    assert_eq!((run.code, run.stdout.len()), (4, 0), "{}", run.stderr);
    assert!(run.stderr.contains("or set TMPDIR"), "{}", run.stderr);
}

#[test]
fn a_signal_stops_cleanly() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let harness = Harness::new();
        mknodat(
            CWD,
            harness.path("pipe.log"),
            FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        harness.file("report", "old\n");
        let mut command = harness.command(["scan", "-o", "report", "pipe.log"]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Opening the pipe waits for its reader; it stays open and empty.
        let writer = fs::File::create(harness.path("pipe.log")).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        drop(writer);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(
            run.stderr.contains("no report was written"),
            "{}",
            run.stderr
        );
        assert_eq!(
            (
                fs::read_to_string(harness.path("report")).unwrap().as_str(),
                names(&harness).len()
            ),
            ("old\n", 2)
        );
    }
}

#[test]
fn flag_over_environment_over_file() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    harness.file(
        "settings.toml",
        "paths = ['access.log']\nformat = 'json'\nby = 'rule'\ntop = 1\n",
    );
    let first = |command: &mut Command| {
        let run = finish(command);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.text().lines().next().unwrap().to_owned()
    };
    let config = ["scan", "--config", "settings.toml"];
    assert_eq!(first(&mut harness.command(config)), "{");
    assert!(
        first(harness.command(config).env("PROBEWATCH_FORMAT", "csv")).starts_with("rule,class,")
    );
    let args = ["scan", "--config", "settings.toml", "--by", "client"];
    assert!(
        first(
            harness
                .command(args)
                .env("PROBEWATCH_FORMAT", "csv")
                .env("PROBEWATCH_BY", "path")
        )
        .starts_with("client,hits,")
    );
    let named = first(
        harness
            .command(["scan"])
            .env("PROBEWATCH_CONFIG", "settings.toml")
            .env("PROBEWATCH_FORMAT", "ndjson"),
    );
    assert!(named.starts_with(r#"{"id":"#), "{named}");
    assert!(
        first(&mut harness.command(["scan", "--config", "settings.toml", "-f", "table"]))
            .contains("probes")
    );
}

#[test]
fn an_unknown_variable_causes_a_warning() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    let run = finish(
        harness
            .command(["scan", "access.log"])
            .env("PROBEWATCH_MIN_SEVERTY", "high"),
    );
    assert_eq!(run.code, 0);
    assert!(
        run.stderr
            .contains("PROBEWATCH_MIN_SEVERTY; did you mean PROBEWATCH_MIN_SEVERITY?"),
        "{}",
        run.stderr
    );
    assert_eq!(
        finish(
            harness
                .command(["scan", "-q", "access.log"])
                .env("PROBEWATCH_MIN_SEVERTY", "high")
        )
        .stderr,
        ""
    );
    let run = finish(
        harness
            .command(["scan", "access.log"])
            .env("PROBEWATCH_MIN_SEVERITY", "hgih"),
    );
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("PROBEWATCH_MIN_SEVERITY") && run.stderr.contains("'high'"),
        "{}",
        run.stderr
    );
}

#[test]
fn usage_errors_come_with_advice() {
    let harness = Harness::new();
    harness.file("access.log", log(50));
    harness.file("bad.toml", "tpo = 3\n");
    harness.file("notes.txt", "notes");
    fs::create_dir(harness.path("empty")).unwrap();
    let cases: [(&[&str], &[&str]); 13] = [
        (
            &["scan", "--min-severty", "high", "access.log"],
            &["'--min-severty'", "'--min-severity'"],
        ),
        (&["scna", "access.log"], &["'scna'", "'scan'"]),
        (&["scan", "-f", "xml", "access.log"], &["'xml'", "ndjson"]),
        (
            &["scan", "--threads", "0", "access.log"],
            &["--threads", "type 1 or more"],
        ),
        (
            &["scan", "--since", "yesterday", "access.log"],
            &["--since", "24h"],
        ),
        (
            &[
                "scan",
                "--since",
                "2026-11-02",
                "--until",
                "2026-11-02",
                "access.log",
            ],
            &["--since 2026-11-02", "hint: "],
        ),
        (
            &["scan", "--only", "vcs/gti", "access.log"],
            &["--only", "'vcs/gti'", "'vcs/git'"],
        ),
        (
            &["scan", "--disable", "vcs/gti", "access.log"],
            &["--disable", "'vcs/git'"],
        ),
        (
            &["scan", "--severity", "vcs/gti=low", "access.log"],
            &["--severity", "'vcs/git'"],
        ),
        (
            &["scan", "--rules", "gone.toml", "access.log"],
            &["gone.toml", "cannot read rules"],
        ),
        (
            &["scan", "--rules", "empty", "access.log"],
            &["empty", ".toml"],
        ),
        (
            &["scan", "--config", "gone.toml", "access.log"],
            &["gone.toml", "hint: "],
        ),
        (
            &["scan", "--config", "bad.toml", "access.log"],
            &["bad.toml", "line 1", "'tpo'", "the settings are"],
        ),
    ];
    for (args, parts) in cases {
        let run = harness.run(args);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{args:?}: {}",
            run.stderr
        );
        for part in parts {
            assert!(
                run.stderr.contains(part),
                "{args:?}: {part} in {}",
                run.stderr
            );
        }
    }
    let run = harness.run(["scan", "gone.log"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("gone.log: no such file"),
        "{}",
        run.stderr
    );
}

/// A killed run may have left a partial line in a file that a shell appends to.
#[test]
fn a_partial_line_in_a_file_is_ended_first() {
    let harness = Harness::new();
    harness.file("access.log", line("192.0.2.1", "GET /.env HTTP/1.1", 404));
    let scan = "\"$0\" scan -q -f ndjson access.log";
    for (left, to, lines) in [
        ("{\"id\":\"half", ">>", 2),
        ("{}\n", ">>", 2),
        ("", ">>", 1),
        ("{\"id\":\"half", ">", 1),
    ] {
        harness.file("hits.ndjson", left);
        let run = finish(&mut harness.shell(&format!("{scan} {to} hits.ndjson")));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let text = fs::read_to_string(harness.path("hits.ndjson")).unwrap();
        assert_eq!(text.lines().count(), lines, "{left} {to}: {text}");
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["path"], "/.env");
    }
    // A file that is written from the middle on, after another program of the same shell line.
    finish(&mut harness.shell(&format!("{{ printf half; {scan}; }} > hits.ndjson")));
    assert!(
        fs::read_to_string(harness.path("hits.ndjson"))
            .unwrap()
            .starts_with("half\n{")
    );
}

#[test]
fn ndjson_has_no_choice_of_rows() {
    let harness = Harness::new();
    harness.file("access.log", log(10));
    let run = harness.run(["scan", "-f", "ndjson", "--by", "client", "access.log"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0), "{}", run.stderr);
    assert!(run.stderr.contains("-f csv with --by"), "{}", run.stderr);
}

#[test]
fn a_closed_standard_output_is_a_failed_write() {
    let harness = Harness::new();
    let probe = line("203.0.113.9", "GET /.git/config HTTP/1.1", 200);
    harness.file("access.log", log(10) + &probe);
    for format in ["table", "csv", "json", "ndjson"] {
        let run = finish(&mut harness.shell(&format!("\"$0\" scan -f {format} access.log >&-")));
        assert_eq!(run.code, 4, "{format} {}", run.stderr);
        assert!(
            run.stderr.contains(
                "cannot write standard output: it is closed; choose a file with --output"
            ),
            "{}",
            run.stderr
        );
    }
    for partial in ["one", "two"] {
        let run = harness.run(["scan", "-f", "partial", "-o", partial, "access.log"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    for command in [
        "merge one two",
        "diff one two",
        "explain /.env",
        "formats",
        "formats access.log",
        "rules list",
        "man",
        "scan --help",
        "follow --from-start access.log",
        "follow --from-start -f ndjson access.log",
        "report --state state --out out access.log",
        "report --state state --status",
    ] {
        let run = finish(&mut harness.shell(&format!("\"$0\" {command} >&-")));
        assert_eq!(run.code, 4, "{command} {}", run.stderr);
        assert!(
            run.stderr.contains("standard output: it is closed"),
            "{command} {}",
            run.stderr
        );
    }
    assert_eq!(
        finish(&mut harness.shell("\"$0\" scan access.log -o report.txt >&-")).code,
        0
    );
    assert_eq!(
        finish(&mut harness.shell("\"$0\" scan access.log >/dev/null")).code,
        0
    );
    assert_eq!(
        finish(&mut harness.shell("\"$0\" scan access.log 1<>/dev/null")).code,
        0
    );
}

#[test]
fn a_rule_that_matches_most_lines_causes_a_warning() {
    let harness = Harness::new();
    let rule = "[[rule]]\nid = 'own/broad'\ntitle = 'A page'\nclass = 'panel'\nseverity = 'low'\npaths = ['/page']\n";
    harness.file(
        "own.toml",
        rule.to_owned() + "must_match = ['GET /page?n=7']\nmust_not_match = ['GET /']\n",
    );
    let scan = |lines: usize, broad: usize, args: &[&str]| {
        let page = |n: usize| {
            if n < broad {
                format!("GET /page?n={n} HTTP/1.1")
            } else {
                format!("GET /other/{n} HTTP/1.1")
            }
        };
        harness.file(
            "access.log",
            (0..lines)
                .map(|n| line("192.0.2.1", &page(n), 200))
                .collect::<String>(),
        );
        harness
            .run(
                [
                    &["scan", "--no-builtin", "--rules", "own.toml", "access.log"],
                    args,
                ]
                .concat(),
            )
            .stderr
    };
    let warnings = scan(100, 50, &[]);
    assert!(
        warnings.contains("access.log: the rule own/broad matches 50 of 100 lines")
            && warnings.contains("--disable own/broad"),
        "{warnings}"
    );
    for (lines, broad, args) in [(100, 49, &[][..]), (99, 99, &[]), (100, 50, &["-q"])] {
        assert_eq!(scan(lines, broad, args), "", "{broad} of {lines}");
    }
}

#[test]
fn binary_data_is_not_written_to_a_terminal() {
    let harness = Harness::new();
    harness.file("access.log", log(40));
    assert_eq!(
        harness
            .run(["scan", "-f", "json", "-o", "report.json", "access.log"])
            .code,
        0
    );
    if !is_installed("script") {
        return skip(
            "binary_data_is_not_written_to_a_terminal",
            "there is no script",
        );
    }
    let on_terminal = |command: &str| {
        let output = harness
            .shell(&format!("script -qec '{EXE} {command}' /dev/null"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    for command in [
        "scan -f partial access.log",
        "merge -f partial report.json",
        "scan -f partial -o /dev/tty access.log",
    ] {
        let (code, text) = on_terminal(command);
        assert_eq!(code, Some(2), "{command}: {}", text.escape_debug());
        assert!(
            text.starts_with("error: ") && text.contains("type --output FILE"),
            "{command}: {}",
            text.escape_debug()
        );
    }
    // The terminal is only in the way of the data itself.
    for command in [
        "scan -f partial access.log >to.partial",
        "scan -f partial -o to.partial access.log",
    ] {
        assert_eq!(on_terminal(command), (Some(0), String::new()), "{command}");
        assert_eq!(harness.run(["merge", "to.partial"]).code, 0);
    }
}

/// Requests are counted by day in UTC, whatever the offset, the split and the number of threads,
/// and a merge has those of its parts. Above 400 days, and where buckets of hits are weeks, no day
/// is listed.
#[test]
fn probes_are_in_proportion_to_the_requests_of_their_day() {
    let harness = Harness::new();
    let request = |time: &str, path: &str| {
        line("192.0.2.1", &format!("GET {path} HTTP/1.1"), 404)
            .replace("02/Nov/2026:08:01:00 +0000", time)
    };
    let first = [
        request("02/Nov/2026:23:59:59 +0000", "/about"),
        request("03/Nov/2026:00:30:00 +0100", "/.env"),
        request("03/Nov/2026:00:00:00 +0000", "/.env"),
        "GET /.env in no format\n".to_owned(),
    ]
    .concat();
    let second = [
        request("03/Nov/2026:23:59:59 +0000", "/.git/config"),
        request("03/Nov/2026:12:00:00 +0000", "/").repeat(200_000),
        request("02/Nov/2026:20:00:00 -0400", "/about"),
    ]
    .concat();
    harness.file("a.log", &first);
    harness.file("b.log", &second);
    let days = |args: &[&str]| harness.run(args).json()["days"].clone();
    let expected = serde_json::json!([
        { "from": "2026-11-02T00:00:00Z", "requests": 2, "hits": 1, "clients": 1 },
        { "from": "2026-11-03T00:00:00Z", "requests": 200_003, "hits": 2, "clients": 1 },
    ]);
    for threads in ["-j1", "-j2"] {
        assert_eq!(
            days(&["scan", "-f", "json", threads, "a.log", "b.log"]),
            expected
        );
    }
    for name in ["a", "b"] {
        let (json, log) = (format!("{name}.json"), format!("{name}.log"));
        harness.run(["scan", "-f", "json", "-o", &json, &log]);
    }
    assert_eq!(days(&["merge", "-f", "json", "a.json", "b.json"]), expected);
    let table = harness.run(["scan", "--full", "a.log", "b.log"]).text();
    let row = |day: &str| {
        let line = table.lines().rfind(|line| line.contains(day));
        line.unwrap().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(
        row("2026-11-02"),
        ["2026-11-02", "1", "2", "50.0", "%", "1"]
    );
    assert_eq!(
        row("2026-11-03"),
        [
            "2026-11-03",
            "2",
            "200,003",
            "less",
            "than",
            "0.1",
            "%",
            "1"
        ]
    );
    harness.file(
        "years.log",
        request("01/Jan/2024:00:00:00 +0000", "/.env") + &second,
    );
    assert_eq!(
        days(&["scan", "-f", "json", "years.log"]),
        serde_json::json!([])
    );
}
