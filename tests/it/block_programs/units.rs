//! The units and the lines for cron in `samples/block`: each is valid for its program, and its
//! command lines are valid.

use std::fs;
use std::process::Command;

use super::{LISTED_AS, sample, stage};
use crate::follow::works;
use crate::harness::{EXE, Harness, finish, skip};

/// The highest exposure that `systemd-analyze security` may report, from 0 to 10, times ten.
const MOST_EXPOSED: &str = "20";

const SERVICE: &str = "probewatch-block.service";
const TIMER: &str = "probewatch-block.timer";
const DROP_IN: &str = "probewatch-report.service.d/block.conf";
const CRON: &str = "probewatch-block.cron";

fn text(name: &str) -> String {
    fs::read_to_string(sample(name)).unwrap()
}

/// The values of a setting of a unit, in order.
fn values<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    unit.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .collect()
}

fn has_systemd(test: &str) -> bool {
    let is_there = works(Command::new("systemd-analyze").arg("--version"));
    if !is_there {
        skip(test, "systemd-analyze is not installed");
    }
    is_there
}

/// Runs a command line of a sample with all its paths below the folder of the harness; it writes
/// lists.
fn assert_command_works(command: &str, lists: &[&str]) {
    let harness = stage();
    for folder in ["log/nginx", "S/probewatch-block", "L"] {
        fs::create_dir_all(harness.path(folder)).unwrap();
    }
    fs::rename(
        harness.path("access.log"),
        harness.path("log/nginx/access.log"),
    )
    .unwrap();
    let here = |name: &str| harness.path(name).display().to_string();
    let line = ["/var/lib/", "%S/"]
        .iter()
        .fold(command.to_owned(), |line, folder| {
            line.replace(folder, &here("S/"))
        });
    let line = line
        .replace("%L/", &here("L/"))
        .replace("/srv/", &here("L/"))
        .replace("/var/log/nginx", &here("log/nginx"));
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("probewatch"), "{command}");
    let run = finish(&mut harness.command(words));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{line}");
    for list in lists {
        let text = fs::read_to_string(harness.path("S").join(list)).unwrap();
        assert!(
            LISTED_AS.iter().all(|address| text.contains(address)),
            "{list}: {text}"
        );
    }
}

/// The service and its timer as they would be installed, but with the programs of this host.
fn copies(harness: &Harness) -> [String; 2] {
    let script = sample("load-nft.sh").display().to_string();
    let service = text(SERVICE)
        .replace("/usr/sbin/nft", EXE)
        .replace("/usr/local/lib/probewatch/load-nft.sh", &script);
    [(SERVICE, service), (TIMER, text(TIMER))]
        .map(|(name, text)| harness.file(name, text).display().to_string())
}

/// Also the service of `report` with the drop-in next to it.
#[test]
fn the_units_that_load_lists_are_valid() {
    if !has_systemd("the_units_that_load_lists_are_valid") {
        return;
    }
    let harness = Harness::new();
    let of_build = |unit: &str| unit.replace("ExecStart=probewatch ", &format!("ExecStart={EXE} "));
    let report = fs::read_to_string(sample("../probewatch-report.service")).unwrap();
    let report = harness.file("probewatch-report.service", of_build(&report));
    fs::create_dir(harness.path("probewatch-report.service.d")).unwrap();
    harness.file(DROP_IN, of_build(&text(DROP_IN)));
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .args(copies(&harness))
        .arg(report)
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
fn the_service_that_loads_lists_is_hardened() {
    if !has_systemd("the_service_that_loads_lists_is_hardened") {
        return;
    }
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
            "the_service_that_loads_lists_is_hardened",
            "this systemd-analyze knows no --offline",
        );
    }
    let harness = Harness::new();
    let mut command = Command::new("systemd-analyze");
    command
        .args([
            "security",
            "--offline=true",
            "--no-pager",
            &format!("--threshold={MOST_EXPOSED}"),
        ])
        .arg(&copies(&harness)[0]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("Overall exposure level"), "{text}");
}

#[test]
fn the_timer_runs_every_five_minutes() {
    let timer = text(TIMER);
    let calendar = values(&timer, "OnCalendar");
    assert_eq!(
        (calendar.len(), values(&timer, "WantedBy")),
        (1, vec!["timers.target"])
    );
    if !has_systemd("the_timer_runs_every_five_minutes") {
        return;
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
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Normalized form: *-*-* *:02/5:00"), "{text}");
}

/// The drop-in changes nothing of the service of `report` but what makes the list, which the loader
/// reads.
#[test]
fn the_drop_in_for_the_report() {
    let drop_in = text(DROP_IN);
    let start: Vec<_> = values(&drop_in, "ExecStart")
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(
        (start.len(), values(&drop_in, "ExecStart")[0]),
        (1, ""),
        "an empty line first replaces the command"
    );
    let list = " --block-out %S/probewatch-block/list.nft --block-format nft";
    let report = fs::read_to_string(sample("../probewatch-report.service")).unwrap();
    assert_eq!(start[0].replace(list, ""), values(&report, "ExecStart")[0]);
    assert_eq!(values(&drop_in, "StateDirectory"), ["probewatch-block"]);
    assert_command_works(start[0], &["probewatch-block/list.nft"]);
    let service = text(SERVICE);
    let path = "/var/lib/probewatch-block/list.nft";
    assert_eq!(values(&service, "ConditionPathExists"), [path]);
    assert!(
        values(&service, "ExecStart")[1].ends_with(&format!("/load-nft.sh {path}")),
        "{service}"
    );
}

/// `* * * * * user command`, as in `/etc/cron.d`.
#[test]
fn the_lines_for_cron() {
    let cron = text(CRON);
    let jobs: Vec<Vec<&str>> = cron
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .collect();
    assert_eq!(jobs.len(), 3);
    assert!(cron.ends_with('\n') && cron.lines().any(|line| line.starts_with("MAILTO=")));
    for job in &jobs {
        let is_minute = job[0].parse::<u32>().is_ok_and(|minute| minute < 60) || job[0] == "2-59/5";
        assert!(
            is_minute && job[1..5].iter().all(|field| *field == "*") && job[5] == "root",
            "{job:?}"
        );
        assert!(
            !job.iter().any(|word| word.contains(['%', '|', '>'])),
            "{job:?}"
        );
    }
    assert_command_works(
        &jobs[0][6..].join(" "),
        &["probewatch-block/list.nft", "probewatch-block/list.nginx"],
    );
    for job in &jobs[1..] {
        let script = job[6].strip_prefix("/usr/local/lib/probewatch/").unwrap();
        assert!(
            sample(script).exists() && jobs[0].contains(&job[7]),
            "{job:?}"
        );
    }
}

/// Any shell of POSIX parses the scripts, and each describes what it does and what it never does.
#[test]
fn the_scripts_are_for_any_shell() {
    let entries = fs::read_dir(sample(""))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let scripts: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "sh"))
        .collect();
    assert_eq!(scripts.len(), 4);
    for path in scripts {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("#!/bin/sh\n# ") && text.contains(" never "),
            "{}",
            path.display()
        );
        for shell in ["sh", "dash", "bash"]
            .into_iter()
            .filter(|shell| works(Command::new(shell).args(["-c", "true"])))
        {
            assert!(
                works(Command::new(shell).arg("-n").arg(&path)),
                "{shell}: {}",
                path.display()
            );
        }
    }
}
