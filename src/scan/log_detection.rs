//! Detects whether an input is an access log, and words the messages about inputs that are not.
//!
//! Callers decide what to do with such an input.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::formats::reader::looks_like_clf;
use crate::formats::{
    Formats, Layouts, LogFormat, is_binary, is_error_log, is_report, line_shape, may_be_log_line,
    recognize,
};
use crate::input::find::InputOrigin;
use crate::log::finding::LineCounts;

/// The length of the first line that is kept for messages.
const MAX_FIRST_LINE: usize = 200;

/// What the start of an input shows.
#[expect(
    clippy::struct_excessive_bools,
    reason = "findings of a text that do not exclude one another"
)]
#[derive(Debug, Clone, Default)]
pub(super) struct LogHead {
    /// The first line, truncated.
    pub(super) first_line: Vec<u8>,
    /// One of its lines is a request, in a known format or a discovered layout.
    pub(super) has_request: bool,
    /// The input is binary data.
    pub(super) is_binary: bool,
    /// The input is a report.
    is_report: bool,
    /// The number of lines to judge by.
    pub(super) lines: u64,
    /// Most of its lines end with a carriage return alone, so that they are one line.
    pub(super) has_cr_lines: bool,
}

impl LogHead {
    /// Examines the first lines. Those of an input that starts with a line over the limit show
    /// nothing: whether such a line is read as a whole depends on how the input is read.
    pub(super) fn new(lines: &[u8], has_request: bool, max_line: usize) -> Self {
        let first = lines
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        if lines.is_empty() || first.len() > max_line {
            return Self {
                has_request,
                ..Self::default()
            };
        }
        let first_line = first[..first.len().min(MAX_FIRST_LINE)].to_vec();
        let count = memchr::memchr_iter(b'\n', lines).count().max(1) as u64;
        Self {
            first_line,
            has_request,
            is_binary: is_binary(lines),
            is_report: is_report(lines),
            lines: count,
            has_cr_lines: has_cr_lines(lines),
        }
    }

    /// Whether the lines of an input are matched. Those of binary data, of an error log that was
    /// not given by name, and of a file in a folder whose name does not say that it is an access
    /// log are matched only if one of the first lines is a request. Package managers, mail servers
    /// and source code have paths in their lines too. A report beside the logs is never a log.
    pub(super) fn is_access_log(&self, path: &Path, by: InputOrigin) -> bool {
        let is_named = by == InputOrigin::Name;
        if self.is_report && !is_named || by == InputOrigin::Folder && is_repeated(path) {
            return false;
        }
        let is_unlikely = self.is_binary
            || !is_named && is_error_log(&self.first_line)
            || by == InputOrigin::Folder && !is_named_access(path);
        self.has_request || self.lines == 0 || !is_unlikely
    }
}

/// Whether more lines end with a carriage return alone than with a newline. Another line follows
/// it; elsewhere it is a part of a text.
fn has_cr_lines(lines: &[u8]) -> bool {
    let is_end = |at: &usize| {
        let rest = &lines[at + 1..];
        looks_like_clf(&rest[..memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len())])
    };
    let ends = memchr::memchr_iter(b'\r', lines).filter(is_end).count();
    ends > memchr::memchr_iter(b'\n', lines).count()
}

/// Whether another file of the folder has the requests of this one, with their status: Apache's
/// default for TLS writes each to `ssl_access_log` and to `ssl_request_log`.
fn is_repeated(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let Some(rotation) = name.strip_prefix(b"ssl_request_log") else {
        return false;
    };
    let other = [b"ssl_access_log", rotation].concat();
    path.with_file_name(OsStr::from_bytes(&other)).exists()
}

/// Whether the name of a file in a folder says that it is an access log.
fn is_named_access(path: &Path) -> bool {
    memchr::memmem::find(&name_of(path), b"access").is_some()
}

/// Whether the name of a file says that it is a log: `error.log.1`, `syslog`, but not `logo.png` or
/// `login.sh`.
fn is_named_log(path: &Path) -> bool {
    let name = name_of(path);
    memchr::memmem::find_iter(&name, b"log")
        .any(|at| !name.get(at + 3).is_some_and(u8::is_ascii_alphabetic))
}

