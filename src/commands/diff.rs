//! `probewatch diff`: compares two reports.

use std::path::Path;

use super::common::{apps, pool};
use super::merge::{merged, output_sink, report_files};
use super::stdout::TerminalInfo;
use super::{DiffSettings, Exit, ReportFilterSettings, message};
use crate::commands::error::CommandError;
use crate::render::{RenderOptions, render_diff};
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::diff::{ReportIndex, diff, notes};
use crate::rules::{RuleSet, load};

/// Prints the differences between the reports.
#[must_use]
pub(crate) fn run(settings: &DiffSettings) -> Exit {
    pool(None)
        .and_then(|pool| pool.install(|| run_diff(settings)))
        .unwrap_or_else(|error| error.report())
}

fn run_diff(settings: &DiffSettings) -> Result<Exit, CommandError> {
    let filter = &settings.filter;
    let loaded_rules = load(&filter.rules)?;
    let both = [settings.old.clone(), settings.new.clone()];
    let mut sink = output_sink(filter.output.as_deref(), &report_files(&both, true))?;
    if !filter.quiet {
        message::warnings(loaded_rules.warnings());
    }
    let (old, new) = (
        side(&settings.old, &loaded_rules, filter)?,
        side(&settings.new, &loaded_rules, filter)?,
    );
    let (rows, notes) = (diff(&old, &new), notes(&old, &new));
    if !filter.quiet {
        for note in &notes {
            message::notice(note);
        }
    }
    let TerminalInfo {
        width,
        height,
        color,
    } = TerminalInfo::detect(filter.color, filter.output.is_some());
    let view = RenderOptions {
        format: filter.format,
        top: filter.top,
        full: true,
        width,
        height,
        color,
        ..RenderOptions::default()
    };
    render_diff(&rows, &notes, &view, &mut sink).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(Exit::Success)
}

/// Evaluates one of the two reports with these rules and filters, whatever it was written with.
fn side(
    path: &Path,
    loaded_rules: &RuleSet,
    filter: &ReportFilterSettings,
) -> Result<ReportIndex, CommandError> {
    let merged = merged(
        &report_files(&[path.to_owned()], true),
        loaded_rules,
        filter,
    )?;
    let rules = merged.rules.as_ref().unwrap_or(loaded_rules);
    let apps = apps(&filter.apps, rules)?;
    let report_input = merged.report_input(rules, filter.report_filter(&apps));
    let analysis = LogAnalysis::new(&report_input);
    let rows = RowSelection {
        clients: true,
        paths: true,
        rules: true,
        ..RowSelection::default()
    };
    let report = build(&report_input, &analysis, rows);
    Ok(ReportIndex::new(&report_input, &analysis, &report))
}
