//! How a line begins: the one question that every reader of a format asks again and again.

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

#[cfg(test)]
mod tests {
    use crate::formats::begins::*;
    use proptest::prelude::*;

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
