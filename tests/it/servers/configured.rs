//! `--from-nginx` and `--from-apache` on the servers' own configurations.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{Served, requests, served};

/// The inputs of a report by their names, and what each came to.
fn inputs(report: &Value) -> Vec<(String, &Value)> {
    let name = |input: &Value| input["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    report["inputs"].as_array().unwrap().iter().map(|input| (name(input), input)).collect()
}

fn names(served: &Served) -> BTreeSet<String> {
    served.logs.iter().map(|log| format!("{}.log", log.name)).collect()
}

#[test]
fn every_log_that_the_configuration_names_is_read_with_what_it_was_rotated_to() {
    for served in served("configurations of real servers") {
        let old = served.rig.path("log/combined.log.1");
        fs::copy(served.rig.path("log/combined.log"), &old).unwrap();
        fs::write(served.rig.path("log/unnamed.log"), "").unwrap();
        let (run, report) = served.rig.json([served.flag()]);
        let inputs = inputs(&report);
        let found: BTreeSet<_> = inputs.iter().map(|(name, _)| name.clone()).collect();
        let mut expected = names(&served);
        expected.insert("combined.log.1".to_owned());
        assert_eq!(found, expected, "{}: {}", served.server, run.stderr);
        for (name, input) in &inputs {
            assert_eq!(input["lines"], requests::ALL, "{name}");
        }
        let left = if served.server == "nginx" { "syslog:server=127.0.0.1:9" } else { "piped to `|/bin/cat`" };
        assert!(run.stderr.contains(left) && run.stderr.contains("left alone"), "{}", run.stderr);
        assert!(!served.rig.run(["scan", "-q", &served.flag()]).stderr.contains("left alone"));
    }
}

#[test]
fn a_report_and_a_follower_read_them_too() {
    for served in served("report of a configuration") {
        let run = served.rig.run(["report", "--state", "state", "--out", "out", &served.flag()]);
        // What is in a format that no one knows is for `scan` to say; here the logs are what counts.
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
        assert!(!run.stderr.contains("left alone"), "cron would mail it: {}", run.stderr);
        let status = served.rig.run(["report", "--state", "state", "--status", &served.flag()]);
        for name in names(&served) {
            assert!(status.text().contains(&name), "{name}: {}", status.text());
        }
        assert!(status.stderr.contains("left alone"), "{}", status.stderr);
    }
}

#[test]
fn a_log_that_is_not_there_is_said_and_one_that_is_is_read() {
    for served in served("a log that is gone") {
        for log in served.logs.iter().filter(|log| log.name != "combined") {
            fs::remove_file(&log.path).unwrap();
        }
        let (run, report) = served.rig.json([served.flag()]);
        assert_eq!((run.code, inputs(&report).len()), (0, 1), "{}", run.stderr);
        assert!(run.stderr.contains("not there yet; left out"), "{}", run.stderr);
        fs::remove_file(&served.log("combined").path).unwrap();
        let run = served.rig.run(["scan", &served.flag()]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("combined.log: no such file"), "{}", run.stderr);
    }
}

#[test]
fn a_configuration_that_is_wrong_is_refused_with_its_line() {
    let rig = crate::rig::Rig::new();
    rig.file("nginx.conf", "http {\n  access_log a.log \u{1b}main;\n}\n");
    rig.file("apache.conf", "\nInclude gone.conf\n");
    rig.file("access.log", crate::rig::log(10));
    for (flag, part) in [
        ("--from-nginx=nginx.conf", r"nginx.conf:2: no log_format in what was read is called '\x1bmain'"),
        ("--from-apache=apache.conf", "apache.conf:2: includes gone.conf, which cannot be read"),
        ("--from-nginx=access.log", "access.log:1: a directive that no ';' ends"),
        ("--from-nginx=gone.conf", "gone.conf: cannot read the configuration"),
    ] {
        let run = rig.run(["scan", flag]);
        assert!(run.code == 2 && run.stderr.contains(part), "{flag}: {}", run.stderr);
    }
}
