//! One pipeline for every command: reads inputs, judges their lines in parallel, and tallies what was found.
//!
//! A worker has its own scratch and its own tally, so that no line waits for another; tallies are merged once, at the end,
//! and their sums do not depend on who counted what. It prints nothing and knows no command line.

mod account;
mod client_places;
mod desk;
mod doubt;
pub mod follow;
mod headers;
pub mod increment;
mod one_input;
mod outside;
mod spool;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64};

use rayon::prelude::*;

use crate::client::Prefix;
use crate::engine::{LineScanner, ScanOptions};
use crate::format::Formats;
use crate::input::Mmap;
use crate::input::find::Source;
use crate::report::model::Input;
use crate::rules::RuleSet;
use crate::source::SourceText;
use crate::tally::{Budget, Tally};
use one_input::{Done, OneInput};
use outside::Outside;
pub use spool::Spool;
use worker::Workers;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to look at and what to keep.
    pub scope: &'a ScanOptions,
    /// The formats that are known.
    pub formats: &'a Formats,
    /// When to map files.
    pub mmap: Mmap,
    /// Set from outside to end the work.
    pub stop: &'a AtomicBool,
    /// Counts up by the bytes of the files that are done.
    pub progress: &'a AtomicU64,
    /// Keep each line that matched, for NDJSON.
    pub keep_lines: bool,
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Prefix>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Scan {
    /// All hits.
    pub tally: Tally,
    /// The sources' texts, in their order.
    pub texts: Vec<SourceText>,
    /// The sources as reports list them, in their order; `None` for a file of a folder that is no log.
    pub inputs: Vec<Option<Input>>,
    /// The lines that matched, where they were to be kept.
    pub spool: Option<Spool>,
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
/// The spool of kept lines could not be written. Trouble with an input is told in its [`Input::problem`].
pub fn scan(sources: &[Source], job: &Job<'_>) -> std::io::Result<Scan> {
    let judge = LineScanner::new(job.rules, job.scope);
    // What no rule names is learnt from all of it, or from nothing.
    let budget = (!job.scope.unlisted).then_some(Budget::STANDARD);
    let workers = Workers::new(rayon::current_num_threads(), budget).counting(job.prefix);
    let spool = job.keep_lines.then(Spool::default);
    let outside = Outside::of(sources, job.scope, job.formats);
    let read = |(number, source)| match outside.skips(number, source) {
        Some(skipped) => Done::skipped(source, skipped, job.progress),
        None => OneInput::new(number, source, job, judge, &workers, spool.as_ref()).read(),
    };
    let done: Vec<_> = sources.par_iter().enumerate().with_max_len(1).map(read).collect();
    let mut scan = Scan { tally: workers.into_tally(), ..Scan::default() };
    for (number, one) in done.into_iter().enumerate() {
        scan.notices.extend(one.notices.into_iter().map(|notice| (number, notice)));
        scan.without_time += one.without_time;
        scan.has_forwarded |= one.has_forwarded;
        scan.stopped |= one.stopped;
        scan.texts.push(one.text);
        scan.inputs.push(one.input);
    }
    if let Some(spool) = &spool {
        spool.check()?;
    }
    scan.spool = spool;
    Ok(scan)
}
