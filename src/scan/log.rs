//! One log, as a scan, a report and a live scan read it: what its first lines show decides how each
//! of its lines is read.
//!
//! The first lines decide for the whole log, whatever part of it is read, in any order and by any
//! number of threads. They show whether it is an access log at all, which layouts its lines have
//! that no known format explains, and where the client is. For example,
//! `198.51.100.7|1793606460|GET|/.env|404` in nine of ten lines is a layout, and `dpkg.log` in a
//! folder has no request.
//!
//! Reads the start of a file. Matches no rule and prints nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::log_detection::{
    BINARY_PROBLEM, CR_PROBLEM, LogHead, layout_notice, skipped_message, unknown_client_notices,
    unparsed_problem,
};
use super::w3c_headers::{self, BOM};
use crate::engine::ScanOptions;
use crate::formats::reader::{LineContext, LogReader};
use crate::formats::{ClientPosition, Formats, Layouts, W3cHeader, client_position};
use crate::input::find::InputOrigin;
use crate::input::lines::read_head;
use crate::input::pipe::STDIN;
use crate::input::read::{Body, Chunk};
use crate::input::tail::LineChunk;
use crate::log::finding::LineCounts;

/// The number of bytes at the start of a log that decide: some 300 lines.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// A log.
#[derive(Debug)]
pub(crate) struct ScannedLog {
    pub(crate) path: PathBuf,
    /// How it was found.
    by: InputOrigin,
    head: LogHead,
    layouts: Option<Arc<Layouts>>,
    /// The client position in lines with two addresses before the time.
    clients: ClientPosition,
    /// The first lines of a log that cannot be read again, while more of them may change what they
    /// show.
    start: Option<Vec<u8>>,
    /// The bytes of the log at the last look at its first lines; `None` if more lines do not change
    /// what these show.
    examined: Option<u64>,
    /// The W3C columns after the last lines that were read in order.
    header: W3cHeader,
}

impl ScannedLog {
    /// The log that starts with these lines; only the first [`HEAD_BYTES`] of them decide.
    pub(crate) fn new(
        path: &Path,
        by: InputOrigin,
        lines: &[u8],
        formats: &Formats,
        scan_options: &ScanOptions,
    ) -> Self {
        let mut log = Self {
            path: path.to_owned(),
            by,
            head: LogHead::default(),
            layouts: None,
            clients: ClientPosition::Unknown,
            start: None,
            examined: None,
            header: W3cHeader::None,
        };
        log.examine(lines, formats, scan_options);
        log
    }

    /// The log in a file, compressed or not. A file that cannot be read shows nothing.
    pub(crate) fn of_file(
        path: &Path,
        by: InputOrigin,
        formats: &Formats,
        scan_options: &ScanOptions,
    ) -> Self {
        Self::new(
            path,
            by,
            &read_head(path, HEAD_BYTES).unwrap_or_default(),
            formats,
            scan_options,
        )
    }

    /// The log of its first known chunk.
    pub(crate) fn of_chunk(
        line_chunk: &LineChunk<'_>,
        formats: &Formats,
        scan_options: &ScanOptions,
    ) -> Self {
        let first = if line_chunk.path == Path::new(STDIN) {
            None
        } else {
            read_head(line_chunk.path, HEAD_BYTES)
        };
        let first = first.filter(|first| !first.is_empty());
        let start = if let (None, Body::Lines(lines)) = (&first, line_chunk.chunk.body) {
            Some(lines.to_vec())
        } else {
            None
        };
        let mut log = Self::new(
            line_chunk.path,
            line_chunk.origin,
            first.as_deref().or(start.as_deref()).unwrap_or_default(),
            formats,
            scan_options,
        );
        log.header = w3c_headers::header_before(line_chunk, scan_options.max_line);
        log.start = start;
        log.examined = log.may_grow().then(|| end_of(line_chunk));
        log.forget_decided_start();
        log
    }

