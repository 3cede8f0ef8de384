//! The help, precedence, and that no flag is lost on the way from the command line to the settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgAction;

use super::*;
use crate::commands::{
    FollowSettings, LearnSettings, ReportSettings, ReportTask, ScanSettings, StateSettings,
    VerifySettings,
};
use crate::config::{
    DEFAULT_QUIET_FOR, POLL_INTERVAL, follow_settings, learn_settings, report_settings,
    scan_settings, verify_settings,
};
use crate::formats::FormatChoice;
use crate::input::Mmap;
use crate::log::finding::Severity;
use crate::log::time::TimeBound;
use crate::render::Color;
use crate::render::block::BlockFormat;

/// 2026-11-02T12:00:00Z.
const NOW: i64 = 1_793_620_800;

/// What clap prints instead of running a command: help, or an error.
fn printed(args: &[&str]) -> String {
    let all = std::iter::once(&"probewatch")
        .chain(args)
        .map(OsString::from);
    parse(all).expect_err("no command").render().to_string()
}

#[test]
fn the_command_line_is_consistent() {
    complete_command().debug_assert();
}

#[test]
fn an_error_names_what_to_type() {
    let cases: [(&[&str], &str); 8] = [
        (&["scan", "--min-severty", "high"], "'--min-severity'"),
        (&["scna"], "'scan'"),
        (&["scan", "--min-severity", "hgih"], "'high'"),
        (&["scan", "--threads", "0"], "type 1 or more"),
        (&["scan", "--max-line", "1Q"], "type a number of bytes"),
        (&["scan", "--since", "yesterday"], "24h"),
        (&["scan", "--severity", "dotfiles/env"], "type ID=LEVEL"),
        (&["scan", "--outcome", "answered,denid"], "'denied'"),
    ];
    for (args, expected) in cases {
        let text = printed(args);
        assert!(text.contains(expected), "{text}");
    }
}

/// Every command with flags, by its path.
fn commands() -> Vec<(Vec<String>, clap::Command)> {
    fn visit(
        path: &[String],
        command: &clap::Command,
        all: &mut Vec<(Vec<String>, clap::Command)>,
    ) {
        for command in command
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
        {
            let path = [path, &[command.get_name().to_owned()]].concat();
            visit(&path, command, all);
            all.push((path, command.clone()));
        }
    }
    let command = complete_command();
    let mut all = vec![(Vec::new(), command.clone())];
    visit(&[], &command, &mut all);
    all
}

/// Arguments have comments too, which clap takes for descriptions of their command.
#[test]
fn the_help_begins_with_the_description_of_the_command() {
    for (args, about) in [
        (["scan", "-h"], "Report the probes in access logs"),
        (["scan", "--help"], "Report the probes in access logs"),
        (
            ["merge", "-h"],
            "Merge reports of many hosts or days into one",
        ),
        (
            ["merge", "--help"],
            "Merge reports of many hosts or days into one\nCounts are added, and",
        ),
        (["rules", "-h"], "List, show, test and make rules"),
    ] {
        let text = printed(&args);
        assert!(text.replace("\n\n", "\n").starts_with(about), "{text}");
    }
    let list = printed(&["-h"]);
    assert!(
        list.contains("  scan         Report the probes in access logs\n"),
        "{list}"
    );
}

fn lines_of(path: &[String], flag: &str) -> usize {
    let args: Vec<&str> = path.iter().map(String::as_str).chain([flag]).collect();
    let text = printed(&args);
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    text.lines().count()
}

#[test]
fn help_is_short() {
    for (path, _) in commands() {
        let (short, full) = (lines_of(&path, "-h"), lines_of(&path, "--help"));
        assert!(short < 60, "{path:?} -h: {short} lines");
        assert!(full < 160, "{path:?} --help: {full} lines");
    }
}

#[test]
fn the_help_of_a_flag_is_one_line_and_at_most_one_paragraph() {
    for (path, command) in commands() {
        for arg in command.get_arguments().filter(|arg| {
            !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
        }) {
            let name = format!("{path:?} {}", arg.get_id());
            let help = arg
                .get_help()
                .unwrap_or_else(|| panic!("{name} has no help"))
                .to_string();
            assert!(
                !help.contains('\n') && help.split_whitespace().count() <= 12,
                "{name}: {help}"
            );
            let Some(long) = arg.get_long_help().map(ToString::to_string) else {
                continue;
            };
            let paragraphs: Vec<_> = long.split("\n\n").collect();
            assert!(
                paragraphs[0] == help && paragraphs.len() <= 2,
                "{name}: {long}"
            );
            let words = paragraphs[1..].concat().split_whitespace().count();
            assert!(words <= 45, "{name}: {words} words in {long}");
        }
    }
}

