//! Decodes text until nothing changes: percent, `%u`, HTML entities, JavaScript escapes, overlong
//! UTF-8, full-width forms. Before that, [`unescape`] removes the escapes of the log writer, once.
//!
//! Every round makes the text shorter or changes nothing, so decoding ends; [`MAX_ROUNDS`] also
//! bounds the work. Invalid escapes are kept: an attacker's `%zz` is evidence, not an error.
//!
//! nginx (`escape=default`) writes `\xHH` for `"`, `\` and all bytes below 0x20 and above 0x7e;
//! with `escape=json` it writes `\"`, `\\`, `\n` and `\u00HH`; Apache writes `\"`, `\\`, `\xhh` and
//! the C escapes. Other text is kept, for writers without escapes.

use super::byte_class;
use crate::text::short_bytes::append;

/// Most rounds of decoding. Servers decode once or twice; more rounds need a chain of proxies.
pub(crate) const MAX_ROUNDS: usize = 4;

/// Whether decoding was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DecodeStatus {
    /// Another round would change nothing.
    Complete,
    /// Another round would have changed the text.
    RoundLimit,
}

/// Decodes `text` into `out` until nothing changes, with `spare` as a second buffer.
pub(crate) fn decode(text: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    out.clear();
    append(out, text);
    decode_in_place(out, spare)
}

/// Decodes a text in place.
pub(super) fn decode_in_place(text: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    for _ in 0..MAX_ROUNDS {
        if !round(text, spare) {
            return DecodeStatus::Complete;
        }
        std::mem::swap(text, spare);
    }
    if round(text, spare) {
        DecodeStatus::RoundLimit
    } else {
        DecodeStatus::Complete
    }
}

/// All rounds that change something, in order. The text of the last one is the result of
/// [`decode`].
#[must_use]
pub(crate) fn rounds(text: &[u8]) -> Vec<DecodeRound> {
    let mut rounds: Vec<DecodeRound> = Vec::new();
    while rounds.len() < MAX_ROUNDS {
        let before = rounds.last().map_or(text, |round| &round.text);
        let mut text = Vec::new();
        let undone = disguises(before);
        if !round(before, &mut text) {
            break;
        }
        rounds.push(DecodeRound { undone, text });
    }
    rounds
}

/// A round of decoding that changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodeRound {
    /// The kinds of escape that were decoded, in order of occurrence.
    pub undone: Vec<&'static str>,
    /// The text after the round.
    pub text: Vec<u8>,
}

/// The kinds of escape that one round decodes.
fn disguises(text: &[u8]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let escape_sequence = if byte_class::of_byte(rest[0]) & byte_class::ESCAPE != 0 {
            escape(rest)
        } else {
            None
        };
        if escape_sequence.is_some() {
            let byte_class = match rest {
                [b'%', b'u' | b'U', ..] => "%u",
                [b'%', ..] => "percent",
                [b'\\', ..] => "JavaScript",
                [b'&', ..] => "HTML entity",
                [0xef, ..] => "full-width",
                _ => "overlong UTF-8",
            };
            if !kinds.contains(&byte_class) {
                kinds.push(byte_class);
            }
        }
        rest = &rest[escape_sequence.map_or(1, |(_, length)| length)..];
    }
    kinds
}

/// Decodes one round into `out`; returns whether it changed anything. If not, `out` is unspecified.
fn round(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut next = byte_class::first(text, byte_class::ESCAPE);
    if next.is_none() {
        return false;
    }
    out.clear();
    let mut rest = text;
    while let Some(at) = next {
        append(out, &rest[..at]);
        rest = &rest[at..];
        let (decoded, length) = escape(rest).unwrap_or((Decoded::Byte(rest[0]), 1));
        decoded.push_to(out);
        rest = &rest[length..];
        next = byte_class::first(rest, byte_class::ESCAPE);
    }
    append(out, rest);
    out.len() != text.len()
}

/// A round over a text whose bytes have these `starts` elsewhere, which end with its length there;
/// `None` if it changes nothing.
pub(crate) fn round_with_starts(text: &[u8], starts: &[usize]) -> Option<(Vec<u8>, Vec<usize>)> {
    let (mut out, mut new_starts, mut at) = (
        Vec::with_capacity(text.len()),
        Vec::with_capacity(starts.len()),
        0,
    );
    while at < text.len() {
        let (decoded, length) = escape(&text[at..]).unwrap_or((Decoded::Byte(text[at]), 1));
        decoded.push_to(&mut out);
        new_starts.resize(out.len(), starts[at]);
        at += length;
    }
    new_starts.extend(starts.last());
    (out.len() != text.len()).then_some((out, new_starts))
}

/// The value of an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decoded {
    Byte(u8),
    Char(char),
}

