//! Which files are read, and in which order: rotated logs, `--newer-than`, and logs that are
//! completely outside `--since` and `--until`.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::harness::{Harness, Run, finish, line};
use crate::invariants::gzip;

/// 2026-11-01T00:00:00Z.
const FIRST: u64 = 1_793_491_200;
const DAY: u64 = 86_400;

/// A probe at noon of a day of November.
fn probe(day: u64) -> String {
    line(&format!("192.0.2.{day}"), "GET /.git/config HTTP/1.1", 404).replace(
        "02/Nov/2026:08:01:00",
        &format!("{day:02}/Nov/2026:12:00:00"),
    )
}

fn set_modified(harness: &Harness, name: &str, time: SystemTime) {
    File::open(harness.path(name))
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// The end of a day of November.
fn end_of(day: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(FIRST + day * DAY)
}

/// A log and its rotated files, each last written at the end of its day: the 20th, the 18th, the
/// 10th and the 5th.
fn rotated() -> Harness {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    for (name, day) in [
        ("access.log", 20),
        ("access.log.1", 18),
        ("access.log.2.gz", 10),
        ("access.log.10.gz", 5),
    ] {
        let text = probe(day).repeat(3);
        let compressed = name.ends_with("gz");
        harness.file(
            format!("logs/{name}"),
            if compressed {
                gzip(text.as_bytes())
            } else {
                text.into_bytes()
            },
        );
        set_modified(&harness, &format!("logs/{name}"), end_of(day));
    }
    harness
}

/// Inputs and why they were skipped.
type Skipped = &'static [(&'static str, &'static str)];

fn inputs(report: &Value) -> Vec<&str> {
    report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| input["path"].as_str().unwrap())
        .collect()
}

/// The skipped inputs and the reasons.
fn skipped(report: &Value) -> Vec<(&str, &str)> {
    let inputs = report["inputs"].as_array().unwrap().iter();
    inputs
        .filter_map(|input| {
            Some((
                input["path"].as_str()?.trim_start_matches("logs/"),
                input["skipped_whole"].as_str()?,
            ))
        })
        .collect()
}

#[test]
fn rotated_logs_are_read_oldest_first() {
    let harness = rotated();
    harness.file("logs/api.log", probe(1));
    let oldest_first = [
        "access.log.10.gz",
        "access.log.2.gz",
        "access.log.1",
        "access.log",
        "api.log",
    ]
    .map(|name| format!("logs/{name}"));
    let shell = [
        "logs/access.log",
        "logs/access.log.1",
        "logs/access.log.10.gz",
        "logs/access.log.2.gz",
        "logs/api.log",
    ];
    for args in [
        &["logs"][..],
        &["logs/*"],
        &shell,
        &["logs/access.log.2.gz", "logs"],
    ] {
        let (run, report) = harness.json(args);
        assert_eq!(
            (run.code, inputs(&report)),
            (0, oldest_first.each_ref().map(String::as_str).to_vec()),
            "{args:?}: {}",
            run.stderr
        );
    }
    let hits = harness.run(["scan", "-f", "ndjson", "logs"]);
    let days: Vec<_> = hits
        .objects()
        .iter()
        .map(|hit| hit["time"].as_str().unwrap()[8..10].to_owned())
        .collect();
    assert_eq!(
        days,
        [
            "05", "05", "05", "10", "10", "10", "18", "18", "18", "20", "20", "20", "01"
        ]
    );
    for threads in ["1", "4"] {
        assert_eq!(
            harness
                .run(["scan", "-f", "ndjson", "-j", threads, "logs"])
                .stdout,
            hits.stdout
        );
    }
}

