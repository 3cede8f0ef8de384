use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use crate::alert_sinks::systemd::*;

/// Runs in its own process, because the environment is per process. Prints what happened.
#[test]
#[ignore = "run by the tests below"]
fn serve() {
    let mut systemd = SystemdNotifier::from_environment();
    let mut notices = Vec::new();
    systemd.ready();
    systemd.status("following 3 logs\nWATCHDOG=trigger");
    systemd.status("told later: not a second has passed");
    systemd.status("following 4 logs");
    systemd.reloading();
    systemd.ready();
    notices.extend(systemd.poll());
    systemd.next_status = None;
    systemd.sent_status = None;
    systemd.status("following 5 logs");
    notices.extend(systemd.poll());
    systemd.stopping();
    let said = format!("\npulse {:?}, notices {notices:?}\n", systemd.watchdog_interval());
    io::Write::write_all(&mut io::stdout(), said.as_bytes()).unwrap();
}

/// Runs it with a manager. Returns the line it printed.
fn run(socket: Option<&Path>, watchdog: Option<&str>) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--nocapture", "--exact", "alert_sinks::systemd::tests::serve"]);
    for (name, value) in [("NOTIFY_SOCKET", socket.map(Path::as_os_str)), ("WATCHDOG_USEC", watchdog.map(AsRef::as_ref))] {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = command.env_remove("WATCHDOG_PID").output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    said.lines().find(|line| line.starts_with("pulse ")).unwrap().to_owned()
}

#[test]
fn the_manager_is_notified() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_nonblocking(true).unwrap();
    assert_eq!(run(Some(&path), Some("60000000")), "pulse Some(30s), notices []");
    let mut heard = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(length) = socket.recv(&mut bytes) {
        heard.push(String::from_utf8(bytes[..length].to_vec()).unwrap());
    }
    let since = heard[2].strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().trim_end().parse::<u64>();
    assert!(since.is_ok());
    heard.remove(2);
    assert_eq!(
        heard,
        [
            "READY=1\n",
            "STATUS=following 3 logs WATCHDOG=trigger\n",
            "READY=1\n",
            "WATCHDOG=1\n",
            "STATUS=following 5 logs\n",
            "STOPPING=1\n"
        ]
    );
}

#[test]
fn without_a_manager_nothing_happens() {
    assert_eq!(run(None, Some("60000000")), "pulse None, notices []");
    assert_eq!(run(Some(Path::new("")), None), "pulse None, notices []");
}

#[test]
fn a_missing_manager_is_reported_once() {
    let said = run(Some(Path::new("/nowhere/notify")), None);
    assert!(said.starts_with("pulse None, notices [\"cannot notify the service manager: No such file or directory"), "{said}");
    assert_eq!(said.matches("cannot notify").count(), 1);
}
