//! One generation of a log: its text and where it is read from.
//!
//! Hands out whole lines only, and only after the file proved, behind the reading, that it still holds the text it is
//! read for. Which generation a path leads to is not its business.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use memchr::{memchr, memchr_iter, memrchr};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::content::ContentFingerprint;
use super::file_stat::FileStat;
use super::generation_reader::GenerationReader;
use super::inspected_file::head_of;
use super::start::bytes_before;
use crate::input::chunk::{Body, Chunk};
use crate::input::sparse::{next_text_after, read_full_at, trailing_nuls};
use crate::source::TAIL;

/// What a log is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GenerationState {
    /// Its path leads here.
    Live,
    /// Its path leads elsewhere; it is read until nothing comes any more.
    Draining,
    /// Its file was truncated; what was not read of it is looked for.
    Truncated {
        /// A sibling that may hold it is still being written.
        may_recover: bool,
    },
    /// To be told to its end, an unfinished line too, and closed.
    Closing,
    /// Told to its end.
    Done,
}

/// One generation, or a file that holds nothing yet.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the file that depends on no other")]
pub(super) struct Generation {
    /// Its number within the tail; 0 while there is no text.
    pub(super) number: u32,
    /// Where it was last seen.
    pub(super) path: PathBuf,
    /// `None` while the file is empty.
    pub(super) content: Option<ContentFingerprint>,
    /// `None` while it is looked for.
    reader: Option<GenerationReader>,
    /// When last looked at.
    pub(super) stat: FileStat,
    pub(super) state: GenerationState,
    /// Everything was read once since the log stopped being the live one, so that what came after it may be told.
    pub(super) caught_up: bool,
    /// Since when nothing came.
    pub(super) quiet_since: Instant,
    /// Since when no name leads to it.
    pub(super) unlinked_since: Option<Instant>,
    /// The file does not hold the text any more.
    pub(super) mismatched: bool,
    /// The file held another text before, and may have been written over with a copy.
    pub(super) is_rewritten: bool,
    /// Up to here there is nothing but the beginning of a line.
    searched_to: u64,
    /// The text ended in NULs: they may be overwritten without a trace in the stamp.
    ends_in_nuls: bool,
    /// Bytes to read in one go, where a line did not fit.
    next_read_len: usize,
    /// Bytes of an oversized line that were streamed past.
    skipped_bytes: u64,
    /// Where it was gone on with, by a state.
    resume_offset: u64,
}

/// What one turn of reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadStep {
    /// There may be more at once.
    More,
    /// Nothing more for now.
    End,
}

impl Generation {
    /// A log in `file`, with `content` if it has one.
    pub(super) fn new(path: PathBuf, reader: GenerationReader, stat: FileStat, content: Option<ContentFingerprint>, now: Instant) -> Self {
        let searched_to = content.as_ref().map_or(0, |content| content.offset);
        Self {
            number: 0,
            path,
            content,
            reader: Some(reader),
            stat,
            state: GenerationState::Live,
            caught_up: false,
            quiet_since: now,
            unlinked_since: None,
            mismatched: false,
            is_rewritten: false,
            searched_to,
            ends_in_nuls: false,
            next_read_len: 0,
            skipped_bytes: 0,
            resume_offset: searched_to,
        }
    }

    /// The file, if it is plain.
    pub(super) fn file(&self) -> Option<&Arc<File>> {
        self.reader.as_ref().and_then(GenerationReader::plain)
    }

    /// The file has this text.
    pub(super) fn set_content(&mut self, content: ContentFingerprint, number: u32) {
        self.searched_to = content.offset;
        self.content = Some(content);
        self.number = number;
    }

    /// The text goes on elsewhere; its file is as one that holds nothing yet.
    pub(super) fn clear_content(&mut self) {
        self.content = None;
        self.number = 0;
        (self.searched_to, self.skipped_bytes, self.next_read_len) = (0, 0, 0);
        (self.ends_in_nuls, self.mismatched) = (false, false);
    }

    /// Takes the text away from its file, which holds another one now.
    pub(super) fn detach_file(&mut self, now: Instant) {
        self.reader = None;
        self.state = GenerationState::Truncated { may_recover: false };
        self.stat = FileStat::default();
        self.caught_up = false;
        self.mismatched = false;
        self.skipped_bytes = 0;
        self.quiet_since = now;
    }

