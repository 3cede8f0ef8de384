//! What an alert triggers (H11): a program, a file, the local syslog; and systemd notifications.
//!
//! The rule of these tests raises an alert at the third request of a client, with a hostile
//! request.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::follower::{DEADLINE, Follower, command};
use super::stage;
use crate::harness::{Harness, line, sized};

const RULES: &str = r#"family = "t"
title = "t"
[[rule]]
id = "t/counter"
title = "Too many requests"
class = "misconfig"
severity = "high"
paths = ["/counter"]
window = { by = "client", count = 3, within = "60s" }
must_match = []
must_not_match = []
"#;

/// Text that a shell, a terminal, an argument parser or syslog might interpret.
const HOSTILE: &str = r#"GET /counter?--help;$(touch${IFS}pwned)`touch pwned`|touch%20pwned&%0a%0d<34>1%20x'"\x22\x1b[2J HTTP/1.1"#;

/// A syslog socket.
pub(super) fn socket(path: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    socket
}

/// The next message, within the timeout.
fn message(socket: &UnixDatagram) -> String {
    let mut bytes = vec![0; 1 << 16];
    let start = Instant::now();
    loop {
        if let Ok(length) = socket.recv(&mut bytes) {
            return String::from_utf8(bytes[..length].to_vec()).unwrap();
        }
        assert!(start.elapsed() < DEADLINE, "no message");
    }
}

/// Reads messages until one has this line.
pub(super) fn read_until(socket: &UnixDatagram, line: &str) {
    let mut messages = Vec::new();
    while !messages
        .iter()
        .any(|message: &String| message.lines().any(|l| l == line))
    {
        messages.push(message(socket));
        assert!(messages.len() < 10_000, "no {line}: {messages:?}");
    }
}

/// A harness with the rule and an empty log.
fn harness() -> Harness {
    let harness = Harness::new();
    harness.file("rules.toml", RULES);
    harness.file("access.log", "");
    harness
}

/// Follows the log with the rule and these alert sinks.
fn act(harness: &Harness, actions: &[&str]) -> Follower {
    let args = [
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--no-builtin",
        "--rules",
        "rules.toml",
    ];
    Follower::start(&mut harness.command(args.iter().chain(actions).chain(&["access.log"])))
}

/// Three requests of a client, which raise one alert.
fn send_probes(harness: &Harness, client: &str) {
    let mut log = OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap();
    log.write_all(line(client, HOSTILE, 404).repeat(3).as_bytes())
        .unwrap();
}

