//! Scans everything that was added to logs since they were last read, optionally split into
//! periods.
//!
//! Lines are copied into batches that are scanned on all threads of the current pool. The result
//! does not depend on the batch size or on scheduling. Nothing is printed and no state is kept; the
//! clock is not read.
//!
//! Each period has a tally, and a tally is limited. All together are not, so the scan pauses when
//! they take [`MAX_PERIOD_BYTES`]: what was read is complete up to its checkpoints, and another
//! scan continues there. The limit is on what the report of the largest period will take too.

mod accumulator;
mod batch_scanner;
mod line_batch;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;
use std::{io, thread};

use self::batch_scanner::BatchScanner;
use self::line_batch::LineBatch;
use super::ScanJob;
use crate::input::tail::{LineChunk, Notice, Tail};
use crate::log::source::SourceInfo;
use crate::log::time::{LogTime, Period, PeriodRule};
use crate::scan::input_summary::InputSummary;
use crate::tally::Tally;

/// How new lines are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncrementalOptions<'a> {
    /// Set by another thread to stop the scan, whose results must then be dropped.
    pub stop: &'a AtomicBool,
    /// When the run started: a log without any time is counted in this period.
    pub now: LogTime,
    /// How the lines are split into periods; not at all if `None`.
    pub period_rule: Option<&'a PeriodRule>,
    /// The scan pauses after about this many bytes of logs.
    pub max_bytes: u64,
}

/// Everything that was added since the last run.
#[derive(Debug, Default)]
pub(crate) struct IncrementalResult {
    /// The results by period; a single one if the scan is not split. Empty if nothing was added.
    pub parts: Vec<PeriodResult>,
    /// The logs with new lines, by path; shared by all periods. Lines are numbered from the start
    /// of the log.
    pub sources: Vec<SourceInfo>,
    /// Lines without a time, if a time range is set.
    pub without_time: u64,
    /// Notices about logs and lines for the user. Problems with an input are in
    /// [`InputSummary::problem`] too. The notices of the tail are included.
    pub notices: Vec<Notice>,
    /// The scan paused: another one continues at the checkpoints.
    pub has_more: bool,
}

/// The lines of one period.
#[derive(Debug)]
pub(crate) struct PeriodResult {
    /// `None` if the scan is not split.
    pub period: Option<Period>,
    /// The hits.
    pub tally: Tally,
    /// Line counts by input number. An incomplete last line is counted in the latest period of its
    /// log.
    pub inputs: Vec<InputSummary>,
    /// Lines that were read, without incomplete last lines.
    pub lines: u64,
}

/// The bytes of all periods at which the scan pauses, with those of the largest one counted three
/// times: its report takes twice as much besides. A few megabytes of lines are read until the pause
/// takes effect.
const MAX_PERIOD_BYTES: usize = 96 << 20;

/// Pieces of a log that are read while others are scanned: four megabytes of blocks of 256 KiB.
const CHUNKS_AHEAD: usize = 16;

/// Scans everything new on the current rayon pool. One more thread reads ahead.
///
/// # Errors
///
/// That thread cannot be started.
pub(crate) fn scan_new_lines(
    tail: &mut Tail,
    job: &ScanJob<'_>,
    options: &IncrementalOptions<'_>,
) -> io::Result<IncrementalResult> {
    let (used, buffers) = mpsc::channel();
    let mut scanner = BatchScanner::new(job, options, batch_scanner::BATCH_BYTES, used);
    let (sender, line_chunks) = mpsc::sync_channel(CHUNKS_AHEAD);
    let pause = AtomicBool::new(options.stop.load(Ordering::Relaxed));
    thread::scope(|scope| {
        let read_ahead = || {
            let (sender, buffers) = (sender, buffers);
            // Buffers are reused: new ones would be pages that the kernel clears. A send fails only
            // if the scan panicked.
            let mut send = |line_chunk: LineChunk<'_>| {
                drop(sender.send(LineBatch::new(&line_chunk, &buffers)));
            };
            tail.read_once_until(Instant::now(), &pause, &mut send);
        };
        let started = thread::Builder::new()
            .spawn_scoped(scope, read_ahead)
            .map(drop);
        for line_chunk in line_chunks {
            scanner.take(line_chunk);
            if scanner.is_full() || options.stop.load(Ordering::Relaxed) {
                pause.store(true, Ordering::Relaxed);
            }
        }
        started
    })?;
    Ok(IncrementalResult {
        has_more: pause.into_inner(),
        ..scanner.finish(tail)
    })
}

#[cfg(test)]
mod tests;
