//! Lines of the Common Log Format family that start in another way: client, host and time before
//! the request in any order and with any marks, also without a client or a time.
//!
//! ```text
//! START "request" status [bytes] [... ["referer"] "user agent" ...]
//! ```
//!
//! Only lines that no other format reads come here. The start is read field by field. Clients
//! choose the host and the user, and may put addresses into both; so a line with a second address
//! before the request, or with something unknown before the client, is not read. A list of
//! addresses in the place of the client is a forwarded field.

use memchr::memchr;

use super::clf::is_escaped;
use super::client_position::is_name;
use super::host::host;
use super::line_prefix::is_address_list;
use super::{Fields, RequestField, TimeField};
use crate::log::client::Client;
use crate::log::log_entry::RequestLine;
use crate::log::time::LogTime;

/// The most fields before the request: more are those of another kind of log.
const MAX_FIELDS: usize = 16;
/// The most words of a time without brackets.
const MAX_TIME_WORDS: usize = 6;
/// The shortest time, `1793606460`.
const MIN_TIME: usize = 10;

/// A field of the start or the end of a line.
#[derive(Debug, Clone, Copy)]
struct LineField<'l> {
    /// Without quotes or brackets.
    text: &'l [u8],
    start: usize,
    end: usize,
    /// The quote or bracket before it, or zero.
    mark: u8,
}

/// The fields of a part of a line.
#[derive(Debug)]
struct LineFields<'l> {
    fields: [LineField<'l>; MAX_FIELDS],
    count: usize,
}

impl<'l> LineFields<'l> {
    fn as_slice(&self) -> &[LineField<'l>] {
        &self.fields[..self.count]
    }
}

/// Parses a line; `None` if it is no such line.
#[cold]
pub(super) fn read(line: &[u8]) -> Option<Fields<'_>> {
    let (start, request, answer) = split(line)?;
    let fields = start.as_slice();
    let time = time_in(line, fields);
    let (before, after) = match &time {
        Some((first, count, _)) => (&fields[..*first], &fields[first + count..]),
        None => (fields, &fields[..0]),
    };
    let (host, client) = client_in(line, before, after)?;
    let has_client = !client.is_empty();
    // Quotes are doubled in a column of CSV.
    if request.starts_with(b"\"")
        || !has_client && (time.is_none() || has_address(answer))
        || !is_request(request) && (time.is_none() || !has_client)
    {
        return None;
    }
    let (bytes, referer, user_agent) = answer_fields(answer);
    let fields = Fields {
        host,
        user: user_in(line, before, client),
        time: TimeField::Parsed(time.map(|(_, _, time)| time)),
        request: RequestField::Line(request),
        status: &answer[1..4],
        bytes,
        referer,
        user_agent,
        ..Fields::default()
    };
    Some(fields.with_client_or_list(client))
}

/// The fields before the request, the request, and the text after it: the request is the first
/// quoted field that a status follows.
fn split(line: &[u8]) -> Option<(LineFields<'_>, &[u8], &[u8])> {
    let empty = LineField {
        text: b"",
        start: 0,
        end: 0,
        mark: 0,
    };
    let mut found = LineFields {
        fields: [empty; MAX_FIELDS],
        count: 0,
    };
    let mut at = 0;
    loop {
        let field = next_field(line, at)?;
        if field.mark == b'"' && starts_with_status(&line[field.end..]) {
            return Some((found, field.text, &line[field.end..]));
        }
        *found.fields.get_mut(found.count)? = field;
        found.count += 1;
        at = field.end;
    }
}

