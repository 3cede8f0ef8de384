//! Precedence, and that no flag is forgotten on the way from what was typed to the settings.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, FromArgMatches};

use super::*;
use crate::cli::report::ReportOwnArgs;
use crate::input::Mmap;
use crate::render::{Color, OutputFormat};

/// 2026-11-02T12:00:00Z.
const NOW: i64 = 1_793_620_800;

fn flags(args: &[&str]) -> ScanArgs {
    let all = std::iter::once(&"probewatch").chain(args);
    let matches = environment::flags().try_get_matches_from(all).expect("flags");
    ScanArgs::from_arg_matches(&matches).expect("flags").as_given()
}

fn here(variables: &[(&str, &str)]) -> Surroundings {
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    Surroundings { variables, now: NOW, stdin_is_given: true, zone: None }
}

fn asked(args: &[&str], variables: &[(&str, &str)], file: &str) -> ScanSettings {
    let here = here(variables);
    let asked = flags(args).or(environment::read(&here.variables).expect("variables").0).or(file::parse(file).expect("a file"));
    settings(asked, &here).expect("settings")
}

#[test]
fn the_flag_beats_the_variable_beats_the_file_beats_the_default() {
    let variables =
        [("PROBEWATCH_MIN_SEVERITY", "high"), ("PROBEWATCH_ONLY", "b,c"), ("PROBEWATCH_STATS", "0"), ("PROBEWATCH_FAIL_ON", "low")];
    let file = "min-severity = 'medium'\nonly = ['d']\nstats = true\nfail-on = 'info'";
    let all = ["--min-severity", "critical", "--only", "a", "--stats", "--fail-on", "never"];
    let rows = [
        (asked(&[], &[], ""), Severity::Low, vec![], false, None),
        (asked(&[], &[], file), Severity::Medium, vec!["d"], true, Some(Severity::Info)),
        (asked(&[], &variables, file), Severity::High, vec!["b", "c"], false, Some(Severity::Low)),
        (asked(&all, &variables, file), Severity::Critical, vec!["a"], true, None),
    ];
    for (settings, min_severity, only, stats, fail_on) in rows {
        assert_eq!((settings.min_severity, settings.stats, settings.fail_on), (min_severity, stats, fail_on));
        assert_eq!(settings.rules.only, only);
    }
}

/// Something to say with each flag that is not its default.
fn sample(name: &str) -> &'static str {
    match name {
        "paths" | "rules" | "output" | "config" | "app" | "allow" => "x",
        "from-nginx" => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/servers/nginx.conf"),
        "from-apache" => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/servers/apache2.conf"),
        "log-format" => "common",
        "field" => "client=ip",
        "max-line" => "512K",
        "newer-than" => "2d",
        "disable" | "only" => "a/b",
        "severity" => "a/b=high",
        "min-severity" | "fail-on" => "critical",
        "outcome" => "answered",
        "since" => "24h",
        "until" => "2026-11-01",
        "top" | "threads" => "3",
        "format" => "json",
        "by" => "client",
        "color" | "mmap" => "never",
        "full" | "no-builtin" | "no-prefilter" | "no-progress" | "quiet" | "stats" | "no-redact" => "true",
        "client-from" => "x-real-ip",
        "trusted-proxy" => "192.0.2.7",
        "ipv6-prefix" => "64",
        "anonymize" => "truncate",
        other => panic!("a new flag, --{other}: add something to say with it"),
    }
}

