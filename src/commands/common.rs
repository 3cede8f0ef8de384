//! What commands that read logs have in common: load rules, apps, allow lists and formats, find the
//! inputs, open the output, read the logs and print notices.
//!
//! Knows nothing about reports.
//!
//! A progress bar is drawn on standard error, if that is a terminal and the work takes more than a
//! second.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::error::CommandError;
use super::message::{self, sanitized};
use super::{Anonymize, ScanSettings, server_logs, signals};
use crate::block::{self, PROC_NET};
use crate::engine::ScanOptions;
use crate::formats::Formats;
use crate::formats::builtin::UnknownFormat;
use crate::input::exclude::{exclude_compressed_copies, exclude_older};
use crate::input::find::{FoundInputs, InputOrigin, InputSource, SourceKind, find};
use crate::input::read::has_byte_ranges;
use crate::input::rotation::sort_by_age;
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::client::{Anonymizer, Ipv6Prefix};
use crate::log::finding::RuleId;
use crate::log::source::ContentHash;
use crate::os::allocator;
use crate::render::OutputFormat;
use crate::render::sink::Sink;
use crate::report::anonymize::Privacy;
use crate::rules::{AllowList, RuleChoice, RuleSet, load};
use crate::scan::input_summary::InputSummary;
use crate::scan::{self, BatchOptions, HitSpool, ScanJob, ScanResult, notices};

/// The largest key file.
const MAX_KEY_BYTES: u64 = 64 << 10;
/// How long the work takes before a bar is shown.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// The time between updates of the bar.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Resolves the values of `--app`.
pub(super) fn apps(names: &[String], rules: &RuleSet) -> Result<Vec<RuleId>, CommandError> {
    let unknown = |name: &String| {
        let suggestion = rules
            .nearest_app(name)
            .map(|app| format!(" (did you mean '{app}'?)"))
            .unwrap_or_default();
        CommandError::NoApp {
            name: name.clone(),
            suggestion,
        }
    };
    names
        .iter()
        .map(|name| rules.app(name).ok_or_else(|| unknown(name)))
        .collect()
}

/// How clients and secrets are hidden. Reads the key of `--anonymize`.
pub(super) fn privacy(anonymize: &Anonymize, redact: bool) -> Result<Privacy, CommandError> {
    let anonymizer = match anonymize {
        Anonymize::Off => None,
        Anonymize::Truncate => Some(Anonymizer::Truncate),
        Anonymize::Key(path) => Some(key_anonymizer(path).map_err(|what| CommandError::Key {
            path: path.clone(),
            what,
        })?),
    };
    Ok(Privacy::new(anonymizer, redact))
}

fn key_anonymizer(path: &Path) -> Result<Anonymizer, String> {
    let mut key = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_KEY_BYTES + 1).read_to_end(&mut key));
    read.map_err(|error| {
        format!("cannot be read: {error}; create a key with: head -c 32 /dev/urandom > FILE")
    })?;
    if key.len() as u64 > MAX_KEY_BYTES {
        return Err(format!(
            "is larger than {MAX_KEY_BYTES} bytes, which is too large for a key; create one with: head -c 32 /dev/urandom > FILE"
        ));
    }
    // Editors add a newline at the end.
    Anonymizer::with_key(key.trim_ascii_end()).map_err(|error| error.to_string())
}

/// Warns about entries of allow lists that are narrower than the prefix that counts as one client.
pub(super) fn warn_narrow_allow(settings: &ScanSettings, allow: &AllowList) {
    if let Some(prefix) = settings.client.prefix.filter(|_| !settings.quiet) {
        message::warnings(&allow.warnings_for(prefix));
    }
}

/// The addresses of this machine, which are never blocked. Warns if they are unknown.
pub(super) fn own_addresses() -> Vec<IpAddr> {
    block::interface_addresses(Path::new(PROC_NET)).unwrap_or_else(|error| {
        message::warning(&format!("{PROC_NET}: {error}; the addresses of this machine are unknown; list them in a file of --allow"));
        Vec::new()
    })
}

