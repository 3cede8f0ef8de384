//! The cron samples in `samples/`: the line for cron, the service with its timer, the lines for
//! logrotate. Each is valid for its program, and its command line is valid.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::Out;
use crate::follow::works;
use crate::harness::{EXE, Harness, finish, skip};

/// The highest exposure that `systemd-analyze security` may report, from 0 to 10, times ten.
const MOST_EXPOSED: &str = "20";

const SERVICE: &str = "probewatch-report.service";
const TIMER: &str = "probewatch-report.timer";

fn sample(name: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("samples")
            .join(name),
    )
    .unwrap()
}

/// The lines that are not comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The values of a setting of a unit, in order.
fn values<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    unit.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .collect()
}

/// Runs a command line of a sample with all its paths below the folder of the harness, and reads
/// its output.
fn assert_command_works(harness: &Harness, command: &str, state: &str, out: &str) {
    fs::create_dir_all(harness.path("log/nginx")).unwrap();
    harness.file("log/nginx/access.log", crate::harness::log(20));
    let here = |name: &str| harness.path(name).display().to_string();
    let line = command
        .replace(state, &here("state"))
        .replace(out, &here("out"))
        .replace("/var/log/nginx", &here("log/nginx"));
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("probewatch"), "{command}");
    let words: Vec<_> = words.collect();
    let (at_state, at_out) = (
        format!("--state {}", here("state")),
        format!("--out {}", here("out")),
    );
    assert!(line.contains(&at_state) && line.contains(&at_out), "{line}");
    let run = finish(&mut harness.command(&words));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{line}");
    let folders = fs::read_dir(harness.path("out")).unwrap().count();
    assert_eq!(folders, 3, "a folder, latest and .state");
    // And a second run directly after it prints nothing.
    let run = finish(&mut harness.command(&words));
    assert_eq!(
        (run.code, run.text().as_str(), run.stderr.as_str()),
        (0, "", ""),
        "{line}"
    );
    Out::read_as(&harness.path("out"), mode(&words));
}

/// The mode in a command line.
fn mode(words: &[&str]) -> u32 {
    let given = words
        .iter()
        .position(|word| *word == "--mode")
        .map(|at| words[at + 1]);
    given.map_or(0o600, |mode| u32::from_str_radix(mode, 8).unwrap())
}

/// `* * * * * user command`, as in `/etc/cron.d`.
#[test]
fn the_line_for_cron() {
    let text = sample("probewatch.cron");
    let jobs: Vec<_> = lines(&text)
        .filter(|line| {
            !line.contains('=') || line.starts_with(|c: char| c.is_ascii_digit() || c == '*')
        })
        .collect();
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    let fields: Vec<_> = jobs[0].split_whitespace().collect();
    for (field, highest) in fields[..5].iter().zip([59, 23, 31, 12, 7]) {
        assert!(
            *field == "*" || field.parse::<u32>().is_ok_and(|value| value <= highest),
            "{field}"
        );
    }
    // Where cron would end the command, or start a new line.
    assert!(
        !jobs[0].contains('%') && text.ends_with('\n'),
        "cron reads % as a newline, and a last line only with its end"
    );
    assert!(
        lines(&text).any(|line| line.starts_with("MAILTO=")),
        "{text}"
    );
    let command = fields[6..].join(" ");
    assert!(
        !command.contains('>') && !command.contains('|'),
        "no redirection: it prints nothing without news"
    );
    assert_command_works(
        &Harness::new(),
        &command,
        "/var/lib/probewatch",
        "/srv/reports",
    );
}

/// The units as they would be installed, but with the program of this build.
fn copies(harness: &Harness) -> Option<[PathBuf; 2]> {
    if !works(Command::new("systemd-analyze").arg("--version")) {
        skip("the units of report", "systemd-analyze is not installed");
        return None;
    }
    Some([SERVICE, TIMER].map(|name| {
        harness.file(
            name,
            sample(name).replace("ExecStart=probewatch ", &format!("ExecStart={EXE} ")),
        )
    }))
}

#[test]
fn the_units_are_valid() {
    let harness = Harness::new();
    let Some(paths) = copies(&harness) else {
        return;
    };
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .args(&paths)
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
fn the_service_is_hardened() {
    let harness = Harness::new();
    let Some([service, _]) = copies(&harness) else {
        return;
    };
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
            "the service of report is closed",
            "this systemd-analyze knows no --offline",
        );
    }
    let mut command = Command::new("systemd-analyze");
    command
        .args([
            "security",
            "--offline=true",
            "--no-pager",
            &format!("--threshold={MOST_EXPOSED}"),
        ])
        .arg(service);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("Overall exposure level"), "{text}");
}

/// The timer is valid, and runs every hour.
#[test]
fn the_timer_runs_every_hour() {
    let timer = sample(TIMER);
    let calendar = values(&timer, "OnCalendar");
    assert_eq!(
        (
            calendar.len(),
            values(&timer, "Persistent"),
            values(&timer, "WantedBy")
        ),
        (1, vec!["true"], vec!["timers.target"])
    );
    if !works(Command::new("systemd-analyze").arg("--version")) {
        return skip("the timer of report", "systemd-analyze is not installed");
    }
    let output = Command::new("systemd-analyze")
        .args(["calendar", "--iterations=3", calendar[0]])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("Normalized form: *-*-* *:"),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn the_command_line_of_the_service() {
    let unit = sample(SERVICE);
    let start = values(&unit, "ExecStart");
    assert_eq!((start.len(), values(&unit, "Type")), (1, vec!["oneshot"]));
    assert_command_works(
        &Harness::new(),
        start[0],
        "%S/probewatch-report",
        "%L/probewatch-report",
    );
    // A damaged log shows in the exit code, and is not a failure of the unit.
    assert_eq!(values(&unit, "SuccessExitStatus"), ["3"]);
}

/// logrotate accepts the lines, and rotates with them so that nothing is lost.
#[test]
fn the_lines_for_logrotate() {
    let text = sample("probewatch.rotate");
    let harness = Harness::new();
    let mut site = super::site::Site::new(&harness);
    let inner = text.split_once('{').unwrap().1.rsplit_once('}').unwrap().0;
    // The server, and the user and group of a system, do not exist here.
    let here = |line: &&str| {
        !["#", "create", "su", "sharedscripts", "rotate"]
            .iter()
            .any(|word| line.trim().starts_with(word))
    };
    let directives: Vec<_> = inner
        .split("postrotate")
        .next()
        .unwrap()
        .lines()
        .filter(here)
        .collect();
    let directives = directives.join("\n");
    let Some(logrotate) = crate::follow::logrotate::Logrotate::new(
        "the sample for logrotate",
        &harness,
        &format!("{directives}\ncreate"),
    ) else {
        return;
    };
    for word in ["daily", "delaycompress", "compress", "create", "rotate"] {
        assert!(
            lines(inner).any(|line| line.split_whitespace().next() == Some(word)),
            "{word}"
        );
    }
    site.write(5);
    site.run(&[]);
    for _ in 0..3 {
        site.write(5);
        logrotate.rotate();
        site.write(2);
        site.reopen();
        site.write(5);
    }
    site.run(&[]);
    site.assert_complete("rotated as in the sample");
}
