//! The W3C extended log header in force at the start of each chunk, in whatever order chunks are
//! scanned.
//!
//! A plain file is scanned for header lines first, because its parts are read in parallel. In other
//! inputs, headers are collected as chunks arrive. For other formats only the first bytes are read.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use memchr::memchr;

use crate::formats::W3cHeader;
use crate::input::ByteRange;
use crate::input::find::{InputSource, SourceKind};
use crate::input::lines::{InputLine, for_each_line};
use crate::input::read::{Body, Chunk, open};
use crate::input::tail::LineChunk;
use crate::os::system::lock;

/// A byte-order mark may come first.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";
/// The maximum number of header lines: a server writes one at each start.
const MAX_HEADERS: usize = 1 << 20;
/// The size of a read.
const BLOCK: usize = 256 << 10;

/// The headers of one log.
#[derive(Debug)]
pub(super) struct W3cHeaderIndex {
    max_line: usize,
    known: Mutex<HeaderState>,
}

#[derive(Debug)]
enum HeaderState {
    /// No chunk was observed yet.
    Nothing,
    /// Not a W3C extended log.
    Plain,
    /// The header after the last chunk, and those at the start of chunks that are not scanned yet.
    InOrder(W3cHeader, HashMap<u64, W3cHeader>),
    /// All headers by their offset, sorted.
    Listed(Vec<(u64, W3cHeader)>),
}

impl W3cHeaderIndex {
    /// The headers of a source, as far as they are known before reading it.
    pub(super) fn new(source: &InputSource, max_line: usize, range: Option<ByteRange>) -> Self {
        // A header line that begins in the range may end after it.
        let end = range.map_or(u64::MAX, |range| range.to.saturating_add(max_line as u64));
        let listed = match source.kind {
            SourceKind::Stdin | SourceKind::Reader => Ok(None),
            SourceKind::File | SourceKind::Stream => index_file(&source.path, max_line, end),
        };
        let known = listed
            .ok()
            .flatten()
            .map_or(HeaderState::Nothing, HeaderState::Listed);
        Self {
            max_line,
            known: Mutex::new(known),
        }
    }

    /// Observes a chunk of an input that is read in order.
    pub(super) fn observe(&self, chunk: Chunk<'_>) {
        // An oversized line has no header; if it comes first, the log is not a W3C log.
        let Body::Lines(lines) = chunk.body else {
            let known = &mut *lock(&self.known);
            if matches!(known, HeaderState::Nothing) {
                *known = HeaderState::Plain;
            }
            return;
        };
        let mut known = lock(&self.known);
        if matches!(*known, HeaderState::Nothing) {
            *known = match header_at_start(chunk.offset, lines, self.max_line) {
                W3cHeader::None => HeaderState::Plain,
                header @ W3cHeader::Columns(_) => HeaderState::InOrder(header, HashMap::new()),
            };
        }
        if let HeaderState::InOrder(now, starts) = &mut *known {
            starts.insert(chunk.offset, now.clone());
            *now = std::mem::take(now).after(lines, self.max_line);
        }
    }

    /// The header at the start of a chunk. Called once per chunk for an input that is read in
    /// order.
    pub(super) fn at(&self, offset: u64) -> W3cHeader {
        match &mut *lock(&self.known) {
            HeaderState::Nothing | HeaderState::Plain => W3cHeader::None,
            HeaderState::InOrder(_, starts) => starts.remove(&offset).unwrap_or_default(),
            HeaderState::Listed(all) => {
                let before = all.partition_point(|(start, _)| *start < offset);
                all[..before]
                    .last()
                    .map_or(W3cHeader::Columns(None), |(_, header)| header.clone())
            }
        }
    }
}

/// The header of a log that starts with this chunk. A log that starts with NULs has none.
pub(super) fn header_at_start(offset: u64, lines: &[u8], max_line: usize) -> W3cHeader {
    if offset == 0 || offset == BOM.len() as u64 {
        W3cHeader::from_log_start(lines, max_line)
    } else {
        W3cHeader::None
    }
}

/// The header before the first known chunk of a live log.
pub(super) fn header_before(line_chunk: &LineChunk<'_>, max_line: usize) -> W3cHeader {
    match line_chunk.chunk.body {
        _ if line_chunk.lines_before > 0 => {
            header_after(line_chunk.path, line_chunk.lines_before, max_line)
        }
        Body::Lines(lines) => header_at_start(line_chunk.chunk.offset, lines, max_line),
        Body::Skipped(_) => W3cHeader::None,
    }
}

