//! `follow -`: a pipe is read line by line, and its end ends the run.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Harness, line, spawn};

const ARGS: [&str; 4] = ["follow", "-f", "ndjson", "-"];

/// Each hit is printed as soon as its line has arrived, before the next line is written.
#[test]
fn hits_are_printed_as_their_lines_arrive() {
    let harness = Harness::new();
    let mut child = spawn(harness.command(ARGS).stdin(Stdio::piped()));
    let (mut pipe, mut hits) = (
        child.stdin.take().unwrap(),
        BufReader::new(child.stdout.take().unwrap()),
    );
    for (number, path) in (1..).zip(["/.env", "/.git/config", "/wp-config.php.bak"]) {
        pipe.write_all(line("192.0.2.1", &format!("GET {path} HTTP/1.1"), 404).as_bytes())
            .unwrap();
        let mut text = String::new();
        hits.read_line(&mut text).unwrap();
        let hit: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&hit["path"], &hit["line"], &hit["source"]),
            (&path.into(), &number.into(), &"-".into()),
            "{hit}"
        );
    }
    // The last line has no newline.
    pipe.write_all(
        line("192.0.2.1", "GET /id_rsa HTTP/1.1", 404)
            .trim_end()
            .as_bytes(),
    )
    .unwrap();
    drop(pipe);
    let mut rest = String::new();
    hits.read_to_string(&mut rest).unwrap();
    assert!(
        rest.lines().count() == 1 && rest.contains("/id_rsa"),
        "{rest}"
    );
    let end = child.wait_with_output().unwrap();
    assert_eq!(
        end.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&end.stderr)
    );
}

/// Containers: the name of each, and a layout of the program within.
#[test]
fn a_pipe_is_read_as_a_file_is() {
    let prefixed = |line: String| format!("web-1  | {line}");
    let layout = |client: u32| {
        format!("2026-11-22 10:00:{client:02} | 192.0.2.{client} | GET /.env | 404 | 153\n")
    };
    let combined = |client: u32| {
        prefixed(line(
            &format!("192.0.2.{client}"),
            "GET /.env HTTP/1.1",
            404,
        ))
    };
    for log in [
        (1..30).map(layout).collect::<String>(),
        (1..30).map(combined).collect(),
    ] {
        let harness = Harness::new();
        harness.file("web.log", &log);
        let scanned = harness.run(["scan", "-f", "ndjson", "web.log"]);
        let piped = harness.run_with_stdin(ARGS, log.as_bytes());
        let facts = |text: &str| -> Vec<[Value; 4]> {
            let hit = |line: &str| serde_json::from_str::<Value>(line).ok();
            let hits = text
                .lines()
                .filter_map(hit)
                .filter(|hit| hit["path"].is_string());
            hits.map(|hit| ["client", "time", "status", "path"].map(|field| hit[field].clone()))
                .collect()
        };
        assert_eq!(
            (facts(&piped.text()), piped.code),
            (facts(&scanned.text()), 0),
            "{}",
            piped.stderr
        );
        assert_eq!(facts(&piped.text()).len(), 29);
    }
}

#[test]
fn what_could_not_be_read_is_in_the_exit_code() {
    let harness = Harness::new();
    let odd = "at ten somebody sent GET /.git/config to us\n";
    let run = harness.run_with_stdin(
        ARGS,
        (odd.to_owned() + &line("192.0.2.1", "GET / HTTP/1.1", 200)).as_bytes(),
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    let run = harness.run_with_stdin(["follow", "--state", "state", "-"], b"");
    assert!(
        run.code == 2 && run.stderr.contains("reads a pipe alone"),
        "{}",
        run.stderr
    );
}
