//! Lines that a format may explain in several ways, because a client chose a text that stands
//! unquoted in them.
//!
//! With `$http_host $remote_addr - $remote_user [$time_local] "$request"`, a `Host` header of
//! `x 66.249.66.1 -` makes a line whose second word is not the client. So where a client chooses a
//! text before the client address, the time or the forwarded field, all ways to read the line are
//! considered, and only what they agree on is known.
//!
//! A server escapes quotes and control characters, so these are never part of a text, and each line
//! is divided there: a [`FormatSection`] is the part of a format up to such a byte. In a section,
//! each field has the values of its [`Language`]. Two passes over the bytes, from the right and
//! from the left, find where each field can start; the work is linear in the length of the line,
//! and nothing is allocated for a line.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::field::FieldMatcher;
use crate::formats::clf::is_escaped;
use crate::formats::fields::FieldSlot;
use crate::formats::items::{Author, FieldItem, FieldShape};
use crate::formats::{Escapes, FieldKind};
use crate::log::client::Client;
use crate::log::time::{CLF_TIME_LEN, LogTime};

/// The values of a field, as far as they matter for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Any text that a client chose.
    Text,
    /// Any text that a client chose, and a port: `example.org:80`.
    TextWithPort,
    /// Any text of the server.
    ServerText,
    /// A text of the server without blanks.
    Word,
    /// Digits, points and dashes.
    Number,
    /// The ident, which is a dash unless Apache asks the host of the client for it, as none does
    /// today.
    Ident,
    /// An IP address, with a port in some formats. A name only if the server may look names up.
    Address { is_name_possible: bool },
    /// A Common Log Format time.
    ClfTime,
    /// A text of the server with this length.
    Width(u16),
    /// A time of this many words, in any form.
    TimeWords(u16),
}

/// The longest word that is searched for an end: longer than a host name, which has up to 253 bytes
/// (RFC 1035).
const MAX_WORD: usize = 256;

impl Language {
    pub(super) fn new(field: &FieldItem) -> Self {
        match (&field.shape, field.author, &field.kind) {
            (_, Author::Server, FieldKind::Client) => {
                let has_names = field.name == "$remote_host"
                    || field.name.starts_with('%') && field.name.ends_with('h');
                Self::Address {
                    is_name_possible: has_names,
                }
            }
            (_, Author::Server, FieldKind::Other)
                if field.name.starts_with('%') && field.name.ends_with('l') =>
            {
                Self::Ident
            }
            (FieldShape::Clf, ..) => Self::ClfTime,
            (FieldShape::WrittenWide(width), ..) => Self::Width(*width),
            (FieldShape::WrittenWords(words), ..) => Self::TimeWords(*words),
            (FieldShape::Number | FieldShape::Port, ..) => Self::Number,
            (FieldShape::Ported, Author::Client | Author::Unescaped, _) => Self::TextWithPort,
            (_, Author::Client | Author::Unescaped, _) => Self::Text,
            (FieldShape::List | FieldShape::Strftime(_), Author::Server, _) => Self::ServerText,
            (_, Author::Server, _) => Self::Word,
        }
    }

    fn is_chosen_by_client(self) -> bool {
        matches!(self, Self::Text | Self::TextWithPort)
    }

    /// Whether the byte may be part of a value.
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Text
            | Self::TextWithPort
            | Self::ServerText
            | Self::ClfTime
            | Self::Width(_)
            | Self::TimeWords(_)
            | Self::Ident => true,
            Self::Word => byte != b' ',
            Self::Number => byte.is_ascii_digit() || matches!(byte, b'.' | b'-'),
            Self::Address { .. } => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'.' | b':' | b'-' | b'_' | b'%' | b'[' | b']')
            }
        }
    }

    /// The length of each value, if it is fixed.
    fn width(self) -> Option<usize> {
        match self {
            Self::ClfTime => Some(CLF_TIME_LEN),
            Self::Ident => Some(1),
            Self::Width(width) => Some(usize::from(width)),
            _ => None,
        }
    }

    /// Whether a text of fitting bytes is a value.
    fn accepts(self, text: &[u8]) -> bool {
        match self {
            Self::ClfTime => LogTime::parse_clf(text).is_some(),
            Self::Ident => text == b"-",
            // asctime pads a day of one digit, so two blanks may be between two words.
            Self::TimeWords(words) => {
                let count = text
                    .split(|byte| *byte == b' ')
                    .filter(|word| !word.is_empty());
                text.first() != Some(&b' ')
                    && text.last() != Some(&b' ')
                    && count.count() == usize::from(words)
                    && LogTime::parse_any_format(text).is_some()
            }
            Self::TextWithPort => memchr::memrchr(b':', text)
                .is_some_and(|colon| text[colon + 1..].iter().all(|b| Self::Number.has(*b))),
            Self::Address { is_name_possible } => is_client(text, is_name_possible),
            _ => true,
        }
    }

    /// The blanks in each value, and 0 for a text of a client, which usually has none; `None` if
    /// they vary.
    fn blanks(self) -> Option<usize> {
        match self {
            Self::ServerText => None,
            Self::ClfTime => Some(1),
            Self::TimeWords(words) => Some(usize::from(words) - 1),
            _ => Some(0),
        }
    }
}

