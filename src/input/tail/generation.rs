//! One generation of a log: its text and where it is read from.
//!
//! Hands out whole lines only, and only after the file proved, behind the reading, that it still holds the text it is
//! read for. Which generation a path leads to is not its business.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use memchr::{memchr, memchr_iter, memrchr};

use super::content::Text;
use super::file_stat::Stamp;
use super::generation_reader::Reader;
use super::inspected_file::head_of;
use super::start::before;
use crate::input::chunk::{Body, Chunk};
use crate::input::sparse::{read_full_at, text_behind, trailing_nuls};
use crate::source::TAIL;

/// What a log is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its path leads here.
    Live,
    /// Its path leads elsewhere; it is read until nothing comes any more.
    Draining,
    /// Its file was truncated; what was not read of it is looked for.
    Lost {
        /// A sibling that may hold it is still being written.
        hopeful: bool,
    },
    /// To be told to its end, an unfinished line too, and closed.
    Closing,
    /// Told to its end.
    Done,
}

/// One generation, or a file that holds nothing yet.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the file that depends on no other")]
pub(super) struct Log {
    /// Its number within the tail; 0 while there is no text.
    pub(super) number: u32,
    /// Where it was last seen.
    pub(super) path: PathBuf,
    /// `None` while the file is empty.
    pub(super) text: Option<Text>,
    /// `None` while it is looked for.
    reader: Option<Reader>,
    /// When last looked at.
    pub(super) stamp: Stamp,
    pub(super) role: Role,
    /// Everything was read once since the log stopped being the live one, so that what came after it may be told.
    pub(super) caught_up: bool,
    /// Since when nothing came.
    pub(super) quiet_since: Instant,
    /// Since when no name leads to it.
    pub(super) unlinked_since: Option<Instant>,
    /// The file does not hold the text any more.
    pub(super) suspect: bool,
    /// The file held another text before, and may have been written over with a copy.
    pub(super) is_rewritten: bool,
    /// Up to here there is nothing but the beginning of a line.
    checked: u64,
    /// The text ended in NULs: they may be overwritten without a trace in the stamp.
    padded: bool,
    /// Bytes to read in one go, where a line did not fit.
    want: usize,
    /// Bytes of an oversized line that were streamed past.
    skimmed: u64,
    /// Where it was gone on with, by a state.
    resumed: u64,
}

/// What one turn of reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// There may be more at once.
    More,
    /// Nothing more for now.
    End,
}

impl Log {
    /// A log in `file`, with `text` if it has one.
    pub(super) fn new(path: PathBuf, reader: Reader, stamp: Stamp, text: Option<Text>, now: Instant) -> Self {
        let checked = text.as_ref().map_or(0, |text| text.offset);
        Self {
            number: 0,
            path,
            text,
            reader: Some(reader),
            stamp,
            role: Role::Live,
            caught_up: false,
            quiet_since: now,
            unlinked_since: None,
            suspect: false,
            is_rewritten: false,
            checked,
            padded: false,
            want: 0,
            skimmed: 0,
            resumed: checked,
        }
    }

    /// The file, if it is plain.
    pub(super) fn file(&self) -> Option<&Arc<File>> {
        self.reader.as_ref().and_then(Reader::plain)
    }

    /// The file has this text.
    pub(super) fn set_text(&mut self, text: Text, number: u32) {
        self.checked = text.offset;
        self.text = Some(text);
        self.number = number;
    }

    /// The text goes on elsewhere; its file is as one that holds nothing yet.
    pub(super) fn forget(&mut self) {
        self.text = None;
        self.number = 0;
        (self.checked, self.skimmed, self.want) = (0, 0, 0);
        (self.padded, self.suspect) = (false, false);
    }

    /// Takes the text away from its file, which holds another one now.
    pub(super) fn lose(&mut self, now: Instant) {
        self.reader = None;
        self.role = Role::Lost { hopeful: false };
        self.stamp = Stamp::default();
        self.caught_up = false;
        self.suspect = false;
        self.skimmed = 0;
        self.quiet_since = now;
    }

    /// Goes on reading in another file.
    pub(super) fn go_on_in(&mut self, reader: Reader, stamp: Stamp, now: Instant) {
        self.reader = Some(reader);
        self.stamp = stamp;
        self.checked = self.offset();
        self.skimmed = 0;
        self.want = 0;
        self.suspect = false;
        self.caught_up = false;
        self.quiet_since = now;
        self.unlinked_since = None;
    }

    /// Looks how many names lead to its file by now.
    pub(super) fn count_links(&mut self) {
        if let Some(Ok(metadata)) = self.file().map(|file| file.metadata()) {
            self.stamp.links = Stamp::of(&metadata).links;
        }
    }

    /// Bytes that are done.
    pub(super) fn offset(&self) -> u64 {
        self.text.as_ref().map_or(0, |text| text.offset)
    }

    /// Whether it is read from a packed file.
    pub(super) fn is_packed(&self) -> bool {
        matches!(self.reader, Some(Reader::Packed(_)))
    }

    /// What is wrong with its packed file.
    pub(super) fn damage(&self) -> Option<&str> {
        self.reader.as_ref().and_then(Reader::damage)
    }

    /// Whether nothing came to it since it was read before, so that all that was to be said of it was said then.
    pub(super) fn is_told_again(&self) -> bool {
        self.resumed > 0 && self.offset() == self.resumed
    }

    /// Whether the beginning of a line is all that is left to read.
    pub(super) fn is_unfinished(&self) -> bool {
        self.text.as_ref().is_some_and(|text| self.checked > text.offset) || self.skimmed > 0
    }

    /// Whether all that was seen of its text was read; NULs behind it are none.
    pub(super) fn is_read(&self) -> bool {
        self.padded || !self.has_more()
    }