#[test]
fn logs_with_dates_in_their_names_are_sorted_before_the_current_log() {
    let harness = Harness::new();
    for name in [
        "access.log",
        "access.log-20261102",
        "access.log-20261101.gz",
        "access-20261103.log",
        "b.log.1",
    ] {
        harness.file(name, probe(2));
    }
    let (_, report) = harness.json([
        "access.log",
        "access.log-20261102",
        "access.log-20261101.gz",
        "access-20261103.log",
    ]);
    assert_eq!(
        inputs(&report),
        [
            "access.log-20261101.gz",
            "access.log-20261102",
            "access-20261103.log",
            "access.log"
        ]
    );
    let (_, report) = harness.json([
        "access.log",
        "b.log.1",
        "access.log-20261102",
        "access.log-20261101.gz",
    ]);
    assert_eq!(
        inputs(&report),
        [
            "access.log-20261101.gz",
            "access.log-20261102",
            "access.log",
            "b.log.1"
        ]
    );
}

#[test]
fn older_files_are_left_out_and_listed() {
    let harness = rotated();
    for (name, days) in [
        ("access.log", 0),
        ("access.log.1", 1),
        ("access.log.2.gz", 3),
        ("access.log.10.gz", 9),
    ] {
        set_modified(
            &harness,
            &format!("logs/{name}"),
            SystemTime::now() - Duration::from_secs(days * DAY),
        );
    }
    let all = [
        "logs/access.log",
        "logs/access.log.1",
        "logs/access.log.2.gz",
        "logs/access.log.10.gz",
    ];
    for paths in [&["logs"][..], &all] {
        let (run, report) = harness.json([&["--newer-than", "2d"], paths].concat());
        assert_eq!(
            (run.code, inputs(&report)),
            (0, vec!["logs/access.log.1", "logs/access.log"])
        );
        assert!(
            run.stderr
                .contains("note: 2 files older than 2d left out: logs/access.log."),
            "{}",
            run.stderr
        );
    }
    assert_eq!(
        harness
            .run(["scan", "-q", "--newer-than", "36h", "logs"])
            .stderr,
        ""
    );
    let run = finish(
        harness
            .command(["scan", "-f", "json", "logs"])
            .env("PROBEWATCH_NEWER_THAN", "100h"),
    );
    assert_eq!(inputs(&run.json()).len(), 3);
    harness.file("own.toml", "newer-than = 2026-11-01\n");
    set_modified(
        &harness,
        "logs/access.log.1",
        UNIX_EPOCH + Duration::from_secs(FIRST - 2 * DAY),
    );
    let run = harness.run(["learn", "--config", "own.toml", "logs/access.log.1"]);
    assert!(
        run.stderr.contains(
            "1 file older than 2026-11-01 left out: logs/access.log.1; no other file was found"
        ),
        "{}",
        run.stderr
    );
    assert_eq!(run.code, 0);
}

