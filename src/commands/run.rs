//! What every command that reads logs does before and behind its own work: find the inputs, open the output, read, and tell what
//! was wrong.
//!
//! Knows no report. Why a command gave none is a [`Failure`], whichever it was.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use rayon::{ThreadPool, ThreadPoolBuilder};
use thiserror::Error;

use super::message::shown;
use super::progress::Progress;
use super::{Anonymize, Exit, Settings, message, servers, signals};
use crate::analysis::anonymize::Privacy;
use crate::analysis::merge::MergeError;
use crate::analysis::model::InputSummary;
use crate::analysis::snapshot::SnapshotError;
use crate::client::Anonymizer;
use crate::engine::Scope;
use crate::finding::RuleId;
use crate::formats::builtin::UnknownFormat;
use crate::input::exclude::{exclude_compressed_copies, exclude_older};
use crate::input::find::{FoundInputs, InputSource, find};
use crate::input::order::sort_by_age;
use crate::render::OutputFormat;
use crate::render::sink::{Sink, SinkError};
use crate::render::skipped;
use crate::rules::{AllowList, RuleError, RuleSet};
use crate::scan::{self, ScanJob, ScanResult};

/// Why there is no report.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("--log-format: {0}")]
    Format(#[from] UnknownFormat),
    #[error("{}: the pattern matches nothing; check the folder, and quote the pattern if the shell is not to look at it", .0.display())]
    NoMatch(PathBuf),
    #[error("--app: no app is called '{name}'{meant}; `probewatch rules list --only app` shows them all")]
    NoApp { name: String, meant: String },
    #[error("{}: {flag} would overwrite an input; choose another file", path.display())]
    OutputIsInput { path: PathBuf, flag: &'static str },
    #[error("{}: --emit-rules would overwrite rules that --rules reads; choose another file", .0.display())]
    OutputIsRules(PathBuf),
    #[error("--anonymize: {} {what}", path.display())]
    Key { path: PathBuf, what: String },
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("cannot keep the lines that matched: {0}; make room in the folder for temporary files, or set TMPDIR to another")]
    Spool(io::Error),
    #[error("{} {source}", path.display())]
    Unreadable { path: PathBuf, source: SnapshotError },
    #[error(transparent)]
    Merge(#[from] MergeError),
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
            | Self::Format(_)
            | Self::Unreadable { .. }
            | Self::Key { .. }
            | Self::Merge(_)
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

/// The apps that are said to run everywhere.
pub(super) fn apps(names: &[String], rules: &RuleSet) -> Result<Vec<RuleId>, Failure> {
    let unknown = |name: &String| {
        let meant = rules.nearest_app(name).map(|app| format!(" (did you mean '{app}'?)")).unwrap_or_default();
        Failure::NoApp { name: name.clone(), meant }
    };
    names.iter().map(|name| rules.app(name).ok_or_else(|| unknown(name))).collect()
}

/// How much is told: a key is read now.
pub(super) fn privacy(anonymize: Option<&Anonymize>, redact: bool) -> Result<Privacy, Failure> {
    let veil = match anonymize {
        None => None,
        Some(Anonymize::Truncate) => Some(Anonymizer::Truncate),
        Some(Anonymize::Key(path)) => Some(keyed(path).map_err(|what| Failure::Key { path: path.clone(), what })?),
    };
    Ok(Privacy::new(veil, redact))
}

/// The most that is read of a key: it is a secret, not a file of any size.
const LONGEST_KEY: u64 = 64 << 10;

fn keyed(path: &Path) -> Result<Anonymizer, String> {
    let mut key = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_KEY + 1).read_to_end(&mut key));
    read.map_err(|error| format!("cannot be read: {error}; make a key with: head -c 32 /dev/urandom > FILE"))?;
    if key.len() as u64 > LONGEST_KEY {
        return Err(format!("is larger than {LONGEST_KEY} bytes, and no key; make one with: head -c 32 /dev/urandom > FILE"));
    }
    // An editor puts a newline behind it.
    Anonymizer::with_key(key.trim_ascii_end()).map_err(|error| error.to_string())
}

/// Warns of allow lists that name less than what counts as one client.
pub(super) fn warn_of_small(settings: &Settings, allow: &AllowList) {
    if let Some(prefix) = settings.client.prefix.filter(|_| !settings.quiet) {
        message::warnings(&allow.warnings_for(prefix));
    }
}

