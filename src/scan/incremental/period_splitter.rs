//! Cuts lines into runs of one period each.
//!
//! A line that has no time belongs to the line before it. What stands before the first time is left open: it may belong
//! to what was read of the log earlier.

use memchr::memchr;

use crate::engine::ScanOptions;
use crate::formats::Frame;
use crate::time::{ClfTimeParser, LogTime, Period, PeriodRule};

/// BatchLines of one period, or of none that is known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeriodRun {
    pub(super) period: Option<Period>,
    /// Where it begins, in bytes.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// BatchLines before it.
    pub(super) lines_before: u64,
}

/// Reads the times of lines and says to which period they belong.
pub(super) struct PeriodSplitter<'a> {
    cut: &'a PeriodRule,
    scope: &'a ScanOptions,
    clock: ClfTimeParser,
    last: Option<(LogTime, Period)>,
}

impl<'a> PeriodSplitter<'a> {
    pub(super) fn new(cut: &'a PeriodRule, scope: &'a ScanOptions) -> Self {
        Self { cut, scope, clock: ClfTimeParser::default(), last: None }
    }

    /// Cuts whole lines, of which there is at least one.
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

    /// The period that a line itself names.
    fn period_of(&mut self, line: &[u8]) -> Option<Period> {
        // As the judge reads it.
        let nuls = if line.first() == Some(&0) { line.iter().take_while(|&&b| b == 0).count() } else { 0 };
        let text = &line[nuls..];
        if text.len() > self.scope.max_line {
            return None;
        }
        let frame = Frame::locate(text.strip_suffix(b"\r").unwrap_or(text), self.scope.format)?;
        let time = self.clock.parse(frame.time)?.time();
        if let Some((last, period)) = self.last
            && last == time
        {
            return Some(period);
        }
        let period = self.cut.period_of(time);
        self.last = Some((time, period));
        Some(period)
    }
}
