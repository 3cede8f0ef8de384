//! Finds where the text of a file starts and ends between leading and trailing NULs.
//!
//! A writer that keeps its old offset after `copytruncate` leaves a hole at the start; a
//! preallocated file has one at the end. Holes that the file system reports cost no time, whatever
//! their size. Other NULs are left to the reader of the lines.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use memchr::memchr_iter;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Bytes compared at a time: enough for the compiler to use vector instructions.
const STEP: usize = 64;
/// Bytes read at a time while searching for the end of a run of NULs that is not a hole.
const BLOCK: usize = 256 << 10;

/// The part of the first `len` bytes of `file` that starts at `from` or later and neither starts
/// nor ends with a NUL.
///
/// Moves the file's position.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn text_span(file: &File, from: u64, len: u64) -> io::Result<Range<u64>> {
    let data = data_span(file, len)?;
    let from = data.start.max(from);
    let start = skip_nuls(file, from..data.end.max(from))?;
    Ok(start..strip_nuls(file, start..data.end.max(start))?)
}

/// From the first to the last byte of `file` outside of holes. The whole file if the file system
/// does not report holes.
fn data_span(file: &File, len: u64) -> io::Result<Range<u64>> {
    if file.metadata()?.blocks() * 512 >= len {
        return Ok(0..len);
    }
    let start = match seek(file, SeekFrom::Data(0)) {
        Ok(start) => start.min(len),
        Err(Errno::NXIO) => return Ok(len..len),
        Err(_) => return Ok(0..len),
    };
    let mut end = start;
    let mut data = Ok(start);
    while let Ok(at) = data
        && at < len
    {
        end = seek(file, SeekFrom::Hole(at)).unwrap_or(len).min(len);
        data = seek(file, SeekFrom::Data(end));
    }
    Ok(start..end)
}

/// Blocks of written NULs to search at a time.
const NUL_BLOCKS: u32 = 4;

/// The end of NULs at `from` that text follows, or of as many of them as are searched at a time.
/// `None` if there is no text; of a longer run, the last byte of the file decides that.
///
/// Moves the file's position.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn next_text_after(file: &File, from: u64) -> io::Result<Option<u64>> {
    let mut at = from;
    let mut block = vec![0; BLOCK];
    for _ in 0..NUL_BLOCKS {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.max(at),
            Err(Errno::NXIO) => return Ok(None),
            Err(_) => at,
        };
        let read = read_full_at(file, &mut block, at)?;
        let nuls = leading_nuls(&block[..read]);
        if nuls < read {
            return Ok(Some(at + nuls as u64));
        }
        at += read as u64;
        if read < block.len() {
            return Ok(None);
        }
    }
    let mut last = [0];
    let end = file.metadata()?.len().max(1);
    read_full_at(file, &mut last, end - 1)?;
    Ok((last != [0]).then_some(at))
}

/// The offset of the first byte in `span` that is not NUL, or its end.
fn skip_nuls(file: &File, span: Range<u64>) -> io::Result<u64> {
    let mut at = span.start;
    let mut block = vec![0; 1];
    while at < span.end {
        let read = read_some(file, &mut block, at..span.end)?;
        let nuls = leading_nuls(&block[..read]);
        at += nuls as u64;
        if nuls < read || read == 0 {
            break;
        }
        block.resize(BLOCK, 0);
    }
    Ok(at)
}

/// The offset after the last byte in `span` that is not NUL, or its start.
fn strip_nuls(file: &File, span: Range<u64>) -> io::Result<u64> {
    let mut end = span.end;
    let mut block = vec![0; 1];
    while end > span.start {
        let from = span.start.max(end.saturating_sub(block.len() as u64));
        let read = read_some(file, &mut block, from..end)?;
        if read as u64 != end - from {
            // The file was truncated just now. The reader of the lines detects and reports that.
            break;
        }
        let nuls = trailing_nuls(&block[..read]);
        end -= nuls as u64;
        if nuls < read {
            break;
        }
        block.resize(BLOCK, 0);
    }
    Ok(end)
}

