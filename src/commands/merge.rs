//! `probewatch merge`: merges reports of several hosts or days. `diff` reads its reports in the
//! same way.
//!
//! Rules that only the report files contain are added to the rule set.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rayon::prelude::*;

use super::common::{apps, check_binary, pool, print_problems, privacy};
use super::{Exit, ScanSettings, message, stdout};
use crate::commands::error::CommandError;
use crate::os::system::unix_now;
use crate::render::sink::Sink;
use crate::render::{OutputFormat, RenderOptions, render};
use crate::report::build::{LogAnalysis, build};
use crate::report::merge::{MergedReport, ReportMerger};
use crate::report::networks::add_geo;
use crate::report::snapshot::SnapshotError;
use crate::report::{notes, snapshot};
use crate::rules::{Rule, RuleChoice, RuleSet, load};

/// Merges the reports and prints the result.
#[must_use]
pub(crate) fn run(settings: &ScanSettings) -> Exit {
    pool(None)
        .and_then(|pool| pool.install(|| merge(settings)))
        .unwrap_or_else(|error| error.report())
}

fn merge(settings: &ScanSettings) -> Result<Exit, CommandError> {
    let privacy = privacy(&settings.client.anonymize, true)?;
    let geoip = privacy.open_geoip(&settings.client.geoip)?;
    let known = load(&settings.rules)?;
    let files = report_files(&settings.paths, settings.quiet);
    let mut sink = output_sink(settings.output.as_deref(), &files)?;
    check_binary(settings.format, &sink)?;
    if !settings.quiet {
        message::warnings(known.warnings());
    }
    let merged = merged(&files, &known, settings)?;
    let rules = merged.rules.as_ref().unwrap_or(&known);
    let apps = apps(&settings.apps, rules)?;
    let report_input = merged.report_input(rules, settings.report_filter(&apps));
    let analysis = LogAnalysis::new(&report_input);
    let view = RenderOptions {
        by: settings.by,
        full: settings.full,
        made_at: Some(unix_now().cast_signed()),
        ..stdout::report_options(settings)
    };
    let mut report = build(&analysis, view.rows().with_networks(!geoip.is_empty()));
    add_geo(&mut report, &geoip, &privacy);
    (report.log_host, report.period, report.prefix) = (
        merged.log_host.clone(),
        merged.period.clone(),
        merged.prefix,
    );
    if let Some(bound) = report.approximate.as_ref().filter(|_| !settings.quiet) {
        message::notice(&notes::accuracy_note(bound));
    }
    let problems = print_problems(&report.inputs);
    let severity = report.totals.fail_severity;
    privacy
        .with_redacted(&report, &[], |report, _| render(report, &view, &mut sink))
        .map_err(|error| sink.explain(error))?;
    sink.commit()?;
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}

/// The name of the report in a report folder.
pub(super) const REPORT: &str = "report.json";

/// The report of a folder, or the path itself.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(REPORT)
    } else {
        path.to_owned()
    }
}

/// The report files without duplicates. Prints a notice for each duplicate.
pub(super) fn report_files(paths: &[PathBuf], quiet: bool) -> Vec<PathBuf> {
    let mut known = HashSet::new();
    let mut files = Vec::new();
    for file in paths.iter().map(|path| file_of(path)) {
        let file_id = file_id(&file);
        if file_id.is_some_and(|id| !known.insert(id)) {
            if !quiet {
                message::notice(&format!(
                    "{}: given twice, and read once",
                    message::sanitized_path(&file)
                ));
            }
            continue;
        }
        files.push(file);
    }
    files
}

fn file_id(file: &Path) -> Option<(u64, u64)> {
    fs::metadata(file)
        .ok()
        .map(|there| (there.dev(), there.ino()))
}

/// Opens the output, which must not be one of the reports.
pub(super) fn output_sink(path: Option<&Path>, files: &[PathBuf]) -> Result<Sink, CommandError> {
    let sink = path.map_or_else(Sink::stdout, Sink::file)?;
    let overwritten =
        |file: &&PathBuf| file_id(file).is_some_and(|(dev, ino)| sink.is_same_file(dev, ino));
    match files.iter().find(overwritten) {
        Some(path) => Err(CommandError::OutputIsInput {
            path: path.clone(),
            flag: "--output",
        }),
        None => Ok(sink),
    }
}

/// Reads and merges the reports.
pub(super) fn merged(
    files: &[PathBuf],
    rules: &RuleSet,
    settings: &ScanSettings,
) -> Result<MergedReport, CommandError> {
    let parts = read_all(files, rules)?;
    let parts = if settings.format == OutputFormat::Partial {
        parts.allow_gaps()
    } else {
        parts
    };
    finish(parts, &settings.rules, settings.quiet)
}

/// The fewest cells of a large report. It takes up to 40 MB of memory until it is merged, so
/// another is read only after that.
const LARGE_REPORT_CELLS: usize = 1 << 14;

