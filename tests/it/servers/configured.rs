//! `--from-nginx` and `--from-apache` with configurations of the servers.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{ServerRun, first_requests};

/// A few requests: only which logs are read matters here.
const FEW: usize = 100;

/// The inputs of a report by name, with their counts.
fn inputs(report: &Value) -> Vec<(String, &Value)> {
    let name = |input: &Value| {
        input["path"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    };
    report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| (name(input), input))
        .collect()
}

fn names(served: &ServerRun) -> BTreeSet<String> {
    served
        .logs
        .iter()
        .map(|log| format!("{}.log", log.name))
        .collect()
}

#[test]
fn configured_logs_are_read_with_their_rotated_files() {
    for served in first_requests("configurations of real servers", FEW) {
        let old = served.harness.path("log/combined.log.1");
        fs::copy(served.harness.path("log/combined.log"), &old).unwrap();
        fs::write(served.harness.path("log/unnamed.log"), "").unwrap();
        let (run, report) = served.harness.json([served.flag()]);
        let inputs = inputs(&report);
        let found: BTreeSet<_> = inputs.iter().map(|(name, _)| name.clone()).collect();
        let mut expected = names(&served);
        expected.insert("combined.log.1".to_owned());
        assert_eq!(found, expected, "{}: {}", served.server, run.stderr);
        for (name, input) in &inputs {
            assert_eq!(input["lines"], FEW, "{name}");
        }
        let left = if served.server == "nginx" {
            "syslog:server=127.0.0.1:9"
        } else {
            "piped to `|/bin/cat`"
        };
        assert!(
            run.stderr.contains(left) && run.stderr.contains("; skipped"),
            "{}",
            run.stderr
        );
        assert!(
            !served
                .harness
                .run(["scan", "-q", &served.flag()])
                .stderr
                .contains("; skipped")
        );
    }
}

#[test]
fn report_reads_configured_logs() {
    for served in first_requests("report of a configuration", FEW) {
        let run =
            served
                .harness
                .run(["report", "--state", "state", "--out", "out", &served.flag()]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            !run.stderr.contains("; skipped"),
            "cron would mail it: {}",
            run.stderr
        );
        let status = served
            .harness
            .run(["report", "--state", "state", "--status", &served.flag()]);
        for name in names(&served) {
            assert!(status.text().contains(&name), "{name}: {}", status.text());
        }
        assert!(status.stderr.contains("; skipped"), "{}", status.stderr);
    }
}

#[test]
fn follow_follows_configured_logs() {
    for served in first_requests("follower of a configuration", FEW) {
        let args = [
            "follow",
            "-f",
            "ndjson",
            "--from-start",
            "--only",
            "config-exposure",
            &served.flag(),
        ];
        let mut child = served
            .harness
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut missing = names(&served);
        // Ends when each log has had a hit; a follower that does not end is stopped by the timeout.
        let alarm = KillTimer::of(&child);
        for line in stdout.lines() {
            let hit: Value = serde_json::from_str(&line.unwrap()).unwrap();
            missing.remove(hit["source"].as_str().unwrap().rsplit('/').next().unwrap());
            if missing.is_empty() {
                break;
            }
        }
        alarm.end(&child);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(missing.is_empty(), "{missing:?}: {stderr}");
        assert!(stderr.contains("; skipped"), "{stderr}");
    }
}

/// Kills a child that does not end by itself.
struct KillTimer {
    silence: mpsc::Sender<()>,
    guard: JoinHandle<()>,
}

impl KillTimer {
    fn of(child: &Child) -> Self {
        let (silence, silenced) = mpsc::channel();
        let pid = Pid::from_child(child);
        let guard = thread::spawn(move || {
            if silenced.recv_timeout(Duration::from_secs(60)).is_err() {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self { silence, guard }
    }

    fn end(self, child: &Child) {
        let _ = self.silence.send(());
        self.guard.join().unwrap();
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
}

#[test]
fn a_missing_configured_log_is_reported_and_the_others_are_read() {
    for served in first_requests("a log that is gone", FEW) {
        for log in served.logs.iter().filter(|log| log.name != "combined") {
            fs::remove_file(&log.path).unwrap();
        }
        let (run, report) = served.harness.json([served.flag()]);
        assert_eq!((run.code, inputs(&report).len()), (0, 1), "{}", run.stderr);
        assert!(
            run.stderr.contains("does not exist yet; left out"),
            "{}",
            run.stderr
        );
        fs::remove_file(&served.log("combined").path).unwrap();
        let run = served.harness.run(["scan", &served.flag()]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(
            run.stderr.contains("combined.log: no such file"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn an_invalid_configuration_is_reported_with_its_line() {
    let harness = crate::harness::Harness::new();
    harness.file("nginx.conf", "http {\n  access_log a.log \u{1b}main;\n}\n");
    harness.file("apache.conf", "\nInclude gone.conf\n");
    harness.file("access.log", crate::harness::log(10));
    for (flag, part) in [
        (
            "--from-nginx=nginx.conf",
            r"nginx.conf:2: no log_format is named '\x1bmain'",
        ),
        ("--from-apache=apache.conf", "apache.conf:2: includes "),
        (
            "--from-nginx=access.log",
            "access.log:1: a directive without a ';' at its end",
        ),
        (
            "--from-nginx=gone.conf",
            "gone.conf: cannot read the configuration",
        ),
    ] {
        let run = harness.run(["scan", flag]);
        assert!(
            run.code == 2 && run.stderr.contains(part),
            "{flag}: {}",
            run.stderr
        );
    }
}
