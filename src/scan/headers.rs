//! The header of a W3C extended log where each run of its lines begins, whoever reads which run, and when.
//!
//! Of a plain file, which is read in parts, all lines that name columns are looked for before; what comes in order tells them
//! as it comes. Any other log costs one look at its first bytes.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use memchr::memchr;

use super::worker::own;
use crate::formats::Header;
use crate::input::chunk::{Body, Chunk};
use crate::input::find::{InputSource, SourceKind};
use crate::input::lines_in_order::{InputLine, for_each_line};
use crate::input::tail::LineChunk;

/// A text may begin behind a byte-order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// Lines that name columns, at most: a server writes one when it starts.
const MOST: usize = 1 << 20;
/// Bytes read in one go.
const BLOCK: usize = 256 << 10;

/// The headers of one log.
#[derive(Debug)]
pub(super) struct Headers {
    max_line: usize,
    known: Mutex<Known>,
}

#[derive(Debug)]
enum Known {
    /// Nothing was seen of it.
    Nothing,
    /// It is no W3C extended log.
    Plain,
    /// What is in force behind the last chunk, and what is in force where chunks begin that wait to be judged.
    InOrder(Header, HashMap<u64, Header>),
    /// Where each begins, in order.
    Listed(Vec<(u64, Header)>),
}

impl Headers {
    /// Those of a source, as far as they can be known before it is read.
    pub(super) fn of(source: &InputSource, max_line: usize) -> Self {
        let listed = if source.kind == SourceKind::Stdin { Ok(None) } else { listed(&source.path, max_line) };
        let known = listed.ok().flatten().map_or(Known::Nothing, Known::Listed);
        Self { max_line, known: Mutex::new(known) }
    }

    /// Looks at a chunk that comes in order.
    pub(super) fn see(&self, chunk: Chunk<'_>) {
        // One that is not held says nothing, but that the log begins with it.
        let Body::Lines(lines) = chunk.body else {
            let known = &mut *own(&self.known);
            if matches!(known, Known::Nothing) {
                *known = Known::Plain;
            }
            return;
        };
        let mut known = own(&self.known);
        if matches!(*known, Known::Nothing) {
            *known = match first(chunk.offset, lines, self.max_line) {
                Header::None => Known::Plain,
                header @ Header::Columns(_) => Known::InOrder(header, HashMap::new()),
            };
        }
        if let Known::InOrder(now, starts) = &mut *known {
            starts.insert(chunk.offset, now.clone());
            *now = std::mem::take(now).behind(lines, self.max_line);
        }
    }

    /// The header in force where a chunk begins. Of what comes in order it is asked for once.
    pub(super) fn at(&self, offset: u64) -> Header {
        match &mut *own(&self.known) {
            Known::Nothing | Known::Plain => Header::None,
            Known::InOrder(_, starts) => starts.remove(&offset).unwrap_or_default(),
            Known::Listed(all) => {
                let before = all.partition_point(|(start, _)| *start < offset);
                all[..before].last().map_or(Header::Columns(None), |(_, header)| header.clone())
            }
        }
    }
}

/// The header of a log that begins with this chunk. One that begins with a hole is none.
pub(super) fn first(offset: u64, lines: &[u8], max_line: usize) -> Header {
    if offset == 0 || offset == BOM.len() as u64 { Header::of_log(lines, max_line) } else { Header::None }
}

/// The header in force before a piece of a live log of which no other was seen yet.
pub(super) fn before(piece: &LineChunk<'_>, max_line: usize) -> Header {
    match piece.chunk.body {
        _ if piece.lines_before > 0 => behind(piece.path, piece.lines_before, max_line),
        Body::Lines(lines) => first(piece.chunk.offset, lines, max_line),
        Body::Oversized { .. } => Header::None,
    }
}

