//! Removes the escapes of the log writer, once.
//!
//! nginx (`escape=default`) writes `\xHH` for `"`, `\` and all bytes below 0x20 and above 0x7e; with `escape=json` it writes `\"`,
//! `\\`, `\n` and `\u00HH`; Apache writes `\"`, `\\`, `\xhh` and the C escapes. Other text is kept, for writers without escapes.

/// Writes `logged` without the escapes of the log writer to `sent`.
pub fn unescape(logged: &[u8], sent: &mut Vec<u8>) {
    sent.clear();
    let mut rest = logged;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        sent.extend_from_slice(&rest[..at]);
        let (byte, length) = escape(&rest[at..]);
        sent.push(byte);
        rest = &rest[at + length..];
    }
    sent.extend_from_slice(rest);
}

/// The byte of an escape at the start of `text`, and the length of the escape.
fn escape(text: &[u8]) -> (u8, usize) {
    match text {
        [_, b'x', high, low, ..] => hex_pair(*high, *low).map_or((b'\\', 1), |byte| (byte, 4)),
        [_, b'u', b'0', b'0', high, low, ..] => hex_pair(*high, *low).map_or((b'\\', 1), |byte| (byte, 6)),
        [_, quoted @ (b'"' | b'\\' | b'/'), ..] => (*quoted, 2),
        [_, b'n', ..] => (b'\n', 2),
        [_, b'r', ..] => (b'\r', 2),
        [_, b't', ..] => (b'\t', 2),
        [_, b'v', ..] => (0x0b, 2),
        [_, b'b', ..] => (0x08, 2),
        [_, b'f', ..] => (0x0c, 2),
        _ => (b'\\', 1),
    }
}

/// Two hexadecimal digits.
pub(super) fn hex_pair(high: u8, low: u8) -> Option<u8> {
    Some(hex(high)? << 4 | hex(low)?)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undoes_each_writers_escapes_once() {
        for (logged, sent) in [
            (r"\x22\x5Cx41", r#""\x41"#),
            (r#"\"\\n"#, r#""\n"#),
            (r"a\tb", "a\tb"),
            (r"\u0001\u0041", "\u{1}A"),
            (r"..\..\windows", r"..\..\windows"),
            (r"\xZZ\q\", r"\xZZ\q\"),
            ("plain", "plain"),
        ] {
            let mut out = Vec::new();
            unescape(logged.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), sent, "{logged}");
        }
    }
}
