//! The length of its text that a compressed file claims at its end, for gzip and xz.
//!
//! Used only for content whose head is known, to avoid decompressing what was read before. The content size of zstd
//! is in the frame header and says nothing about further frames, so it is not used.

use std::fs::File;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::input::magic::Compression;
use crate::input::sparse::read_full_at;

/// Size of an xz stream header or footer (The .xz File Format, sections 2.1.1 and 2.1.2).
const HEADER_LEN: u64 = 12;
/// Larger indexes are ignored. An index of a thousand blocks is less than a sixth of this.
const MAX_INDEX: u64 = 64 << 10;

/// Bytes searched at a time.
const BLOCK: usize = 64 << 10;
/// The start of a gzip member, and the bits of the byte after it that must be 0 (RFC 1952, section 2.3.1).
const MEMBER: &[u8] = b"\x1f\x8b\x08";
const RESERVED: u8 = 0b1110_0000;

/// A claimed length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimedLength {
    /// Length of the last gzip member, modulo 2^32 (RFC 1952, section 2.3.1). It is the length of the whole text [if
    /// there is only one member](is_only_member).
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

/// Whether nothing in a gzip file looks like the start of a second member. A match may be a member or chance.
///
/// Much faster than decompressing the file.
pub(super) fn is_only_member(file: &File) -> bool {
    let (mut block, mut at) = (vec![0; BLOCK], 0);
    loop {
        let Ok(read) = read_full_at(file, &mut block, at) else { return false };
        let starts = memmem::find_iter(&block[..read], MEMBER).filter(|start| at + *start as u64 > 0);
        for start in starts {
            match block[..read].get(start + MEMBER.len()) {
                Some(flags) if flags & RESERVED != 0 => {}
                // The flags are after this block; the next block starts with the match.
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

/// The sum in the index of a single stream; `None` if there are more streams, padding or damage.
fn xz_length(file: &File, len: u64) -> Option<u64> {
    let mut footer = [0; HEADER_LEN as usize];
    let footer_at = len.checked_sub(HEADER_LEN)?;
    let read = read_full_at(file, &mut footer, footer_at).ok()?;
    let backward = u32::from_le_bytes([footer[4], footer[5], footer[6], footer[7]]);
    let index_len = (u64::from(backward) + 1) * 4;
    if read < footer.len() || !footer.ends_with(b"YZ") || index_len > MAX_INDEX {
        return None;
    }
    let index_at = footer_at.checked_sub(index_len)?;
    let mut index = vec![0; index_len as usize];
    let read = read_full_at(file, &mut index, index_at).ok()?;
    let (compressed, text) = sums(&index[..read])?;
    (HEADER_LEN.checked_add(compressed)? == index_at).then_some(text)
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
    for place in 0..9 {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
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
    use crate::input::decompress::fixture::compress;

    fn claim(bytes: &[u8], compression: Compression) -> Option<ClaimedLength> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        ClaimedLength::read(&file, compression, bytes.len() as u64)
    }

    #[test]
    fn only_lengths_after_the_text_are_claims() {
        let text = b"one line\n".repeat(1000);
        let [gzip, xz, zstd, bzip2] = [Compression::Gzip, Compression::Xz, Compression::Zstd, Compression::Bzip2]
            .map(|compression| claim(&compress(compression, [&text[..]]), compression));
        assert_eq!((gzip, xz, zstd, bzip2), (Some(ClaimedLength::LastMember(9000)), Some(ClaimedLength::Exact(9000)), None, None));
        assert_eq!(claim(&compress(Compression::Gzip, [&text[..], b"end\n"]), Compression::Gzip), Some(ClaimedLength::LastMember(4)));
    }

    #[test]
    fn an_xz_file_of_several_streams_claims_nothing() {
        let one = compress(Compression::Xz, [&b"one\n"[..]]);
        for compressed in [[&one[..], &one[..]].concat(), [&one[..], &[0; 4]].concat(), one[..one.len() - 1].to_vec(), one[1..].to_vec()] {
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
        assert!(ClaimedLength::Exact(7).allows(7) && !ClaimedLength::Exact(7).allows((1 << 32) + 7));
        assert_eq!([ClaimedLength::LastMember(7).least(), ClaimedLength::Exact(9).least()], [7, 9]);
    }

    #[test]
    fn a_second_member_is_found_at_any_offset() {
        let only = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            is_only_member(&file)
        };
        let one = compress(Compression::Gzip, [&b"one\n"[..]]);
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