    /// Goes on reading in another file.
    pub(super) fn resume_in(&mut self, reader: GenerationReader, stat: FileStat, now: Instant) {
        self.reader = Some(reader);
        self.stat = stat;
        self.searched_to = self.offset();
        self.skipped_bytes = 0;
        self.next_read_len = 0;
        self.mismatched = false;
        self.caught_up = false;
        self.quiet_since = now;
        self.unlinked_since = None;
    }

    /// Looks how many names lead to its file by now.
    pub(super) fn count_links(&mut self) {
        if let Some(Ok(metadata)) = self.file().map(|file| file.metadata()) {
            self.stat.links = FileStat::from_metadata(&metadata).links;
        }
    }

    /// Bytes that are done.
    pub(super) fn offset(&self) -> u64 {
        self.content.as_ref().map_or(0, |content| content.offset)
    }

    /// Whether it is read from a packed file.
    pub(super) fn is_compressed(&self) -> bool {
        matches!(self.reader, Some(GenerationReader::Compressed(_)))
    }

    /// What is wrong with its packed file.
    pub(super) fn damage(&self) -> Option<&str> {
        self.reader.as_ref().and_then(GenerationReader::damage)
    }

    /// Whether nothing came to it since it was read before, so that all that was to be said of it was said then.
    pub(super) fn is_unchanged_since_resume(&self) -> bool {
        self.resume_offset > 0 && self.offset() == self.resume_offset
    }

    /// Whether the beginning of a line is all that is left to read.
    pub(super) fn is_unfinished(&self) -> bool {
        self.content.as_ref().is_some_and(|content| self.searched_to > content.offset) || self.skipped_bytes > 0
    }

    /// Whether all that was seen of its text was read; NULs behind it are none.
    pub(super) fn is_read(&self) -> bool {
        self.ends_in_nuls || !self.has_more()
    }

    /// Whether there is something to read.
    pub(super) fn has_more(&self) -> bool {
        self.content.is_some()
            && self.reader.is_some()
            && !self.mismatched
            && self.state != GenerationState::Done
            && (self.state == GenerationState::Closing
                || self.state == GenerationState::Draining && !self.caught_up
                || self.is_compressed()
                || self.ends_in_nuls
                || self.stat.size > self.searched_to)
    }

