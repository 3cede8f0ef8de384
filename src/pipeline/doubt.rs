//! Whether an input is an access log at all, and what to say of one that does not look like it.
//!
//! Sentences only; what is done with such an input is for others to decide.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::headers;
use crate::engine::ScanOptions;
use crate::format::transcriber::{Course, Transcriber};
use crate::format::{ClientPlace, Formats, LogFormat, has_forwarded, is_binary, is_error_log, recognise};
use crate::input::ends::{Ends, ends};
use crate::input::tail::Piece;

/// Bytes of the first line that are kept for a message.
pub(super) const FIRST_LINE: usize = 200;

/// Bytes of a log's beginning that are looked at for a line that parses.
pub(super) const BEGINNING: usize = 64 << 10;

/// How an input was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// By its own name.
    Name,
    /// By a pattern, be it one of a configuration.
    Pattern,
    /// In a folder.
    Folder,
}

impl By {
    /// How the log of a piece was found.
    pub(super) fn of(piece: &Piece<'_>) -> Self {
        match (piece.named, piece.is_open) {
            (true, false) => Self::Name,
            (true, true) => Self::Pattern,
            (false, _) => Self::Folder,
        }
    }
}

/// How the text of an input begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// The first line, cut.
    pub(super) first_line: Vec<u8>,
    /// It is binary data.
    pub(super) is_binary: bool,
    /// Its lines have a field in which a proxy wrote for whom it asks.
    pub(super) has_forwarded: bool,
}

impl Head {
    /// That of a text that begins with these lines.
    pub(super) fn of(lines: &[u8]) -> Self {
        let first = lines.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Self { first_line: first[..first.len().min(FIRST_LINE)].to_vec(), is_binary: is_binary(lines), has_forwarded: has_forwarded(lines) }
    }

    /// Whether an input, of which no line parses, is none whose lines are matched as they are: binary data, a server's error log that
    /// was not asked for by its own name, and what is in a folder and has no log's name.
    pub(super) fn is_foreign(&self, path: &[u8], by: By) -> bool {
        self.is_binary || by != By::Name && is_error_log(&self.first_line) || by == By::Folder && !has_log_name(path)
    }
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
pub(super) fn begins_as_log(path: &Path, formats: &Formats, scope: &ScanOptions) -> bool {
    ends(path, BEGINNING).is_some_and(|Ends { first, .. }| any_parses(&first, path, formats, scope))
}

/// Whether one of the first lines of a log parses.
fn any_parses(first: &[u8], path: &Path, formats: &Formats, scope: &ScanOptions) -> bool {
    let header = headers::first(0, first, scope.max_line);
    let course = Course { formats, first: formats.first_of(path), header, clients: ClientPlace::Unknown, max_line: scope.max_line };
    parses(first, &course, scope.format)
}

/// What a live log is whose lines do not parse, going by those it begins with; `lines` are those that came, where it cannot be read.
/// Whether its lines are matched all the same, and what to say of it.
pub(super) fn examine(path: &Path, by: By, lines: &[u8], formats: &Formats, scope: &ScanOptions) -> (bool, Option<String>) {
    let first = ends(path, BEGINNING).map(|ends| ends.first).filter(|first| !first.is_empty());
    let first = first.as_deref().unwrap_or(lines);
    if first.is_empty() || any_parses(first, path, formats, scope) {
        return (true, None);
    }
    let head = Head::of(first);
    if !head.is_foreign(path.as_os_str().as_bytes(), by) {
        let lines = memchr::memchr_iter(b'\n', first).count().max(1) as u64;
        return (true, Some(unexplained_without_line(lines, &head.first_line, scope.format, formats)));
    }
    (false, Some(if head.is_binary && by == By::Name { BINARY.to_owned() } else { passed_over(&head) }))
}

/// Of a file that is passed over: what it looks like.
pub(super) fn passed_over(head: &Head) -> String {
    if head.is_binary {
        return "passed over: binary data, no access log".to_owned();
    }
    let what = recognise(&head.first_line).map_or_else(|| "no access log".to_owned(), |what| format!("{what}, no access log"));
    format!("passed over: {what}; name it to have it read")
}

/// Of an input that was asked for and is binary data.
pub(super) const BINARY: &str = "is binary data, and no log; its lines are not matched";

/// Of an input in which so many lines have two addresses before the time: what to type to have the client read.
pub(super) fn without_client(lines: u64, is_asked: bool) -> Option<String> {
    const REST: &str = r#"- $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
    let what = match lines {
        0 => return None,
        1 => "has a line with two addresses before the time".to_owned(),
        _ => format!("has {lines} lines with two addresses before the time"),
    };
    let what = format!("{what}, and its other lines do not show which of them is the client: there the client is unknown");
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
    // A line over the limit was not held.
    let first = match String::from_utf8_lossy(first_line) {
        line if line.is_empty() || only.is_some() || !formats.asked().is_empty() => String::new(),
        line => format!(". First line: {line}"),
    };
    unexplained_without_line(lines, first_line, only, formats) + &first
}

/// The same without a text of the log, for what is kept longer than a run's output.
fn unexplained_without_line(lines: u64, first_line: &[u8], only: Option<LogFormat>, formats: &Formats) -> String {
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
    format!("none of its {lines} lines is in a format that is known: {what}{hint}")
}
