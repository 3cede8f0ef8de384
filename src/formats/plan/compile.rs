//! From the parts of a format string to a plan.
//!
//! Here it is decided which field counts where several mean the same, and how the end of each is found. What cannot be
//! told apart in a line is refused.

use super::field::{Stop, Trim};
use super::short::Short;
use super::{AskedForm, Coded, Field, FormatError, Named, Part, Plan, Quotes, Shape, Slot, TimeForm};
use crate::formats::part::joined;
use crate::formats::{Escapes, Meaning};
use crate::time::CLF_TIME_LEN;

/// Headers that stand for the client in a format that names no other, the best first.
const CLIENT_HEADERS: [&str; 4] = ["cf-connecting-ip", "true-client-ip", "x-real-ip", "x-forwarded-for"];

/// Compiles parts.
pub(in crate::formats) fn compile(parts: Vec<Part>, escapes: Escapes) -> Result<Plan, FormatError> {
    let mut start = Vec::new();
    let mut named: Vec<(Named, Vec<u8>)> = Vec::new();
    for part in joined(parts) {
        match (part, named.last_mut()) {
            (Part::Text(text), None) => start = text,
            (Part::Text(text), Some((_, behind))) => *behind = text,
            (Part::Field(field), Some((before, behind))) if behind.is_empty() => {
                return Err(FormatError::Adjacent { first: before.name.clone(), second: field.name });
            }
            (Part::Field(field), _) => named.push((field, Vec::new())),
        }
    }
    if named.is_empty() {
        return Err(FormatError::NoField(String::new()));
    }
    let slots = slots(&named.iter().map(|(field, _)| field).collect::<Vec<_>>());
    if !slots.iter().flatten().any(|slot| matches!(slot, Slot::Request | Slot::Target | Slot::Path | Slot::Url)) {
        return Err(FormatError::NoRequest);
    }
    let chosen = |slot: Slot| named.iter().zip(&slots).find(|(_, s)| **s == Some(slot)).map(|((field, _), _)| field);
    let first_address = chosen(Slot::Client).is_some_and(|field| field.meaning != Meaning::Client);
    let time = match chosen(Slot::Time).map(|field| &field.shape) {
        None if slots.contains(&Some(Slot::Date)) => TimeForm::Apart,
        Some(Shape::Clf) => TimeForm::Clf,
        Some(Shape::Strftime(pattern)) => TimeForm::Strftime(pattern.clone()),
        _ => TimeForm::Written,
    };
    let asked = match chosen(Slot::Request).map(|field| &field.shape) {
        Some(Shape::RequestUrl) => AskedForm::LineWithUrl,
        Some(_) => AskedForm::Line,
        None if slots.contains(&Some(Slot::Url)) => AskedForm::Url,
        None => AskedForm::Parts,
    };
    let plan = Plan {
        fields: fields(&start, &named, &slots, escapes),
        names: named.into_iter().map(|(field, _)| (field.name, field.meaning)).collect(),
        start: start.into(),
        escapes,
        coded: Coded::No,
        time,
        asked,
        first_address,
        is_columns: false,
        short: None,
    };
    Ok(Plan { short: Short::of(&plan), ..plan })
}

/// The slot of each field: of those that mean the same, the one with the lowest rank has it.
fn slots(fields: &[&Named]) -> Vec<Option<Slot>> {
    let own = |field: &Named| if field.shape == Shape::Url { Some(Slot::Url) } else { Slot::of(&field.meaning) };
    let rank = |slot: Slot| fields.iter().filter(|f| own(f) == Some(slot)).map(|f| f.rank).min();
    let mut slots: Vec<Option<Slot>> = Vec::with_capacity(fields.len());
    for field in fields {
        let slot = own(field).filter(|slot| rank(*slot) == Some(field.rank) && !slots.contains(&Some(*slot)));
        slots.push(slot);
    }
    if !slots.contains(&Some(Slot::Client)) {
        // Where an administrator put a header in the client's place, it is the client, as in a log that `clf` reads.
        let called = |name: &&str| fields.iter().position(|f| matches!(&f.meaning, Meaning::Header(header) if header == *name));
        if let Some(at) = CLIENT_HEADERS.iter().find_map(called) {
            slots[at] = Some(Slot::Client);
        }
    }
    slots
}

