//! `probewatch scan`: from named inputs to one report.
//!
//! Everything that can be wrong with the command is found before the first line is read: rules, globs, the output.
//! Trouble with an input stops nothing; it is told at the end, and the exit code says so.

use std::mem::ManuallyDrop;
use std::time::Instant;

use super::run::{
    Failure, apps, drop_passed_over, inputs, listed, output, pool, privacy, read, tell_absence, tell_notices, tell_problems, warn_of_small,
};
use super::screen::Screen;
use super::{Exit, Settings, message, screen, statistics};
use crate::analysis::anonymize::{Privacy, RedactionBuffers};
use crate::analysis::build::{LogAnalysis, ReportInput, RowSelection, build};
use crate::analysis::model::{InputSummary, Report};
use crate::analysis::{hit, notes};
use crate::engine::Scope;
use crate::render::sink::Sink;
use crate::render::{By, Format, TABLE_ROWS, View, ndjson, render};
use crate::rules::{AllowList, load};
use crate::scan;

/// Scans the logs and prints the report.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    scan(settings).unwrap_or_else(|failure| failure.tell())
}

fn scan(settings: &Settings) -> Result<Exit, Failure> {
    let started = Instant::now();
    let pool = pool(settings)?;
    let rules = ManuallyDrop::new(pool.install(|| load(&settings.rules))?);
    let apps = apps(&settings.apps, &rules)?;
    let privacy = privacy(settings.client.anonymize.as_ref(), settings.client.redact)?;
    let found = inputs(settings)?;
    let sink = output(settings.output.as_deref(), "--output", &found.sources)?;
    if !settings.quiet {
        message::warnings(rules.warnings());
    }
    let scope = Scope {
        format: settings.formats.as_clf(),
        since: settings.since,
        until: settings.until,
        allow: AllowList::load(&settings.allow)?,
        max_line: settings.max_line,
        unlisted: false,
        windows: true,
    };
    warn_of_small(settings, &scope.allow);
    let ready = started.elapsed();
    // Never given back piece by piece: the process ends with the report, and the system takes it all at once.
    let mut scan = ManuallyDrop::new(read(settings, &rules, &scope, &found.sources, &pool)?);
    let spool = scan.spool.take();
    let read = started.elapsed();
    let material = ReportInput {
        rules: &rules,
        tally: &scan.tally,
        texts: &scan.texts,
        min_severity: settings.min_severity,
        outcomes: &settings.outcomes,
        apps: &apps,
        allow: &scope.allow,
    };
    let context = LogAnalysis::new(&material);
    let mut report = pool.install(|| {
        build(
            &material,
            &context,
            listed(&scan, &found),
            scan.without_time,
            wanted(settings.format, settings.by, settings.full, settings.top),
        )
    });
    let broad = if settings.quiet { Vec::new() } else { notes::broad_rule_warnings(&material, &context, &report.inputs) };
    drop_passed_over(&mut report.inputs, &scan);
    report.elapsed = started.elapsed();
    report.prefix = settings.client.prefix;
    tell_notices(settings, &scan, &found);
    message::warnings(&broad);
    if let Some(hint) = proxy_hint(settings, &scan, &report.totals.sum) {
        message::hint(&hint);
    }
    if let Some(bound) = report.approximate.as_ref().filter(|_| !settings.quiet) {
        message::notice(&notes::accuracy_note(bound));
    }
    let problems = tell_problems(&report.inputs) | tell_absence(&report.inputs, &found);
    let severity = report.totals.fail_severity;
    let times = statistics::Times { ready, read, built: report.elapsed };
    let statistics = settings.stats.then(|| statistics::text(&report, &times, pool.current_num_threads()));
    write(settings, &privacy, &material, &context, &report, spool, sink)?;
    if let Some(text) = statistics {
        message::plain(&text);
    }
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}

/// Requests of which one client's share says something, and that share: of a site without a proxy in front of it, no client makes so
/// many, but for a flood.
const PROXIED: u64 = 100;
const PROXY_SHARE: (u64, u64) = (19, 20);

/// What to type where a proxy seems to make all requests, and wrote for whom.
fn proxy_hint(settings: &Settings, scan: &scan::Scan, sum: &InputSummary) -> Option<String> {
    if settings.quiet || settings.client.origin.is_some() || !scan.has_forwarded || sum.requests < PROXIED {
        return None;
    }
    let (number, most) = (0..).zip(scan.tally.client_counts().iter().map(|count| count.requests)).max_by_key(|(_, requests)| *requests)?;
    if most.saturating_mul(PROXY_SHARE.1) < sum.requests.saturating_mul(PROXY_SHARE.0) {
        return None;
    }
    let client = scan.tally.client(number).address().filter(|_| settings.client.anonymize.is_none());
    let client = client.map_or_else(|| "ADDRESS".to_owned(), |address| address.to_string());
    Some(format!(
        "one client makes {most} of {} requests, and the log has a field of forwarded addresses: if it is your proxy, type --client-from x-forwarded-for --trusted-proxy {client}",
        sum.requests
    ))
}

/// The rows that a report in this format needs.
pub(super) fn wanted(format: Format, by: Option<By>, full: bool, most: Option<usize>) -> RowSelection {
    let is = |row: By| by.unwrap_or_default() == row;
    let shown = |row: By| by.map_or(full, |b| b == row);
    match format {
        Format::Ndjson => RowSelection::default(),
        Format::Json => RowSelection { answered: true, pairs: true, clients: true, paths: true, rules: true, campaigns: true, most },
        Format::Csv => {
            let (pairs, clients, paths, rules) = (is(By::Pair), is(By::Client), is(By::Path), is(By::Rule));
            RowSelection { answered: is(By::Answer), pairs, clients, paths, rules, campaigns: false, most }
        }
        Format::Table => RowSelection {
            answered: true,
            campaigns: full && by.is_none(),
            // The section of pairs says how many there are, so all are made.
            pairs: by == Some(By::Pair),
            clients: by.is_none_or(|row| row == By::Client),
            paths: shown(By::Path),
            rules: shown(By::Rule),
            most: if by == Some(By::Pair) { None } else { Some(most.unwrap_or(TABLE_ROWS)) },
        },
    }
}

fn write(
    settings: &Settings,
    privacy: &Privacy,
    material: &ReportInput<'_>,
    context: &LogAnalysis<'_>,
    report: &Report<'_>,
    spool: Option<scan::Spool>,
    mut sink: Sink,
) -> Result<(), Failure> {
    let written = if let Some(spool) = spool {
        let mut desk = hit::HitBuffers::with_prefix(settings.client.prefix);
        let mut room = RedactionBuffers::default();
        spool.for_each(|line| match hit::hit_from_line(material, context, line, &mut desk) {
            Some(hit) => ndjson::write(&privacy.hit(&hit, &mut room), material.rules, &mut sink),
            None => Ok(()),
        })
    } else {
        let Screen { width, color } = screen::of(settings.color, settings.output.is_some());
        let view = View { format: settings.format, by: settings.by, top: settings.top, full: settings.full, width, color };
        privacy.with_redacted(report, &[], |report, _| render(report, &view, &mut sink))
    };
    written.map_err(|error| sink.explain(error))?;
    Ok(sink.commit()?)
}