/// The inputs in the order they are read; standard input if no path was given.
pub(super) fn inputs(settings: &ScanSettings) -> Result<FoundInputs, CommandError> {
    let stdin = [PathBuf::from("-")];
    let (paths, notices) = server_logs::files(settings);
    let mut found = find(if paths.is_empty() { &stdin } else { &paths });
    if !settings.found.is_empty() {
        // Paths from a server configuration were not typed by the user.
        for source in &mut found.sources {
            if source.origin == InputOrigin::Name && !settings.paths.contains(&source.path) {
                source.origin = InputOrigin::Pattern;
            }
        }
    }
    found.notices.extend(notices);
    if let Some(pattern) = found.no_match.first() {
        return Err(CommandError::NoMatch(pattern.clone()));
    }
    if let Some(newer) = &settings.newer_than {
        exclude_older(&mut found, newer);
    }
    exclude_compressed_copies(&mut found);
    sort_by_age(&mut found.sources);
    Ok(found)
}

/// Applies `--range` and `--source`, which are for one input.
pub(super) fn check_part(
    settings: &ScanSettings,
    found: &mut FoundInputs,
) -> Result<(), CommandError> {
    if settings.range.is_some() {
        check_range(found)?;
    }
    let Some(name) = &settings.source else {
        return Ok(());
    };
    let stdin = found
        .sources
        .iter_mut()
        .find(|source| source.kind == SourceKind::Stdin)
        .ok_or(CommandError::NoStdin)?;
    stdin.path.clone_from(name);
    Ok(())
}

fn check_range(found: &FoundInputs) -> Result<(), CommandError> {
    let [source] = found.sources.as_slice() else {
        // One file that does not exist is reported like any other.
        let is_one = found.sources.is_empty() && found.problems.len() == 1;
        return if is_one {
            Ok(())
        } else {
            Err(CommandError::RangeOfMany)
        };
    };
    match source.kind {
        SourceKind::File if source.origin == InputOrigin::Name && found.problems.is_empty() => {}
        SourceKind::File => return Err(CommandError::RangeOfMany),
        SourceKind::Stdin | SourceKind::Stream | SourceKind::Reader => {
            return Err(CommandError::RangeOfStream);
        }
    }
    // A file that cannot be read is reported by the scan.
    if has_byte_ranges(source).unwrap_or(true) {
        Ok(())
    } else {
        Err(CommandError::RangeOfCompressed(source.path.clone()))
    }
}

/// Opens an output, which must not be one of the inputs.
pub(super) fn output(
    path: Option<&Path>,
    flag: &'static str,
    sources: &[InputSource],
) -> Result<Sink, CommandError> {
    let sink = match path {
        Some(path) if path.as_os_str() != "-" => Sink::file(path)?,
        _ => Sink::stdout()?,
    };
    let overwritten = |source: &&InputSource| {
        source
            .id
            .is_some_and(|(dev, ino)| sink.is_same_file(dev, ino))
    };
    match sources.iter().find(overwritten) {
        Some(source) => Err(CommandError::OutputIsInput {
            path: source.path.clone(),
            flag,
        }),
        None => Ok(sink),
    }
}

/// Refuses to write binary data to a terminal, which would act on its bytes.
pub(super) fn check_binary(format: OutputFormat, sink: &Sink) -> Result<(), CommandError> {
    if format == OutputFormat::Partial && sink.is_terminal() {
        Err(CommandError::BinaryOnTerminal)
    } else {
        Ok(())
    }
}

/// As many threads, or one per core. If the system refuses those, the current thread does all.
pub(super) fn pool(threads: Option<usize>) -> Result<ThreadPool, CommandError> {
    allocator::share_heaps(threads.unwrap_or_else(cores));
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build();
    let pool = if threads.is_some() {
        pool
    } else {
        pool.or_else(|_| {
            ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .build()
        })
    };
    pool.map_err(|source| CommandError::Threads {
        threads: threads.unwrap_or(1),
        source: io::Error::other(source),
    })
}

