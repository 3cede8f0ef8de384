//! Inspects a file, compressed or not, to find out whether its content is known, and whether the
//! file may have changed.
//!
//! Reads by position only, so that other readers of the same open file are not affected, and reads
//! no more than needed. Different metadata means that a file may have changed; its content must be
//! compared to be sure.
//!
//! gzip and xz files claim the length of their text at their end. This is used only for content
//! whose head is known, to avoid decompressing what was read before. The content size of zstd is in
//! the frame header and does not include further frames, so it is not used.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use memchr::memmem;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

use crate::input::decompress::Decompressor;
use crate::input::magic::{self, Compression};
use crate::input::rotation::parent_folder;
use crate::input::sparse::{read_full_at, trailing_nuls};
use crate::log::source::{HEAD, TAIL};

/// Bytes decompressed at a time.
const BLOCK: usize = 64 << 10;
/// The text of a compressed file, from its start.
pub(super) type DecompressedFile = Decompressor<BufReader<PositionedReader>>;
/// Device and inode.
pub(super) type FileId = (u64, u64);
/// The coarsest timestamps of supported file systems. A file changed more recently may change again
/// with the same timestamp.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);
/// Size of an xz stream header or footer (The .xz File Format, sections 2.1.1 and 2.1.2).
const XZ_HEADER_LEN: u64 = 12;
/// Larger indexes are ignored. An index of a thousand blocks is less than a sixth of this.
const MAX_XZ_INDEX_LEN: u64 = 64 << 10;
/// The start of a gzip member, and the bits of the byte after it that must be 0 (RFC 1952, section
/// 2.3.1).
const GZIP_MAGIC: &[u8] = b"\x1f\x8b\x08";
const GZIP_RESERVED_FLAGS: u8 = 0b1110_0000;

/// Reads a file from its start, independent of the file's position.
#[derive(Debug)]
pub(super) struct PositionedReader {
    file: Arc<File>,
    at: u64,
}

impl Read for PositionedReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Decompresses `file` from its start.
pub(super) fn open_decompressed(file: &Arc<File>, compression: Compression) -> DecompressedFile {
    Decompressor::new(
        BufReader::with_capacity(
            BLOCK,
            PositionedReader {
                file: Arc::clone(file),
                at: 0,
            },
        ),
        compression,
    )
}

/// A file that is inspected.
#[derive(Debug)]
pub(super) struct InspectedFile {
    file: Arc<File>,
    /// The first bytes of its text.
    head: Vec<u8>,
    compression: Option<Compression>,
    /// The length of its text, if known.
    len: Option<u64>,
    /// The length that a compressed file claims.
    claimed: Option<ClaimedLength>,
    /// Why its head could not be decompressed.
    head_error: Option<String>,
    /// A decompressor and its position, so that a reader can continue there.
    ahead: Option<(u64, DecompressedFile)>,
}

