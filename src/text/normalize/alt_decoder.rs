//! Alternative decodings: how a database, a shell, or a script that decodes Base64 reads a text.
//!
//! The views are the decoded texts as a server gets them. Some obfuscations cannot be decoded
//! there, as different programs read them differently: a comment within a word is nothing to one
//! database and a space to another, a line break in a path is dropped but is a space in a query, a
//! shell ignores a quote within a word, and an application with routes gets its values from the
//! segments of the path. Each alternative is at most as long as the text, those of segments twice.
//! Most texts have none, which one pass over them finds out.
//!
//! Base64 is decoded in both alphabets, with padding and without, and only once. Only values of
//! printable text are decoded; nearly all tokens, hashes and long words fail at their first bytes.

use super::decode::{decode, unescape};
use super::{byte_class, is_space, needs_decoding, without_comments};

/// The kinds of alternative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AltDecoding {
    /// Comments, line breaks and other control bytes as spaces, and `+` in a query.
    Spaced,
    /// Comments within a word removed.
    Joined,
    /// Quotes, backslashes and empty variables within a word removed.
    Unquoted,
    /// Base64 values decoded.
    Unwrapped,
    /// Segments of a path as values of parameters.
    Segments,
}

impl AltDecoding {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] = [
        Self::Spaced,
        Self::Joined,
        Self::Unquoted,
        Self::Unwrapped,
        Self::Segments,
    ];
}

/// The origin of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodingSource {
    /// The target of a request; its query view has `+` as spaces already.
    Target,
    /// A header.
    Header,
}

/// Decodes alternatives. Its buffers are reused between lines.
#[derive(Debug, Default)]
pub(crate) struct AltDecoder {
    sent: Vec<u8>,
    decoded: Vec<u8>,
    reading: Vec<u8>,
    spare: Vec<u8>,
    /// The alternatives that the decoded text may have.
    signs: [bool; 5],
}

impl AltDecoder {
    /// Takes a text as logged; returns whether it may have an alternative.
    pub(crate) fn take(&mut self, logged: &[u8], source: DecodingSource) -> bool {
        if needs_decoding(logged) {
            unescape(logged, &mut self.sent);
            decode(&self.sent, &mut self.decoded, &mut self.spare);
            self.signs = signs(&self.decoded, source, true);
        } else {
            self.signs = signs(logged, source, false);
            if self.signs.contains(&true) {
                self.decoded.clear();
                self.decoded.extend_from_slice(logged);
            }
        }
        self.signs.contains(&true)
    }

    /// An alternative of the text, in lower case; `None` if it does not differ.
    pub(crate) fn read(&mut self, reading: AltDecoding) -> Option<&[u8]> {
        let Self {
            decoded,
            reading: out,
            spare,
            signs,
            ..
        } = self;
        out.clear();
        if !signs[reading as usize] {
            return None;
        }
        let differs = match reading {
            AltDecoding::Spaced => spaced(decoded, out, spare),
            AltDecoding::Joined => joined(decoded, out),
            AltDecoding::Unquoted => unquoted(decoded, out),
            AltDecoding::Unwrapped => unwrap_base64(decoded, out),
            AltDecoding::Segments => segments(decoded, out),
        };
        out.make_ascii_lowercase();
        differs.then_some(out.as_slice())
    }
}

/// Whether a decoded text may have each alternative. There are false positives, but no false
/// negatives.
fn signs(text: &[u8], source: DecodingSource, was_encoded: bool) -> [bool; 5] {
    let plus = if source == DecodingSource::Header {
        byte_class::PLUS
    } else {
        0
    };
    let kinds = byte_class::of_text(text);
    let has_class = |wanted: u8| kinds & wanted != 0;
    [
        has_class(byte_class::SPACE | byte_class::STAR | plus),
        has_class(byte_class::STAR),
        has_class(byte_class::QUOTE),
        has_base64_value(text),
        // Clients send code with a quote or an escape at least.
        source == DecodingSource::Target
            && (was_encoded || has_class(byte_class::QUOTE))
            && path_segments(text).any(is_code),
    ]
}

/// A byte of a word.
fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'/'))
}

fn spaced(text: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> bool {
    spare.clear();
    let query = memchr::memchr(b'?', text).unwrap_or(text.len());
    // Of many comments none is searched for a line break that is not there.
    let last_break = memchr::memrchr(b'\n', text).unwrap_or(0);
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        let at = text.len() - rest.len();
        // A comment up to the line break.
        let is_comment = at < last_break && (*byte == b'#' || rest.starts_with(b"--"));
        let line = if is_comment {
            memchr::memchr(b'\n', rest)
        } else {
            None
        };
        let is_gap = line.is_some() || (*byte == b'+' && at > query) || is_space(text, at);
        spare.push(if is_gap { b' ' } else { *byte });
        rest = line.map_or(tail, |end| &rest[end + 1..]);
    }
    without_comments(spare, b" ", out);
    out != text
}

