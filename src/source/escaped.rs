//! Bytes as a readable JSON string without loss: UTF-8 is kept, every other byte and every backslash is written as
//! `\xNN`.
//!
//! For our own files. Paths in reports go through `redact::sanitize`, whose output cannot be decoded.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    deserializer.deserialize_str(Escaped)
}

struct Escaped;

impl Visitor<'_> for Escaped {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string in which a backslash begins \\xNN")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        decode(text).ok_or_else(|| E::custom("a backslash that begins no \\xNN"))
    }
}

fn encode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\\') => return Cow::Borrowed(text),
        _ => {}
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        out.push_str(&chunk.valid().replace('\\', r"\x5c"));
        for byte in chunk.invalid() {
            // Writing to a `String` does not fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    Cow::Owned(out)
}

/// Decodes such a string; `None` if a backslash does not start `\xNN`.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split('\\');
    let mut bytes = Vec::with_capacity(text.len());
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (code, rest) = piece.as_bytes().split_at_checked(3)?;
        let digits = code.strip_prefix(b"x").filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        bytes.extend_from_slice(rest);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utf_8_stays_readable() {
        let cases: [(&[u8], &str); 5] = [
            (b"/var/log/nginx/access.log", "/var/log/nginx/access.log"),
            ("/größe/日本".as_bytes(), "/größe/日本"),
            (b"a\xffb\x80", r"a\xffb\x80"),
            (br"a\xff", r"a\x5cxff"),
            (b"", ""),
        ];
        for (bytes, text) in cases {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).unwrap(), bytes);
        }
    }

    #[test]
    fn rejects_invalid_escapes() {
        for text in ["\\", r"a\", r"\x", r"\x1", r"\xg0", r"\x+1", r"\\", r"\n", r"\u0041", "\\xä"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(bytes: Vec<u8>, text in r"([a/\\]|\\x[0-9a-f]{2}|.){0,20}") {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
            prop_assert_eq!(decode(&encode(text.as_bytes())), Some(text.into_bytes()));
        }
    }
}
