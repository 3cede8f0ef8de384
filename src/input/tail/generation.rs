//! One generation of a log: its content and the file that it is read from.
//!
//! Returns whole lines only, and only after a check that the file still has the same content. Which
//! generation a path leads to is decided in `watched_path`.
//!
//! An uncompressed file can be read anywhere again. A compressed one is only read forward; bytes
//! that are not consumed yet are buffered.
//!
//! The file may be closed while nothing is read from it, because a process may only have a limited
//! number of files open. It is opened again by its path, and is the same file only if its inode and
//! its content are the same.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use memchr::{memchr, memchr_iter, memrchr};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Notice;
use super::content::{ContentFingerprint, ContentMatch};
use super::inspected_file::{
    DecompressedFile, FileStat, InspectedFile, head_of, is_absent, is_read_error, open,
};
use crate::input::read::{Body, Chunk, SkippedText};
use crate::input::sparse::{leading_nuls, next_text_after, read_full_at, trailing_nuls};
use crate::log::source::TAIL;

/// The state of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GenerationState {
    /// The path leads to its file.
    Live,
    /// The path leads to another file; this one is read until no more data comes.
    Draining,
    /// The file was truncated; the unread rest may be in a copy.
    Truncated {
        /// A sibling that may be the copy is still being written.
        may_recover: bool,
    },
    /// To be read to its end, including an unfinished line, and then closed.
    Closing,
    /// Read to its end.
    Done,
}

/// One generation, or a file without content yet.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the file that depends on no other"
)]
pub(super) struct Generation {
    /// Its number within this run; 0 without content.
    pub(super) number: u32,
    /// Its last known path.
    pub(super) path: PathBuf,
    /// `None` while the file is empty.
    pub(super) content: Option<ContentFingerprint>,
    /// `None` while its file is unknown or closed.
    reader: Option<GenerationReader>,
    /// Whether its file is compressed.
    is_compressed: bool,
    /// Where a scan found its file after the path led elsewhere.
    pub(super) moved_to: Option<PathBuf>,
    /// The size of its file when the path last led to it, and the number of the scan before that.
    pub(super) retired_len: Option<u64>,
    pub(super) retired_scan: u64,
    /// The path that it was followed by before, if another path follows it now.
    pub(super) former_path: Option<PathBuf>,
    /// Why it could not be read at the last attempt.
    read_error: Option<String>,
    /// The metadata at the last poll.
    pub(super) stat: FileStat,
    pub(super) state: GenerationState,
    /// Everything was read once since the path led elsewhere, so newer generations may be read.
    pub(super) caught_up: bool,
    /// Time of the last new data.
    pub(super) quiet_since: Instant,
    /// When the last name of the file was first found to be removed.
    pub(super) unlinked_since: Option<Instant>,
    /// The file no longer has this content.
    pub(super) mismatched: bool,
    /// The file had other content before, and may have been overwritten with a copy.
    pub(super) is_rewritten: bool,
    /// Another path holds the file, and starts the generations that follow in it.
    pub(super) is_borrowed: bool,
    /// Offset up to which there is no newline after the last whole line.
    searched_to: u64,
    /// The data ended in NULs, which can be overwritten without a change of the metadata.
    ends_in_nuls: bool,
    /// Bytes for the next read, if a line did not fit.
    next_read_len: usize,
    /// What was skipped of an oversized line.
    skipped: SkippedText,
    /// Offset of the checkpoint that it was resumed from.
    resume_offset: u64,
}

/// Bytes of NULs that are decompressed at a time.
const NUL_BLOCK: usize = 64 << 10;

/// A block of a file.
#[derive(Debug)]
struct BlockRead {
    /// Its length.
    read: usize,
    /// NULs at its end.
    nuls: usize,
    /// Whether a line starts at these NULs, or after the block if there are none.
    starts_line: bool,
    /// How far there is no other text after it; `None` if there is no more text.
    beyond: Option<u64>,
}

