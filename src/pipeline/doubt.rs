//! Whether an input is an access log at all, and what to say of one that does not look like it.
//!
//! Sentences only; what is done with such an input is for others to decide.

use std::path::Path;

use super::headers;
use crate::engine::Scope;
use crate::format::transcriber::{Course, Transcriber};
use crate::format::{ClientPlace, Formats, LogFormat, is_error_log, recognise};
use crate::input::ends::{Ends, ends};

/// Bytes of the first line that are kept for a message.
pub(super) const FIRST_LINE: usize = 200;

/// Bytes of a log's beginning that are looked at for a line that parses.
pub(super) const BEGINNING: usize = 64 << 10;

/// Whether a file of a folder, of which no line parses, is no access log: going by its name and its first line.
pub(super) fn is_foreign(path: &[u8], first_line: &[u8]) -> bool {
    !has_log_name(path) || is_error_log(first_line)
}

/// Whether a file of a folder is meant to be a log, going by its name.
fn has_log_name(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path).to_ascii_lowercase();
    // Neither `logo.png` nor `login.html`.
    let is_word = |at: usize| name.get(at + 3).is_none_or(|next| *next == b's' || !next.is_ascii_alphabetic());
    memchr::memmem::find(&name, b"access").is_some() || memchr::memmem::find_iter(&name, b"log").any(is_word)
}

/// Whether a line parses.
pub(super) fn parses(lines: &[u8], course: &Course<'_>, only: Option<LogFormat>) -> bool {
    Transcriber::default().reads_any(lines, course, only)
}

/// Whether a log that was read before begins with lines of which one parses, packed or not.
pub(super) fn begins_as_log(path: &Path, formats: &Formats, scope: &Scope) -> bool {
    let Some(Ends { first: head, .. }) = ends(path, BEGINNING) else { return false };
    let header = headers::first(0, &head, scope.max_line);
    parses(
        &head,
        &Course { formats, first: formats.first_of(path), header, clients: ClientPlace::Unknown, max_line: scope.max_line },
        scope.format,
    )
}

/// Of a file that is passed over: what it looks like.
pub(super) fn passed_over(first_line: &[u8]) -> String {
    let what = recognise(first_line).map_or_else(|| "no access log".to_owned(), |what| format!("{what}, no access log"));
    format!("passed over: {what}; name it to have it read")
}

/// Of an input in which so many lines have two addresses before the time: what to type to have the client read.
pub(super) fn without_client(lines: u64, is_asked: bool) -> Option<String> {
    const REST: &str = r#"- $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
    let what = match lines {
        0 => return None,
        1 => "1 line has two addresses before the time, and its other lines do not show which is the client; its client is unknown"
            .to_owned(),
        _ => format!(
            "{lines} lines have two addresses before the time, and its other lines do not show which is the client; their client is unknown"
        ),
    };
    if is_asked {
        // Such lines are not in the format that was asked for.
        return Some(what);
    }
    Some(format!(
        "{what}. If the host is first, type --log-format '$host $remote_addr {REST}'; if the client is first, type --log-format '$remote_addr $host {REST}'"
    ))
}

/// Of an input whose lines hold NULs: how many.
pub(super) fn holes(nul_bytes: u64) -> Option<String> {
    (nul_bytes > 0).then(|| format!("{nul_bytes} NUL bytes stand in or between its lines: a hole, left by copytruncate or a crash"))
}

/// Of an input of which none of so many lines parses: what was expected, and what it looks like instead.
pub(super) fn unexplained(lines: u64, first_line: &[u8], only: Option<LogFormat>, formats: &Formats) -> String {
    if let Some(format) = only {
        // Any other format was ruled out, so what it looks like says nothing.
        return format!("not one of its lines is in the format {format}; leave --log-format out to have the format found");
    }
    if let Some(asked) = formats.asked().first() {
        let name = formats.name(*asked);
        return format!(
            "not one of its lines is in the format {name}, nor in another that is known; leave --log-format out to see what it looks like"
        );
    }
    let what = recognise(first_line).map(|what| format!("it looks like {what}; ")).unwrap_or_default();
    let hint = match first_line.first() {
        _ if is_error_log(first_line) => "name the access log, which lies beside it as a rule",
        Some(b'{') => "say with --field which of its keys are what, such as client=ip,target=uri",
        _ => "give its format string to --log-format; `probewatch formats` lists those that are known",
    };
    // A line over the limit was not held.
    let first = match String::from_utf8_lossy(first_line) {
        line if line.is_empty() => String::new(),
        line => format!(". First line: {line}"),
    };
    format!("none of its {lines} lines is in a format that is known: {what}{hint}{first}")
}
