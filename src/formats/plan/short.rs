//! The short way from a line to its fields, for plans that take no thought: a client, a time and a request line, each written
//! as usual, and quotes only where the plan has them. Of all other lines [`Filled`](super::filled::Filled) says what they mean;
//! where both could, they say the same.

use super::field::{Field, Slot, Stop, Trim};
use super::filled::{AskedForm, Coded, TimeForm};
use super::{Escapes, Fields, Plan};
use crate::formats::begins::begins;
use crate::formats::values::{Place, Values};
use crate::formats::{Asked, When, iso};
use crate::time::LogTime;

/// What is to be known of a plan for that.
#[derive(Debug, Clone)]
pub(super) struct Short {
    /// Where each field goes.
    places: Box<[Place]>,
    is_clf: bool,
}

impl Short {
    /// `None` where a line of the plan takes more.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let is_clf = plan.time == TimeForm::Clf;
        let is_usual = plan.coded == Coded::No && plan.asked == AskedForm::Line && !plan.first_address && !plan.is_columns;
        if !is_usual || !is_clf && plan.time != TimeForm::Written {
            return None;
        }
        let places = plan.fields.iter().map(place).collect::<Option<Box<[_]>>>()?;
        let is_text = |place| matches!(place, Place::Request | Place::Referer | Place::UserAgent);
        let in_quotes =
            plan.escapes == Escapes::Written && places.iter().zip(&plan.fields).all(|(p, field)| !is_text(*p) || is_quoted(field));
        in_quotes.then_some(Self { places, is_clf })
    }

    /// Tells the fields of a line behind its start, if it is written as usual; whether it is.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub(super) fn tell(
        &self,
        fields: &[Field],
        (line, start): (&[u8], usize),
        first_quote: impl Fn(usize) -> Option<usize>,
        time: &mut Vec<u8>,
        tell: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let mut values = Values::new(line);
        let mut at = start;
        for (field, place) in fields.iter().zip(&self.places) {
            let Some(end) = end(field, line, at, &first_quote) else { return false };
            values.put(*place, &line[at..end]);
            at = end + field.behind().len();
        }
        if at == line.len() {
            tell(&self.fields(&values, time));
        }
        at == line.len()
    }

    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    fn fields<'a>(&self, values: &Values<'a>, room: &'a mut Vec<u8>) -> Fields<'a> {
        let time = values.get(Place::Time);
        Fields {
            client: values.get(Place::Client),
            forwarded: b"",
            host: values.get(Place::Host),
            time: if self.is_clf {
                When::Clf(time)
            } else if iso::to_clf(time, room) {
                When::Clf(room)
            } else {
                When::Read(LogTime::parse_written(time))
            },
            asked: Asked::Line(values.get(Place::Request)),
            status: values.get(Place::Status),
            bytes: values.get(Place::Bytes),
            referer: values.get(Place::Referer),
            user_agent: values.get(Place::UserAgent),
            escapes: Escapes::Written,
        }
    }
}

/// Where a field goes; `None` where it takes more to tell.
fn place(field: &Field) -> Option<Place> {
    let is_simple = matches!(field.stop, Stop::Near | Stop::Far | Stop::Width(_) | Stop::NearQuote | Stop::FarQuote | Stop::End { .. });
    if !is_simple || field.trim != Trim::Nothing {
        return None;
    }
    Some(match field.slot {
        None => Place::Nowhere,
        Some(Slot::Client) => Place::Client,
        Some(Slot::Host) => Place::Host,
        Some(Slot::Time) => Place::Time,
        Some(Slot::Request) => Place::Request,
        Some(Slot::Status) => Place::Status,
        Some(Slot::Bytes) => Place::Bytes,
        Some(Slot::Referer) => Place::Referer,
        Some(Slot::UserAgent) => Place::UserAgent,
        Some(_) => return None,
    })
}

fn is_quoted(field: &Field) -> bool {
    matches!(field.stop, Stop::NearQuote | Stop::FarQuote | Stop::End { quoted: true, .. })
}

/// Where a field ends that begins at `at`; `None` as well where it takes more to tell.
#[inline]
fn end(field: &Field, line: &[u8], at: usize, first_quote: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    // A backslash before a quote may belong to it or not.
    let is_bare = |quote: usize| quote == at || line[quote - 1] != b'\\';
    match field.stop {
        Stop::NearQuote | Stop::FarQuote => first_quote(at).filter(|quote| is_bare(*quote) && field.fits(line, *quote)),
        Stop::End { quoted: true, number } => {
            let end = line.len().checked_sub(field.behind().len()).filter(|end| *end >= at)?;
            let is_end = is_bare(end) && first_quote(at).is_none_or(|quote| quote >= end) && begins(&line[end..], field.behind());
            (is_end && !number).then_some(end)
        }
        _ => Some(at + field.take(line.get(at..)?)?.0.len()),
    }
}