/// Reads as much of `span` as fits in `block`, or less if the file ends.
fn read_some(file: &File, block: &mut [u8], span: Range<u64>) -> io::Result<usize> {
    let want = block
        .len()
        .min(usize::try_from(span.end - span.start).unwrap_or(usize::MAX));
    read_full_at(file, &mut block[..want], span.start)
}

/// Fills `buffer` from `offset` and returns the number of bytes read, which is smaller only at the
/// end of the file.
///
/// # Errors
///
/// The file cannot be read.
pub(super) fn read_full_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The number of NULs at the start of `bytes`.
pub(super) fn leading_nuls(bytes: &[u8]) -> usize {
    let whole = bytes
        .chunks_exact(STEP)
        .take_while(|step| all_nul(step))
        .count()
        * STEP;
    whole + bytes[whole..].iter().take_while(|&&byte| byte == 0).count()
}

/// The number of NULs in `bytes`.
pub(super) fn count_nuls(bytes: &[u8]) -> u64 {
    memchr_iter(0, bytes).count() as u64
}

/// The number of NULs at the end of `bytes`.
pub(super) fn trailing_nuls(bytes: &[u8]) -> usize {
    let whole = bytes
        .rchunks_exact(STEP)
        .take_while(|step| all_nul(step))
        .count()
        * STEP;
    whole
        + bytes[..bytes.len() - whole]
            .iter()
            .rev()
            .take_while(|&&byte| byte == 0)
            .count()
}

/// Has no early exit, so that it compiles to a few vector instructions.
fn all_nul(step: &[u8]) -> bool {
    step.iter().fold(0, |seen, &byte| seen | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(parts: &[(u64, &[u8])], len: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(len).unwrap();
        for (at, bytes) in parts {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }

    #[test]
    fn counts_nuls_at_both_ends() {
        for before in [0, 1, 63, 64, 65, 200] {
            for after in [0, 1, 63, 64, 65, 200] {
                let bytes = [vec![0; before], b"a\0b".to_vec(), vec![0; after]].concat();
                assert_eq!(
                    (leading_nuls(&bytes), trailing_nuls(&bytes)),
                    (before, after)
                );
            }
        }
        assert_eq!(
            (leading_nuls(&[0; 100]), trailing_nuls(&[0; 100])),
            (100, 100)
        );
        assert_eq!((leading_nuls(b""), trailing_nuls(b"")), (0, 0));
    }

    #[test]
    fn holes_are_skipped_without_reading() {
        let len = 100 << 30;
        assert_eq!(text_span(&file(&[], len), 0, len).unwrap(), len..len);
        let text = (50 << 30) + 17;
        assert_eq!(
            text_span(&file(&[(text, b"line\n")], len), 0, len).unwrap(),
            text..text + 5
        );
    }

    #[test]
    fn written_nuls_are_skipped_too() {
        let mut dense = file(&[], 0);
        dense.write_all(&vec![0; 300_000]).unwrap();
        dense.write_all(b"line\n").unwrap();
        dense.write_all(&vec![0; 300_000]).unwrap();
        assert_eq!(text_span(&dense, 0, 600_005).unwrap(), 300_000..300_005);
        assert_eq!(text_span(&dense, 0, 300_000).unwrap(), 300_000..300_000);
    }

    #[test]
    fn text_after_a_long_run_of_nuls_is_found_step_by_step() {
        let dense = file(&[(0, &vec![0; 3_000_000])], 0);
        assert_eq!(next_text_after(&dense, 5).unwrap(), None);
        dense.write_all_at(b"line\n", 3_000_000).unwrap();
        let steps = [0; 3].iter().scan(5, |at, _| {
            *at = next_text_after(&dense, *at).unwrap().unwrap();
            Some(*at)
        });
        assert_eq!(steps.last(), Some(3_000_000));
    }

    #[test]
    fn a_file_without_nuls_is_all_text() {
        assert_eq!(
            text_span(&file(&[(0, b"one\ntwo\n")], 0), 0, 8).unwrap(),
            0..8
        );
        assert_eq!(
            text_span(&file(&[(0, b"\xef\xbb\xbfone\n")], 0), 3, 7).unwrap(),
            3..7
        );
    }
}