#[test]
fn every_flag_has_a_variable_and_a_key_and_changes_the_settings() {
    let mut keys = Vec::new();
    for flag in environment::flags().get_arguments() {
        let name = flag.get_long().unwrap_or(flag.get_id().as_str());
        let value = sample(name);
        let (argument, line) = match flag.get_action() {
            ArgAction::SetTrue => (format!("--{name}"), format!("{name} = true")),
            ArgAction::Append if flag.is_positional() => (value.to_owned(), format!("{name} = ['{value}']")),
            ArgAction::Append => (format!("--{name}={value}"), format!("{name} = ['{value}']")),
            _ => (format!("--{name}={value}"), format!("{name} = '{value}'")),
        };
        let typed = flags(&[&argument]);
        assert_ne!(typed, ScanArgs::default(), "{name}");
        assert_eq!(typed.clone().or(ScanArgs::default()), typed, "{name} is lost above another layer");
        assert_eq!(ScanArgs::default().or(typed.clone()), typed, "{name} is lost below another layer");
        if !flag.is_positional() {
            let variable = format!("PROBEWATCH_{}", name.to_uppercase().replace('-', "_"));
            assert_eq!(environment::read(&here(&[(&variable, value)]).variables).expect("fine").0, typed, "{variable}");
            assert!(environment::strangers(&here(&[(&variable, value)]).variables).is_empty(), "{variable}");
        }
        if name != "config" {
            assert_eq!(file::parse(&line).expect("fine"), typed, "{line}");
            // One flag is nothing without another.
            let with = if name == "client-from" { flags(&["--trusted-proxy=192.0.2.7"]) } else { ScanArgs::default() };
            let without = settings(with.clone(), &here(&[])).expect("fine");
            assert_ne!(settings(typed.or(with), &here(&[])).expect("fine"), without, "{name} changes nothing");
            keys.push(name.to_owned());
        }
    }
    keys.extend(own_flags().get_arguments().map(|flag| flag.get_long().expect("a flag").to_owned()));
    assert_eq!(keys, file::keys());
}

/// The flags that only one subcommand has.
fn own_flags() -> clap::Command {
    OwnArgs::augment_args(clap::Command::new("probewatch"))
}

/// Something to say with each flag that `scan` does not have, and that is not its default.
fn own_sample(name: &str) -> &'static str {
    match name {
        "from-start" | "reset-state" | "insecure-state" | "poll" | "tui" | "daily" | "hourly" | "always" | "wait" | "dry-run"
        | "status" => "true",
        "state" | "exec" | "alert-file" | "syslog" | "emit-rules" | "out" | "group" | "machine" => "x",
        "poll-interval" | "quiet-for" | "cooldown" | "keep" => "7s",
        "fold" => "off",
        "min-probers" | "keep-runs" | "max-block" => "7",
        "timezone" => "Europe/Berlin",
        "mode" => "0640",
        "notify-level" => "never",
        other => panic!("a new flag, --{other}: add something to say with it"),
    }
}

#[test]
fn every_own_flag_has_a_variable_and_a_key_and_changes_the_settings() {
    let (paths, set, here) = (|| flags(&["x"]), here, here(&[]));
    let given = OwnArgs {
        state: StateArgs { state: Some("s".into()), ..StateArgs::default() },
        report: ReportOwnArgs { out: Some("o".into()), daily: Some(true), ..ReportOwnArgs::default() },
        ..OwnArgs::default()
    };
    let settings = |own: OwnArgs| {
        let own = own.or(given.clone());
        let learn = learn_settings(paths(), own.learn.clone(), &here).expect("learn");
        (learn, follow_settings(paths(), own.clone(), &here).expect("follow"), report_settings(paths(), own, &here).expect("report"))
    };
    for flag in own_flags().disable_help_flag(true).get_arguments() {
        let name = flag.get_long().expect("a flag");
        let value = own_sample(name);
        let (argument, line) = match flag.get_action() {
            ArgAction::SetTrue => (format!("--{name}"), format!("{name} = true")),
            ArgAction::Append => (format!("--{name}={value}"), format!("{name} = ['{value}']")),
            _ => (format!("--{name}={value}"), format!("{name} = '{value}'")),
        };
        let matches = own_flags().disable_help_flag(true).try_get_matches_from(["probewatch", &argument]).expect("a flag");
        let OwnArgs { learn, state, follow, report } = OwnArgs::from_arg_matches(&matches).expect("a flag");
        let typed = OwnArgs { learn, state: state.as_given(), follow: follow.as_given(), report: report.as_given() };
        assert_ne!(typed, OwnArgs::default(), "{name}");
        assert_eq!(typed.clone().or(OwnArgs::default()), typed, "{name} is lost above another layer");
        assert_eq!(OwnArgs::default().or(typed.clone()), typed, "{name} is lost below another layer");
        let variable = format!("PROBEWATCH_{}", name.to_uppercase().replace('-', "_"));
        assert_eq!(environment::read(&set(&[(&variable, value)]).variables).expect("fine").1, typed, "{variable}");
        assert_eq!(file::parse_own(&line).expect("fine"), typed, "{line}");
        if name != "daily" {
            assert_ne!(settings(typed), settings(OwnArgs::default()), "{name} changes nothing");
        }
    }
}

