//! Copied lines of one log, and the runs of them that count in one period each.
//!
//! Keeps the offsets of lines in their log. Matches nothing.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use memchr::memchr;

use super::accumulator::PeriodKey;
use crate::engine::ScanOptions;
use crate::formats::bytes::leading_nuls;
use crate::formats::reader::{LineContext, LogReader};
use crate::formats::{Frame, W3cHeader};
use crate::input::find::InputOrigin;
use crate::input::read::{Body, LineBlock};
use crate::input::tail::LineChunk;
use crate::log::time::{ClfTimeParser, LogTime, Period, PeriodRule};

/// A chunk of a log with a copy of its lines.
#[derive(Debug)]
pub(super) struct LineBatch {
    pub(super) log: u32,
    generation: u64,
    path: PathBuf,
    origin: InputOrigin,
    fresh: bool,
    pub(super) lines_before: u64,
    /// The header before its lines, once it is known.
    pub(super) header: W3cHeader,
    pub(super) block: LineBlock,
}

impl LineBatch {
    /// Copies the lines, into one of the `buffers` if there are many of them.
    pub(super) fn new(line_chunk: &LineChunk<'_>, buffers: &Receiver<Vec<u8>>) -> Self {
        let LineChunk {
            log,
            generation,
            path,
            origin,
            fresh,
            lines_before,
            chunk,
        } = *line_chunk;
        let block = match chunk.body {
            Body::Lines(lines) if is_reusable(lines.len()) => {
                let mut buffer = buffers.try_recv().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(lines);
                LineBlock::of_lines(chunk.offset, buffer)
            }
            Body::Lines(lines) => LineBlock::of_lines(chunk.offset, lines.to_vec()),
            Body::Skipped(skipped) => LineBlock::of_skipped(chunk.offset, skipped),
        };
        Self {
            log,
            generation,
            path: path.to_owned(),
            origin,
            fresh,
            lines_before,
            header: W3cHeader::None,
            block,
        }
    }

    /// The chunk, borrowed.
    pub(super) fn line_chunk(&self) -> LineChunk<'_> {
        let Self {
            log,
            generation,
            ref path,
            origin,
            fresh,
            lines_before,
            ref block,
            ..
        } = *self;
        LineChunk {
            log,
            generation,
            path,
            origin,
            fresh,
            lines_before,
            chunk: block.chunk(),
        }
    }

    /// Its lines; none if they were skipped.
    pub(super) fn lines(&self) -> &[u8] {
        match self.block.chunk().body {
            Body::Lines(lines) => lines,
            Body::Skipped(_) => b"",
        }
    }

    /// Its buffer, if other lines may be copied into it.
    pub(super) fn into_buffer(self) -> Option<Vec<u8>> {
        Some(self.block.into_buffer()).filter(|buffer| is_reusable(buffer.capacity()))
    }
}

/// The fewest and the most bytes of a buffer that is reused. Most chunks of a large log have almost
/// a block of 256 KiB. A small chunk must not hold such a buffer, as a batch has up to a thousand
/// small ones; a longer buffer, of one long line, is rarely needed again.
const REUSED_BYTES: RangeInclusive<usize> = 128 << 10..=512 << 10;

fn is_reusable(bytes: usize) -> bool {
    REUSED_BYTES.contains(&bytes)
}

/// A run of lines of one period.
pub(super) struct CountedRun<'i> {
    pub(super) period: PeriodKey,
    pub(super) input: u32,
    pub(super) log: u32,
    pub(super) batch: &'i LineBatch,
    pub(super) run: PeriodRun,
}

impl CountedRun<'_> {
    /// The size in the log, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match self.batch.block.chunk().body {
            Body::Skipped(skipped) => skipped.bytes,
            Body::Lines(_) => (self.run.end - self.run.start) as u64,
        }
    }
}

/// The whole batch as one run.
pub(super) fn whole_run(batch: &LineBatch, period: PeriodKey) -> Vec<PeriodRun> {
    vec![PeriodRun {
        period,
        start: 0,
        end: batch.lines().len(),
        lines_before: 0,
    }]
}

/// Consecutive lines of one period, or of an unknown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeriodRun {
    pub(super) period: Option<Period>,
    /// The start, in bytes.
    pub(super) start: usize,
    /// The end.
    pub(super) end: usize,
    /// The number of lines before it.
    pub(super) lines_before: u64,
}

/// Splits whole lines, at least one, into runs of one period each. A line without a time belongs to
/// the run of the line before it. Lines before the first time have no period: they may belong to
/// lines that were read earlier. `context` is that of the first line.
pub(super) fn period_runs(
    lines: &[u8],
    period_rule: &PeriodRule,
    scan_options: &ScanOptions,
    mut context: LineContext<'_>,
) -> Vec<PeriodRun> {
    let (mut reader, mut clock) = (LogReader::default(), ClfTimeParser::default());
    let mut known: Option<(LogTime, Period)> = None;
    let mut runs = vec![PeriodRun {
        period: None,
        start: 0,
        end: lines.len(),
        lines_before: 0,
    }];
    let (mut start, mut count) = (0, 0);
    while start < lines.len() {
        let end = memchr(b'\n', &lines[start..]).map_or(lines.len(), |n| start + n);
        if let Some(time) = time_of(
            &lines[start..end],
            scan_options,
            &mut context,
            &mut reader,
            &mut clock,
        ) {
            let period = known
                .filter(|(last, _)| *last == time)
                .map_or_else(|| period_rule.period_of(time), |(_, period)| period);
            known = Some((time, period));
            let last = runs.len() - 1;
            if runs[last].period != Some(period) {
                runs[last].end = start;
                runs.push(PeriodRun {
                    period: Some(period),
                    start,
                    end: lines.len(),
                    lines_before: count,
                });
            }
        }
        start = end + 1;
        count += 1;
    }
    runs.retain(|run| run.start < run.end);
    runs
}

/// The time of a line, as the line loop reads it.
fn time_of(
    line: &[u8],
    scan_options: &ScanOptions,
    context: &mut LineContext<'_>,
    reader: &mut LogReader,
    clock: &mut ClfTimeParser,
) -> Option<LogTime> {
    let text = &line[leading_nuls(line)..];
    if text.len() > scan_options.max_line {
        return None;
    }
    let is_clf = scan_options.format.is_some() || context.is_clf_first();
    let frame = if is_clf {
        Frame::locate(
            text.strip_suffix(b"\r").unwrap_or(text),
            scan_options.format,
        )
    } else {
        None
    };
    match frame {
        Some(frame) => Some(clock.parse(frame.time)?.time()),
        None if scan_options.format.is_some() => None,
        None => reader.line(line, context).1?.time,
    }
}
