//! One generation of a log, as far as an increment knows it.
//!
//! BatchLines of a file that was found in a folder wait until one parses: it may be no log at all. So do lines whose period
//! is not known yet. They wait as they are, up to a limit.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::line_batch::{BatchLines, LineBatch};
use crate::finding::LineCounts;
use crate::formats::W3cHeader;
use crate::input::tail::LineChunk;
use crate::scan::client_position::ClientPositionCache;
use crate::scan::log_detection::{FoundBy, LogHead};
use crate::scan::w3c_headers;
use crate::time::Period;

/// A log that lines came from.
#[derive(Debug)]
pub(super) struct IncrementalLog {
    pub(super) path: PathBuf,
    pub(super) generation: u64,
    pub(super) fresh: bool,
    /// BatchLines of it were read in an earlier run.
    pub(super) is_continued: bool,
    pub(super) head: Option<LogHead>,
    /// How it was found.
    pub(super) by: FoundBy,
    /// The header in force behind the last lines that came.
    header: W3cHeader,
    pub(super) clients: ClientPositionCache,
    /// It counts: it was asked for by name, or a line of it parses.
    pub(super) is_known: bool,
    /// The period of its last line.
    pub(super) period: Option<Period>,
    pub(super) waiting: Vec<LineBatch>,
    pub(super) waiting_bytes: usize,
    /// BatchLines that were let go before one parsed, and their bytes.
    pub(super) skipped: (u64, u64),
    /// Where its lines went.
    pub(super) counts: LineCounts,
    /// The number of its text, once a line of it counts.
    pub(super) text: Option<u32>,
}

impl IncrementalLog {
    pub(super) fn new(piece: &LineChunk<'_>, max_line: usize) -> Self {
        Self {
            path: piece.path.to_owned(),
            generation: piece.generation,
            fresh: piece.fresh,
            is_continued: piece.lines_before > 0,
            head: None,
            by: FoundBy::from_piece(piece),
            header: w3c_headers::header_before(piece, max_line),
            clients: ClientPositionCache::default(),
            is_known: FoundBy::from_piece(piece) == FoundBy::Name,
            period: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            skipped: (0, 0),
            counts: LineCounts::default(),
            text: None,
        }
    }

    /// Remembers how it begins, as far as this run sees it.
    pub(super) fn record_head(&mut self, lines: &[u8]) {
        let head = LogHead::new(lines);
        // Binary data that was asked for waits for a line that parses, as what is in a folder does.
        self.is_known &= !head.is_binary;
        self.head = Some(head);
    }

    /// Whether it is no access log, where no line parses.
    pub(super) fn is_not_access_log(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.is_not_access_log(self.path.as_os_str().as_bytes(), self.by))
    }

    /// The line it begins with, as far as this run sees it.
    pub(super) fn first_line(&self) -> &[u8] {
        self.head.as_ref().map_or(b"", |head| &head.first_line)
    }

    /// The header in force before these lines, which come next.
    pub(super) fn advance_header(&mut self, lines: &[u8], max_line: usize) -> W3cHeader {
        let before = self.header.clone();
        self.header = before.clone().after(lines, max_line);
        before
    }

    pub(super) fn wait(&mut self, batch: LineBatch) {
        self.waiting_bytes += batch.lines.held();
        self.waiting.push(batch);
    }

    /// What waited, in its order.
    pub(super) fn release(&mut self) -> Vec<LineBatch> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Lets go of what waits, and counts it.
    pub(super) fn drop_waiting(&mut self) {
        for batch in self.release() {
            let lines = match &batch.lines {
                BatchLines::Text(text) => memchr::memchr_iter(b'\n', text).count() as u64 + u64::from(text.last() != Some(&b'\n')),
                BatchLines::Written { rewritten, .. } => rewritten.len() as u64,
                BatchLines::Oversized(_) => 1,
            };
            self.skipped.0 += lines;
            self.skipped.1 += batch.lines.bytes();
        }
    }

    /// BatchLines that were read of it.
    pub(super) fn lines(&self) -> u64 {
        self.counts.lines + self.skipped.0
    }
}
