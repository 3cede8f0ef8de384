//! One generation of a live log.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::engine::ScanOptions;
use crate::formats::{Formats, is_report};
use crate::formats::{Layouts, W3cHeader};
use crate::input::pipe::STDIN;
use crate::input::read::{Body, Chunk};
use crate::input::tail::LineChunk;
use crate::scan::client_position::ClientPositionCache;
use crate::scan::discovery::{is_head_whole, layouts_in, layouts_of_file};
use crate::scan::log_detection::HEAD_BYTES;
use crate::scan::w3c_headers;
use crate::source::SourceInfo;

/// A live log.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and nearly all combinations occur")]
pub(super) struct LiveLog {
    pub(super) generation: u64,
    pub(super) path: Vec<u8>,
    /// The common part of its name and those of its rotated siblings.
    pub(super) family: Vec<u8>,
    /// The number of its input.
    pub(super) input: u32,
    /// A line has parsed, or the log is accepted without parsed lines.
    pub(super) is_known: bool,
    /// The header after the last lines.
    header: W3cHeader,
    pub(super) clients: ClientPositionCache,
    /// The layouts that were discovered in its first lines, and whether more lines may change them.
    pub(super) layouts: Option<Arc<Layouts>>,
    pub(super) may_have_layouts: bool,
    /// The first lines of a pipe, which cannot be read again.
    piped: Vec<u8>,
    /// It is a report beside the logs.
    pub(super) is_report: bool,
    /// The first lines were examined.
    pub(super) is_examined: bool,
    /// There was a warning about its fields.
    pub(super) is_warned: bool,
    held: Vec<HeldLines>,
}

/// Lines held back until one parses.
#[derive(Debug)]
pub(super) struct HeldLines {
    pub(super) offset: u64,
    pub(super) lines_before: u64,
    pub(super) lines: Vec<u8>,
    pub(super) header: W3cHeader,
}

impl LiveLog {
    pub(super) fn new(piece: &LineChunk<'_>, input: u32, max_line: usize) -> Self {
        let path = piece.path.as_os_str().as_bytes().to_vec();
        let family = source_info(piece).family().to_vec();
        let header = w3c_headers::header_before(piece, max_line);
        let (clients, is_known, is_examined) = (ClientPositionCache::default(), false, false);
        Self {
            generation: piece.generation,
            path,
            family,
            input,
            is_known,
            header,
            clients,
            layouts: None,
            may_have_layouts: true,
            piped: Vec::new(),
            is_report: matches!(piece.chunk, Chunk { offset: 0, body: Body::Lines(lines) } if is_report(lines) && !piece.named),
            is_examined,
            is_warned: false,
            held: Vec::new(),
        }
    }

    /// Discovers the layouts in its first lines, until there are enough of them.
    pub(super) fn discover(&mut self, piece: &LineChunk<'_>, formats: &Formats, scope: &ScanOptions) {
        if !self.may_have_layouts {
            return;
        }
        if piece.path == Path::new(STDIN) {
            if let Body::Lines(lines) = piece.chunk.body {
                self.piped.extend_from_slice(lines);
            }
            self.layouts = layouts_in(&self.piped, piece.path, formats, scope);
            self.may_have_layouts = self.piped.len() < HEAD_BYTES;
        } else {
            self.may_have_layouts = !is_head_whole(piece.path);
            self.layouts = layouts_of_file(piece.path, formats, scope);
        }
        if !self.may_have_layouts {
            self.piped = Vec::new();
        }
    }

    /// Advances over the next lines; returns the header before them.
    pub(super) fn advance_header(&mut self, body: Body<'_>, max_line: usize) -> W3cHeader {
        let before = self.header.clone();
        if let Body::Lines(lines) = body {
            self.header = before.clone().after(lines, max_line);
        }
        before
    }

    /// Holds lines back until one parses. If they exceed `most` bytes, they are dropped: the file is not a log.
    pub(super) fn hold(&mut self, chunk: Chunk<'_>, lines_before: u64, header: W3cHeader, most: usize) {
        let Body::Lines(lines) = chunk.body else { return };
        let held: usize = self.held.iter().map(|held| held.lines.len()).sum();
        if held + lines.len() > most {
            self.held.clear();
        } else {
            self.held.push(HeldLines { offset: chunk.offset, lines_before, lines: lines.to_vec(), header });
        }
    }

    /// Takes the held lines, in order.
    pub(super) fn release(&mut self) -> Vec<HeldLines> {
        std::mem::take(&mut self.held)
    }
}

/// The input of a piece. Live lines are numbered from the start of the log, so no list of chunks is needed.
pub(super) fn source_info(piece: &LineChunk<'_>) -> SourceInfo {
    SourceInfo::new(piece.path.as_os_str().as_bytes().to_vec(), piece.generation, Vec::new())
}
