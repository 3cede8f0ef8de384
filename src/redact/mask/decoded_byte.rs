//! Reads a text byte by byte through its escapes, and changes nothing.
//!
//! The escapes are `%3D`, the same encoded again (`%253D`, any number of times), and the `\x3D` and `\"` of log writers.

/// One byte of a text, unescaped, and where its escape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodedByte {
    /// The byte.
    pub(crate) byte: u8,
    /// How often it was percent-encoded. An escape of the log writer does not count: the client sent the byte as it is.
    pub(crate) depth: usize,
    /// Where it begins.
    pub(crate) start: usize,
    /// Where the next one begins.
    pub(crate) end: usize,
}

/// The decoded bytes of a text from `start` on.
pub(crate) fn decoded_bytes(text: &[u8], start: usize) -> impl Iterator<Item = DecodedByte> {
    let mut at = start;
    std::iter::from_fn(move || {
        let decoded = decoded_byte_at(text, at)?;
        at = decoded.end;
        Some(decoded)
    })
}

/// Whether one of these follows a `%`: a quick check before all bytes are decoded.
pub(crate) fn has_encoded(text: &[u8], digits: &[&[u8]]) -> bool {
    memchr::memchr_iter(b'%', text).any(|at| digits.iter().any(|digits| text[at + 1..].starts_with(digits)))
}

/// The text percent-decoded once.
pub(crate) fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match hex(text, at + 1) {
            Some(byte) if text[at] == b'%' => {
                plain.push(byte);
                at += 3;
            }
            _ => {
                plain.push(text[at]);
                at += 1;
            }
        }
    }
    plain
}

#[inline]
fn decoded_byte_at(text: &[u8], start: usize) -> Option<DecodedByte> {
    let bare = DecodedByte { byte: *text.get(start)?, depth: 0, start, end: start + 1 };
    let decoded = match bare.byte {
        b'%' => {
            let (mut digits, mut depth) = (start + 1, 1);
            while text[digits..].starts_with(b"25") && hex(text, digits + 2).is_some() {
                (digits, depth) = (digits + 2, depth + 1);
            }
            hex(text, digits).map(|byte| DecodedByte { byte, depth, start, end: digits + 2 })
        }
        b'\\' => match text.get(start + 1) {
            Some(b'x') => hex(text, start + 2).map(|byte| DecodedByte { byte, depth: 0, start, end: start + 4 }),
            Some(&quote @ (b'"' | b'\'')) => Some(DecodedByte { byte: quote, depth: 0, start, end: start + 2 }),
            _ => None,
        },
        _ => None,
    };
    Some(decoded.unwrap_or(bare))
}

fn hex(text: &[u8], at: usize) -> Option<u8> {
    let digit = |i: usize| char::from(*text.get(i)?).to_digit(16);
    Some((digit(at)? * 16 + digit(at + 1)?) as u8)
}

#[cfg(test)]
mod tests {
    use crate::redact::mask::decoded_byte::*;

    #[test]
    fn decodes_every_escape() {
        let read = |text: &[u8]| decoded_bytes(text, 0).map(|o| (o.byte, o.depth)).collect::<Vec<_>>();
        assert_eq!(read(b"a%3D"), [(b'a', 0), (b'=', 1)]);
        assert_eq!(read(b"%253d%25253D"), [(b'=', 2), (b'=', 3)]);
        assert_eq!(read(br"\x3d\x"), [(b'=', 0), (b'\\', 0), (b'x', 0)]);
        assert_eq!(read(br#"\"a"#), [(b'"', 0), (b'a', 0)]);
        assert_eq!(read(b"%"), [(b'%', 0)]);
        assert_eq!(read(b"%25"), [(b'%', 1)]);
        assert_eq!(read(b"%2525"), [(b'%', 2)]);
        assert_eq!(percent_decode(b"a%2526%zz%"), b"a%26%zz%");
    }
}
