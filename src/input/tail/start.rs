//! Finds where to start in a file that was not read before: after leading NULs, or after the last
//! whole line.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::{memchr_iter, memrchr};

use super::content::ContentFingerprint;
use super::generation::GenerationIds;
use super::inspected_file::{InspectedFile, head_of};
use crate::input::magic;
use crate::input::sparse::{read_full_at, text_span};
use crate::log::source::{HEAD, TAIL};

/// Bytes per read.
const BLOCK: usize = 256 << 10;
/// Lines are not counted in a larger file, since that would block all other logs.
const COUNTED: u64 = 1 << 30;

/// Where to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartAt {
    /// At the first line.
    FirstLine,
    /// After the last line.
    End,
    /// At the first line, even if it is unfinished: the file is final.
    PartialLine,
}

/// Starts a new generation in `file`; `None` if it has no content yet.
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
    Ok(Some(ContentFingerprint::new(
        generation_ids.generation(&head),
        &head,
        offset,
        lines,
        &before,
    )))
}

/// Starts a new generation after the first `len` bytes, which are a copy of known content.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn start_after_copy(
    file: &Arc<File>,
    len: u64,
    generation_ids: &mut GenerationIds,
) -> io::Result<ContentFingerprint> {
    let head = head_of(file)?;
    let (offset, lines) = last_line(file, 0, len)?;
    Ok(ContentFingerprint::new(
        generation_ids.generation(&head),
        &head,
        offset,
        lines,
        &bytes_before(file, offset)?,
    ))
}

/// Whether a head has no whole line: nothing can be returned yet, and it is too short to be
/// recognized.
pub(super) fn too_short(head: &[u8]) -> bool {
    head.len() < HEAD && !head.contains(&b'\n')
}

/// The bytes before `offset` that are part of the fingerprint.
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

/// Where to continue a known content in a file: at the start of a line.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn resume_offset(
    content: &ContentFingerprint,
    inspected: &InspectedFile,
) -> io::Result<u64> {
    if content.is_only_recorded() {
        line_start(inspected, content.offset)
    } else {
        Ok(content.offset)
    }
}

/// The start of the line that `offset` is in. A byte order mark and NULs before the line are not
/// part of it.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn line_start(inspected: &InspectedFile, offset: u64) -> io::Result<u64> {
    let bom = magic::bom_len(inspected.head()).unwrap_or(0) as u64;
    let Some(mut text) = inspected.decompressed() else {
        let start = last_newline(inspected.file(), bom.min(offset), offset)?;
        let before = text_span(inspected.file(), start, offset)?;
        return Ok(if before.is_empty() {
            offset
        } else {
            before.start
        });
    };
    let (mut at, mut start) = (0, bom.min(offset));
    let mut block = vec![0; BLOCK];
    while at < offset {
        let read_len = block
            .len()
            .min(usize::try_from(offset - at).unwrap_or(usize::MAX));
        let read = text.read(&mut block[..read_len])?;
        if read == 0 {
            break;
        }
        start = memrchr(b'\n', &block[..read]).map_or(start, |newline| at + newline as u64 + 1);
        at += read as u64;
    }
    Ok(start)
}

/// The offset after the last newline between `start` and `len`, and the number of lines.
fn last_line(file: &File, start: u64, len: u64) -> io::Result<(u64, u64)> {
    if len - start > COUNTED {
        return Ok((last_newline(file, start, len)?, 0));
    }
    let (mut at, mut offset, mut lines) = (start, start, 0);
    let mut block = vec![0; BLOCK];
    while at < len {
        let read_len = block.len().min((len - at) as usize);
        let read = read_full_at(file, &mut block[..read_len], at)?;
        if let Some(newline) = memrchr(b'\n', &block[..read]) {
            offset = at + newline as u64 + 1;
        }
        lines += memchr_iter(b'\n', &block[..read]).count() as u64;
        at += read as u64;
        if read < read_len {
            break;
        }
    }
    Ok((offset, lines))
}

/// The offset after the last newline; searches backwards.
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
