//! The log for grading answers: scanned once, when a line first needs it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::super::common::{print_problems, report_no_logs};
use super::super::{Exit, message};
use super::ExplainSettings;
use crate::analysis::build::{ReportFilter, ReportInput};
use crate::analysis::path_answer::{GradeRequest, GradeResult, GradedLog};
use crate::client::Ipv6Prefix;
use crate::commands::error::CommandError;
use crate::engine::ScanOptions;
use crate::finding::RuleId;
use crate::formats::Formats;
use crate::input::Mmap;
use crate::input::find::{FoundInputs, find};
use crate::rules::{AllowList, RuleSet};
use crate::scan::{self, BatchOptions, ScanJob, ScanResult};

/// What a scan of the log needs.
#[derive(Debug)]
pub(super) struct GradingContext<'a> {
    pub(super) settings: &'a ExplainSettings,
    pub(super) rules: &'a RuleSet,
    pub(super) formats: &'a Formats,
    pub(super) apps: &'a [RuleId],
    /// Options of the scan.
    pub(super) scope: &'a ScanOptions,
    /// The result of the scan.
    pub(super) scan: &'a OnceCell<ScanResult>,
}

/// The log, scanned on demand.
#[derive(Debug)]
pub(super) struct GradingLog<'a> {
    context: GradingContext<'a>,
    found: Option<FoundInputs>,
    graded: Option<GradedLog<'a>>,
    /// The log could not be read completely.
    pub(super) has_problem: bool,
}

/// The options of a scan for `explain`: the whole log, except for allowed requests.
pub(super) fn scope(settings: &ExplainSettings) -> Result<ScanOptions, CommandError> {
    Ok(ScanOptions {
        format: settings.formats.as_clf(),
        since: None,
        until: None,
        allow: AllowList::load(&settings.allow)?,
        max_line: settings.max_line,
        unlisted: false,
        windows: false,
    })
}

impl<'a> GradingLog<'a> {
    /// The log that was given, or else the file that the line is from, if it can be read twice.
    pub(super) fn new(context: GradingContext<'a>, file: Option<&Path>) -> Result<Self, Exit> {
        let found = match (&context.settings.log, file) {
            (Some(path), _) => Some(find_log(path)?),
            (None, Some(file)) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => Some(find(&[file.to_owned()])),
            (None, _) => None,
        };
        Ok(Self { context, found, graded: None, has_problem: false })
    }

    /// The length of the IPv6 prefix that counts as one client.
    pub(super) fn prefix(&self) -> Option<Ipv6Prefix> {
        self.context.settings.prefix
    }

    /// Grades the answer to a request.
    pub(super) fn grade(&mut self, request: &GradeRequest<'_>) -> GradeResult {
        let Some(found) = &self.found else { return GradeResult::NeedsLog };
        if self.graded.is_none() {
            match scan_log(&self.context, found) {
                Ok((log, has_problem)) => {
                    self.has_problem = has_problem;
                    self.graded = Some(log);
                }
                Err(error) => {
                    let _ = error.report();
                    (self.has_problem, self.found) = (true, None);
                }
            }
        }
        self.graded.as_ref().map_or(GradeResult::NeedsLog, |log| log.grade(request))
    }
}

/// Finds the log at this path.
fn find_log(path: &PathBuf) -> Result<FoundInputs, Exit> {
    let found = find(std::slice::from_ref(path));
    if !found.problems.is_empty() {
        for problem in &found.problems {
            message::error(&message::sanitized(&format!("--in: {}: {}", problem.path.display(), problem.what)));
        }
        return Err(Exit::Damaged);
    }
    if let Some(pattern) = found.no_match.first() {
        return Err(CommandError::NoMatch(pattern.clone()).report());
    }
    if found.sources.len() != 1 || path.is_dir() {
        return Err(message::usage_error(&format!("--in: '{}' is not one file; name the log that contains the line", path.display())));
    }
    Ok(found)
}

/// Scans the log and prints its problems. Returns whether there were any.
fn scan_log<'a>(context: &GradingContext<'a>, found: &FoundInputs) -> Result<(GradedLog<'a>, bool), CommandError> {
    let job = ScanJob { rules: context.rules, scope: context.scope, formats: context.formats, prefix: context.settings.prefix };
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = BatchOptions { mmap: Mmap::default(), stop: &stop, progress: &progress, keep_lines: false };
    let scan = context.scan.get_or_init(|| scan::scan(&found.sources, &job, &options));
    let inputs: Vec<_> = scan.inputs.iter().flatten().cloned().collect();
    let has_problem = print_problems(&inputs) | report_no_logs(&inputs, found);
    let material = ReportInput {
        rules: context.rules,
        tally: &scan.tally,
        texts: &scan.texts,
        inputs: &[],
        without_time: scan.without_time,
        filter: ReportFilter { apps: context.apps, ..ReportFilter::default() },
        allow: &context.scope.allow,
    };
    Ok((GradedLog::new(material), has_problem))
}
