//! `probewatch merge`: merges reports of several hosts or days.

use super::common::{apps, print_problems, privacy};
use super::report_files::{files, merged, output};
use super::scan::row_selection;
use super::stdout::TerminalInfo;
use super::{Exit, MergeSettings, message};
use crate::analysis::accuracy;
use crate::analysis::build::{Context, Material, build};
use crate::commands::error::CommandError;
use crate::render::{View, render};
use crate::rules::load;

/// Merges the reports and prints the result.
#[must_use]
pub fn run(settings: &MergeSettings) -> Exit {
    merge(settings).unwrap_or_else(|error| error.report())
}

fn merge(settings: &MergeSettings) -> Result<Exit, CommandError> {
    let filter = &settings.filter;
    let privacy = privacy(filter.anonymize.as_ref(), true)?;
    let known = load(&filter.rules)?;
    let files = files(&settings.reports, filter.quiet);
    let mut sink = output(filter.output.as_deref(), &files)?;
    if !filter.quiet {
        message::warnings(known.warnings());
    }
    let merged = merged(&files, &known, filter)?;
    let rules = merged.rules.as_ref().unwrap_or(&known);
    let apps = apps(&filter.apps, rules)?;
    let material = Material {
        rules,
        tally: &merged.tally,
        texts: &merged.texts,
        min_severity: filter.min_severity,
        outcomes: &filter.outcomes,
        apps: &apps,
        allow: &merged.allow,
    };
    let context = Context::of(&material);
    let rows = row_selection(filter.format, settings.by, settings.full, filter.top);
    let mut report = build(&material, &context, merged.inputs.clone(), merged.without_time, rows);
    (report.machine, report.period, report.prefix) = (merged.machine.clone(), merged.period.clone(), merged.prefix);
    if let Some(bound) = report.approximate.as_ref().filter(|_| !filter.quiet) {
        message::notice(&accuracy::sentence(bound));
    }
    let problems = print_problems(&report.inputs);
    let severity = report.totals.fail_severity;
    let TerminalInfo { width, color } = TerminalInfo::detect(filter.color, filter.output.is_some());
    let view = View { format: filter.format, by: settings.by, top: filter.top, full: settings.full, width, color };
    privacy.with(&report, &[], |report, _| render(report, &view, &mut sink)).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}