/// The fewest reports that are merged in two halves, and their bytes together. The second half
/// takes as much memory again as the first, and fewer or smaller reports take half a second at
/// most: the cells of a report are limited.
const MIN_REPORTS_IN_HALVES: usize = 4;
const MIN_BYTES_IN_HALVES: u64 = 128 << 20;

/// Reads the reports into one merge. Two threads read and merge many large ones, each its own half,
/// so that memory that one thread allocates is not freed by the other. The halves do not depend on
/// the number of threads: above the memory limit, the order of a merge decides which small counts
/// are kept.
pub(super) fn read_all<'r>(
    files: &[PathBuf],
    rules: &'r RuleSet,
) -> Result<ReportMerger<'r>, CommandError> {
    let bytes: u64 = files
        .iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|found| found.len())
        .sum();
    // Standard input cannot be read again.
    let is_readable_twice = files.iter().all(|file| file.as_os_str() != "-");
    if files.len() < MIN_REPORTS_IN_HALVES || bytes < MIN_BYTES_IN_HALVES || !is_readable_twice {
        return read_in_order(files, rules);
    }
    let (first, second) = files.split_at(files.len().div_ceil(2));
    let (first, second) = rayon::join(
        || read_in_order(first, rules),
        || read_in_order(second, rules),
    );
    // A range of a log that both halves have counts once.
    first?
        .join(second?)?
        .map_or_else(|| read_in_order(files, rules), Ok)
}

/// Reads the reports into one merge: small ones on all threads, some while others are merged; large
/// ones one by one.
fn read_in_order<'r>(
    files: &[PathBuf],
    rules: &'r RuleSet,
) -> Result<ReportMerger<'r>, CommandError> {
    let read = |file: &PathBuf| {
        read_snapshot(file, rules).map_err(|source| CommandError::Unreadable {
            path: file.clone(),
            source,
        })
    };
    let read_group = |files: &[PathBuf]| files.par_iter().map(read).collect::<Vec<_>>();
    let is_large = |snapshot: &Result<snapshot::ReportSnapshot, _>| {
        snapshot
            .as_ref()
            .is_ok_and(|read| read.tally.len() >= LARGE_REPORT_CELLS)
    };
    let mut merged = ReportMerger::new(rules);
    let (first, mut rest) = files.split_at(files.len().min(1));
    let mut group = read_group(first);
    while !group.is_empty() {
        let is_large = group.iter().any(is_large);
        let count = if is_large {
            1
        } else {
            rayon::current_num_threads()
        };
        let (next, others) = rest.split_at(rest.len().min(count));
        let merge = || {
            group
                .into_iter()
                .try_for_each(|snapshot| Ok::<_, CommandError>(merged.add(snapshot?)?))
        };
        (group, rest) = if is_large {
            merge()?;
            (read_group(next), others)
        } else {
            let (added, read) = rayon::join(merge, || read_group(next));
            added?;
            (read, others)
        };
    }
    Ok(merged)
}

/// Finishes a merge. Warns of rules that only the reports have.
pub(super) fn finish(
    merged: ReportMerger<'_>,
    choice: &RuleChoice,
    quiet: bool,
) -> Result<MergedReport, CommandError> {
    let merged = merged.finish(excluded_rules(choice)?)?;
    if !quiet && !merged.unknown_rules.is_empty() {
        message::warning(&unknown(&merged.unknown_rules));
    }
    Ok(merged)
}

fn read_snapshot(file: &Path, rules: &RuleSet) -> Result<snapshot::ReportSnapshot, SnapshotError> {
    if file.as_os_str() == "-" {
        snapshot::read(io::stdin().lock(), rules)
    } else {
        snapshot::read(File::open(file)?, rules)
    }
}

fn unknown(ids: &[String]) -> String {
    const NAMED: usize = 5;
    let named = ids[..NAMED.min(ids.len())].join(", ");
    let more = ids.len().saturating_sub(NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "no rule here is called {named}{rest}; shown as in the reports (--rules reads the file it came from)"
    )
}

/// Whether `--disable`, `--only` and `--no-builtin` exclude a rule. No warning is printed about
/// these.
fn excluded_rules(choice: &RuleChoice) -> Result<impl Fn(&Rule) -> bool, CommandError> {
    let excludes_any = choice.no_builtin || !choice.disable.is_empty() || !choice.only.is_empty();
    let without_exclusions = RuleChoice {
        no_builtin: false,
        disable: Vec::new(),
        only: Vec::new(),
        ..choice.clone()
    };
    let all = excludes_any
        .then(|| load(&without_exclusions))
        .transpose()?;
    Ok(move |rule: &Rule| {
        let Some(all) = &all else { return false };
        let is_selected = choice.only.is_empty()
            || choice
                .only
                .iter()
                .any(|name| *name == rule.id || *name == rule.class);
        all.number_of(&rule.id).is_some() || !is_selected
    })
}
