//! Splits lines into runs of one period each.
//!
//! A line without a time belongs to the period of the line before it. Lines before the first time have no period: they
//! may belong to lines that were read earlier.

use memchr::memchr;

use crate::engine::ScanOptions;
use crate::formats::Frame;
use crate::formats::bytes::leading_nuls;
use crate::formats::reader::{LineContext, LogReader};
use crate::time::{ClfTimeParser, LogTime, Period, PeriodRule};

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

/// Reads the times of lines and assigns periods.
pub(super) struct PeriodSplitter<'a> {
    cut: &'a PeriodRule,
    scope: &'a ScanOptions,
    context: LineContext<'a>,
    log_reader: LogReader,
    clock: ClfTimeParser,
    last: Option<(LogTime, Period)>,
}

impl<'a> PeriodSplitter<'a> {
    /// `context` is that of the first line.
    pub(super) fn new(cut: &'a PeriodRule, scope: &'a ScanOptions, context: LineContext<'a>) -> Self {
        Self { cut, scope, context, log_reader: LogReader::default(), clock: ClfTimeParser::default(), last: None }
    }

    /// Splits whole lines, at least one.
    pub(super) fn runs(&mut self, lines: &[u8]) -> Vec<PeriodRun> {
        let mut runs = vec![PeriodRun { period: None, start: 0, end: lines.len(), lines_before: 0 }];
        let (mut start, mut count) = (0, 0);
        while start < lines.len() {
            let end = memchr(b'\n', &lines[start..]).map_or(lines.len(), |n| start + n);
            let period = self.period_of(&lines[start..end]);
            if let Some(last) = runs.last_mut()
                && period.is_some_and(|period| last.period != Some(period))
            {
                last.end = start;
                runs.push(PeriodRun { period, start, end: lines.len(), lines_before: count });
            }
            start = end + 1;
            count += 1;
        }
        runs.retain(|run| run.start < run.end);
        runs
    }

    /// The period of the time in a line.
    fn period_of(&mut self, line: &[u8]) -> Option<Period> {
        let time = self.time_of(line)?;
        if let Some((last, period)) = self.last
            && last == time
        {
            return Some(period);
        }
        let period = self.cut.period_of(time);
        self.last = Some((time, period));
        Some(period)
    }

    /// The time of a line, as the line loop reads it.
    fn time_of(&mut self, line: &[u8]) -> Option<LogTime> {
        let text = &line[leading_nuls(line)..];
        if text.len() > self.scope.max_line {
            return None;
        }
        let is_clf = self.scope.format.is_some() || self.context.is_clf_first();
        let frame = if is_clf { Frame::locate(text.strip_suffix(b"\r").unwrap_or(text), self.scope.format) } else { None };
        match frame {
            Some(frame) => Some(self.clock.parse(frame.time)?.time()),
            None if self.scope.format.is_some() => None,
            None => self.log_reader.line(line, &mut self.context).1?.time,
        }
    }
}
