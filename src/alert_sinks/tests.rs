use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use crate::alert_sinks::*;

#[test]
fn an_alert_is_sent_to_every_sink() {
    let room = tempfile::tempdir().unwrap();
    let [program, out, file, log] = ["program", "out", "alerts", "log"].map(|name| room.path().join(name));
    let script = format!("#!/bin/sh\nexec cat > '{}'\n", out.display());
    // Another process writes it: see the tests of `exec`.
    let written = Command::new("sh").args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""]).arg(&program).arg(script).status();
    assert!(written.unwrap().success());
    let socket = UnixDatagram::bind(&log).unwrap();
    let settings = AlertSinkSettings { exec: Some(program), exec_silent: true, alert_file: Some(file.clone()), syslog: Some(log) };
    let mut sinks = AlertSinks::new(settings).unwrap();
    let hostile = b"{\"target\":\"/$(touch here);`id`\"}\n";
    sinks.send_alert(Severity::High, hostile, "probing: /$(touch here)");
    assert_eq!(sinks.poll(), [""; 0]);
    assert_eq!(sinks.finish(), [""; 0]);
    assert_eq!((fs::read(out).unwrap(), fs::read(file).unwrap()), (hostile.to_vec(), hostile.to_vec()));
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).unwrap();
    assert!(bytes[..length].ends_with("\u{feff}probing: /$(touch here)".as_bytes()));
}

#[test]
fn without_sinks_nothing_happens() {
    let mut sinks = AlertSinks::new(AlertSinkSettings::default()).unwrap();
    sinks.send_alert(Severity::Critical, b"{}\n", "x");
    assert_eq!((sinks.poll(), sinks.finish()), (vec![], vec![]));
}

#[test]
fn the_program_is_not_started_if_another_sink_fails() {
    let room = tempfile::tempdir().unwrap();
    let settings =
        AlertSinkSettings { exec: Some("/nowhere".into()), syslog: Some(room.path().join("log")), ..AlertSinkSettings::default() };
    assert!(matches!(AlertSinks::new(settings), Err(AlertSinkError::Syslog { .. })));
    let settings = AlertSinkSettings { exec: Some("/nowhere".into()), ..AlertSinkSettings::default() };
    assert!(matches!(AlertSinks::new(settings), Err(AlertSinkError::Exec { .. })));
}
