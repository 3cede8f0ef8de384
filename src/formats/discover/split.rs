//! Splits lines into columns at the texts that they have in common.
//!
//! A text between columns has no letter and no digit: a word that all lines of a sample have may
//! differ in others, and must not be shown.

use super::column::{CERTAIN, Kind, LogColumn, is_missing};
use crate::formats::bytes::{end_of, start_of};
use crate::formats::clf::is_escaped;
use crate::log::log_entry::is_known_method;

/// A part of a layout.
#[derive(Debug, Clone)]
pub(super) enum LayoutPart<'l> {
    /// A text that each line has. Two blanks stand for one or several.
    Text(String),
    Column(LogColumn<'l>),
}

/// What separates columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnSeparator {
    /// Blanks, except in quotes and brackets.
    Blank,
    /// A character, except in quotes.
    Byte(u8),
}

/// The characters that separate columns, in the order of trial: those first that ordinary texts
/// seldom have.
pub(super) const SEPARATORS: [ColumnSeparator; 5] = [
    ColumnSeparator::Byte(b'\t'),
    ColumnSeparator::Byte(b'|'),
    ColumnSeparator::Blank,
    ColumnSeparator::Byte(b';'),
    ColumnSeparator::Byte(b','),
];

/// The longest time: `Wed Dec 31 23:57:40 +0100 2025`.
const MAX_TIME_WORDS: usize = 6;
/// Marks before and after a column.
const ENCLOSURES: [(u8, u8); 6] = [
    (b'"', b'"'),
    (b'\'', b'\''),
    (b'[', b']'),
    (b'(', b')'),
    (b'<', b'>'),
    (b'{', b'}'),
];
/// Columns are split again, up to this depth.
const MAX_DEPTH: usize = 4;

/// What of a value decides how its column is split, whatever its kind: whether it is missing, blanks
/// before it, at its start and at its end, the marks at both ends, and whether it starts with a
/// method.
type ValueForm = [u8; 7];
/// The parts of a form in which a missing value differs from others: whether it is one, its marks,
/// and its method.
const OF_PRESENT: [usize; 4] = [0, 4, 5, 6];

fn value_form(gap: usize, value: &[u8]) -> ValueForm {
    let mark = |byte: Option<&u8>| byte.copied().filter(u8::is_ascii_punctuation).unwrap_or(0);
    let is_blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    let within = |(open, close): (u8, u8)| value.strip_prefix(&[open])?.strip_suffix(&[close]);
    let inside = ENCLOSURES.into_iter().find_map(within).unwrap_or(value);
    let method = inside.split(|byte| *byte == b' ').next().unwrap_or(inside);
    [
        u8::from(is_missing(inside)),
        u8::from(gap > 1),
        u8::from(is_blank(inside.first())),
        u8::from(is_blank(inside.last())),
        mark(value.first()),
        mark(value.last()),
        u8::from(is_known_method(method)),
    ]
}

/// The lines, of some with equally many columns, without those with a value in a form that nine of
/// ten values of its column do not have. A client can send what no other client sends, and its line
/// must not decide how those of all others are split.
pub(super) fn usual_lines<'l>(lines: &[&'l [u8]], separator: ColumnSeparator) -> Vec<&'l [u8]> {
    let row = |line: &&[u8]| -> Vec<ValueForm> {
        let mut end = 0;
        let values = split(line, separator).into_iter();
        let form = |value: &[u8]| {
            let gap = start_of(line, value) - end;
            end = end_of(line, value);
            value_form(gap, value)
        };
        values.map(form).collect()
    };
    let rows: Vec<Vec<ValueForm>> = lines.iter().map(row).collect();
    let mut is_usual = vec![true; lines.len()];
    for column in 0..rows.first().map_or(0, Vec::len) {
        for part in 0..ValueForm::default().len() {
            let mut counts = [0_usize; 256];
            for row in &rows {
                counts[usize::from(row[column][part])] += 1;
            }
            let is_most = |count: usize| count * 10 >= lines.len() * CERTAIN;
            let Some(usual) = counts.into_iter().position(is_most) else {
                continue;
            };
            for (row, is_usual) in rows.iter().zip(&mut is_usual) {
                let [is_missing, ..] = row[column];
                let may_differ = is_missing == 1 && OF_PRESENT.contains(&part);
                *is_usual &= usize::from(row[column][part]) == usual || may_differ;
            }
        }
    }
    let usual = lines.iter().zip(is_usual).filter(|(_, is_usual)| *is_usual);
    usual.map(|(line, _)| *line).collect()
}

