//! Paths that may be reports or logs, as `block` and `verify` take them: which they are, and both
//! read as one report.
//!
//! Decides nothing about what is found in them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{SeekFrom, seek};
use rustix::io::pread;
use rustix::pipe::{SpliceFlags, pipe, tee};

use super::ScanSettings;
use super::common::{
    RuleContext, apps, output, print_notices, print_problems, read, report_no_logs,
};
use super::error::CommandError;
use super::merge::{self, REPORT, output_sink, report_files};
use crate::input::find::FoundInputs;
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::render::sink::Sink;
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::snapshot;
use crate::scan::input_summary::InputSummary;
use crate::scan::{ScanResult, drop_skipped, input_summaries};

/// The paths of the command line, by what they are.
#[derive(Debug, Default)]
pub(super) struct InputPaths {
    pub(super) reports: Vec<PathBuf>,
    pub(super) logs: Vec<PathBuf>,
}

impl InputPaths {
    pub(super) fn new(settings: &ScanSettings) -> Result<Self, CommandError> {
        let stdin = [PathBuf::from("-")];
        let is_stdin = settings.paths.is_empty() && settings.found.is_empty();
        let paths = if is_stdin {
            &stdin[..]
        } else {
            &settings.paths
        };
        let (mut reports, mut logs) = (Vec::new(), Vec::new());
        for path in paths {
            let of_its_kind = match is_report(path) {
                Ok(true) => &mut reports,
                // A log that may not be read is named when it is read; an argument without a file
                // may be a glob.
                Ok(false) => &mut logs,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::NotFound
                            | ErrorKind::NotADirectory
                            | ErrorKind::PermissionDenied
                    ) =>
                {
                    &mut logs
                }
                // A report that is read as a log would give an empty list.
                Err(error) => {
                    return Err(CommandError::Unreadable {
                        path: path.clone(),
                        source: error.into(),
                    });
                }
            };
            of_its_kind.push(path.clone());
        }
        Ok(Self {
            reports: report_files(&reports, settings.quiet),
            logs,
        })
    }

    pub(super) fn has_logs(&self, settings: &ScanSettings) -> bool {
        !self.logs.is_empty() || !settings.found.is_empty()
    }
}

/// The first bytes of a file, which show whether it is a report.
const HEAD: usize = 512;

/// Whether a path is a report of probewatch, or a folder with one. Pipes are not opened, except
/// standard input.
///
/// # Errors
///
/// It cannot be read.
fn is_report(path: &Path) -> io::Result<bool> {
    if path.as_os_str() == "-" {
        return Ok(snapshot::starts_like_report(
            &stdin_head().unwrap_or_default(),
        ));
    }
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return path.join(REPORT).try_exists();
    }
    let mut head = Vec::new();
    if metadata.is_file() {
        File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    }
    Ok(snapshot::starts_like_report(&head))
}

/// The first bytes of standard input, which are not consumed: it is read later, as a report or as a
/// log. Empty for a socket.
fn stdin_head() -> rustix::io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut head = vec![0; HEAD];
    // A pipe has no position.
    let read = if let Ok(position) = seek(&stdin, SeekFrom::Current(0)) {
        pread(&stdin, &mut *head, position)?
    } else {
        poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None)?;
        let (reader, writer) = pipe()?;
        match tee(&stdin, &writer, HEAD, SpliceFlags::empty())? {
            0 => 0,
            _ => rustix::io::read(&reader, &mut *head)?,
        }
    };
    head.truncate(read);
    Ok(head)
}

/// Opens the output, which must be neither a report nor a log that is read.
pub(super) fn open_sink(
    path: Option<&Path>,
    input_paths: &InputPaths,
    found: Option<&FoundInputs>,
) -> Result<Sink, CommandError> {
    if found.is_some() && !input_paths.reports.is_empty() {
        drop(output_sink(path, &input_paths.reports)?);
    }
    match found {
        Some(found) => output(path, "--output", &found.sources),
        None => output_sink(path, &input_paths.reports),
    }
}

/// The logs, counted.
pub(super) struct ScannedLogs {
    pub(super) scan: ScanResult,
    inputs: Vec<InputSummary>,
    pub(super) has_problems: bool,
    /// No line of them was read.
    pub(super) is_unusable: bool,
}

impl ScannedLogs {
    pub(super) fn read(
        settings: &ScanSettings,
        rule_context: &RuleContext,
        found: &FoundInputs,
        pool: &rayon::ThreadPool,
    ) -> Result<Self, CommandError> {
        let mut scan = read(
            settings,
            &rule_context.job(settings.client.prefix),
            &found.sources,
            pool,
        )?;
        let inputs = input_summaries(std::mem::take(&mut scan.inputs), found);
        let mut read_inputs = inputs.clone();
        drop_skipped(&mut read_inputs);
        print_notices(settings, &read_inputs, &scan, found);
        let has_problems = print_problems(&read_inputs);
        // A damaged log gives the candidates of the lines that can be read.
        let is_damaged = |input: &InputSummary| input.problem.is_some() && input.counts.parsed == 0;
        let is_unusable = report_no_logs(&read_inputs, found)
            || !read_inputs.is_empty() && read_inputs.iter().all(is_damaged);
        Ok(Self {
            scan,
            inputs,
            has_problems: has_problems || is_unusable,
            is_unusable,
        })
    }

    fn report_input<'a>(
        &'a self,
        rule_context: &'a RuleContext,
        settings: &'a ScanSettings,
    ) -> ReportInput<'a> {
        rule_context.report_input(&self.scan, &self.inputs, rule_context.filter(settings))
    }
}

/// Calls `use_it` with the reports and the logs as one, unless there is neither. Returns also
/// whether a report was made of an input with a problem.
pub(super) fn with_report_input<T>(
    reports: &[PathBuf],
    scanned: Option<&ScannedLogs>,
    rule_context: &RuleContext,
    settings: &ScanSettings,
    use_it: impl FnOnce(&ReportInput<'_>) -> T,
) -> Result<(Option<T>, bool), CommandError> {
    let logs = scanned.map(|logs| logs.report_input(rule_context, settings));
    if reports.is_empty() {
        return Ok((logs.as_ref().map(use_it), false));
    }
    let loaded_rules = &rule_context.rules;
    let mut merger = merge::read_all(reports, loaded_rules)?;
    if let Some(logs) = &logs {
        let analysis = LogAnalysis::new(logs);
        let mut report = build(logs, &analysis, RowSelection::default());
        report.prefix = settings.client.prefix;
        merger.add_report(&report)?;
    }
    let merged_report = merge::finish(merger, &settings.rules, settings.quiet)?;
    let rules = merged_report.rules.as_ref().unwrap_or(loaded_rules);
    let apps = apps(&settings.apps, rules)?;
    let report_input = merged_report.report_input(
        rules,
        ReportFilter {
            apps: &apps,
            ..rule_context.filter(settings)
        },
    );
    let has_problems = report_input
        .inputs
        .iter()
        .any(|input| input.problem.is_some());
    Ok((Some(use_it(&report_input)), has_problems))
}