impl Decoded {
    fn push_to(self, out: &mut Vec<u8>) {
        match self {
            Self::Byte(byte) => out.push(byte),
            Self::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    /// A code point; full-width forms (U+FF01 to U+FF5E) become ASCII.
    fn code_point(value: u32) -> Option<Self> {
        match value {
            0..=0x7f => Some(Self::Byte(value as u8)),
            0xff01..=0xff5e => Some(Self::Byte((value - 0xfee0) as u8)),
            _ => char::from_u32(value).map(Self::Char),
        }
    }
}

/// The escape at the start of `text` and its length, which is longer than its value.
fn escape(text: &[u8]) -> Option<(Decoded, usize)> {
    match text[0] {
        b'%' => percent(text),
        b'\\' => javascript(text),
        b'&' => entity(text),
        _ => odd_utf8(text),
    }
}

/// `%2e`, and `%u002e` of IIS.
fn percent(text: &[u8]) -> Option<(Decoded, usize)> {
    match text {
        [_, b'u' | b'U', a, b, c, d, ..] => four_hex(*a, *b, *c, *d),
        [_, high, low, ..] => Some((Decoded::Byte(hex_pair(*high, *low)?), 3)),
        _ => None,
    }
}

/// `\x3c` and `\u003c`.
fn javascript(text: &[u8]) -> Option<(Decoded, usize)> {
    match text {
        [_, b'u', a, b, c, d, ..] => four_hex(*a, *b, *c, *d),
        [_, b'x', high, low, ..] => Some((Decoded::Byte(hex_pair(*high, *low)?), 4)),
        _ => None,
    }
}

fn four_hex(a: u8, b: u8, c: u8, d: u8) -> Option<(Decoded, usize)> {
    let value = u32::from(hex_pair(a, b)?) << 8 | u32::from(hex_pair(c, d)?);
    Some((Decoded::code_point(value)?, 6))
}

/// Named entities that attacks use (HTML standard, "Named character references").
const NAMED: [(&[u8], u8); 17] = [
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"amp;", b'&'),
    (b"quot;", b'"'),
    (b"apos;", b'\''),
    (b"tab;", b'\t'),
    (b"newline;", b'\n'),
    (b"colon;", b':'),
    (b"lpar;", b'('),
    (b"rpar;", b')'),
    (b"sol;", b'/'),
    (b"bsol;", b'\\'),
    (b"period;", b'.'),
    (b"comma;", b','),
    (b"equals;", b'='),
    (b"dollar;", b'$'),
    (b"grave;", b'`'),
];

/// `&lt;`, `&#60;` and `&#x3c;`; numeric ones also without `;`, as in browsers.
fn entity(text: &[u8]) -> Option<(Decoded, usize)> {
    let body = &text[1..];
    let Some(number) = body.strip_prefix(b"#") else {
        return NAMED
            .iter()
            .find(|(name, _)| {
                body.get(..name.len())
                    .is_some_and(|b| b.eq_ignore_ascii_case(name))
            })
            .map(|(name, byte)| (Decoded::Byte(*byte), name.len() + 1));
    };
    let (digits, radix, before) = match number {
        [b'x' | b'X', hex @ ..] => (hex, 16, 3),
        _ => (number, 10, 2),
    };
    let length = digits
        .iter()
        .take(8)
        .take_while(|b| char::from(**b).is_digit(radix))
        .count();
    let value = u32::from_str_radix(std::str::from_utf8(&digits[..length]).ok()?, radix).ok()?;
    let end = before + length + usize::from(digits.get(length) == Some(&b';'));
    Decoded::code_point(value).map(|decoded| (decoded, end))
}

/// Overlong UTF-8, which strict decoders reject and lax servers accept; and full-width forms.
fn odd_utf8(text: &[u8]) -> Option<(Decoded, usize)> {
    let tail = |byte: u8| (byte & 0xc0 == 0x80).then_some(u32::from(byte & 0x3f));
    match text {
        [lead @ (0xc0 | 0xc1), a, ..] => ascii(u32::from(lead & 0x1f) << 6 | tail(*a)?, 2),
        [0xe0, a @ 0x80..=0x9f, b, ..] => ascii(tail(*a)? << 6 | tail(*b)?, 3),
        [0xf0, 0x80, a @ 0x80..=0x9f, b, ..] => ascii(tail(*a)? << 6 | tail(*b)?, 4),
        [0xef, a, b, ..] => {
            let value = 0xf000 | tail(*a)? << 6 | tail(*b)?;
            (0xff01..=0xff5e)
                .contains(&value)
                .then(|| (Decoded::Byte((value - 0xfee0) as u8), 3))
        }
        _ => None,
    }
}

fn ascii(value: u32, length: usize) -> Option<(Decoded, usize)> {
    u8::try_from(value)
        .ok()
        .filter(u8::is_ascii)
        .map(|byte| (Decoded::Byte(byte), length))
}

/// Writes `logged` without the escapes of the log writer to `sent`.
pub(crate) fn unescape(logged: &[u8], sent: &mut Vec<u8>) {
    sent.clear();
    let mut rest = logged;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        append(sent, &rest[..at]);
        let (byte, length) = logged_escape(&rest[at..]);
        sent.push(byte);
        rest = &rest[at + length..];
    }
    append(sent, rest);
}