    /// Whether there is something to read.
    pub(super) fn has_more(&self) -> bool {
        self.text.is_some()
            && self.reader.is_some()
            && !self.suspect
            && self.role != Role::Done
            && (self.role == Role::Closing
                || self.role == Role::Draining && !self.caught_up
                || self.is_packed()
                || self.padded
                || self.stamp.size > self.checked)
    }

    /// Whether its file holds its text still, as far as it was read; learns more of its beginning.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn holds(&mut self) -> io::Result<bool> {
        let (Some(file), Some(text)) = (self.reader.as_ref().and_then(Reader::plain), &mut self.text) else { return Ok(true) };
        let head = head_of(file)?;
        let mut before = [0; TAIL];
        let before = &mut before[..text.tail_len()];
        let read = read_full_at(file, before, text.offset - before.len() as u64)?;
        let holds = text.holds(&head, &before[..read]);
        if holds {
            text.learn(&head, before);
        }
        Ok(holds)
    }

    /// Reads at most `block` bytes, or one line where that is longer, and gives the whole lines to `take`, with the
    /// number of lines before them.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn read(
        &mut self,
        block: usize,
        max_line: usize,
        buffer: &mut Vec<u8>,
        take: &mut impl FnMut(u64, Chunk<'_>),
    ) -> io::Result<Turn> {
        let (Some(reader), Some(text)) = (&mut self.reader, &self.text) else { return Ok(Turn::End) };
        let from = text.offset + self.skimmed;
        let want = block.max(self.want);
        buffer.resize(want.max(buffer.len()), 0);
        let read = reader.read(&mut buffer[..want], from)?;
        let nuls = trailing_nuls(&buffer[..read]);
        let beyond = match reader.plain() {
            Some(file) if nuls > 0 && read == want => text_behind(file, from + read as u64)?,
            _ => None,
        };
        let at_end = read < want || nuls > 0 && beyond.is_none();
        let starts_line = self.skimmed == 0 && buffer[..read - nuls].last().is_none_or(|last| *last == b'\n');
        let passed = beyond.filter(|_| starts_line);
        let fresh = &buffer[..if at_end || passed.is_some() { read - nuls } else { read }];
        // Behind the reading: a truncated file never gets its old text back, so what was read is of it.
        if !self.holds()? {
            self.suspect = true;
            return Ok(Turn::End);
        }
        self.padded = at_end && nuls > 0;
        self.want = 0;
        self.checked = from + read as u64;
        if self.skimmed > 0 && self.skim(fresh, from, take)? {
            return Ok(Turn::More);
        } else if self.skimmed == 0 {
            self.cut(fresh, from, max_line, block, take);
        }
        if let (Some(behind), Some(text), Some(file)) = (passed, &mut self.text, self.reader.as_ref().and_then(Reader::plain)) {
            text.jump(behind, 0, &before(file, behind)?);
        }
        if !at_end {
            return Ok(Turn::More);
        }
        self.caught_up = true;
        if self.role == Role::Closing || self.is_packed() {
            self.finish(fresh, from, take);
        }
        Ok(Turn::End)
    }

    /// Hands out the whole lines of `fresh`, or starts to stream past one that is too long.
    fn cut(&mut self, fresh: &[u8], from: u64, max_line: usize, block: usize, take: &mut impl FnMut(u64, Chunk<'_>)) {
        let Some(text) = &mut self.text else { return };
        match memrchr(b'\n', fresh) {
            Some(last) => {
                let lines = &fresh[..=last];
                take(text.lines, Chunk { offset: from, body: Body::Lines(lines) });
                text.advance(lines, memchr_iter(b'\n', lines).count() as u64);
            }
            None if fresh.len() > max_line => self.skimmed = fresh.len() as u64,
            None => self.want = fresh.len() + block,
        }
    }

    /// Streams past more of a line that is too long; whether it ended.
    fn skim(&mut self, fresh: &[u8], from: u64, take: &mut impl FnMut(u64, Chunk<'_>)) -> io::Result<bool> {
        let Some(newline) = memchr(b'\n', fresh) else {
            self.skimmed += fresh.len() as u64;
            return Ok(false);
        };
        let behind = from + newline as u64 + 1;
        let mut before = vec![0; TAIL];
        match self.file() {
            Some(file) => {
                let read = read_full_at(file, &mut before, behind - TAIL as u64)?;
                before.truncate(read);
            }
            None => before = fresh[..=newline][(newline + 1).saturating_sub(TAIL)..].to_vec(),
        }
        self.pass_line(self.skimmed + newline as u64, behind, &before, take);
        self.checked = behind;
        Ok(true)
    }

    /// A line that was not held is done.
    fn pass_line(&mut self, bytes: u64, behind: u64, before: &[u8], take: &mut impl FnMut(u64, Chunk<'_>)) {
        let Some(text) = &mut self.text else { return };
        take(text.lines, Chunk { offset: text.offset, body: Body::Oversized { bytes } });
        text.jump(behind, 1, before);
        self.skimmed = 0;
    }

    /// Hands out the unfinished line at the end of a text that ends for good.
    fn finish(&mut self, fresh: &[u8], from: u64, take: &mut impl FnMut(u64, Chunk<'_>)) {
        self.role = Role::Done;
        let end = from + fresh.len() as u64;
        let broken = self.damage().is_some();
        let Some(text) = &mut self.text else { return };
        if text.offset >= end || broken {
            return;
        }
        if self.skimmed > 0 {
            let bytes = end - text.offset;
            self.pass_line(bytes, end, &[], take);
            return;
        }
        let rest = &fresh[(text.offset - from) as usize..];
        take(text.lines, Chunk { offset: text.offset, body: Body::Lines(rest) });
        text.advance(rest, 1);
    }
}
