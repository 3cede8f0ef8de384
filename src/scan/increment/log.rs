//! One generation of a log, as far as an increment knows it.
//!
//! Lines of a file that was found in a folder wait until one parses: it may be no log at all. So do lines whose period
//! is not known yet. They wait as they are, up to a limit.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::item::{Item, Lines};
use crate::finding::LineCounts;
use crate::formats::Header;
use crate::input::tail::LineChunk;
use crate::scan::client_places::ClientPlaces;
use crate::scan::doubt::{By, Head};
use crate::scan::headers;
use crate::time::Period;

/// A log that lines came from.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    pub(super) generation: u64,
    pub(super) fresh: bool,
    /// Lines of it were read in an earlier run.
    pub(super) goes_on: bool,
    pub(super) head: Option<Head>,
    /// How it was found.
    pub(super) by: By,
    /// The header in force behind the last lines that came.
    header: Header,
    pub(super) clients: ClientPlaces,
    /// It counts: it was asked for by name, or a line of it parses.
    pub(super) is_known: bool,
    /// The period of its last line.
    pub(super) period: Option<Period>,
    pub(super) waiting: Vec<Item>,
    pub(super) waiting_bytes: usize,
    /// Lines that were let go before one parsed, and their bytes.
    pub(super) skipped: (u64, u64),
    /// Where its lines went.
    pub(super) counts: LineCounts,
    /// The number of its text, once a line of it counts.
    pub(super) text: Option<u32>,
}

impl Log {
    pub(super) fn new(piece: &LineChunk<'_>, max_line: usize) -> Self {
        Self {
            path: piece.path.to_owned(),
            generation: piece.generation,
            fresh: piece.fresh,
            goes_on: piece.lines_before > 0,
            head: None,
            by: By::of(piece),
            header: headers::before(piece, max_line),
            clients: ClientPlaces::default(),
            is_known: By::of(piece) == By::Name,
            period: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            skipped: (0, 0),
            counts: LineCounts::default(),
            text: None,
        }
    }

    /// Remembers how it begins, as far as this run sees it.
    pub(super) fn see_first(&mut self, lines: &[u8]) {
        let head = Head::of(lines);
        // Binary data that was asked for waits for a line that parses, as what is in a folder does.
        self.is_known &= !head.is_binary;
        self.head = Some(head);
    }

    /// Whether it is no access log, where no line parses.
    pub(super) fn is_foreign(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.is_foreign(self.path.as_os_str().as_bytes(), self.by))
    }

    /// The line it begins with, as far as this run sees it.
    pub(super) fn first_line(&self) -> &[u8] {
        self.head.as_ref().map_or(b"", |head| &head.first_line)
    }

    /// The header in force before these lines, which come next.
    pub(super) fn pass(&mut self, lines: &[u8], max_line: usize) -> Header {
        let before = self.header.clone();
        self.header = before.clone().behind(lines, max_line);
        before
    }

    pub(super) fn wait(&mut self, item: Item) {
        self.waiting_bytes += item.lines.held();
        self.waiting.push(item);
    }

    /// What waited, in its order.
    pub(super) fn release(&mut self) -> Vec<Item> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Lets go of what waits, and counts it.
    pub(super) fn let_go(&mut self) {
        for item in self.release() {
            let lines = match &item.lines {
                Lines::Text(text) => memchr::memchr_iter(b'\n', text).count() as u64 + u64::from(text.last() != Some(&b'\n')),
                Lines::Written { transcribed, .. } => transcribed.len() as u64,
                Lines::Oversized(_) => 1,
            };
            self.skipped.0 += lines;
            self.skipped.1 += item.lines.bytes();
        }
    }

    /// Lines that were read of it.
    pub(super) fn lines(&self) -> u64 {
        self.counts.lines + self.skipped.0
    }
}
