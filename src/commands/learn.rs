//! `probewatch learn`: from named inputs to proposals, and to a rule file where one is asked for.
//!
//! It reads as a scan does, once. No rule is changed: the file is for a person to review.

use std::mem;
use std::path::{Path, PathBuf};

use super::run::{
    Failure, apps, drop_passed_over, inputs, listed, output, pool, read, tell_absence, tell_notices, tell_problems, warn_of_small,
};
use super::screen::Screen;
use super::{Exit, LearnSettings, message, screen};
use crate::analysis::build::{LogAnalysis, ReportInput, count_hits};
use crate::analysis::learn;
use crate::analysis::proposals::Proposals;
use crate::engine::Scope;
use crate::finding::Severity;
use crate::render::RenderOptions;
use crate::render::render_proposals;
use crate::render::rule_file;
use crate::render::sink::Sink;
use crate::rules::{AllowList, load};

/// Learns from the logs and prints the proposals.
#[must_use]
pub fn run(settings: &LearnSettings) -> Exit {
    propose(settings).unwrap_or_else(|failure| failure.tell())
}

fn propose(settings: &LearnSettings) -> Result<Exit, Failure> {
    let scan_settings = &settings.scan;
    let pool = pool(scan_settings)?;
    let rules = pool.install(|| load(&scan_settings.rules))?;
    let found = inputs(scan_settings)?;
    let sink = output(scan_settings.output.as_deref(), "--output", &found.sources)?;
    let rule_sink = settings.emit_rules.as_deref().map(|path| output(Some(path), "--emit-rules", &found.sources)).transpose()?;
    if let Some(path) = settings.emit_rules.as_deref().filter(|path| is_among(path, &scan_settings.rules.paths)) {
        return Err(Failure::OutputIsRules(path.to_owned()));
    }
    if !scan_settings.quiet {
        message::warnings(rules.warnings());
    }
    let apps = apps(&scan_settings.apps, &rules)?;
    let scope = Scope {
        format: scan_settings.formats.as_clf(),
        since: scan_settings.since,
        until: scan_settings.until,
        max_line: scan_settings.max_line,
        allow: AllowList::load(&scan_settings.allow)?,
        unlisted: true,
        windows: false,
    };
    warn_of_small(scan_settings, &scope.allow);
    let mut scan = read(scan_settings, &rules, &scope, &found.sources, &pool)?;
    let inputs = mem::take(&mut scan.inputs);
    let material = ReportInput {
        rules: &rules,
        tally: &scan.tally,
        texts: &scan.texts,
        min_severity: Severity::Low,
        outcomes: &[],
        apps: &apps,
        allow: &scope.allow,
    };
    let context = LogAnalysis::new(&material);
    let mut proposals = learn::learn(&material, &context, settings.min_probers);
    proposals.inputs = listed(inputs, &found);
    count_hits(&material, &context, &mut proposals.inputs);
    drop_passed_over(&mut proposals.inputs);
    proposals.without_time = scan.without_time;
    tell_notices(scan_settings, &proposals.inputs, &scan, &found);
    let problems = tell_problems(&proposals.inputs) | tell_absence(&proposals.inputs, &found);
    write(settings, &proposals, sink, rule_sink)?;
    Ok(if problems { Exit::Damaged } else { Exit::Success })
}

/// Whether a file that is there is one of these, or lies in one of these folders: what was learnt before would be lost.
fn is_among(file: &Path, paths: &[PathBuf]) -> bool {
    let Ok(file) = file.canonicalize() else { return false };
    paths.iter().filter_map(|path| path.canonicalize().ok()).any(|path| file.starts_with(path))
}

/// Writes the report and the rules; each takes its place only when both are whole.
fn write(settings: &LearnSettings, proposals: &Proposals<'_>, mut sink: Sink, rule_sink: Option<Sink>) -> Result<(), Failure> {
    let scan = &settings.scan;
    let Screen { width, color } = screen::of(scan.color, scan.output.is_some());
    let view = RenderOptions { format: scan.format, by: None, top: scan.top, full: true, width, color };
    render_proposals(proposals, &view, &mut sink).map_err(|error| sink.explain(error))?;
    let rule_sink = rule_sink
        .map(|mut rules| match rule_file::write(proposals, scan.top, &mut rules) {
            Ok(()) => Ok(rules),
            Err(error) => Err(rules.explain(error)),
        })
        .transpose()?;
    sink.commit()?;
    rule_sink.map_or(Ok(()), Sink::commit)?;
    Ok(())
}
