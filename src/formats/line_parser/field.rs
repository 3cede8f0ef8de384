//! Matches one field of a format in a line.
//!
//! A field ends where its suffix, the literal text after it, starts. Clients may put such text into a field, so a quoted
//! field ends at an unescaped quote, and a number must follow where the next field is a number. A line that does not
//! match is in another format. Matching never fails or allocates.

use memchr::memchr;

use crate::formats::FieldKind;
use crate::formats::bytes::begins;
use crate::formats::bytes::marks_of_16;
use crate::formats::clf::is_escaped;

/// The slot for the text of a field; each slot is used once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaptureSlot {
    Client,
    Forwarded,
    Host,
    Time,
    Date,
    TimeOfDay,
    Request,
    Method,
    Target,
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    UserAgent,
    Url,
}

impl CaptureSlot {
    pub(super) const COUNT: usize = Self::Url as usize + 1;

    /// The slot of a kind; other headers have none.
    pub(super) fn of(kind: &FieldKind) -> Option<Self> {
        Some(match kind {
            FieldKind::Client => Self::Client,
            FieldKind::Host => Self::Host,
            FieldKind::Time => Self::Time,
            FieldKind::Date => Self::Date,
            FieldKind::TimeOfDay => Self::TimeOfDay,
            FieldKind::Request => Self::Request,
            FieldKind::Method => Self::Method,
            FieldKind::Target => Self::Target,
            FieldKind::Path => Self::Path,
            FieldKind::Query => Self::Query,
            FieldKind::Protocol => Self::Protocol,
            FieldKind::Status => Self::Status,
            FieldKind::Bytes => Self::Bytes,
            FieldKind::Referer => Self::Referer,
            FieldKind::UserAgent => Self::UserAgent,
            FieldKind::Header(_) | FieldKind::Other => return None,
        })
    }
}

/// The part of a field that is not part of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrimMode {
    /// None.
    Nothing,
    /// The port after an address.
    Port,
    /// The question mark before a query.
    QueryMark,
}

/// A field and its suffix, compactly stored for the line loop.
#[derive(Debug, Clone)]
pub(super) struct FieldMatcher {
    /// The first eight bytes of the suffix.
    word: u64,
    /// The relevant bits of `word`.
    mask: u64,
    /// The literal text after the field; may be empty for the last field.
    suffix: Box<[u8]>,
    /// The first byte of the suffix.
    key: u8,
    /// Whether a number follows the suffix.
    number_follows: bool,
    pub(super) trim: TrimMode,
    pub(super) slot: Option<CaptureSlot>,
    pub(super) stop: Delimiter,
}

/// How the end of a field is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// The first match, usually near.
    Near,
    /// The first match, possibly far away.
    Far,
    /// The match after this many others, as the field contains the same text.
    Behind(u16),
    /// After this many bytes, usually.
    Width(u16),
    /// The first match that is not a separator between two values.
    List,
    /// The first unescaped quote that matches, usually near.
    NearQuote,
    /// The first unescaped quote that matches, possibly far away.
    FarQuote,
    /// The first space after a protocol, for a request without quotes.
    Protocol,
    /// The end of the line.
    End {
        /// The field must not contain an unescaped quote.
        quoted: bool,
        /// The field is a number.
        number: bool,
    },
    /// A separator.
    Column {
        /// The column may be quoted and then contain the separator.
        quoted: bool,
        /// The last column, which more columns may follow.
        last: bool,
    },
}

impl FieldMatcher {
    /// Creates a field that ends at `suffix`, found by `stop`.
    pub(super) fn new(slot: Option<CaptureSlot>, stop: Delimiter, suffix: &[u8]) -> Self {
        let (mut word, mut mask) = ([0; 8], [0; 8]);
        for (at, byte) in suffix.iter().take(8).enumerate() {
            (word[at], mask[at]) = (*byte, u8::MAX);
        }
        Self {
            word: u64::from_le_bytes(word),
            mask: u64::from_le_bytes(mask),
            suffix: suffix.into(),
            key: suffix.first().copied().unwrap_or_default(),
            number_follows: false,
            trim: TrimMode::Nothing,
            slot,
            stop,
        }
    }

    /// Sets how the value is trimmed, and whether a number follows.
    pub(super) fn with(self, trim: TrimMode, number_follows: bool) -> Self {
        Self { number_follows, trim, ..self }
    }

