//! Detects whether an input is an access log, and words the messages about inputs that are not.
//!
//! Callers decide what to do with such an input.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::discovery::layouts_in;
use super::w3c_headers;
use crate::engine::ScanOptions;
use crate::finding::LineCounts;
use crate::formats::reader::{LineContext, LogReader};
use crate::formats::{ClientPosition, Formats, LogFormat, is_binary, is_error_log, is_report, line_shape, recognize};
use crate::input::find::InputOrigin;
use crate::input::lines::read_head;
use crate::input::tail::LineChunk;

/// The length of the first line that is kept for messages.
pub(super) const MAX_FIRST_LINE: usize = 200;

/// The number of bytes at the start of a log in which a line must parse.
pub(super) const HEAD_BYTES: usize = 64 << 10;

/// How the log of a piece was found.
pub(super) fn origin(piece: &LineChunk<'_>) -> InputOrigin {
    InputOrigin::new(piece.named, piece.from_pattern)
}

/// The start of an input.
#[derive(Debug, Clone, Default)]
pub(super) struct LogHead {
    /// The first line, truncated.
    pub(super) first_line: Vec<u8>,
    /// The input is binary data.
    pub(super) is_binary: bool,
    /// The input is a report.
    pub(super) is_report: bool,
}

impl LogHead {
    /// Examines the first lines. Those of an input that starts with a line over the limit show nothing: whether such a line is read
    /// as a whole depends on how the input is read.
    pub(super) fn new(lines: &[u8], max_line: usize) -> Self {
        let first = lines.split(|&byte| byte == b'\n').next().unwrap_or_default();
        if first.len() > max_line {
            return Self::default();
        }
        Self { first_line: first[..first.len().min(MAX_FIRST_LINE)].to_vec(), is_binary: is_binary(lines), is_report: is_report(lines) }
    }

    /// Examines the first lines of a file, for a range that may not contain them.
    pub(super) fn of_file(path: &Path, max_line: usize) -> Option<Self> {
        Some(Self::new(&read_head(path, HEAD_BYTES)?, max_line))
    }

    /// Whether an input without parsed lines should not be matched: binary data, an error log that was not given by
    /// name, or a file in a folder whose name does not say that it is an access log. Package managers, mail servers and source
    /// code have paths in their lines too.
    pub(super) fn is_not_access_log(&self, path: &[u8], by: InputOrigin) -> bool {
        self.is_binary
            || by != InputOrigin::Name && (self.is_report || is_error_log(&self.first_line))
            || by == InputOrigin::Folder && !is_named_access(path)
    }
}

/// Whether the name of a file in a folder says that it is an access log.
fn is_named_access(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path).to_ascii_lowercase();
    memchr::memmem::find(&name, b"access").is_some()
}

/// Whether any of these lines parses.
pub(super) fn any_line_parses(lines: &[u8], context: &LineContext<'_>, only: Option<LogFormat>) -> bool {
    LogReader::default().reads_any(lines, context, only)
}

/// Whether a line parses at the start of a log that was read earlier, compressed or not.
pub(super) fn starts_as_access_log(path: &Path, formats: &Formats, scope: &ScanOptions) -> bool {
    read_head(path, HEAD_BYTES).is_some_and(|first| head_parses(&first, path, formats, scope))
}

/// Whether one of the first lines of a log parses.
fn head_parses(first: &[u8], path: &Path, formats: &Formats, scope: &ScanOptions) -> bool {
    let header = w3c_headers::header_at_start(0, first, scope.max_line);
    let layouts = layouts_in(first, path, formats, scope);
    let (preferred, clients) = (formats.preferred_for(path), ClientPosition::Unknown);
    let context = LineContext { formats, preferred, header, layouts, clients, max_line: scope.max_line };
    !is_report(first) && any_line_parses(first, &context, scope.format)
}

/// Classifies a live log whose lines do not parse by its first lines, or by `lines` if it cannot be read. Returns whether
/// its lines should be matched, and a notice.
pub(super) fn classify_unparsed(
    path: &Path,
    by: InputOrigin,
    lines: &[u8],
    formats: &Formats,
    scope: &ScanOptions,
) -> (bool, Option<String>) {
    let first = read_head(path, HEAD_BYTES).filter(|first| !first.is_empty());
    let first = first.as_deref().unwrap_or(lines);
    if first.is_empty() || head_parses(first, path, formats, scope) {
        return (true, None);
    }
    let head = LogHead::new(first, scope.max_line);
    if !head.is_not_access_log(path.as_os_str().as_bytes(), by) {
        let lines = memchr::memchr_iter(b'\n', first).count().max(1) as u64;
        return (true, Some(unparsed_problem(lines, &head.first_line, scope.format, formats)));
    }
    (false, Some(if head.is_binary && by == InputOrigin::Name { BINARY_PROBLEM.to_owned() } else { skipped_message(&head) }))
}