#[test]
fn full_help_has_every_flag() {
    for (path, command) in commands() {
        let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let text = printed(&args);
        for long in command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(clap::Arg::get_long)
        {
            assert!(
                text.contains(&format!("--{long}")),
                "{path:?}: {long} in {text}"
            );
        }
        assert!(!text.contains("--no-prefilter"), "{text}");
    }
    assert_eq!(printed(&["help", "scan"]), printed(&["scan", "--help"]));
}

#[test]
fn short_help_fits_a_terminal() {
    assert!(
        printed(&["explain", "-h"])
            .lines()
            .all(|line| line.len() <= 100)
    );
    let text = printed(&["scan", "-h"]);
    for heading in [
        "Arguments:",
        "Input:",
        "Rules:",
        "What to report:",
        "Output:",
        "Performance:",
        "Other:",
        "Examples:",
    ] {
        assert!(text.contains(heading), "{heading} in {text}");
    }
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[test]
fn full_help_has_variables_precedence_and_exit_codes() {
    let text = printed(&["scan", "--help"]);
    for part in ["PROBEWATCH_MIN_SEVERITY=high", "Precedence:", "Exit codes:"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_last_of_a_repeated_flag_wins() {
    let cli = parse(
        [
            "probewatch",
            "scan",
            "-q",
            "-q",
            "--top",
            "3",
            "--top",
            "4",
            "x",
        ]
        .map(OsString::from),
    )
    .expect("fine");
    let CliCommand::Scan(args) = cli.command else {
        panic!("not a scan")
    };
    assert_eq!(args.0.top, Some(4));
}

/// The flags that a user typed.
fn typed(args: &[&str]) -> Flags {
    let all = std::iter::once(&"probewatch").chain(args);
    Flags::given(
        &mut sources::all_flags()
            .try_get_matches_from(all)
            .expect("flags"),
    )
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let variables = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect();
    Environment {
        variables,
        now: NOW,
        stdin_is_given: true,
        zone: || None,
    }
}

/// The settings of a scan with these flags, variables and text of the configuration file.
fn settings(args: &[&str], variables: &[(&str, &str)], file: &str) -> ScanSettings {
    let environment = environment(variables);
    let variables = sources::from_variables(&environment.variables).expect("variables");
    let flags = typed(args)
        .over(variables)
        .over(sources::from_text(file, Path::new("")).expect("a file"));
    scan_settings(flags, &environment).expect("settings")
}

#[test]
fn the_flag_beats_the_variable_beats_the_file_beats_the_default() {
    let variables = [
        ("PROBEWATCH_MIN_SEVERITY", "high"),
        ("PROBEWATCH_ONLY", "b,c"),
        ("PROBEWATCH_STATS", "0"),
        ("PROBEWATCH_FAIL_ON", "low"),
    ];
    let file = "min-severity = 'medium'\nonly = ['d']\nstats = true\nfail-on = 'info'";
    let all = [
        "--min-severity",
        "critical",
        "--only",
        "a",
        "--stats",
        "--fail-on",
        "never",
    ];
    let rows = [
        (settings(&[], &[], ""), Severity::Low, vec![], false, None),
        (
            settings(&[], &[], file),
            Severity::Medium,
            vec!["d"],
            true,
            Some(Severity::Info),
        ),
        (
            settings(&[], &variables, file),
            Severity::High,
            vec!["b", "c"],
            false,
            Some(Severity::Low),
        ),
        (
            settings(&all, &variables, file),
            Severity::Critical,
            vec!["a"],
            true,
            None,
        ),
    ];
    for (settings, min_severity, only, stats, fail_on) in rows {
        assert_eq!(
            (settings.min_severity, settings.stats, settings.fail_on),
            (min_severity, stats, fail_on)
        );
        assert_eq!(settings.rules.only, only);
    }
}

/// A value of each flag that is not its default.
fn sample(name: &str) -> &'static str {
    match name {
        "paths" | "rules" | "output" | "config" | "app" | "allow" | "state" | "exec"
        | "alert-file" | "syslog" | "emit-rules" | "out" | "geoip" | "cacert" | "group"
        | "log-host" | "block-out" | "verified-bots" | "proxy-ranges" => "x",
        "block-format" => "plain",
        "from-nginx" => concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/cases/servers/nginx.conf"
        ),
        "from-apache" => concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/cases/servers/apache2.conf"
        ),
        "log-format" => "common",
        "field" => "client=ip",
        "max-line" => "512K",
        "newer-than" => "2d",
        "range" => "64K-1M",
        "source" => "web1.log",
        "disable" | "only" => "a/b",
        "severity" => "a/b=high",
        "min-severity" | "fail-on" | "alert-severity" => "critical",
        "outcome" => "answered",
        "since" => "24h",
        "until" => "2026-11-01",
        "top" | "threads" => "3",
        "format" => "ndjson",
        "by" => "client",
        "color" | "mmap" | "notify-level" => "never",
        "full" | "no-builtin" | "no-prefilter" | "no-progress" | "quiet" | "stats"
        | "no-redact" | "from-start" | "reset-state" | "insecure-state" | "poll" | "tui"
        | "daily" | "hourly" | "always" | "wait" | "dry-run" | "html" | "status" => "true",
        "client-from" => "x-real-ip",
        "trusted-proxy" => "192.0.2.7",
        "ipv6-prefix" => "64",
        "anonymize" => "truncate",
        "poll-interval" | "quiet-for" | "cooldown" | "pause" | "keep" | "ttl" => "7s",
        "fold" => "off",
        "min-probers" | "keep-runs" | "max-block" | "max-cost" | "aggregate" | "max-requests" => {
            "7"
        }
        "timezone" => "Europe/Berlin",
        "mode" => "0640",
        "site" => "https://shop.example",
        "metrics" => "x.prom",
        other => panic!("a new flag, --{other}: add a value for it"),
    }
}

