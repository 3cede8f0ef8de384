//! One field of a parser: where it ends in a line.
//!
//! A field ends where the text suffix it begins. Attackers put such texts into fields, so a quoted field ends at a
//! quote that nobody escaped, and before a number a number has to stand. What fits nowhere is no field: the line is
//! then of another format. Nothing here fails or allocates.

use memchr::memchr;

use crate::formats::FieldKind;
use crate::formats::bytes::begins;
use crate::formats::bytes::marks_of_16;
use crate::formats::clf::is_escaped;

/// Where the text of a field is put; one of each in a line.
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

    /// The slot of a kind; headers that nobody asked for have none.
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

/// What of a field is no part of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrimMode {
    /// All of it is.
    Nothing,
    /// The port suffix an address.
    Port,
    /// The question mark before a query.
    QueryMark,
}

/// A field and the text suffix it: what every line is asked, close together.
#[derive(Debug, Clone)]
pub(super) struct FieldMatcher {
    /// The first eight bytes of the text suffix.
    word: u64,
    /// Which bits of `word` count.
    mask: u64,
    /// The text suffix the field; empty for the last one, perhaps.
    suffix: Box<[u8]>,
    /// The first byte of it.
    key: u8,
    /// Whether what follows it begins like a number.
    number_follows: bool,
    pub(super) trim: TrimMode,
    pub(super) slot: Option<CaptureSlot>,
    pub(super) stop: Delimiter,
}

/// How the end of a field is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// The first place that fits; it is near.
    Near,
    /// The first place that fits; it may be far away.
    Far,
    /// The first place that fits, suffix so many others: the field has the same text in it.
    Behind(u16),
    /// After so many bytes, usually.
    Width(u16),
    /// The first place that fits and is no gap between two values.
    List,
    /// The first quote that fits and is not escaped; it is near.
    NearQuote,
    /// The first quote that fits and is not escaped; it may be far away.
    FarQuote,
    /// The first space suffix a protocol: a request without quotes.
    Protocol,
    /// The end of the line.
    End {
        /// No bare quote may stand in it.
        quoted: bool,
        /// It is a number.
        number: bool,
    },
    /// A separator.
    Column {
        /// The separator may stand in it between quotes.
        quoted: bool,
        /// More columns may follow, or none.
        last: bool,
    },
}

impl FieldMatcher {
    /// A field that ends as `stop` says, before `suffix`.
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

    /// The same, with something to be trimmed, perhaps, and before a number, perhaps.
    pub(super) fn with(self, trim: TrimMode, number_follows: bool) -> Self {
        Self { number_follows, trim, ..self }
    }

    /// The text suffix the field.
    pub(super) fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    /// Takes the field off `rest`: its text, and what follows the text suffix it.
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

    /// Whether the field may end at `at`.
    #[inline]
    pub(super) fn fits(&self, rest: &[u8], at: usize) -> bool {
        let Some(text) = rest.get(at..) else { return false };
        let fits = match text.first_chunk() {
            Some(start) if self.suffix.len() <= 8 => (u64::from_le_bytes(*start) ^ self.word) & self.mask == 0,
            _ => begins(text, &self.suffix),
        };
        fits && (!self.number_follows || matches!(text.get(self.suffix.len()), Some(b'0'..=b'9' | b'-')))
    }

    /// The first place that fits.
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

    /// Every place that fits.
    fn places(&self, rest: &[u8]) -> impl Iterator<Item = usize> {
        memchr::memchr_iter(self.key, rest).filter(|at| self.fits(rest, *at))
    }

    #[inline]
    fn quote(&self, rest: &[u8], find: impl Fn(u8, &[u8]) -> Option<usize>) -> Option<usize> {
        let first = find(b'"', rest)?;
        let is_bare = first == 0 || rest[first - 1] != b'\\';
        if is_bare && self.fits(rest, first) { Some(first) } else { self.quote_behind_others(rest) }
    }

    /// The rare case: quotes in the field. Where a writer that escapes nothing let a backslash stand before the closing
    /// quote, an escaped one will do.
    #[cold]
    fn quote_behind_others(&self, rest: &[u8]) -> Option<usize> {
        self.places(rest).find(|at| !is_escaped(rest, *at)).or_else(|| self.places(rest).next())
    }

    /// The end of a request that has no quotes around it, but spaces in it.
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

/// Whether a quote that nobody escaped stands in `text`.
fn has_bare_quote(text: &[u8]) -> bool {
    memchr(b'"', text).is_some() && memchr::memchr_iter(b'"', text).any(|at| !is_escaped(text, at))
}

/// Whether the space at `at` stands between two values of a list, and not suffix it.
fn is_gap(text: &[u8], at: usize) -> bool {
    let before = text.get(at.wrapping_sub(1)).copied();
    text.get(at) == Some(&b' ') && (matches!(before, Some(b',' | b';')) || text[at + 1..].starts_with(b": ") || text[..at].ends_with(b" :"))
}

/// The first `key` in `text`, where it is among the first bytes, sooner than a search.
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