impl Generation {
    /// A generation in the file of `reader`, with `content` if it has any.
    pub(super) fn new(
        path: PathBuf,
        reader: GenerationReader,
        stat: FileStat,
        content: Option<ContentFingerprint>,
        now: Instant,
    ) -> Self {
        let searched_to = content.as_ref().map_or(0, |content| content.offset);
        Self {
            number: 0,
            path,
            content,
            is_compressed: reader.plain().is_none(),
            reader: Some(reader),
            moved_to: None,
            retired_len: None,
            retired_scan: 0,
            former_path: None,
            read_error: None,
            stat,
            state: GenerationState::Live,
            caught_up: false,
            quiet_since: now,
            unlinked_since: None,
            mismatched: false,
            is_rewritten: false,
            is_borrowed: false,
            searched_to,
            ends_in_nuls: false,
            next_read_len: 0,
            skipped: SkippedText::default(),
            resume_offset: searched_to,
        }
    }

    /// Whether it is read from a file, and is not one that the file lost.
    pub(super) fn has_file(&self) -> bool {
        !matches!(self.state, GenerationState::Truncated { .. })
    }

    /// The file, if it is not compressed. Opened for the caller if it is closed.
    pub(super) fn file(&self) -> Option<Arc<File>> {
        if self.is_closed() && !self.is_compressed {
            return self.open_again().ok().flatten();
        }
        self.open_file().map(Arc::clone)
    }

    /// The file, if it is open and not compressed.
    pub(super) fn open_file(&self) -> Option<&Arc<File>> {
        self.reader.as_ref().and_then(GenerationReader::plain)
    }

    /// Whether its file counts towards the limit of open files.
    pub(super) fn is_open(&self) -> bool {
        self.reader.as_ref().is_some_and(GenerationReader::is_open)
    }

    /// Whether its file was closed and has to be opened again to read it.
    pub(super) fn is_closed(&self) -> bool {
        self.reader.is_none() && self.has_file()
    }

    /// The path that its file can be opened by.
    pub(super) fn location(&self) -> &Path {
        self.moved_to.as_deref().unwrap_or(&self.path)
    }

