//! The escapes of JSON, put into those that [`unescape`](crate::normalize::unescape) undoes.
//!
//! Most are the same, and stay as they are written. Others are rewritten: `\/` and escaped letters to what they stand for,
//! characters above `7f` to the `\xHH` of their UTF-8 bytes, bare quotes to `\x22`. Half of a surrogate pair stays what it is: nobody
//! can say which byte was sent.

use memchr::memchr2;

/// The text, rewritten into `buffers` if it must be.
pub(super) fn rewritten<'a>(text: &'a [u8], escaped: bool, buffers: &'a mut Vec<u8>) -> &'a [u8] {
    if !escaped {
        return text;
    }
    rewrite(text, buffers);
    buffers
}

fn rewrite(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = text;
    while let Some(at) = memchr2(b'\\', b'"', rest) {
        out.extend_from_slice(&rest[..at]);
        let taken = one(&rest[at..], out);
        rest = &rest[at + taken..];
    }
    out.extend_from_slice(rest);
}

/// Rewrites the escape or the quote that `text` begins with; how long it is.
fn one(text: &[u8], out: &mut Vec<u8>) -> usize {
    match text {
        [b'"', ..] => hex(b'"', out),
        // A backslash alone would escape whatever is written behind it.
        [_] => out.extend_from_slice(br"\\"),
        [_, b'/', ..] => out.push(b'/'),
        [_, b'u', digits @ ..] => {
            if let Some((letter, length)) = letter(digits) {
                return letter_out(letter, &text[..length], out);
            }
            out.extend_from_slice(br"\u");
        }
        [_, other, ..] => out.extend_from_slice(&[b'\\', *other]),
        [] => {}
    }
    if let [b'"', ..] = text { 1 } else { text.len().min(2) }
}

/// Writes a letter whose escape is `escape`, as long as it is.
fn letter_out(letter: char, escape: &[u8], out: &mut Vec<u8>) -> usize {
    match letter {
        '"' | '\\' | '\0'..=' ' | '\x7f' => out.extend_from_slice(escape),
        '!'..='~' => out.push(letter as u8),
        _ => letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| hex(byte, out)),
    }
    escape.len()
}

/// The letter that the digits behind `\u` stand for, and how long the escape is with its backslash; for a surrogate pair, both.
fn letter(digits: &[u8]) -> Option<(char, usize)> {
    let unit = unit(digits)?;
    if let Some(letter) = char::from_u32(unit) {
        return Some((letter, 6));
    }
    let [b'\\', b'u', low @ ..] = digits.get(4..)? else { return None };
    let low = self::unit(low)?;
    let pair = (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low);
    let letter = pair.then(|| 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).and_then(char::from_u32)?;
    Some((letter, 12))
}

fn unit(digits: &[u8]) -> Option<u32> {
    digits.get(..4)?.iter().try_fold(0, |n, b| Some(n << 4 | char::from(*b).to_digit(16)?))
}

fn hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(&[b'\\', b'x', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crate::formats::json::escapes::*;
    use crate::normalize::unescape;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut buffers = Vec::new();
        String::from_utf8(rewritten(text.as_bytes(), true, &mut buffers).to_vec()).unwrap()
    }

    #[test]
    fn only_what_nobody_would_undo_is_rewritten() {
        for text in [r#"\"\\\n\t\u0001\u0022\u005c\u0020"#, r"\x22\x5C\xff", r"\q\", r"\ud800x", r"\udc00\ud800", r"\u12", r"\u", "plain"] {
            let expected = text.strip_suffix('\\').map_or(text.to_owned(), |t| format!("{t}\\\\"));
            assert_eq!(written(text), expected);
        }
        for (text, expected) in [
            (r"\/a\/", "/a/"),
            (r"\u003cscript\u003E\u0026", "<script>&"),
            (r"\u00e9\u0100\u20ac", r"\xc3\xa9\xc4\x80\xe2\x82\xac"),
            (r"\ud83d\ude00", r"\xf0\x9f\x98\x80"),
            (r#"a"b"#, r"a\x22b"),
            (r"\ufffd", r"\xef\xbf\xbd"),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_written_as_json_is_undone(text in ".*", ascii: bool) {
            let mut json = String::new();
            for c in serde_json::to_string(&text).unwrap().trim_matches('"').chars() {
                if ascii && !c.is_ascii() {
                    c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write!(json, "\\u{unit:04x}").unwrap());
                } else {
                    json.push(c);
                }
            }
            // `trim_matches` takes the quote of an escaped quote at the end as well.
            prop_assume!(!text.ends_with('"') && !text.starts_with('"'));
            let (mut buffers, mut sent) = (Vec::new(), Vec::new());
            unescape(rewritten(json.as_bytes(), json.contains('\\'), &mut buffers), &mut sent);
            prop_assert_eq!(String::from_utf8_lossy(&sent), text);
        }

        #[test]
        fn no_bytes_let_a_quote_through(text in prop::collection::vec(prop::sample::select(b"\\\"u0d8cx/n\xff".to_vec()), 0..40)) {
            let mut buffers = Vec::new();
            let written = rewritten(&text, true, &mut buffers);
            let mut backslashes = 0;
            for &byte in written {
                prop_assert!(byte != b'"' || backslashes % 2 == 1);
                backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
            }
            prop_assert_eq!(backslashes % 2, 0);
        }
    }
}