    /// Adds a chunk, in order, which may be the first one. Looks at the first lines again if
    /// the log has twice as many as at the last look, or if they showed no request: a log that
    /// grows by lines is looked at a few times.
    pub(crate) fn grow(
        &mut self,
        line_chunk: &LineChunk<'_>,
        formats: &Formats,
        scan_options: &ScanOptions,
    ) {
        if self.examined == Some(end_of(line_chunk)) {
            return;
        }
        if let (Some(start), Body::Lines(lines)) = (&mut self.start, line_chunk.chunk.body) {
            start.extend_from_slice(lines);
        }
        if self
            .examined
            .is_some_and(|examined| !self.head.has_request || end_of(line_chunk) >= 2 * examined)
        {
            self.look(line_chunk, formats, scan_options);
        }
    }

    /// Looks at the first lines again after the last chunk had lines that were not read. Returns
    /// whether it did: then a live log is read as a scan of all of it reads it, however it grows.
    pub(crate) fn look_again(
        &mut self,
        counts: &LineCounts,
        line_chunk: &LineChunk<'_>,
        formats: &Formats,
        scan_options: &ScanOptions,
    ) -> bool {
        let is_unread = counts.unparsed + counts.without_client > 0;
        let is_new = is_unread
            && self
                .examined
                .is_some_and(|examined| end_of(line_chunk) != examined);
        if is_new {
            self.look(line_chunk, formats, scan_options);
        }
        is_new
    }

    fn look(&mut self, last: &LineChunk<'_>, formats: &Formats, scan_options: &ScanOptions) {
        self.examined = self.may_grow().then(|| end_of(last));
        let start = self.start.take();
        let read = if start.is_none() {
            read_head(&self.path, HEAD_BYTES)
        } else {
            None
        };
        self.examine(
            start.as_deref().or(read.as_deref()).unwrap_or_default(),
            formats,
            scan_options,
        );
        self.start = start;
        self.forget_decided_start();
    }

    /// Drops the first lines once more of them change nothing: the rest of a pipe has no end.
    fn forget_decided_start(&mut self) {
        if self.examined.is_none() {
            self.start = None;
        }
    }

    /// Whether its first lines are fewer than decide.
    fn may_grow(&self) -> bool {
        let length = self.start.as_ref().map_or_else(
            || self.path.metadata().map_or(0, |file| file.len()),
            |start| start.len() as u64,
        );
        length < HEAD_BYTES as u64
    }

    fn examine(&mut self, lines: &[u8], formats: &Formats, scan_options: &ScanOptions) {
        let lines = lines.strip_prefix(BOM).unwrap_or(lines);
        let lines = match lines.get(..HEAD_BYTES) {
            Some(head) => &head[..memchr::memrchr(b'\n', head).map_or(0, |newline| newline + 1)],
            None => lines,
        };
        let mut reader = LogReader::default();
        let mut context = LineContext {
            formats,
            preferred: formats.preferred_for(&self.path),
            header: w3c_headers::header_at_start(0, lines, scan_options.max_line),
            layouts: None,
            clients: ClientPosition::Unknown,
            max_line: scan_options.max_line,
        };
        // An incomplete line is no layout: the log may be truncated, or written to, while it is
        // read.
        let complete = &lines[..memchr::memrchr(b'\n', lines).map_or(0, |newline| newline + 1)];
        context.layouts = if scan_options.format.is_some() {
            None
        } else {
            reader.discover(complete, &context)
        };
        let has_request = reader.reads_any(lines, &context, scan_options.format);
        self.head = LogHead::new(lines, has_request, scan_options.max_line);
        (self.layouts, self.clients) = (context.layouts, client_position(lines));
    }

