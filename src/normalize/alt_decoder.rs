//! What else a text may mean to the one who runs it: a database, a shell, a script that unwraps Base64.
//!
//! The views say what a server sees. Some disguises are not undone there, because undoing them would spoil another
//! reading: a comment within a word is nothing, one between words a space; a line break in a path is dropped, in a query a
//! space; a quote within a word is nothing to a shell. Each reading stands by itself and is no longer than the text. Most
//! texts have none, which one look at them tells.

use super::decode::decode;
use super::query::{is_space, without_comments};
use super::unescape::unescape;
use super::{base64, byte_class, needs_decoding};

/// The readings there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AltDecoding {
    /// Comments, line breaks and other control bytes as spaces, and `+` in a query.
    Spaced,
    /// Comments as nothing, where one stands within a word.
    Joined,
    /// Quotes, backslashes and empty variables within a word as nothing.
    Unquoted,
    /// Values in Base64 as the text they hold.
    Unwrapped,
}

impl AltDecoding {
    /// Every reading.
    pub const ALL: [Self; 4] = [Self::Spaced, Self::Joined, Self::Unquoted, Self::Unwrapped];
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodingSource {
    /// The target of a request, whose query has been read with its `+` as spaces already.
    Target,
    /// A header.
    Header,
}

/// Reads texts again. Its buffers are kept between lines.
#[derive(Debug, Default)]
pub struct AltDecoder {
    sent: Vec<u8>,
    decoded: Vec<u8>,
    reading: Vec<u8>,
    spare: Vec<u8>,
    /// Which readings the decoded text may have.
    signs: [bool; 4],
}

impl AltDecoder {
    /// Takes a text as logged; whether there is another reading of it.
    pub fn take(&mut self, logged: &[u8], source: DecodingSource) -> bool {
        if needs_decoding(logged) {
            unescape(logged, &mut self.sent);
            decode(&self.sent, &mut self.decoded, &mut self.spare);
            self.signs = signs(&self.decoded, source);
        } else {
            self.signs = signs(logged, source);
            if self.signs.contains(&true) {
                self.decoded.clear();
                self.decoded.extend_from_slice(logged);
            }
        }
        self.signs.contains(&true)
    }

    /// A reading of the text that was taken, in lower case; `None` where it says nothing new.
    pub fn read(&mut self, reading: AltDecoding) -> Option<&[u8]> {
        let Self { decoded, reading: out, spare, signs, .. } = self;
        out.clear();
        if !signs[reading as usize] {
            return None;
        }
        let differs = match reading {
            AltDecoding::Spaced => spaced(decoded, out, spare),
            AltDecoding::Joined => joined(decoded, out),
            AltDecoding::Unquoted => unquoted(decoded, out),
            AltDecoding::Unwrapped => base64::unwrap(decoded, out),
        };
        out.make_ascii_lowercase();
        differs.then_some(out.as_slice())
    }
}

/// Whether a sign of each reading stands in a decoded text. No sign is missed; not every sign means something.
fn signs(text: &[u8], source: DecodingSource) -> [bool; 4] {
    let plus = if source == DecodingSource::Header { byte_class::PLUS } else { 0 };
    let kinds = byte_class::all(text);
    let stands = |wanted: u8| kinds & wanted != 0;
    [stands(byte_class::SPACE | byte_class::STAR | plus), stands(byte_class::STAR), stands(byte_class::QUOTE), base64::has_candidate(text)]
}

/// What stands within a word.
fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'/'))
}

fn spaced(text: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> bool {
    spare.clear();
    let query = memchr::memchr(b'?', text).unwrap_or(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        let at = text.len() - rest.len();
        // A comment that the line break ends.
        let line = if *byte == b'#' || rest.starts_with(b"--") { memchr::memchr(b'\n', rest) } else { None };
        let is_gap = line.is_some() || (*byte == b'+' && at > query) || is_space(text, at);
        spare.push(if is_gap { b' ' } else { *byte });
        rest = line.map_or(tail, |end| &rest[end + 1..]);
    }
    without_comments(spare, b" ", out);
    out != text
}

fn joined(text: &[u8], out: &mut Vec<u8>) -> bool {
    let letter = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphabetic);
    let within = memchr::memmem::find_iter(text, b"/*").any(|start| {
        let end = memchr::memmem::find(&text[start + 2..], b"*/");
        letter(start.checked_sub(1)) && end.is_some_and(|length| letter(Some(start + length + 4)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, source: DecodingSource, reading: AltDecoding) -> Option<String> {
        let mut reader = AltDecoder::default();
        if !reader.take(text.as_bytes(), source) {
            return None;
        }
        reader.read(reading).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn decodes_each_alternative() {
        for (text, reading, expected) in [
            ("/4'%09union%0aselect%a01", AltDecoding::Spaced, Some("/4' union select 1")),
            ("/?q=1--%20x%0Aor%23y%0A2", AltDecoding::Spaced, Some("/?q=1 or 2")),
            ("/4/**/or/*x*/5", AltDecoding::Spaced, Some("/4 or 5")),
            ("/a+b?c+d", AltDecoding::Spaced, Some("/a+b?c d")),
            ("/?q=plain", AltDecoding::Spaced, None),
            ("/?q=un/**/ion+SEL/*x*/ECT", AltDecoding::Joined, Some("/?q=union+select")),
            ("/?q=1/**/or/**/2", AltDecoding::Joined, None),
            ("/?q=1/*un", AltDecoding::Joined, None),
            ("/?q=;c'a't%20/e\"t\"c/pa%5Css$@wd", AltDecoding::Unquoted, Some("/?q=;cat /etc/passwd")),
            ("/?q=wh``oa$()mi", AltDecoding::Unquoted, Some("/?q=whoami")),
            ("/?q='1'='1'", AltDecoding::Unquoted, None),
            ("/?q=PHNjcmlwdD4=", AltDecoding::Unwrapped, Some("=<script>")),
            ("/?q=hello", AltDecoding::Unwrapped, None),
        ] {
            assert_eq!(read(text, DecodingSource::Header, reading).as_deref(), expected, "{text} {reading:?}");
        }
    }

    #[test]
    fn a_plus_in_a_target_is_no_candidate() {
        assert_eq!(read("/?q=a+b", DecodingSource::Target, AltDecoding::Spaced), None);
    }

    proptest! {
        #[test]
        fn no_alternative_is_longer_than_the_text(text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..100),
            "[a-z/*'\"\\\\$@`^()#\n%0-9+?=-]{0,80}".prop_map(String::into_bytes),
            "[A-Za-z0-9+/=&_-]{0,80}".prop_map(String::into_bytes),
        ]) {
            for source in [DecodingSource::Target, DecodingSource::Header] {
                let mut reader = AltDecoder::default();
                if reader.take(&text, source) {
                    for reading in AltDecoding::ALL {
                        let length = reader.read(reading).map_or(0, <[u8]>::len);
                        prop_assert!(length <= text.len(), "{reading:?}");
                    }
                }
            }
        }

        #[test]
        fn a_text_without_candidates_has_no_alternative(text in "[a-z/?=&'\"\\\\$`^*\x09A-F0-9-]{0,40}") {
            let mut reader = AltDecoder::default();
            if !needs_decoding(text.as_bytes()) && !reader.take(text.as_bytes(), DecodingSource::Target) {
                reader.decoded = text.into_bytes();
                reader.signs = [true; 4];
                for reading in AltDecoding::ALL {
                    prop_assert_eq!(reader.read(reading), None);
                }
            }
        }
    }
}