/// The header after a number of lines of the log at a path, compressed or not.
fn header_after(path: &Path, lines: u64, max_line: usize) -> W3cHeader {
    let mut header = W3cHeader::None;
    // Errors are reported by the reader of the new lines.
    let _ = for_each_line(path, max_line, |number, line| {
        let InputLine::Text(text) = line else {
            return if number == 1 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            };
        };
        if number == 1 {
            header = W3cHeader::from_log_start(text, max_line);
        }
        if number > lines || !header.is_w3c() {
            return ControlFlow::Break(());
        }
        header = std::mem::take(&mut header).after(text, max_line);
        ControlFlow::Continue(())
    });
    header
}

/// The headers of a plain file up to `end`; `None` if it is not a W3C extended log, is compressed,
/// or is not a regular file.
fn index_file(path: &Path, max_line: usize, end: u64) -> io::Result<Option<Vec<(u64, W3cHeader)>>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let mut file = open(path)?;
    let mut start = Vec::new();
    file.by_ref()
        .take(BOM.len() as u64)
        .read_to_end(&mut start)?;
    // Three NUL bytes are skipped like a byte-order mark.
    let passed = if start == BOM || start == [0; 3] {
        BOM.len()
    } else {
        0
    };
    file.seek(SeekFrom::Start(passed as u64))?;
    index_lines(
        BufReader::with_capacity(BLOCK, file.take(end)),
        passed as u64,
        max_line,
    )
}

fn index_lines(
    mut text: impl BufRead,
    passed: u64,
    max_line: usize,
) -> io::Result<Option<Vec<(u64, W3cHeader)>>> {
    let (mut all, mut line, mut start, mut offset) = (Vec::new(), Vec::new(), passed, passed);
    loop {
        let block = text.fill_buf()?;
        let is_end = block.is_empty();
        let newline = memchr(b'\n', block);
        let part = &block[..newline.unwrap_or(block.len())];
        let is_own = if offset == start {
            part.first() == Some(&b'#')
        } else {
            !line.is_empty()
        };
        // Most logs end here, however long the first line is.
        if start == passed && (!is_own || line.len() > max_line) {
            return Ok(None);
        }
        // Only directive lines are kept, up to the limit.
        if is_own && line.len() <= max_line {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(newline.is_some());
        text.consume(used);
        offset += used as u64;
        if newline.is_none() && !is_end {
            continue;
        }
        if start == passed && !W3cHeader::from_log_start(&line, max_line).is_w3c() {
            return Ok(None);
        }
        if let Some(header) = W3cHeader::last_in(&line, max_line)
            && all.len() < MAX_HEADERS
        {
            all.push((start, header));
        }
        if is_end {
            return Ok(Some(all));
        }
        line.clear();
        start = offset;
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::w3c_headers::*;
    use proptest::prelude::*;

    /// The offsets of all header lines, by reading the whole text.
    fn expected(text: &[u8], max_line: usize) -> Option<Vec<u64>> {
        if !W3cHeader::from_log_start(text, max_line).is_w3c() {
            return None;
        }
        let mut offset = 0;
        let mut all = Vec::new();
        for line in text.split(|&b| b == b'\n') {
            if W3cHeader::last_in(line, max_line).is_some() {
                all.push(offset);
            }
            offset += line.len() as u64 + 1;
        }
        Some(all)
    }

    proptest! {
        #[test]
        fn all_header_lines_are_found(
            lines in prop::collection::vec(prop::sample::select(vec!["#Version: 1.0", "#Fields: date time cs-uri-stem", "#Fields: x", "a line", "", "# more"]), 0..8),
            is_ended: bool,
            buffer in 1_usize..40,
            max_line in 1_usize..40,
        ) {
            let text = lines.join("\n") + if is_ended { "\n" } else { "" };
            let listed = index_lines(BufReader::with_capacity(buffer, text.as_bytes()), 0, max_line).unwrap();
            let starts = listed.map(|all| all.into_iter().map(|(start, _)| start).collect::<Vec<_>>());
            prop_assert_eq!(starts, expected(text.as_bytes(), max_line), "{}", text);
        }
    }

    #[test]
    fn a_file_without_newlines_is_not_read_to_its_end() {
        let mut endless = BufReader::new(io::repeat(0));
        assert!(index_lines(&mut endless, 0, 100).unwrap().is_none());
        let mut endless = BufReader::new(io::repeat(b'#'));
        assert!(index_lines(&mut endless, 0, 100).unwrap().is_none());
    }
}
