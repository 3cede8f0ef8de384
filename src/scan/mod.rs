//! Scans inputs: reads them, matches their lines in parallel, and tallies the hits.
//!
//! Used by all commands. Each worker has its own state and tally, so that threads do not
//! wait for each other. Tallies are merged at the end, with sums that do not depend on scheduling.
//! Nothing is printed.

pub(crate) mod any_format;
pub(crate) mod hit_spool;
pub(crate) mod incremental;
mod input_scan;
pub(crate) mod input_stats;
pub(crate) mod input_summary;
pub(crate) mod log;
mod log_detection;
mod time_range;
mod unread_fields;
mod w3c_headers;
mod worker;

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use rayon::prelude::*;

use crate::engine::ScanOptions;
use crate::formats::Formats;
use crate::input::find::{FoundInputs, InputOrigin, InputSource, SourceKind};
use crate::input::{ByteRange, Mmap};
use crate::log::client::Ipv6Prefix;
use crate::log::source::SourceInfo;
use crate::os::system::lock;
use crate::rules::RuleSet;
use crate::scan::input_summary::InputSummary;
use crate::scan::input_summary::skipped_notices;
use crate::tally::{Budget, SAMPLE_BUDGET, Tally};
use crate::text::redact::sanitize::escape;
pub(crate) use hit_spool::HitSpool;
use input_scan::{InputResult, InputScan};
use input_stats::HitLines;
use log_detection::READ_ANYWAY;
use time_range::TimeRangeFilter;
use worker::WorkerPool;

/// What every scan needs, of whole logs, of new lines or of live logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanJob<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to scan for and what to keep.
    pub scan_options: &'a ScanOptions,
    /// The known formats.
    pub formats: &'a Formats,
    /// The IPv6 prefix that counts as one client; `None` for single addresses.
    pub prefix: Option<Ipv6Prefix>,
}

/// How whole logs are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchOptions<'a> {
    /// When to memory-map files.
    pub mmap: Mmap,
    /// Set by another thread to stop the scan.
    pub stop: &'a AtomicBool,
    /// Increased by the size of each file that is done.
    pub progress: &'a AtomicU64,
    /// Whether to keep each line that matched, for NDJSON.
    pub keep_lines: bool,
    /// Reads only the lines of this range of each source.
    pub range: Option<ByteRange>,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    /// The hits.
    pub tally: Tally,
    /// The inputs in the order of the sources, to locate lines.
    pub sources: Vec<SourceInfo>,
    /// The inputs for a report, in the order of the sources; `None` for a file of a folder that is
    /// not a log.
    pub inputs: Vec<Option<InputSummary>>,
    /// The lines that matched, if they were kept.
    pub spool: Option<HitSpool>,
    /// Notices about a source, by its number. They are not problems.
    pub notices: Vec<(usize, String)>,
    /// Lines without a time, if a time range is set.
    pub without_time: u64,
    /// Lines of an input have a field for the client behind a proxy.
    pub has_forwarded: bool,
}

/// Scans all sources on the current rayon pool. Errors of an input are in its
/// [`InputSummary::problem`]; those of the spool are returned by [`HitSpool::check`].
pub(crate) fn scan(
    sources: &[InputSource],
    job: &ScanJob<'_>,
    options: &BatchOptions<'_>,
) -> ScanResult {
    scan_with(sources, job, options, &|input: InputScan<'_>| {
        input.read(None)
    })
}

/// Scans the bytes of a reader on the current rayon pool, as the input called `name`.
pub(crate) fn scan_reader<R: Read + Send>(
    name: PathBuf,
    reader: R,
    job: &ScanJob<'_>,
    options: &BatchOptions<'_>,
) -> ScanResult {
    let source = InputSource {
        path: name,
        origin: InputOrigin::Name,
        kind: SourceKind::Reader,
        id: None,
    };
    let reader = Mutex::new(reader);
    scan_with(&[source], job, options, &|input: InputScan<'_>| {
        input.read(Some(&mut *lock(&reader)))
    })
}

