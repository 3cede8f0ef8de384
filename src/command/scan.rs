//! `probewatch scan`: from named inputs to one report.
//!
//! Everything that can be wrong with the command is found before the first line is read: rules, globs, the output.
//! Trouble with an input stops nothing; it is told at the end, and the exit code says so.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use thiserror::Error;

use super::message::shown;
use super::progress::Progress;
use super::screen::Screen;
use super::{Exit, Settings, message, screen, signals, statistics};
use crate::engine::Scope;
use crate::finding::RuleId;
use crate::input::find::{Found, Source, find};
use crate::pipeline::{self, Job, Scan};
use crate::report::build::{Context, Material, Wanted, build};
use crate::report::model::{Input, Report};
use crate::report::sink::{Sink, SinkError};
use crate::report::{By, Format, TABLE_ROWS, View, hit, ndjson, render};
use crate::rules::{AllowList, RuleError, RuleSet, load};

/// Why there is no report.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("{}: the pattern matches nothing; check the folder, and quote the pattern if the shell is not to look at it", .0.display())]
    NoMatch(PathBuf),
    #[error("--app: no app is called '{name}'{meant}; `probewatch rules list --only app` shows them all")]
    NoApp { name: String, meant: String },
    #[error("{}: {flag} would overwrite an input; choose another file", path.display())]
    OutputIsInput { path: PathBuf, flag: &'static str },
    #[error("{}: --emit-rules would overwrite rules that --rules reads; choose another file", .0.display())]
    OutputIsRules(PathBuf),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("cannot keep the lines that matched: {0}; make room in the folder for temporary files, or set TMPDIR to another")]
    Spool(io::Error),
    #[error("cannot start {threads} threads: {source}; try a smaller --threads")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
    #[error("stopped")]
    Stopped(Exit),
}

impl Failure {
    /// Says why, and how the run ends.
    pub(super) fn tell(&self) -> Exit {
        match self {
            Self::Sink(SinkError::BrokenPipe { .. }) => {}
            Self::Stopped(_) => message::error("stopped by a signal; no report was written"),
            other => message::error(&message::shown_lines(&other.to_string())),
        }
        self.exit()
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Rules(_)
            | Self::NoApp { .. }
            | Self::NoMatch(_)
            | Self::OutputIsInput { .. }
            | Self::OutputIsRules(_)
            | Self::Threads { .. } => Exit::Usage,
            Self::Sink(SinkError::BrokenPipe { .. }) => Exit::BrokenPipe,
            Self::Sink(_) | Self::Spool(_) => Exit::Output,
            Self::Stopped(exit) => *exit,
        }
    }
}

/// Scans the logs and prints the report.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    scan(settings).unwrap_or_else(|failure| failure.tell())
}

fn scan(settings: &Settings) -> Result<Exit, Failure> {
    let started = Instant::now();
    let pool = pool(settings)?;
    let rules = pool.install(|| load(&settings.rules))?;
    let apps = apps(&settings.apps, &rules)?;
    let found = inputs(settings)?;
    let sink = output(settings.output.as_deref(), "--output", &found.sources)?;
    if !settings.quiet {
        message::warnings(rules.warnings());
    }
    let scope = Scope {
        format: settings.log_format,
        since: settings.since,
        until: settings.until,
        allow: AllowList::load(&settings.allow)?,
        max_line: settings.max_line,
        unlisted: false,
        windows: false,
    };
    let ready = started.elapsed();
    let scan = read(settings, &rules, &scope, &found.sources, &pool)?;
    let read = started.elapsed();
    let material = Material {
        rules: &rules,
        tally: &scan.tally,
        texts: &scan.texts,
        min_severity: settings.min_severity,
        outcomes: &settings.outcomes,
        apps: &apps,
        allow: &scope.allow,
    };
    let context = Context::of(&material);
    let mut report = pool.install(|| build(&material, &context, listed(&scan, &found), scan.without_time, wanted(settings)));
    drop_passed_over(&mut report.inputs, &scan);
    report.elapsed = started.elapsed();
    tell_notices(settings, &scan, &found);
    let problems = tell_problems(&report.inputs);
    let severity = report.totals.severity;
    let times = statistics::Times { ready, read, built: report.elapsed };
    let statistics = settings.stats.then(|| statistics::text(&report, &times, pool.current_num_threads()));
    write(settings, &material, &context, &report, scan.spool, sink)?;
    if let Some(text) = statistics {
        message::plain(&text);
    }
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}

/// The apps that are said to run everywhere.
pub(super) fn apps(names: &[String], rules: &RuleSet) -> Result<Vec<RuleId>, Failure> {
    let unknown = |name: &String| {
        let meant = rules.nearest_app(name).map(|app| format!(" (did you mean '{app}'?)")).unwrap_or_default();
        Failure::NoApp { name: name.clone(), meant }
    };
    names.iter().map(|name| rules.app(name).ok_or_else(|| unknown(name))).collect()
}

/// What is to be read; standard input where nothing was named.
pub(super) fn inputs(settings: &Settings) -> Result<Found, Failure> {
    let stdin = [PathBuf::from("-")];
    let found = find(if settings.paths.is_empty() { &stdin } else { &settings.paths });
    match found.no_match.first() {
        Some(pattern) => Err(Failure::NoMatch(pattern.clone())),
        None => Ok(found),
    }
}

