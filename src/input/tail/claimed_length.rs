//! What a packed file says of the length of its text, where it says so behind it: gzip and xz do.
//!
//! Believed only of a text that is known by its beginning, to save unpacking what was read before. What zstd says stands
//! before a frame and says nothing of the frames behind it, so it is no help.

use std::fs::File;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::input::magic::Compression;
use crate::input::sparse::read_full_at;

/// An xz stream's header and footer (The .xz File Format, sections 2.1.1 and 2.1.2).
const FRAME: u64 = 12;
/// Larger indexes are not looked through: one of a thousand blocks takes less than a sixth.
const LONGEST_INDEX: u64 = 64 << 10;

/// Bytes looked through in one go.
const BLOCK: usize = 64 << 10;
/// How a gzip member begins, and the bits of the byte behind that which must be 0 (RFC 1952, section 2.3.1).
const MEMBER: &[u8] = b"\x1f\x8b\x08";
const RESERVED: u8 = 0b1110_0000;

/// A length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimedLength {
    /// Of the last gzip member, modulo 2^32 (RFC 1952, section 2.3.1). Of all the text only [if it is the only
    /// one](is_only_member).
    LastMember(u32),
    /// Of all the text.
    Exact(u64),
}

impl ClaimedLength {
    /// What `file`, of `len` bytes, says.
    pub(super) fn read(file: &File, compression: Compression, len: u64) -> Option<Self> {
        match compression {
            Compression::Gzip => gzip_length(file, len),
            Compression::Xz => xz_length(file, len).map(Self::Exact),
            Compression::Zstd | Compression::Bzip2 => None,
        }
    }

    /// The shortest length that it can mean.
    pub(super) fn least(self) -> u64 {
        match self {
            Self::LastMember(low) => u64::from(low),
            Self::Exact(len) => len,
        }
    }

    /// Whether it can mean this length.
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

/// Whether nothing in a gzip file looks like the start of a second member. Where something does it may be one, or chance.
///
/// Much faster than unpacking it.
pub(super) fn is_only_member(file: &File) -> bool {
    let (mut block, mut at) = (vec![0; BLOCK], 0);
    loop {
        let Ok(read) = read_full_at(file, &mut block, at) else { return false };
        let starts = memmem::find_iter(&block[..read], MEMBER).filter(|start| at + *start as u64 > 0);
        for start in starts {
            match block[..read].get(start + MEMBER.len()) {
                Some(flags) if flags & RESERVED != 0 => {}
                // Behind this block, and at the start of the next one.
                None if read == BLOCK => {}
                _ => return false,
            }
        }
        if read < BLOCK {
            return true;
        }
        at += (BLOCK - MEMBER.len()) as u64;
    }
}

/// The sum that the index of an only stream gives; `None` where there are more streams, or padding, or damage.
fn xz_length(file: &File, len: u64) -> Option<u64> {
    let mut footer = [0; FRAME as usize];
    let footer_at = len.checked_sub(FRAME)?;
    let read = read_full_at(file, &mut footer, footer_at).ok()?;
    let backward = u32::from_le_bytes([footer[4], footer[5], footer[6], footer[7]]);
    let index_len = (u64::from(backward) + 1) * 4;
    if read < footer.len() || !footer.ends_with(b"YZ") || index_len > LONGEST_INDEX {
        return None;
    }
    let index_at = footer_at.checked_sub(index_len)?;
    let mut index = vec![0; index_len as usize];
    let read = read_full_at(file, &mut index, index_at).ok()?;
    let (compressed, text) = sums(&index[..read])?;
    (FRAME.checked_add(compressed)? == index_at).then_some(text)
}

/// The bytes that all blocks take, with their padding, and those of their texts (section 4).
fn sums(index: &[u8]) -> Option<(u64, u64)> {
    let mut rest = index.strip_prefix(b"\0")?;
    let (mut compressed, mut text) = (0_u64, 0_u64);
    for _ in 0..number(&mut rest)? {
        compressed = compressed.checked_add(number(&mut rest)?.checked_next_multiple_of(4)?)?;
        text = text.checked_add(number(&mut rest)?)?;
    }
    Some((compressed, text))
}

/// Takes a number off the front: seven bits a byte, the lowest first (section 1.2).
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << (7 * place);
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
    use crate::input::decompress::fixture::pack;

    fn claim(bytes: &[u8], compression: Compression) -> Option<ClaimedLength> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        ClaimedLength::read(&file, compression, bytes.len() as u64)
    }

    #[test]
    fn only_what_stands_behind_all_of_a_text_is_a_claim() {
        let text = b"one line\n".repeat(1000);
        let [gzip, xz, zstd, bzip2] = [Compression::Gzip, Compression::Xz, Compression::Zstd, Compression::Bzip2]
            .map(|compression| claim(&pack(compression, [&text[..]]), compression));
        assert_eq!((gzip, xz, zstd, bzip2), (Some(ClaimedLength::LastMember(9000)), Some(ClaimedLength::Exact(9000)), None, None));
        assert_eq!(claim(&pack(Compression::Gzip, [&text[..], b"end\n"]), Compression::Gzip), Some(ClaimedLength::LastMember(4)));
    }

    #[test]
    fn an_xz_file_of_more_than_one_stream_claims_nothing() {
        let one = pack(Compression::Xz, [&b"one\n"[..]]);
        for compressed in [[&one[..], &one[..]].concat(), [&one[..], &[0; 4]].concat(), one[..one.len() - 1].to_vec(), one[1..].to_vec()] {
            assert_eq!(claim(&compressed, Compression::Xz), None);
        }
    }

    #[test]
    fn a_claim_of_32_bits_allows_what_is_equal_in_these() {
        assert!(
            ClaimedLength::LastMember(7).allows(7)
                && ClaimedLength::LastMember(7).allows((1 << 32) + 7)
                && !ClaimedLength::LastMember(7).allows(8)
        );
        assert!(ClaimedLength::Exact(7).allows(7) && !ClaimedLength::Exact(7).allows((1 << 32) + 7));
        assert_eq!([ClaimedLength::LastMember(7).least(), ClaimedLength::Exact(9).least()], [7, 9]);
    }

    #[test]
    fn a_second_member_is_seen_wherever_it_begins() {
        let only = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            is_only_member(&file)
        };
        let one = pack(Compression::Gzip, [&b"one\n"[..]]);
        assert!(only(&one) && only(&[&one[..], b"\x1f\x8b\x08\xff"].concat()) && only(&[&one[..], &vec![0; 2 * BLOCK]].concat()));
        for before in [one.len(), BLOCK - 5, BLOCK - 4, BLOCK - 3, BLOCK - 2, BLOCK - 1, BLOCK, 2 * BLOCK, 3 * BLOCK - 9] {
            let filled = [&one[..], &vec![b'x'; before - one.len()]].concat();
            assert!(only(&filled));
            for end in [4, 3, one.len()] {
                assert!(!only(&[&filled[..], &one[..end]].concat()), "{before} {end}");
            }
        }
    }

    proptest! {
        #[test]
        fn junk_claims_something_or_nothing(junk in prop::collection::vec(any::<u8>(), 0..64), index in prop::collection::vec(any::<u8>(), 0..64)) {
            claim(&junk, Compression::Gzip);
            // As long as the footer says.
            let index = &index[..index.len() / 4 * 4];
            let backward = ((index.len() / 4) as u32).wrapping_sub(1).to_le_bytes();
            claim(&[&junk, index, &[0; 4], &backward, b"\0\x04YZ"].concat(), Compression::Xz);
            sums(&[&[0], index].concat());
        }
    }
}
