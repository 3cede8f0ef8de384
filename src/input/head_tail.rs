//! Looks at the first lines of a file's text, packed or not, and at the last ones of a file that is not packed.
//!
//! A glance, to decide whether and how a file is read: what it holds is never counted. Nothing is said of a file that cannot be
//! looked at: reading it will say what is wrong.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use memchr::{memchr, memrchr};

use super::decompress::Decompressor;
use super::magic::{self, HEAD};

/// The ends of a text, in whole lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HeadTail {
    /// The first lines.
    pub first: Vec<u8>,
    /// The last lines; empty where the first ones are all, and of a packed text.
    pub last: Vec<u8>,
}

/// The lines in the first and in the last `max_bytes` bytes of the text of a regular file; `None` where it cannot be read.
#[must_use]
pub fn read_head_tail(path: &Path, max_bytes: usize) -> Option<HeadTail> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    let len = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut head = vec![0; HEAD];
    let read = file.read_at(&mut head, 0).ok()?;
    match magic::detect(&head[..read]) {
        Ok(None) => Some(HeadTail { first: first_lines(&file, max_bytes)?, last: last_lines(&file, len, max_bytes) }),
        Ok(Some(compression)) => {
            Some(HeadTail { first: first_lines(Decompressor::new(BufReader::new(&file), compression), max_bytes)?, last: Vec::new() })
        }
        Err(_) => None,
    }
}

/// The lines in the first `max_bytes` bytes; those before the damage where there is some.
fn first_lines(text: impl Read, max_bytes: usize) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    let read = text.take(max_bytes as u64).read_to_end(&mut lines);
    if lines.len() == max_bytes || read.is_err() {
        lines.truncate(memrchr(b'\n', &lines)? + 1);
    }
    Some(lines)
}

/// The lines in the last `max_bytes` bytes, of a file that has more than those.
fn last_lines(file: &File, len: u64, max_bytes: usize) -> Vec<u8> {
    let mut lines = vec![0; max_bytes];
    let read = len.checked_sub(max_bytes as u64).filter(|at| *at > 0).and_then(|at| file.read_at(&mut lines, at).ok());
    lines.truncate(read.unwrap_or(0));
    let first = memchr(b'\n', &lines).map_or(lines.len(), |newline| newline + 1);
    lines.split_off(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn of(bytes: &[u8], max_bytes: usize) -> Option<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, bytes).unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        read_head_tail(&path, max_bytes).map(|read_head_tail| (text(read_head_tail.first), text(read_head_tail.last)))
    }

    fn both(first: &str, last: &str) -> (String, String) {
        (first.to_owned(), last.to_owned())
    }

    #[test]
    fn whole_lines_of_either_end() {
        let text = b"one\ntwo\nthree\nfour";
        assert_eq!(of(text, 100), Some(both("one\ntwo\nthree\nfour", "")));
        assert_eq!(of(text, 7), Some(both("one\n", "four")));
        assert_eq!(of(text, 12), Some(both("one\ntwo\n", "three\nfour")));
        assert_eq!(of(text, 14), Some(both("one\ntwo\nthree\n", "three\nfour")));
        assert_eq!(of(text, 2), None);
        assert_eq!(of(b"", 100), Some(both("", "")));
    }

    #[test]
    fn a_packed_text_has_a_beginning_only() {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(b"one\ntwo\nthree\n").unwrap();
        let compressed = compressed.finish().unwrap();
        assert_eq!(of(&compressed, 9), Some(both("one\ntwo\n", "")));
        assert_eq!(of(&compressed, 100), Some(both("one\ntwo\nthree\n", "")));
        assert_eq!(of(&compressed[..8], 100), None);
    }

    #[test]
    fn what_is_no_file_is_not_looked_at() {
        assert_eq!(read_head_tail(Path::new("/dev/null"), 100), None);
        assert_eq!(read_head_tail(Path::new("/nonexistent"), 100), None);
        assert_eq!(read_head_tail(Path::new("/"), 100), None);
    }
}
