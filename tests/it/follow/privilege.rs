//! What it does and needs (K1-K4): it reads logs and writes its state, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use super::follower::{FOLLOW, Follower, command, follow};
use super::{assert_complete, stage, works};
use crate::harness::{EXE, skip};

/// K1. System calls that open, create, move or remove files, create sockets, or start programs.
#[test]
fn reads_logs_and_writes_its_state_only() {
    let (harness, mut writer) = stage();
    let strace = [
        "strace",
        "-D",
        "-f",
        "-q",
        "-y",
        "-e",
        "trace=network,process,%file",
        "-o",
        "trace",
    ];
    if !works(Command::new("strace").args(["-f", "-o", "/dev/null", "true"])) {
        return skip("K1", "strace is not installed, or may not trace");
    }
    let mut traced = harness.under(
        &strace,
        FOLLOW.iter().chain(&["--state", "state", "log/access.log"]),
    );
    let mut follower = Follower::start(&mut traced);
    follower.until_seen(0..10);
    fs::rename(
        harness.path("log/access.log"),
        harness.path("log/access.log.1"),
    )
    .unwrap();
    writer.write(5);
    writer.reopen();
    writer.write(5);
    follower.until_seen(10..20);
    follower.end();
    // The tracer is a process of its own, and ends after it.
    let trace = harness.path("trace");
    let start = std::time::Instant::now();
    let text = loop {
        let text = fs::read_to_string(&trace).unwrap();
        if text.contains("exited with 143") {
            break text;
        }
        assert!(
            start.elapsed() < super::follower::DEADLINE,
            "the trace does not end: {text}"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let calls: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_once(' ').map(|(_, call)| call.trim_start()))
        .collect();
    assert!(calls.len() > 20, "{text}");
    let state = harness.path("state").display().to_string();
    for call in calls {
        let name = call.split('(').next().unwrap();
        let own = call.contains(&format!("<{state}>, "))
            || call.contains(&format!("\"{state}"))
            || call.contains("\"state\"");
        let allowed = match name {
            "socket" | "socketpair" | "connect" | "bind" | "listen" | "accept" | "sendto"
            | "sendmsg" | "fork" | "vfork" => false,
            "clone" | "clone3" => call.contains("CLONE_THREAD"),
            "execve" | "execveat" => call.contains(EXE),
            "open" | "openat" | "openat2" | "creat" => {
                !writes(call) || own || call.contains("\"/dev/null\"")
            }
            "rename" | "renameat" | "renameat2" | "unlink" | "unlinkat" | "mkdir" | "mkdirat"
            | "rmdir" | "link" | "linkat" | "symlink" | "symlinkat" | "truncate" | "chmod"
            | "fchmodat" | "chown" | "fchownat" | "mknod" | "mknodat" | "utimensat" => own,
            _ => true,
        };
        assert!(allowed, "{call}");
    }
}

/// Whether a call opens a file to write to it.
fn writes(call: &str) -> bool {
    call.starts_with("creat(")
        || ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]
            .iter()
            .any(|flag| call.contains(flag))
}

/// K2, D13. A log may be a link, and the link may change.
#[test]
fn a_link_with_a_changed_target() {
    for mode in super::follower::MODES {
        let (harness, mut writer) = stage();
        symlink("log/access.log", harness.path("current")).unwrap();
        let mut follower = follow(&harness, &[mode, &["current"]].concat());
        follower.until_seen(0..10);
        let mut next = super::Writer::from(harness.path("log/next.log"), 100);
        next.write(5);
        symlink("log/next.log", harness.path("new")).unwrap();
        fs::rename(harness.path("new"), harness.path("current")).unwrap();
        writer.write(5);
        follower.until_seen((0..15).chain(100..105));
        assert_complete(&harness, follower, &mut next);
    }
}

/// K3. The group of the logs is sufficient.
#[test]
fn the_group_of_logs_is_enough() {
    const GROUP: u32 = 4;
    let (harness, mut writer) = stage();
    if !rustix::process::geteuid().is_root() || !works(Command::new("setpriv").arg("--version")) {
        return skip("K3", "needs root and setpriv");
    }
    let (log, state) = (harness.path("log"), harness.path("state"));
    fs::set_permissions(harness.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(&state).unwrap();
    for (path, owner, group, mode) in [
        (&log, 0, GROUP, 0o750),
        (&log.join("access.log"), 0, GROUP, 0o640),
        (&state, 65534, 65534, 0o700),
    ] {
        chown(path, Some(owner), Some(group)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let who = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--groups=4",
        "--no-new-privs",
    ];
    // Other users may have no access to the build folder.
    let program = harness.path("probewatch");
    fs::copy(EXE, &program).unwrap();
    if !works(
        Command::new(who[0])
            .args(&who[1..])
            .arg(&program)
            .arg("--version"),
    ) {
        return skip("K3", "another user cannot run it here");
    }
    let mut command = Command::new(who[0]);
    command
        .args(&who[1..])
        .arg(&program)
        .args(FOLLOW)
        .args(["--state", "state", "log/access.log"])
        .current_dir(harness.path(""));
    let mut follower = Follower::start(&mut command);
    follower.until_seen(0..10);
    writer.write(5);
    assert_complete(&harness, follower, &mut writer);
    assert!(fs::read_dir(&state).unwrap().count() > 0);
}

/// K3. A log without read permission is reported, and the others are followed.
#[test]
fn a_log_without_read_permission() {
    let (harness, mut writer) = stage();
    if !rustix::process::geteuid().is_root() || !works(Command::new("setpriv").arg("--version")) {
        return skip("K3, a log that may not be read", "needs root and setpriv");
    }
    fs::set_permissions(harness.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(harness.path("log"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(
        harness.path("log/access.log"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    let secret = harness.file("log/secret.log", "");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let program = harness.path("probewatch");
    fs::copy(EXE, &program).unwrap();
    let who = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let mut command = Command::new(who[0]);
    command
        .args(&who[1..])
        .arg(&program)
        .args(FOLLOW)
        .args(["log/access.log", "log/secret.log"])
        .current_dir(harness.path(""));
    let mut follower = Follower::start(&mut command);
    follower.until_seen(0..10);
    let output = assert_complete(&harness, follower, &mut writer);
    assert_eq!(
        output
            .notices
            .lines()
            .filter(|line| line.contains("secret.log"))
            .count(),
        1,
        "{}",
        output.notices
    );
}

/// K4. No notice contains a line of a log.
#[test]
fn notices_do_not_repeat_lines() {
    let (harness, mut writer) = stage();
    let secret = "s3cr3t-in-a-line";
    fs::write(
        harness.path("log/odd.log"),
        format!("{secret} \u{0}\u{1}\n{}\n", secret.repeat(100_000)),
    )
    .unwrap();
    let mut command = command(
        &harness,
        &["--state", "state", "--max-line", "65536", "log"],
    );
    let mut follower = Follower::start(command.env("RUST_BACKTRACE", "full"));
    follower.until_seen(0..10);
    fs::write(harness.path("log/odd.log"), "").unwrap();
    let output = assert_complete(&harness, follower, &mut writer);
    assert!(!output.notices.contains(secret), "{}", output.notices);
    let state = fs::read_dir(harness.path("state"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    assert!(
        state
            .into_iter()
            .all(|path: std::path::PathBuf| !holds(&path, secret)),
        "a line in the state"
    );
}

fn holds(path: &Path, text: &str) -> bool {
    memchr::memmem::find(&fs::read(path).unwrap(), text.as_bytes()).is_some()
}