/// Whether a server may have logged this text as the client.
fn is_client(text: &[u8], is_name_possible: bool) -> bool {
    let is_name =
        || text == b"localhost" || text.contains(&b'.') && text.iter().any(u8::is_ascii_alphabetic);
    Client::parse_address(text).is_some() || text == b"unix:" || is_name_possible && is_name()
}

/// Consecutive fields of a format, the last one followed by a byte that no text has, or by the end
/// of the line, of which one may be read wrongly because a client chooses the text of another.
#[derive(Debug, Clone)]
pub(super) struct FormatSection {
    pub(super) first: usize,
    languages: Box<[Language]>,
    /// The byte after the section that no text has, and its offset in the text after the last
    /// field.
    end: Option<(u8, usize)>,
    /// Whether a backslash before a quote escapes it.
    is_escaped: bool,
    /// The blanks of a line in which no chosen text has a blank. `None` if the number does not show
    /// that.
    blanks: Option<usize>,
    /// The fields, from the first of the section, that must be the same in all readings.
    needed: Box<[(usize, FieldSlot)]>,
}

/// The buffers for the readings of a line.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct ReadingBuffers {
    /// For each position, one bit per field: whether the field can start here, so that the rest can
    /// be read.
    from_right: Vec<u64>,
    /// For each position, one bit per field: whether also the text before it can be read.
    starts: Vec<u64>,
    /// The end of each field.
    ends: Vec<usize>,
}

/// What is unknown of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) client: bool,
    pub(super) forwarded: bool,
}

/// The sections of a format in which a client may have more than one field read wrongly.
pub(super) fn sections(
    fields: &[FieldMatcher],
    languages: &[Language],
    escapes: Option<Escapes>,
) -> Box<[FormatSection]> {
    let mut sections = Vec::new();
    let mut first = 0;
    while first < fields.len().min(languages.len()) {
        let length = fields[first..]
            .iter()
            .position(|field| end_of(field, escapes).is_some())
            .map_or(fields.len() - first, |last| last + 1);
        sections.extend(FormatSection::new(
            first,
            &fields[first..first + length],
            &languages[first..first + length],
            escapes,
        ));
        first += length;
    }
    sections.into()
}

/// The first byte after a field that no text has.
fn end_of(field: &FieldMatcher, escapes: Option<Escapes>) -> Option<(u8, usize)> {
    let is_end = |byte: &u8| *byte == b'"' || byte.is_ascii_control();
    let at = field
        .suffix()
        .iter()
        .position(is_end)
        .filter(|_| escapes.is_some())?;
    Some((field.suffix()[at], at))
}

