//! One generation of a live log, as the stream knows it.

use std::os::unix::ffi::OsStrExt;

use crate::formats::W3cHeader;
use crate::input::chunk::{Body, Chunk};
use crate::input::tail::LineChunk;
use crate::scan::client_position::ClientPositionCache;
use crate::scan::w3c_headers;
use crate::source::SourceInfo;

/// A log whose lines come in.
#[derive(Debug)]
pub(super) struct LiveLog {
    pub(super) generation: u64,
    pub(super) path: Vec<u8>,
    /// What its name and those of its rotated siblings have in common.
    pub(super) family: Vec<u8>,
    /// Its text's number.
    pub(super) text: u32,
    /// A line of it parses, or it is a log though none does.
    pub(super) is_known: bool,
    /// The header in force behind the last lines.
    header: W3cHeader,
    pub(super) clients: ClientPositionCache,
    /// Its first lines were looked at.
    pub(super) is_examined: bool,
    held: Vec<HeldLines>,
}

/// Lines that wait for one that parses.
#[derive(Debug)]
pub(super) struct HeldLines {
    pub(super) offset: u64,
    pub(super) lines_before: u64,
    pub(super) lines: Vec<u8>,
    pub(super) header: W3cHeader,
}

impl LiveLog {
    pub(super) fn new(piece: &LineChunk<'_>, text: u32, max_line: usize) -> Self {
        let path = piece.path.as_os_str().as_bytes().to_vec();
        let family = source_info(piece).family().to_vec();
        let header = w3c_headers::header_before(piece, max_line);
        let (clients, is_known, is_examined) = (ClientPositionCache::default(), false, false);
        Self { generation: piece.generation, path, family, text, is_known, header, clients, is_examined, held: Vec::new() }
    }

    /// The header in force before these lines, which come next.
    pub(super) fn advance_header(&mut self, body: Body<'_>, max_line: usize) -> W3cHeader {
        let before = self.header.clone();
        if let Body::Lines(lines) = body {
            self.header = before.clone().after(lines, max_line);
        }
        before
    }

    /// Keeps lines for when one parses. More than `most` bytes without one are no log, and are passed over.
    pub(super) fn hold(&mut self, chunk: Chunk<'_>, lines_before: u64, header: W3cHeader, most: usize) {
        let Body::Lines(lines) = chunk.body else { return };
        let held: usize = self.held.iter().map(|held| held.lines.len()).sum();
        if held + lines.len() > most {
            self.held.clear();
        } else {
            self.held.push(HeldLines { offset: chunk.offset, lines_before, lines: lines.to_vec(), header });
        }
    }

    /// What was kept, in its order.
    pub(super) fn release(&mut self) -> Vec<HeldLines> {
        std::mem::take(&mut self.held)
    }
}

/// The text of a piece's log. Its lines are counted from its start, so that it needs no list of runs.
pub(super) fn source_info(piece: &LineChunk<'_>) -> SourceInfo {
    SourceInfo::new(piece.path.as_os_str().as_bytes().to_vec(), piece.generation, Vec::new())
}
