//! One pipeline for every command: reads inputs, judges their lines in parallel, and tallies what was found.
//!
//! A worker has its own scratch and its own tally, so that no line waits for another; tallies are merged once, at the end,
//! and their sums do not depend on who counted what. It prints nothing and knows no command line.

mod any_format;
mod client_position;
mod hit_spool;
pub mod incremental;
mod input_scan;
mod input_stats;
pub mod live;
mod log_detection;
mod time_range;
mod w3c_headers;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64};

use rayon::prelude::*;

use crate::analysis::model::InputSummary;
use crate::client::Ipv6Prefix;
use crate::engine::{LineScanner, ScanOptions};
use crate::formats::Formats;
use crate::input::Mmap;
use crate::input::find::InputSource;
use crate::rules::RuleSet;
use crate::source::SourceInfo;
use crate::tally::{Budget, Tally};
pub use hit_spool::HitSpool;
use input_scan::{InputResult, InputScan};
use time_range::TimeRangeFilter;
use worker::WorkerPool;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub struct ScanJob<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to look at and what to keep.
    pub scope: &'a ScanOptions,
    /// The formats that are known.
    pub formats: &'a Formats,
    /// When to map files.
    pub mmap: Mmap,
    /// Set from time_range to end the work.
    pub stop: &'a AtomicBool,
    /// Counts up by the bytes of the files that are done.
    pub progress: &'a AtomicU64,
    /// Keep each line that matched, for NDJSON.
    pub keep_lines: bool,
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Ipv6Prefix>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct ScanResult {
    /// All hits.
    pub tally: Tally,
    /// The sources' texts, in their order.
    pub texts: Vec<SourceInfo>,
    /// The sources as reports list them, in their order; `None` for a file of a folder that is no log.
    pub inputs: Vec<Option<InputSummary>>,
    /// The lines that matched, where they were to be kept.
    pub spool: Option<HitSpool>,
    /// What a reader may want to know though nothing is wrong, with the source's number.
    pub notices: Vec<(usize, String)>,
    /// Lines without a time, where a window asked for one.
    pub without_time: u64,
    /// Lines of an input have a field in which a proxy wrote for whom it asks.
    pub has_forwarded: bool,
    /// It was stopped before the end.
    pub stopped: bool,
}

/// Scans all sources, on the rayon pool it is called in.
///
/// # Errors
///
/// The spool of kept lines could not be written. Trouble with an input is told in its [`InputSummary::problem`].
pub fn scan(sources: &[InputSource], job: &ScanJob<'_>) -> std::io::Result<ScanResult> {
    let judge = LineScanner::new(job.rules, job.scope);
    // What no rule names is learnt from all of it, or from nothing.
    let budget = (!job.scope.unlisted).then_some(Budget::STANDARD);
    let workers = WorkerPool::new(rayon::current_num_threads(), budget).with_prefix(job.prefix);
    let spool = job.keep_lines.then(HitSpool::default);
    let time_range = TimeRangeFilter::new(sources, job.scope, job.formats);
    let mut scan =
        ScanResult { texts: vec![SourceInfo::default(); sources.len()], inputs: vec![None; sources.len()], ..ScanResult::default() };
    // Of a hundred thousand files, each place of a result is made once.
    let places = scan.texts.par_iter_mut().zip(&mut scan.inputs);
    let read = |((number, source), (text, input)): (_, (&mut SourceInfo, &mut Option<InputSummary>))| {
        let done = match time_range.skip_reason(number, source) {
            Some(skipped) => InputResult::skipped(source, skipped, job.progress),
            None => InputScan::new(number, source, job, judge, &workers, spool.as_ref()).read(),
        };
        (*text, *input) = (done.text, done.input);
        done.rest
    };
    let rest: Vec<_> = sources.par_iter().enumerate().zip(places).with_max_len(1).map(read).collect();
    scan.tally = workers.into_tally();
    for (number, one) in rest.into_iter().enumerate() {
        scan.notices.extend(one.notices.into_iter().map(|notice| (number, notice)));
        scan.without_time += one.without_time;
        scan.has_forwarded |= one.has_forwarded;
        scan.stopped |= one.stopped;
    }
    if let Some(spool) = &spool {
        spool.check()?;
    }
    scan.spool = spool;
    Ok(scan)
}