impl FormatSection {
    /// `None` if each needed field is known from the left.
    fn new(
        first: usize,
        fields: &[FieldMatcher],
        languages: &[Language],
        escapes: Option<Escapes>,
    ) -> Option<Self> {
        let end = fields.last().and_then(|field| end_of(field, escapes));
        let is_after_chosen = |at: usize| {
            languages[..at]
                .iter()
                .any(|language| language.is_chosen_by_client())
        };
        let ends_early = |at: usize| {
            languages[at].is_chosen_by_client()
                && !(at + 1 == fields.len() && end.is_none_or(|(_, offset)| offset == 0))
        };
        let needed = fields.iter().enumerate().filter_map(|(at, field)| {
            let is_read = matches!(
                field.slot,
                FieldSlot::Client | FieldSlot::Forwarded | FieldSlot::Time
            );
            (is_read && (is_after_chosen(at) || ends_early(at))).then_some((at, field.slot))
        });
        let needed: Box<[_]> = needed.collect();
        if needed.is_empty() {
            return None;
        }
        let blanks = fields
            .iter()
            .zip(languages)
            .enumerate()
            .map(|(at, (field, language))| {
                let is_last = at + 1 == fields.len();
                let suffix = if is_last {
                    &field.suffix()[..end.map_or(field.suffix().len(), |(_, offset)| offset)]
                } else {
                    field.suffix()
                };
                let is_after_blank =
                    suffix.starts_with(b" ") || is_last || language.width().is_some();
                Some(
                    memchr_iter(b' ', suffix).count()
                        + language.blanks().filter(|_| is_after_blank)?,
                )
            });
        let blanks = blanks.sum();
        Some(Self {
            first,
            languages: languages.into(),
            end,
            is_escaped: escapes == Some(Escapes::Written),
            blanks,
            needed,
        })
    }

    /// The number of fields.
    pub(super) fn len(&self) -> usize {
        self.languages.len()
    }

    /// Whether only the time is needed, and ends at the byte that no text has: it is known if it
    /// has its usual length.
    pub(super) fn is_anchored_time(&self) -> bool {
        let last = self.len() - 1;
        self.end.is_some()
            && self.languages[last].width().is_some()
            && *self.needed == [(last, FieldSlot::Time)]
    }

    /// The blanks of a section without a chosen blank, if the section ends at a quote, and the
    /// bytes from its last field to the quote. Its blanks are `None` where its time shows which of
    /// them separate fields.
    pub(super) fn before_quote(&self) -> Option<(Option<usize>, usize)> {
        let (_, gap) = self.end.filter(|(byte, _)| *byte == b'"')?;
        if self.is_anchored_time() {
            Some((None, gap))
        } else {
            Some((Some(self.blanks?), gap))
        }
    }

