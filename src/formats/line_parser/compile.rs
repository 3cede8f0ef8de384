//! Compiles the items of a format string to a parser.
//!
//! Chooses among fields of the same kind, and decides how the end of each field is found. Formats
//! with ambiguous fields are rejected.

use super::field::{Delimiter, TrimMode};
use super::pairs::PairList;
use super::{
    ClientField, Encoding, FieldItem, FieldMatcher, FieldShape, FormatError, FormatItem,
    FormatLineParser, Language, Quotes, RequestForm, TimeFormat,
};
use crate::formats::fields::FieldSlot;
use crate::formats::items::{Author, joined};
use crate::formats::{Escapes, FieldKind};
use crate::log::time::CLF_TIME_LEN;

/// Headers used as the client if no other field has it, the best first.
const CLIENT_HEADERS: [&str; 4] = [
    "cf-connecting-ip",
    "true-client-ip",
    "x-real-ip",
    "x-forwarded-for",
];

/// Compiles items.
pub(in crate::formats) fn compile(
    parts: Vec<FormatItem>,
    escapes: Escapes,
) -> Result<FormatLineParser, FormatError> {
    let mut start = Vec::new();
    let mut fields_with_suffixes: Vec<(FieldItem, Vec<u8>)> = Vec::new();
    let mut is_spaced = false;
    let single = |mut text: Vec<u8>| {
        text.dedup_by(|next, byte| *next == b' ' && *byte == b' ');
        text
    };
    for part in joined(parts) {
        let part = match part {
            FormatItem::Text(text) if memchr::memmem::find(&text, b"  ").is_some() => {
                is_spaced = true;
                FormatItem::Text(single(text))
            }
            part => part,
        };
        match (part, fields_with_suffixes.last_mut()) {
            (FormatItem::Text(text), None) => start = text,
            (FormatItem::Text(text), Some((_, suffix))) => *suffix = text,
            (FormatItem::Field(field), Some((before, suffix))) if suffix.is_empty() => {
                return Err(FormatError::Adjacent {
                    first: before.name.clone(),
                    second: field.name,
                });
            }
            (FormatItem::Field(field), _) => fields_with_suffixes.push((field, Vec::new())),
        }
    }
    if fields_with_suffixes.is_empty() {
        return Err(FormatError::NoField(String::new()));
    }
    let slots = slots(&fields_with_suffixes);
    if !slots.iter().any(|slot| {
        matches!(
            slot,
            FieldSlot::Request | FieldSlot::Target | FieldSlot::Path | FieldSlot::Url
        )
    }) {
        return Err(FormatError::NoRequest);
    }
    let parser = FormatLineParser {
        start: start.into(),
        is_spaced,
        ..assemble(fields_with_suffixes, &slots, escapes)
    };
    Ok(parser.with_sections())
}

/// The parser for fields in these slots, each with the text after it.
fn assemble(
    fields_with_suffixes: Vec<(FieldItem, Vec<u8>)>,
    slots: &[FieldSlot],
    escapes: Escapes,
) -> FormatLineParser {
    let chosen = |slot: FieldSlot| {
        fields_with_suffixes
            .iter()
            .zip(slots)
            .find(|(_, s)| **s == slot)
            .map(|((field, _), _)| field)
    };
    let client = match chosen(FieldSlot::Client) {
        Some(FieldItem {
            kind: FieldKind::Header(_),
            author: Author::Server,
            ..
        }) => ClientField::ProxyList,
        Some(FieldItem {
            kind: FieldKind::Header(_),
            ..
        }) => ClientField::Header,
        _ => ClientField::Peer,
    };
    let time = match chosen(FieldSlot::Time).map(|field| &field.shape) {
        None if slots.contains(&FieldSlot::Date) => TimeFormat::DateAndTime,
        Some(FieldShape::Clf) => TimeFormat::Clf,
        Some(FieldShape::Strftime(pattern)) => TimeFormat::Strftime(pattern.clone()),
        _ => TimeFormat::Written,
    };
    let request_form = match chosen(FieldSlot::Request).map(|field| &field.shape) {
        Some(FieldShape::RequestUrl) => RequestForm::LineWithUrl,
        Some(_) => RequestForm::Line,
        None if slots.contains(&FieldSlot::Url) => RequestForm::Url,
        None => RequestForm::Parts,
    };
    FormatLineParser {
        fields: fields(&fields_with_suffixes, slots, escapes),
        languages: fields_with_suffixes
            .iter()
            .map(|(field, _)| Language::new(field))
            .collect(),
        is_unescaped: fields_with_suffixes
            .iter()
            .any(|(field, _)| field.author == Author::Unescaped),
        sections: Box::default(),
        field_names: fields_with_suffixes
            .into_iter()
            .map(|(field, _)| (field.name, field.kind))
            .collect(),
        start: Box::default(),
        escapes,
        encoding: Encoding::No,
        time,
        request_form,
        client,
        is_columns: false,
        is_spaced: false,
        pairs: None,
        fast_path: None,
    }
}

/// The slot of each field; of several of the same kind, the one with the lowest rank.
fn slots(fields: &[(FieldItem, Vec<u8>)]) -> Vec<FieldSlot> {
    let fields = || fields.iter().map(|(field, _)| field);
    let slot_of = |field: &FieldItem| {
        if field.shape == FieldShape::Url {
            FieldSlot::Url
        } else {
            FieldSlot::from_kind(&field.kind)
        }
    };
    let rank = |slot| {
        fields()
            .filter(|f| slot_of(f) == slot)
            .map(|f| f.rank)
            .min()
    };
    let mut slots = Vec::new();
    for field in fields() {
        let slot = slot_of(field);
        let is_chosen = rank(slot) == Some(field.rank) && !slots.contains(&slot);
        slots.push(if is_chosen { slot } else { FieldSlot::Unused });
    }
    if !slots.contains(&FieldSlot::Client) {
        // A header in the position of the client is the client, as in a log that `clf` parses.
        let called = |name: &&str| {
            fields().position(|f| matches!(&f.kind, FieldKind::Header(header) if header == *name))
        };
        if let Some(at) = CLIENT_HEADERS.iter().find_map(called) {
            slots[at] = FieldSlot::Client;
        }
    }
    slots
}

