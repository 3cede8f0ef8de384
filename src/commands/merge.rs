//! `probewatch merge`: merges reports of several hosts or days.

use super::common::{apps, print_problems, privacy};
use super::report_files::{files, merged, output};
use super::scan::{now, row_selection};
use super::stdout::TerminalInfo;
use super::{Exit, MergeSettings, message};
use crate::analysis::build::{LogAnalysis, build};
use crate::analysis::notes;
use crate::commands::error::CommandError;
use crate::render::{RenderOptions, render};
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
    let report_input = merged.report_input(rules, filter.report_filter(&apps));
    let analysis = LogAnalysis::new(&report_input);
    let rows = row_selection(filter.format, settings.by, settings.full, filter.top);
    let mut report = build(&report_input, &analysis, rows);
    (report.log_host, report.period, report.prefix) = (merged.log_host.clone(), merged.period.clone(), merged.prefix);
    if let Some(bound) = report.approximate.as_ref().filter(|_| !filter.quiet) {
        message::notice(&notes::accuracy_note(bound));
    }
    let problems = print_problems(&report.inputs);
    let severity = report.totals.fail_severity;
    let TerminalInfo { width, color } = TerminalInfo::detect(filter.color, filter.output.is_some());
    let view = RenderOptions { format: filter.format, by: settings.by, top: filter.top, full: settings.full, width, color, made_at: now() };
    privacy.with_redacted(&report, &[], |report, _| render(report, &view, &mut sink)).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}