    /// Reads the section at the start of `rest`; returns the text after it, and sets what is
    /// unknown. `None` if the line is not of this format.
    pub(super) fn read<'a>(
        &self,
        fields: &[FieldMatcher],
        rest: &'a [u8],
        ReadingBuffers {
            from_right,
            starts,
            ends,
        }: &mut ReadingBuffers,
        unknown: &mut Unknown,
        mut put: impl FnMut(usize, &'a [u8]),
    ) -> Option<&'a [u8]> {
        let fields = &fields[self.first..self.first + self.len()];
        let last = &fields[fields.len() - 1];
        let stop = match self.end {
            Some((byte, offset)) => self.position(byte, rest)?.checked_sub(offset)?,
            None => rest.len().checked_sub(last.suffix().len())?,
        };
        // Fields are marked by bits.
        let can_read = fields.len() < 64 && last.fits(rest, stop) && {
            ends.clear();
            self.is_simple(fields, &rest[..stop], ends)
                || self.read_all(fields, &rest[..stop], (from_right, starts, ends), unknown)
        };
        if can_read {
            let mut at = 0;
            for (number, (field, end)) in fields.iter().zip(ends.iter()).enumerate() {
                put(self.first + number, rest.get(at..*end)?);
                at = end + field.suffix().len();
            }
            return rest.get(at..);
        }
        // The line is not as the server writes it. What was matched by rules stays the same; who
        // sent it is unknown.
        for (_, slot) in &self.needed {
            unknown.client |= *slot == FieldSlot::Client;
            unknown.forwarded |= *slot == FieldSlot::Forwarded;
        }
        let mut rest = rest;
        for (number, field) in fields.iter().enumerate() {
            let (text, after) = field.take(rest)?;
            put(self.first + number, text);
            rest = after;
        }
        Some(rest)
    }

    /// The position of the byte that ends the section.
    fn position(&self, byte: u8, rest: &[u8]) -> Option<usize> {
        if byte == b'"' && self.is_escaped {
            memchr_iter(b'"', rest).find(|at| !is_escaped(rest, *at))
        } else {
            memchr(byte, rest)
        }
    }

    /// Whether reading from the left is certainly right, as in most lines: each needed text is the
    /// only one in the section that can be its field. Then sets the ends.
    fn is_simple(&self, fields: &[FieldMatcher], text: &[u8], ends: &mut Vec<usize>) -> bool {
        let mut at = 0;
        for (number, field) in fields.iter().enumerate() {
            let is_last = number + 1 == fields.len();
            let Some(rest) = text.get(at..) else {
                return false;
            };
            let Some(length) = (if is_last {
                Some(rest.len())
            } else {
                field.take(rest).map(|(text, _)| text.len())
            }) else {
                return false;
            };
            ends.push(at + length);
            at += length + field.suffix().len();
        }
        self.needed.iter().all(|(number, _)| {
            let start = number
                .checked_sub(1)
                .map_or(0, |before| ends[before] + fields[before].suffix().len());
            self.is_only(*number, fields, text, start..ends[*number])
        })
    }

    /// Whether no other text can be this field, judged by the text itself and what stands beside
    /// it.
    fn is_only(
        &self,
        number: usize,
        fields: &[FieldMatcher],
        text: &[u8],
        found: Range<usize>,
    ) -> bool {
        let language = self.languages[number];
        if !language.accepts(&text[found.clone()])
            || language.width().is_some_and(|width| width != found.len())
        {
            return false;
        }
        let is_last = number + 1 == fields.len();
        if is_last && language.width().is_some() {
            return true;
        }
        let before = number
            .checked_sub(1)
            .map_or(&b""[..], |before| fields[before].suffix());
        let is_bounded = language.width().is_some()
            || matches!(language, Language::Address { .. })
                && before.last().is_some_and(|byte| !language.has(*byte));
        let Some(key) = fields[number].suffix().first().filter(|key| {
            !is_last && is_bounded && !language.has(**key) || language.width().is_some()
        }) else {
            return false;
        };
        memchr_iter(*key, text)
            .filter(|end| *end != found.end && fields[number].fits(text, *end))
            .all(|end| {
                let start = match language.width() {
                    Some(width) => end.checked_sub(width),
                    None => Some(
                        text[..end]
                            .iter()
                            .rposition(|byte| !language.has(*byte))
                            .map_or(0, |at| at + 1),
                    ),
                };
                !start.is_some_and(|start| {
                    text[..start].ends_with(before) && language.accepts(&text[start..end])
                })
            })
    }

    /// Considers all readings of a section that the last field ends; `false` if there is none. Sets
    /// the ends of the first one, and the needed fields in which another differs.
    fn read_all(
        &self,
        fields: &[FieldMatcher],
        text: &[u8],
        (from_right, starts, ends): (&mut Vec<u64>, &mut Vec<u64>, &mut Vec<usize>),
        unknown: &mut Unknown,
    ) -> bool {
        let all = Readings {
            fields,
            languages: &self.languages,
            text,
        };
        all.mark_from_right(from_right);
        if from_right[0] & 1 == 0 {
            return false;
        }
        all.mark_starts(from_right, starts);
        for (field, slot) in &self.needed {
            let is_unknown = !all.is_unique(*field, from_right, starts);
            unknown.client |= is_unknown && *slot == FieldSlot::Client;
            unknown.forwarded |= is_unknown && *slot == FieldSlot::Forwarded;
        }
        ends.clear();
        let mut at = 0;
        for (number, field) in fields.iter().enumerate() {
            let Some(end) = all.ends(number, at, from_right).next() else {
                return false;
            };
            ends.push(end);
            at = end + field.suffix().len();
        }
        true
    }
}

/// All readings of a text.
struct Readings<'r> {
    fields: &'r [FieldMatcher],
    languages: &'r [Language],
    /// The text up to the end of the last field.
    text: &'r [u8],
}

