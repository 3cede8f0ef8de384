//! Says in words what was left out as ordinary: the own pages of apps, and what an allow list names.

use std::io::{self, Write};

use super::TablePage;
use crate::analysis::labels::first;
use crate::analysis::model::{Allowed, AppSeen, Report};
use crate::number::counted;
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;

/// Writes a note for each app that was seen and for each entry that allowed something.
pub(crate) fn write<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    for seen in first(&report.apps, Some(page.top)) {
        page.note(&app(seen), out)?;
    }
    page.more(report.apps.len(), " that were seen", ", or -f json", out)?;
    let used: Vec<_> = report.allowed.iter().filter(|entry| entry.requests > 0).collect();
    for entry in first(&used, Some(page.top)) {
        page.note(&allowed(entry), out)?;
    }
    page.more(used.len(), " that allowed something", ", or -f json", out)
}

fn app(seen: &AppSeen<'_>) -> String {
    let site = seen.site.map_or_else(|| " here, as --app says".to_owned(), |site| format!(" on {}", redacted(site)));
    let title = escape(seen.title.as_bytes());
    match seen.silenced {
        0 => format!("{title} runs{site}; none of its own pages was left out."),
        n => {
            let many = counted(n, "request for its own pages is", "requests for its own pages are");
            format!("{title} runs{site}: {many} left out; --min-severity info shows them.")
        }
    }
}

fn allowed(entry: &Allowed<'_>) -> String {
    let many = counted(entry.requests, "request", "requests");
    format!("Allowed by {}:{}, {}: {many} left out.", escape(entry.file.as_bytes()), entry.line, escape(entry.reason.as_bytes()))
}
