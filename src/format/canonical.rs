//! Writes down again what a line of any format says, as a line that [`Frame`](super::Frame) reads.
//!
//! ```text
//! [host:80 ]client - - [time] "request" status bytes "referer" "agent"
//! ```
//!
//! An attacker writes most of it, so nothing of a field may end that field: a bare quote, a newline, a backslash at the
//! end, a space in an address. What is missing is written in a form that has the same length as what is usual, because
//! the fast way through a line counts bytes: a time of dashes, `---` for a status. Nothing is decoded.

use memchr::{memchr2, memchr3};

use super::{Asked, Escapes, Fields, When};
use crate::time::{CLF_TIME_LEN, LogTime};

/// What stands for a time that is not known.
const NO_TIME: &[u8; CLF_TIME_LEN] = b"--/---/----:--:--:-- -----";

/// What stands for a status that is not known.
const NO_STATUS: &[u8; 3] = b"---";

/// The longest name of a host (RFC 1035).
const MAX_HOST: usize = 253;

/// More digits than any number of bytes has.
const MAX_DIGITS: usize = 20;

/// Writes fields as a line of `combined`, or `vhost_combined` where a host is known, without a newline, behind what is
/// in `line` already.
pub fn write(fields: &Fields<'_>, line: &mut Vec<u8>) {
    write_host(fields.host, line);
    write_client(fields.client, line);
    line.extend_from_slice(b" - - [");
    write_time(fields.time, line);
    line.extend_from_slice(b"] \"");
    write_asked(fields.asked, fields.escapes, line);
    line.extend_from_slice(b"\" ");
    write_status(fields.status, line);
    line.push(b' ');
    write_bytes(fields.bytes, line);
    line.extend_from_slice(b" \"");
    write_header(fields.referer, fields.escapes, line);
    line.extend_from_slice(b"\" \"");
    write_header(fields.user_agent, fields.escapes, line);
    line.push(b'"');
}

/// The host of a field that may name a port too; `None` where it is none: empty, too long, or with a byte in it that no
/// host has. An IPv6 address has brackets.
#[must_use]
pub fn host(field: &[u8]) -> Option<&[u8]> {
    let is_port = |port: &[u8]| port.iter().all(u8::is_ascii_digit);
    let (host, port) = match field {
        [b'[', ..] => field.split_at(memchr::memchr(b']', field)? + 1),
        _ => field.split_at(memchr::memchr(b':', field).unwrap_or(field.len())),
    };
    let port_is_fine = match port {
        [] => true,
        [b':', digits @ ..] => is_port(digits),
        _ => false,
    };
    let name_is_fine = match host {
        [b'[', inside @ .., b']'] => inside.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b':' | b'.' | b'%')),
        _ => host.iter().all(|b| matches!(b, 0x21..=0x7e | 0x80..) && !matches!(b, b'"' | b'\\' | b'[' | b']')),
    };
    (port_is_fine && name_is_fine && !host.is_empty() && host.len() <= MAX_HOST && host != b"-").then_some(host)
}

/// Nothing where there is no host. The copy is looked at, here and below: a file may change between two looks.
fn write_host(field: &[u8], line: &mut Vec<u8>) {
    if field.is_empty() {
        return;
    }
    let start = line.len();
    line.extend_from_slice(field);
    match host(&line[start..]).map(<[u8]>::len) {
        None => line.truncate(start),
        Some(length) => {
            line.truncate(start + length);
            line.extend_from_slice(b":80 ");
        }
    }
}

/// The address up to the first byte that none has.
fn write_client(client: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(client);
    if let Some(end) = line[start..].iter().position(|b| matches!(b, 0..=b' ' | b'"' | 0x7f)) {
        line.truncate(start + end);
    }
    if line.len() == start {
        line.push(b'-');
    }
}

fn write_time(time: When<'_>, line: &mut Vec<u8>) {
    let start = line.len();
    match time {
        When::Clf(text) if text.len() == CLF_TIME_LEN => line.extend_from_slice(text),
        When::Clf(_) => {}
        When::Read(time) => line.extend_from_slice(time.and_then(LogTime::clf).as_ref().map_or(&[], |t| t)),
    }
    let fits = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b':' | b' ' | b'+' | b'-');
    if line.len() == start || !line[start..].iter().all(fits) {
        line.truncate(start);
        line.extend_from_slice(NO_TIME);
    }
}

fn write_asked(asked: Asked<'_>, escapes: Escapes, line: &mut Vec<u8>) {
    let (method, target, query, protocol) = match asked {
        Asked::Line(request) => return write_text(request, escapes, line),
        Asked::Parts { method, target, query, protocol } => (method, target, query, protocol),
    };
    if !method.is_empty() {
        write_text(method, escapes, line);
        line.push(b' ');
    }
    write_text(target, escapes, line);
    if !query.is_empty() {
        line.push(b'?');
        write_text(query, escapes, line);
    }
    // A request without a method is no request line: a protocol behind it would be read as part of the target.
    if !method.is_empty() && !protocol.is_empty() {
        line.push(b' ');
        write_text(protocol, escapes, line);
    }
}

/// A status has three digits, or it is none.
fn write_status(status: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(status.get(..3).unwrap_or(NO_STATUS));
    if status.len() != 3 || !line[start..].iter().all(u8::is_ascii_digit) {
        line.truncate(start);
        line.extend_from_slice(NO_STATUS);
    }
}

fn write_bytes(bytes: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(bytes.get(..MAX_DIGITS).unwrap_or(bytes));
    if bytes.is_empty() || bytes.len() > MAX_DIGITS || !line[start..].iter().all(u8::is_ascii_digit) {
        line.truncate(start);
        line.push(b'-');
    }
}

fn write_header(text: &[u8], escapes: Escapes, line: &mut Vec<u8>) {
    if text.is_empty() {
        line.push(b'-');
    } else {
        write_text(text, escapes, line);
    }
}

/// Writes a text so that it can stand between quotes.
fn write_text(text: &[u8], escapes: Escapes, line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(text);
    let copy = &line[start..];
    let stays = match escapes {
        Escapes::Written => memchr2(b'"', b'\n', copy).is_none() && copy.last() != Some(&b'\\'),
        Escapes::None => memchr3(b'"', b'\n', b'\\', copy).is_none(),
    };
    if !stays {
        escape(start, escapes, line);
    }
}

/// Writes anew what stands behind `start`.
#[cold]
fn escape(start: usize, escapes: Escapes, line: &mut Vec<u8>) {
    let end = line.len();
    let mut at = start;
    while at < end {
        let known = if escapes == Escapes::Written { escape_length(&line[at..end]) } else { 0 };
        if known > 0 {
            line.extend_from_within(at..at + known);
        } else {
            match line[at] {
                b'"' => line.extend_from_slice(br"\x22"),
                b'\\' => line.extend_from_slice(br"\x5C"),
                b'\n' => line.extend_from_slice(br"\x0A"),
                other => line.push(other),
            }
        }
        at += known.max(1);
    }
    line.drain(start..end);
}

/// The length of the escape that `text` begins with, as `normalize` undoes them; zero where it begins with none.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 4,
        [b'\\', b'u', b'0', b'0', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 6,
        [b'\\', b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'v' | b'b' | b'f', ..] => 2,
        _ => 0,
    }
}