    /// Whether its file holds its text still, as far as it was read; learns more of its beginning.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn holds(&mut self) -> io::Result<bool> {
        let (Some(file), Some(content)) = (self.reader.as_ref().and_then(GenerationReader::plain), &mut self.content) else {
            return Ok(true);
        };
        let head = head_of(file)?;
        let mut before = [0; TAIL];
        let before = &mut before[..content.tail_len()];
        let read = read_full_at(file, before, content.offset - before.len() as u64)?;
        let holds = content.holds(&head, &before[..read]);
        if holds {
            content.extend_head(&head, before);
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
        emit: &mut impl FnMut(u64, Chunk<'_>),
    ) -> io::Result<ReadStep> {
        let (Some(reader), Some(content)) = (&mut self.reader, &self.content) else { return Ok(ReadStep::End) };
        let from = content.offset + self.skipped_bytes;
        let want = block.max(self.next_read_len);
        buffer.resize(want.max(buffer.len()), 0);
        let read = reader.read(&mut buffer[..want], from)?;
        let nuls = trailing_nuls(&buffer[..read]);
        let beyond = match reader.plain() {
            Some(file) if nuls > 0 && read == want => next_text_after(file, from + read as u64)?,
            _ => None,
        };
        let at_end = read < want || nuls > 0 && beyond.is_none();
        let starts_line = self.skipped_bytes == 0 && buffer[..read - nuls].last().is_none_or(|last| *last == b'\n');
        let passed = beyond.filter(|_| starts_line);
        let fresh = &buffer[..if at_end || passed.is_some() { read - nuls } else { read }];
        // Behind the reading: a truncated file never gets its old text back, so what was read is of it.
        if !self.holds()? {
            self.mismatched = true;
            return Ok(ReadStep::End);
        }
        self.ends_in_nuls = at_end && nuls > 0;
        self.next_read_len = 0;
        self.searched_to = from + read as u64;
        if self.skipped_bytes > 0 && self.skip_long_line(fresh, from, emit)? {
            return Ok(ReadStep::More);
        } else if self.skipped_bytes == 0 {
            self.emit_lines(fresh, from, max_line, block, emit);
        }
        if let (Some(behind), Some(content), Some(file)) =
            (passed, &mut self.content, self.reader.as_ref().and_then(GenerationReader::plain))
        {
            content.skip_to(behind, 0, &bytes_before(file, behind)?);
        }
        if !at_end {
            return Ok(ReadStep::More);
        }
        self.caught_up = true;
        if self.state == GenerationState::Closing || self.is_compressed() {
            self.emit_unfinished(fresh, from, emit);
        }
        Ok(ReadStep::End)
    }

    /// Hands out the whole lines of `fresh`, or starts to stream past one that is too long.
    fn emit_lines(&mut self, fresh: &[u8], from: u64, max_line: usize, block: usize, emit: &mut impl FnMut(u64, Chunk<'_>)) {
        let Some(content) = &mut self.content else { return };
        match memrchr(b'\n', fresh) {
            Some(last) => {
                let lines = &fresh[..=last];
                emit(content.lines, Chunk { offset: from, body: Body::Lines(lines) });
                content.advance(lines, memchr_iter(b'\n', lines).count() as u64);
            }
            None if fresh.len() > max_line => self.skipped_bytes = fresh.len() as u64,
            None => self.next_read_len = fresh.len() + block,
        }
    }

    /// Streams past more of a line that is too long; whether it ended.
    fn skip_long_line(&mut self, fresh: &[u8], from: u64, emit: &mut impl FnMut(u64, Chunk<'_>)) -> io::Result<bool> {
        let Some(newline) = memchr(b'\n', fresh) else {
            self.skipped_bytes += fresh.len() as u64;
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
        self.emit_oversized(self.skipped_bytes + newline as u64, behind, &before, emit);
        self.searched_to = behind;
        Ok(true)
    }

    /// A line that was not held is done.
    fn emit_oversized(&mut self, bytes: u64, behind: u64, before: &[u8], emit: &mut impl FnMut(u64, Chunk<'_>)) {
        let Some(content) = &mut self.content else { return };
        emit(content.lines, Chunk { offset: content.offset, body: Body::Oversized { bytes } });
        content.skip_to(behind, 1, before);
        self.skipped_bytes = 0;
    }

    /// Hands out the unfinished line at the end of a text that ends for good.
    fn emit_unfinished(&mut self, fresh: &[u8], from: u64, emit: &mut impl FnMut(u64, Chunk<'_>)) {
        self.state = GenerationState::Done;
        let end = from + fresh.len() as u64;
        let broken = self.damage().is_some();
        let Some(content) = &mut self.content else { return };
        if content.offset >= end || broken {
            return;
        }
        if self.skipped_bytes > 0 {
            let bytes = end - content.offset;
            self.emit_oversized(bytes, end, &[], emit);
            return;
        }
        let rest = &fresh[(content.offset - from) as usize..];
        emit(content.lines, Chunk { offset: content.offset, body: Body::Lines(rest) });
        content.advance(rest, 1);
    }
}

/// The numbers given so far.
#[derive(Debug, Default)]
pub(super) struct GenerationIds {
    next: u32,
    used: HashSet<u64>,
    /// A generation was named since checkpoints were last given out.
    pub(super) fresh: bool,
}

impl GenerationIds {
    /// These names are given already.
    pub(super) fn note(&mut self, generation: u64) {
        self.used.insert(generation);
    }

    /// The next number within this run.
    pub(super) fn next(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// A name for a generation that begins with `head`: as `scan` gives it, unless another one has it.
    pub(super) fn generation(&mut self, head: &[u8]) -> u64 {
        self.fresh = true;
        let mut name = xxh3_64(head);
        let mut seed = 0;
        // No name is 0: a checkpoint with that one stands for a path without text.
        while name == 0 || !self.used.insert(name) {
            seed += 1;
            name = xxh3_64_with_seed(head, seed);
        }
        name
    }
}