/// The header in force behind so many lines of the log at a path, packed or not.
fn behind(path: &Path, lines: u64, max_line: usize) -> Header {
    let mut header = Header::None;
    // Trouble with the log is told by who reads its new lines.
    let _ = for_each_line(path, max_line, |number, line| {
        let InputLine::Text(text) = line else {
            return if number == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        };
        if number == 1 {
            header = Header::of_log(text, max_line);
        }
        if number > lines || !header.is_w3c() {
            return ControlFlow::Break(());
        }
        header = std::mem::take(&mut header).behind(text, max_line);
        ControlFlow::Continue(())
    });
    header
}

/// Where lines of a plain file name columns; `None` where it is no W3C extended log, packed, or no regular file.
fn listed(path: &Path, max_line: usize) -> io::Result<Option<Vec<(u64, Header)>>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(BOM.len() as u64).read_to_end(&mut start)?;
    // A hole of three bytes is passed over as a mark is.
    let passed = if start == BOM || start == [0; 3] { BOM.len() } else { 0 };
    file.seek(SeekFrom::Start(passed as u64))?;
    list(BufReader::with_capacity(BLOCK, file), passed as u64, max_line)
}

fn list(mut text: impl BufRead, passed: u64, max_line: usize) -> io::Result<Option<Vec<(u64, Header)>>> {
    let (mut all, mut line, mut start, mut offset) = (Vec::new(), Vec::new(), passed, passed);
    loop {
        let block = text.fill_buf()?;
        let is_end = block.is_empty();
        let newline = memchr(b'\n', block);
        let part = &block[..newline.unwrap_or(block.len())];
        let is_own = if offset == start { part.first() == Some(&b'#') } else { !line.is_empty() };
        // Most logs end the search here, however long their first line is.
        if start == passed && (!is_own || line.len() > max_line) {
            return Ok(None);
        }
        // Only a line of the log's own is kept, and no more of it than counts.
        if is_own && line.len() <= max_line {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(newline.is_some());
        text.consume(used);
        offset += used as u64;
        if newline.is_none() && !is_end {
            continue;
        }
        if start == passed && !Header::of_log(&line, max_line).is_w3c() {
            return Ok(None);
        }
        if let Some(header) = Header::last_of(&line, max_line)
            && all.len() < MOST
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
    use crate::scan::headers::*;
    use proptest::prelude::*;

    /// Where columns are named in a text, by a look at all of it.
    fn expected(text: &[u8], max_line: usize) -> Option<Vec<u64>> {
        if !Header::of_log(text, max_line).is_w3c() {
            return None;
        }
        let mut offset = 0;
        let mut all = Vec::new();
        for line in text.split(|&b| b == b'\n') {
            if Header::last_of(line, max_line).is_some() {
                all.push(offset);
            }
            offset += line.len() as u64 + 1;
        }
        Some(all)
    }

    proptest! {
        #[test]
        fn all_lines_that_name_columns_are_found(
            lines in prop::collection::vec(prop::sample::select(vec!["#Version: 1.0", "#Fields: date time cs-uri-stem", "#Fields: x", "a line", "", "# more"]), 0..8),
            is_ended: bool,
            buffer in 1_usize..40,
            max_line in 1_usize..40,
        ) {
            let text = lines.join("\n") + if is_ended { "\n" } else { "" };
            let listed = list(BufReader::with_capacity(buffer, text.as_bytes()), 0, max_line).unwrap();
            let places = listed.map(|all| all.into_iter().map(|(start, _)| start).collect::<Vec<_>>());
            prop_assert_eq!(places, expected(text.as_bytes(), max_line), "{}", text);
        }
    }

    #[test]
    fn a_file_without_lines_is_not_read_through() {
        let mut endless = BufReader::new(io::repeat(0));
        assert!(list(&mut endless, 0, 100).unwrap().is_none());
        let mut endless = BufReader::new(io::repeat(b'#'));
        assert!(list(&mut endless, 0, 100).unwrap().is_none());
    }
}