/// The field at or after `at`; `None` if there is none, or if its mark is not closed.
fn next_field(line: &[u8], at: usize) -> Option<LineField<'_>> {
    let rest = line.get(at..)?;
    let start = at + (rest.len() - rest.trim_ascii_start().len());
    let (&mark, inside) = line.get(start..)?.split_first()?;
    let is_end = |at: usize| {
        inside
            .get(at + 1)
            .is_none_or(|next| matches!(next, b' ' | b'\t' | b',' | b';'))
    };
    let bracket = |close: u8| memchr(close, inside).filter(|at| is_end(*at));
    let close = match mark {
        b'"' => Some(
            memchr::memchr_iter(b'"', inside).find(|at| is_end(*at) && !is_escaped(inside, *at))?,
        ),
        b'[' => bracket(b']'),
        b'<' => bracket(b'>'),
        _ => None,
    };
    if let Some(close) = close {
        return Some(LineField {
            text: &inside[..close],
            start,
            end: start + close + 2,
            mark,
        });
    }
    let end = line[start..]
        .iter()
        .position(|b| matches!(b, b' ' | b'\t'))
        .map_or(line.len(), |length| start + length);
    Some(LineField {
        text: &line[start..end],
        start,
        end,
        mark: 0,
    })
}

/// ` 404 `, ` 404` at the end of a line.
fn starts_with_status(text: &[u8]) -> bool {
    matches!(text, [b' ', b'1'..=b'5', b, c] | [b' ', b'1'..=b'5', b, c, b' ', ..] if b.is_ascii_digit() && c.is_ascii_digit())
}