/// The parts of lines with this many columns or more; the last column takes the rest of a line.
pub(super) fn parts<'l>(
    lines: &[&'l [u8]],
    separator: ColumnSeparator,
    columns: usize,
) -> Vec<LayoutPart<'l>> {
    let mut out = Vec::new();
    describe_split(lines, separator, columns, 0, &mut out);
    out
}

/// Splits the start of lines before their pairs, which may have any number of words.
pub(super) fn describe_prefix<'l>(starts: Vec<&'l [u8]>, out: &mut Vec<LayoutPart<'l>>) {
    describe(starts, false, 0, out);
}

/// Appends the parts of texts with at least this many columns.
fn describe_split<'l>(
    texts: &[&'l [u8]],
    separator: ColumnSeparator,
    columns: usize,
    depth: usize,
    out: &mut Vec<LayoutPart<'l>>,
) {
    let rows: Vec<Vec<&'l [u8]>> = texts
        .iter()
        .map(|text| row(text, separator, columns))
        .collect();
    let column = |number: usize| rows.iter().map(|row| row[number]).collect::<Vec<_>>();
    let mut number = 0;
    while number < columns {
        if number > 0 {
            let has_gap = |(text, row): (&&'l [u8], &Vec<&'l [u8]>)| {
                start_of(text, row[number]) - end_of(text, row[number - 1]) > 1
            };
            match separator {
                ColumnSeparator::Blank if texts.iter().zip(&rows).any(has_gap) => {
                    push_text("  ", out);
                }
                ColumnSeparator::Blank => push_text(" ", out),
                ColumnSeparator::Byte(byte) => push_text(&char::from(byte).to_string(), out),
            }
        }
        let most = if separator == ColumnSeparator::Blank {
            MAX_TIME_WORDS.min(columns - number)
        } else {
            1
        };
        let time = (2..=most).rev().find_map(|words| {
            let joined: Vec<&[u8]> = texts
                .iter()
                .zip(&rows)
                .map(|(text, row)| {
                    &text[start_of(text, row[number])..end_of(text, row[number + words - 1])]
                })
                .collect();
            // A method after a time is no zone.
            let has_method = rows.iter().any(|row| {
                row[number..number + words]
                    .iter()
                    .any(|word| is_known_method(word))
            });
            let (times, mark) = without_end_mark(joined);
            let column = (!has_method).then(|| LogColumn::new(times, false))?;
            (column.kind == Kind::Time(words as u16)).then_some((column, words, mark))
        });
        if let Some((column, words, mark)) = time {
            out.push(LayoutPart::Column(column));
            push_text(mark, out);
            number += words;
        } else {
            describe(column(number), false, depth + 1, out);
            number += 1;
        }
    }
}

