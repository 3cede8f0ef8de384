//! Finds where the text of a file lies between the NULs before and behind it.
//!
//! A writer that goes on at its old offset after `copytruncate` leaves a hole at the front, a file allocated ahead has
//! one at the end; both may be of any size and cost no time here where the file system knows them. NULs between lines
//! are left alone: they belong to the line they stand in.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Bytes looked at in one go. Wide enough for the compiler to use vectors.
const STEP: usize = 64;
/// Bytes read in one go while looking for the end of a run of NULs that the file system does not know as a hole.
const BLOCK: usize = 256 << 10;

/// The part of the first `len` bytes of `file` that begins at `from` or later and neither starts nor ends with a NUL.
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

/// From the first to the last byte of `file` that is not in a hole. Everything, where the file system cannot tell.
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

/// Blocks of written NULs that are looked through before a file is taken to end in them.
const NUL_BLOCKS: u32 = 4;

/// Where the next byte from `from` on is that is not NUL; `None` where there is none, or none near.
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
            break;
        }
    }
    Ok(None)
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

/// The offset behind the last byte in `span` that is not NUL, or its start.
fn strip_nuls(file: &File, span: Range<u64>) -> io::Result<u64> {
    let mut end = span.end;
    let mut block = vec![0; 1];
    while end > span.start {
        let from = span.start.max(end.saturating_sub(block.len() as u64));
        let read = read_some(file, &mut block, from..end)?;
        if read as u64 != end - from {
            // Cut short just now. Whoever reads the lines will see, and say so.
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

/// Reads as much of `span` as `block` holds, less only where the file ends.
fn read_some(file: &File, block: &mut [u8], span: Range<u64>) -> io::Result<usize> {
    let want = block.len().min(usize::try_from(span.end - span.start).unwrap_or(usize::MAX));
    read_full_at(file, &mut block[..want], span.start)
}

/// Fills `buffer` from `offset`; gives the number of bytes read, less than asked for only where the file ends.
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

/// The number of NULs that `bytes` starts with.
pub(super) fn leading_nuls(bytes: &[u8]) -> usize {
    let whole = bytes.chunks_exact(STEP).take_while(|step| all_nul(step)).count() * STEP;
    whole + bytes[whole..].iter().take_while(|&&byte| byte == 0).count()
}

/// The number of NULs that `bytes` ends with.
pub(super) fn trailing_nuls(bytes: &[u8]) -> usize {
    let whole = bytes.rchunks_exact(STEP).take_while(|step| all_nul(step)).count() * STEP;
    whole + bytes[..bytes.len() - whole].iter().rev().take_while(|&&byte| byte == 0).count()
}

/// No early exit, so that it is a handful of vector instructions.
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
            for behind in [0, 1, 63, 64, 65, 200] {
                let bytes = [vec![0; before], b"a\0b".to_vec(), vec![0; behind]].concat();
                assert_eq!((leading_nuls(&bytes), trailing_nuls(&bytes)), (before, behind));
            }
        }
        assert_eq!((leading_nuls(&[0; 100]), trailing_nuls(&[0; 100])), (100, 100));
        assert_eq!((leading_nuls(b""), trailing_nuls(b"")), (0, 0));
    }

    #[test]
    fn a_sparse_file_is_passed_over_in_no_time() {
        let len = 100 << 30;
        assert_eq!(text_span(&file(&[], len), 0, len).unwrap(), len..len);
        let text = (50 << 30) + 17;
        assert_eq!(text_span(&file(&[(text, b"line\n")], len), 0, len).unwrap(), text..text + 5);
    }

    #[test]
    fn nuls_that_were_written_are_passed_over_too() {
        let mut dense = file(&[], 0);
        dense.write_all(&vec![0; 300_000]).unwrap();
        dense.write_all(b"line\n").unwrap();
        dense.write_all(&vec![0; 300_000]).unwrap();
        assert_eq!(text_span(&dense, 0, 600_005).unwrap(), 300_000..300_005);
        assert_eq!(text_span(&dense, 0, 300_000).unwrap(), 300_000..300_000);
    }

    #[test]
    fn text_of_a_usual_file_is_all_of_it() {
        assert_eq!(text_span(&file(&[(0, b"one\ntwo\n")], 0), 0, 8).unwrap(), 0..8);
        assert_eq!(text_span(&file(&[(0, b"\xef\xbb\xbfone\n")], 0), 3, 7).unwrap(), 3..7);
    }
}