impl InspectedFile {
    /// Reads the first bytes of `file`.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn new(file: &Arc<File>) -> io::Result<Self> {
        let file = Arc::clone(file);
        let len = file.metadata()?.len();
        let head = head_of(&file)?;
        let compression = magic::detect(&head).ok().flatten();
        let mut inspected = Self {
            file,
            head,
            compression,
            len: Some(len),
            claimed: None,
            head_error: None,
            ahead: None,
        };
        if let Some(compression) = compression {
            inspected.read_compressed_head(compression, len)?;
        }
        Ok(inspected)
    }

    fn read_compressed_head(&mut self, compression: Compression, len: u64) -> io::Result<()> {
        let mut head = vec![0; HEAD];
        let mut filled = 0;
        let mut text = open_decompressed(&self.file, compression);
        let mut ended = false;
        while filled < HEAD && !ended && self.head_error.is_none() {
            match text.read(&mut head[filled..]) {
                Ok(0) => ended = true,
                Ok(read) => filled += read,
                Err(error) if is_read_error(&error) => return Err(error),
                Err(error) => self.head_error = Some(error.to_string()),
            }
        }
        head.truncate(filled);
        self.claimed = ClaimedLength::read(&self.file, compression, len);
        self.head = head;
        self.len = ended.then_some(filled as u64);
        Ok(())
    }

    /// The first bytes of its text, at most [`HEAD`].
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether it is compressed.
    pub(super) fn compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Why its first bytes could not be decompressed.
    pub(super) fn head_error(&self) -> Option<&str> {
        self.head_error.as_deref()
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// For a compressed file, a decompressor that skipped `offset` bytes, or all if there are
    /// fewer, and the number skipped.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn decompressed_from(
        &mut self,
        offset: u64,
    ) -> io::Result<Option<(u64, DecompressedFile)>> {
        let Some(compression) = self.compression else {
            return Ok(None);
        };
        if let Some(ahead) = self.ahead.take_if(|(at, _)| *at == offset) {
            return Ok(Some(ahead));
        }
        let mut text = open_decompressed(&self.file, compression);
        let (at, _) = skip(&mut text, offset)?;
        Ok(Some((at, text)))
    }

    /// The text of a compressed file, from its start.
    pub(super) fn decompressed(&self) -> Option<DecompressedFile> {
        self.compression
            .map(|compression| open_decompressed(&self.file, compression))
    }

    /// The length of its text, if known.
    pub(super) fn known_len(&self) -> Option<u64> {
        self.len
    }

    /// The length of its text, or the claimed length of a compressed file; 0 if there is none.
    pub(super) fn likely_len(&self) -> u64 {
        self.len
            .or(self.claimed.map(ClaimedLength::least))
            .unwrap_or(0)
    }

    /// The length of its text, decompressed if necessary; `None` for a damaged compressed file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn full_len(&mut self) -> io::Result<Option<u64>> {
        if let Some(compression) = self.compression.filter(|_| self.len.is_none()) {
            let mut text = open_decompressed(&self.file, compression);
            let (len, _) = skip(&mut text, u64::MAX)?;
            self.len = text.damage().is_none().then_some(len);
        }
        Ok(self.len)
    }

    /// Whether it is compressed and claims exactly this length.
    pub(super) fn claims_length(&mut self, len: u64) -> bool {
        if self.head_error.is_some() || !self.claimed.is_some_and(|claim| claim.allows(len)) {
            return false;
        }
        // All members may have the same length, so the last one does not give the total.
        if matches!(self.claimed, Some(ClaimedLength::LastMember(_))) && !is_only_member(&self.file)
        {
            self.claimed = None;
        }
        self.claimed.is_some()
    }

    /// The `count` bytes before `offset`; `None` if the text ends before that.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn before(&mut self, offset: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; count.min(usize::try_from(offset).unwrap_or(count))];
        let Some(compression) = self.compression else {
            let at = offset - bytes.len() as u64;
            let read = read_full_at(&self.file, &mut bytes, at)?;
            return Ok((read == bytes.len()).then_some(bytes));
        };
        let mut text = open_decompressed(&self.file, compression);
        let (skipped, last) = skip(&mut text, offset)?;
        if skipped < offset {
            self.len = Some(skipped);
            return Ok(None);
        }
        self.ahead = Some((offset, text));
        Ok(Some(
            last[last.len().saturating_sub(bytes.len())..].to_vec(),
        ))
    }

    /// Whether a compressed file is complete, as far as can be determined.
    pub(super) fn is_whole(&self) -> bool {
        let Some(compression) = self.compression.filter(|_| !self.is_stable()) else {
            return true;
        };
        let mut text = open_decompressed(&self.file, compression);
        let mut block = vec![0; BLOCK];
        loop {
            match text.read(&mut block) {
                Ok(0) => return text.damage().is_none(),
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    /// Determined by the change time, which no tool sets back.
    pub(super) fn is_stable(&self) -> bool {
        self.file
            .metadata()
            .is_ok_and(|metadata| !FileStat::from_metadata(&metadata).is_recent())
    }
}

/// Whether a compressed file could not be read, rather than decompressed: it may be whole.
pub(super) fn is_read_error(error: &io::Error) -> bool {
    error.raw_os_error().is_some()
}

/// Skips the first `count` bytes of a text, or all if there are fewer. Returns the number and the
/// last bytes skipped.
///
/// # Errors
///
/// The file cannot be read. A damaged one ends where the damage is.
pub(super) fn skip(text: &mut impl Read, count: u64) -> io::Result<(u64, Vec<u8>)> {
    let mut block = vec![0; BLOCK];
    let mut last = Vec::new();
    let mut skipped = 0;
    while skipped < count {
        let read_len = block
            .len()
            .min(usize::try_from(count - skipped).unwrap_or(usize::MAX));
        match text.read(&mut block[..read_len]) {
            Ok(read @ 1..) => {
                skipped += read as u64;
                last.extend_from_slice(&block[..read]);
                last.drain(..last.len().saturating_sub(TAIL));
            }
            Err(error) if is_read_error(&error) => return Err(error),
            _ => break,
        }
    }
    Ok((skipped, last))
}

/// The first bytes of a file as it is, without the NULs of preallocated space.
///
/// # Errors
///
/// It cannot be read.
pub(super) fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let read = read_full_at(file, &mut head, 0)?;
    head.truncate(read);
    let nuls = trailing_nuls(&head);
    if nuls < head.len() {
        head.truncate(head.len() - nuls);
    }
    Ok(head)
}

/// Opens a regular file without blocking, and without acquiring a controlling terminal.
///
/// # Errors
///
/// It cannot be opened, or is not a regular file.
pub(super) fn open(path: &Path) -> io::Result<(Arc<File>, FileStat)> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is not a file; only files are followed",
        ));
    }
    Ok((Arc::new(file), FileStat::from_metadata(&metadata)))
}

