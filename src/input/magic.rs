//! Detects by its first bytes whether an input is compressed, and whether it is text at all.
//!
//! Names what it refuses: unsupported compression, UTF-16, and file types that are not logs.
//! Everything else is text.

use super::read_context::OpenError;

/// Number of first bytes used for detection, and hashed to identify a log's generation.
pub(super) const HEAD: usize = 1024;

/// A supported compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// <https://sourceware.org/bzip2/>
    Bzip2,
    /// <https://tukaani.org/xz/xz-file-format.txt>
    Xz,
}

impl Compression {
    /// Its name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    /// What its specification calls the parts that can be concatenated in a file.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Gzip => "member",
            Self::Zstd => "frame",
            Self::Bzip2 | Self::Xz => "stream",
        }
    }
}

/// Unsupported compressions, with the first bytes that their specifications give.
const UNSUPPORTED: [(&[u8], &str); 4] = [
    // lz4_Frame_format.md, "General Structure of LZ4 Frame format".
    (b"\x04\x22\x4d\x18", "lz4"),
    // 7zFormat.txt, "SignatureHeader".
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    // The manual of lzip, "File format".
    (b"LZIP\x01", "lzip"),
    // compress of ncompress, magic(5).
    (b"\x1f\x9d", "compress"),
];
/// Other files found beside logs, by their first bytes (magic(5) and the specifications).
const NOT_LOGS: [(&[u8], &str); 7] = [
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
];
/// What follows `BZh` and a digit: the start of a block, or of the end of an empty stream.
const BZIP2_BLOCKS: [&[u8]; 2] = [b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"];

/// How zip archives start (APPNOTE.TXT, sections 4.3.7 and 4.3.16).
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// What the header of the first member of a tar archive has at byte 257 (POSIX, `pax`, "ustar
/// Interchange Format").
const USTAR: &[u8] = b"ustar";
const USTAR_AT: usize = 257;

const UTF_8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF_16: &str =
    "is UTF-16 text, which holds no lines of bytes; convert it: iconv -f UTF-16 -t UTF-8";

/// Detects the compression by the first bytes of a file; `None` for an uncompressed file.
///
/// # Errors
///
/// The compression is not supported.
pub(super) fn detect(head: &[u8]) -> Result<Option<Compression>, OpenError> {
    if head.starts_with(b"\x1f\x8b") {
        return Ok(Some(Compression::Gzip));
    }
    if is_zstd(head) {
        return Ok(Some(Compression::Zstd));
    }
    if is_bzip2(head) {
        return Ok(Some(Compression::Bzip2));
    }
    // Section 2.1.1.1.
    if head.starts_with(b"\xfd7zXZ\0") {
        return Ok(Some(Compression::Xz));
    }
    if ZIP.iter().any(|magic| head.starts_with(magic)) {
        return Err(OpenError::Archive("zip", "unzip -p"));
    }
    match UNSUPPORTED
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
    {
        Some((_, name)) => Err(OpenError::Unsupported(name)),
        None => Ok(None),
    }
}

/// A frame (section 3.1.1), or a skippable frame before it (section 3.1.2), as `pzstd` writes it.
fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(b"\x28\xb5\x2f\xfd") || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Checks more than the first four bytes, which could also start a line of text.
fn is_bzip2(head: &[u8]) -> bool {
    head.starts_with(b"BZh")
        && head.get(3).is_some_and(|size| matches!(size, b'1'..=b'9'))
        && BZIP2_BLOCKS
            .iter()
            .any(|block| head[4..].starts_with(block))
}

/// The length of a byte-order mark at the start of a text.
///
/// # Errors
///
/// The text is UTF-16, or the file is not text.
pub(super) fn bom_len(head: &[u8]) -> Result<usize, OpenError> {
    if let Some((_, what)) = NOT_LOGS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(OpenError::NoLog(what));
    }
    if head
        .get(USTAR_AT..)
        .is_some_and(|rest| rest.starts_with(USTAR))
    {
        return Err(OpenError::Archive("tar", "tar -xOf"));
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || is_utf_16(head) {
        return Err(OpenError::NotText(UTF_16));
    }
    Ok(if head.starts_with(UTF_8_BOM) {
        UTF_8_BOM.len()
    } else {
        0
    })
}

/// UTF-16 without a byte-order mark: in nearly every pair of bytes the same one is NUL.
fn is_utf_16(head: &[u8]) -> bool {
    let pairs = head.chunks_exact(2);
    let all = pairs.len();
    let (mut big, mut little) = (0, 0);
    for pair in pairs {
        big += usize::from(pair[0] == 0 && pair[1] != 0);
        little += usize::from(pair[0] != 0 && pair[1] == 0);
    }
    all >= 8 && big.max(little) * 10 >= all * 9 && big.min(little) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_supported_compressions() {
        for (head, expected) in [
            (&b"\x1f\x8b\x08\0"[..], Compression::Gzip),
            (b"\x28\xb5\x2f\xfd\x04", Compression::Zstd),
            (b"\x50\x2a\x4d\x18\x04\0\0\0", Compression::Zstd),
            (b"\x5f\x2a\x4d\x18", Compression::Zstd),
            (b"BZh91AY&SY\0", Compression::Bzip2),
            (b"BZh1\x17\x72\x45\x38\x50\x90", Compression::Bzip2),
            (b"\xfd7zXZ\0\0", Compression::Xz),
        ] {
            assert_eq!(detect(head).unwrap(), Some(expected));
        }
        for head in [
            &b""[..],
            b"1.2.3.4 - - [",
            b"BZh9 is a name",
            b"BZh",
            b"BZh01AY&SY",
            b"1AY&SY",
            b"\x1f",
            b"BZh9PK\x03\x04",
            b"\x60\x2a\x4d\x18",
        ] {
            assert_eq!(detect(head).unwrap(), None);
        }
    }

    #[test]
    fn names_unsupported_compressions() {
        for (head, name) in [
            (&b"\x04\x22\x4d\x18\x64"[..], "lz4"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7z"),
            (b"LZIP\x01\x0c", "lzip"),
            (b"\x1f\x9d\x90", "compress"),
        ] {
            assert!(
                matches!(detect(head), Err(OpenError::Unsupported(found)) if found == name),
                "{name}"
            );
        }
    }

    #[test]
    fn archives_are_named_with_the_command_that_reads_them() {
        let mut tar = [0; 512];
        tar[USTAR_AT..USTAR_AT + USTAR.len()].copy_from_slice(USTAR);
        for (archive, command) in [
            (detect(b"PK\x03\x04\x14").map(drop), "unzip -p FILE"),
            (bom_len(&tar).map(drop), "tar -xOf FILE"),
        ] {
            let message = archive.unwrap_err().to_string();
            assert!(
                message.contains("archive") && message.contains(command),
                "{message}"
            );
        }
    }

    #[test]
    fn utf_16_is_refused_with_and_without_a_mark() {
        let little: Vec<u8> = "1.2.3.4 - - [x]\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let big: Vec<u8> = "1.2.3.4 - - [x]\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        for head in [
            &little,
            &big,
            &[b"\xff\xfe".to_vec(), little.clone()].concat(),
            &[b"\xfe\xff".to_vec(), big.clone()].concat(),
        ] {
            assert!(matches!(bom_len(head), Err(OpenError::NotText(_))));
        }
    }

    #[test]
    fn only_a_utf_8_mark_is_skipped() {
        assert_eq!(bom_len(b"\xef\xbb\xbf1.2.3.4").unwrap(), 3);
        for head in [
            &b""[..],
            b"1.2.3.4",
            &[0; 64],
            b"a\0b\0c\0",
            b"1.2.3.4 \xff\xfe\x80",
            b"\xef\xbb",
        ] {
            assert_eq!(bom_len(head).unwrap(), 0);
        }
    }
}