impl Readings<'_> {
    /// Whether a field can end at `end`, judged by what follows.
    fn can_end(&self, field: usize, end: usize, from_right: &[u64]) -> bool {
        if field + 1 == self.fields.len() {
            return end == self.text.len();
        }
        let next = end + self.fields[field].suffix().len();
        from_right
            .get(next)
            .is_some_and(|marks| marks & 1 << (field + 1) != 0)
            && self.fields[field].fits(self.text, end)
    }

    /// Whether a field can start at `start`, judged by the text before it.
    fn can_start(&self, field: usize, start: usize) -> bool {
        field.checked_sub(1).map_or(start == 0, |before| {
            self.text[..start].ends_with(self.fields[before].suffix())
        })
    }

    /// The ends of the values of a field that start at `start`, the nearest first.
    fn ends<'s>(
        &'s self,
        field: usize,
        start: usize,
        from_right: &'s [u64],
    ) -> impl Iterator<Item = usize> + 's {
        let language = self.languages[field];
        let range = match language {
            _ if let Some(width) = language.width() => {
                start + width..(start + width + 1).min(self.text.len() + 1)
            }
            Language::Text | Language::TextWithPort | Language::ServerText => {
                start..self.text.len() + 1
            }
            _ => {
                let longest = self.text.len().min(start + MAX_WORD);
                start
                    ..self.text[start..longest]
                        .iter()
                        .position(|byte| !language.has(*byte))
                        .map_or(longest, |length| start + length)
                        + 1
            }
        };
        range.filter(move |end| {
            self.can_end(field, *end, from_right) && language.accepts(&self.text[start..*end])
        })
    }

    /// Marks from where on the text can be read.
    fn mark_from_right(&self, from_right: &mut Vec<u64>) {
        from_right.clear();
        from_right.resize(self.text.len() + 1, 0);
        for (field, language) in self.languages.iter().enumerate().rev() {
            let mut is_readable = false;
            // Whether digits lead from here to an end.
            let mut is_port = false;
            for at in (0..=self.text.len()).rev() {
                let byte = self.text.get(at).copied();
                is_readable = match language {
                    Language::ClfTime
                    | Language::Width(_)
                    | Language::TimeWords(_)
                    | Language::Ident
                    | Language::Address { .. } => {
                        self.can_start(field, at)
                            && self.ends(field, at, from_right).next().is_some()
                    }
                    Language::TextWithPort => {
                        let is_before_port = is_port && byte == Some(b':');
                        is_port = self.can_end(field, at, from_right)
                            || is_port && byte.is_some_and(|byte| Language::Number.has(byte));
                        is_before_port || is_readable
                    }
                    _ => {
                        self.can_end(field, at, from_right)
                            || is_readable && byte.is_some_and(|byte| language.has(byte))
                    }
                };
                from_right[at] |= u64::from(is_readable) << field;
            }
        }
    }

    /// Marks where a field starts in some reading of the whole text.
    fn mark_starts(&self, from_right: &[u64], starts: &mut Vec<u64>) {
        starts.clear();
        starts.resize(self.text.len() + 1, 0);
        starts[0] = 1;
        for field in 0..self.fields.len() - 1 {
            let language = self.languages[field];
            let length = self.fields[field].suffix().len();
            let mut is_inside = false;
            // The last position after which only digits follow a colon.
            let mut is_port = false;
            for at in 0..=self.text.len() {
                let is_start = starts[at] & 1 << field != 0;
                if matches!(
                    language,
                    Language::ClfTime
                        | Language::Width(_)
                        | Language::TimeWords(_)
                        | Language::Ident
                        | Language::Address { .. }
                ) {
                    if is_start {
                        for end in self.ends(field, at, from_right) {
                            starts[end + length] |= 1 << (field + 1);
                        }
                    }
                    continue;
                }
                let before = at
                    .checked_sub(1)
                    .and_then(|before| self.text.get(before))
                    .copied();
                is_port = before == Some(b':') && is_inside
                    || is_port && before.is_some_and(|byte| Language::Number.has(byte));
                is_inside = is_start || is_inside && before.is_some_and(|byte| language.has(byte));
                if is_inside
                    && (language != Language::TextWithPort || is_port)
                    && self.can_end(field, at, from_right)
                {
                    starts[at + length] |= 1 << (field + 1);
                }
            }
        }
    }

    /// Whether a field has the same text in all readings.
    fn is_unique(&self, field: usize, from_right: &[u64], starts: &[u64]) -> bool {
        let starts =
            (0..=self.text.len()).filter(|at| starts[*at] & from_right[*at] & 1 << field != 0);
        starts
            .flat_map(|start| {
                self.ends(field, start, from_right)
                    .map(move |end| (start, end))
            })
            .nth(1)
            .is_none()
    }
}
