use std::fs;
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use tempfile::TempDir;

use crate::alert_sinks::syslog::*;

/// A daemon's socket.
fn daemon() -> (TempDir, PathBuf, UnixDatagram) {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("log");
    let socket = listen(&path);
    (room, path, socket)
}

fn listen(path: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(path).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

fn received(socket: &UnixDatagram) -> Option<String> {
    let mut bytes = [0; 8192];
    let length = socket.recv(&mut bytes).ok()?;
    Some(String::from_utf8(bytes[..length].to_vec()).unwrap())
}

/// Closes a daemon's socket. A child of another test may still hold it for an instant, so it is shut down first.
fn end(socket: UnixDatagram) {
    socket.shutdown(Shutdown::Both).unwrap();
    drop(socket);
}

/// The texts received.
fn texts(socket: &UnixDatagram) -> Vec<String> {
    std::iter::from_fn(|| received(socket)).map(|message| message.split_once('\u{feff}').unwrap().1.to_owned()).collect()
}

#[test]
fn messages_follow_rfc_5424() {
    let time: jiff::Timestamp = "2026-11-21T18:10:45.5Z".parse().unwrap();
    let message = |severity, text: &str| message(severity, &time, "web1", 4711, text);
    assert_eq!(message(Severity::Critical, "größer\n"), "<26>1 2026-11-21T18:10:45.500000Z web1 probewatch 4711 alert - \u{feff}größer");
    let priorities = Severity::ALL.map(|severity| message(severity, "x").split_once('>').unwrap().0.to_owned());
    assert_eq!(priorities, ["<30", "<29", "<28", "<27", "<26"]);
    assert!(message(Severity::Low, "a\nb\0c\u{9b}d").ends_with("\u{feff}a b c d"));
    for letter in ["x", "ä", "日", "🦀"] {
        for more in 0..4 {
            let long = message(Severity::Low, &("x".repeat(more) + &letter.repeat(3_000)));
            assert!((MAX_BYTES - 4..=MAX_BYTES).contains(&long.len()) && long.ends_with(&format!("{letter}…")), "{}", long.len());
        }
    }
    let room = MAX_BYTES - message(Severity::Low, "").len();
    assert!(message(Severity::Low, &"x".repeat(room)).ends_with('x'), "what fits is not cut");
}

#[test]
fn every_alert_arrives_once() {
    let (_room, path, socket) = daemon();
    let (now, mut notices) = (Instant::now(), Vec::new());
    let mut syslog = SyslogSink::connect(path).unwrap();
    syslog.send_alert(Severity::High, "one", now);
    let message = received(&socket).unwrap();
    let fields: Vec<_> = message.splitn(8, ' ').collect();
    assert_eq!(
        [fields[0], fields[3], fields[4], fields[5], fields[6]],
        ["<27>1", "probewatch", &std::process::id().to_string(), "alert", "-"]
    );
    assert!(fields[1].parse::<jiff::Timestamp>().is_ok() && fields[2] == host(), "{message}");
    assert_eq!(fields[7], "\u{feff}one");
    for text in ["two", "three"] {
        syslog.send_alert(Severity::Low, text, now);
    }
    syslog.finish(now, &mut notices);
    assert_eq!((texts(&socket), notices), (vec!["two".into(), "three".into()], vec![]));
}

#[test]
fn a_daemon_that_does_not_read_delays_nothing() {
    let (_room, path, socket) = daemon();
    let (now, mut notices) = (Instant::now(), Vec::new());
    let place = format!("--syslog {}", path.display());
    let mut syslog = SyslogSink::connect(path).unwrap();
    for n in 0..5_000 {
        syslog.send_alert(Severity::Low, &n.to_string(), now);
    }
    syslog.poll(now, &mut notices);
    let mut got = texts(&socket);
    while !syslog.queue.is_empty() {
        syslog.poll(now, &mut notices);
        got.extend(texts(&socket));
    }
    assert!(got.len() >= super::super::queue::MAX_LINES && got.iter().enumerate().all(|(n, text)| *text == n.to_string()));
    assert_eq!(notices, [format!("{place}: {} alerts were dropped, as the queue is full", 5_000 - got.len())]);
}

#[test]
fn a_restarted_daemon_is_found() {
    let (_room, path, socket) = daemon();
    let (now, mut notices) = (Instant::now(), Vec::new());
    let mut syslog = SyslogSink::connect(path.clone()).unwrap();
    end(socket);
    fs::remove_file(&path).unwrap();
    let socket = listen(&path);
    syslog.send_alert(Severity::Low, "one", now);
    assert_eq!(texts(&socket), ["one"]);

    end(socket);
    for later in [0, 1, 2] {
        syslog.send_alert(Severity::Low, "while it was away", now + Duration::from_secs(later));
        syslog.poll(now + Duration::from_secs(later), &mut notices);
    }
    fs::remove_file(&path).unwrap();
    let socket = listen(&path);
    syslog.poll(now + Duration::from_secs(3), &mut notices);
    assert_eq!(texts(&socket), ["while it was away"; 3]);
    let place = format!("--syslog {}: ", path.display());
    assert!(notices[0].starts_with(&place) && notices[0].ends_with("; retrying, with up to 1000 alerts in the queue"), "{notices:?}");
    assert_eq!(notices[1..], [format!("{place}works again")]);
}

#[test]
fn a_missing_socket_is_an_error() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("log");
    let refusal = || SyslogSink::connect(path.clone()).unwrap_err().to_string();
    let advice = "is a log daemon running? --syslog=PATH names another datagram socket";
    assert_eq!(refusal(), format!("cannot reach the system's log at {}: no such file or directory; {advice}", path.display()));
    let _listener = UnixListener::bind(&path).unwrap();
    assert_eq!(refusal(), format!("cannot reach the system's log at {}: protocol wrong type for socket; {advice}", path.display()));
}
