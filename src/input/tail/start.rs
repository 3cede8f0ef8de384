//! Finds where to begin in a file that was not read before: behind what is no text, or behind the last whole line.
//!
//! Reads what it must and keeps nothing but the bytes a text is known by.

use std::fs::File;
use std::io;
use std::sync::Arc;

use memchr::{memchr_iter, memrchr};

use super::content::ContentFingerprint;
use super::generation::GenerationIds;
use super::inspected_file::head_of;
use crate::input::magic;
use crate::input::sparse::{read_full_at, text_span};
use crate::source::{HEAD, TAIL};

/// Bytes read in one go.
const BLOCK: usize = 256 << 10;
/// The lines of what is larger are not counted: it would hold up everything else.
const COUNTED: u64 = 1 << 30;

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartAt {
    /// With its first line.
    FirstLine,
    /// Behind its last line.
    End,
    /// With its first line, though that may not be whole: nothing more is to come.
    PartialLine,
}

/// A new generation in `file`; `None` while there is no text in it.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn start_generation(
    file: &Arc<File>,
    begin: StartAt,
    generation_ids: &mut GenerationIds,
) -> io::Result<Option<ContentFingerprint>> {
    let head = head_of(file)?;
    let len = file.metadata()?.len();
    let bom = magic::bom_len(&head).unwrap_or(0) as u64;
    let start = text_span(file, bom, len)?.start;
    if start >= len && begin != StartAt::End || too_short(&head) && begin != StartAt::PartialLine {
        return Ok(None);
    }
    let (offset, lines) = match begin {
        StartAt::FirstLine | StartAt::PartialLine => (start, 0),
        StartAt::End => last_line(file, start, len)?,
    };
    let before = bytes_before(file, offset)?;
    Ok(Some(ContentFingerprint::new(generation_ids.generation(&head), &head, offset, lines, &before)))
}

/// A new generation of which the first `len` bytes are not to be told.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn start_after_copy(file: &Arc<File>, len: u64, generation_ids: &mut GenerationIds) -> io::Result<ContentFingerprint> {
    let head = head_of(file)?;
    let (offset, lines) = last_line(file, 0, len)?;
    Ok(ContentFingerprint::new(generation_ids.generation(&head), &head, offset, lines, &bytes_before(file, offset)?))
}

/// Whether a text that begins like this has not even one line: there is nothing to tell yet, and too little to know it by.
pub(super) fn too_short(head: &[u8]) -> bool {
    head.len() < HEAD && !head.contains(&b'\n')
}

/// The bytes before `offset` that a text is known by.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn bytes_before(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let mut before = vec![0; TAIL.min(usize::try_from(offset).unwrap_or(TAIL))];
    let at = offset - before.len() as u64;
    let read = read_full_at(file, &mut before, at)?;
    before.truncate(read);
    Ok(before)
}

/// Behind the last newline between `start` and `len`, and the lines between.
fn last_line(file: &File, start: u64, len: u64) -> io::Result<(u64, u64)> {
    if len - start > COUNTED {
        return Ok((last_newline(file, start, len)?, 0));
    }
    let (mut at, mut offset, mut lines) = (start, start, 0);
    let mut block = vec![0; BLOCK];
    while at < len {
        let want = block.len().min((len - at) as usize);
        let read = read_full_at(file, &mut block[..want], at)?;
        if let Some(newline) = memrchr(b'\n', &block[..read]) {
            offset = at + newline as u64 + 1;
        }
        lines += memchr_iter(b'\n', &block[..read]).count() as u64;
        at += read as u64;
        if read < want {
            break;
        }
    }
    Ok((offset, lines))
}

/// The same without the lines, from behind.
fn last_newline(file: &File, start: u64, len: u64) -> io::Result<u64> {
    let mut end = len;
    let mut block = vec![0; BLOCK];
    while end > start {
        let from = start.max(end.saturating_sub(BLOCK as u64));
        let read = read_full_at(file, &mut block[..(end - from) as usize], from)?;
        if let Some(newline) = memrchr(b'\n', &block[..read]) {
            return Ok(from + newline as u64 + 1);
        }
        end = from;
    }
    Ok(start)
}
