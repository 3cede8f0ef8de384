//! Alerts for answered probes: when they are raised, when they are withdrawn, and where they are
//! sent.

use std::fs::OpenOptions;
use std::io::Write as _;

use rustix::process::Signal;
use serde_json::Value;

use super::actions::{objects, socket};
use super::follower::Follower;
use crate::harness::{Harness, line, sized};

/// Follows an empty `access.log` with alerts in a file and these arguments.
fn follow(harness: &Harness, args: &[&str]) -> Follower {
    harness.file("access.log", "");
    let all = [
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--alert-file",
        "alerts",
        "access.log",
    ];
    Follower::start(&mut harness.command(all.iter().chain(args)))
}

fn append(harness: &Harness, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// A request at a minute of the log.
fn get(minute: u32, client: &str, path: &str, status: u16) -> String {
    line(client, &format!("GET {path} HTTP/1.1"), status).replace(
        ":08:01:00 ",
        &format!(":{:02}:{:02}:00 ", 8 + minute / 60, minute % 60),
    )
}

/// Kind and path of each alert.
fn kinds(harness: &Harness) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    objects(&harness.path("alerts"))
        .iter()
        .map(|alert| (text(&alert["kind"]), text(&alert["path"])))
        .collect()
}

fn answered(path: &str) -> (String, String) {
    ("answered".to_owned(), path.to_owned())
}

/// Probes of many products that get a page of one size.
fn soft_404s(minute: u32) -> String {
    let paths = [
        "/.git/config",
        "/c99.php",
        "/phpinfo.php",
        "/server-status",
        "/.aws/credentials",
        "/backup.sql",
        "/actuator/env",
    ];
    paths
        .iter()
        .enumerate()
        .map(|(n, path)| sized(&get(minute, &format!("198.51.100.{n}"), path, 200), 948))
        .collect()
}

#[test]
fn three_leaks_of_a_fresh_log_raise_three_alerts() {
    let harness = Harness::new();
    let follower = follow(&harness, &[]);
    for (client, path) in [
        ("192.0.2.1", "/.git/config"),
        ("198.51.100.1", "/.env"),
        ("203.0.113.1", "/backup.zip"),
    ] {
        append(&harness, &get(0, client, path, 200));
    }
    append(
        &harness,
        &(0..40)
            .map(|n| get(1, "203.0.113.9", &format!("/{n}/.env"), 404))
            .collect::<String>(),
    );
    append(&harness, &get(2, "203.0.113.9", "/backup.sql", 404));
    follower.until_process("all hits", |follower| follower.hits() >= 44);
    follower.end();
    let mut raised = kinds(&harness);
    raised.retain(|(kind, _)| kind != "probing");
    raised.sort();
    assert_eq!(
        raised,
        ["/.env", "/.git/config", "/backup.zip"].map(answered)
    );
}

/// Every target of alerts gets the withdrawal, with the ID of the alert.
#[test]
fn a_false_alert_is_withdrawn_everywhere() {
    let harness = Harness::new();
    let syslog = socket(&harness.path("syslog"));
    let hook = harness.file(
        "hook",
        "#!/bin/sh\nexec cat >> \"$(dirname \"$0\")/given\"\n",
    );
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let follower = follow(&harness, &["--syslog=syslog", "--exec", "./hook"]);
    append(&harness, &sized(&get(0, "192.0.2.1", "/.env", 200), 948));
    append(&harness, &get(2, "192.0.2.2", "/about", 200));
    follower.until_process("the alert", |_| kinds(&harness) == [answered("/.env")]);
    append(&harness, &soft_404s(3));
    follower.until_process("the withdrawal", |_| kinds(&harness).len() == 2);
    let output = follower.end();
    let alerts = objects(&harness.path("alerts"));
    assert_eq!(
        (&alerts[1]["kind"], &alerts[1]["path"]),
        (&"withdrawn".into(), &"/.env".into())
    );
    assert_eq!(
        (&alerts[1]["id"], &alerts[1]["severity"]),
        (&alerts[0]["id"], &alerts[0]["severity"])
    );
    assert_eq!(
        alerts[0]["id"],
        output
            .hits
            .iter()
            .find(|hit| hit.0["path"] == "/.env")
            .unwrap()
            .0["id"]
    );
    assert_eq!(objects(&harness.path("given")), alerts, "the program");
    let text = output
        .notices
        .lines()
        .find(|line| line.starts_with("WITHDRAWN critical: "))
        .unwrap_or_else(|| panic!("{}", output.notices));
    read_until_contains(&syslog, text);
}