#[test]
fn defaults_are_those_the_help_tells() {
    let settings = asked(&[], &[], "");
    assert_eq!((settings.format, settings.by, settings.formats), (OutputFormat::Table, None, FormatChoice::default()));
    assert_eq!((settings.top, settings.threads, settings.mmap, settings.color), (None, None, Mmap::Auto, Color::Auto));
    assert!(settings.progress && !settings.quiet && !settings.stats && !settings.rules.no_builtin);
    assert_eq!(settings.max_line, 1_048_576);
    assert_eq!(asked(&["--output", "-"], &[], "").output, None);
}

#[test]
fn bounds_are_counted_from_the_start_of_the_run() {
    let settings = asked(&["--since", "24h", "--until", "2026-11-02T12:00:00Z"], &[], "");
    assert_eq!((settings.since, settings.until), (Some(TimeBound::Instant(NOW - 86_400)), Some(TimeBound::Instant(NOW))));
    for (since, until) in [("1h", "2h"), ("2026-11-01", "2026-11-01"), ("1h", "2026-11-02T11:00:00Z")] {
        let refused = settings_of(&["--since", since, "--until", until], true);
        assert!(matches!(refused, Err(Error::NoTime { .. })), "{since} {until}");
    }
}

fn settings_of(args: &[&str], stdin_is_given: bool) -> Result<ScanSettings, Error> {
    settings(flags(args), &Surroundings { stdin_is_given, ..here(&[]) })
}

#[test]
fn without_a_path_something_must_be_piped_in() {
    assert!(matches!(settings_of(&[], false), Err(Error::NothingToRead)));
    assert_eq!(settings_of(&[], true).expect("fine").paths, Vec::<PathBuf>::new());
    assert_eq!(settings_of(&["-"], false).expect("fine").paths, [PathBuf::from("-")]);
}

#[test]
fn the_file_is_named_by_flag_or_variable() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("1.toml"), folder.path().join("2.toml"));
    std::fs::write(&one, "top = 1").expect("written");
    std::fs::write(&two, "top = 2").expect("written");
    let named = here(&[("PROBEWATCH_CONFIG", one.to_str().expect("UTF-8"))]);
    let top = |args: ScanArgs| layered(args, OwnArgs::default(), &named).expect("fine").0.selection.top.map(value::Count::get);
    assert_eq!(top(ScanArgs::default()), Some(1));
    assert_eq!(top(flags(&["--config", two.to_str().expect("UTF-8")])), Some(2));
    assert!(matches!(layered(flags(&["--config", "/nowhere.toml"]), OwnArgs::default(), &named), Err(Error::Unreadable { .. })));
}

#[test]
fn what_only_learn_has_is_layered_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("learn.toml");
    std::fs::write(&file, "min-probers = 7\nemit-rules = 'file.toml'").expect("written");
    let named = ("PROBEWATCH_CONFIG", file.to_str().expect("UTF-8"));
    let own = |flag: Option<&str>, variables: &[(&str, &str)]| {
        let learn = LearnOwnArgs { min_probers: flag.map(|n| n.parse().expect("a count")), emit_rules: None };
        let here = here(variables);
        let (shared, own) = layered(flags(&["x"]), learn.into(), &here).expect("fine");
        let settings = learn_settings(shared, own.learn, &here).expect("settings");
        (settings.min_probers, settings.emit_rules)
    };
    assert_eq!(own(None, &[]), (3, None));
    assert_eq!(own(None, &[named]), (7, Some(folder.path().join("file.toml"))));
    let variables = [named, ("PROBEWATCH_MIN_PROBERS", "5"), ("PROBEWATCH_EMIT_RULES", "v.toml")];
    assert_eq!(own(None, &variables), (5, Some("v.toml".into())));
    assert_eq!(own(Some("2"), &variables).0, 2);
    assert!(environment::strangers(&here(&variables).variables).is_empty());
}

