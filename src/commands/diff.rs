//! `probewatch diff`: what differs between two reports.

use std::path::Path;

use super::common::apps;
use super::report_files::{files, merged, output};
use super::stdout::TerminalInfo;
use super::{DiffSettings, Exit, ReportFilterSettings, message};
use crate::analysis::build::{Context, Material, Wanted, build};
use crate::analysis::diff::{Side, diff, notes};
use crate::commands::error::CommandError;
use crate::render::View;
use crate::render::diff::render;
use crate::rules::{RuleSet, load};

/// Compares the reports and prints what differs.
#[must_use]
pub fn run(settings: &DiffSettings) -> Exit {
    compare(settings).unwrap_or_else(|error| error.report())
}

fn compare(settings: &DiffSettings) -> Result<Exit, CommandError> {
    let asked = &settings.filter;
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
    let TerminalInfo { width, color } = TerminalInfo::detect(asked.color, asked.output.is_some());
    let view = View { format: asked.format, by: None, top: asked.top, full: true, width, color };
    render(&rows, &notes, &view, &mut sink).map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(Exit::Success)
}

/// One of the two, whatever it was told with: by these rules, from this level on.
fn side(path: &Path, known: &RuleSet, asked: &ReportFilterSettings) -> Result<Side, CommandError> {
    let merged = merged(&files(&[path.to_owned()], true), known, asked)?;
    let rules = merged.rules.as_ref().unwrap_or(known);
    let material = Material {
        rules,
        tally: &merged.tally,
        texts: &merged.texts,
        min_severity: asked.min_severity,
        outcomes: &asked.outcomes,
        apps: &apps(&asked.apps, rules)?,
        allow: &merged.allow,
    };
    let context = Context::of(&material);
    let wanted = Wanted { clients: true, paths: true, rules: true, ..Wanted::default() };
    let report = build(&material, &context, merged.inputs.clone(), merged.without_time, wanted);
    Ok(Side::of(&material, &context, &report))
}
