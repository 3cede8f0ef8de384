//! Inputs as locations and a state refer to them: name, generation, where lines start, and how far
//! a log was read.
//!
//! Plain data. A log is recognized by its content, never by its name: rotation passes names on, and
//! file systems reuse inodes. Path, device and inode are only hints where to look first.
//!
//! Our own files store a path as a readable JSON string without loss: UTF-8 is kept, every other
//! byte and every backslash is written as `\xNN`. Paths in reports go through `redact::sanitize`,
//! whose output cannot be decoded.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use crate::text::redact::text_schema;

/// One input, as far as locations in it need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// The path as given or found; may contain any byte.
    pub path: Vec<u8>,
    /// Identifies the generation of the log: a hash of its first bytes.
    pub generation: u64,
    /// The host of the log, if given: two hosts may have logs of the same name.
    pub log_host: Option<Box<str>>,
    /// For each run of lines, in order: its byte offset, and the number of lines before it.
    runs: Vec<(u64, u64)>,
}

impl SourceInfo {
    /// Creates an input whose runs of lines start at these offsets and have this many lines, in any
    /// order.
    #[must_use]
    pub fn new(path: Vec<u8>, generation: u64, mut runs: Vec<(u64, u64)>) -> Self {
        runs.sort_unstable();
        let mut before = 0;
        for (_, lines) in &mut runs {
            before += std::mem::replace(lines, before);
        }
        Self {
            path,
            generation,
            log_host: None,
            runs,
        }
    }

    /// Names the host of the log.
    #[must_use]
    pub fn with_host(self, log_host: Option<&str>) -> Self {
        Self {
            log_host: log_host.map(Box::from),
            ..self
        }
    }

    /// The number of a line, from 1: line `line` (from 0) of the run that starts at offset `run`.
    #[must_use]
    pub fn line_number(&self, run: u64, line: u64) -> u64 {
        let at = self.runs.partition_point(|(start, _)| *start < run);
        self.runs.get(at).map_or(0, |(_, before)| *before) + line + 1
    }

    /// Identifies the log of a site and its rotated siblings: the host and the
    /// [family](Self::family) of the name.
    #[must_use]
    pub fn family_key(&self) -> (Option<&str>, &[u8]) {
        (self.log_host.as_deref(), self.family())
    }

    /// The common part of the names of a log and its rotated siblings: `access.log` for
    /// `access.log.2.gz` and `access.log-20261101`.
    #[must_use]
    pub fn family(&self) -> &[u8] {
        let mut name = self.path.as_slice();
        for ending in [&b".gz"[..], b".bz2", b".xz", b".zst"] {
            name = name.strip_suffix(ending).unwrap_or(name);
        }
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        match name[..name.len() - digits].split_last() {
            // A number or a date after a name.
            Some((b'.' | b'-', stem))
                if digits > 0
                    && stem
                        .last()
                        .is_some_and(|b| !matches!(b, b'/' | b'-' | b'.')) =>
            {
                stem
            }
            _ => name,
        }
    }
}

/// The lines of one byte range of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "[u64; 5]", try_from = "[u64; 5]")]
pub struct LineSpan {
    /// The generation of the log.
    pub generation: u64,
    /// The offset of the first line.
    pub start: u64,
    /// The offset after the last line: that of the first line of the next range.
    pub end: u64,
    /// The number of lines.
    pub lines: u64,
    /// The length of the log when the range was read.
    pub log_len: u64,
}

impl From<LineSpan> for [u64; 5] {
    fn from(
        LineSpan {
            generation,
            start,
            end,
            lines,
            log_len,
        }: LineSpan,
    ) -> Self {
        [generation, start, end, lines, log_len]
    }
}

impl TryFrom<[u64; 5]> for LineSpan {
    type Error = String;

    /// The range, checked to be within its log.
    fn try_from([generation, start, end, lines, log_len]: [u64; 5]) -> Result<Self, String> {
        let fits = start <= end && end <= log_len && lines <= end - start && log_len < 1 << 62;
        let range = Self {
            generation,
            start,
            end,
            lines,
            log_len,
        };
        if fits {
            Ok(range)
        } else {
            Err(format!(
                "bytes {start} to {end} of {log_len} are no range of a log"
            ))
        }
    }
}

