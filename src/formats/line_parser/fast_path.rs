//! The fast_path way from a line to its fields, for plans that take no thought: a client, a time and a request line, each written
//! as usual, and quotes only where the parser has them. Of all other lines [`CapturedFields`](super::captured::CapturedFields) says what they mean;
//! where both could, they say the same.

use super::captured::{Encoding, RequestForm, TimeFormat};
use super::field::{CaptureSlot, Delimiter, FieldMatcher, TrimMode};
use super::{Escapes, Fields, FormatLineParser};
use crate::formats::bytes::begins;
use crate::formats::fast_values::{FastValues, ValueSlot};
use crate::formats::{RequestField, TimeField, iso};
use crate::time::LogTime;

/// What is to be known of a parser for that.
#[derive(Debug, Clone)]
pub(super) struct FastPath {
    /// Where each field goes.
    places: Box<[ValueSlot]>,
    is_clf: bool,
}

impl FastPath {
    /// `None` where a line of the parser takes more.
    pub(super) fn of(parser: &FormatLineParser) -> Option<Self> {
        let is_clf = parser.time == TimeFormat::Clf;
        let starts_like_clf =
            parser.encoding == Encoding::No && parser.asked == RequestForm::Line && !parser.client_is_list && !parser.is_columns;
        if !starts_like_clf || !is_clf && parser.time != TimeFormat::Written {
            return None;
        }
        let places = parser.fields.iter().map(place).collect::<Option<Box<[_]>>>()?;
        let is_text = |place| matches!(place, ValueSlot::Request | ValueSlot::Referer | ValueSlot::UserAgent);
        let in_quotes =
            parser.escapes == Escapes::Written && places.iter().zip(&parser.fields).all(|(p, field)| !is_text(*p) || is_quoted(field));
        in_quotes.then_some(Self { places, is_clf })
    }

    /// Tells the fields of a line suffix its start, if it is written as usual; whether it is.
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
            asked: RequestField::Line(values.get(ValueSlot::Request)),
            status: values.get(ValueSlot::Status),
            bytes: values.get(ValueSlot::Bytes),
            referer: values.get(ValueSlot::Referer),
            user_agent: values.get(ValueSlot::UserAgent),
            escapes: Escapes::Written,
        }
    }
}

/// Where a field goes; `None` where it takes more to emit.
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

/// Where a field ends that begins at `at`; `None` as well where it takes more to emit.
#[inline]
fn end(field: &FieldMatcher, line: &[u8], at: usize, first_quote: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    // A backslash before a quote may belong to it or not.
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
