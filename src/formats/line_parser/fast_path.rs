//! The fast path for simple formats: client, time and request line in their usual form, and quotes only where the format
//! has them. All other lines go through [`CapturedFields`](super::captured::CapturedFields), with the same result where
//! both apply.

use super::captured::{Encoding, RequestForm, TimeFormat};
use super::field::{CaptureSlot, Delimiter, FieldMatcher, TrimMode};
use super::{Escapes, Fields, FormatLineParser};
use crate::formats::bytes::begins;
use crate::formats::fast_values::{FastValues, ValueSlot};
use crate::formats::{RequestField, TimeField, iso};
use crate::time::LogTime;

/// What the fast path needs to know about a format.
#[derive(Debug, Clone)]
pub(super) struct FastPath {
    /// The value slot of each field.
    places: Box<[ValueSlot]>,
    is_clf: bool,
}

impl FastPath {
    /// `None` if the format is not simple.
    pub(super) fn of(parser: &FormatLineParser) -> Option<Self> {
        let is_clf = parser.time == TimeFormat::Clf;
        let starts_like_clf =
            parser.encoding == Encoding::No && parser.request_form == RequestForm::Line && !parser.client_is_list && !parser.is_columns;
        if !starts_like_clf || !is_clf && parser.time != TimeFormat::Written {
            return None;
        }
        let places = parser.fields.iter().map(place).collect::<Option<Box<[_]>>>()?;
        let is_text = |place| matches!(place, ValueSlot::Request | ValueSlot::Referer | ValueSlot::UserAgent);
        let in_quotes =
            parser.escapes == Escapes::Written && places.iter().zip(&parser.fields).all(|(p, field)| !is_text(*p) || is_quoted(field));
        in_quotes.then_some(Self { places, is_clf })
    }

    /// Parses a line after its literal start and emits its fields; `false` if it is not simple.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub(super) fn emit(
        &self,
        fields: &[FieldMatcher],
        (line, start): (&[u8], usize),
        first_quote: impl Fn(usize) -> Option<usize>,
        time: &mut Vec<u8>,
        emit: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let mut values = FastValues::new(line);
        let mut at = start;
        for (field, place) in fields.iter().zip(&self.places) {
            let Some(end) = end(field, line, at, &first_quote) else { return false };
            values.put(*place, &line[at..end]);
            at = end + field.suffix().len();
        }
        if at == line.len() {
            emit(&self.fields(&values, time));
        }
        at == line.len()
    }

    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    fn fields<'a>(&self, values: &FastValues<'a>, buffers: &'a mut Vec<u8>) -> Fields<'a> {
        let time = values.get(ValueSlot::Time);
        Fields {
            client: values.get(ValueSlot::Client),
            forwarded: b"",
            host: values.get(ValueSlot::Host),
            time: if self.is_clf {
                TimeField::Clf(time)
            } else if iso::to_clf(time, buffers) {
                TimeField::Clf(buffers)
            } else {
                TimeField::Parsed(LogTime::parse_any_format(time))
            },
            request: RequestField::Line(values.get(ValueSlot::Request)),
            status: values.get(ValueSlot::Status),
            bytes: values.get(ValueSlot::Bytes),
            referer: values.get(ValueSlot::Referer),
            user_agent: values.get(ValueSlot::UserAgent),
            escapes: Escapes::Written,
        }
    }
}

/// The slot of a field; `None` if the field is not simple.
fn place(field: &FieldMatcher) -> Option<ValueSlot> {
    let is_simple = matches!(
        field.stop,
        Delimiter::Near | Delimiter::Far | Delimiter::Width(_) | Delimiter::NearQuote | Delimiter::FarQuote | Delimiter::End { .. }
    );
    if !is_simple || field.trim != TrimMode::Nothing {
        return None;
    }
    Some(match field.slot {
        None => ValueSlot::None,
        Some(CaptureSlot::Client) => ValueSlot::Client,
        Some(CaptureSlot::Host) => ValueSlot::Host,
        Some(CaptureSlot::Time) => ValueSlot::Time,
        Some(CaptureSlot::Request) => ValueSlot::Request,
        Some(CaptureSlot::Status) => ValueSlot::Status,
        Some(CaptureSlot::Bytes) => ValueSlot::Bytes,
        Some(CaptureSlot::Referer) => ValueSlot::Referer,
        Some(CaptureSlot::UserAgent) => ValueSlot::UserAgent,
        Some(_) => return None,
    })
}

fn is_quoted(field: &FieldMatcher) -> bool {
    matches!(field.stop, Delimiter::NearQuote | Delimiter::FarQuote | Delimiter::End { quoted: true, .. })
}

/// The end of a field that starts at `at`; `None` if it is not simple.
#[inline]
fn end(field: &FieldMatcher, line: &[u8], at: usize, first_quote: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    // A backslash before the quote may or may not escape it.
    let is_bare = |quote: usize| quote == at || line[quote - 1] != b'\\';
    match field.stop {
        Delimiter::NearQuote | Delimiter::FarQuote => first_quote(at).filter(|quote| is_bare(*quote) && field.fits(line, *quote)),
        Delimiter::End { quoted: true, number } => {
            let end = line.len().checked_sub(field.suffix().len()).filter(|end| *end >= at)?;
            let is_end = is_bare(end) && first_quote(at).is_none_or(|quote| quote >= end) && begins(&line[end..], field.suffix());
            (is_end && !number).then_some(end)
        }
        _ => Some(at + field.take(line.get(at..)?)?.0.len()),
    }
}
