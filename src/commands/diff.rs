//! `probewatch diff`: compares two reports.

use std::path::Path;

use super::common::{apps, pool};
use super::merge::{merged, output_sink, report_files};
use super::{Exit, ScanSettings, message, stdout};
use crate::commands::error::CommandError;
use crate::render::{RenderOptions, render_diff};
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::diff::{ReportIndex, diff, notes};
use crate::rules::{RuleSet, load};

/// Prints the differences between the reports.
#[must_use]
pub(crate) fn run(settings: &ScanSettings, old: &Path, new: &Path) -> Exit {
    pool(None)
        .and_then(|pool| pool.install(|| run_diff(settings, old, new)))
        .unwrap_or_else(|error| error.report())
}

fn run_diff(settings: &ScanSettings, old: &Path, new: &Path) -> Result<Exit, CommandError> {
    let loaded_rules = load(&settings.rules)?;
    let both = [old.to_owned(), new.to_owned()];
    let mut sink = output_sink(settings.output.as_deref(), &report_files(&both, true))?;
    if !settings.quiet {
        message::warnings(loaded_rules.warnings());
    }
    let (old, new) = (
        side(old, &loaded_rules, settings)?,
        side(new, &loaded_rules, settings)?,
    );
    let (rows, notes) = (diff(&old, &new), notes(&old, &new));
    if !settings.quiet {
        for note in &notes {
            message::notice(note);
        }
    }
    let view = RenderOptions {
        full: true,
        ..stdout::report_options(settings)
    };
    render_diff(&rows, &notes, &view, &mut sink).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(Exit::Success)
}

/// Evaluates one of the two reports with these rules and filters, whatever it was written with.
fn side(
    path: &Path,
    loaded_rules: &RuleSet,
    settings: &ScanSettings,
) -> Result<ReportIndex, CommandError> {
    let merged = merged(
        &report_files(&[path.to_owned()], true),
        loaded_rules,
        settings,
    )?;
    let rules = merged.rules.as_ref().unwrap_or(loaded_rules);
    let apps = apps(&settings.apps, rules)?;
    let report_input = merged.report_input(rules, settings.report_filter(&apps));
    let analysis = LogAnalysis::new(&report_input);
    let rows = RowSelection {
        clients: true,
        paths: true,
        rules: true,
        ..RowSelection::default()
    };
    let report = build(&analysis, rows);
    Ok(ReportIndex::new(&analysis, &report))
}