/// What every message about a skipped file ends with, if the user may want to read it.
pub(super) const READ_ANYWAY: &str = "give its path to read it anyway";

/// The message about a skipped file: what it looks like.
pub(super) fn skipped_message(head: &LogHead) -> String {
    if head.is_binary {
        return "skipped: binary data, not an access log".to_owned();
    }
    let what = recognize(&head.first_line).map_or_else(|| "not an access log".to_owned(), |what| format!("{what}, not an access log"));
    format!("skipped: {what}; {READ_ANYWAY}")
}

/// The problem of a named input that is binary data.
pub(super) const BINARY_PROBLEM: &str = "is binary data, not a log; its lines are not matched";

/// The notices about lines of a log whose client is unknown.
pub(super) fn unknown_client_notices(counts: &LineCounts, formats: &Formats, path: &Path) -> impl Iterator<Item = String> {
    let preferred = formats.preferred_for(path);
    let two_addresses = unknown_client_notice(counts.without_client, !preferred.is_empty());
    two_addresses.into_iter().chain(doubtful_client_notice(counts.doubtful_clients, formats.client_header(preferred)))
}

/// The notice about lines whose client is unknown, because a client may have sent what stands in its place.
fn doubtful_client_notice(lines: u64, header: Option<&str>) -> Option<String> {
    let what = match lines {
        0 => return None,
        1 => "has a line whose client is unknown".to_owned(),
        _ => format!("has {lines} lines whose client is unknown"),
    };
    Some(match header {
        Some(header) => format!(
            "{what}: its format has the header {header} in the place of the client, and any client can send that; \
             if your proxies write it, type --client-from {header} --trusted-proxy with their addresses"
        ),
        None => format!(
            "{what}: a text that clients choose, such as a host, a user name or a list of forwarded addresses, makes more than one \
             reading of these lines possible, or two fields have different clients (--field client=KEY takes one); quote such texts in the log format of the server, or write them after the client; for a \
             list that your proxies write, type --client-from x-forwarded-for --trusted-proxy with their addresses"
        ),
    })
}

/// The notice about lines with two addresses before the time: how to specify which one is the client.
fn unknown_client_notice(lines: u64, is_requested: bool) -> Option<String> {
    const REST: &str = r#"- $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
    let what = match lines {
        0 => return None,
        1 => "has a line with two addresses before the time".to_owned(),
        _ => format!("has {lines} lines with two addresses before the time"),
    };
    let what = format!("{what}, and its other lines do not show which of them is the client: the client of these lines is unknown");
    if is_requested {
        // Such lines are not in the requested format.
        return Some(what);
    }
    Some(format!(
        "{what}. If the host is first, type --log-format '$host $remote_addr {REST}'; if the client is first, type --log-format '$remote_addr $host {REST}'"
    ))
}

/// The problem of an input whose lines contain NUL bytes.
pub(super) fn nul_bytes_problem(nul_bytes: u64) -> Option<String> {
    (nul_bytes > 0).then(|| format!("{nul_bytes} NUL bytes in or between its lines: a hole left by copytruncate or a crash"))
}

/// The problem of an input without parsed lines: what was expected, and what it looks like. It contains no text of the log.
pub(super) fn unparsed_problem(lines: u64, first_line: &[u8], only: Option<LogFormat>, formats: &Formats) -> String {
    if let Some(format) = only {
        // Other formats were ruled out by the user, so do not guess.
        return format!("none of its lines is in the format {format}; omit --log-format to detect the format");
    }
    if let Some(requested) = formats.requested().first() {
        let name = formats.name(*requested);
        return format!("none of its lines is in the format {name} or another known format; omit --log-format to see what it looks like");
    }
    let what = recognize(first_line).map(|what| format!("it looks like {what}; ")).unwrap_or_default();
    let hint = match first_line.first() {
        _ if is_error_log(first_line) => "give the path of the access log, which is usually in the same folder",
        Some(b'{') => "map its keys with --field, such as client=ip,target=uri",
        _ => "give its format string to --log-format; `probewatch formats` lists the known formats",
    };
    // Empty if the line exceeded the limit.
    let shape = match line_shape(first_line) {
        shape if shape.is_empty() => shape,
        shape => format!(". The shape of its first line: {shape}"),
    };
    format!("none of its {lines} lines is in a known format: {what}{hint}{shape}")
}
