//! `probewatch learn`: proposes rules for unmatched paths in logs, and writes them to a rule file.
//!
//! Reads the logs once, as a scan does. No existing rule is changed: the file is meant for review.

use std::mem;
use std::path::{Path, PathBuf};

use super::common::{
    RuleContext, inputs, output, pool, print_notices, print_problems, read, report_no_logs,
};
use super::{Exit, LearnSettings, stdout};
use crate::commands::error::CommandError;
use crate::judge::report_input::ReportFilter;
use crate::log::finding::Severity;
use crate::render::sink::Sink;
use crate::render::{RenderOptions, proposals, render_proposals};
use crate::report::build::{LogAnalysis, count_hits};
use crate::report::learn::{self, Proposals};
use crate::scan::{drop_skipped, input_summaries};

/// Learns from the logs and prints the proposals.
#[must_use]
pub(crate) fn run(settings: &LearnSettings) -> Exit {
    run_learn(settings).unwrap_or_else(|error| error.report())
}

fn run_learn(settings: &LearnSettings) -> Result<Exit, CommandError> {
    let scan_settings = &settings.scan;
    let pool = pool(scan_settings.threads)?;
    let mut rule_context = RuleContext::load_in(&pool, scan_settings)?;
    let scan_options = &mut rule_context.scan_options;
    (scan_options.unmatched, scan_options.windows) = (true, false);
    let found = inputs(scan_settings)?;
    let sink = output(scan_settings.output.as_deref(), "--output", &found.sources)?;
    let rule_sink = settings
        .emit_rules
        .as_deref()
        .map(|path| output(Some(path), "--emit-rules", &found.sources))
        .transpose()?;
    if let Some(path) = settings
        .emit_rules
        .as_deref()
        .filter(|path| is_among(path, &scan_settings.rules.paths))
    {
        return Err(CommandError::OutputIsRules(path.to_owned()));
    }
    rule_context.print_warnings(scan_settings);
    let mut scan = read(
        scan_settings,
        &rule_context.job(scan_settings.client.prefix),
        &found.sources,
        &pool,
    )?;
    let inputs = input_summaries(mem::take(&mut scan.inputs), &found);
    let filter = ReportFilter {
        min_severity: Severity::Low,
        outcomes: &[],
        apps: &rule_context.apps,
    };
    let report_input = rule_context.report_input(&scan, &inputs, filter);
    let analysis = LogAnalysis::new(&report_input);
    let mut proposals = learn::learn(&analysis, settings.min_probers);
    proposals.inputs.clone_from(&inputs);
    count_hits(&analysis, &mut proposals.inputs);
    drop_skipped(&mut proposals.inputs);
    proposals.without_time = scan.without_time;
    print_notices(scan_settings, &proposals.inputs, &scan, &found);
    let problems = print_problems(&proposals.inputs) | report_no_logs(&proposals.inputs, &found);
    write(settings, &proposals, sink, rule_sink)?;
    Ok(if problems {
        Exit::Damaged
    } else {
        Exit::Success
    })
}

/// Whether an existing file is one of these paths, or in one of these folders. Overwriting it would
/// lose rules.
fn is_among(file: &Path, paths: &[PathBuf]) -> bool {
    let Ok(file) = file.canonicalize() else {
        return false;
    };
    paths
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .any(|path| file.starts_with(path))
}

/// Writes the proposals and the rule file; both are moved into place when both are complete.
fn write(
    settings: &LearnSettings,
    proposals: &Proposals<'_>,
    mut sink: Sink,
    rule_sink: Option<Sink>,
) -> Result<(), CommandError> {
    let scan = &settings.scan;
    let view = RenderOptions {
        full: true,
        ..stdout::report_options(scan)
    };
    render_proposals(proposals, &view, &mut sink).map_err(|error| sink.explain(error))?;
    let rule_sink = rule_sink
        .map(
            |mut rules| match proposals::write_rule_file(proposals, scan.top, &mut rules) {
                Ok(()) => Ok(rules),
                Err(error) => Err(rules.explain(error)),
            },
        )
        .transpose()?;
    sink.commit()?;
    rule_sink.map_or(Ok(()), Sink::commit)?;
    Ok(())
}
