//! Bytes as a text that can be read back without loss and still has nothing in it that acts.
//!
//! Every backslash, every byte that is no UTF-8 and every byte of a character that acts is written as `\xNN`; read with
//! [`unescaped`](crate::source::unescaped). For keys of reports that a program reads again; people get
//! [`text`](super::text).

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{Marks, is_hostile};

/// The text of these bytes; other bytes have another text.
#[must_use]
pub fn exact(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(|b| matches!(b, b' '..=b'~') && *b != b'\\') => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    let mut marks = Marks::default();
    let mut room = [0; 4];
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' || is_hostile(c) || marks.flooded_by(c) {
                marks = Marks::default();
                push(&mut out, c.encode_utf8(&mut room).as_bytes());
            } else {
                out.push(c);
            }
        }
        if !chunk.invalid().is_empty() {
            marks = Marks::default();
            push(&mut out, chunk.invalid());
        }
    }
    out
}

fn push(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a `String` does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use crate::redact::sanitize::exact::*;
    use crate::source::unescaped;
    use proptest::prelude::*;

    #[test]
    fn readable_where_it_can_be() {
        let cases: [(&[u8], &str); 5] = [
            (b"/.git/config", "/.git/config"),
            ("/größe/日本".as_bytes(), "/größe/日本"),
            (b"a\xff\x1b", r"a\xff\x1b"),
            (br"a\xff", r"a\x5cxff"),
            ("\u{202e}x".as_bytes(), r"\xe2\x80\xaex"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(exact(bytes), shown);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_acts(bytes: Vec<u8>, chars in r"([a/\\]|\\x[0-9a-f]{2}|.|\u{301}{6}|\u{202e}){0,20}") {
            for bytes in [bytes, chars.into_bytes()] {
                let written = exact(&bytes);
                prop_assert_eq!(text(written.as_bytes()), &*written, "nothing acts");
                prop_assert_eq!(unescaped(&written), Some(bytes.clone()));
            }
        }
    }
}
