//! The systemd unit in `samples/`: it is valid, it is hardened as it claims, and its command line
//! is valid.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::follower::Follower;
use super::works;
use crate::harness::{EXE, Harness, skip};

/// The highest exposure that `systemd-analyze security` may report, from 0 to 10, times ten.
const MOST_EXPOSED: &str = "20";

fn unit() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/probewatch.service"))
        .unwrap()
}

/// The values of a setting, in order.
fn values<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    unit.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .collect()
}

/// The unit as it would be installed, but with the program of this build.
fn copy(harness: &Harness) -> Option<String> {
    if !works(Command::new("systemd-analyze").arg("--version")) {
        skip("the systemd unit", "systemd-analyze is not installed");
        return None;
    }
    let path = harness.file(
        "probewatch.service",
        unit().replace("ExecStart=probewatch ", &format!("ExecStart={EXE} ")),
    );
    Some(path.display().to_string())
}

#[test]
fn the_unit_is_valid() {
    let harness = Harness::new();
    let Some(path) = copy(&harness) else { return };
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", &path])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    // Other units of the host may have errors.
    let ours: Vec<_> = text
        .lines()
        .filter(|line| line.contains("probewatch"))
        .collect();
    assert!(ours.is_empty(), "{text}");
    assert!(
        output.status.success() || !text.trim().is_empty(),
        "it fails and says nothing"
    );
}

#[test]
fn the_unit_is_hardened() {
    let harness = Harness::new();
    let Some(path) = copy(&harness) else { return };
    let offline = ["security", "--offline=true", "--no-pager"];
    if !String::from_utf8_lossy(
        &Command::new("systemd-analyze")
            .arg("--help")
            .output()
            .unwrap()
            .stdout,
    )
    .contains("--offline")
    {
        return skip(
            "the systemd unit is closed",
            "this systemd-analyze knows no --offline",
        );
    }
    let output = Command::new("systemd-analyze")
        .args(offline)
        .arg(format!("--threshold={MOST_EXPOSED}"))
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("Overall exposure level"), "{text}");
}

/// The command accepts the command line of the unit, and notifies systemd as the unit expects.
#[test]
fn the_command_line_of_the_unit_is_valid() {
    let unit = unit();
    let start = values(&unit, "ExecStart");
    assert_eq!(start.len(), 1);
    let harness = Harness::new();
    fs::create_dir_all(harness.path("log/nginx")).unwrap();
    harness.file("log/nginx/access.log", crate::harness::log(20));
    let here = harness.path("").display().to_string();
    let line = start[0]
        .replace("%S/", &here)
        .replace("/var/log/", &harness.path("log/").display().to_string());
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("probewatch"));
    let socket = super::actions::socket(&harness.path("notify"));
    let mut command = harness.command(words);
    let follower = Follower::start(command.env("NOTIFY_SOCKET", harness.path("notify")));
    super::actions::read_until(&socket, "READY=1");
    assert!(
        follower.notices().lines().count() < 3,
        "{}",
        follower.notices()
    );
    follower.end();
    assert_eq!(values(&unit, "Type"), ["notify"]);
    assert_eq!(values(&unit, "ExecReload"), ["/bin/kill -HUP $MAINPID"]);
}