/// What is to be read, in its order; standard input where nothing was named.
pub(super) fn inputs(settings: &Settings) -> Result<FoundInputs, Failure> {
    let stdin = [PathBuf::from("-")];
    let (paths, notices) = servers::files(settings);
    let mut found = find(if paths.is_empty() { &stdin } else { &paths });
    if !settings.found.is_empty() {
        // What a configuration leads to was not typed.
        found.sources.iter_mut().for_each(|source| source.literal &= settings.paths.contains(&source.path));
    }
    found.notices.extend(notices);
    if let Some(pattern) = found.no_match.first() {
        return Err(Failure::NoMatch(pattern.clone()));
    }
    if let Some(newer) = &settings.newer_than {
        exclude_older(&mut found, newer);
    }
    exclude_compressed_copies(&mut found);
    sort_by_age(&mut found.sources);
    Ok(found)
}

/// Where something is written to, which may be none of the inputs.
pub(super) fn output(path: Option<&Path>, flag: &'static str, sources: &[InputSource]) -> Result<Sink, Failure> {
    let sink = match path {
        Some(path) if path.as_os_str() != "-" => Sink::file(path)?,
        _ => Sink::open_stdout()?,
    };
    let overwritten = |source: &&InputSource| source.id.is_some_and(|(dev, ino)| sink.is_same_file(dev, ino));
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
pub(super) fn read(
    settings: &Settings,
    rules: &RuleSet,
    scope: &Scope,
    sources: &[InputSource],
    pool: &ThreadPool,
) -> Result<ScanResult, Failure> {
    let stop = signals::listen();
    let progress = AtomicU64::new(0);
    let formats = servers::formats(settings)?;
    let job = ScanJob {
        rules,
        scope,
        formats: &formats,
        mmap: settings.mmap,
        stop: stop.flag(),
        progress: &progress,
        keep_lines: settings.format == OutputFormat::Ndjson,
        prefix: settings.client.prefix,
    };
    let shown = settings.progress && !settings.quiet;
    let scan = Progress::watch(shown, sources, &progress, || pool.install(|| scan::scan(sources, &job)));
    match stop.exit() {
        Some(exit) => Err(Failure::Stopped(exit)),
        None => scan.map_err(Failure::Spool),
    }
}

/// All inputs as the report lists them: those that were read, then those that could not even be found.
pub(super) fn listed(inputs: Vec<Option<InputSummary>>, found: &FoundInputs) -> Vec<InputSummary> {
    let unread = found.problems.iter().map(|problem| InputSummary {
        path: problem.path.as_os_str().as_bytes().to_vec(),
        problem: Some(problem.what.clone()),
        ..InputSummary::default()
    });
    let mut listed: Vec<_> = inputs.into_iter().map(Option::unwrap_or_default).collect();
    listed.extend(unread);
    listed
}

/// Files of a folder that are no log are not inputs: they are listed without a path, to keep the numbers of the others.
pub(super) fn drop_passed_over(listed: &mut Vec<InputSummary>) {
    listed.retain(|input| !input.path.is_empty());
}

pub(super) fn tell_notices(settings: &Settings, inputs: &[InputSummary], scan: &ScanResult, found: &FoundInputs) {
    if settings.quiet {
        return;
    }
    servers::tell(settings);
    for notice in &found.notices {
        message::notice(&shown(notice));
    }
    for notice in skipped::notices(inputs) {
        message::notice(&notice);
    }
    for (number, notice) in &scan.notices {
        let path = String::from_utf8_lossy(&scan.texts[*number].path).into_owned();
        message::notice(&format!("{}: {}", shown(&path), shown(notice)));
    }
}

/// Names each input that something was wrong with; whether there was any.
pub(super) fn tell_problems(inputs: &[InputSummary]) -> bool {
    let mut any = false;
    for input in inputs {
        if let Some(problem) = &input.problem {
            any = true;
            message::error(&format!("{}: {}", crate::redact::sanitize::escape(&input.path), shown(problem)));
        }
    }
    any
}

/// Says so where nothing was there to be read, or nothing of it was a log, and what to type next; whether that was so.
pub(super) fn tell_absence(inputs: &[InputSummary], found: &FoundInputs) -> bool {
    let is_unread = |input: &InputSummary| input.lines > input.skipped && input.parsed == 0;
    let files = found.sources.len();
    let absent = match inputs {
        // What was left out because it is old may be the logs, and a notice says so.
        [] if found.excluded > 0 => return false,
        [] if files == 0 => Some("no access log was found: there is no file in what was named".to_owned()),
        [] if files == 1 => Some("the only file in what was named is no access log; name it to have it read whatever it is".to_owned()),
        [] => Some(format!("none of the {files} files in what was named is an access log; name one to have it read whatever it is")),
        inputs if inputs.iter().any(is_unread) && inputs.iter().all(|input| is_unread(input) || input.problem.is_some()) => None,
        _ => return false,
    };
    if let Some(absent) = absent {
        message::error(&absent);
    }
    message::hint("--from-nginx and --from-apache read from the server's configuration which files its logs are, and in which format");
    true
}