/// The number of bytes at the start of a log that identify it.
pub(crate) const HEAD: usize = 1024;

/// The number of bytes before an offset that are compared before reading continues there.
pub(crate) const TAIL: usize = 256;

/// A hash of some bytes, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ContentHash {
    /// How many bytes were hashed.
    pub bytes: u32,
    /// Their XXH3.
    pub hash: u64,
}

impl ContentHash {
    /// The fingerprint of `bytes`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u32,
            hash: xxh3_64(bytes),
        }
    }
}

/// The identity of a request, the same in every run with one state: `0000000000c0ffee:1234`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RequestId {
    /// The generation of the log.
    pub generation: u64,
    /// Offset of the line in bytes, from the start of the log's text.
    pub offset: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, offset } = self;
        write!(f, "{generation:016x}:{offset}")
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_schema!(RequestId);

/// How far one generation of a log was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Identifies the generation in every `id`. Assigned once and kept through rotations and
    /// restarts.
    pub generation: u64,
    /// The last known path; may contain any byte.
    #[serde(with = "self")]
    pub path: Vec<u8>,
    /// The device; a hint.
    pub device: u64,
    /// The inode; a hint.
    pub inode: u64,
    /// The number of bytes that are done, up to and including a newline.
    pub offset: u64,
    /// Lines before `offset`.
    pub lines: u64,
    /// The first bytes of the log, at most [`HEAD`].
    pub head: ContentHash,
    /// The bytes before `offset`, at most [`TAIL`].
    pub tail: ContentHash,
}

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    unescaped(&String::deserialize(deserializer)?)
        .ok_or_else(|| D::Error::custom("a backslash that begins no \\xNN"))
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
pub(crate) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split('\\');
    let mut bytes = Vec::with_capacity(text.len());
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (code, rest) = piece.as_bytes().split_at_checked(3)?;
        let digits = code
            .strip_prefix(b"x")
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        bytes.extend_from_slice(rest);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rotated_logs_are_one_family() {
        let family = |path: &str| {
            String::from_utf8(
                SourceInfo::new(path.into(), 0, Vec::new())
                    .family()
                    .to_vec(),
            )
            .unwrap()
        };
        for path in [
            "access.log",
            "access.log.1",
            "access.log.2.gz",
            "access.log-20261101",
            "access.log-20261101.gz",
            "access.log.gz",
        ] {
            assert_eq!(family(path), "access.log", "{path}");
        }
        for path in [
            "other.log",
            "/var/log/access_log",
            "2026",
            "logs/1",
            "a/.1",
            "-",
        ] {
            assert_eq!(family(path), path);
        }
    }

    #[test]
    fn line_numbers_continue_across_runs() {
        let text = SourceInfo::new(b"a.log".to_vec(), 7, vec![(100, 3), (0, 10), (900, 1)]);
        assert_eq!(
            [(0, 0), (0, 9), (100, 0), (900, 0)].map(|(run, line)| text.line_number(run, line)),
            [1, 10, 11, 14]
        );
    }

    #[test]
    fn a_fingerprint_depends_on_length_and_bytes() {
        assert_eq!(ContentHash::new(b"ab"), ContentHash::new(b"ab"));
        assert_ne!(ContentHash::new(b"ab"), ContentHash::new(b"ba"));
        assert_ne!(ContentHash::new(b""), ContentHash::new(b"\0"));
    }

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
            assert_eq!(unescaped(text).unwrap(), bytes);
        }
    }

    #[test]
    fn rejects_invalid_escapes() {
        for text in [
            "\\", r"a\", r"\x", r"\x1", r"\xg0", r"\x+1", r"\\", r"\n", r"\u0041", "\\xä",
        ] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_round_trip(bytes: Vec<u8>, text in r"([a/\\]|\\x[0-9a-f]{2}|.){0,20}") {
            prop_assert_eq!(unescaped(&encode(&bytes)), Some(bytes));
            prop_assert_eq!(unescaped(&encode(text.as_bytes())), Some(text.into_bytes()));
        }
    }
}