/// The byte of an escape at the start of `text`, and the length of the escape.
fn logged_escape(text: &[u8]) -> (u8, usize) {
    match text {
        [_, b'x', high, low, ..] => hex_pair(*high, *low).map_or((b'\\', 1), |byte| (byte, 4)),
        [_, b'u', b'0', b'0', high, low, ..] => {
            hex_pair(*high, *low).map_or((b'\\', 1), |byte| (byte, 6))
        }
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
fn hex_pair(high: u8, low: u8) -> Option<u8> {
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
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &[u8]) -> (String, DecodeStatus) {
        let (mut out, mut spare) = (Vec::new(), Vec::new());
        let rounds = decode(text, &mut out, &mut spare);
        (String::from_utf8_lossy(&out).into_owned(), rounds)
    }

    #[test]
    fn decodes_each_disguise() {
        for (text, plain) in [
            ("%41%4a%4A", "AJJ"),
            ("%2541", "A"),
            ("%u0041%uFF21", "AA"),
            ("&lt;&LT;&#60;&#x3C;&#60", "<<<<<"),
            ("&#x3", "\u{3}"),
            ("\\x41\\u0041", "AA"),
            ("%e4%bd%a0", "你"),
            ("%u4f60", "你"),
            ("%zz%4", "%zz%4"),
            ("&lt", "&lt"),
            ("a&b=c&d=e", "a&b=c&d=e"),
        ] {
            assert_eq!(
                decoded(text.as_bytes()),
                (plain.to_owned(), DecodeStatus::Complete),
                "{text}"
            );
        }
    }

    #[test]
    fn every_round_names_its_escapes() {
        let kinds: Vec<_> = rounds(b"%252e%u003c&lt;\\x41%c0%ae")
            .into_iter()
            .map(|round| round.undone.join(", "))
            .collect();
        assert_eq!(
            kinds,
            [
                "percent, %u, HTML entity, JavaScript",
                "percent, overlong UTF-8"
            ]
        );
        assert_eq!(rounds(b"/plain%zz&x"), []);
    }

    proptest::proptest! {
        #[test]
        fn the_rounds_end_where_decoding_ends(pieces in proptest::collection::vec(
            proptest::sample::select(vec!["%", "25", "2e", "u00", "&", "lt;", "#x3c;", "\\x", "c0", "%ae", "a", "\u{ff0e}", "é"]), 0..30)) {
            let text = pieces.concat();
            let (mut out, mut spare) = (Vec::new(), Vec::new());
            decode(text.as_bytes(), &mut out, &mut spare);
            let rounds = rounds(text.as_bytes());
            proptest::prop_assert_eq!(rounds.last().map_or(text.as_bytes(), |round| &round.text), &out);
            proptest::prop_assert!(rounds.iter().all(|round| !round.undone.is_empty()));
        }
    }

    #[test]
    fn overlong_forms_are_ascii() {
        for text in [
            &b"\xc0\xae"[..],
            b"\xe0\x80\xae",
            b"\xf0\x80\x80\xae",
            b"\xef\xbc\x8e",
            b"%c0%ae",
        ] {
            assert_eq!(decoded(text).0, ".", "{text:?}");
        }
        assert_eq!(decoded(b"\xc0").0, "\u{fffd}");
    }

    proptest! {
        #[test]
        fn no_round_grows_and_every_change_changes_the_length(text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            r"([%\\&]|%25|%u|&#|&#x|\\u|\\x|&lt;|[0-9a-fA-F;x]){0,30}".prop_map(String::into_bytes),
        ]) {
            let mut out = Vec::new();
            let changed = round(&text, &mut out);
            if changed {
                prop_assert!(out.len() < text.len());
            } else {
                prop_assert!(out.is_empty() || out == text);
            }
        }

        #[test]
        fn decoding_stops_after_four_rounds(text in "(%25|25|%|2e|u002e|&amp;|#x2e;|\\\\x5c|x2e){0,30}") {
            let (mut out, mut spare) = (Vec::new(), Vec::new());
            let rounds = decode(text.as_bytes(), &mut out, &mut spare);
            let mut expected = text.into_bytes();
            for _ in 0..MAX_ROUNDS {
                if round(&expected, &mut spare) {
                    std::mem::swap(&mut expected, &mut spare);
                }
            }
            prop_assert_eq!(&out, &expected);
            prop_assert_eq!(rounds == DecodeStatus::RoundLimit, round(&expected, &mut spare));
        }
    }

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
