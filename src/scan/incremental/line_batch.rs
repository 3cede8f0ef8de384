//! BatchLines of one log on their way to be judged, and the runs of them that count.
//!
//! Knows where lines were in their log, whatever they were written down as since. Reads none of them.

use std::path::Path;

use super::IncrementalJob;
use super::accumulator::PeriodKey;
use super::log::IncrementalLog;
use super::period_splitter::PeriodRun;
use crate::formats::W3cHeader;
use crate::formats::reader::{LineContext, RewrittenLines};

/// BatchLines of one log, copied.
#[derive(Debug)]
pub(super) struct LineBatch {
    pub(super) log: u32,
    pub(super) offset: u64,
    pub(super) lines_before: u64,
    pub(super) header: W3cHeader,
    pub(super) lines: BatchLines,
}

/// The inside of an batch.
#[derive(Debug)]
pub(super) enum BatchLines {
    Text(Vec<u8>),
    /// BatchLines of another format, and the bytes of the log that they were.
    Written {
        rewritten: RewrittenLines,
        bytes: u64,
    },
    Oversized(u64),
}

impl BatchLines {
    /// Bytes of the log.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Written { bytes, .. } | Self::Oversized(bytes) => *bytes,
        }
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Written { rewritten, .. } => rewritten.text.len(),
            Self::Oversized(_) => 0,
        }
    }
}

/// A run of lines that counts.
pub(super) struct PeriodRunOf<'i> {
    pub(super) period: PeriodKey,
    pub(super) text: u32,
    pub(super) log: u32,
    pub(super) batch: &'i LineBatch,
    pub(super) run: PeriodRun,
}

impl PeriodRunOf<'_> {
    /// Where it begins, in bytes of the log from the start of its batch.
    pub(super) fn start(&self) -> u64 {
        match &self.batch.lines {
            BatchLines::Written { rewritten, bytes } => rewritten.start_of(self.run.lines_before as usize, *bytes),
            BatchLines::Text(_) | BatchLines::Oversized(_) => self.run.start as u64,
        }
    }

    /// Bytes of the log that its lines take, of which there are so many.
    pub(super) fn bytes(&self, lines: u64) -> u64 {
        match &self.batch.lines {
            BatchLines::Oversized(bytes) => *bytes,
            BatchLines::Text(_) => (self.run.end - self.run.start) as u64,
            BatchLines::Written { rewritten, bytes } => rewritten.start_of((self.run.lines_before + lines) as usize, *bytes) - self.start(),
        }
    }
}

impl<'a> IncrementalJob<'a> {
    /// What the lines of an batch of a log are read by.
    pub(super) fn context(&self, batch: &LineBatch, log: Option<&IncrementalLog>) -> LineContext<'a> {
        let Self { formats, scope, .. } = *self;
        let first = formats.preferred_for(log.map_or(Path::new(""), |log| &log.path));
        let clients = log.map(|log| log.clients.current()).unwrap_or_default();
        LineContext { formats, preferred: first, header: batch.header.clone(), clients, max_line: scope.max_line }
    }
}

/// All of an batch as one run.
pub(super) fn whole(batch: &LineBatch, period: PeriodKey) -> Vec<PeriodRun> {
    vec![PeriodRun { period, start: 0, end: batch.lines.held(), lines_before: 0 }]
}