    /// The literal text after the field.
    pub(super) fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    /// Splits the field off `rest`: returns its text and the text after the suffix.
    #[inline]
    pub(super) fn take<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let length = match self.stop {
            Delimiter::Near => self.first(rest, near)?,
            Delimiter::NearQuote => self.quote(rest, near)?,
            Delimiter::FarQuote => self.quote(rest, memchr)?,
            Delimiter::Width(width) if self.fits(rest, usize::from(width)) => usize::from(width),
            Delimiter::End { quoted, number } => self.end(rest, quoted, number)?,
            Delimiter::Column { quoted: false, last: false } => near(self.key, rest)?,
            Delimiter::Far | Delimiter::Width(_) => self.first(rest, memchr)?,
            Delimiter::Behind(others) => self.places(rest).nth(usize::from(others))?,
            Delimiter::List => self.places(rest).find(|at| !is_gap(rest, *at))?,
            Delimiter::Protocol => self.request(rest)?,
            Delimiter::Column { quoted, last } => return self.column(rest, quoted, last),
        };
        Some((rest.get(..length)?, rest.get(length + self.suffix.len()..)?))
    }

    /// Whether the field can end at `at`.
    #[inline]
    pub(super) fn fits(&self, rest: &[u8], at: usize) -> bool {
        let Some(text) = rest.get(at..) else { return false };
        let fits = match text.first_chunk() {
            Some(start) if self.suffix.len() <= 8 => (u64::from_le_bytes(*start) ^ self.word) & self.mask == 0,
            _ => begins(text, &self.suffix),
        };
        fits && (!self.number_follows || matches!(text.get(self.suffix.len()), Some(b'0'..=b'9' | b'-')))
    }

    /// The first match.
    #[inline]
    fn first(&self, rest: &[u8], find: impl Fn(u8, &[u8]) -> Option<usize>) -> Option<usize> {
        let mut from = 0;
        loop {
            let at = from + find(self.key, rest.get(from..)?)?;
            if self.fits(rest, at) {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// All matches.
    fn places(&self, rest: &[u8]) -> impl Iterator<Item = usize> {
        memchr::memchr_iter(self.key, rest).filter(|at| self.fits(rest, *at))
    }

    #[inline]
    fn quote(&self, rest: &[u8], find: impl Fn(u8, &[u8]) -> Option<usize>) -> Option<usize> {
        let first = find(b'"', rest)?;
        let is_bare = first == 0 || rest[first - 1] != b'\\';
        if is_bare && self.fits(rest, first) { Some(first) } else { self.quote_after_others(rest) }
    }

    /// The rare case: the field contains quotes. Writers that do not escape may leave a backslash before the closing
    /// quote, so an escaped quote is the second choice.
    #[cold]
    fn quote_after_others(&self, rest: &[u8]) -> Option<usize> {
        self.places(rest).find(|at| !is_escaped(rest, *at)).or_else(|| self.places(rest).next())
    }

    /// The end of a request without quotes that contains spaces.
    fn request(&self, rest: &[u8]) -> Option<usize> {
        let behind_protocol = |at: &usize| {
            let word = rest[..*at].rsplit(|b| *b == b' ').next();
            word.is_some_and(|word| word.starts_with(b"HTTP/"))
        };
        self.places(rest).find(behind_protocol).or_else(|| self.places(rest).next())
    }

    fn end(&self, rest: &[u8], quoted: bool, number: bool) -> Option<usize> {
        let (text, suffix) = rest.split_at_checked(rest.len().checked_sub(self.suffix.len())?)?;
        if !begins(suffix, &self.suffix) {
            return None;
        }
        let is_number = |text: &[u8]| text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
        if quoted && has_bare_quote(text) || number && !is_number(text) {
            return None;
        }
        Some(text.len())
    }

    fn column<'a>(&self, rest: &'a [u8], quoted: bool, last: bool) -> Option<(&'a [u8], &'a [u8])> {
        let separator = self.key;
        let ends = |at: usize| rest.get(at).is_none_or(|b| *b == separator);
        let between_quotes = rest.strip_prefix(b"\"").filter(|_| quoted).and_then(|inside| {
            let close = memchr::memchr_iter(b'"', inside).find(|at| ends(at + 2) && !is_escaped(inside, *at))?;
            Some((inside.get(..close)?, close + 2))
        });
        let (text, end) = if let Some(found) = between_quotes {
            found
        } else {
            let end = near(separator, rest).unwrap_or(rest.len());
            (rest.get(..end)?, end)
        };
        match rest.get(end..)? {
            [_, suffix @ ..] => Some((text, suffix)),
            [] => last.then_some((text, &[])),
        }
    }
}

/// Whether `text` contains an unescaped quote.
fn has_bare_quote(text: &[u8]) -> bool {
    memchr(b'"', text).is_some() && memchr::memchr_iter(b'"', text).any(|at| !is_escaped(text, at))
}

/// Whether the space at `at` is between two values of a list.
fn is_gap(text: &[u8], at: usize) -> bool {
    let before = text.get(at.wrapping_sub(1)).copied();
    text.get(at) == Some(&b' ') && (matches!(before, Some(b',' | b';')) || text[at + 1..].starts_with(b": ") || text[..at].ends_with(b" :"))
}

/// The first `key` in `text`; checks the first bytes before it calls a search.
#[inline]
fn near(key: u8, text: &[u8]) -> Option<usize> {
    if let Some(start) = text.first_chunk::<16>() {
        let marks = marks_of_16(*start, key);
        if marks != 0 {
            return Some(marks.trailing_zeros() as usize / 8);
        }
    }
    memchr(key, text)
}