fn fields(start: &[u8], named: &[(Named, Vec<u8>)], slots: &[Option<Slot>], escapes: Escapes) -> Box<[Field]> {
    let mut quotes = quotes_in(start);
    let mut fields = Vec::with_capacity(named.len());
    for (at, ((field, behind), slot)) in named.iter().zip(slots).enumerate() {
        let next = named.get(at + 1).map(|(field, _)| field);
        let in_quotes = escapes == Escapes::Written && !quotes.is_multiple_of(2) && behind.starts_with(b"\"");
        let stop = stop(field, behind, in_quotes, next.is_none());
        fields.push(Field::new(*slot, stop, behind).with(trim(field), next.is_some_and(begins_like_number)));
        quotes += quotes_in(behind);
    }
    fields.into()
}

fn quotes_in(text: &[u8]) -> usize {
    memchr::memchr_iter(b'"', text).count()
}

/// Whether the field begins with a digit or is a dash.
fn begins_like_number(field: &Named) -> bool {
    matches!(field.shape, Shape::Number | Shape::Clf)
}

fn trim(field: &Named) -> Trim {
    match field.shape {
        Shape::Ported => Trim::Port,
        Shape::QueryMark => Trim::QueryMark,
        _ => Trim::Nothing,
    }
}

fn stop(field: &Named, behind: &[u8], quoted: bool, last: bool) -> Stop {
    let long = matches!(field.meaning, Meaning::Request | Meaning::Target | Meaning::Path | Meaning::Query | Meaning::UserAgent);
    match &field.shape {
        shape if last => Stop::End { quoted, number: *shape == Shape::Number },
        Shape::Clf => Stop::Width(CLF_TIME_LEN as u16),
        Shape::WrittenWide(width) => Stop::Width(*width),
        Shape::Strftime(pattern) => Stop::Behind(pattern.matches(&*String::from_utf8_lossy(behind)).count() as u16),
        _ if quoted && long => Stop::FarQuote,
        _ if quoted => Stop::NearQuote,
        Shape::List if behind.starts_with(b" ") => Stop::List,
        _ if matches!(field.meaning, Meaning::Request | Meaning::Protocol) && behind.starts_with(b" ") => Stop::Protocol,
        _ if long => Stop::Far,
        _ => Stop::Near,
    }
}

/// The plan of a list of columns.
pub(super) fn columns(names: &[(&str, Meaning)], separator: u8, quoted: Quotes) -> Plan {
    let columns: Vec<Named> = names.iter().map(|(name, meaning)| Named::new(*name, meaning.clone())).collect();
    let slots = slots(&columns.iter().collect::<Vec<_>>());
    let quoted = quoted == Quotes::Around;
    let column = |(at, slot): (usize, &Option<Slot>)| Field::new(*slot, Stop::Column { quoted, last: at + 1 == slots.len() }, &[separator]);
    let has = |slot| slots.contains(&Some(slot));
    Plan {
        start: Box::new([]),
        fields: slots.iter().enumerate().map(column).collect(),
        names: names.iter().map(|(name, meaning)| ((*name).to_owned(), meaning.clone())).collect(),
        escapes: if quoted { Escapes::Written } else { Escapes::None },
        coded: Coded::No,
        time: if !has(Slot::Time) && has(Slot::Date) { TimeForm::Apart } else { TimeForm::Written },
        asked: if has(Slot::Request) { AskedForm::Line } else { AskedForm::Parts },
        first_address: !names.iter().any(|(_, meaning)| *meaning == Meaning::Client),
        is_columns: true,
        short: None,
    }
}
