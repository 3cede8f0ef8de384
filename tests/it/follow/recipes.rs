//! The scripts of `samples/alerts`, which carry alerts of `follow --exec` to chats and mail: run as
//! `follow` runs them, against a receiver on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::harness::{Harness, Run, is_installed, skip, spawn, wait};

/// A request that a receiver got: its first line and headers, and its body.
struct Received {
    head: String,
    body: Value,
}

/// Receives requests on this machine, each with the answer of a server that accepts it.
struct Receiver {
    url: String,
    requests: JoinHandle<Vec<Received>>,
}

impl Receiver {
    /// Receives `count` requests.
    fn of(count: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = std::thread::spawn(move || {
            listener
                .incoming()
                .take(count)
                .map(|stream| receive(stream.unwrap()))
                .collect()
        });
        Self { url, requests }
    }
}

fn receive(stream: TcpStream) -> Received {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        })
        .unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    reader
        .get_mut()
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        .unwrap();
    Received {
        head,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

/// A path that a chat, a shell or curl might interpret.
const TEXT: &str = r#"203.0.113.7 was answered with 200: /<!channel>?a="$(id)"&b=`id`\n@room %0a {"x":1} (vcs/git)"#;

fn alerts() -> Vec<Value> {
    let alert = |severity, id, text| json!({"kind": "answered", "severity": severity, "rules": ["vcs/git"], "text": text, "id": id});
    vec![
        alert("critical", "6a49:1", TEXT),
        alert("medium", "6a49:2", "198.51.100.9 has 9 distinct probes"),
    ]
}

/// Runs a script with the alerts on its input, and returns what the receiver got.
fn sent_by(script: &str, settings: &[(&str, &str)]) -> Option<Vec<Received>> {
    if let Some(missing) = ["jq", "curl"]
        .into_iter()
        .find(|program| !is_installed(program))
    {
        skip(script, &format!("{missing} is not installed"));
        return None;
    }
    let receiver = Receiver::of(alerts().len());
    let harness = Harness::new();
    let mut command = harness.program(&format!(
        "{}/samples/alerts/{script}",
        env!("CARGO_MANIFEST_DIR")
    ));
    for (name, value) in settings {
        command.env(name, value.replace("URL", &receiver.url));
    }
    let run = run_on_alerts(&mut command);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{script}");
    Some(receiver.requests.join().unwrap())
}

/// Runs a command with the alerts on its standard input.
fn run_on_alerts(command: &mut Command) -> Run {
    let mut child = spawn(command.stdin(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    for alert in alerts() {
        writeln!(input, "{alert}").unwrap();
    }
    drop(input);
    wait(child)
}

fn first_line(received: &Received) -> &str {
    received.head.lines().next().unwrap()
}

#[test]
fn a_webhook_gets_each_alert_as_it_is() {
    let settings = [
        ("WEBHOOK_URL", "URL/hook?token=secret"),
        ("WEBHOOK_HEADER", "X-Token: secret"),
    ];
    let Some(sent) = sent_by("webhook.sh", &settings) else {
        return;
    };
    assert_eq!(
        sent.iter().map(|one| one.body.clone()).collect::<Vec<_>>(),
        alerts()
    );
    assert_eq!(first_line(&sent[0]), "POST /hook?token=secret HTTP/1.1");
    assert!(
        sent[0].head.contains("X-Token: secret\r\n")
            && sent[0].head.contains("Content-Type: application/json\r\n")
    );
}

#[test]
fn slack_shows_no_link_and_mentions_no_user() {
    let Some(sent) = sent_by("slack.sh", &[("SLACK_WEBHOOK", "URL/services/T/B/x")]) else {
        return;
    };
    let text = TEXT
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    assert_eq!(
        sent[0].body,
        json!({"text": format!("critical: {text}"), "unfurl_links": false, "mrkdwn": false})
    );
    assert_eq!(
        sent[1].body["text"],
        "medium: 198.51.100.9 has 9 distinct probes"
    );
    assert_eq!(first_line(&sent[1]), "POST /services/T/B/x HTTP/1.1");
}

#[test]
fn matrix_gets_each_alert_in_a_transaction_of_its_own() {
    let settings = [
        ("MATRIX_URL", "URL"),
        ("MATRIX_ROOM", "!a:example.org"),
        ("MATRIX_TOKEN", "secret"),
    ];
    let Some(sent) = sent_by("matrix.sh", &settings) else {
        return;
    };
    assert_eq!(
        sent[0].body,
        json!({"msgtype": "m.text", "body": format!("critical: {TEXT}"), "m.mentions": {}})
    );
    // jq 1.6 leaves the exclamation mark as it is.
    let urls = [&sent[0], &sent[1]].map(|one| first_line(one).replace("%21", "!"));
    let url =
        "PUT /_matrix/client/v3/rooms/!a%3Aexample.org/send/m.room.message/answered%206a49%3A";
    assert_eq!(
        urls,
        [format!("{url}1 HTTP/1.1"), format!("{url}2 HTTP/1.1")]
    );
    assert!(
        sent[0].head.contains("Authorization: Bearer secret\r\n"),
        "{}",
        sent[0].head
    );
}

#[test]
fn ntfy_gets_a_critical_alert_with_the_highest_priority() {
    let Some(sent) = sent_by(
        "ntfy.sh",
        &[
            ("NTFY_URL", "URL"),
            ("NTFY_TOPIC", "alerts"),
            ("NTFY_TOKEN", "secret"),
        ],
    ) else {
        return;
    };
    let message = format!("critical: {TEXT}");
    assert_eq!(
        sent[0].body,
        json!({"topic": "alerts", "title": "probewatch: answered", "message": message, "priority": 5})
    );
    assert_eq!(sent[1].body["priority"], 3);
    assert!(
        sent[0].head.starts_with("POST / HTTP/1.1\r\n")
            && sent[0].head.contains("Authorization: Bearer secret\r\n")
    );
}

#[test]
fn telegram_gets_plain_text() {
    let settings = [
        ("TELEGRAM_URL", "URL"),
        ("TELEGRAM_TOKEN", "7:secret"),
        ("TELEGRAM_CHAT", "-100"),
    ];
    let Some(sent) = sent_by("telegram.sh", &settings) else {
        return;
    };
    let text = format!("critical: {TEXT}");
    assert_eq!(
        sent[0].body,
        json!({"chat_id": "-100", "text": text, "link_preview_options": {"is_disabled": true}})
    );
    assert_eq!(
        first_line(&sent[0]),
        "POST /bot7:secret/sendMessage HTTP/1.1"
    );
}

#[test]
fn mail_has_the_sentence_and_the_keys() {
    if !is_installed("jq") {
        return skip("mail.sh", "jq is not installed");
    }
    let harness = Harness::new();
    let sendmail = harness.file(
        "sendmail",
        "#!/bin/sh\n{ echo \"$@\"; cat; } >> \"$(dirname \"$0\")/mails\"\n",
    );
    std::fs::set_permissions(
        &sendmail,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut command = harness.program(&format!(
        "{}/samples/alerts/mail.sh",
        env!("CARGO_MANIFEST_DIR")
    ));
    let path = format!(
        "{}:{}",
        harness.path("").display(),
        std::env::var("PATH").unwrap()
    );
    let run = run_on_alerts(command.env("MAIL_TO", "root@example.org").env("PATH", path));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let mails = std::fs::read_to_string(harness.path("mails")).unwrap();
    assert_eq!(
        mails
            .matches("-t -oi\nTo: root@example.org\nSubject: probewatch: an alert\n")
            .count(),
        2,
        "{mails}"
    );
    assert!(
        mails.contains(&format!("\n\ncritical: {TEXT}\n\n"))
            && mails.contains("\nrules: [\"vcs/git\"]\n"),
        "{mails}"
    );
}

/// Each script is described beside the others.
#[test]
fn every_script_is_in_the_readme_of_the_samples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in std::fs::read_dir(folder.join("alerts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "send.sh" || readme.contains(&format!("`{name}`")),
            "{name}"
        );
    }
}
