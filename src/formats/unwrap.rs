//! Finds a log line within others: after prefixes, without colours, as a string of a JSON object,
//! as a column of CSV.
//!
//! A line that is a request by itself never comes here, so that a client cannot forge a line by
//! sending one as its user agent.

use super::JsonLineParser;
use super::is_status;
use super::json::{KeyCache, is_request, may_be_line, unescape_line};
use super::line_prefix::{
    LinePrefix, MAX_PREFIXES, StrippedLine, each_csv_column, stripped, without_colors,
};
use super::reader::FieldReader;
use crate::log::time::LogTime;

/// Buffers for lines that must be assembled.
#[derive(Debug, Default)]
pub(super) struct UnwrapBuffers {
    /// Without colours.
    plain: Vec<u8>,
    /// Without the escapes of JSON.
    unescaped: Vec<u8>,
    time: Vec<u8>,
    keys: KeyCache,
}

/// Reads the line within a line, and returns the writer of what is around it; `None` if there is
/// none. The outermost writer that is not only blanks is returned.
pub(super) fn read_within(
    line: &[u8],
    json: &JsonLineParser,
    UnwrapBuffers {
        plain,
        unescaped,
        time: time_buffer,
        keys,
    }: &mut UnwrapBuffers,
    reader: &mut FieldReader<'_, '_>,
) -> Option<LinePrefix> {
    let (mut rest, mut prefix, mut time) = (line, None, None);
    if let Some(plain) = without_colors(line, plain) {
        (rest, prefix) = (plain, Some(LinePrefix::Colors));
        if reader.read_inner(rest, time).is_some() {
            return prefix;
        }
    }
    let whole = rest;
    if let Some(found) = after_prefixes(&mut rest, &mut time, reader) {
        return Some(significant(prefix, found));
    }
    if read_column(whole, unescaped, reader).is_some() {
        return Some(significant(prefix, LinePrefix::Csv));
    }
    // A column of CSV whose own quotes were taken off.
    let is_doubled = memchr::memmem::find(whole, b"\"\"").is_some();
    if is_doubled
        && reader
            .read_inner(without_doubled_quotes(whole, unescaped), time)
            .is_some()
    {
        return Some(significant(prefix, LinePrefix::Csv));
    }
    let enclosed = json.enclosed_texts(rest, keys)?;
    time = enclosed.time(time_buffer).parse().or(time);
    let mut texts = enclosed.texts().iter().filter(|text| {
        unescape_line(text, unescaped)
            && (enclosed.texts().len() == 1 || is_line_within(unescaped, reader))
    });
    // If two texts are lines, a client may have written one of them.
    let (text, None) = (texts.next()?, texts.next()) else {
        return None;
    };
    let is_unescaped = unescape_line(text, unescaped);
    let (mut rest, mut time) = (&unescaped[..], time);
    let is_read = is_unescaped
        && (reader.read_inner(rest, time).is_some()
            || after_prefixes(&mut rest, &mut time, reader).is_some());
    is_read.then(|| significant(prefix, LinePrefix::Json))
}

/// Removes prefixes until the rest can be read; returns the writer of the first.
fn after_prefixes(
    rest: &mut &[u8],
    time: &mut Option<LogTime>,
    reader: &mut FieldReader<'_, '_>,
) -> Option<LinePrefix> {
    let mut first = None;
    for found in stripped(rest).take(MAX_PREFIXES) {
        let StrippedLine {
            prefix,
            rest: next,
            time: next_time,
        } = found;
        (*rest, *time) = (next, next_time.or(*time));
        first = Some(first.map_or(prefix, |first| significant(Some(first), prefix)));
        if reader.read_inner(next, *time).is_some() {
            return first;
        }
    }
    None
}

/// Reads the line in a column of CSV. As in objects, only one column may be a line, and the others
/// must be no request.
fn read_column(line: &[u8], buffer: &mut Vec<u8>, reader: &mut FieldReader<'_, '_>) -> Option<()> {
    let (mut lines, mut time, mut facts) = ([&b""[..]; 2], None, [false; 3]);
    let columns = each_csv_column(line, |column| {
        if may_be_line(column) && is_line_within(without_doubled_quotes(column, buffer), reader) {
            lines = [column, lines[0]];
        } else {
            time = time.or_else(|| LogTime::parse_any_format(column));
            let [has_request, has_target, has_status] = &mut facts;
            *has_request |= is_request(column);
            *has_target |= column.starts_with(b"/");
            *has_status |= is_status(column);
        }
    })?;
    let [has_request, has_target, has_status] = facts;
    let is_column = columns > 1 || line.starts_with(b"\"");
    let is_sole = is_column && lines[1].is_empty() && !has_request && !(has_target && has_status);
    let mut rest = without_doubled_quotes(
        Some(lines[0]).filter(|line| is_sole && !line.is_empty())?,
        buffer,
    );
    reader
        .read_inner(rest, time)
        .or_else(|| after_prefixes(&mut rest, &mut time, reader).map(|_| ()))
}

/// The text of a column, written to `buffer`.
fn without_doubled_quotes<'b>(column: &[u8], buffer: &'b mut Vec<u8>) -> &'b [u8] {
    buffer.clear();
    let mut rest = column;
    while let Some(quote) = memchr::memmem::find(rest, b"\"\"") {
        buffer.extend_from_slice(&rest[..=quote]);
        rest = &rest[quote + 2..];
    }
    buffer.extend_from_slice(rest);
    buffer
}

fn is_line_within(text: &[u8], reader: &mut FieldReader<'_, '_>) -> bool {
    reader.is_line(text)
        || stripped(text)
            .take(MAX_PREFIXES)
            .any(|found| reader.is_line(found.rest))
}

/// The first of two writers that is not only blanks.
fn significant(first: Option<LinePrefix>, then: LinePrefix) -> LinePrefix {
    first
        .filter(|prefix| !matches!(prefix, LinePrefix::Blanks | LinePrefix::Colors))
        .unwrap_or(then)
}