/// The settings of all commands that have flags of their own, where no flag is missing.
fn all_settings(
    flags: &Flags,
) -> (
    ScanSettings,
    LearnSettings,
    FollowSettings,
    ReportSettings,
    VerifySettings,
) {
    let typed = typed(&[
        "other.log",
        "--trusted-proxy=198.51.100.1",
        "--site=https://example.com",
    ]);
    let required = Flags {
        state: Some("s".into()),
        out: Some("o".into()),
        ..typed
    };
    // A list needs both, and its addresses: hidden clients exclude it.
    let (block_out, block_format) = (vec!["l".into()], vec![BlockFormat::Nft]);
    let lists = if flags.anonymize.is_none() {
        Flags {
            block_out,
            block_format,
            ..Flags::default()
        }
    } else {
        Flags::default()
    };
    let flags = flags.clone().over(required).over(lists);
    // `learn` prints no ndjson; a time zone needs a period, and hidden clients exclude one.
    let table = Flags {
        format: None,
        ..flags.clone()
    };
    let has_period = flags.anonymize.is_none() && flags.hourly.is_none();
    let periods = Flags {
        daily: flags.daily.or(Some(has_period)),
        ..table.clone()
    };
    (
        scan_settings(flags.clone(), &environment(&[])).expect("scan"),
        learn_settings(table, &environment(&[])).expect("learn"),
        follow_settings(flags.clone(), &environment(&[])).expect("follow"),
        report_settings(periods, &environment(&[])).expect("report"),
        verify_settings(flags, &environment(&[])).expect("verify"),
    )
}

#[test]
fn every_flag_has_a_variable_and_a_key_and_changes_the_settings() {
    for flag in sources::all_flags().get_arguments() {
        let name = flag.get_long().unwrap_or(flag.get_id().as_str());
        let value = sample(name);
        let (argument, line) = match flag.get_action() {
            ArgAction::SetTrue => (format!("--{name}"), format!("{name} = true")),
            ArgAction::Append if flag.is_positional() => {
                (value.to_owned(), format!("{name} = ['{value}']"))
            }
            ArgAction::Append => (format!("--{name}={value}"), format!("{name} = ['{value}']")),
            _ => (format!("--{name}={value}"), format!("{name} = '{value}'")),
        };
        let typed = typed(&[&argument]);
        assert_ne!(typed, Flags::default(), "{name}");
        assert_eq!(
            typed.clone().over(Flags::default()),
            typed,
            "{name} is lost above another flags"
        );
        assert_eq!(
            Flags::default().over(typed.clone()),
            typed,
            "{name} is lost below another flags"
        );
        if !flag.is_positional() {
            let variable = format!("PROBEWATCH_{}", name.to_uppercase().replace('-', "_"));
            let set = environment(&[(&variable, value)]).variables;
            assert_eq!(
                sources::from_variables(&set).expect("fine"),
                typed,
                "{variable}"
            );
            assert!(sources::unknown_vars(&set).is_empty(), "{variable}");
        }
        if name != "config" {
            assert_eq!(
                sources::from_text(&line, Path::new("")).expect("fine"),
                typed,
                "{line}"
            );
            // A folder for each day is what the settings are compared with.
            if name != "daily" {
                assert_ne!(
                    all_settings(&typed),
                    all_settings(&Flags::default()),
                    "{name} changes nothing"
                );
            }
        }
    }
}

