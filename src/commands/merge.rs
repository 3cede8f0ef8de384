//! `probewatch merge`: from reports of many machines or days to one.

use super::reports::{files, output, whole};
use super::run::{Failure, apps, privacy, tell_problems};
use super::scan::wanted;
use super::screen::Screen;
use super::{Exit, MergeSettings, message, screen};
use crate::analysis::build::{LogAnalysis, ReportInput, build};
use crate::analysis::notes;
use crate::render::{View, render};
use crate::rules::load;

/// Adds the reports up and prints what they come to.
#[must_use]
pub fn run(settings: &MergeSettings) -> Exit {
    merge(settings).unwrap_or_else(|failure| failure.tell())
}

fn merge(settings: &MergeSettings) -> Result<Exit, Failure> {
    let asked = &settings.retold;
    let privacy = privacy(asked.anonymize.as_ref(), true)?;
    let known = load(&asked.rules)?;
    let files = files(&settings.reports, asked.quiet);
    let mut sink = output(asked.output.as_deref(), &files)?;
    if !asked.quiet {
        message::warnings(known.warnings());
    }
    let whole = whole(&files, &known, asked)?;
    let rules = whole.rules.as_ref().unwrap_or(&known);
    let apps = apps(&asked.apps, rules)?;
    let material = ReportInput {
        rules,
        tally: &whole.tally,
        texts: &whole.texts,
        min_severity: asked.min_severity,
        outcomes: &asked.outcomes,
        apps: &apps,
        allow: &whole.allow,
    };
    let context = LogAnalysis::new(&material);
    let rows = wanted(asked.format, settings.by, settings.full, asked.top);
    let mut report = build(&material, &context, whole.inputs.clone(), whole.without_time, rows);
    (report.log_host, report.period, report.prefix) = (whole.log_host.clone(), whole.period.clone(), whole.prefix);
    if let Some(bound) = report.approximate.as_ref().filter(|_| !asked.quiet) {
        message::notice(&notes::accuracy_note(bound));
    }
    let problems = tell_problems(&report.inputs);
    let severity = report.totals.fail_severity;
    let Screen { width, color } = screen::of(asked.color, asked.output.is_some());
    let view = View { format: asked.format, by: settings.by, top: asked.top, full: settings.full, width, color };
    privacy.with_redacted(&report, &[], |report, _| render(report, &view, &mut sink)).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}
