//! Values in Base64 that hold text.
//!
//! Both alphabets, with padding and without. A value that holds anything but printable text is no text, and nearly all
//! tokens, hashes and long words end there at their first bytes. Unwrapped once: what is wrapped twice is not looked for.

use super::byte_class;

/// The shortest value that is unwrapped, with its padding: `<script>` takes so many.
const SHORTEST: usize = 12;

/// The most padding that counts.
const PADDING: usize = 2;

/// Whether a value is long enough to be unwrapped.
pub(super) fn has_candidate(text: &[u8]) -> bool {
    values(text).next().is_some()
}

/// Writes the text of each value, with `=` before it as parameters have it and `&` between them; whether there is any.
pub(super) fn unwrap(text: &[u8], out: &mut Vec<u8>) -> bool {
    for value in values(text).filter(|value| value.len() % 4 != 1) {
        push_text(value, out);
    }
    !out.is_empty()
}

/// The values that are long enough, from left to right. In a path, a slash ends one.
fn values(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let query = memchr::memchr(b'?', text).unwrap_or(text.len());
    let ends = move |at: &usize| byte_class::of(text[*at]) & byte_class::SEXTET == 0 || (text[*at] == b'/' && *at < query);
    let mut start = 0;
    std::iter::from_fn(move || {
        while start + SHORTEST <= text.len() {
            // From right to left: what stands before the last byte that ends a value is not even looked at.
            let least = start + SHORTEST - PADDING;
            if let Some(end) = (start..least).rfind(ends) {
                start = end + 1;
                continue;
            }
            let end = (least..text.len()).find(ends).unwrap_or(text.len());
            let value = &text[start..end];
            start = end + 1;
            if value.len() + padding(&text[end..]) >= SHORTEST {
                return Some(value);
            }
        }
        None
    })
}

/// The padding at the start of a text.
fn padding(text: &[u8]) -> usize {
    text.iter().take(PADDING).take_while(|&&b| b == b'=').count()
}

/// Appends what a value holds, if that is text.
fn push_text(value: &[u8], out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(if before == 0 { b"=" } else { b"&=" });
    let (mut bits, mut held) = (0_u32, 0);
    for sextet in value.iter().filter_map(|&b| sextet(b)) {
        bits = bits << 6 | u32::from(sextet);
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = (bits >> held) as u8;
            // A line break ends what `echo` was given to wrap; within, it is more likely a word that happens to decode.
            if !matches!(byte, b' '..=b'~' | b'\t' | b'\n') || out.last() == Some(&b'\n') {
                return out.truncate(before);
            }
            out.push(byte);
        }
    }
}

/// The six bits that a byte stands for, in either alphabet.
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
        fn no_value_is_skipped(text in "[a-cZ9+/=_-]{0,14}([?/=&.][a-cZ9+/=_-]{0,14}){0,6}") {
            let (mut expected, mut rest, mut in_query) = (Vec::new(), text.as_bytes(), false);
            while !rest.is_empty() {
                let length = rest.iter().take_while(|&&b| sextet(b).is_some() && (in_query || b != b'/')).count();
                let (value, behind) = rest.split_at(length);
                if length + padding(behind) >= SHORTEST {
                    expected.push(value);
                }
                in_query |= behind.first() == Some(&b'?');
                rest = behind.get(1..).unwrap_or_default();
            }
            prop_assert_eq!(values(text.as_bytes()).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn unwraps_what_holds_text() {
        for (text, expected) in [
            ("a=PHNjcmlwdD4=", "=<script>"),
            ("a=PHNjcmlwdD4", ""),
            ("a=PHNjcmlwdD4gIA", "=<script>  "),
            ("/x/L2V0Yy9wYXNzd2Q=/y", "=/etc/passwd"),
            ("?a=Pz8_Pz8_Pz8_&b=Pz8/Pz8/Pz8/", "=?????????&=?????????"),
            ("/Pz8/Pz8/Pz8/", ""),
            ("a=internationalization", ""),
            ("a=d41d8cd98f00b204e9800998ecf8427e", ""),
            ("PHNjcmlwdD4=?PHNjcmlwdD4=/PHNjcmlwdD4=", "=<script>&=<script>"),
            ("", ""),
        ] {
            let mut out = Vec::new();
            assert_eq!(unwrap(text.as_bytes(), &mut out), !expected.is_empty(), "{text}");
            assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
            assert!(expected.is_empty() || has_candidate(text.as_bytes()), "{text}");
        }
    }
}