/// Appends the parts of a column.
fn describe<'l>(
    values: Vec<&'l [u8]>,
    is_quoted: bool,
    depth: usize,
    out: &mut Vec<LayoutPart<'l>>,
) {
    let blanks = |values: &[&[u8]], count: fn(&[u8]) -> usize| match values
        .iter()
        .map(|value| count(value))
        .max()
    {
        Some(0) | None => "",
        Some(1) if values.iter().all(|value| count(value) == 1) => " ",
        _ => "  ",
    };
    let before = blanks(&values, |value| {
        value.len() - value.trim_ascii_start().len()
    });
    let after = blanks(&values, |value| {
        if value.trim_ascii().is_empty() {
            0
        } else {
            value.len() - value.trim_ascii_end().len()
        }
    });
    if !(before.is_empty() && after.is_empty()) {
        push_text(before, out);
        describe(
            values.into_iter().map(<[u8]>::trim_ascii).collect(),
            is_quoted,
            depth,
            out,
        );
        return push_text(after, out);
    }
    // `"a" "b"` in each line is two texts.
    let are_several = values.iter().all(|value| {
        matches!(value.first(), Some(b'"' | b'\''))
            && closed(value, ColumnSeparator::Blank) + 1 < value.len()
    });
    for (open, close) in ENCLOSURES.into_iter().filter(|_| !are_several) {
        if values
            .iter()
            .all(|value| value.len() > 1 && value[0] == open && value[value.len() - 1] == close)
        {
            push_text(&char::from(open).to_string(), out);
            describe(
                values
                    .into_iter()
                    .map(|value| &value[1..value.len() - 1])
                    .collect(),
                is_quoted || open == b'"',
                depth + 1,
                out,
            );
            return push_text(&char::from(close).to_string(), out);
        }
    }
    let (values, mark) = without_end_mark(values);
    if !mark.is_empty() {
        describe(values, is_quoted, depth + 1, out);
        return push_text(mark, out);
    }
    let column = LogColumn::new(values, is_quoted);
    if column.kind != Kind::Other || depth > MAX_DEPTH {
        return out.push(LayoutPart::Column(column));
    }
    if let Some((start, inner, end)) = without_marks(&column.values) {
        push_text(&start, out);
        describe(inner, is_quoted, depth + 1, out);
        return push_text(&end, out);
    }
    let has_target = || {
        column
            .values
            .iter()
            .any(|value| value.starts_with(b"/") || super::column::is_url(value))
    };
    let slash = ColumnSeparator::Byte(b'/');
    for separator in SEPARATORS
        .into_iter()
        .chain([slash])
        .filter(|separator| *separator != slash || !has_target())
    {
        let columns = split(column.values[0], separator).len();
        if columns < 2
            || !column
                .values
                .iter()
                .all(|value| split(value, separator).len() == columns)
        {
            continue;
        }
        let mut inner = Vec::new();
        describe_split(&column.values, separator, columns, depth + 1, &mut inner);
        if inner
            .iter()
            .any(|part| matches!(part, LayoutPart::Column(column) if is_telling(column.kind)))
        {
            for part in inner {
                match part {
                    LayoutPart::Text(text) => push_text(&text, out),
                    LayoutPart::Column(column) => out.push(LayoutPart::Column(LogColumn {
                        is_quoted: column.is_quoted || is_quoted,
                        ..column
                    })),
                }
            }
            return;
        }
    }
    out.push(LayoutPart::Column(column));
}

/// Takes off the comma or semicolon that ends all values, which their writer put there; returns it
/// too.
fn without_end_mark(values: Vec<&[u8]>) -> (Vec<&[u8]>, &'static str) {
    let ends_all = |mark: &&str| {
        values
            .iter()
            .all(|value| value.len() > 1 && value.ends_with(mark.as_bytes()))
    };
    let mark = [",", ";"].into_iter().find(ends_all).unwrap_or("");
    (
        values
            .into_iter()
            .map(|value| &value[..value.len() - mark.len()])
            .collect(),
        mark,
    )
}

/// Whether a column of this kind is worth a split.
fn is_telling(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Other | Kind::Number | Kind::Agent | Kind::Query | Kind::Protocol
    )
}

/// Takes off the same marks before and after all values.
fn without_marks<'l>(values: &[&'l [u8]]) -> Option<(String, Vec<&'l [u8]>, String)> {
    let is_mark = |byte: &u8| {
        byte.is_ascii_punctuation()
            && !matches!(
                byte,
                b'"' | b'/' | b'-' | b'.' | b'*' | b'$' | b'%' | b'_' | b'\\'
            )
    };
    let first = values.first()?;
    let common = |at: fn(&[u8]) -> Option<&u8>| {
        at(first)
            .filter(|mark| is_mark(mark) && values.iter().all(|value| at(value) == Some(*mark)))
    };
    let (start, end) = (common(<[u8]>::first), common(<[u8]>::last));
    let marks = usize::from(start.is_some()) + usize::from(end.is_some());
    if marks == 0
        || values
            .iter()
            .any(|value| value.len() <= marks || is_missing(value))
    {
        return None;
    }
    let inner = values
        .iter()
        .map(|value| &value[usize::from(start.is_some())..value.len() - usize::from(end.is_some())])
        .collect();
    let text =
        |mark: Option<&u8>| mark.map_or_else(String::new, |mark| char::from(*mark).to_string());
    Some((text(start), inner, text(end)))
}