fn fields(
    fields_with_suffixes: &[(FieldItem, Vec<u8>)],
    slots: &[FieldSlot],
    escapes: Escapes,
) -> Box<[FieldMatcher]> {
    let mut fields = Vec::with_capacity(fields_with_suffixes.len());
    for (at, ((field, suffix), slot)) in fields_with_suffixes.iter().zip(slots).enumerate() {
        let next = fields_with_suffixes.get(at + 1).map(|(field, _)| field);
        // Each quote in an escaped text has a backslash.
        let is_before_quote = escapes == Escapes::Written && suffix.starts_with(b"\"");
        let stop = stop(field, suffix, is_before_quote, next.is_none());
        fields.push(
            FieldMatcher::new(*slot, stop, suffix)
                .with(trim(field), next.is_some_and(begins_like_number)),
        );
    }
    fields.into()
}

/// Whether the field starts with a digit or is a dash.
fn begins_like_number(field: &FieldItem) -> bool {
    matches!(field.shape, FieldShape::Number | FieldShape::Clf)
}

fn trim(field: &FieldItem) -> TrimMode {
    match field.shape {
        FieldShape::Ported => TrimMode::Port,
        FieldShape::QueryMark => TrimMode::QueryMark,
        _ => TrimMode::Nothing,
    }
}

fn stop(field: &FieldItem, suffix: &[u8], quoted: bool, last: bool) -> Delimiter {
    let long = matches!(
        field.kind,
        FieldKind::Request
            | FieldKind::Target
            | FieldKind::Path
            | FieldKind::Query
            | FieldKind::UserAgent
    );
    match &field.shape {
        shape if last => Delimiter::End {
            quoted,
            number: *shape == FieldShape::Number,
        },
        FieldShape::Clf => Delimiter::Width(CLF_TIME_LEN as u16),
        FieldShape::WrittenWide(width) => Delimiter::Width(*width),
        // Before another byte the words need no count: asctime pads a day of one digit.
        FieldShape::WrittenWords(words) if suffix.starts_with(b" ") => {
            Delimiter::Blanks(words.saturating_sub(1))
        }
        FieldShape::WrittenWords(_) => Delimiter::Far,
        FieldShape::Strftime(pattern) => {
            Delimiter::After(pattern.matches(&*String::from_utf8_lossy(suffix)).count() as u16)
        }
        _ if quoted && long => Delimiter::FarQuote,
        _ if quoted => Delimiter::NearQuote,
        FieldShape::List if suffix.starts_with(b" ") => Delimiter::List,
        _ if matches!(field.kind, FieldKind::Request | FieldKind::Protocol)
            && suffix.starts_with(b" ") =>
        {
            Delimiter::Protocol
        }
        _ if long => Delimiter::Far,
        _ => Delimiter::Near,
    }
}

/// Turns a format into a list of columns that may be quoted.
pub(super) fn to_columns(mut parser: FormatLineParser) -> Result<FormatLineParser, FormatError> {
    let last = parser.fields.len() - 1;
    let separator = parser.fields[0].suffix().to_vec();
    let are_same = parser.fields[..last]
        .iter()
        .all(|field| field.suffix() == separator);
    if separator.len() != 1
        || !are_same
        || !parser.start.is_empty()
        || !parser.fields[last].suffix().is_empty()
    {
        return Err(FormatError::NoColumns);
    }
    for (at, field) in parser.fields.iter_mut().enumerate() {
        field.stop = Delimiter::Column {
            quotes: Quotes::Doubled,
            last: at == last,
        };
        *field = field.clone().ending_at(&separator);
    }
    Ok(FormatLineParser {
        languages: Box::default(),
        escapes: Escapes::Doubled,
        ..parser
    }
    .with_sections())
}

/// Compiles a format that ends in pairs in any order.
pub(super) fn pairs(
    items: Vec<FormatItem>,
    escapes: Escapes,
) -> Result<FormatLineParser, FormatError> {
    let mut items = joined(items);
    let pairs = PairList::take(&mut items)?;
    let mut parser = compile(items, escapes)?;
    parser.languages = parser.languages[..pairs.before()].into();
    Ok(FormatLineParser {
        pairs: Some(pairs),
        ..parser
    }
    .with_sections())
}

/// The parser for a list of columns.
pub(super) fn columns(
    field_names: &[(&str, FieldKind)],
    separator: u8,
    quoted: Quotes,
) -> FormatLineParser {
    let columns: Vec<_> = field_names
        .iter()
        .map(|(name, kind)| (FieldItem::new(*name, kind.clone()), vec![separator]))
        .collect();
    let slots = slots(&columns);
    let column = |(at, slot): (usize, &FieldSlot)| {
        FieldMatcher::new(
            *slot,
            Delimiter::Column {
                quotes: quoted,
                last: at + 1 == slots.len(),
            },
            &[separator],
        )
    };
    let escapes = if quoted == Quotes::Never {
        Escapes::None
    } else {
        Escapes::Doubled
    };
    FormatLineParser {
        fields: slots.iter().enumerate().map(column).collect(),
        languages: Box::default(),
        is_columns: true,
        ..assemble(columns, &slots, escapes)
    }
}
