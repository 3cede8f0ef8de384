//! From the parts of a format string to a plan.
//!
//! Here it is decided which field counts where several mean the same, and how the end of each is found. What cannot be
//! told apart in a line is refused.

use super::{AskedForm, Coded, Field, FormatError, Named, Part, Plan, Quotes, Shape, Slot, TimeForm};
use crate::format::part::joined;
use crate::format::{Escapes, Meaning};

use super::field::Stop;
use crate::time::CLF_TIME_LEN;

/// Headers that stand for the client in a format that names no other, the best first.
const CLIENT_HEADERS: [&str; 4] = ["cf-connecting-ip", "true-client-ip", "x-real-ip", "x-forwarded-for"];

/// Compiles parts.
pub(in crate::format) fn compile(parts: Vec<Part>, escapes: Escapes) -> Result<Plan, FormatError> {
    let mut parts = joined(parts).into_iter().peekable();
    let mut start = Vec::new();
    let mut named: Vec<(Named, Vec<u8>)> = Vec::new();
    while let Some(part) = parts.next() {
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
    let slots = slots(named.iter().map(|(field, _)| field));
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
    Ok(Plan {
        fields: fields(&start, &named, &slots, escapes),
        names: named.into_iter().map(|(field, _)| (field.name, field.meaning)).collect(),
        start: start.into(),
        escapes,
        coded: Coded::No,
        time,
        asked,
        first_address,
        is_columns: false,
    })
}

/// The slot of each field: of those that mean the same, the one with the lowest rank has it.
fn slots<'a>(named: impl Iterator<Item = &'a Named> + Clone) -> Vec<Option<Slot>> {
    let own = |field: &Named| if field.shape == Shape::Url { Some(Slot::Url) } else { Slot::of(&field.meaning) };
    let best =
        |slot: Slot| named.clone().enumerate().filter(|(_, f)| own(f) == Some(slot)).min_by_key(|(at, f)| (f.rank, *at)).map(|(at, _)| at);
    let mut slots: Vec<_> = named.clone().enumerate().map(|(at, field)| own(field).filter(|slot| best(*slot) == Some(at))).collect();
    if !slots.contains(&Some(Slot::Client)) {
        // Where an administrator put a header in the client's place, it is the client, as in a log that `clf` reads.
        let called = |name: &&str| named.clone().position(|f| matches!(&f.meaning, Meaning::Header(header) if header == *name));
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
        let quoted = escapes == Escapes::Written && !quotes.is_multiple_of(2) && behind.starts_with(b"\"");
        let field_stop = stop(field, behind, quoted, next.is_none());
        fields.push(Field::new(*slot, field_stop, behind).with(field.shape == Shape::Ported, next.is_some_and(begins_like_number)));
        quotes += quotes_in(behind);
    }
    fields.into()
}

fn quotes_in(text: &[u8]) -> usize {
    text.iter().filter(|b| **b == b'"').count()
}

/// Whether the field begins with a digit or is a dash.
fn begins_like_number(field: &Named) -> bool {
    matches!(field.meaning, Meaning::Status | Meaning::Bytes) || field.shape == Shape::Clf
}

fn stop(field: &Named, behind: &[u8], quoted: bool, last: bool) -> Stop {
    let long = matches!(
        field.meaning,
        Meaning::Request | Meaning::Target | Meaning::Path | Meaning::Query | Meaning::Referer | Meaning::UserAgent
    );
    match &field.shape {
        shape if last => Stop::End { quoted, number: *shape == Shape::Number },
        Shape::Clf => Stop::Width(CLF_TIME_LEN as u16),
        Shape::Strftime(pattern) => Stop::Behind(pattern.matches(&*String::from_utf8_lossy(behind)).count() as u16),
        _ if quoted => Stop::Quote,
        Shape::List if behind.starts_with(b" ") => Stop::List,
        _ if matches!(field.meaning, Meaning::Request | Meaning::Protocol) && behind.starts_with(b" ") => Stop::Protocol,
        _ if long => Stop::Far,
        _ => Stop::Near,
    }
}

/// The plan of a list of columns.
pub(super) fn columns(names: &[(&str, Meaning)], separator: u8, quoted: Quotes) -> Plan {
    let named: Vec<Named> = names.iter().map(|(name, meaning)| Named::new(*name, meaning.clone())).collect();
    let slots = slots(named.iter());
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
    }
}