/// Loads rules in a [`pool`], which the system may refuse threads.
pub(super) fn load_rules(choice: &RuleChoice) -> Result<RuleSet, CommandError> {
    Ok(pool(None)?.install(|| load(choice))?)
}

/// Starts one thread per core for what is done in parallel without a [`pool`]: otherwise the first
/// such work would panic where the system refuses threads.
pub(super) fn start_threads() -> Result<(), CommandError> {
    let threads = cores();
    allocator::share_heaps(threads);
    let started = ThreadPoolBuilder::new().num_threads(threads).build_global();
    started.map_err(|source| CommandError::Threads {
        threads,
        source: io::Error::other(source),
    })
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Reads all inputs, unless a signal arrives first.
pub(super) fn read(
    settings: &ScanSettings,
    job: &ScanJob<'_>,
    sources: &[InputSource],
    pool: &ThreadPool,
) -> Result<ScanResult, CommandError> {
    let stop = signals::listen();
    let progress = AtomicU64::new(0);
    let keep_lines = settings.format.hit_format().is_some();
    let options = BatchOptions {
        mmap: settings.mmap,
        stop: stop.flag(),
        progress: &progress,
        keep_lines,
        range: settings.range,
    };
    let is_visible = settings.progress && !settings.quiet;
    let scan = with_progress(is_visible, sources, &progress, || {
        pool.install(|| scan::scan(sources, job, &options))
    });
    match stop.exit() {
        Some(exit) => Err(CommandError::Stopped(exit)),
        None => scan
            .spool
            .as_ref()
            .map_or(Ok(()), HitSpool::check)
            .map(|()| scan)
            .map_err(CommandError::Spool),
    }
}

pub(super) fn print_notices(
    settings: &ScanSettings,
    inputs: &[InputSummary],
    scan: &ScanResult,
    found: &FoundInputs,
) {
    if settings.quiet {
        return;
    }
    server_logs::print_skipped(settings);
    for notice in notices(inputs, scan, found) {
        message::notice(&notice);
    }
}

/// Prints an error for each input with a problem, and warnings about what was perhaps not read.
/// Returns whether there was any error.
pub(super) fn print_problems(inputs: &[InputSummary]) -> bool {
    let mut any = false;
    for input in inputs {
        if let Some(warning) = &input.warning {
            message::warning(&format!(
                "{}: {warning}",
                crate::text::redact::sanitize::escape(&input.path)
            ));
        }
        if let Some(problem) = &input.problem {
            any = true;
            message::error(&format!(
                "{}: {}",
                crate::text::redact::sanitize::escape(&input.path),
                sanitized(problem)
            ));
        }
    }
    any
}

/// Prints an error and a hint if no input was read, or none of the inputs is a log. Returns whether
/// that was the case.
pub(super) fn report_no_logs(inputs: &[InputSummary], found: &FoundInputs) -> bool {
    let is_unread = |input: &InputSummary| {
        input.counts.lines > input.counts.skipped && input.counts.parsed == 0
    };
    let files = found.sources.len();
    let absent = match inputs {
        // A notice lists the files that were left out as too old.
        [] if found.excluded > 0 => return false,
        [] if files == 0 => Some("no access log was found: the given paths contain no file".to_owned()),
        [] if files == 1 => Some("the only file in the given paths is not an access log; give its path to read it anyway".to_owned()),
        [] => Some(format!("none of the {files} files in the given paths is an access log; give the path of one to read it anyway")),
        inputs if inputs.iter().any(is_unread) && inputs.iter().all(|input| is_unread(input) || input.problem.is_some()) => None,
        _ => return false,
    };
    if let Some(absent) = absent {
        message::error(&absent);
    }
    message::hint(
        "--from-nginx and --from-apache read the paths and formats of logs from the server's configuration",
    );
    true
}

/// Does `work`, and if `is_visible` and standard error is a terminal, shows how many bytes of
/// `sources` are `done`.
fn with_progress<T>(
    is_visible: bool,
    sources: &[InputSource],
    done: &AtomicU64,
    work: impl FnOnce() -> T,
) -> T {
    if !is_visible || !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (finished, waiting) = mpsc::channel::<()>();
        // Without a thread nothing is shown.
        let _ = thread::Builder::new().spawn_scoped(scope, move || {
            if waiting.recv_timeout(SHOW_AFTER) == Err(RecvTimeoutError::Timeout) {
                let bar = bar(total(sources));
                while waiting.recv_timeout(REDRAW_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    bar.set_position(done.load(Ordering::Relaxed));
                }
                bar.finish_and_clear();
            }
        });
        let result = work();
        drop(finished);
        result
    })
}

