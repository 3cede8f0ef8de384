//! Reads single lines of one source on the current thread: all in order, or the first and the last
//! ones.
//!
//! [`for_each_line`] returns the same lines with the same numbers as
//! [`read_observed`](super::read::read_observed), whether compressed or not, without holes.
//!
//! [`read_head_tail`] reads the first lines of a file, compressed or not, and the last lines of an
//! uncompressed one. Callers use them to decide whether and how to read the file; nothing is
//! counted. A file that cannot be read gives no error: reading it later reports the error.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::{memchr, memrchr};

use super::decompress::Decompressor;
use super::line_blocks::{BlockLimits, Body, LineBlockReader};
use super::magic::{self, Compression, HEAD};
use super::read::open;
use super::read_context::OpenError;
use super::readers::PeekReader;
use super::sparse::leading_nuls;

/// Bytes per read.
const BLOCK: usize = 64 << 10;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputLine<'a> {
    /// Its text, without the line ending.
    Text(&'a [u8]),
    /// A line over the limit; its length in bytes as far as it is known.
    Oversized(u64),
}

/// The result of reading lines in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LinesSummary {
    /// Lines that were returned.
    pub lines: u64,
    /// What went wrong after them, as a sentence.
    pub damage: Option<String>,
}

/// Calls `take` with each line of the file at `path`, or of standard input for `-`, and its number
/// from 1, until `take` breaks.
///
/// # Errors
///
/// The source cannot be read at all.
pub(crate) fn for_each_line(
    path: &Path,
    max_line: usize,
    take: impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> Result<LinesSummary, OpenError> {
    if path.as_os_str() == "-" {
        return decompress(io::stdin().lock(), max_line, take);
    }
    decompress(File::open(path)?, max_line, take)
}

fn decompress<R: Read>(
    source: R,
    max_line: usize,
    take: impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> Result<LinesSummary, OpenError> {
    let mut source = PeekReader::new(source, HEAD);
    if let Some(error) = source.take_initial_error() {
        return Err(error.into());
    }
    match magic::detect(source.head())? {
        None => Ok(read_lines(source, max_line, take)?.0),
        Some(compression) => {
            let (mut summary, source) = read_lines(
                Decompressor::new(BufReader::new(source), compression),
                max_line,
                take,
            )?;
            if let Some(damage) = source.rest().damage() {
                summary.damage.get_or_insert_with(|| damage.to_owned());
            }
            Ok(summary)
        }
    }
}

fn read_lines<R: Read>(
    source: R,
    max_line: usize,
    mut take: impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> Result<(LinesSummary, PeekReader<R>), OpenError> {
    let mut source = PeekReader::new(source, HEAD);
    let bom = magic::bom_len(source.head())?;
    source.skip(bom);
    let mut lines = LineBlockReader::new(
        source,
        bom as u64,
        BlockLimits {
            block: BLOCK,
            max_line,
        },
    );
    let (mut count, mut damage) = (0, None);
    let mut emit = |line: InputLine<'_>| {
        count += 1;
        take(count, line)
    };
    loop {
        let block = match lines.next() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(error) => {
                damage = Some(error.to_string());
                break;
            }
        };
        let flow = match block.chunk().body {
            Body::Skipped(skipped) if skipped.lines() == 0 => ControlFlow::Continue(()),
            Body::Skipped(line) => emit(InputLine::Oversized(line.bytes)),
            Body::Lines(text) => split_block(text, max_line, &mut emit),
        };
        if flow.is_break() {
            break;
        }
        lines.recycle(block.into_buffer());
    }
    let summary = LinesSummary {
        lines: count,
        damage,
    };
    Ok((summary, lines.into_source()))
}

/// Splits a block into lines, in the same way as the scan does.
fn split_block(
    mut text: &[u8],
    max_line: usize,
    emit: &mut impl FnMut(InputLine<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    while !text.is_empty() {
        let newline = memchr(b'\n', text);
        let (line, rest) = text.split_at(newline.unwrap_or(text.len()));
        let line = &line[leading_nuls(line)..];
        text = rest.get(1..).unwrap_or_default();
        if line.is_empty() && newline.is_none() {
            break;
        }
        emit(match line.len() {
            length if length > max_line => InputLine::Oversized(length as u64),
            _ => InputLine::Text(line.strip_suffix(b"\r").unwrap_or(line)),
        })?;
    }
    ControlFlow::Continue(())
}

/// The first and last lines of a text, whole lines only.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HeadTail {
    /// The first lines.
    pub first: Vec<u8>,
    /// The last lines; empty if `first` is the whole text, and for a compressed file.
    pub last: Vec<u8>,
}

/// The lines in the first `max_bytes` bytes of a regular file's text, compressed or not, or `None`
/// if it cannot be read.
#[must_use]
pub(crate) fn read_head(path: &Path, max_bytes: usize) -> Option<Vec<u8>> {
    let (file, compression) = open_text(path)?;
    match compression {
        None => first_lines(&file, max_bytes),
        Some(compression) => first_lines(
            Decompressor::new(BufReader::new(&file), compression),
            max_bytes,
        ),
    }
}

/// The lines in the first and in the last `max_bytes` bytes of a regular file's text, or `None` if
/// it cannot be read.
#[must_use]
pub(crate) fn read_head_tail(path: &Path, max_bytes: usize) -> Option<HeadTail> {
    let first = read_head(path, max_bytes)?;
    let (file, compression) = open_text(path)?;
    let last = if compression.is_none() {
        last_lines(&file, file.metadata().ok()?.len(), max_bytes)
    } else {
        Vec::new()
    };
    Some(HeadTail { first, last })
}

/// Opens a regular file whose text can be read.
fn open_text(path: &Path) -> Option<(File, Option<Compression>)> {
    let file = open(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut head = vec![0; HEAD];
    let read = file.read_at(&mut head, 0).ok()?;
    Some((file, magic::detect(&head[..read]).ok()?))
}

/// The lines in the first `max_bytes` bytes, up to the first damage.
fn first_lines(text: impl Read, max_bytes: usize) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    let read = text.take(max_bytes as u64).read_to_end(&mut lines);
    if lines.len() == max_bytes || read.is_err() {
        lines.truncate(memrchr(b'\n', &lines)? + 1);
    }
    Some(lines)
}

/// The lines in the last `max_bytes` bytes of a file that is longer than that.
fn last_lines(file: &File, len: u64, max_bytes: usize) -> Vec<u8> {
    let mut lines = vec![0; max_bytes];
    let read = len
        .checked_sub(max_bytes as u64)
        .filter(|at| *at > 0)
        .and_then(|at| file.read_at(&mut lines, at).ok());
    lines.truncate(read.unwrap_or(0));
    let first = memchr(b'\n', &lines).map_or(lines.len(), |newline| newline + 1);
    lines.split_off(first)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn lines_of(bytes: &[u8], max_bytes: usize) -> Option<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, bytes).unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        read_head_tail(&path, max_bytes)
            .map(|read_head_tail| (text(read_head_tail.first), text(read_head_tail.last)))
    }

    fn both(first: &str, last: &str) -> (String, String) {
        (first.to_owned(), last.to_owned())
    }

    #[test]
    fn head_and_tail_are_whole_lines() {
        let text = b"one\ntwo\nthree\nfour";
        assert_eq!(lines_of(text, 100), Some(both("one\ntwo\nthree\nfour", "")));
        assert_eq!(lines_of(text, 7), Some(both("one\n", "four")));
        assert_eq!(lines_of(text, 12), Some(both("one\ntwo\n", "three\nfour")));
        assert_eq!(
            lines_of(text, 14),
            Some(both("one\ntwo\nthree\n", "three\nfour"))
        );
        assert_eq!(lines_of(text, 2), None);
        assert_eq!(lines_of(b"", 100), Some(both("", "")));
    }

    #[test]
    fn a_compressed_file_has_only_first_lines() {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(b"one\ntwo\nthree\n").unwrap();
        let compressed = compressed.finish().unwrap();
        assert_eq!(lines_of(&compressed, 9), Some(both("one\ntwo\n", "")));
        assert_eq!(
            lines_of(&compressed, 100),
            Some(both("one\ntwo\nthree\n", ""))
        );
        assert_eq!(lines_of(&compressed[..8], 100), None);
    }

    #[test]
    fn only_regular_files_are_read() {
        assert_eq!(read_head_tail(Path::new("/dev/null"), 100), None);
        assert_eq!(read_head_tail(Path::new("/nonexistent"), 100), None);
        assert_eq!(read_head_tail(Path::new("/"), 100), None);
    }
}