#[test]
fn leaving_out_all_files_is_no_error() {
    let harness = rotated();
    let (run, report) = harness.json(["--newer-than", "2099-01-01", "logs"]);
    assert_eq!((run.code, inputs(&report).len()), (0, 0));
    assert!(
        run.stderr
            .starts_with("note: 4 files older than 2099-01-01 left out: "),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains(" and 1 more; no other file was found: ")
            && !run.stderr.contains("error"),
        "{}",
        run.stderr
    );
    let run = harness.run(["scan", "--newer-than", "last week", "logs"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("--newer-than") && run.stderr.contains("24h"),
        "{}",
        run.stderr
    );
}

#[test]
fn standard_input_and_pipes_are_never_too_old() {
    let harness = Harness::new();
    let run = harness.run_with_stdin(
        ["scan", "-f", "json", "--newer-than", "2099-01-01", "-"],
        probe(2).as_bytes(),
    );
    assert_eq!(run.json()["totals"]["lines"], 1);
}

/// The rows of a report, without its inputs.
fn rows(report: &Value) -> Vec<&Value> {
    ["pairs", "clients", "paths", "rules", "answered"]
        .iter()
        .map(|rows| &report[rows])
        .collect()
}

#[test]
fn logs_outside_the_time_range_are_skipped_without_losing_hits() {
    const BEFORE: &str = "before_since";
    const AFTER: &str = "after_until";
    let (harness, copied) = (rotated(), rotated());
    for name in [
        "access.log",
        "access.log.1",
        "access.log.2.gz",
        "access.log.10.gz",
    ] {
        // Only the end of a copied log shows its time; rotated logs are read.
        set_modified(&copied, &format!("logs/{name}"), end_of(25));
        fs::create_dir(copied.path(format!("logs/{name}.d"))).unwrap();
        fs::rename(
            copied.path(format!("logs/{name}")),
            copied.path(format!("logs/{name}.d/{name}")),
        )
        .unwrap();
    }
    let cases: [(&[&str], Skipped); 6] = [
        (
            &["--since", "2026-11-12"],
            &[("access.log.10.gz", BEFORE), ("access.log.2.gz", BEFORE)],
        ),
        (
            &["--since", "2026-11-11T15:00:00Z"],
            &[("access.log.10.gz", BEFORE)],
        ),
        (
            &["--until", "2026-11-17"],
            &[("access.log.1", AFTER), ("access.log", AFTER)],
        ),
        (
            &["--until", "2026-11-18T06:00:00Z"],
            &[("access.log", AFTER)],
        ),
        (
            &["--since", "2026-11-08", "--until", "2026-11-12"],
            &[
                ("access.log.10.gz", BEFORE),
                ("access.log.1", AFTER),
                ("access.log", AFTER),
            ],
        ),
        (
            &["--since", "2026-11-01", "--until", "2026-11-20T13:00:00Z"],
            &[],
        ),
    ];
    for (window, expected) in cases {
        let (run, report) = harness.json([window, &["logs"]].concat());
        assert_eq!(
            (run.code, skipped(&report)),
            (0, expected.to_vec()),
            "{window:?}: {}",
            run.stderr
        );
        assert_eq!(inputs(&report).len(), 4);
        assert_eq!(
            run.stderr.contains("skipped unread"),
            !expected.is_empty(),
            "{}",
            run.stderr
        );
        for input in report["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|input| !input["skipped_whole"].is_null())
        {
            assert_eq!(
                (&input["lines"], &input["bytes"], &input["problem"]),
                (&0.into(), &0.into(), &Value::Null)
            );
        }
        let (_, read) = copied.json([window, &["logs"]].concat());
        let strip = |rows: Vec<&Value>| {
            rows.iter()
                .map(|row| without_sources(row))
                .collect::<Vec<_>>()
        };
        assert_eq!(strip(rows(&report)), strip(rows(&read)), "{window:?}");
    }
}

/// Rows without the names of files.
fn without_sources(row: &Value) -> Value {
    let mut row = row.clone();
    for row in row.as_array_mut().unwrap() {
        row["sample"]["source"] = Value::Null;
    }
    row
}

#[test]
fn skipped_logs_are_reported_in_every_format() {
    let harness = rotated();
    let window = ["--since", "2026-11-08", "--until", "2026-11-12"];
    let table = harness.run([&["scan", "--full"], &window[..], &["logs"]].concat());
    assert!(
        table.text().contains("3 inputs were skipped unread"),
        "{}",
        table.text()
    );
    assert_eq!(table.text().matches("  not read\n").count(), 3);
    for notice in [
        "note: 1 input skipped unread, last written before --since: logs/access.log.10.gz\n",
        "note: 2 inputs skipped unread, begin after --until: logs/access.log.1, logs/access.log\n",
    ] {
        assert!(table.stderr.contains(notice), "{}", table.stderr);
    }
    let learnt = harness.run([&["learn"], &window[..], &["logs"]].concat());
    assert!(
        learnt.text().contains("3 inputs were skipped unread"),
        "{}",
        learnt.text()
    );
    assert_eq!(learnt.stderr, table.stderr);
    assert_eq!(
        harness
            .run([&["scan", "-q"], &window[..], &["logs"]].concat())
            .stderr,
        ""
    );
    let json = harness.run(
        [
            &["scan", "-f", "json", "-o", "a.json"],
            &window[..],
            &["logs"],
        ]
        .concat(),
    );
    assert_eq!(json.code, 0);
    let merged = harness.run(["merge", "-f", "json", "a.json"]).json();
    assert_eq!(skipped(&merged).len(), 3);
    // Everything that one of two reports has read was read.
    harness.run(["scan", "-f", "json", "-o", "b.json", "logs"]);
    assert_eq!(
        skipped(
            &harness
                .run(["merge", "-f", "json", "a.json", "b.json"])
                .json()
        ),
        []
    );
}

#[test]
fn logs_without_usable_times_are_read() {
    let harness = Harness::new();
    for (name, text, modified) in [
        ("future.log", probe(30), end_of(1)),
        ("copied.log", probe(1), SystemTime::now()),
        ("image.log", probe(1), UNIX_EPOCH),
        ("later.log", probe(1), end_of(900)),
    ] {
        harness.file(name, text);
        set_modified(&harness, name, modified);
    }
    let (run, report) = harness.json([
        "--since",
        "2026-11-10",
        "future.log",
        "image.log",
        "later.log",
    ]);
    assert_eq!(
        (
            skipped(&report),
            &report["totals"]["lines"],
            &report["totals"]["hits"]
        ),
        (vec![], &3.into(), &1.into()),
        "{}",
        run.stderr
    );
    // A log by itself, or among unrelated logs, may contain earlier lines after a late start.
    harness.file("joined.log", probe(20) + &probe(1));
    let (_, report) = harness.json(["--until", "2026-11-05", "joined.log", "copied.log"]);
    assert_eq!(
        (skipped(&report), &report["totals"]["hits"]),
        (vec![], &2.into())
    );
}

#[test]
fn files_that_are_no_logs_are_skipped_at_any_age() {
    let harness = rotated();
    harness.file("logs/photo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".repeat(8));
    harness.file("logs/logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".repeat(8));
    harness.file("logs/access.log.3.gz", b"\x1f\x8b\x08\0");
    for name in ["logs/photo.png", "logs/logo.png", "logs/access.log.3.gz"] {
        set_modified(&harness, name, end_of(1));
    }
    let (run, report) = harness.json(["--since", "2026-11-15", "logs"]);
    for name in ["photo.png", "logo.png"] {
        let is_input = inputs(&report).iter().any(|input| input.ends_with(name));
        assert!(
            !is_input && run.stderr.contains(&format!("{name}: skipped")),
            "{}",
            run.stderr
        );
    }
    // A damaged one must be reported.
    assert_eq!((run.code, skipped(&report).len()), (3, 2));
    assert!(
        run.stderr.contains("error: logs/access.log.3.gz: "),
        "{}",
        run.stderr
    );
}

/// Asserts that nothing was found, and that a hint was printed.
fn assert_absent(run: &Run, what: &str) {
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains(what), "{}", run.stderr);
    assert!(
        run.stderr.ends_with("from the server's configuration\n")
            && run.stderr.contains("hint: --from-nginx"),
        "{}",
        run.stderr
    );
}

#[test]
fn without_an_access_log_a_hint_is_printed() {
    const ERROR: &str = "2026/11/02 08:01:00 [error] 1#1: *1 open() \"/x\" failed (2: No such file or directory), client: 192.0.2.1\n";
    let harness = Harness::new();
    for folder in ["empty/deeper", "errors", "one", "pictures"] {
        fs::create_dir_all(harness.path(folder)).unwrap();
    }
    for name in ["errors/error.log", "errors/error.log.1", "one/error.log"] {
        harness.file(name, ERROR);
    }
    for name in ["pictures/a.png", "pictures/b.png"] {
        harness.file(name, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n");
    }
    for command in ["scan", "learn"] {
        assert_absent(
            &harness.run([command, "empty"]),
            "error: no access log was found: the given paths contain no file\n",
        );
        assert_absent(
            &harness.run([command, "-q", "empty"]),
            "error: no access log was found",
        );
        assert_absent(
            &harness.run([command, "errors"]),
            "error: none of the 2 files in the given paths is an access log; give the path of one",
        );
        assert_absent(
            &harness.run([command, "one", "empty"]),
            "error: the only file in the given paths is not an access log; give its path",
        );
        assert_absent(
            &harness.run([command, "pictures"]),
            "error: none of the 2 files in the given paths is an access log",
        );
        let run = harness.run([command, "pictures/*.png"]);
        assert!(
            run.code == 3
                && run
                    .stderr
                    .contains("error: pictures/b.png: is a PNG picture, not a log\n"),
            "{}",
            run.stderr
        );
    }
    // One log is enough.
    harness.file("pictures/access.log", probe(2));
    let run = harness.run(["scan", "pictures", "empty"]);
    assert_eq!(run.code, 0);
    assert!(
        !run.stderr.contains("hint: ") && !run.stderr.contains("error: "),
        "{}",
        run.stderr
    );
}

/// D13.
#[test]
fn links_may_be_broken_or_leave_the_folder() {
    let harness = Harness::new();
    for folder in ["logs", "pods"] {
        fs::create_dir(harness.path(folder)).unwrap();
    }
    harness.file("pods/0.log", probe(1));
    harness.file("pods/1.log", probe(2));
    symlink("../pods/0.log", harness.path("logs/access.log")).unwrap();
    symlink("../pods/gone.log", harness.path("logs/dangling.log")).unwrap();
    for found in ["logs", "logs/*.log"] {
        let (run, report) = harness.json([found]);
        assert_eq!(
            (run.code, inputs(&report)),
            (0, vec!["logs/access.log"]),
            "{found}"
        );
        assert!(
            run.stderr
                .contains("logs/dangling.log is a dangling link; skipped"),
            "{}",
            run.stderr
        );
    }
    let (run, report) = harness.json(["logs/access.log", "logs/dangling.log"]);
    assert_eq!((run.code, &report["totals"]["hits"]), (3, &1.into()));
    assert!(
        run.stderr
            .contains("error: logs/dangling.log: is a dangling link\n"),
        "{}",
        run.stderr
    );
    fs::remove_file(harness.path("logs/access.log")).unwrap();
    symlink("../pods/1.log", harness.path("logs/access.log")).unwrap();
    assert_eq!(
        harness.json(["logs/access.log"]).1["clients"][0]["client"],
        "192.0.2.2"
    );
}

const ODD: &str = "at ten somebody sent GET /.git/config to us\n";
const NGINX_ERROR: &str = "2026/11/22 10:00:00 [error] 12#12: *3 open() \"/srv/.git/config\" failed, client: 192.0.2.7, request: \"GET /.git/config HTTP/1.1\"\n";
const APACHE_ERROR: &str = "[Sun Nov 22 10:00:00.123456 2026] [core:error] [pid 12] [client 192.0.2.7:5] AH00126: Invalid URI in request GET /.git/config HTTP/1.1\n";

/// Bytes that look random: the high bytes of a product.
fn random(bytes: u32) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn an_unparsed_access_log_in_a_folder_is_matched_like_a_given_file() {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    harness.file("logs/odd-access.log", ODD.repeat(3));
    harness.file("logs/access.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    let (named, by_name) = harness.json(["logs/odd-access.log", "logs/access.log"]);
    for target in ["logs", "logs/*.log"] {
        let (run, report) = harness.json([target]);
        assert_eq!(
            (run.code, &report["totals"]["hits"]),
            (named.code, &by_name["totals"]["hits"]),
            "{}",
            run.stderr
        );
        assert_eq!(report["totals"]["hits"], 3);
        assert_eq!(
            run.stderr
                .matches("odd-access.log: none of its 3 lines")
                .count(),
            1,
            "{}",
            run.stderr
        );
        let run = harness.run([
            "report",
            "--state",
            target.trim_end_matches("/*.log"),
            "--out",
            "out",
            "--dry-run",
            target,
        ]);
        assert!(
            run.stderr.matches("odd-access.log").count() <= 1,
            "{}",
            run.stderr
        );
    }
}

/// Its client program logs a request now and then, which is no line of an access log.
const LETSENCRYPT: &str = "\
2026-11-02 08:01:00,123:DEBUG:certbot._internal.main:certbot version: 2.9.0
2026-11-02 08:01:00,124:DEBUG:certbot._internal.main:Location of certbot entry point: /usr/bin/certbot
2026-11-02 08:01:00,125:DEBUG:certbot._internal.main:Arguments: ['--webroot-path', '/srv/www']
2026-11-02 08:01:00,126:DEBUG:certbot._internal.log:Root logging level set at 30
2026-11-02 08:01:00,127:DEBUG:certbot._internal.plugins.selection:Requested authenticator webroot and installer None
2026-11-02 08:01:00,128:DEBUG:certbot.ocsp:Querying OCSP for /etc/letsencrypt/archive/example.org/cert1.pem
2026-11-02 08:01:00,129:DEBUG:certbot._internal.storage:Should renew, less than 30 days before certificate expiry.
2026-11-02 08:01:00,130:INFO:certbot._internal.renewal:Certificate is due for renewal, auto-renewing...
2026-11-02 08:01:00,131:DEBUG:acme.client:Sending GET request to https://acme-v02.api.letsencrypt.org/directory.
2026-11-02 08:01:00,132:DEBUG:urllib3.connectionpool:https://acme-v02.api.letsencrypt.org:443 \"GET /directory HTTP/1.1\" 200 746
2026-11-02 08:01:00,133:DEBUG:acme.client:Received response:
HTTP 200
Server: nginx
";

/// Package managers, mail servers, source code and tables: whatever paths they have, no line of
/// them is a request.
#[test]
fn files_of_a_folder_that_are_no_access_logs_are_not_matched() {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    let others = [
        (
            "dpkg.log",
            "2026-11-02 08:01:00 status installed base-passwd:amd64 3.6.1\n",
        ),
        ("history.log", "Commandline: apt-get install -y nginx\n"),
        (
            "auth.log",
            "Nov  2 08:01:00 web sshd[12]: Invalid user admin from 203.0.113.9 port 4711\n",
        ),
        (
            "kern.log",
            "Nov  2 08:01:00 web kernel: [    0.000000] Linux version 6.1.0\n",
        ),
        (
            "mail.log",
            "Nov  2 08:01:00 web postfix/smtpd[9]: connect from unknown[203.0.113.9]\n",
        ),
        ("main.rs", "    let path = \"/etc/passwd\"; // GET /.env\n"),
        (
            "links.csv",
            "1,https://www.example.org/.git/config,2026-11-02\n",
        ),
        ("odd.log", ODD),
        (
            "journal.log",
            "Nov 02 08:01:00 web systemd[1]: Started /etc/init.d/nginx.\n",
        ),
        (
            "cron.log",
            "Nov  2 08:01:01 web CRON[4711]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)\n",
        ),
        (
            "fail2ban.log",
            "2026-11-02 08:01:00,123 fail2ban.actions        [612]: NOTICE  [nginx-botsearch] Ban 203.0.113.9\n",
        ),
        (
            "postgresql.log",
            "2026-11-02 08:01:00.123 UTC [4711] app@shop ERROR:  relation \"wp_users\" does not exist at character 15\n",
        ),
        (
            "mysql-slow.log",
            "# User@Host: app[app] @ localhost []  Id:    12\nSELECT * FROM wp_users WHERE id = 1 UNION SELECT password FROM users;\n",
        ),
        (
            "php-fpm.log",
            "[02-Nov-2026 08:01:00] WARNING: [pool www] child 4711 said into stderr: \"NOTICE: PHP message: /var/www/.env\"\n",
        ),
        ("letsencrypt.log", LETSENCRYPT),
        (
            "ufw.log",
            "Nov  2 08:01:00 web kernel: [ 12.345678] [UFW BLOCK] IN=eth0 OUT= SRC=203.0.113.9 DST=192.0.2.1 PROTO=TCP SPT=4711 DPT=23\n",
        ),
        (
            "package.json",
            "{\n  \"scripts\": { \"start\": \"node ./server.js\" },\n  \"repository\": \"https://github.example/shop/.git\"\n}\n",
        ),
        (
            ".bash_history",
            "curl -s http://192.0.2.1/.env\ncat /etc/passwd\nsudo tail -f /var/log/nginx/access.log\n",
        ),
        (
            "traceback.txt",
            "Traceback (most recent call last):\n  File \"/srv/app/views.py\", line 12, in get\n    return open(\"/etc/passwd\")\n",
        ),
        ("nginx-errors.log", NGINX_ERROR),
        ("apache-errors.log", APACHE_ERROR),
    ];
    assert!(others.len() > 20);
    for (name, line) in others {
        harness.file(format!("logs/{name}"), line.repeat(5));
    }
    harness.file(
        "logs/access.log",
        line("192.0.2.1", "GET /.env HTTP/1.1", 404),
    );
    let (run, report) = harness.json(["logs"]);
    assert_eq!(
        (
            run.code,
            &report["totals"]["hits"],
            run.stderr.lines().count()
        ),
        (0, &Value::from(1), 1),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .starts_with("note: 17 files are not access logs and were skipped"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_error_log_in_a_folder_is_not_matched() {
    for error in [NGINX_ERROR, APACHE_ERROR] {
        let harness = Harness::new();
        fs::create_dir(harness.path("logs")).unwrap();
        // With any name.
        harness.file("logs/site-access.log", error.repeat(3));
        harness.file(
            "logs/access.log",
            line("192.0.2.1", "GET /.env HTTP/1.1", 404),
        );
        for target in ["logs", "logs/*.log"] {
            let (run, report) = harness.json([target]);
            assert_eq!(
                (run.code, &report["totals"]["hits"]),
                (0, &Value::from(1)),
                "{target} {}",
                run.stderr
            );
            assert_eq!(
                run.stderr
                    .matches("site-access.log: skipped: a server's error log")
                    .count(),
                1,
                "{}",
                run.stderr
            );
            let run = harness.run(["report", "--state", "state", "--out", "out", target]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            let report = fs::read_to_string(harness.path("out/latest/report.json")).unwrap();
            let report: Value = serde_json::from_str(&report).unwrap();
            assert_eq!(report["totals"]["hits"], 1, "{target}");
            fs::remove_dir_all(harness.path("state")).unwrap();
            fs::remove_dir_all(harness.path("out")).unwrap();
        }
        let (_, report) = harness.json(["logs/site-access.log"]);
        assert_eq!(report["totals"]["hits"], 3, "typed");
    }
}

#[test]
fn a_configured_error_log_is_not_read() {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    let logs = harness.path("logs").display().to_string();
    // Not recognised from its lines: only the configuration shows that it is an error log.
    let conf = format!(
        "error_log {logs}/error.log warn;\nhttp {{\n  server {{ access_log {logs}/$host.log; }}\n}}\n"
    );
    harness.file("nginx.conf", conf);
    for name in ["logs/error.log", "logs/error.log.1"] {
        harness.file(name, ODD.replace("/.git/config", "/.env"));
    }
    harness.file("logs/other.log", NGINX_ERROR);
    harness.file(
        "logs/www.example.org.log",
        line("192.0.2.1", "GET /.env HTTP/1.1", 404),
    );
    let (run, report) = harness.json(["--from-nginx=nginx.conf"]);
    assert_eq!(
        (run.code, &report["totals"]["hits"]),
        (0, &Value::from(1)),
        "{}",
        run.stderr
    );
    for (name, what) in [
        ("error.log", "an error_log in the configuration"),
        ("error.log.1", "an error_log in the configuration"),
        ("other.log", "a server's error log"),
    ] {
        let notices = run
            .stderr
            .lines()
            .filter(|line| line.contains(&format!("logs/{name}: ")) && line.contains(what))
            .count();
        assert_eq!(notices, 1, "{name} {}", run.stderr);
    }
}

#[test]
fn binary_files_are_reported_and_not_matched() {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    let probes = [
        random(3000),
        b"\n".to_vec(),
        ODD.repeat(20).into_bytes(),
        random(3000),
    ]
    .concat();
    harness.file("logs/noise.log", &probes);
    let (run, report) = harness.json(["logs/noise.log"]);
    assert_eq!(
        (run.code, &report["totals"]["hits"]),
        (3, &Value::from(0)),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("logs/noise.log: is binary data, not a log")
            && !run.stderr.contains("--log-format"),
        "{}",
        run.stderr
    );
    let run = harness.run_with_stdin(["scan", "-f", "json", "-"], &probes);
    assert_eq!(
        (run.code, &run.json()["totals"]["hits"]),
        (3, &Value::from(0)),
        "{}",
        run.stderr
    );
    harness.file(
        "logs/access.log",
        line("192.0.2.1", "GET /.env HTTP/1.1", 404),
    );
    let (run, report) = harness.json(["logs"]);
    assert_eq!(
        (run.code, &report["totals"]["hits"]),
        (0, &Value::from(1)),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("logs/noise.log: skipped: binary data"),
        "{}",
        run.stderr
    );
    // Without escapes, a log may begin with bytes that a client sent.
    let raw = [
        random(300)
            .into_iter()
            .filter(|byte| !matches!(byte, 0 | b'\n'))
            .collect(),
        b"\n".to_vec(),
        ODD.into(),
    ]
    .concat();
    harness.file(
        "raw.log",
        [
            raw,
            line("192.0.2.1", "GET /.env HTTP/1.1", 404).into_bytes(),
        ]
        .concat(),
    );
    let (run, report) = harness.json(["--only", "vcs/git,dotfiles/env", "raw.log"]);
    assert_eq!(
        (run.code, &report["totals"]["hits"]),
        (3, &Value::from(2)),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("1 of 2 lines that match a rule are in no known format"),
        "{}",
        run.stderr
    );
    let run = harness.run([
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "logs/noise.log",
    ]);
    assert!(run.stderr.contains("binary data"), "{}", run.stderr);
    let report: Value = match fs::read(harness.path("out/latest/report.json")) {
        Ok(report) => serde_json::from_slice(&report).unwrap(),
        Err(_) => return,
    };
    assert_eq!(report["totals"]["hits"], 0);
}

#[test]
fn permission_denied_mentions_the_group_of_the_file() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    if !rustix::process::geteuid().is_root() || !crate::harness::is_installed("setpriv") {
        return crate::harness::skip("the group of a log", "needs root and setpriv");
    }
    let group = fs::read_to_string("/etc/group").unwrap();
    let adm = group
        .lines()
        .find_map(|line| line.strip_prefix("adm:x:")?.split(':').next()?.parse().ok());
    let Some(adm) = adm else {
        return crate::harness::skip("the group of a log", "there is no group adm");
    };
    let harness = Harness::new();
    fs::set_permissions(harness.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let program = harness.path("probewatch");
    fs::copy(crate::harness::EXE, &program).unwrap();
    fs::create_dir(harness.path("apache2")).unwrap();
    let files = [
        ("group.log", 0o640),
        ("owner.log", 0o600),
        ("apache2/access.log", 0o644),
        ("apache2", 0o750),
    ];
    for (name, mode) in files {
        if name != "apache2" {
            harness.file(name, line("192.0.2.1", "GET /.env HTTP/1.1", 404));
        }
        chown(harness.path(name), Some(0), Some(adm)).unwrap();
        fs::set_permissions(harness.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let scan = |groups: &[&str], log: &str| {
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534"])
            .args(groups)
            .arg(&program)
            .args(["scan", log])
            .current_dir(harness.path(""));
        finish(&mut command)
    };
    for log in ["group.log", "apache2/access.log", "apache2"] {
        let run = scan(&["--clear-groups"], log);
        assert!(
            run.code == 3 && run.stderr.contains(&format!("{log}: permission denied")),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("sudo usermod -aG adm nobody"),
            "{log} {}",
            run.stderr
        );
        assert_eq!(scan(&[&format!("--groups={adm}")], log).code, 0, "{log}");
    }
    let run = scan(&["--clear-groups"], "owner.log");
    assert!(
        run.code == 3 && !run.stderr.contains("usermod"),
        "{}",
        run.stderr
    );
}
