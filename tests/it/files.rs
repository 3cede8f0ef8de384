//! What is found and opened: folders, links, pipes, devices, strange names, very many files, very
//! large ones.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, mknodat};
use serde_json::Value;

use crate::harness::{EXE, Harness, Run, finish, is_installed, line, log, skip};

fn probe(client: &str) -> String {
    line(client, "GET /.git/config HTTP/1.1", 404)
}

fn mkfifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
}

/// The paths of the inputs, as the report has them.
fn inputs(report: &Value) -> Vec<&str> {
    report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| input["path"].as_str().unwrap())
        .collect()
}

/// D1.
#[test]
fn a_folder_is_read_recursively() {
    let harness = Harness::new();
    fs::create_dir_all(harness.path("logs/old")).unwrap();
    harness.file("logs/access.log", probe("192.0.2.1"));
    harness.file("logs/old/access.log", probe("192.0.2.2"));
    let (run, report) = harness.json(["logs"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(inputs(&report), ["logs/access.log", "logs/old/access.log"]);
    assert_eq!(report["totals"]["hits"], 2);
}

/// D2.
#[test]
fn a_loop_of_links_ends() {
    let harness = Harness::new();
    fs::create_dir_all(harness.path("logs/deep")).unwrap();
    harness.file("logs/deep/access.log", probe("192.0.2.1"));
    symlink(".", harness.path("logs/loop")).unwrap();
    symlink("..", harness.path("logs/deep/up")).unwrap();
    symlink("self", harness.path("logs/self")).unwrap();
    let (run, report) = harness.json(["logs"]);
    assert_eq!(report["totals"]["lines"], 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("is the same folder as"),
        "{}",
        run.stderr
    );
    fs::remove_file(harness.path("logs/self")).unwrap();
    assert_eq!(harness.json(["logs"]).0.code, 0);
}

/// D3.
#[test]
fn a_file_with_several_names_is_read_once() {
    let harness = Harness::new();
    harness.file("access.log", log(20));
    symlink("access.log", harness.path("soft.log")).unwrap();
    fs::hard_link(harness.path("access.log"), harness.path("hard.log")).unwrap();
    let (run, report) = harness.json([
        "access.log",
        "access.log",
        "soft.log",
        "hard.log",
        ".",
        "*.log",
    ]);
    assert_eq!(run.code, 0);
    assert_eq!(
        (inputs(&report), &report["totals"]["lines"]),
        (vec!["access.log"], &Value::from(20))
    );
    for notice in [
        "access.log was named more than once; read once",
        "hard.log is the same file as access.log; read once",
    ] {
        assert!(run.stderr.contains(notice), "{}", run.stderr);
    }
    assert_eq!(
        harness.run(["scan", "-q", "access.log", "soft.log"]).stderr,
        ""
    );
}

/// D3.
#[test]
fn standard_input_is_recognised_as_a_file() {
    let harness = Harness::new();
    let path = harness.file("access.log", log(20));
    let run = finish(
        harness
            .command(["scan", "-f", "json", "access.log", "-"])
            .stdin(File::open(path).unwrap()),
    );
    assert_eq!(run.json()["totals"]["lines"], 20, "{}", run.stderr);
}

/// D4.
#[test]
fn a_named_pipe_is_read_if_given_and_skipped_in_a_folder() {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    mkfifo(&harness.path("logs/pipe.log"));
    harness.file("logs/access.log", probe("192.0.2.1"));
    for found in ["logs", "logs/*.log"] {
        let run = harness.run(["scan", found]);
        assert_eq!(run.code, 0, "{found}: {}", run.stderr);
        assert!(
            run.stderr
                .contains("logs/pipe.log is a named pipe; skipped"),
            "{}",
            run.stderr
        );
    }
    let child = harness
        .command(["scan", "-f", "json", "logs/pipe.log"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Opening it waits for the reader.
    File::create(harness.path("logs/pipe.log"))
        .unwrap()
        .write_all(log(1_000).as_bytes())
        .unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(
        (run.code, &run.json()["totals"]["lines"]),
        (0, &Value::from(1_000))
    );
}

/// D5.
#[test]
fn standard_input_is_read_by_either_name_and_may_be_closed() {
    let harness = Harness::new();
    let text = log(50);
    for args in [
        &["scan", "-f", "json"][..],
        &["scan", "-f", "json", "-"],
        &["scan", "-f", "json", "/dev/stdin"],
    ] {
        let run = harness.run_with_stdin(args, text.as_bytes());
        assert_eq!(
            (run.code, &run.json()["totals"]["lines"]),
            (0, &Value::from(50)),
            "{args:?}: {}",
            run.stderr
        );
    }
    let run = finish(&mut harness.shell(r#"exec "$0" scan <&-"#));
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("probewatch scan /var/log/nginx/"),
        "{}",
        run.stderr
    );
    let run = finish(&mut harness.shell(r#"exec "$0" scan - <&-"#));
    assert!([0, 2].contains(&run.code), "{}", run.stderr);
}

/// D6.
#[test]
fn devices_and_sockets_are_not_read() {
    let harness = Harness::new();
    harness.file("access.log", probe("192.0.2.1"));
    let _socket = UnixListener::bind(harness.path("socket")).unwrap();
    let (run, report) = harness.json(["/dev/null", "socket", "access.log"]);
    assert_eq!((run.code, &report["totals"]["hits"]), (3, &Value::from(1)));
    for what in [
        "/dev/null: is a character device, not a log",
        "socket: is a socket, not a log",
    ] {
        assert!(run.stderr.contains(what), "{}", run.stderr);
    }
    let problems: Vec<_> = report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|input| !input["problem"].is_null())
        .collect();
    assert_eq!(problems.len(), 2);
}

/// D7.
#[test]
fn an_unreadable_file_does_not_stop_the_others() {
    const WHO: [&str; 4] = ["setpriv", "--reuid", "65534", "--clear-groups"];
    let harness = Harness::new();
    for name in ["a.log", "b.log", "c.log"] {
        let mode = if name == "b.log" { 0o000 } else { 0o644 };
        fs::set_permissions(
            harness.file(name, probe("192.0.2.1")),
            Permissions::from_mode(mode),
        )
        .unwrap();
    }
    let args = ["scan", "-f", "json", "a.log", "b.log", "c.log"];
    let mut command = harness.command(args);
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(harness.path(""), Permissions::from_mode(0o755)).unwrap();
        let may = is_installed("setpriv")
            && Command::new(WHO[0])
                .args(&WHO[1..])
                .args([EXE, "--version"])
                .output()
                .is_ok_and(|o| o.status.success());
        if !may {
            return skip(
                "d7",
                "root may read anything, and there is no setpriv, or no other user may run the command",
            );
        }
        command = harness.under(&WHO, args);
    }
    let run = finish(&mut command);
    assert_eq!(
        (run.code, &run.json()["totals"]["lines"]),
        (3, &Value::from(2)),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .to_lowercase()
            .contains("b.log: permission denied"),
        "{}",
        run.stderr
    );
    assert!(
        !run.stderr.contains("a.log") && !run.stderr.contains("c.log"),
        "{}",
        run.stderr
    );
}

/// D8.
#[test]
fn names_with_any_bytes_are_escaped_in_output() {
    let names: [(&[u8], &str); 5] = [
        (b"new\nline.log", r"new\x0aline.log"),
        (b"esc\x1b[2J.log", r"esc\x1b[2J.log"),
        (b"-rf", "-rf"),
        (b"raw\xff.log", r"raw\xff.log"),
        ("right\u{202e}gol.log".as_bytes(), r"right\u{202e}gol.log"),
    ];
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    for (name, _) in names {
        harness.file(
            Path::new("logs").join(OsStr::from_bytes(name)),
            probe("192.0.2.1"),
        );
    }
    for format in ["table", "csv", "json", "ndjson"] {
        let run = harness.run(["scan", "--full", "-f", format, "logs", "logs"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        // A table and a CSV of one pair name one of them as the sample.
        let shown = names.iter().filter(|(_, shown)| {
            run.text().contains(&shown.replace(
                '\\',
                if format.ends_with("json") {
                    r"\\"
                } else {
                    r"\"
                },
            ))
        });
        assert!(
            shown.count() >= if format == "csv" { 1 } else { 5 },
            "{format}: {}",
            run.text()
        );
    }
}

/// D8.
#[test]
fn a_name_with_a_leading_dash_is_accepted() {
    let harness = Harness::new();
    harness.file("-rf", probe("192.0.2.1"));
    for args in [
        ["scan", "--full", "./-rf"].as_slice(),
        &["scan", "--full", "--", "-rf"],
    ] {
        let run = harness.run(args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.text().contains("/.git/config"));
    }
    let run = harness.run([OsStr::new("scan"), OsStr::from_bytes(b"gone\x1b\n\xff")]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains(r"gone\x1b\x0a"), "{}", run.stderr);
}

/// D9.
#[test]
fn a_glob_without_matches_is_an_error() {
    let harness = Harness::new();
    harness.file("access.log", probe("192.0.2.1"));
    let run = harness.run(["scan", "access.log", "*.gz"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0));
    assert!(
        run.stderr.contains("*.gz: the pattern matches nothing"),
        "{}",
        run.stderr
    );
}

/// D10.
#[test]
fn ten_thousand_files_need_few_descriptors() {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    for n in 0..10_000 {
        harness.file(format!("logs/{n:05}.log"), probe("192.0.2.1"));
    }
    if !is_installed("prlimit") {
        return skip("d10", "there is no prlimit");
    }
    for mmap in ["always", "never"] {
        let run = finish(&mut harness.under(
            &["prlimit", "--nofile=64"],
            ["scan", "-f", "json", "--mmap", mmap, "-j4", "logs"],
        ));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{mmap}");
        assert_eq!(run.json()["totals"]["hits"], 10_000);
    }
}

/// D11.
#[test]
fn offsets_beyond_4_gib_are_right() {
    const TAIL: u64 = (5 << 30) + 12_345;
    let harness = Harness::new();
    let first = probe("192.0.2.1");
    let mut file = File::create(harness.path("access.log")).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    file.seek(SeekFrom::Start(TAIL - 1)).unwrap();
    file.write_all(format!("\n{}", probe("192.0.2.2")).as_bytes())
        .unwrap();
    for mmap in ["always", "never"] {
        let run = harness.run(["scan", "-f", "ndjson", "--mmap", mmap, "access.log"]);
        let found: Vec<_> = run
            .objects()
            .iter()
            .map(|o| (o["client"].clone(), o["offset"].as_u64().unwrap()))
            .collect();
        assert_eq!(
            found,
            [("192.0.2.1".into(), 0), ("192.0.2.2".into(), TAIL)],
            "{mmap}: {}",
            run.stderr
        );
    }
}
