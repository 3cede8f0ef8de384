//! Searches in short byte strings, where calling a general search would take longer than the search
//! itself.
//!
//! SIMD within a register; see `Hacker's Delight`, 6-1.

use memchr::memchr_iter;

/// Marks the bytes equal to `byte` by the highest bit of each. The lowest mark is exact; higher
/// marks may be false, because a match borrows from the byte above.
#[inline]
pub(super) const fn marks_of_8(bytes: [u8; 8], byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero_where_found = u64::from_le_bytes(bytes) ^ (ONES * byte as u64);
    zero_where_found.wrapping_sub(ONES) & !zero_where_found & (ONES << 7)
}

/// Marks the bytes that are not from `first` to `last`, which are ASCII, by the highest bit of
/// each. All marks are exact.
#[inline]
pub(super) const fn marks_outside(bytes: [u8; 8], first: u8, last: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let bytes = u64::from_le_bytes(bytes);
    let is_above = (bytes & !HIGH) + ONES * (0x7f - last as u64);
    let is_from = (bytes | HIGH) - ONES * first as u64;
    (is_above | !is_from | bytes) & HIGH
}

/// Whether all bytes are from `first` to `last`, which are ASCII.
#[inline]
pub(super) fn are_within(text: &[u8], first: u8, last: u8) -> bool {
    let is_within = |part: &[u8; 8]| marks_outside(*part, first, last) == 0;
    match text.last_chunk() {
        // The last eight bytes may be checked twice.
        Some(end) => is_within(end) && text.as_chunks().0.iter().all(is_within),
        None => text.iter().all(|byte| (first..=last).contains(byte)),
    }
}

/// [`marks_of_8`] for sixteen bytes.
#[inline]
pub(super) const fn marks_of_16(bytes: [u8; 16], byte: u8) -> u128 {
    const ONES: u128 = u128::MAX / 255;
    let zero_where_found = u128::from_le_bytes(bytes) ^ (ONES * byte as u128);
    zero_where_found.wrapping_sub(ONES) & !zero_where_found & (ONES << 7)
}

/// Whether `text` starts with `start`. Compares eight bytes at a time, because both are short.
#[inline]
pub(super) fn begins(text: &[u8], start: &[u8]) -> bool {
    let Some(text) = text.get(..start.len()) else {
        return false;
    };
    match (text.last_chunk::<8>(), start.last_chunk::<8>()) {
        // The last eight bytes may be compared twice.
        (Some(end), Some(expected)) => {
            let mut chunks = text.as_chunks::<8>().0.iter().zip(start.as_chunks::<8>().0);
            end == expected && chunks.all(|(a, b)| a == b)
        }
        _ => text.iter().zip(start).all(|(a, b)| a == b),
    }
}

/// Where a part of a text starts in it.
pub(super) fn start_of(text: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// Where a part of a text ends in it.
pub(super) fn end_of(text: &[u8], part: &[u8]) -> usize {
    start_of(text, part) + part.len()
}

/// Whether a text starts like `shape`, where `0` is any digit, `a` and `A` any letter, and `d` a
/// digit or a space.
#[inline]
pub(crate) fn is_shaped(text: &[u8], shape: &[u8]) -> bool {
    text.len() >= shape.len()
        && text.iter().zip(shape).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'a' | b'A' => byte.is_ascii_alphabetic(),
            b'd' => byte.is_ascii_digit() || *byte == b' ',
            other => byte == other,
        })
}

/// Lines of at least this length are searched for NUL bytes: holes in a file have the size of disk
/// blocks, at least this many bytes. A line with a hole may parse, with the hole and parts of other
/// lines in its request. Most lines are shorter.
const MIN_HOLE_LINE: usize = 512;

/// The number of NUL bytes before a line.
#[must_use]
#[inline]
pub fn leading_nuls(line: &[u8]) -> usize {
    if line.first() == Some(&0) {
        line.iter().take_while(|&&byte| byte == 0).count()
    } else {
        0
    }
}

/// The number of NUL bytes in a line that is long enough for a hole.
#[must_use]
#[inline]
pub(crate) fn nuls_within(line: &[u8]) -> usize {
    if line.len() >= MIN_HOLE_LINE {
        memchr_iter(0, line).count()
    } else {
        0
    }
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
                let (start, _) = bytes.split_first_chunk::<8>().unwrap();
                let in_range = |(first, last): (u8, u8)| start.map(|b| if (first..=last).contains(&b) { 0 } else { 0x80 });
                for (first, last) in [(b'.', b'9'), (0, 0x7f), (b' ', b' ')] {
                    prop_assert_eq!(marks_outside(*start, first, last).to_le_bytes(), in_range((first, last)));
                }
                for byte in [bytes[0], bytes[3], bytes[7], bytes[15], 0, b' ', 0x80, 0xff] {
                    let position = |bytes: &[u8]| bytes.iter().position(|&b| b == byte);

                    let (in_8, in_16) = (marks_of_8(*start, byte), marks_of_16(bytes, byte));
                    prop_assert_eq!((in_8 != 0).then(|| in_8.trailing_zeros() as usize / 8), position(start));
                    prop_assert_eq!((in_16 != 0).then(|| in_16.trailing_zeros() as usize / 8), position(&bytes));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_bytes_are_within_if_each_is(mut text in prop::collection::vec(b'.'..=b'9', 0..20), at: prop::sample::Index, byte: u8) {
            prop_assert!(are_within(&text, b'.', b'9'));
            if !text.is_empty() {
                *at.get_mut(&mut text) = byte;
                prop_assert_eq!(are_within(&text, b'.', b'9'), (b'.'..=b'9').contains(&byte));
            }
        }

        #[test]
        fn begins_compares_every_byte(
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