/// Whether an error means that there is no file at a path.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The metadata of a file at one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FileStat {
    /// Device and inode.
    pub(super) id: FileId,
    /// Its size in bytes.
    pub(super) size: u64,
    /// Number of names (hard links).
    pub(super) links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStat {
    /// Takes the relevant fields of `metadata`.
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            links: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the file was modified before the other one.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.modified < other.modified
    }

    /// Whether the file was not modified for `time`. False for a modification time in the future.
    pub(super) fn is_unmodified_for(&self, time: Duration) -> bool {
        SystemTime::now()
            .duration_since(system_time(self.modified))
            .is_ok_and(|since| since >= time)
    }

    /// Whether the file changed so recently that another change might leave the same metadata.
    pub(super) fn is_recent(&self) -> bool {
        SystemTime::now()
            .duration_since(system_time(self.changed))
            .map_or(true, |since| since < TIMESTAMP_GRANULARITY)
    }
}

fn system_time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or(0))
}

/// Whether the file at `path` is mounted by itself, without its folder, as containers do. A
/// rotation outside of the container is not visible through such a mount. `false` if unknown.
/// `mount_of_folder` looks up the mount of its folder.
pub(super) fn is_bind_mounted_file(
    path: &Path,
    mount_of_folder: impl FnOnce(&Path) -> Option<u64>,
) -> bool {
    let Ok(found) = statx(
        CWD,
        path,
        AtFlags::SYMLINK_NOFOLLOW,
        StatxFlags::TYPE | StatxFlags::MNT_ID,
    ) else {
        return false;
    };
    let is_link = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Symlink;
    let target = if is_link {
        path.canonicalize().ok()
    } else {
        None
    };
    let mount = target.as_deref().map_or_else(|| mount_in(&found), mount_of);
    let folder = mount_of_folder(&parent_folder(target.as_deref().unwrap_or(path)));
    mount
        .zip(folder)
        .is_some_and(|(file, folder)| file != folder)
}

/// The number of the mount that a path is on. `None` if unknown.
pub(super) fn mount_of(path: &Path) -> Option<u64> {
    statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)
        .ok()
        .as_ref()
        .and_then(mount_in)
}

fn mount_in(metadata: &Statx) -> Option<u64> {
    (metadata.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(metadata.stx_mnt_id)
}

/// A claimed length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimedLength {
    /// Length of the last gzip member, modulo 2^32 (RFC 1952, section 2.3.1). It is the length of
    /// the whole text [if there is only one member](is_only_member).
    LastMember(u32),
    /// Length of the whole text.
    Exact(u64),
}