fn name_of(path: &Path) -> Vec<u8> {
    path.file_name()
        .unwrap_or_default()
        .as_bytes()
        .to_ascii_lowercase()
}

/// What every message about a skipped file ends with, if the user may want to read it.
pub(super) const READ_ANYWAY: &str = "give its path to read it anyway";

/// The message about a skipped file: what it looks like. There is none about a file that is no log
/// at all by its name and its first line, such as a script or a document.
pub(super) fn skipped_message(head: &LogHead, path: &Path) -> Option<String> {
    if head.is_binary {
        return Some("skipped: binary data, not an access log".to_owned());
    }
    if is_repeated(path) {
        return Some(format!(
            "skipped: ssl_access_log has the same requests with their status; {READ_ANYWAY}"
        ));
    }
    if !is_named_log(path) && !may_be_log_line(&head.first_line) {
        return None;
    }
    let what = recognize(&head.first_line).map_or_else(
        || "not an access log".to_owned(),
        |what| format!("{what}, not an access log"),
    );
    Some(format!("skipped: {what}; {READ_ANYWAY}"))
}

/// The problem of an input whose lines end with a carriage return alone.
pub(super) const CR_PROBLEM: &str = "its lines end with a carriage return alone, so they are read \
as one: convert it with `tr '\\r' '\\n'`";

/// The problem of a named input that is binary data.
pub(super) const BINARY_PROBLEM: &str = "is binary data, not a log; its lines are not matched";

/// The notice that lines were read by a discovered layout.
pub(super) fn layout_notice(counts: &LineCounts, layouts: Option<&Arc<Layouts>>) -> Option<String> {
    let layouts =
        layouts.filter(|layouts| counts.others.iter().any(|(name, _)| name == layouts.name()))?;
    let mut notice = format!(
        "is read as {}",
        layouts.words().collect::<Vec<_>>().join(" and ")
    );
    if layouts.is_client_unclear() {
        notice.push_str(
            "; more than one of its columns may be the client, so the client is unknown: \
             give this format to --log-format with $remote_addr in the place of the client",
        );
    }
    Some(notice)
}

/// The notices about lines of a log whose client is unknown.
pub(super) fn unknown_client_notices(
    counts: &LineCounts,
    formats: &Formats,
    path: &Path,
) -> impl Iterator<Item = String> {
    let preferred = formats.preferred_for(path);
    let two_addresses = unknown_client_notice(counts.without_client, !preferred.is_empty());
    two_addresses.into_iter().chain(doubtful_client_notice(
        counts.doubtful_clients,
        formats.client_header(preferred),
    ))
}

/// The notice about lines whose client is unknown, because a client may have sent what stands in
/// its place.
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

/// The notice about lines with two addresses before the time: how to specify which one is the
/// client.
fn unknown_client_notice(lines: u64, is_requested: bool) -> Option<String> {
    const REST: &str = r#"- $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
    let what = match lines {
        0 => return None,
        1 => "has a line with two addresses before the time".to_owned(),
        _ => format!("has {lines} lines with two addresses before the time"),
    };
    let what = format!(
        "{what}, or with one that a client may have sent, and its other lines do not show which of them is the client: the client of these lines is unknown"
    );
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
    (nul_bytes > 0).then(|| {
        format!(
            "{nul_bytes} NUL bytes in or between its lines: a hole left by copytruncate or a crash"
        )
    })
}

/// The problem of an input without parsed lines: what was expected, and what it looks like. It
/// contains no text of the log.
pub(super) fn unparsed_problem(
    lines: u64,
    first_line: &[u8],
    only: Option<LogFormat>,
    formats: &Formats,
) -> String {
    if let Some(format) = only {
        // Other formats were ruled out by the user, so do not guess.
        return format!(
            "none of its lines is in the format {format}; omit --log-format to detect the format"
        );
    }
    if let Some(requested) = formats.requested().first() {
        let name = formats.name(*requested);
        return format!(
            "none of its lines is in the format {name} or another known format; omit --log-format to see what it looks like"
        );
    }
    let what = recognize(first_line)
        .map(|what| format!("it looks like {what}; "))
        .unwrap_or_default();
    let hint = match first_line.first() {
        _ if is_error_log(first_line) => {
            "give the path of the access log, which is usually in the same folder"
        }
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
