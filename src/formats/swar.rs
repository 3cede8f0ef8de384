//! A byte found among eight or sixteen at once, in one word: for texts so short that to call a search takes longer than
//! the search. (SIMD within a register; the trick is in `Hacker's Delight`, 6-1.)

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::formats::swar::*;

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
}