#[test]
fn the_defaults_are_those_in_the_help() {
    let defaults = settings(&[], &[], "");
    assert_eq!(
        (defaults.format, defaults.by, defaults.formats),
        (OutputFormat::Table, None, FormatChoice::default())
    );
    assert_eq!(
        (
            defaults.top,
            defaults.threads,
            defaults.mmap,
            defaults.color
        ),
        (None, None, Mmap::Auto, Color::Auto)
    );
    assert!(defaults.progress && !defaults.quiet && !defaults.stats && !defaults.rules.no_builtin);
    assert_eq!(defaults.max_line, 1_048_576);
    assert_eq!(settings(&["--output", "-"], &[], "").output, None);
}

#[test]
fn bounds_are_counted_from_the_start_of_the_run() {
    let settings = settings(
        &["--since", "24h", "--until", "2026-11-02T12:00:00Z"],
        &[],
        "",
    );
    assert_eq!(
        (settings.since, settings.until),
        (
            Some(TimeBound::Instant(NOW - 86_400)),
            Some(TimeBound::Instant(NOW))
        )
    );
    for (since, until) in [
        ("1h", "2h"),
        ("2026-11-01", "2026-11-01"),
        ("1h", "2026-11-02T11:00:00Z"),
    ] {
        let refused = settings_of(&["--since", since, "--until", until], true);
        assert!(
            refused.is_err_and(|error| error.to_string().starts_with("no line is between --since")),
            "{since} {until}"
        );
    }
}

fn settings_of(args: &[&str], stdin_is_given: bool) -> Result<ScanSettings, config::Error> {
    scan_settings(
        typed(args),
        &Environment {
            stdin_is_given,
            ..environment(&[])
        },
    )
}

#[test]
fn without_a_path_standard_input_must_be_piped() {
    assert!(
        settings_of(&[], false)
            .is_err_and(|error| error.to_string().starts_with("nothing to read"))
    );
    assert_eq!(
        settings_of(&[], true).expect("fine").paths,
        Vec::<PathBuf>::new()
    );
    assert_eq!(
        settings_of(&["-"], false).expect("fine").paths,
        [PathBuf::from("-")]
    );
}

#[test]
fn the_file_is_named_by_flag_or_variable() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("1.toml"), folder.path().join("2.toml"));
    std::fs::write(&one, "top = 1").expect("written");
    std::fs::write(&two, "top = 2").expect("written");
    let named = environment(&[("PROBEWATCH_CONFIG", one.to_str().expect("UTF-8"))]);
    let top = |flags: Flags| over_sources(flags, &named).ok().expect("fine").top;
    assert_eq!(top(Flags::default()), Some(1));
    assert_eq!(
        top(typed(&["--config", two.to_str().expect("UTF-8")])),
        Some(2)
    );
    let missing = over_sources(typed(&["--config", "/nowhere.toml"]), &named);
    assert!(
        matches!(missing, Err(Error::Config(error)) if error.to_string().starts_with("cannot read the configuration file"))
    );
}

#[test]
fn a_day_or_an_hour_above_replaces_both_below() {
    let lower = || sources::from_text("daily = true", Path::new("")).expect("fine");
    let merged = typed(&["--hourly"]).over(lower());
    assert_eq!((merged.daily, merged.hourly), (None, Some(true)));
    let merged = typed(&[]).over(lower());
    assert_eq!((merged.daily, merged.hourly), (Some(true), None));
}

#[test]
fn the_flags_of_learn_are_layered() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("learn.toml");
    std::fs::write(&file, "min-probers = 7\nemit-rules = 'file.toml'").expect("written");
    let named = ("PROBEWATCH_CONFIG", file.to_str().expect("UTF-8"));
    let settings = |flags: &[&str], variables: &[(&str, &str)]| {
        let environment = environment(variables);
        let flags = over_sources(typed(&[&["x"], flags].concat()), &environment)
            .ok()
            .expect("fine");
        let settings = learn_settings(flags, &environment).expect("settings");
        (settings.min_probers, settings.emit_rules)
    };
    assert_eq!(settings(&[], &[]), (3, None));
    assert_eq!(
        settings(&[], &[named]),
        (7, Some(folder.path().join("file.toml")))
    );
    let variables = [
        named,
        ("PROBEWATCH_MIN_PROBERS", "5"),
        ("PROBEWATCH_EMIT_RULES", "v.toml"),
    ];
    assert_eq!(settings(&[], &variables), (5, Some("v.toml".into())));
    assert_eq!(settings(&["--min-probers", "2"], &variables).0, 2);
    assert!(sources::unknown_vars(&environment(&variables).variables).is_empty());
}

