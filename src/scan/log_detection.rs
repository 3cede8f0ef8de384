//! Whether an input is an access log at all, and what to say of one that does not look like it.
//!
//! Sentences only; what is done with such an input is for others to decide.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::w3c_headers;
use crate::engine::ScanOptions;
use crate::formats::reader::{LineContext, LogReader};
use crate::formats::{ClientPosition, Formats, LogFormat, has_forwarded, is_binary, is_error_log, recognize};
use crate::input::head_tail::{HeadTail, read_head_tail};
use crate::input::tail::LineChunk;

/// Bytes of the first line that are kept for a message.
pub(super) const MAX_FIRST_LINE: usize = 200;

/// Bytes of a log's beginning that are looked at for a line that any_line_parses.
pub(super) const HEAD_BYTES: usize = 64 << 10;

/// How an input was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundBy {
    /// FoundBy its own name.
    Name,
    /// FoundBy a pattern, be it one of a configuration.
    Pattern,
    /// In a folder.
    Folder,
}

impl FoundBy {
    /// How the log of a piece was found.
    pub(super) fn from_piece(piece: &LineChunk<'_>) -> Self {
        match (piece.named, piece.from_pattern) {
            (true, false) => Self::Name,
            (true, true) => Self::Pattern,
            (false, _) => Self::Folder,
        }
    }
}

/// How the text of an input begins.
#[derive(Debug, Clone, Default)]
pub(super) struct LogHead {
    /// The first line, cut.
    pub(super) first_line: Vec<u8>,
    /// It is binary data.
    pub(super) is_binary: bool,
    /// Its lines have a field in which a proxy wrote for whom it asks.
    pub(super) has_forwarded: bool,
}

impl LogHead {
    /// That of a text that begins with these lines.
    pub(super) fn new(lines: &[u8]) -> Self {
        let first = lines.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Self {
            first_line: first[..first.len().min(MAX_FIRST_LINE)].to_vec(),
            is_binary: is_binary(lines),
            has_forwarded: has_forwarded(lines),
        }
    }

    /// Whether an input, of which no line any_line_parses, is none whose lines are matched as they are: binary data, a server's error log that
    /// was not asked for by its own name, and what is in a folder and has no log's name.
    pub(super) fn is_not_access_log(&self, path: &[u8], by: FoundBy) -> bool {
        self.is_binary || by != FoundBy::Name && is_error_log(&self.first_line) || by == FoundBy::Folder && !has_log_name(path)
    }
}

/// Whether a file of a folder is meant to be a log, going by its name.
fn has_log_name(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path).to_ascii_lowercase();
    // Neither `logo.png` nor `login.html`.
    let is_word = |at: usize| name.get(at + 3).is_none_or(|next| *next == b's' || !next.is_ascii_alphabetic());
    memchr::memmem::find(&name, b"access").is_some() || memchr::memmem::find_iter(&name, b"log").any(is_word)
}

/// Whether a line any_line_parses.
pub(super) fn any_line_parses(lines: &[u8], context: &LineContext<'_>, only: Option<LogFormat>) -> bool {
    LogReader::default().reads_any(lines, context, only)
}

/// Whether a log that was read before begins with lines of which one any_line_parses, packed or not.
pub(super) fn starts_as_access_log(path: &Path, formats: &Formats, scope: &ScanOptions) -> bool {
    read_head_tail(path, HEAD_BYTES).is_some_and(|HeadTail { first, .. }| head_parses(&first, path, formats, scope))
}

/// Whether one of the first lines of a log any_line_parses.
fn head_parses(first: &[u8], path: &Path, formats: &Formats, scope: &ScanOptions) -> bool {
    let header = w3c_headers::header_at_start(0, first, scope.max_line);
    let context =
        LineContext { formats, preferred: formats.preferred_for(path), header, clients: ClientPosition::Unknown, max_line: scope.max_line };
    any_line_parses(first, &context, scope.format)
}

/// What a live log is whose lines do not parse, going by those it begins with; `lines` are those that came, where it cannot be read.
/// Whether its lines are matched all the same, and what to say of it.
pub(super) fn classify_unparsed(path: &Path, by: FoundBy, lines: &[u8], formats: &Formats, scope: &ScanOptions) -> (bool, Option<String>) {
    let first = read_head_tail(path, HEAD_BYTES).map(|read_head_tail| read_head_tail.first).filter(|first| !first.is_empty());
    let first = first.as_deref().unwrap_or(lines);
    if first.is_empty() || head_parses(first, path, formats, scope) {
        return (true, None);
    }
    let head = LogHead::new(first);
    if !head.is_not_access_log(path.as_os_str().as_bytes(), by) {
        let lines = memchr::memchr_iter(b'\n', first).count().max(1) as u64;
        return (true, Some(unparsed_problem_without_line(lines, &head.first_line, scope.format, formats)));
    }
    (false, Some(if head.is_binary && by == FoundBy::Name { BINARY_PROBLEM.to_owned() } else { skipped_message(&head) }))
}

/// Of a file that is passed over: what it looks like.
pub(super) fn skipped_message(head: &LogHead) -> String {
    if head.is_binary {
        return "passed over: binary data, no access log".to_owned();
    }
    let what = recognize(&head.first_line).map_or_else(|| "no access log".to_owned(), |what| format!("{what}, no access log"));
    format!("passed over: {what}; name it to have it read")
}

/// Of an input that was asked for and is binary data.
pub(super) const BINARY_PROBLEM: &str = "is binary data, and no log; its lines are not matched";

/// Of an input in which so many lines have two addresses before the time: what to type to have the client read.
pub(super) fn unknown_client_notice(lines: u64, is_asked: bool) -> Option<String> {
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
pub(super) fn nul_bytes_problem(nul_bytes: u64) -> Option<String> {
    (nul_bytes > 0).then(|| format!("{nul_bytes} NUL bytes stand in or between its lines: a hole, left by copytruncate or a crash"))
}

/// Of an input of which none of so many lines any_line_parses: what was expected, and what it looks like instead.
pub(super) fn unparsed_problem(lines: u64, first_line: &[u8], only: Option<LogFormat>, formats: &Formats) -> String {
    // A line over the limit was not held.
    let first = match String::from_utf8_lossy(first_line) {
        line if line.is_empty() || only.is_some() || !formats.requested().is_empty() => String::new(),
        line => format!(". First line: {line}"),
    };
    unparsed_problem_without_line(lines, first_line, only, formats) + &first
}

/// The same without a text of the log, for what is kept longer than a run's output.
fn unparsed_problem_without_line(lines: u64, first_line: &[u8], only: Option<LogFormat>, formats: &Formats) -> String {
    if let Some(format) = only {
        // Any other format was ruled out, so what it looks like says nothing.
        return format!("not one of its lines is in the format {format}; leave --log-format out to have the format found");
    }
    if let Some(asked) = formats.requested().first() {
        let name = formats.name(*asked);
        return format!(
            "not one of its lines is in the format {name}, nor in another that is known; leave --log-format out to see what it looks like"
        );
    }
    let what = recognize(first_line).map(|what| format!("it looks like {what}; ")).unwrap_or_default();
    let hint = match first_line.first() {
        _ if is_error_log(first_line) => "name the access log, which lies beside it as a rule",
        Some(b'{') => "say with --field which of its keys are what, such as client=ip,target=uri",
        _ => "give its format string to --log-format; `probewatch formats` lists those that are known",
    };
    format!("none of its {lines} lines is in a format that is known: {what}{hint}")
}