    /// The context of lines after this header.
    pub(crate) fn context<'f>(
        &self,
        formats: &'f Formats,
        scan_options: &ScanOptions,
        header: W3cHeader,
    ) -> LineContext<'f> {
        let (preferred, layouts) = (formats.preferred_for(&self.path), self.layouts.clone());
        LineContext {
            formats,
            preferred,
            header,
            layouts,
            clients: self.clients,
            max_line: scan_options.max_line,
        }
    }

    /// Its layouts.
    pub(crate) fn layouts(&self) -> Option<&Arc<Layouts>> {
        self.layouts.as_ref()
    }

    /// Advances over the next lines, in order; returns the header before them.
    pub(crate) fn advance_header(&mut self, body: Body<'_>, max_line: usize) -> W3cHeader {
        let before = self.header.clone();
        if let Body::Lines(lines) = body {
            self.header = before.clone().after(lines, max_line);
        }
        before
    }

    /// Whether its lines are matched.
    pub(crate) fn is_access_log(&self) -> bool {
        self.head.is_access_log(&self.path, self.by)
    }

    /// What to print of a log whose first lines show no request; `None` if they do, or there are
    /// none.
    pub(crate) fn first_problem(
        &self,
        formats: &Formats,
        scan_options: &ScanOptions,
    ) -> Option<String> {
        if !self.is_access_log() {
            return self.skipped();
        }
        if self.head.has_cr_lines {
            return Some(CR_PROBLEM.to_owned());
        }
        let is_unparsed = !self.head.has_request && self.head.lines > 0;
        is_unparsed.then(|| {
            unparsed_problem(
                self.head.lines,
                &self.head.first_line,
                scan_options.format,
                formats,
            )
        })
    }

    /// Whether more lines may show that it is an access log.
    pub(crate) fn may_become_access_log(&self) -> bool {
        self.examined.is_some()
    }

    /// Whether it is binary data that the user gave by its name, so that this is a problem.
    pub(crate) fn is_named_binary(&self) -> bool {
        self.head.is_binary && self.by == InputOrigin::Name
    }

    /// What to print if it is not an access log.
    pub(crate) fn skipped(&self) -> Option<String> {
        if self.is_named_binary() {
            Some(BINARY_PROBLEM.to_owned())
        } else {
            skipped_message(&self.head, &self.path)
        }
    }

    /// The notices about its lines.
    pub(crate) fn notices(
        &self,
        counts: &LineCounts,
        formats: &Formats,
    ) -> impl Iterator<Item = String> {
        unknown_client_notices(counts, formats, &self.path)
            .chain(layout_notice(counts, self.layouts.as_ref()))
    }

    /// The problem of a log without parsed lines, if none of its first lines parses either.
    pub(crate) fn unparsed_problem(
        &self,
        counts: &LineCounts,
        formats: &Formats,
        scan_options: &ScanOptions,
    ) -> Option<String> {
        if self.head.has_cr_lines {
            return Some(CR_PROBLEM.to_owned());
        }
        let is_unparsed =
            counts.lines > counts.skipped && counts.parsed() == 0 && !self.head.has_request;
        is_unparsed.then(|| {
            unparsed_problem(
                counts.lines,
                &self.head.first_line,
                scan_options.format,
                formats,
            )
        })
    }
}

/// The offset after a chunk.
fn end_of(line_chunk: &LineChunk<'_>) -> u64 {
    let Chunk { offset, body } = line_chunk.chunk;
    offset + body.bytes()
}

#[cfg(test)]
mod tests {
    use crate::scan::log::*;

    #[test]
    fn the_first_lines_of_a_pipe_are_kept_only_until_they_decide() {
        fn chunk(offset: u64, lines: &[u8]) -> LineChunk<'_> {
            LineChunk {
                log: 0,
                generation: 0,
                path: Path::new(STDIN),
                origin: InputOrigin::Name,
                fresh: true,
                lines_before: 0,
                chunk: Chunk {
                    offset,
                    body: Body::Lines(lines),
                },
            }
        }
        let (formats, options) = (Formats::builtin().unwrap(), ScanOptions::default());
        let line = b"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
        for first in [line.to_vec(), line.repeat(HEAD_BYTES / line.len() + 1)] {
            let mut log = ScannedLog::of_chunk(&chunk(0, &first), &formats, &options);
            let mut offset = first.len() as u64;
            for _ in 0..2 * HEAD_BYTES / line.len() {
                log.grow(&chunk(offset, line), &formats, &options);
                offset += line.len() as u64;
                assert!(
                    log.start
                        .as_ref()
                        .is_none_or(|start| start.len() <= 2 * HEAD_BYTES)
                );
            }
            assert_eq!(log.start, None);
        }
    }

    #[test]
    fn an_incomplete_line_shows_no_layout() {
        const TORN: &str = "192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.git/config HTTP/1.1";
        let formats = Formats::builtin().unwrap();
        let has_layout = |lines: &str| {
            let log = ScannedLog::new(
                Path::new("a.log"),
                InputOrigin::Name,
                lines.as_bytes(),
                &formats,
                &ScanOptions::default(),
            );
            log.layouts().is_some()
        };
        assert_eq!([TORN, &format!("{TORN}\n")].map(has_layout), [false, true]);
    }
}
