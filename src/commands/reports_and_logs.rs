//! Paths that may be reports or logs, as `block` and `verify` take them: which they are, and both
//! read as one report.
//!
//! Decides nothing about what is found in them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rayon::ThreadPool;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{SeekFrom, seek};
use rustix::io::pread;
use rustix::pipe::{SpliceFlags, pipe, tee};

use super::ScanSettings;
use super::common::{
    RuleContext, apps, inputs, output, pool, print_notices, print_problems, read, report_no_logs,
};
use super::error::CommandError;
use super::merge::{self, REPORT, output_sink, report_files};
use crate::input::find::FoundInputs;
use crate::judge::report_input::ReportInput;
use crate::render::sink::Sink;
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::snapshot;
use crate::scan::input_summary::InputSummary;
use crate::scan::{ScanResult, drop_skipped, input_summaries};

/// What the paths of the command line lead to.
pub(super) struct ReportsAndLogs {
    pub(super) reports: Vec<PathBuf>,
    /// The settings, in which only the paths of logs are left.
    pub(super) settings: ScanSettings,
    pub(super) pool: ThreadPool,
    pub(super) rule_context: RuleContext,
    logs: Option<FoundInputs>,
}

impl ReportsAndLogs {
    /// Distinguishes reports from logs, and loads the rules.
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
        let reports = report_files(&reports, settings.quiet);
        let settings = ScanSettings {
            paths: logs,
            ..settings.clone()
        };
        let pool = pool(settings.threads)?;
        let rule_context = RuleContext::load_in(&pool, &settings)?;
        Ok(Self {
            reports,
            settings,
            pool,
            rule_context,
            logs: None,
        })
    }

    /// Finds the files of the logs, if there are any.
    pub(super) fn find_logs(&mut self) -> Result<(), CommandError> {
        if self.has_logs() {
            self.logs = Some(inputs(&self.settings)?);
        }
        Ok(())
    }

    pub(super) fn has_logs(&self) -> bool {
        !self.settings.paths.is_empty() || !self.settings.found.is_empty()
    }

    /// Opens an output, which must be neither a report nor a log that is read.
    pub(super) fn open_sink(&self, path: Option<&Path>) -> Result<Sink, CommandError> {
        let Some(logs) = &self.logs else {
            return output_sink(path, &self.reports);
        };
        if !self.reports.is_empty() {
            drop(output_sink(path, &self.reports)?);
        }
        output(path, "--output", &logs.sources)
    }

    /// Reads and counts the logs, if there are any.
    pub(super) fn scan_logs(&self) -> Result<Option<ScannedLogs>, CommandError> {
        let Some(found) = &self.logs else {
            return Ok(None);
        };
        let settings = &self.settings;
        let mut scan = read(
            settings,
            &self.rule_context.job(settings.client.prefix),
            &found.sources,
            &self.pool,
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
        Ok(Some(ScannedLogs {
            scan,
            inputs,
            has_problems: has_problems || is_unusable,
            is_unusable,
        }))
    }

    /// Calls `use_it` with the reports and the logs as one, unless there is neither. Returns also
    /// whether an input had a problem.
    pub(super) fn with_report_input<T: Send>(
        &self,
        scanned: Option<&ScannedLogs>,
        use_it: impl FnOnce(&ReportInput<'_>) -> T + Send,
    ) -> Result<(Option<T>, bool), CommandError> {
        self.pool.install(|| {
            let Self {
                reports,
                settings,
                rule_context,
                ..
            } = self;
            let has_problems = scanned.is_some_and(|logs| logs.has_problems);
            let filter = rule_context.filter(settings);
            let logs =
                scanned.map(|logs| rule_context.report_input(&logs.scan, &logs.inputs, filter));
            if reports.is_empty() {
                return Ok((logs.as_ref().map(use_it), has_problems));
            }
            let loaded_rules = &rule_context.rules;
            let mut merger = merge::read_all(reports, loaded_rules)?;
            if let Some(logs) = &logs {
                let analysis = LogAnalysis::new(logs);
                let mut report = build(&analysis, RowSelection::default());
                report.prefix = settings.client.prefix;
                merger.add_report(&report)?;
            }
            let merged_report = merge::finish(merger, &settings.rules, settings.quiet)?;
            let rules = merged_report.rules.as_ref().unwrap_or(loaded_rules);
            let apps = apps(&settings.apps, rules)?;
            let report_input = merged_report.report_input(rules, settings.report_filter(&apps));
            let has_problems = has_problems
                || report_input
                    .inputs
                    .iter()
                    .any(|input| input.problem.is_some());
            Ok((Some(use_it(&report_input)), has_problems))
        })
    }
}

/// Logs, counted.
pub(super) struct ScannedLogs {
    pub(super) scan: ScanResult,
    inputs: Vec<InputSummary>,
    has_problems: bool,
    /// No line of them was read.
    pub(super) is_unusable: bool,
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