/// The time before the request: its first field, their number, and the time. One in brackets or
/// quotes is preferred, because a client can choose a word; then the last, which is after the name
/// of a user.
fn time_in(line: &[u8], fields: &[LineField<'_>]) -> Option<(usize, usize, LogTime)> {
    let enclosed = |at: usize| {
        Some((
            at,
            1,
            time(fields[at].text).filter(|_| fields[at].mark != 0)?,
        ))
    };
    let words = |at: usize| {
        let bare = fields[at..]
            .iter()
            .take(MAX_TIME_WORDS)
            .take_while(|field| field.mark == 0)
            .count();
        (1..=bare).rev().find_map(|count| {
            Some((
                at,
                count,
                time(&line[fields[at].start..fields[at + count - 1].end])?,
            ))
        })
    };
    (0..fields.len()).rev().find_map(enclosed).or_else(|| {
        // The longest that ends last: `Nov 2 2026 08:01:00` is also `2 2026 08:01:00` of no form.
        let last = (0..fields.len()).rev().find_map(words)?;
        (0..=last.0)
            .filter_map(words)
            .find(|found| found.0 + found.1 >= last.0 + last.1)
    })
}

fn time(text: &[u8]) -> Option<LogTime> {
    if text.len() < MIN_TIME {
        None
    } else {
        LogTime::parse_any_format(text)
    }
}

/// The host and the client, from the fields before and after the time; the client is empty if there
/// is none. `None` if they cannot be distinguished.
fn client_in<'l>(
    line: &'l [u8],
    before: &[LineField<'l>],
    after: &[LineField<'l>],
) -> Option<(&'l [u8], &'l [u8])> {
    const NONE: &[u8] = b"";
    let is_address =
        |field: &LineField<'_>| Client::parse_address(Client::without_marks(field.text)).is_some();
    let at_start = |fields: &[LineField<'l>], first: usize| {
        let (list, count) = list_at(line, &fields[first..])?;
        // The rest may be the text of a client.
        (!fields[first + count..]
            .iter()
            .any(|field| list_at(line, &[*field]).is_some()))
        .then_some(list)
    };
    let Some(first) = before
        .iter()
        .chain(after)
        .position(|field| list_at(line, &[*field]).is_some())
    else {
        return match before {
            // `shop.example.org host.example.org - - [`: names of both.
            [host, client, ident, _]
                if [host, client]
                    .iter()
                    .all(|field| field.mark == 0 && is_name(field.text))
                    && ident.text == b"-" =>
            {
                Some((host.text, client.text))
            }
            _ => before
                .iter()
                .chain(after)
                .all(|field| field.text == b"-")
                .then_some((NONE, NONE)),
        };
    };
    match before.len() {
        // Nothing but names is before the time, and the client is right after it.
        length if first >= length => {
            let names = before
                .iter()
                .all(|field| field.text == b"-" || is_word(field.text));
            let client = at_start(after, first - length).filter(|_| names && first == length)?;
            Some((NONE, client))
        }
        _ if after.iter().any(is_address) => None,
        _ => match before[..first] {
            [] => Some((NONE, at_start(before, 0)?)),
            [name] if name.text == b"-" => Some((NONE, at_start(before, 1)?)),
            [name] => {
                let text = Client::without_marks(name.text);
                let host = host(text).filter(|host| {
                    is_name(host) && (name.mark == 0 || memchr(b'.', host).is_some())
                });
                let is_known = host.is_some() || name.mark != 0 && is_word(text);
                is_known.then(|| Some((host.unwrap_or_default(), at_start(before, 1)?)))?
            }
            _ => None,
        },
    }
}

/// The user between client and time, after a dash in the place of the ident; empty if there is
/// none.
fn user_in<'l>(line: &'l [u8], before: &[LineField<'l>], client: &[u8]) -> &'l [u8] {
    let end = client
        .as_ptr_range()
        .end
        .addr()
        .wrapping_sub(line.as_ptr().addr());
    let first = before
        .iter()
        .position(|field| field.start >= end)
        .unwrap_or(before.len());
    match &before[first..] {
        _ if client.is_empty() => b"",
        [ident, user, .., last] if ident.text == b"-" => &line[user.start..last.end],
        [ident, user] if ident.text == b"-" => user.text,
        _ => b"",
    }
}

/// A name or an ID: letters, digits and a few marks, but no number, which may be a status or a
/// size.
fn is_word(text: &[u8]) -> bool {
    let is_part =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':' | b'@');
    !text.is_empty() && text.iter().all(is_part) && text.iter().any(u8::is_ascii_alphabetic)
}

/// The address or the list of addresses that starts with the first field, and the number of its
/// fields. Blanks may follow the commas.
fn list_at<'l>(line: &'l [u8], fields: &[LineField<'l>]) -> Option<(&'l [u8], usize)> {
    let first = fields.first()?;
    if first.mark != 0 {
        return is_address_list(first.text).then_some((first.text, 1));
    }
    let goes_on = fields
        .iter()
        .take_while(|field| field.mark == 0 && field.text.ends_with(b","))
        .count();
    let last = fields
        .get(goes_on)
        .filter(|field| field.mark == 0 && field.text != b"-")
        .map_or(goes_on, |_| goes_on + 1)
        .max(1);
    [last, goes_on.max(1)].into_iter().find_map(|count| {
        let text = &line[first.start..fields.get(count - 1)?.end];
        let text = text.strip_suffix(b",").unwrap_or(text);
        is_address_list(text).then_some((text, count))
    })
}

/// Whether a text has an address between blanks, quoted or not.
fn has_address(text: &[u8]) -> bool {
    let mut at = 0;
    std::iter::from_fn(|| {
        let field = next_field(text, at)?;
        at = field.end;
        Some(field)
    })
    .any(|field| is_address_list(field.text))
}

/// Whether it is the first line of a request.
fn is_request(text: &[u8]) -> bool {
    let line = RequestLine::parse(text);
    let is_target = |target: &[u8]| {
        matches!(target, [b'/', ..] | b"*") || memchr::memmem::find(target, b"://").is_some()
    };
    is_target(line.target) || !line.method.is_empty() && !line.protocol.is_empty()
}

/// Bytes, referer and user agent in the text after a request. A single quoted text is the agent.
fn answer_fields(answer: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let bytes = next_field(answer, 4)
        .filter(|field| field.text.iter().all(u8::is_ascii_digit))
        .map_or(&b""[..], |field| field.text);
    let mut at = 4;
    let mut quoted = std::iter::from_fn(|| {
        let field = next_field(answer, at)?;
        at = field.end;
        Some(field)
    })
    .skip_while(|field| field.mark != b'"')
    .take_while(|field| field.mark == b'"');
    match (quoted.next(), quoted.next()) {
        (Some(referer), Some(agent)) => (bytes, referer.text, agent.text),
        (Some(agent), None) => (bytes, b"", agent.text),
        (None, _) => (bytes, b"", b""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAIL: &str = r#""GET /.env HTTP/1.1" 404 162 "-" "curl/8""#;

    /// Client, host and time of a line with this start.
    fn start(start: &str) -> Option<(String, String, String)> {
        let line = format!("{start}{TAIL}");
        let fields = read(line.as_bytes())?;
        assert_eq!(
            (fields.request, fields.status, fields.bytes),
            (
                RequestField::Line(b"GET /.env HTTP/1.1"),
                &b"404"[..],
                &b"162"[..]
            )
        );
        assert_eq!(
            (fields.referer, fields.user_agent),
            (&b"-"[..], &b"curl/8"[..])
        );
        let TimeField::Parsed(time) = fields.time else {
            panic!("{:?}", fields.time)
        };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Some((
            text(fields.client),
            text(fields.host),
            time.map_or_else(String::new, LogTime::rfc3339_utc),
        ))
    }

    #[test]
    fn the_start_may_be_written_in_other_ways() {
        const TIME: &str = "2026-11-02T08:01:00Z";
        for (text, client, host, time) in [
            (
                "192.0.2.7 - - 02/Nov/2026:08:01:00 +0000 ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] [0.001] [PORT 443] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] HIT ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                r#"["shop.example.org"] 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "#,
                "192.0.2.7",
                "shop.example.org",
                TIME,
            ),
            (
                "shop.example.org:443 192.0.2.7 - - [2026-11-02 08:01:00] ",
                "192.0.2.7",
                "shop.example.org",
                TIME,
            ),
            (
                "[steam] 192.0.2.7 / - - - [02/Nov/2026:08:01:00 +0000] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "shop.example.org host.example.org - - [02/Nov/2026:08:01:00 +0000] ",
                "host.example.org",
                "shop.example.org",
                TIME,
            ),
            (
                "- 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                r#""192.0.2.7" "NULL-AUTH-USER" "02/Nov/2026:08:01:00 +0000" "#,
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "<192.0.2.7> - - [02/Nov/2026:08:01:00 +0000] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "192.0.2.7, - - [02/Nov/2026:08:01:00 +0000], ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "[192.0.2.7]:4711 - - [02/Nov/2026:08:01:00 +0000] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            ("[02/Nov/2026 08:01:00] ", "", "", TIME),
            ("- - [02/Nov/2026 08:01:00] ", "", "", TIME),
            (
                "[02/Nov/2026:08:01:00 +0000] 192.0.2.7 ",
                "192.0.2.7",
                "",
                TIME,
            ),
            ("2026-11-02T08:01:00Z 192.0.2.7 ", "192.0.2.7", "", TIME),
            ("Mon Nov 2 08:01:00 2026 192.0.2.7 ", "192.0.2.7", "", TIME),
            (
                "79a59df900 shop.example.org [02/Nov/2026:08:01:00 +0000] 192.0.2.7 - 25068 GET.OBJECT key ",
                "192.0.2.7",
                "",
                TIME,
            ),
            ("192.0.2.7:4711 - ", "192.0.2.7:4711", "", ""),
            ("192.0.2.7 ", "192.0.2.7", "", ""),
            // One public address in a list.
            (
                "192.0.2.7, 10.0.0.2 - - [02/Nov/2026:08:01:00 +0000] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                "192.0.2.7,10.0.0.2,10.0.1.1 - - [02/Nov/2026:08:01:00 +0000] ",
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                r#""192.0.2.7, 10.0.0.2" - - [02/Nov/2026:08:01:00 +0000] "#,
                "192.0.2.7",
                "",
                TIME,
            ),
            (
                r#""10.0.0.3, ::ffff:192.0.2.7" - - [02/Nov/2026:08:01:00 +0000] "#,
                "::ffff:192.0.2.7",
                "",
                TIME,
            ),
            (
                "198.51.100.1, 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] ",
                "",
                "",
                TIME,
            ),
            (
                "10.0.0.1, 10.0.0.2 - - [02/Nov/2026:08:01:00 +0000] ",
                "",
                "",
                TIME,
            ),
        ] {
            assert_eq!(
                start(text),
                Some((client.into(), host.into(), time.into())),
                "{text}"
            );
        }
    }

    #[test]
    fn the_user_is_after_the_ident() {
        const TIME: &str = "[02/Nov/2026:08:01:00 +0000] ";
        for (text, user) in [
            ("shop.example.org 192.0.2.7 - bob ", "bob"),
            ("shop.example.org 192.0.2.7 - a user ", "a user"),
            ("shop.example.org 192.0.2.7 - - ", "-"),
            ("[steam] 192.0.2.7 / - - - ", ""),
            ("192.0.2.7 ", ""),
        ] {
            let line = format!("{text}{TIME}{TAIL}");
            assert_eq!(
                read(line.as_bytes()).unwrap().user,
                user.as_bytes(),
                "{line}"
            );
        }
    }

    #[test]
    fn what_a_client_may_have_moved_is_not_read() {
        for text in [
            "",
            "- ",
            // A host with an address, or a user.
            "203.0.113.1 192.0.2.7 - - 02/Nov/2026:08:01:00 +0000 ",
            "x 203.0.113.1 192.0.2.7 - - 02/Nov/2026:08:01:00 +0000 ",
            "x 203.0.113.1 - 192.0.2.7 - - [2026-11-02 08:01:00] ",
            "203.0.113.1 - - 192.0.2.7 - - [2026-11-02 08:01:00] ",
            "203.0.113.1 [02/Nov/2026:08:01:00 +0000] 192.0.2.7 ",
            "[02/Nov/2026:08:01:00 +0000] 203.0.113.1 192.0.2.7 thread - ",
            "[02/Nov/2026:08:01:00 +0000] x 192.0.2.7 ",
            "[02/Nov/2026:08:01:00 +0000] \"example.org\" ",
            // The number may be the status.
            "404 192.0.2.7 [02/Nov/2026:08:01:00 +0000] ",
            "some words in a line [02/Nov/2026:08:01:00 +0000] ",
        ] {
            assert_eq!(start(text), None, "{text}");
        }
        let line = r#"[02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 5 "192.0.2.7""#;
        assert!(
            read(line.as_bytes()).is_none(),
            "the client is after the request"
        );
        let line = r#"192.0.2.7 said "hello" 200"#;
        assert!(read(line.as_bytes()).is_none(), "no request and no time");
    }

    #[test]
    fn a_bracketed_time_is_preferred_to_words_of_a_client() {
        let (_, _, time) =
            start("192.0.2.7 - 2020-01-01T00:00:00Z [2026-11-02 08:01:00.5] ").unwrap();
        assert_eq!(time, "2026-11-02T08:01:00Z");
        let (_, _, time) = start("192.0.2.7 - 2020-01-01T00:00:00Z 2026-11-02T08:01:00Z ").unwrap();
        assert_eq!(time, "2026-11-02T08:01:00Z");
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(text in "[0-9a-z.:,\"\\[\\]<> \t/-]{0,80}", bytes: Vec<u8>, has_tail: bool) {
            let tail = if has_tail { TAIL } else { "" };
            let _ = read(format!("{text}{tail}").as_bytes());
            let _ = read(&[&bytes, tail.as_bytes()].concat());
        }
    }
}