#[test]
fn what_only_follow_has_is_layered_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("follow.toml");
    std::fs::write(&file, "state = 'here'\nfold = 'off'\nquiet-for = '3s'\nfrom-start = true\nsyslog = '/run/log'").expect("written");
    let named = ("PROBEWATCH_CONFIG", file.to_str().expect("UTF-8"));
    let settings = |own: OwnArgs, variables: &[(&str, &str)]| {
        let here = here(variables);
        let (shared, own) = layered(flags(&["x"]), own, &here).expect("fine");
        follow_settings(shared, own, &here).expect("settings")
    };
    let none = settings(OwnArgs::default(), &[]);
    assert_eq!((&none.state, none.fold, none.quiet_for, none.poll_interval), (&StateSettings::default(), true, QUIET_FOR, POLL_INTERVAL));
    let filed = settings(OwnArgs::default(), &[named]);
    assert_eq!((filed.state.dir, filed.fold, filed.state.from_start), (Some(folder.path().join("here")), false, true));
    assert_eq!((filed.quiet_for, filed.syslog), (Duration::from_secs(3), Some("/run/log".into())));
    let variables = [named, ("PROBEWATCH_QUIET_FOR", "1m"), ("PROBEWATCH_FROM_START", "0")];
    let state = StateArgs { state: Some("there".into()), from_start: Some(false), ..StateArgs::default() };
    let flagged = settings(OwnArgs { state, ..OwnArgs::default() }, &variables);
    assert_eq!((flagged.state.dir, flagged.quiet_for, flagged.state.from_start), (Some("there".into()), Duration::from_secs(60), false));
    assert!(environment::strangers(&here(&variables).variables).is_empty());
}

#[test]
fn follow_refuses_what_it_cannot_do() {
    let refused = |args: &[&str]| follow_settings(flags(args), OwnArgs::default(), &here(&[])).expect_err("refused");
    for args in [&[][..], &["-"], &["a.log", "-"]] {
        assert!(matches!(refused(args), Error::NothingToFollow), "{args:?}");
    }
    for format in ["csv", "json"] {
        assert!(matches!(refused(&["a.log", "-f", format]), Error::OnlyLive), "{format}");
    }
}

#[test]
fn report_refuses_what_it_cannot_do() {
    let own = |args: &[&str]| {
        let matches = own_flags().try_get_matches_from(std::iter::once(&"probewatch").chain(args)).expect("flags");
        OwnArgs::from_arg_matches(&matches).expect("flags")
    };
    let refused = |paths: &[&str], args: &[&str]| report_settings(flags(paths), own(args), &here(&[])).expect_err("refused");
    let all = ["--state", "s", "--out", "o"];
    for paths in [&[][..], &["-"], &["a.log", "-"]] {
        assert!(matches!(refused(paths, &all), Error::NothingToReport), "{paths:?}");
    }
    assert!(matches!(refused(&["x"], &["--out", "o"]), Error::NoState));
    assert!(matches!(refused(&["x"], &["--state", "s"]), Error::NoOut));
    assert!(matches!(refused(&["x"], &[&all[..], &["--timezone", "UTC"]].concat()), Error::NoPeriod));
    assert!(matches!(refused(&["x"], &[&all[..], &["--daily", "--timezone", "Mars/Base"]].concat()), Error::Zone(_)));
    let status = report_settings(flags(&[]), own(&["--state", "s", "--status"]), &here(&[])).expect("needs nothing else");
    assert_eq!(status.task, ReportTask::Status);
}

#[test]
fn learn_refuses_what_it_cannot_do() {
    let refused = |args: &[&str], emit: &str| {
        let own = LearnOwnArgs { emit_rules: Some(emit.into()), ..LearnOwnArgs::default() };
        learn_settings(flags(args), own, &here(&[])).expect_err("refused")
    };
    assert!(matches!(refused(&["x", "-f", "ndjson"], "a"), Error::NoNdjson));
    assert!(matches!(refused(&["x"], "-"), Error::OnePlace { .. }));
    assert!(matches!(refused(&["x", "-o", "a"], "a"), Error::OnePlace { .. }));
}
