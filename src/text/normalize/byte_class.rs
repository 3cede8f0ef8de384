//! Classes of bytes, by one table lookup for each byte.
//!
//! Most texts need no decoding, and these lookups find that out.

/// A byte that may need decoding or normalization in any position.
pub(super) const NEEDS_DECODING: u8 = 1;
/// The first byte of an escape.
pub(super) const ESCAPE: u8 = 1 << 1;
/// The first byte of an escape or a byte beyond ASCII, but not `&`.
pub(super) const ENCODED: u8 = 1 << 2;
/// A control byte, or a no-break space.
pub(super) const SPACE: u8 = 1 << 3;
/// `+`.
pub(super) const PLUS: u8 = 1 << 4;
/// `*`, without which there is no comment.
pub(super) const STAR: u8 = 1 << 5;
/// A byte that a shell ignores within a word.
pub(super) const QUOTE: u8 = 1 << 6;
/// A byte of Base64, in either alphabet.
pub(super) const SEXTET: u8 = 1 << 7;

/// Bytes that are classified before a branch.
const PIECE: usize = 16;

/// The classes of each byte.
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = kinds_of(at as u8);
        at += 1;
    }
    kinds
};

const fn kinds_of(byte: u8) -> u8 {
    const fn flag(holds: bool, byte_class: u8) -> u8 {
        if holds { byte_class } else { 0 }
    }
    flag(
        matches!(byte, b'%' | b'\\' | b'+' | b';' | b'*' | b'#' | 0..0x20 | 0x7f..),
        NEEDS_DECODING,
    ) | flag(matches!(byte, b'%' | b'\\' | b'&' | 0xc0..), ESCAPE)
        | flag(matches!(byte, b'%' | b'\\' | 0x80..), ENCODED)
        | flag(matches!(byte, 0..0x20 | 0x7f | 0xa0), SPACE)
        | flag(byte == b'+', PLUS)
        | flag(byte == b'*', STAR)
        | flag(
            matches!(byte, b'\'' | b'"' | b'\\' | b'^' | b'$' | b'`'),
            QUOTE,
        )
        | flag(sextet(byte).is_some(), SEXTET)
}

/// The classes of a byte.
#[inline]
pub(super) fn of_byte(byte: u8) -> u8 {
    KINDS[usize::from(byte)]
}

/// The classes of all bytes of a text.
#[inline]
pub(super) fn of_text(text: &[u8]) -> u8 {
    text.iter().fold(0, |kinds, &byte| kinds | of_byte(byte))
}

/// The position of the first byte of a class.
#[inline]
pub(super) fn first(text: &[u8], byte_class: u8) -> Option<usize> {
    let is = |byte: &u8| of_byte(*byte) & byte_class != 0;
    // No branch within a piece, so that bytes are classified independently.
    let pieces = text
        .chunks_exact(PIECE)
        .take_while(|piece| of_text(piece) & byte_class == 0)
        .count();
    let start = pieces * PIECE;
    text[start..].iter().position(is).map(|at| start + at)
}

/// The six bits that a byte means in Base64, in either alphabet.
pub(super) const fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn first_finds_the_first_byte_of_a_class(text in prop::collection::vec(prop::sample::select(b"ab%'* \xc3".to_vec()), 0..100)) {
            for byte_class in [NEEDS_DECODING, ESCAPE, ENCODED, SPACE, STAR, QUOTE, SEXTET] {
                prop_assert_eq!(first(&text, byte_class), text.iter().position(|&byte| kinds_of(byte) & byte_class != 0));
                prop_assert_eq!(of_text(&text) & byte_class != 0, first(&text, byte_class).is_some());
            }
        }
    }
}
