//! Compares, checks and appends bytes that are mostly few, such as numbers, paths and addresses.
//!
//! For so few bytes a call of `memcmp` or `memcpy` takes longer than its work. Those of musl are
//! slow for more bytes as well: its `memcmp` compares byte by byte. Here both are inlined, in steps
//! of a fixed size. Checks read all bytes: without an early exit, the compiler vectorizes their
//! loops. This module does not search or order.

/// The longest text that is appended in steps: for longer ones, a call of `memcpy` is as fast.
const MAX_STEPPED: usize = 256;

/// Whether two texts are equal.
#[inline]
#[must_use]
pub(crate) fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0..4 => a.iter().zip(b).all(|(a, b)| a == b),
        4..8 => has_equal_ends::<4>(a, b),
        8..16 => has_equal_ends::<8>(a, b),
        _ => {
            a.as_chunks::<16>()
                .0
                .iter()
                .zip(b.as_chunks::<16>().0)
                .all(|(a, b)| a == b)
                && a.last_chunk::<16>() == b.last_chunk()
        }
    }
}

/// Whether the first and the last `N` bytes are equal: all bytes of texts of at most 2 `N`.
#[inline]
fn has_equal_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk() && a.last_chunk::<N>() == b.last_chunk()
}

/// Whether all bytes are printable ASCII, as in most texts of a log.
#[inline]
#[must_use]
pub(crate) fn is_printable_ascii(text: &[u8]) -> bool {
    text.iter()
        .fold(true, |all, byte| all & matches!(byte, b' '..=b'~'))
}

/// Whether some two adjacent bytes are a trigger.
#[inline]
#[must_use]
pub(crate) fn has_pair(text: &[u8], is_trigger: impl Fn(u8, u8) -> bool) -> bool {
    text.iter()
        .zip(text.get(1..).unwrap_or_default())
        .fold(false, |has, (&first, &second)| {
            has | is_trigger(first, second)
        })
}

/// Whether `text` begins with `start`.
#[inline]
#[must_use]
pub(crate) fn begins_with(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len())
        .is_some_and(|text| is_equal(text, start))
}

/// Whether `text` ends with `end`.
#[inline]
#[must_use]
pub(crate) fn ends_with(text: &[u8], end: &[u8]) -> bool {
    text.len()
        .checked_sub(end.len())
        .is_some_and(|start| is_equal(&text[start..], end))
}

/// Appends a text.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        0 => {}
        1 => out.push(text[0]),
        2..4 => append_steps::<2>(out, text),
        4..8 => append_steps::<4>(out, text),
        8..16 => append_steps::<8>(out, text),
        16..32 => append_steps::<16>(out, text),
        32..=MAX_STEPPED => append_steps::<32>(out, text),
        _ => out.extend_from_slice(text),
    }
}

/// Appends a text of at least `N` bytes, `N` at a time. The last step may overlap the one before
/// it.
#[inline]
fn append_steps<const N: usize>(out: &mut Vec<u8>, text: &[u8]) {
    let Some(last) = text.last_chunk::<N>() else {
        return;
    };
    let end = out.len() + text.len();
    out.reserve(text.len());
    for step in text.as_chunks::<N>().0 {
        out.extend_from_slice(step);
    }
    out.truncate(end - N);
    out.extend_from_slice(last);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts on both sides of every length at which the way changes.
    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![0..70_usize, MAX_STEPPED - 2..MAX_STEPPED + 3]
            .prop_flat_map(|length| prop::collection::vec(any::<u8>(), length))
    }

    proptest! {
        #[test]
        fn checks_read_every_byte(text in prop::collection::vec(prop::sample::select(b" ~a\x1f\x7f\xa0".to_vec()), 0..70)) {
            prop_assert_eq!(is_printable_ascii(&text), text.iter().all(|byte| b" ~a".contains(byte)));
            prop_assert_eq!(has_pair(&text, |first, second| (first, second) == (b'a', b'~')), text.windows(2).any(|pair| pair == b"a~"));
        }

        #[test]
        fn a_text_is_appended_whole(before in any_text(), text in any_text()) {
            let mut out = before.clone();
            append(&mut out, &text);
            prop_assert_eq!(out, [before, text].concat());
        }

        #[test]
        fn texts_are_equal_as_slices_are(text in any_text(), other in any_text(), at: prop::sample::Index) {
            prop_assert!(is_equal(&text, &text.clone()));
            prop_assert_eq!(is_equal(&text, &other), text == other);
            prop_assert_eq!(begins_with(&text, &other), text.starts_with(&other));
            prop_assert_eq!(ends_with(&text, &other), text.ends_with(&other));
            let start = at.index(text.len() + 1);
            prop_assert!(begins_with(&text, &text[..start]));
            prop_assert!(ends_with(&text, &text[start..]));
            if start < text.len() {
                let mut changed = text.clone();
                changed[start] ^= 1;
                prop_assert!(!is_equal(&text, &changed));
            }
        }
    }
}