/// Scans all sources; `read` reads one of them.
fn scan_with(
    sources: &[InputSource],
    job: &ScanJob<'_>,
    options: &BatchOptions<'_>,
    read: &(impl Fn(InputScan<'_>) -> InputResult + Sync),
) -> ScanResult {
    // Unmatched requests are kept of a sample of clients, all others by their weight.
    let merged = if job.scan_options.unmatched {
        Tally::with_sample_budget(SAMPLE_BUDGET)
    } else {
        Tally::with_budget(Budget::STANDARD)
    };
    let merged = merged.with_unknown(job.rules.unknown());
    let workers = WorkerPool::new(rayon::current_num_threads(), merged).with_prefix(job.prefix);
    let spool = options.keep_lines.then(HitSpool::default);
    let time_range = TimeRangeFilter::new(sources, job.scan_options, job.formats);
    let mut scan = ScanResult {
        sources: vec![SourceInfo::default(); sources.len()],
        inputs: vec![None; sources.len()],
        ..ScanResult::default()
    };
    // Results are written in place: a folder may have a hundred thousand files.
    let results = scan.sources.par_iter_mut().zip(&mut scan.inputs);
    let scan_source =
        |((number, source), (info, input)): (_, (&mut SourceInfo, &mut Option<InputSummary>))| {
            let done = match time_range.skip_reason(number, source) {
                Some(skipped) => InputResult::skipped(source, skipped, options.progress),
                None => read(InputScan::new(
                    (number, source),
                    job,
                    options,
                    &workers,
                    spool.as_ref(),
                )),
            };
            (*info, *input) = (done.source, done.input);
            done.notes
        };
    let notes: Vec<_> = sources
        .par_iter()
        .enumerate()
        .zip(results)
        .with_max_len(1)
        .map(scan_source)
        .collect();
    scan.tally = workers.into_tally();
    let mut hits = HitLines::default();
    for one in &notes {
        hits.add(one.hits);
    }
    if hits.are_much_unparsed() {
        for (input, one) in scan.inputs.iter_mut().zip(&notes) {
            if let Some(input) = input {
                input.problem = input.problem.take().or_else(|| one.hits.problem());
            }
        }
    }
    for (number, one) in notes.into_iter().enumerate() {
        scan.notices
            .extend(one.notices.into_iter().map(|notice| (number, notice)));
        scan.without_time += one.without_time;
        scan.has_forwarded |= one.has_forwarded;
    }
    scan.spool = spool;
    scan
}

/// All inputs as a report lists them: first those that were read, then those that were not found. A
/// file that is not a log has no path; it keeps its place, because hits refer to inputs by number.
pub(crate) fn input_summaries(
    inputs: Vec<Option<InputSummary>>,
    found: &FoundInputs,
) -> Vec<InputSummary> {
    let unread = found.problems.iter().map(|problem| InputSummary {
        path: problem.path.as_os_str().as_bytes().to_vec(),
        problem: Some(problem.what.clone()),
        ..InputSummary::default()
    });
    let mut listed: Vec<_> = inputs.into_iter().map(Option::unwrap_or_default).collect();
    listed.extend(unread);
    listed
}

/// Removes the files that are not logs, once the report is built.
pub(crate) fn drop_skipped(inputs: &mut Vec<InputSummary>) {
    inputs.retain(|input| !input.path.is_empty());
}

/// Notices about inputs and files that were left out, safe to print.
pub(crate) fn notices(
    inputs: &[InputSummary],
    scan: &ScanResult,
    found: &FoundInputs,
) -> Vec<String> {
    let sanitized = |text: &String| escape(text.as_bytes()).into_owned();
    let mut notices: Vec<_> = found.notices.iter().map(sanitized).collect();
    notices.extend(skipped_notices(inputs));
    let name = |number: usize| escape(&scan.sources[number].path).into_owned();
    let (passed_over, others): (Vec<_>, Vec<_>) = scan
        .notices
        .iter()
        .partition(|(_, notice)| notice.ends_with(READ_ANYWAY));
    let are_many = passed_over.len() > SEPARATE_NOTICES;
    if are_many {
        let names: Vec<_> = passed_over
            .iter()
            .take(SEPARATE_NOTICES)
            .map(|(number, _)| name(*number))
            .collect();
        let (all, more) = (passed_over.len(), passed_over.len() - names.len());
        notices.push(format!(
            "{all} files are not access logs and were skipped: {}, and {more} more; give the path of one to read it anyway",
            names.join(", ")
        ));
    }
    let shown = if are_many {
        others
    } else {
        scan.notices.iter().collect()
    };
    notices.extend(
        shown
            .into_iter()
            .map(|(number, notice)| format!("{}: {}", name(*number), sanitized(notice))),
    );
    notices
}

/// The most files that are not access logs with a notice for each: a folder may hold hundreds.
const SEPARATE_NOTICES: usize = 5;