/// Reads messages until one contains a line.
fn read_until_contains(socket: &std::os::unix::net::UnixDatagram, text: &str) {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let length = socket
            .recv(&mut bytes)
            .unwrap_or_else(|error| panic!("no message with {text}: {error}"));
        if String::from_utf8_lossy(&bytes[..length]).contains(text) {
            return;
        }
    }
}

/// For people, it is a line of its own.
#[test]
fn a_withdrawal_is_a_line() {
    let harness = Harness::new();
    harness.file("access.log", sized(&get(0, "192.0.2.1", "/.env", 200), 948));
    let follower = Follower::start(&mut harness.command(["follow", "--from-start", "access.log"]));
    follower.until_process("the hit", |follower| follower.lines() > 0);
    follower.signal(Signal::USR1);
    // A signal settles what waits; the summary follows it.
    follower.until_process("the summary", |follower| follower.lines() > 3);
    append(&harness, &soft_404s(3));
    let output = follower.end();
    let of_env = |word: &str| {
        output
            .other
            .iter()
            .position(|line| line.contains(word) && line.contains("/.env"))
    };
    let (raised, withdrawn) = (of_env("ALERT"), of_env("WITHDRAWN"));
    assert!(
        raised.is_some() && raised < withdrawn,
        "{:#?}",
        output.other
    );
}

/// A dumped repository and the routes of one service are two leaks, however many of their files
/// were sent; a second client that takes more of one is an alert once a day.
#[test]
fn a_leak_raises_one_alert() {
    let harness = Harness::new();
    let follower = follow(&harness, &[]);
    let files = [
        "HEAD",
        "config",
        "index",
        "objects/00/47e92b7d0b1c5a1d5f8e0f4b6c7a8d9e0f1a2b",
        "logs/HEAD",
    ];
    let dump = |minute, client: &str| -> String {
        files
            .iter()
            .zip(10..)
            .map(|(file, bytes)| {
                sized(
                    &get(minute, client, &format!("/.git/{file}"), 200),
                    bytes * 17,
                )
            })
            .collect()
    };
    append(&harness, &dump(0, "192.0.2.1"));
    append(
        &harness,
        &(0..9)
            .map(|n| get(1, "192.0.2.1", &format!("/{n}/.env"), 404))
            .collect::<String>(),
    );
    append(
        &harness,
        &["env", "heapdump", "mappings"]
            .map(|name| get(2, "192.0.2.1", &format!("/actuator/{name}"), 200))
            .concat(),
    );
    append(&harness, &dump(3, "198.51.100.1"));
    append(&harness, &dump(4, "203.0.113.1"));
    follower.until_process("all hits", |follower| follower.hits() >= 27);
    follower.end();
    let mut raised = kinds(&harness);
    raised.retain(|(kind, _)| kind != "probing");
    let of_kind = |wanted: &str| raised.iter().filter(|(kind, _)| kind == wanted).count();
    assert_eq!(
        (of_kind("answered"), of_kind("answered_again"), raised.len()),
        (2, 1, 3),
        "{raised:?}"
    );
}

/// A service below a folder answers anything there, and the rest of the site refuses. Until one of
/// its finds is proven or withdrawn, others that no refusal supports raise no alert, and none after
/// that.
#[test]
fn a_site_raises_one_false_alert_at_most() {
    let harness = Harness::new();
    let follower = follow(&harness, &[]);
    let paths = [
        "/v2/.env",
        "/api/v1/phpinfo.php",
        "/gw/.aws/credentials",
        "/x/y/wp-config.php.bak",
        "/portal/id_rsa",
    ];
    for (minute, path) in (0..).zip(paths) {
        append(
            &harness,
            &(sized(
                &get(10 * minute, "192.0.2.1", path, 200),
                39 + u64::from(minute) * 71,
            )),
        );
        append(
            &harness,
            &get(10 * minute + 5, "192.0.2.1", "/c99.php", 404),
        );
        follower.until_process("the hits", |follower| {
            follower.hits() >= 2 * minute as usize + 2
        });
    }
    append(&harness, &get(55, "192.0.2.9", "/about", 200));
    follower.until_process("an alert", |_| !kinds(&harness).is_empty());
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(kinds(&harness), [answered("/v2/.env")]);
    follower.end();
}

#[test]
fn a_later_client_alerts_once_a_day() {
    let harness = Harness::new();
    let follower = follow(&harness, &[]);
    for (minute, client) in [
        (0, "192.0.2.1"),
        (10, "192.0.2.1"),
        (20, "198.51.100.1"),
        (30, "203.0.113.1"),
    ] {
        append(&harness, &get(minute, client, "/.env", 200));
    }
    append(
        &harness,
        &get(40, "203.0.113.1", "/.env", 200).replace("02/Nov", "03/Nov"),
    );
    follower.until_process("all hits", |follower| follower.hits() == 5);
    follower.end();
    let again = ("answered_again".to_owned(), "/.env".to_owned());
    assert_eq!(kinds(&harness), [answered("/.env"), again.clone(), again]);
    let clients: Vec<Value> = objects(&harness.path("alerts"))
        .into_iter()
        .map(|alert| alert["client"].clone())
        .collect();
    assert_eq!(clients, ["192.0.2.1", "198.51.100.1", "203.0.113.1"]);
}

