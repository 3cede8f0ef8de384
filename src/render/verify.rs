//! Prints the result of `verify`: as a table for people, and as the JSON document that is saved.
//!
//! It contains no byte of a body. What comes from a header is masked and escaped before it gets
//! here.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Serializer as JsonSerializer;

use super::layout::{ALARM, BOLD, DIM, Grid, PLAIN, TextPage, minute, severity_style, styled};
use super::row_lines::RowLineFormatter;
use crate::render::RenderOptions;
use crate::report::verify::{BodyKind, SkippedPaths, Verdict, Verification, VerifiedPath};
use crate::text::number::{counted, grouped};

/// Writes the document.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_json<W: Write>(result: &Verification, out: &mut W) -> io::Result<()> {
    result.serialize(&mut JsonSerializer::with_formatter(
        &mut *out,
        RowLineFormatter::default(),
    ))?;
    out.write_all(b"\n")
}

/// Writes the table: what is still given comes first.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_table<W: Write>(
    result: &Verification,
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    let mut page = TextPage::new(options);
    let style = if result.totals.still_given > 0 {
        ALARM
    } else {
        BOLD
    };
    page.wrapped(0, style, &headline(result));
    if !result.paths.is_empty() {
        page.heading("WHAT THE SITE GIVES NOW");
        grid(&result.paths).write(&mut page);
    }
    let counts = if result.requests == 0 {
        "Nothing was requested.".to_owned()
    } else {
        let requests = counted(result.requests as u64, "request", "requests");
        format!(
            "{requests}, {} of them for names that do not exist, from {}.",
            grouped(result.controls as u64),
            result.time
        )
    };
    page.note(&counts);
    if let Some(status) = only_status(&result.paths) {
        page.note(&format!("Every path got {status}, also those that do not exist: this address or agent may be refused, and others not."));
    }
    for skipped in &result.skipped {
        page.note(&skipped_sentence(skipped));
    }
    out.write_all(page.text.as_bytes())
}

fn headline(result: &Verification) -> String {
    match result.paths.len() as u64 {
        0 => format!(
            "No path to verify: no answer of a rule on paths is distinct or uncertain, and may be requested of {}.",
            result.site
        ),
        all => format!(
            "{} of {}: {}.",
            counted(all, "path", "paths"),
            result.site,
            result.totals.sentence()
        ),
    }
}

/// The status of all answers, if it refuses the client rather than the path.
fn only_status(paths: &[VerifiedPath]) -> Option<u16> {
    let mut statuses = paths
        .iter()
        .flat_map(|path| path.status.iter().chain(&path.control_statuses));
    let first = *statuses
        .next()
        .filter(|status| matches!(status, 401 | 403))?;
    statuses.all(|status| *status == first).then_some(first)
}

/// What was not requested, as a sentence.
pub(crate) fn skipped_sentence(skipped: &SkippedPaths) -> String {
    format!(
        "{} left out: {}.",
        counted(skipped.paths, "path is", "paths are"),
        skipped.reason.sentence()
    )
}

fn grid(paths: &[VerifiedPath]) -> Grid<'_, VerifiedPath> {
    Grid::new(paths)
        .text("now", |path| {
            styled(
                now(path.verdict),
                if path.verdict == Verdict::StillGiven {
                    ALARM
                } else {
                    PLAIN
                },
            )
        })
        .text("severity", |path| {
            styled(path.severity.as_str(), severity_style(path.severity))
        })
        .rank(4)
        .text("path", |path| styled(&*path.path, BOLD))
        .flexible(24)
        .keep_end()
        .number("status", |path| {
            path.status
                .map(|status| status.to_string())
                .unwrap_or_default()
        })
        .rank(2)
        .number("bytes", |path| {
            path.bytes
                .map(|n| bytes(n, path.at_least))
                .unwrap_or_default()
        })
        .rank(3)
        .text("what it is", detail)
        .flexible(36)
        .text("rule", |path| {
            path.rules.first().map(String::as_str).unwrap_or_default()
        })
        .rank(6)
        .text("last seen", |path| {
            styled(path.last_time.map(minute).unwrap_or_default(), DIM)
        })
        .rank(5)
}

fn now(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::StillGiven => "still given",
        Verdict::Soft404 => "like any path",
        Verdict::Refused => "refused",
        Verdict::Redirected => "redirected",
        Verdict::NoAnswer => "no answer",
        Verdict::NotRequested => "not requested",
    }
}

fn bytes(bytes: u64, at_least: bool) -> String {
    format!(
        "{}{}",
        if at_least { "at least " } else { "" },
        grouped(bytes)
    )
}

fn detail(path: &VerifiedPath) -> String {
    match (path.verdict, path.kind) {
        (Verdict::NoAnswer | Verdict::NotRequested, _) => path.reason.clone().unwrap_or_default(),
        (Verdict::Redirected, _) => match (&path.reason, &path.other_host, &path.location) {
            (Some(reason), ..) => format!("to {reason}"),
            (_, Some(host), _) => format!("to another host: {host}"),
            (_, _, Some(location)) => format!("to {location}"),
            (None, None, None) => String::new(),
        },
        (Verdict::Soft404, Some(BodyKind::Html)) => "HTML like the soft 404".to_owned(),
        (Verdict::StillGiven | Verdict::Soft404, Some(kind)) => kind.as_str().to_owned(),
        (Verdict::Refused, None) if path.status.is_some_and(|status| status < 300) => {
            "no content".to_owned()
        }
        _ => String::new(),
    }
}