/// A program that records its arguments and input, and ends after `lines` lines.
fn program(harness: &Harness, lines: &str) -> String {
    let here = harness.path("").display().to_string();
    let text = format!(
        "#!/bin/sh\ncd '{here}' || exit 1\necho \"$# $*\" >> argv\nenv > env\nn=0\nwhile [ $n -lt {lines} ] && IFS= read -r line; do\n\
         printf '%s\\n' \"$line\" >> given\nn=$((n + 1))\ndone\n"
    );
    let path = harness.file("hook", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path.display().to_string()
}

/// The complete lines of a file, as JSON.
pub(super) fn objects(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What every alert of these tests must contain in every sink.
fn assert_alert(alert: &Value, client: &str) {
    let text = alert.to_string();
    assert!(
        text.contains("t/counter") && text.contains(client) && text.contains("threshold"),
        "{text}"
    );
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

/// H11. One process for all alerts, without arguments and without a shell, and one line of JSON for
/// each alert.
#[test]
fn a_program_gets_alerts_on_its_input() {
    let harness = harness();
    let hook = program(&harness, "1000");
    let follower = act(&harness, &["--exec", &hook]);
    for (n, client) in ["192.0.2.1", "2001:db8::1"].into_iter().enumerate() {
        send_probes(&harness, client);
        follower.until_process("the program is given an alert", |_| {
            objects(&harness.path("given")).len() > n
        });
        assert_alert(&objects(&harness.path("given"))[n], client);
    }
    let output = follower.end();
    assert_eq!(
        fs::read_to_string(harness.path("argv")).unwrap(),
        "0 \n",
        "called once, without arguments"
    );
    assert!(
        !fs::read_to_string(harness.path("env"))
            .unwrap()
            .contains("/counter")
    );
    assert!(!harness.path("pwned").exists());
    assert_eq!(
        objects(&harness.path("given")).len(),
        2,
        "{}",
        output.notices
    );
    assert_eq!(output.other.len(), 0, "{:?}", output.other);
}

/// H11. A program that ends is restarted for the next alert; one that cannot be started stops
/// nothing.
#[test]
fn a_program_that_dies_is_restarted() {
    let harness = harness();
    let hook = program(&harness, "1");
    let follower = act(&harness, &["--exec", &hook]);
    let start = Instant::now();
    let mut clients = 0;
    // Input that a program got just before it ended is lost.
    while objects(&harness.path("given")).len() < 3 {
        clients += 1;
        send_probes(&harness, &format!("198.51.100.{}", clients % 250));
        std::thread::sleep(Duration::from_millis(200));
        assert!(start.elapsed() < DEADLINE, "{}", follower.notices());
    }
    follower.end();
    assert!(
        fs::read_to_string(harness.path("argv"))
            .unwrap()
            .lines()
            .count()
            >= 3
    );
}

/// H11.
#[test]
fn a_missing_program_is_an_error() {
    let harness = harness();
    let mut follower = act(
        &harness,
        &["--exec", "/nonexistent/hook", "--alert-file", "alerts"],
    );
    send_probes(&harness, "192.0.2.1");
    // An error at the start, or when an alert is raised: either way it is printed, and hits are
    // printed too.
    follower.until("a word on the program", |output| {
        output.notices.contains("/nonexistent/hook")
    });
}

/// H11. A program that does not read delays nothing.
#[test]
fn a_program_that_hangs_delays_nothing() {
    let harness = harness();
    let hook = harness.file("hook", "#!/bin/sh\nexec sleep 600\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).unwrap();
    let follower = act(
        &harness,
        &[
            "--exec",
            &hook.display().to_string(),
            "--alert-file",
            "alerts",
        ],
    );
    for n in 0..500_u32 {
        send_probes(&harness, &format!("10.1.{}.{}", n / 250, n % 250));
    }
    follower.until_process("all alerts in the file", |_| {
        objects(&harness.path("alerts")).len() == 500
    });
    let ended = follower.end_with(Signal::TERM);
    assert_eq!(ended.code(), 143, "{}", ended.output.notices);
}

#[test]
fn alerts_are_appended_to_a_file() {
    let harness = harness();
    harness.file("alerts", "{\"before\":1}\n");
    for (n, client) in ["192.0.2.1", "192.0.2.2"].into_iter().enumerate() {
        harness.file("access.log", "");
        let follower = act(&harness, &["--alert-file", "alerts"]);
        send_probes(&harness, client);
        follower.until_process("an alert in the file", |_| {
            objects(&harness.path("alerts")).len() == n + 2
        });
        follower.end();
        let alerts = objects(&harness.path("alerts"));
        assert_eq!(alerts[0], serde_json::json!({ "before": 1 }));
        assert_alert(&alerts[n + 1], client);
    }
}

/// G12. A new alert file is private.
#[test]
fn a_new_file_of_alerts_is_private() {
    let harness = harness();
    let follower = act(&harness, &["--alert-file", "alerts"]);
    send_probes(&harness, "192.0.2.1");
    follower.until_process("an alert in the file", |_| {
        objects(&harness.path("alerts")).len() == 1
    });
    follower.end();
    assert_eq!(
        fs::metadata(harness.path("alerts"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
}

/// RFC 5424: priority, version, time, host, program, process, kind, data, text; each alert one
/// datagram.
#[test]
fn alerts_are_sent_to_the_local_syslog() {
    let harness = harness();
    let socket = socket(&harness.path("log.socket"));
    let follower = act(
        &harness,
        &[&format!(
            "--syslog={}",
            harness.path("log.socket").display()
        )],
    );
    for client in ["192.0.2.1", "2001:db8::1"] {
        send_probes(&harness, client);
        let message = message(&socket);
        let (priority, rest) = message
            .strip_prefix('<')
            .and_then(|rest| rest.split_once('>'))
            .unwrap();
        assert!(priority.parse::<u8>().unwrap() < 192, "{message}");
        let fields: Vec<_> = rest.splitn(8, ' ').collect();
        assert_eq!(
            (fields.len(), fields[0], fields[3]),
            (8, "1", "probewatch"),
            "{message}"
        );
        assert!(fields[1] == "-" || fields[1].contains('T'), "{message}");
        assert!(
            fields[4] == "-" || fields[4] == follower.pid().as_raw_nonzero().to_string(),
            "{message}"
        );
        assert!(
            message.contains(client) && message.contains("t/counter"),
            "{message}"
        );
        assert!(
            !message.trim_end().chars().any(char::is_control),
            "{message:?}"
        );
    }
    follower.end();
}

/// An error at the start, not with the first alert.
#[test]
fn a_missing_syslog_socket_is_an_error() {
    let ended = act(&harness(), &["--syslog=nobody.socket"]).ended();
    assert!([2, 4].contains(&ended.code()), "{}", ended.output.notices);
    assert!(
        ended.output.notices.contains("nobody.socket"),
        "{}",
        ended.output.notices
    );
}

/// A missing log daemon stops nothing, and is used again when it is back.
#[test]
fn a_lost_syslog_socket_stops_nothing() {
    let harness = harness();
    let path = harness.path("log.socket");
    let first = socket(&path);
    let follower = act(
        &harness,
        &[
            &format!("--syslog={}", path.display()),
            "--alert-file",
            "alerts",
        ],
    );
    let raise_alert = |client: &str| {
        send_probes(&harness, client);
        follower.until_process("the alert in the file", |_| {
            fs::read_to_string(harness.path("alerts")).is_ok_and(|text| text.contains(client))
        });
    };
    raise_alert("192.0.2.1");
    assert!(message(&first).contains("192.0.2.1"));
    drop(first);
    fs::remove_file(&path).unwrap();
    raise_alert("192.0.2.2");
    let second = socket(&path);
    let start = Instant::now();
    for n in 3.. {
        raise_alert(&format!("192.0.2.{n}"));
        let mut bytes = [0; 4096];
        if second.recv(&mut bytes).is_ok() {
            break;
        }
        assert!(
            start.elapsed() < DEADLINE && n < 250,
            "{}",
            follower.notices()
        );
    }
    follower.end();
}

/// The same alert is raised again only after its cooldown.
#[test]
fn an_alert_is_raised_again_after_the_cooldown() {
    let harness = harness();
    let follower = act(&harness, &["--alert-file", "alerts"]);
    for _ in 0..5 {
        send_probes(&harness, "192.0.2.1");
    }
    send_probes(&harness, "192.0.2.2");
    let alerts_of = |client: &str| {
        objects(&harness.path("alerts"))
            .iter()
            .filter(|alert| alert.to_string().contains(client))
            .count()
    };
    follower.until_process("the alert of another client", |_| {
        alerts_of("192.0.2.2") == 1
    });
    assert_eq!(alerts_of("192.0.2.1"), 1);
    follower.end();
}

/// An answered probe raises an alert without a threshold.
#[test]
fn an_answered_probe_is_an_alert() {
    let harness = harness();
    let mut log = line("192.0.2.50", "GET /.git/config HTTP/1.1", 200);
    for n in 0..20 {
        log = sized(
            &line("192.0.2.9", &format!("GET /page/{n} HTTP/1.1"), 200),
            1000 + n,
        ) + &log;
    }
    harness.file("access.log", log);
    let follower = Follower::start(&mut command(
        &harness,
        &["--alert-file", "alerts", "access.log"],
    ));
    follower.until_process("the hit", |follower| follower.hits() == 1);
    follower.end();
    assert!(
        objects(&harness.path("alerts"))
            .iter()
            .any(|alert| alert["kind"] == "answered")
    );
}

/// Ready when it follows logs, watchdog notifications at the configured interval, and stopping at
/// the end.
#[test]
fn a_service_manager_is_notified() {
    let (harness, _) = stage();
    let socket = socket(&harness.path("notify"));
    let mut command = command(&harness, &["log"]);
    let follower = Follower::start(
        command
            .env("NOTIFY_SOCKET", harness.path("notify"))
            .env("WATCHDOG_USEC", "300000"),
    );
    read_until(&socket, "READY=1");
    for _ in 0..3 {
        read_until(&socket, "WATCHDOG=1");
    }
    follower.signal(Signal::TERM);
    read_until(&socket, "STOPPING=1");
    assert_eq!(follower.ended().code(), 143);
}

/// A stuck process must not send watchdog notifications.
#[test]
fn a_stuck_follower_does_not_notify_the_watchdog() {
    let (harness, mut writer) = stage();
    writer.write(3000);
    let socket = socket(&harness.path("notify"));
    let mut command = command(&harness, &["log"]);
    let follower = Follower::start_unread(
        command
            .env("NOTIFY_SOCKET", harness.path("notify"))
            .env("WATCHDOG_USEC", "300000"),
    );
    super::signals::until_stuck(&follower);
    let mut bytes = [0; 4096];
    while socket.recv(&mut bytes).is_ok() {
        assert!(follower.process_state() == 'S');
    }
}
