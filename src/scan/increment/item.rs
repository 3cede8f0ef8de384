//! Lines of one log on their way to be judged, and the runs of them that count.
//!
//! Knows where lines were in their log, whatever they were written down as since. Reads none of them.

use std::path::Path;

use super::Reading;
use super::cutting::Run;
use super::log::Log;
use super::parts::When;
use crate::formats::Header;
use crate::formats::transcriber::{Course, Transcribed};

/// Lines of one log, copied.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) log: u32,
    pub(super) offset: u64,
    pub(super) lines_before: u64,
    pub(super) header: Header,
    pub(super) lines: Lines,
}

/// The inside of an item.
#[derive(Debug)]
pub(super) enum Lines {
    Text(Vec<u8>),
    /// Lines of another format, and the bytes of the log that they were.
    Written {
        transcribed: Transcribed,
        bytes: u64,
    },
    Oversized(u64),
}

impl Lines {
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
            Self::Written { transcribed, .. } => transcribed.text.len(),
            Self::Oversized(_) => 0,
        }
    }
}

/// A run of lines that counts.
pub(super) struct Counted<'i> {
    pub(super) period: When,
    pub(super) text: u32,
    pub(super) log: u32,
    pub(super) item: &'i Item,
    pub(super) run: Run,
}

impl Counted<'_> {
    /// Where it begins, in bytes of the log from the start of its item.
    pub(super) fn start(&self) -> u64 {
        match &self.item.lines {
            Lines::Written { transcribed, bytes } => transcribed.start_of(self.run.lines_before as usize, *bytes),
            Lines::Text(_) | Lines::Oversized(_) => self.run.start as u64,
        }
    }

    /// Bytes of the log that its lines take, of which there are so many.
    pub(super) fn bytes(&self, lines: u64) -> u64 {
        match &self.item.lines {
            Lines::Oversized(bytes) => *bytes,
            Lines::Text(_) => (self.run.end - self.run.start) as u64,
            Lines::Written { transcribed, bytes } => transcribed.start_of((self.run.lines_before + lines) as usize, *bytes) - self.start(),
        }
    }
}

impl<'a> Reading<'a> {
    /// What the lines of an item of a log are read by.
    pub(super) fn course(&self, item: &Item, log: Option<&Log>) -> Course<'a> {
        let Self { formats, scope, .. } = *self;
        let first = formats.first_of(log.map_or(Path::new(""), |log| &log.path));
        let clients = log.map(|log| log.clients.known()).unwrap_or_default();
        Course { formats, first, header: item.header.clone(), clients, max_line: scope.max_line }
    }
}

/// All of an item as one run.
pub(super) fn whole(item: &Item, period: When) -> Vec<Run> {
    vec![Run { period, start: 0, end: item.lines.held(), lines_before: 0 }]
}