impl ClaimedLength {
    /// The claim in `file`, which is `len` bytes long.
    pub(super) fn read(file: &File, compression: Compression, len: u64) -> Option<Self> {
        match compression {
            Compression::Gzip => gzip_length(file, len),
            Compression::Xz => xz_length(file, len).map(Self::Exact),
            Compression::Zstd | Compression::Bzip2 => None,
        }
    }

    /// The smallest length that matches the claim.
    pub(super) fn least(self) -> u64 {
        match self {
            Self::LastMember(low) => u64::from(low),
            Self::Exact(len) => len,
        }
    }

    /// Whether `len` matches the claim.
    pub(super) fn allows(self, len: u64) -> bool {
        match self {
            Self::LastMember(low) => low == len as u32,
            Self::Exact(all) => all == len,
        }
    }
}

fn gzip_length(file: &File, len: u64) -> Option<ClaimedLength> {
    let mut claim = [0; 4];
    let read = file.read_at(&mut claim, len.saturating_sub(4));
    matches!(read, Ok(4)).then(|| ClaimedLength::LastMember(u32::from_le_bytes(claim)))
}

/// Whether nothing in a gzip file looks like the start of a second member. A match may be a member
/// or chance.
///
/// Much faster than decompressing the file.
pub(super) fn is_only_member(file: &File) -> bool {
    let (mut block, mut at) = (vec![0; BLOCK], 0);
    loop {
        let Ok(read) = read_full_at(file, &mut block, at) else {
            return false;
        };
        let starts =
            memmem::find_iter(&block[..read], GZIP_MAGIC).filter(|start| at + *start as u64 > 0);
        for start in starts {
            match block[..read].get(start + GZIP_MAGIC.len()) {
                Some(flags) if flags & GZIP_RESERVED_FLAGS != 0 => {}
                // The flags are after this block; the next block starts with the match.
                None if read == BLOCK => {}
                _ => return false,
            }
        }
        if read < BLOCK {
            return true;
        }
        at += (BLOCK - GZIP_MAGIC.len()) as u64;
    }
}

/// The sum in the index of a single stream; `None` if there are more streams, padding or damage.
fn xz_length(file: &File, len: u64) -> Option<u64> {
    let mut footer = [0; XZ_HEADER_LEN as usize];
    let footer_at = len.checked_sub(XZ_HEADER_LEN)?;
    let read = read_full_at(file, &mut footer, footer_at).ok()?;
    let backward = u32::from_le_bytes([footer[4], footer[5], footer[6], footer[7]]);
    let index_len = (u64::from(backward) + 1) * 4;
    if read < footer.len() || !footer.ends_with(b"YZ") || index_len > MAX_XZ_INDEX_LEN {
        return None;
    }
    let index_at = footer_at.checked_sub(index_len)?;
    let mut index = vec![0; index_len as usize];
    let read = read_full_at(file, &mut index, index_at).ok()?;
    let (compressed, text) = sums(&index[..read])?;
    (XZ_HEADER_LEN.checked_add(compressed)? == index_at).then_some(text)
}

/// The compressed size of all blocks with padding, and the size of their texts (section 4).
fn sums(index: &[u8]) -> Option<(u64, u64)> {
    let mut rest = index.strip_prefix(b"\0")?;
    let (mut compressed, mut text) = (0_u64, 0_u64);
    for _ in 0..number(&mut rest)? {
        compressed = compressed.checked_add(number(&mut rest)?.checked_next_multiple_of(4)?)?;
        text = text.checked_add(number(&mut rest)?)?;
    }
    Some((compressed, text))
}