#[test]
fn the_flags_of_follow_are_layered() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("follow.toml");
    std::fs::write(
        &file,
        "state = 'here'\nfold = 'off'\nquiet-for = '3s'\nfrom-start = true\nsyslog = '/run/log'",
    )
    .expect("written");
    let named = ("PROBEWATCH_CONFIG", file.to_str().expect("UTF-8"));
    let settings = |flags: &[&str], variables: &[(&str, &str)]| {
        let environment = environment(variables);
        let flags = over_sources(typed(&[&["x"], flags].concat()), &environment)
            .ok()
            .expect("fine");
        follow_settings(flags, &environment).expect("settings")
    };
    let none = settings(&[], &[]);
    assert_eq!(
        (&none.state, none.fold, none.quiet_for, none.poll_interval),
        (
            &StateSettings::default(),
            true,
            DEFAULT_QUIET_FOR,
            POLL_INTERVAL
        )
    );
    let filed = settings(&[], &[named]);
    assert_eq!(
        (filed.state.dir, filed.fold, filed.state.from_start),
        (Some(folder.path().join("here")), false, true)
    );
    assert_eq!(
        (filed.quiet_for, filed.syslog),
        (Duration::from_secs(3), Some("/run/log".into()))
    );
    let variables = [
        named,
        ("PROBEWATCH_QUIET_FOR", "1m"),
        ("PROBEWATCH_FROM_START", "0"),
    ];
    let flagged = settings(&["--state", "there"], &variables);
    assert_eq!(
        (
            flagged.state.dir,
            flagged.quiet_for,
            flagged.state.from_start
        ),
        (Some("there".into()), Duration::from_secs(60), false)
    );
    assert!(sources::unknown_vars(&environment(&variables).variables).is_empty());
}

#[test]
fn follow_refuses_what_it_cannot_do() {
    let refused = |args: &[&str]| {
        follow_settings(typed(args), &environment(&[]))
            .expect_err("refused")
            .to_string()
    };
    assert!(refused(&[]).starts_with("nothing to follow"));
    for args in [&["a.log", "-"][..], &["-", "--state", "s"], &["-", "--tui"]] {
        assert!(
            refused(args).starts_with("follow - reads a pipe alone"),
            "{args:?}"
        );
    }
    for format in ["csv", "json"] {
        assert!(
            refused(&["a.log", "-f", format]).starts_with("follow prints only"),
            "{format}"
        );
    }
}

#[test]
fn report_refuses_what_it_cannot_do() {
    let refused = |args: &[&[&str]]| {
        report_settings(typed(&args.concat()), &environment(&[]))
            .expect_err("refused")
            .to_string()
    };
    let all = ["--state", "s", "--out", "o"];
    for paths in [&[][..], &["-"], &["a.log", "-"]] {
        assert!(
            refused(&[paths, &all]).starts_with("nothing to report on"),
            "{paths:?}"
        );
    }
    assert!(refused(&[&["x", "--out", "o"]]).starts_with("report needs a folder for its state"));
    assert!(
        refused(&[&["x", "--state", "s"]]).starts_with("report needs a folder for its reports")
    );
    assert!(refused(&[&["x"], &all, &["--timezone", "UTC"]]).starts_with("--timezone applies to"));
    assert!(
        refused(&[&["x"], &all, &["--daily", "--timezone", "Mars/Base"]])
            .starts_with("--timezone: ")
    );
    assert!(
        refused(&[&["x"], &all, &["--daily", "--anonymize"]])
            .starts_with("--anonymize cannot be combined")
    );
    let status = report_settings(typed(&["--state", "s", "--status"]), &environment(&[]))
        .expect("needs nothing else");
    assert_eq!(status.task, ReportTask::Status);
}

#[test]
fn learn_refuses_what_it_cannot_do() {
    let refused = |args: &[&str]| {
        learn_settings(typed(args), &environment(&[]))
            .expect_err("refused")
            .to_string()
    };
    assert!(
        refused(&["x", "-f", "ndjson", "--emit-rules", "a"]).starts_with("learn does not print")
    );
    assert!(
        refused(&["x", "--emit-rules", "-"]).starts_with("the report and --emit-rules would both")
    );
    assert!(
        refused(&["x", "-o", "a", "--emit-rules", "a"])
            .starts_with("the report and --emit-rules would both")
    );
}
