//! A byte found among eight or sixteen at once, in one word: for texts so short that to call a search takes longer than
//! the search. (SIMD within a register; the trick is in `Hacker's Delight`, 6-1.)

use memchr::memchr_iter;

/// Marks where eight bytes are `byte`, by the highest bit of each. There is a mark where there is such a byte, and the lowest
/// one is right; those above may not be, as a byte that is found borrows from the one above it.
#[inline]
pub(super) const fn marks_of_8(bytes: [u8; 8], byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero_where_found = u64::from_le_bytes(bytes) ^ (ONES * byte as u64);
    zero_where_found.wrapping_sub(ONES) & !zero_where_found & (ONES << 7)
}

/// The same of sixteen bytes.
#[inline]
pub(super) const fn marks_of_16(bytes: [u8; 16], byte: u8) -> u128 {
    const ONES: u128 = u128::MAX / 255;
    let zero_where_found = u128::from_le_bytes(bytes) ^ (ONES * byte as u128);
    zero_where_found.wrapping_sub(ONES) & !zero_where_found & (ONES << 7)
}

/// Whether `text` begins like `start`, eight bytes at a time: both are short, and a call would take longer.
#[inline]
pub(super) fn begins(text: &[u8], start: &[u8]) -> bool {
    let Some(text) = text.get(..start.len()) else { return false };
    match (text.last_chunk::<8>(), start.last_chunk::<8>()) {
        // The last eight bytes may be looked at twice.
        (Some(end), Some(expected)) => {
            let mut chunks = text.as_chunks::<8>().0.iter().zip(start.as_chunks::<8>().0);
            end == expected && chunks.all(|(a, b)| a == b)
        }
        _ => text.iter().zip(start).all(|(a, b)| a == b),
    }
}

/// A line of so many bytes is looked through for NULs: a hole takes whole blocks of a disk, and the shortest have
/// so many. The line it begins in may parse, with the hole in its request and other lines swallowed. Nearly all lines are
/// shorter.
const MAY_HOLD_A_HOLE: usize = 512;

/// NULs before a line.
#[must_use]
#[inline]
pub fn leading_nuls(line: &[u8]) -> usize {
    if line.first() == Some(&0) { line.iter().take_while(|&&byte| byte == 0).count() } else { 0 }
}

/// NULs in a line that is long enough to hold a hole.
#[must_use]
#[inline]
pub fn nuls_within(line: &[u8]) -> usize {
    if line.len() >= MAY_HOLD_A_HOLE { memchr_iter(0, line).count() } else { 0 }
}

#[cfg(test)]
mod tests {
    use crate::formats::bytes::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lowest_mark_is_where_the_byte_is(bytes: [u8; 16], few in prop::collection::vec(prop::sample::select(b"\0\x01 !\x7f\x80\xff".to_vec()), 16)) {
            let few: [u8; 16] = few.try_into().unwrap();
            for bytes in [bytes, few] {
                for byte in [bytes[0], bytes[3], bytes[7], bytes[15], 0, b' ', 0x80, 0xff] {
                    let place = |bytes: &[u8]| bytes.iter().position(|&b| b == byte);
                    let (start, _) = bytes.split_first_chunk::<8>().unwrap();
                    let (in_8, in_16) = (marks_of_8(*start, byte), marks_of_16(bytes, byte));
                    prop_assert_eq!((in_8 != 0).then(|| in_8.trailing_zeros() as usize / 8), place(start));
                    prop_assert_eq!((in_16 != 0).then(|| in_16.trailing_zeros() as usize / 8), place(&bytes));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_begins_like_another_when_each_byte_does(
            start in prop::collection::vec(any::<u8>(), 0..70),
            more in prop::collection::vec(any::<u8>(), 0..9),
            at: prop::sample::Index,
            bit in 0..8_u8,
        ) {
            let mut text = [&start[..], &more].concat();
            prop_assert!(begins(&text, &start));
            prop_assert!(start.is_empty() || !begins(&start[1..], &start));
            if !start.is_empty() {
                text[at.index(start.len())] ^= 1 << bit;
                prop_assert!(!begins(&text, &start));
            }
        }
    }
}