/// Reads a multibyte integer: seven bits a byte, lowest first (section 1.2).
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for index in 0..9 {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::input::decompress::fixture::compress;

    #[test]
    fn a_temporary_file_is_not_bind_mounted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_bind_mounted_file(file.path(), mount_of));
        assert!(!is_bind_mounted_file(
            Path::new("/nowhere/at/all"),
            mount_of
        ));
    }

    #[test]
    fn a_file_on_another_mount_than_its_folder_is_bind_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("/proc/self/status", &link).unwrap();
        // The kernel has no mount of this number.
        assert!(is_bind_mounted_file(&file, |_| Some(u64::MAX)));
        // What counts is the target of a link, and the folder of that.
        let mut folder_of_target = None;
        let is_mounted = is_bind_mounted_file(&link, |folder| {
            folder_of_target = Some(folder.to_owned());
            mount_of(folder)
        });
        let process = format!("/proc/{}", std::process::id());
        assert_eq!(
            (is_mounted, folder_of_target.unwrap()),
            (false, Path::new(&process).to_owned())
        );
    }

    fn claim(bytes: &[u8], compression: Compression) -> Option<ClaimedLength> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        ClaimedLength::read(&file, compression, bytes.len() as u64)
    }

    #[test]
    fn only_lengths_after_the_text_are_claims() {
        let text = b"one line\n".repeat(1000);
        let [gzip, xz, zstd, bzip2] = [
            Compression::Gzip,
            Compression::Xz,
            Compression::Zstd,
            Compression::Bzip2,
        ]
        .map(|compression| claim(&compress(compression, [&text[..]]), compression));
        assert_eq!(
            (gzip, xz, zstd, bzip2),
            (
                Some(ClaimedLength::LastMember(9000)),
                Some(ClaimedLength::Exact(9000)),
                None,
                None
            )
        );
        assert_eq!(
            claim(
                &compress(Compression::Gzip, [&text[..], b"end\n"]),
                Compression::Gzip
            ),
            Some(ClaimedLength::LastMember(4))
        );
    }

    #[test]
    fn an_xz_file_of_several_streams_claims_nothing() {
        let one = compress(Compression::Xz, [&b"one\n"[..]]);
        for compressed in [
            [&one[..], &one[..]].concat(),
            [&one[..], &[0; 4]].concat(),
            one[..one.len() - 1].to_vec(),
            one[1..].to_vec(),
        ] {
            assert_eq!(claim(&compressed, Compression::Xz), None);
        }
    }

    #[test]
    fn a_32_bit_claim_allows_lengths_that_are_equal_modulo_2_32() {
        assert!(
            ClaimedLength::LastMember(7).allows(7)
                && ClaimedLength::LastMember(7).allows((1 << 32) + 7)
                && !ClaimedLength::LastMember(7).allows(8)
        );
        assert!(
            ClaimedLength::Exact(7).allows(7) && !ClaimedLength::Exact(7).allows((1 << 32) + 7)
        );
        assert_eq!(
            [
                ClaimedLength::LastMember(7).least(),
                ClaimedLength::Exact(9).least()
            ],
            [7, 9]
        );
    }

    #[test]
    fn a_second_member_is_found_at_any_offset() {
        let only = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            is_only_member(&file)
        };
        let one = compress(Compression::Gzip, [&b"one\n"[..]]);
        assert!(
            only(&one)
                && only(&[&one[..], b"\x1f\x8b\x08\xff"].concat())
                && only(&[&one[..], &vec![0; 2 * BLOCK]].concat())
        );
        for before in [
            one.len(),
            BLOCK - 5,
            BLOCK - 4,
            BLOCK - 3,
            BLOCK - 2,
            BLOCK - 1,
            BLOCK,
            2 * BLOCK,
            3 * BLOCK - 9,
        ] {
            let filled = [&one[..], &vec![b'x'; before - one.len()]].concat();
            assert!(only(&filled));
            for end in [4, 3, one.len()] {
                assert!(
                    !only(&[&filled[..], &one[..end]].concat()),
                    "{before} {end}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn random_bytes_do_not_panic(junk in prop::collection::vec(any::<u8>(), 0..64), index in prop::collection::vec(any::<u8>(), 0..64)) {
            claim(&junk, Compression::Gzip);
            // As long as the footer claims.
            let index = &index[..index.len() / 4 * 4];
            let backward = ((index.len() / 4) as u32).wrapping_sub(1).to_le_bytes();
            claim(&[&junk, index, &[0; 4], &backward, b"\0\x04YZ"].concat(), Compression::Xz);
            sums(&[&[0], index].concat());
        }
    }
}