/// Where something is written to, which may be none of the inputs.
pub(super) fn output(path: Option<&Path>, flag: &'static str, sources: &[Source]) -> Result<Sink, Failure> {
    let sink = match path {
        Some(path) if path.as_os_str() != "-" => Sink::file(path)?,
        _ => Sink::stdout(),
    };
    let overwritten = |source: &&Source| source.id.is_some_and(|(dev, ino)| sink.is_same_file(dev, ino));
    match sources.iter().find(overwritten) {
        Some(source) => Err(Failure::OutputIsInput { path: source.path.clone(), flag }),
        None => Ok(sink),
    }
}

pub(super) fn pool(settings: &Settings) -> Result<ThreadPool, Failure> {
    let threads = settings.threads.unwrap_or(0);
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(|source| Failure::Threads { threads, source })
}

/// Reads all inputs, unless a signal comes first.
pub(super) fn read(settings: &Settings, rules: &RuleSet, scope: &Scope, sources: &[Source], pool: &ThreadPool) -> Result<Scan, Failure> {
    let stop = signals::listen();
    let progress = AtomicU64::new(0);
    let job =
        Job { rules, scope, mmap: settings.mmap, stop: stop.flag(), progress: &progress, keep_lines: settings.format == Format::Ndjson };
    let shown = settings.progress && !settings.quiet;
    let scan = Progress::watch(shown, sources, &progress, || pool.install(|| pipeline::scan(sources, &job)));
    match stop.exit() {
        Some(exit) => Err(Failure::Stopped(exit)),
        None => scan.map_err(Failure::Spool),
    }
}

/// All inputs as the report lists them: those that were read, then those that could not even be found.
pub(super) fn listed(scan: &Scan, found: &Found) -> Vec<Input> {
    let unread = found.problems.iter().map(|problem| Input {
        path: problem.path.as_os_str().as_bytes().to_vec(),
        problem: Some(problem.what.clone()),
        ..Input::default()
    });
    scan.inputs.iter().map(|input| input.clone().unwrap_or_default()).chain(unread).collect()
}

/// Files of a folder that are no log are not inputs.
pub(super) fn drop_passed_over(listed: &mut Vec<Input>, scan: &Scan) {
    let mut inputs = scan.inputs.iter();
    listed.retain(|_| inputs.next().is_none_or(Option::is_some));
}

fn wanted(settings: &Settings) -> Wanted {
    let is = |by: By| settings.by.unwrap_or_default() == by;
    let shown = |by: By| settings.by.is_none_or(|b| b == by);
    let most = settings.top;
    match settings.format {
        Format::Ndjson => Wanted::default(),
        Format::Json => Wanted { answered: true, pairs: true, clients: true, paths: true, rules: true, most },
        Format::Csv => {
            Wanted { answered: false, pairs: is(By::Pair), clients: is(By::Client), paths: is(By::Path), rules: is(By::Rule), most }
        }
        Format::Table => Wanted {
            answered: true,
            // The section of pairs says how many there are, so all are made.
            pairs: settings.by == Some(By::Pair),
            clients: shown(By::Client),
            paths: shown(By::Path),
            rules: shown(By::Rule),
            most: if settings.by == Some(By::Pair) { None } else { Some(most.unwrap_or(TABLE_ROWS)) },
        },
    }
}

pub(super) fn tell_notices(settings: &Settings, scan: &Scan, found: &Found) {
    if settings.quiet {
        return;
    }
    for notice in &found.notices {
        message::notice(&shown(notice));
    }
    for (number, notice) in &scan.notices {
        let path = String::from_utf8_lossy(&scan.texts[*number].path).into_owned();
        message::notice(&format!("{}: {}", shown(&path), shown(notice)));
    }
}

/// Names each input that something was wrong with; whether there was any.
pub(super) fn tell_problems(inputs: &[Input]) -> bool {
    let mut any = false;
    for input in inputs {
        if let Some(problem) = &input.problem {
            any = true;
            message::error(&format!("{}: {}", crate::report::sanitize::text(&input.path), shown(problem)));
        }
    }
    if inputs.is_empty() {
        any = true;
        message::error("no access log was found; name the files themselves to have them read whatever they are");
    }
    any
}

fn write(
    settings: &Settings,
    material: &Material<'_>,
    context: &Context<'_>,
    report: &Report<'_>,
    spool: Option<pipeline::Spool>,
    mut sink: Sink,
) -> Result<(), Failure> {
    let written = if let Some(spool) = spool {
        let mut desk = hit::Desk::default();
        spool.for_each(|line| match hit::hit(material, context, line, &mut desk) {
            Some(hit) => ndjson::write(&hit, material.rules, &mut sink),
            None => Ok(()),
        })
    } else {
        let Screen { width, color } = screen::of(settings.color, settings.output.is_some());
        let view = View { format: settings.format, by: settings.by, top: settings.top, width, color };
        render(report, &view, &mut sink)
    };
    written.map_err(|error| sink.explain(error))?;
    Ok(sink.commit()?)
}
