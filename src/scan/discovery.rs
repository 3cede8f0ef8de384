//! Discovers the layouts of a log that no known format explains, in its first lines.
//!
//! The first lines decide for the whole log, whatever part of it is read: all threads, ranges, reports and a live scan read each
//! line alike.

use std::path::Path;
use std::sync::Arc;

use super::log_detection::HEAD_BYTES;
use super::w3c_headers::{self, BOM};
use crate::engine::ScanOptions;
use crate::finding::LineCounts;
use crate::formats::reader::{LineContext, LogReader};
use crate::formats::{ClientPosition, Formats, Layouts};
use crate::input::lines::read_head;

/// The layouts of the file at `path`, compressed or not; `None` if there are none, or it cannot be read.
pub(crate) fn layouts_of_file(path: &Path, formats: &Formats, scope: &ScanOptions) -> Option<Arc<Layouts>> {
    layouts_in(&read_head(path, HEAD_BYTES)?, path, formats, scope)
}

/// The layouts of the log at `path` that starts with these lines.
pub(crate) fn layouts_in(lines: &[u8], path: &Path, formats: &Formats, scope: &ScanOptions) -> Option<Arc<Layouts>> {
    if scope.format.is_some() {
        return None;
    }
    let lines = lines.strip_prefix(BOM).unwrap_or(lines);
    let head = match lines.get(..HEAD_BYTES) {
        Some(head) => &head[..=memchr::memrchr(b'\n', head)?],
        None => lines,
    };
    let header = w3c_headers::header_at_start(0, head, scope.max_line);
    let context = LineContext {
        formats,
        preferred: formats.preferred_for(path),
        header,
        layouts: None,
        clients: ClientPosition::Unknown,
        max_line: scope.max_line,
    };
    LogReader::default().discover(head, &context)
}

/// Whether the file at `path` has so many lines that more of them do not change its layouts.
pub(super) fn is_head_whole(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() >= HEAD_BYTES as u64)
}

/// The notice that lines were read by a discovered layout.
pub(super) fn layout_notice(counts: &LineCounts, layouts: Option<&Arc<Layouts>>) -> Option<String> {
    let layouts = layouts.filter(|layouts| counts.others.iter().any(|(name, _)| name == layouts.name()))?;
    let mut notice = format!("is read as {}", layouts.words().collect::<Vec<_>>().join(" and "));
    if layouts.is_client_unclear() {
        notice.push_str(
            "; more than one of its columns may be the client, so the client is unknown: \
             give this format to --log-format with $remote_addr in the place of the client",
        );
    }
    Some(notice)
}
