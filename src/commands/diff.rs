//! `probewatch diff`: what differs between two reports.

use std::path::Path;

use super::reports::{files, output, whole};
use super::run::{Failure, apps};
use super::screen::Screen;
use super::{DiffSettings, Exit, RetoldSettings, message, screen};
use crate::analysis::build::{LogAnalysis, ReportInput, RowSelection, build};
use crate::analysis::diff::{ReportIndex, diff, notes};
use crate::render::RenderOptions;
use crate::render::render_diff;
use crate::rules::{RuleSet, load};

/// Compares the reports and prints what differs.
#[must_use]
pub fn run(settings: &DiffSettings) -> Exit {
    compare(settings).unwrap_or_else(|failure| failure.tell())
}

fn compare(settings: &DiffSettings) -> Result<Exit, Failure> {
    let asked = &settings.retold;
    let known = load(&asked.rules)?;
    let both = [settings.old.clone(), settings.new.clone()];
    let mut sink = output(asked.output.as_deref(), &files(&both, true))?;
    if !asked.quiet {
        message::warnings(known.warnings());
    }
    let (old, new) = (side(&settings.old, &known, asked)?, side(&settings.new, &known, asked)?);
    let (rows, notes) = (diff(&old, &new), notes(&old, &new));
    if !asked.quiet {
        for note in &notes {
            message::notice(note);
        }
    }
    let Screen { width, color } = screen::of(asked.color, asked.output.is_some());
    let view = RenderOptions { format: asked.format, by: None, top: asked.top, full: true, width, color };
    render_diff(&rows, &notes, &view, &mut sink).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(Exit::Success)
}

/// One of the two, whatever it was told with: by these rules, from this level on.
fn side(path: &Path, known: &RuleSet, asked: &RetoldSettings) -> Result<ReportIndex, Failure> {
    let whole = whole(&files(&[path.to_owned()], true), known, asked)?;
    let rules = whole.rules.as_ref().unwrap_or(known);
    let material = ReportInput {
        rules,
        tally: &whole.tally,
        texts: &whole.texts,
        min_severity: asked.min_severity,
        outcomes: &asked.outcomes,
        apps: &apps(&asked.apps, rules)?,
        allow: &whole.allow,
    };
    let context = LogAnalysis::new(&material);
    let wanted = RowSelection { clients: true, paths: true, rules: true, ..RowSelection::default() };
    let report = build(&material, &context, whole.inputs.clone(), whole.without_time, wanted);
    Ok(ReportIndex::new(&material, &context, &report))
}