/// Starts a run that continues from the state of the last one.
fn resume(harness: &Harness, args: &[&str]) -> Follower {
    let all = [
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--alert-file",
        "alerts",
        "--state",
        "state",
        "access.log",
    ];
    Follower::start(&mut harness.command(all.iter().chain(args)))
}

/// The saved state.
fn state(harness: &Harness) -> String {
    std::fs::read_to_string(harness.path("state/follow.json")).unwrap_or_default()
}

/// The run that raised an alert is not the one that withdraws it.
#[test]
fn a_restart_repeats_no_alert_and_withdraws_earlier_ones() {
    for is_killed in [false, true] {
        let harness = Harness::new();
        harness.file(
            "access.log",
            sized(&get(0, "192.0.2.1", "/.env", 200), 948) + &get(2, "192.0.2.2", "/about", 200),
        );
        let first = resume(&harness, &[]);
        first.until_process("the alert", |_| kinds(&harness) == [answered("/.env")]);
        first.until_process("its state", |_| state(&harness).contains("\"finds\""));
        if is_killed {
            first.kill()
        } else {
            first.end()
        };
        let second = resume(&harness, &[]);
        append(
            &harness,
            &(sized(&get(3, "192.0.2.1", "/.env", 200), 948) + &get(5, "192.0.2.2", "/about", 200)),
        );
        second.until_process("the hit", |follower| follower.hits() == 1);
        second.signal(Signal::USR1);
        append(&harness, &soft_404s(6));
        second.until_process("the withdrawal", |_| kinds(&harness).len() == 2);
        second.end();
        let alerts = objects(&harness.path("alerts"));
        let fields = ["kind", "path", "client", "severity", "id", "sample"];
        let of_alert = |number: usize| fields.map(|field| alerts[number][field].clone());
        let [kind, rest @ ..] = of_alert(1);
        assert_eq!(
            (kind, &rest[..], alerts.len()),
            ("withdrawn".into(), &of_alert(0)[1..], 2),
            "{alerts:#?}"
        );
    }
}

/// The state has the request as the alert shows it: no secret, no agent, and with hidden clients no
/// address.
#[test]
fn a_find_that_waits_alerts_after_a_restart() {
    for (args, client) in [(&[][..], "192.0.2.1"), (&["--anonymize"], "192.0.2.0/24")] {
        let harness = Harness::new();
        harness.file(
            "access.log",
            get(0, "192.0.2.1", "/.env?api_key=s3cr3t-k3y-0f-this-t3st", 200),
        );
        let first = resume(&harness, args);
        first.until_process("its state", |_| state(&harness).contains("/.env"));
        let text = state(&harness);
        assert!(
            !text.contains("s3cr3t") && !text.contains("Mozilla"),
            "{text}"
        );
        assert_eq!(text.contains("\"192.0.2.1\""), args.is_empty(), "{text}");
        let hits = first.kill().hits;
        assert!(!harness.path("alerts").exists() || kinds(&harness).is_empty());
        let second = resume(&harness, args);
        append(&harness, &get(2, "192.0.2.2", "/about", 200));
        second.until_process("the alert", |_| kinds(&harness) == [answered("/.env")]);
        second.end();
        let alerts = objects(&harness.path("alerts"));
        assert_eq!(
            (alerts.len(), &alerts[0]["id"], &alerts[0]["client"]),
            (1, &hits[0].0["id"], &client.into()),
            "{alerts:#?}"
        );
    }
}

#[test]
fn medium_answers_alert_if_requested() {
    for (args, expected) in [
        (&[][..], &["/.env"][..]),
        (
            &["--alert-severity", "medium"],
            &["/server-status", "/.env"],
        ),
    ] {
        let harness = Harness::new();
        let follower = follow(&harness, args);
        append(
            &harness,
            &(get(0, "192.0.2.1", "/server-status", 200) + &get(1, "192.0.2.1", "/.env", 200)),
        );
        follower.until_process("both hits", |follower| follower.hits() == 2);
        follower.end();
        assert_eq!(
            kinds(&harness),
            expected
                .iter()
                .map(|path| answered(path))
                .collect::<Vec<_>>()
        );
    }
}
