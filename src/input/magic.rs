//! Tells by its first bytes whether an input is packed and whether its text is one of bytes.
//!
//! Knows only what is worth saying by name. Anything else is text, and if no line of it parses the report says so.

use super::read::Unread;

/// How many of the first bytes are looked at, and hashed to name a log's generation.
pub(super) const HEAD: usize = 1024;

/// Whether a text is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// As it is.
    Plain,
    /// RFC 1952.
    Gzip,
}

/// Packings that are not read, by the first bytes that their specifications give them.
const UNSUPPORTED: [(&[u8], &str); 4] = [
    // RFC 8878, section 3.1.1.
    (b"\x28\xb5\x2f\xfd", "zstd"),
    // The .xz file format, section 2.1.1.1.
    (b"\xfd7zXZ\0", "xz"),
    // APPNOTE.TXT, sections 4.3.7 and 4.3.16.
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
];
/// What follows `BZh` and a digit: the start of a block, or of the end where there is none.
const BZIP2_BLOCKS: [&[u8]; 2] = [b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"];

const UTF_8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF_16: &str = "is UTF-16 text, which holds no lines of bytes; convert it: iconv -f UTF-16 -t UTF-8";

/// What the first bytes of a file say about its packing.
///
/// # Errors
///
/// It is packed in a way that is not read.
pub(super) fn packing(head: &[u8]) -> Result<Packing, Unread> {
    if head.starts_with(b"\x1f\x8b") {
        return Ok(Packing::Gzip);
    }
    if is_bzip2(head) {
        return Err(Unread::Unsupported("bzip2"));
    }
    match UNSUPPORTED.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, name)) => Err(Unread::Unsupported(name)),
        None => Ok(Packing::Plain),
    }
}

/// The first four bytes alone could start a line.
fn is_bzip2(head: &[u8]) -> bool {
    head.starts_with(b"BZh") && BZIP2_BLOCKS.iter().any(|block| head.get(4..).is_some_and(|rest| rest.starts_with(block)))
}

/// The bytes of a byte-order mark at the start of a text, to be passed over.
///
/// # Errors
///
/// It is UTF-16.
pub(super) fn bom(head: &[u8]) -> Result<usize, Unread> {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || is_utf_16(head) {
        return Err(Unread::NotText(UTF_16));
    }
    Ok(if head.starts_with(UTF_8_BOM) { UTF_8_BOM.len() } else { 0 })
}

/// UTF-16 without a mark: of nearly every pair of bytes one is NUL, and always the same one.
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
    fn names_what_is_packed() {
        assert_eq!(packing(b"\x1f\x8b\x08\0").unwrap(), Packing::Gzip);
        for (head, name) in [
            (&b"\x28\xb5\x2f\xfd\x04"[..], "zstd"),
            (b"BZh91AY&SY\0", "bzip2"),
            (b"BZh9\x17\x72\x45\x38\x50\x90", "bzip2"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"PK\x03\x04\x14", "zip"),
        ] {
            assert!(matches!(packing(head), Err(Unread::Unsupported(found)) if found == name), "{name}");
        }
        for head in [&b""[..], b"1.2.3.4 - - [", b"BZh9 is a name", b"BZh", b"1AY&SY", b"\x1f", b"BZh9PK\x03\x04"] {
            assert_eq!(packing(head).unwrap(), Packing::Plain);
        }
    }

    #[test]
    fn tells_utf_16_with_and_without_a_mark() {
        let little: Vec<u8> = "1.2.3.4 - - [x]\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "1.2.3.4 - - [x]\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for head in [&little, &big, &[b"\xff\xfe".to_vec(), little.clone()].concat(), &[b"\xfe\xff".to_vec(), big.clone()].concat()] {
            assert!(matches!(bom(head), Err(Unread::NotText(_))));
        }
    }

    #[test]
    fn passes_over_the_mark_of_utf_8_only() {
        assert_eq!(bom(b"\xef\xbb\xbf1.2.3.4").unwrap(), 3);
        for head in [&b""[..], b"1.2.3.4", &[0; 64], b"a\0b\0c\0", b"1.2.3.4 \xff\xfe\x80", b"\xef\xbb"] {
            assert_eq!(bom(head).unwrap(), 0);
        }
    }
}
