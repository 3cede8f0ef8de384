//! Records what a regular file was when it was opened, and checks whether it still is.
//!
//! SIGBUS does not detect every truncation. The rest of the last page reads as zeros without a
//! signal, so the size is compared. A file that was truncated and written past its old size raises
//! no signal either, so the first bytes are compared, and the last ones for a file that was
//! rewritten further down. Modification times are too coarse to help.

use std::fs::File;
use std::io;

use super::magic::HEAD;
use super::sparse::read_full_at;

/// Number of last bytes that are compared.
const TAIL: usize = 256;

/// A file as it was when it was opened.
#[derive(Debug)]
pub(super) struct FileSnapshot {
    /// Its size in bytes. Bytes that are appended later are not read.
    pub(super) len: u64,
    /// Its first [`HEAD`] bytes, or all if there are fewer.
    pub(super) head: Vec<u8>,
    tail: Vec<u8>,
    tail_at: u64,
}

impl FileSnapshot {
    /// Takes a snapshot of `file`.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn take(file: &File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let mut head = vec![0; HEAD.min(usize::try_from(len).unwrap_or(HEAD))];
        let read = read_full_at(file, &mut head, 0)?;
        head.truncate(read);
        let mut tail = vec![0; TAIL.min(head.len())];
        let tail_at = len - tail.len() as u64;
        let read = read_full_at(file, &mut tail, tail_at)?;
        tail.truncate(read);
        Ok(Self {
            len,
            head,
            tail,
            tail_at,
        })
    }

    /// Whether the file still has `end` bytes and its first and last bytes are unchanged. If so, a
    /// map showed bytes before `end` that were in the file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn holds(&self, file: &File, end: u64) -> io::Result<bool> {
        Ok(file.metadata()?.len() >= end
            && self.head_now(file)? == Some(self.head.len())
            && self.same_tail(file)?)
    }

    /// Whether the rest of the file starts with the same bytes. Also true for a file truncated to
    /// 0: the bytes that were read before were in it.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn same_head(&self, file: &File) -> io::Result<bool> {
        Ok(self.head_now(file)?.is_some())
    }

    /// Whether the last bytes are unchanged.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn same_tail(&self, file: &File) -> io::Result<bool> {
        let mut tail = [0; TAIL];
        let tail = &mut tail[..self.tail.len()];
        let read = read_full_at(file, tail, self.tail_at)?;
        Ok(tail[..read] == self.tail)
    }

    /// How many of the first bytes are still there; `None` if they changed.
    fn head_now(&self, file: &File) -> io::Result<Option<usize>> {
        let mut head = [0; HEAD];
        let head = &mut head[..self.head.len()];
        let read = read_full_at(file, head, 0)?;
        Ok((head[..read] == self.head[..read]).then_some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// A file of 5,000 bytes, and its snapshot.
    fn taken() -> (File, FileSnapshot) {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[b'a'; 5000], 0).unwrap();
        let snapshot = FileSnapshot::take(&file).unwrap();
        (file, snapshot)
    }

    #[test]
    fn an_appended_file_still_holds() {
        let (file, snapshot) = taken();
        file.write_all_at(b"more", 5000).unwrap();
        assert!(snapshot.holds(&file, 5000).unwrap());
        assert!(snapshot.same_head(&file).unwrap());
    }

    #[test]
    fn a_truncated_file_does_not_hold_but_keeps_its_head() {
        for len in [4999, 1024, 1000, 0] {
            let (file, snapshot) = taken();
            file.set_len(len).unwrap();
            assert!(!snapshot.holds(&file, 10).unwrap(), "{len}");
            assert!(snapshot.same_head(&file).unwrap(), "{len}");
        }
    }

    #[test]
    fn changed_bytes_at_either_end_are_detected() {
        let (file, snapshot) = taken();
        file.set_len(0).unwrap();
        file.write_all_at(&[b'b'; 9000], 0).unwrap();
        assert!(!snapshot.holds(&file, 5000).unwrap());
        assert!(!snapshot.same_head(&file).unwrap());
        let (file, snapshot) = taken();
        file.write_all_at(b"b", 4990).unwrap();
        assert!(!snapshot.holds(&file, 10).unwrap());
        assert!(snapshot.same_head(&file).unwrap());
    }

    #[test]
    fn a_snapshot_of_an_empty_file_works() {
        let snapshot = FileSnapshot::take(&tempfile::tempfile().unwrap()).unwrap();
        assert_eq!((snapshot.len, snapshot.head.len()), (0, 0));
    }
}