fn joined(text: &[u8], out: &mut Vec<u8>) -> bool {
    let letter = |at: Option<usize>| {
        at.and_then(|at| text.get(at))
            .is_some_and(u8::is_ascii_alphabetic)
    };
    // An opening without an end after it is searched for none.
    let last_end = memchr::memmem::rfind(text, b"*/").unwrap_or(0);
    let within = memchr::memmem::find_iter(&text[..last_end], b"/*").any(|start| {
        let end = letter(start.checked_sub(1))
            .then(|| memchr::memmem::find(&text[start + 2..], b"*/"))
            .flatten();
        end.is_some_and(|length| letter(Some(start + length + 4)))
    });
    if within {
        without_comments(text, b"", out);
    }
    within
}

fn unquoted(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        let nothing = match rest {
            [b'\'' | b'"' | b'\\' | b'^', ..] => 1,
            [b'$', b'@' | b'*' | b'1'..=b'9', ..] | [b'`', b'`', ..] => 2,
            [b'$', b'(', b')', ..] => 3,
            _ => 0,
        };
        if nothing > 0 && is_word(out.last()) && is_word(rest.get(nothing)) {
            rest = &rest[nothing..];
        } else {
            out.push(*byte);
            rest = tail;
        }
    }
    out.len() < text.len()
}

/// Writes each segment that may be code, with `=` before it like a parameter and `&` between them;
/// returns whether there is any.
fn segments(text: &[u8], out: &mut Vec<u8>) -> bool {
    for segment in path_segments(text).filter(|segment| is_code(segment)) {
        out.extend_from_slice(if out.is_empty() { b"=" } else { b"&=" });
        out.extend_from_slice(segment);
    }
    !out.is_empty()
}

/// The segments of a path, up to a `data:` URL, whose slashes are data.
fn path_segments(target: &[u8]) -> impl Iterator<Item = &[u8]> {
    let path = &target[..memchr::memchr(b'?', target).unwrap_or(target.len())];
    path.split(|byte| *byte == b'/')
        .take_while(|segment| !segment.starts_with(b"data:"))
}

/// Whether a segment has a byte that statements and commands have, and words of a URL do not.
fn is_code(segment: &[u8]) -> bool {
    segment.iter().any(|byte| {
        matches!(
            byte,
            b' ' | b'"' | b'\'' | b'(' | b';' | b'<' | b'`' | b'{' | b'|'
        )
    })
}

/// The shortest value that is decoded, with its padding: the length of an encoded `<script>`.
const MIN_BASE64_LEN: usize = 12;

/// The most padding that counts.
const MAX_PADDING: usize = 2;

/// Whether a value is long enough to be decoded.
fn has_base64_value(text: &[u8]) -> bool {
    base64_values(text).next().is_some()
}

/// Writes the text of each value, with `=` before it like a parameter and `&` between values;
/// returns whether there is any.
fn unwrap_base64(text: &[u8], out: &mut Vec<u8>) -> bool {
    for value in base64_values(text).filter(|value| value.len() % 4 != 1) {
        push_text(value, out);
    }
    !out.is_empty()
}

/// The values that are long enough, from left to right. In a path, a slash ends one.
fn base64_values(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let query = memchr::memchr(b'?', text).unwrap_or(text.len());
    let ends = move |at: &usize| {
        byte_class::of_byte(text[*at]) & byte_class::SEXTET == 0
            || (text[*at] == b'/' && *at < query)
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        while start + MIN_BASE64_LEN <= text.len() {
            // Search from right to left, to skip everything before the last byte that ends a value.
            let min_end = start + MIN_BASE64_LEN - MAX_PADDING;
            if let Some(end) = (start..min_end).rfind(ends) {
                start = end + 1;
                continue;
            }
            let end = (min_end..text.len()).find(ends).unwrap_or(text.len());
            let value = &text[start..end];
            start = end + 1;
            if value.len() + padding(&text[end..]) >= MIN_BASE64_LEN {
                return Some(value);
            }
        }
        None
    })
}

/// The padding at the start of a text.
fn padding(text: &[u8]) -> usize {
    text.iter()
        .take(MAX_PADDING)
        .take_while(|&&b| b == b'=')
        .count()
}