/// Appends a text, and joins it with one before. More than two blanks are two.
pub(super) fn push_text(text: &str, out: &mut Vec<LayoutPart<'_>>) {
    if text.is_empty() {
        return;
    }
    let Some(LayoutPart::Text(before)) = out.last_mut() else {
        return out.push(LayoutPart::Text(text.to_owned()));
    };
    before.push_str(text);
    while let Some(at) = before.find("   ") {
        before.remove(at);
    }
}

/// The columns of a text; those after the last one belong to it.
fn row(text: &[u8], separator: ColumnSeparator, columns: usize) -> Vec<&[u8]> {
    let mut row = split(text, separator);
    if row.len() > columns {
        let start = start_of(text, row[columns - 1]);
        row.truncate(columns - 1);
        row.push(&text[start..]);
    }
    row
}

/// Splits a text at a separator that is not in quotes, and for blanks not in brackets.
pub(super) fn split(text: &[u8], separator: ColumnSeparator) -> Vec<&[u8]> {
    let byte = match separator {
        ColumnSeparator::Blank => b' ',
        ColumnSeparator::Byte(byte) => byte,
    };
    let (mut parts, mut start) = (Vec::new(), 0);
    loop {
        let rest = &text[start..];
        let blanks = if byte == b'\t' {
            0
        } else {
            rest.len() - rest.trim_ascii_start().len()
        };
        if separator == ColumnSeparator::Blank {
            start += blanks;
        }
        let inner = if separator == ColumnSeparator::Blank {
            &rest[blanks..]
        } else {
            rest
        };
        let enclosed = closed(
            inner
                .get(
                    if separator == ColumnSeparator::Blank {
                        0
                    } else {
                        blanks
                    }..,
                )
                .unwrap_or_default(),
            separator,
        );
        let from = if separator == ColumnSeparator::Blank {
            enclosed
        } else {
            blanks + enclosed
        };
        let length = inner
            .get(from..)
            .and_then(|rest| memchr::memchr(byte, rest))
            .map_or(inner.len(), |at| from + at);
        if separator != ColumnSeparator::Blank || length > 0 {
            parts.push(&text[start..start + length]);
        }
        start += length + 1;
        if start > text.len() || start == text.len() && separator == ColumnSeparator::Blank {
            return parts;
        }
    }
}

/// The length of a text in quotes or brackets at the start, without the closing mark; 0 if there is
/// none.
fn closed(text: &[u8], separator: ColumnSeparator) -> usize {
    let is_end = |at: usize| match separator {
        ColumnSeparator::Blank => text
            .get(at + 1)
            .is_none_or(|byte| !byte.is_ascii_alphanumeric()),
        // Where a quote is written twice, the first of two ends nothing.
        ColumnSeparator::Byte(byte) => text[at + 1..]
            .iter()
            .find(|after| **after != b' ')
            .is_none_or(|after| *after == byte),
    };
    let mut is_second = false;
    let close = match text.first() {
        Some(&quote @ (b'"' | b'\'')) => memchr::memchr_iter(quote, text).skip(1).find(|&at| {
            let is_open = is_escaped(text, at) || is_second || !is_end(at);
            is_second =
                is_open && !is_second && text.get(at + 1) == Some(&quote) && !is_escaped(text, at);
            !is_open
        }),
        Some(b'[') if separator == ColumnSeparator::Blank => {
            (1..text.len()).find(|&at| text[at] == b']')
        }
        _ => None,
    };
    close.unwrap_or(0)
}
