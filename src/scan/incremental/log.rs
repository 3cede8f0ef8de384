//! One generation of a log in an incremental scan.
//!
//! Lines of a file in a folder wait until one parses, because the file may not be a log. Lines whose period is not known
//! yet wait too. They are held unchanged, up to a limit.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line_batch::{BatchLines, LineBatch};
use crate::finding::LineCounts;
use crate::formats::reader::LineContext;
use crate::formats::{Layouts, W3cHeader};
use crate::input::find::InputOrigin;
use crate::input::tail::LineChunk;
use crate::scan::ScanJob;
use crate::scan::client_position::ClientPositionCache;
use crate::scan::discovery::layouts_of_file;
use crate::scan::log_detection::{LogHead, origin};
use crate::scan::w3c_headers;
use crate::time::Period;

/// A log with new lines.
#[derive(Debug)]
pub(super) struct IncrementalLog {
    pub(super) path: PathBuf,
    pub(super) generation: u64,
    pub(super) fresh: bool,
    /// Lines of it were read in an earlier run.
    pub(super) is_continued: bool,
    pub(super) head: Option<LogHead>,
    /// How it was found.
    pub(super) by: InputOrigin,
    /// The header after the last lines.
    header: W3cHeader,
    pub(super) clients: ClientPositionCache,
    /// The layouts that were discovered in its first lines.
    pub(super) layouts: Option<Arc<Layouts>>,
    /// The log counts: it was given by name, or a line has parsed.
    pub(super) is_known: bool,
    /// The period of the last line.
    pub(super) period: Option<Period>,
    pub(super) waiting: Vec<LineBatch>,
    pub(super) waiting_bytes: usize,
    /// The lines and bytes that were dropped before one parsed.
    pub(super) skipped: (u64, u64),
    /// The line counts.
    pub(super) counts: LineCounts,
    /// The number of its input, once a line counts.
    pub(super) input: Option<u32>,
}

impl IncrementalLog {
    pub(super) fn new(piece: &LineChunk<'_>, job: &ScanJob<'_>) -> Self {
        Self {
            path: piece.path.to_owned(),
            generation: piece.generation,
            fresh: piece.fresh,
            is_continued: piece.lines_before > 0,
            head: None,
            by: origin(piece),
            header: w3c_headers::header_before(piece, job.scope.max_line),
            clients: ClientPositionCache::default(),
            layouts: layouts_of_file(piece.path, job.formats, job.scope),
            is_known: origin(piece) == InputOrigin::Name,
            period: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            skipped: (0, 0),
            counts: LineCounts::default(),
            input: None,
        }
    }

    /// Records the first lines that this run reads.
    pub(super) fn record_head(&mut self, lines: &[u8], max_line: usize) {
        let head = LogHead::new(lines, max_line);
        // Named binary data waits for a parsed line, like a file in a folder.
        self.is_known &= !head.is_binary;
        self.head = Some(head);
    }

    /// Whether it is not an access log, if no line parses.
    pub(super) fn is_not_access_log(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.is_not_access_log(self.path.as_os_str().as_bytes(), self.by))
    }

    /// Whether it is a report beside the logs.
    pub(super) fn is_report(&self) -> bool {
        self.by != InputOrigin::Name && self.head.as_ref().is_some_and(|head| head.is_report)
    }

    /// The first line that this run has read.
    pub(super) fn first_line(&self) -> &[u8] {
        self.head.as_ref().map_or(b"", |head| &head.first_line)
    }

    /// Advances over the next lines; returns the header before them.
    pub(super) fn advance_header(&mut self, lines: &[u8], max_line: usize) -> W3cHeader {
        let before = self.header.clone();
        self.header = before.clone().after(lines, max_line);
        before
    }

    pub(super) fn wait(&mut self, batch: LineBatch) {
        self.waiting_bytes += batch.lines.held();
        self.waiting.push(batch);
    }

    /// Takes the waiting batches, in order.
    pub(super) fn release(&mut self) -> Vec<LineBatch> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Drops the waiting batches and counts their lines as skipped.
    pub(super) fn drop_waiting(&mut self) {
        for batch in self.release() {
            let lines = match &batch.lines {
                BatchLines::Text(text) => memchr::memchr_iter(b'\n', text).count() as u64 + u64::from(text.last() != Some(&b'\n')),
                BatchLines::Oversized(_) => 1,
            };
            self.skipped.0 += lines;
            self.skipped.1 += batch.lines.bytes();
        }
    }

    /// The number of lines that were read.
    pub(super) fn lines(&self) -> u64 {
        self.counts.lines + self.skipped.0
    }
}

impl<'a> ScanJob<'a> {
    /// The context of the lines of a batch.
    pub(super) fn context(&self, batch: &LineBatch, log: Option<&IncrementalLog>) -> LineContext<'a> {
        let Self { formats, scope, .. } = *self;
        let first = formats.preferred_for(log.map_or(Path::new(""), |log| &log.path));
        let clients = log.map(|log| log.clients.current()).unwrap_or_default();
        let layouts = log.and_then(|log| log.layouts.clone());
        LineContext { formats, preferred: first, header: batch.header.clone(), layouts, clients, max_line: scope.max_line }
    }
}