/// Appends the decoded value, if it is text.
fn push_text(value: &[u8], out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(if before == 0 { b"=" } else { b"&=" });
    let (mut bits, mut held) = (0_u32, 0);
    for sextet in value.iter().filter_map(|&b| byte_class::sextet(b)) {
        bits = bits << 6 | u32::from(sextet);
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = (bits >> held) as u8;
            // A line break is accepted only at the end, as `echo` adds it; else the value is more
            // likely a word that decodes by chance.
            if !matches!(byte, b' '..=b'~' | b'\t' | b'\n') || out.last() == Some(&b'\n') {
                return out.truncate(before);
            }
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, source: DecodingSource, reading: AltDecoding) -> Option<String> {
        let mut reader = AltDecoder::default();
        if !reader.take(text.as_bytes(), source) {
            return None;
        }
        reader
            .read(reading)
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn decodes_each_alternative() {
        for (text, reading, expected) in [
            (
                "/4'%09union%0aselect%a01",
                AltDecoding::Spaced,
                Some("/4' union select 1"),
            ),
            (
                "/?q=1--%20x%0Aor%23y%0A2",
                AltDecoding::Spaced,
                Some("/?q=1 or 2"),
            ),
            ("/4/**/or/*x*/5", AltDecoding::Spaced, Some("/4 or 5")),
            ("/a+b?c+d", AltDecoding::Spaced, Some("/a+b?c d")),
            ("/?q=plain", AltDecoding::Spaced, None),
            (
                "/?q=un/**/ion+SEL/*x*/ECT",
                AltDecoding::Joined,
                Some("/?q=union+select"),
            ),
            ("/?q=1/**/or/**/2", AltDecoding::Joined, None),
            ("/?q=1/*un", AltDecoding::Joined, None),
            (
                "/?q=;c'a't%20/e\"t\"c/pa%5Css$@wd",
                AltDecoding::Unquoted,
                Some("/?q=;cat /etc/passwd"),
            ),
            ("/?q=wh``oa$()mi", AltDecoding::Unquoted, Some("/?q=whoami")),
            ("/?q='1'='1'", AltDecoding::Unquoted, None),
            (
                "/?q=PHNjcmlwdD4=",
                AltDecoding::Unwrapped,
                Some("=<script>"),
            ),
            ("/?q=hello", AltDecoding::Unwrapped, None),
            (
                "/a/1%27%3Bselect%201/b/%7Bx%7D?q='",
                AltDecoding::Segments,
                Some("=1';select 1&={x}"),
            ),
            ("/a/b/c?q='/(", AltDecoding::Segments, None),
        ] {
            let source = if reading == AltDecoding::Segments {
                DecodingSource::Target
            } else {
                DecodingSource::Header
            };
            assert_eq!(
                read(text, source, reading).as_deref(),
                expected,
                "{text} {reading:?}"
            );
        }
    }

    #[test]
    fn a_plus_in_a_target_is_no_candidate() {
        assert_eq!(
            read("/?q=a+b", DecodingSource::Target, AltDecoding::Spaced),
            None
        );
    }

    proptest! {
        #[test]
        fn the_length_of_an_alternative_is_bounded(text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..100),
            "[a-z/*'\"\\\\$@`^()#\n%0-9+?=-]{0,80}".prop_map(String::into_bytes),
            "[A-Za-z0-9+/=&_-]{0,80}".prop_map(String::into_bytes),
        ]) {
            for source in [DecodingSource::Target, DecodingSource::Header] {
                let mut reader = AltDecoder::default();
                if reader.take(&text, source) {
                    for reading in AltDecoding::ALL {
                        let length = reader.read(reading).map_or(0, <[u8]>::len);
                        let most = text.len() * if reading == AltDecoding::Segments { 2 } else { 1 };
                        prop_assert!(length <= most, "{reading:?}");
                    }
                }
            }
        }

        #[test]
        fn a_text_without_candidates_has_no_alternative(text in "[a-z/?=&'\"\\\\$`^*\x09A-F0-9-]{0,40}") {
            let mut reader = AltDecoder::default();
            if !needs_decoding(text.as_bytes()) && !reader.take(text.as_bytes(), DecodingSource::Target) {
                reader.decoded = text.into_bytes();
                reader.signs = [true; 5];
                for reading in AltDecoding::ALL {
                    prop_assert_eq!(reader.read(reading), None);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_value_is_skipped(text in "[a-cZ9+/=_-]{0,14}([?/=&.][a-cZ9+/=_-]{0,14}){0,6}") {
            let (mut expected, mut rest, mut in_query) = (Vec::new(), text.as_bytes(), false);
            while !rest.is_empty() {
                let length = rest.iter().take_while(|&&b| byte_class::sextet(b).is_some() && (in_query || b != b'/')).count();
                let (value, after) = rest.split_at(length);
                if length + padding(after) >= MIN_BASE64_LEN {
                    expected.push(value);
                }
                in_query |= after.first() == Some(&b'?');
                rest = after.get(1..).unwrap_or_default();
            }
            prop_assert_eq!(base64_values(text.as_bytes()).collect::<Vec<_>>(), expected);
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
            (
                "PHNjcmlwdD4=?PHNjcmlwdD4=/PHNjcmlwdD4=",
                "=<script>&=<script>",
            ),
            ("", ""),
        ] {
            let mut out = Vec::new();
            assert_eq!(
                unwrap_base64(text.as_bytes(), &mut out),
                !expected.is_empty(),
                "{text}"
            );
            assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
            assert!(
                expected.is_empty() || has_base64_value(text.as_bytes()),
                "{text}"
            );
        }
    }
}