    /// The metadata of its file. `None` if that is closed and its path leads to another one, or to
    /// none.
    pub(super) fn current_stat(&self) -> io::Result<Option<FileStat>> {
        if let Some(file) = self.open_file() {
            return Ok(Some(FileStat::from_metadata(&file.metadata()?)));
        }
        match self.location().metadata() {
            Ok(found) => {
                Ok(Some(FileStat::from_metadata(&found)).filter(|stat| stat.id == self.stat.id))
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes the file, if its path still leads to it. Returns whether it was closed.
    pub(super) fn close_file(&mut self) -> bool {
        let leads_here = |path: &Path| {
            path.metadata()
                .is_ok_and(|found| FileStat::from_metadata(&found).id == self.stat.id)
        };
        let closes = self.is_open() && leads_here(self.location());
        if closes {
            self.reader = None;
        }
        closes
    }

    /// Opens the file again if it is closed. `false` if its path does not lead to it any more.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub(super) fn reopen(&mut self) -> io::Result<bool> {
        if !self.is_closed() {
            return Ok(true);
        }
        let Some(file) = self.open_again()? else {
            return Ok(false);
        };
        if self.is_compressed {
            let mut inspected = InspectedFile::new(&file)?;
            let is_same = |content: &ContentFingerprint| {
                Ok::<_, io::Error>(content.compare(&mut inspected)? == ContentMatch::Same)
            };
            if !self.content.as_ref().map_or(Ok(true), is_same)? {
                return Ok(false);
            }
            self.reader = Some(GenerationReader::new(
                &mut inspected,
                self.offset() + self.skipped.bytes,
            )?);
        } else {
            self.reader = Some(GenerationReader::Plain(file));
        }
        Ok(true)
    }

    /// The file at its path, unless that is another one or there is none.
    fn open_again(&self) -> io::Result<Option<Arc<File>>> {
        match open(self.location()) {
            Ok((file, stat)) => Ok((stat.id == self.stat.id).then_some(file)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes `file`, which its path leads to again.
    pub(super) fn become_live(&mut self, file: Arc<File>) {
        self.reader = Some(GenerationReader::Plain(file));
        self.state = GenerationState::Live;
        self.is_borrowed = false;
        self.unlinked_since = None;
        self.moved_to = None;
    }

    /// Sets the content of the file.
    pub(super) fn set_content(&mut self, content: ContentFingerprint, number: u32) {
        self.searched_to = content.offset;
        self.resume_offset = content.offset;
        self.content = Some(content);
        self.number = number;
    }

    /// Clears the content, which another path continues. The file counts as empty.
    pub(super) fn clear_content(&mut self) {
        self.content = None;
        self.number = 0;
        (self.searched_to, self.next_read_len) = (0, 0);
        self.skipped = SkippedText::default();
        (self.ends_in_nuls, self.mismatched) = (false, false);
    }

    /// Detaches the content from its file, which has other content now.
    pub(super) fn detach_file(&mut self, now: Instant) {
        self.reader = None;
        self.retired_len = None;
        self.is_borrowed = false;
        self.state = GenerationState::Truncated { may_recover: false };
        self.stat = FileStat::default();
        self.caught_up = false;
        self.mismatched = false;
        self.skipped = SkippedText::default();
        self.quiet_since = now;
    }

    /// Continues to read in another file.
    pub(super) fn resume_in(&mut self, reader: GenerationReader, stat: FileStat, now: Instant) {
        self.is_compressed = reader.plain().is_none();
        self.reader = Some(reader);
        self.moved_to = None;
        self.stat = stat;
        self.searched_to = self.offset();
        self.skipped = SkippedText::default();
        self.next_read_len = 0;
        self.mismatched = false;
        self.caught_up = false;
        self.quiet_since = now;
        self.unlinked_since = None;
    }

    /// Updates the number of names of the file.
    pub(super) fn count_links(&mut self) {
        if let Some(Ok(metadata)) = self.open_file().map(|file| file.metadata()) {
            self.stat.links = FileStat::from_metadata(&metadata).links;
        }
    }

    /// Records that it cannot be read. Returns a notice, unless that was so at the last attempt.
    pub(super) fn failed(&mut self, error: &io::Error) -> Option<Notice> {
        let what = format!("cannot be read: {error}");
        let is_new = self.read_error.as_ref() != Some(&what);
        self.read_error = Some(what.clone());
        is_new.then(|| Notice {
            path: self.path.clone(),
            what,
            problem: true,
        })
    }

    /// Bytes read and returned.
    pub(super) fn offset(&self) -> u64 {
        self.content.as_ref().map_or(0, |content| content.offset)
    }

    /// Whether it is read from a compressed file.
    pub(super) fn is_compressed(&self) -> bool {
        self.has_file() && self.is_compressed
    }

    /// What is wrong with its compressed file.
    pub(super) fn damage(&self) -> Option<&str> {
        self.reader.as_ref().and_then(GenerationReader::damage)
    }

    /// Whether a part of it was read before.
    pub(super) fn is_resumed(&self) -> bool {
        self.resume_offset > 0
    }

    /// Whether nothing was read since it was resumed, so that its damage was reported before.
    pub(super) fn is_unchanged_since_resume(&self) -> bool {
        self.is_resumed() && self.offset() == self.resume_offset
    }

    /// Whether only an unfinished line is left.
    pub(super) fn is_unfinished(&self) -> bool {
        self.content
            .as_ref()
            .is_some_and(|content| self.searched_to > content.offset)
            || self.skipped.bytes > 0
    }

    /// Whether all known data was read. NULs at the end do not count.
    pub(super) fn is_read(&self) -> bool {
        self.ends_in_nuls || !self.has_more()
    }

    /// Whether there is something to read.
    pub(super) fn has_more(&self) -> bool {
        self.content.is_some()
            && self.has_file()
            && !self.mismatched
            && self.state != GenerationState::Done
            && (self.state == GenerationState::Closing
                || self.state == GenerationState::Draining && !self.caught_up
                || self.is_compressed()
                || self.ends_in_nuls
                || self.stat.size > self.searched_to)
    }

    /// Whether the file still has this content, as far as it was read. Extends the known head.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn holds(&mut self) -> io::Result<bool> {
        let (Some(file), Some(content)) = (
            self.reader.as_ref().and_then(GenerationReader::plain),
            &mut self.content,
        ) else {
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

    /// Reads at most `block` bytes, or one line if that is longer, and passes the whole lines to
    /// `emit`, with the number of lines before them. Returns whether more can be read at once.
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
    ) -> io::Result<bool> {
        let (Some(reader), Some(content)) = (&mut self.reader, &self.content) else {
            return Ok(false);
        };
        let from = content.offset + self.skipped.bytes;
        let in_line = self.skipped.bytes > 0;
        let read_len = block.max(self.next_read_len);
        buffer.resize(read_len.max(buffer.len()), 0);
        let BlockRead {
            read,
            nuls,
            starts_line,
            beyond,
        } = match reader.read_block(&mut buffer[..read_len], from, in_line) {
            Ok(read) => read,
            Err(error) => {
                // A decompressor cannot continue after that; the file is opened again.
                self.reader.take_if(|_| self.is_compressed);
                return Err(error);
            }
        };
        self.read_error = None;
        let at_end = beyond.is_none();
        let next_text = beyond.filter(|_| nuls > 0);
        let fresh = &buffer[..if at_end || starts_line {
            read - nuls
        } else {
            read
        }];
        // Checked after the read: a truncated file never gets its old content back, so the bytes
        // were read from this content.
        if !self.holds()? {
            self.mismatched = true;
            return Ok(false);
        }
        self.ends_in_nuls = at_end && nuls > 0;
        self.next_read_len = 0;
        self.searched_to = from + read as u64;
        if in_line {
            if self.skip_long_line(fresh, from, emit)? {
                return Ok(true);
            }
            if let Some(next) = next_text {
                let beyond = next - self.searched_to;
                self.skipped.bytes += beyond;
                self.skipped.nuls += beyond;
                self.searched_to = next;
            }
        } else {
            self.emit_lines(fresh, from, max_line, block, emit);
            if let Some(next) = next_text.filter(|_| starts_line) {
                self.skip_nuls(next - self.offset(), emit);
            }
        }
        if !at_end {
            return Ok(true);
        }
        self.caught_up = true;
        if self.state == GenerationState::Closing || self.is_compressed() {
            self.emit_unfinished(fresh, from, emit);
        }
        Ok(false)
    }

    /// Returns the whole lines of `fresh`, or starts to skip a line that is too long.
    fn emit_lines(
        &mut self,
        fresh: &[u8],
        from: u64,
        max_line: usize,
        block: usize,
        emit: &mut impl FnMut(u64, Chunk<'_>),
    ) {
        let Some(content) = &mut self.content else {
            return;
        };
        match memrchr(b'\n', fresh) {
            Some(last) => {
                let lines = &fresh[..=last];
                emit(
                    content.lines,
                    Chunk {
                        offset: from,
                        body: Body::Lines(lines),
                    },
                );
                content.advance(lines, memchr_iter(b'\n', lines).count() as u64);
            }
            None if fresh.len() > max_line => match leading_nuls(fresh) {
                0 => self.skipped.add(fresh),
                nuls => self.skip_nuls(nuls as u64, emit),
            },
            None => self.next_read_len = fresh.len() + block,
        }
    }

    /// Skips NULs before a line.
    fn skip_nuls(&mut self, nuls: u64, emit: &mut impl FnMut(u64, Chunk<'_>)) {
        let Some(content) = &mut self.content else {
            return;
        };
        emit(
            content.lines,
            Chunk {
                offset: content.offset,
                body: Body::Skipped(SkippedText::nuls(nuls)),
            },
        );
        content.skip_nuls(nuls);
        self.searched_to = content.offset;
    }

    /// Skips more of a line that is too long; returns whether it ended.
    fn skip_long_line(
        &mut self,
        fresh: &[u8],
        from: u64,
        emit: &mut impl FnMut(u64, Chunk<'_>),
    ) -> io::Result<bool> {
        let Some(newline) = memchr(b'\n', fresh) else {
            self.skipped.add(fresh);
            return Ok(false);
        };
        let end = from + newline as u64 + 1;
        let mut before = vec![0; TAIL];
        match self.open_file() {
            Some(file) => {
                let read = read_full_at(file, &mut before, end - TAIL as u64)?;
                before.truncate(read);
            }
            None => before = fresh[..=newline][(newline + 1).saturating_sub(TAIL)..].to_vec(),
        }
        self.skipped.add(&fresh[..newline]);
        self.emit_oversized(end, &before, emit);
        self.searched_to = end;
        Ok(true)
    }

    /// Returns a line that was skipped.
    fn emit_oversized(&mut self, end: u64, before: &[u8], emit: &mut impl FnMut(u64, Chunk<'_>)) {
        let Some(content) = &mut self.content else {
            return;
        };
        emit(
            content.lines,
            Chunk {
                offset: content.offset,
                body: Body::Skipped(std::mem::take(&mut self.skipped)),
            },
        );
        content.skip_to(end, 1, before);
    }

    /// Returns the unfinished line at the final end of the content.
    fn emit_unfinished(&mut self, fresh: &[u8], from: u64, emit: &mut impl FnMut(u64, Chunk<'_>)) {
        self.state = GenerationState::Done;
        let end = from + fresh.len() as u64;
        let broken = self.damage().is_some();
        let Some(content) = &mut self.content else {
            return;
        };
        if content.offset >= end || broken {
            return;
        }
        if self.skipped.bytes > 0 {
            self.emit_oversized(end, &[], emit);
            return;
        }
        let rest = &fresh[(content.offset - from) as usize..];
        emit(
            content.lines,
            Chunk {
                offset: content.offset,
                body: Body::Lines(rest),
            },
        );
        content.advance(rest, 1);
    }
}

/// The IDs in use.
#[derive(Debug, Default)]
pub(super) struct GenerationIds {
    next: u32,
    used: HashSet<u64>,
    /// A generation ID was assigned since checkpoints were last returned.
    pub(super) fresh: bool,
}

impl GenerationIds {
    /// Marks the ID of a checkpoint as used.
    pub(super) fn note(&mut self, generation: u64) {
        self.used.insert(generation);
    }

    /// The next number within this run.
    pub(super) fn next(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// A new ID for a generation that starts with `head`: the same hash that `scan` uses, unless it
    /// is taken.
    pub(super) fn generation(&mut self, head: &[u8]) -> u64 {
        self.fresh = true;
        let mut name = xxh3_64(head);
        let mut seed = 0;
        // 0 is reserved for checkpoints of paths without content.
        while name == 0 || !self.used.insert(name) {
            seed += 1;
            name = xxh3_64_with_seed(head, seed);
        }
        name
    }
}

/// The source of the bytes.
#[derive(Debug)]
pub(super) enum GenerationReader {
    /// An uncompressed file.
    Plain(Arc<File>),
    /// A compressed file.
    Compressed(Box<CompressedReader>),
}

/// A compressed file that is being read.
#[derive(Debug)]
pub(super) struct CompressedReader {
    /// `None` at its end.
    text: Option<DecompressedFile>,
    /// Decompressed bytes that are not consumed yet, starting at offset `at`.
    buffered: Vec<u8>,
    at: u64,
    /// What was wrong when it ended.
    damage: Option<String>,
}

impl GenerationReader {
    /// Reads an inspected file from `offset`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn new(inspected: &mut InspectedFile, offset: u64) -> io::Result<Self> {
        Ok(match inspected.decompressed_from(offset)? {
            None => Self::Plain(Arc::clone(inspected.file())),
            Some((at, text)) => {
                let mut compressed = CompressedReader {
                    text: Some(text),
                    buffered: Vec::new(),
                    at,
                    damage: None,
                };
                if at < offset {
                    compressed.end(None);
                }
                Self::Compressed(Box::new(compressed))
            }
        })
    }

    /// The file, if it is not compressed.
    pub(super) fn plain(&self) -> Option<&Arc<File>> {
        match self {
            Self::Plain(file) => Some(file),
            Self::Compressed(_) => None,
        }
    }

    /// The damage of a compressed file, as far as it was read.
    pub(super) fn damage(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Compressed(compressed) => compressed
                .damage
                .as_deref()
                .or_else(|| compressed.text.as_ref().and_then(DecompressedFile::damage)),
        }
    }

    /// Whether its file is open.
    fn is_open(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Compressed(compressed) => compressed.text.is_some(),
        }
    }

    /// Reads the bytes at `offset`, within a line or at its start, and looks at what follows them.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    fn read_block(
        &mut self,
        buffer: &mut [u8],
        offset: u64,
        in_line: bool,
    ) -> io::Result<BlockRead> {
        let read = self.read(buffer, offset)?;
        let nuls = trailing_nuls(&buffer[..read]);
        let starts_line = !in_line
            && buffer[..read - nuls]
                .last()
                .is_none_or(|last| *last == b'\n');
        let end = offset + read as u64;
        let beyond = match self {
            _ if read < buffer.len() => None,
            Self::Plain(file) if nuls > 0 => next_text_after(file, end)?,
            Self::Compressed(text) if nuls > 0 && starts_line => text.next_text_after(end)?,
            _ => Some(end),
        };
        Ok(BlockRead {
            read,
            nuls,
            starts_line,
            beyond,
        })
    }

    /// Fills `buffer` with the bytes at `offset` and returns their number, which is smaller only at
    /// the end of the text. Offsets in a compressed file must not decrease.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Plain(file) => read_full_at(file, buffer, offset),
            Self::Compressed(compressed) => compressed.read(buffer, offset),
        }
    }
}

impl CompressedReader {
    fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let passed = (offset.saturating_sub(self.at) as usize).min(self.buffered.len());
        self.buffered.drain(..passed);
        self.at += passed as u64;
        while self.buffered.len() < buffer.len()
            && let Some(text) = &mut self.text
        {
            let filled = self.buffered.len();
            self.buffered.resize(buffer.len(), 0);
            let read = text.read(&mut self.buffered[filled..]);
            self.buffered
                .truncate(filled + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.end(None),
                Ok(_) => {}
                Err(error) if is_read_error(&error) => return Err(error),
                Err(error) => self.end(Some(error.to_string())),
            }
        }
        let read = buffer.len().min(self.buffered.len());
        buffer[..read].copy_from_slice(&self.buffered[..read]);
        Ok(read)
    }

    /// The offset of the first byte at or after `from` that is not NUL; `None` if there is none.
    fn next_text_after(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        let mut block = vec![0; NUL_BLOCK];
        loop {
            let read = self.read(&mut block, at)?;
            let nuls = leading_nuls(&block[..read]);
            at += nuls as u64;
            if nuls < read {
                return Ok(Some(at));
            }
            if read < block.len() {
                return Ok(None);
            }
        }
    }

    /// Closes the file, and keeps what is wrong with it.
    fn end(&mut self, error: Option<String>) {
        let text = self.text.take();
        self.damage = error.or_else(|| {
            text.as_ref()
                .and_then(DecompressedFile::damage)
                .map(str::to_owned)
        });
    }
}