/// The size of all files; `None` if one of them is a pipe.
fn total(sources: &[InputSource]) -> Option<u64> {
    let size = |source: &InputSource| match source.kind {
        SourceKind::File => source.path.metadata().ok().map(|m| m.len()),
        SourceKind::Stream | SourceKind::Stdin | SourceKind::Reader => None,
    };
    sources.iter().map(size).sum()
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes}  {bytes_per_sec}",
        ),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Rules, apps, allow lists and formats.
#[derive(Debug)]
pub(super) struct RuleContext {
    pub(super) rules: RuleSet,
    pub(super) scan_options: ScanOptions,
    pub(super) formats: Formats,
    pub(super) apps: Vec<RuleId>,
}

impl RuleContext {
    /// Loads the files that the settings name, in a temporary pool: for commands that read logs
    /// with one thread.
    pub(super) fn load(settings: &ScanSettings) -> Result<Self, CommandError> {
        Self::load_in(&pool(None)?, settings)
    }

    /// Loads in this pool, which reads the logs later.
    pub(super) fn load_in(
        pool: &ThreadPool,
        settings: &ScanSettings,
    ) -> Result<Self, CommandError> {
        let (rules, formats) = pool
            .install(|| rayon::join(|| load(&settings.rules), || server_logs::formats(settings)));
        Self::new(settings, rules?, formats)
    }

    pub(super) fn new(
        settings: &ScanSettings,
        rules: RuleSet,
        formats: Result<Formats, UnknownFormat>,
    ) -> Result<Self, CommandError> {
        let apps = apps(&settings.apps, &rules)?;
        let scan_options = ScanOptions {
            format: settings.formats.as_clf(),
            allow: AllowList::load(&settings.allow)?,
            max_line: settings.max_line,
            windows: true,
            since: settings.since,
            until: settings.until,
            ..ScanOptions::default()
        };
        Ok(Self {
            rules,
            scan_options,
            formats: formats?,
            apps,
        })
    }

    /// Prints the warnings of rules, and of allow lists that are too narrow.
    pub(super) fn print_warnings(&self, settings: &ScanSettings) {
        if !settings.quiet {
            message::warnings(self.rules.warnings());
        }
        warn_narrow_allow(settings, &self.scan_options.allow);
    }

    /// What a scan needs.
    pub(super) fn job(&self, prefix: Option<Ipv6Prefix>) -> ScanJob<'_> {
        ScanJob {
            rules: &self.rules,
            scan_options: &self.scan_options,
            formats: &self.formats,
            prefix,
        }
    }

    /// A scan, to be analysed and reported.
    pub(super) fn report_input<'a>(
        &'a self,
        scan: &'a ScanResult,
        inputs: &'a [InputSummary],
        filter: ReportFilter<'a>,
    ) -> ReportInput<'a> {
        ReportInput {
            rules: &self.rules,
            tally: &scan.tally,
            sources: &scan.sources,
            inputs,
            without_time: scan.without_time,
            filter,
            allow: &self.scan_options.allow,
        }
    }

    /// The hits to report.
    pub(super) fn filter<'a>(&'a self, settings: &'a ScanSettings) -> ReportFilter<'a> {
        settings.report_filter(&self.apps)
    }

    /// A hash of the IDs, classes and severities of the rules.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut names = String::new();
        for rule in self.rules.rules() {
            names.extend([
                &rule.id,
                "\t",
                &rule.class,
                "\t",
                rule.severity.as_str(),
                "\n",
            ]);
        }
        ContentHash::new(names.as_bytes()).hash
    }
}
