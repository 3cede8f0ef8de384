//! The log that answers are graded by: scanned whole, once, when a line first needs it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::super::run::{Failure, tell_absence, tell_problems};
use super::super::{Exit, message};
use super::Question;
use crate::analysis::build::ReportInput;
use crate::analysis::path_answer::{GradeRequest, GradeResult, GradedLog};
use crate::client::Ipv6Prefix;
use crate::engine::Scope;
use crate::finding::{RuleId, Severity};
use crate::formats::Formats;
use crate::input::Mmap;
use crate::input::find::{FoundInputs, find};
use crate::rules::{AllowList, RuleSet};
use crate::scan::{self, ScanJob, ScanResult};

/// What a scan of the log needs.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) question: &'a Question,
    pub(super) rules: &'a RuleSet,
    pub(super) formats: &'a Formats,
    pub(super) apps: &'a [RuleId],
    /// What a scan looks at.
    pub(super) scope: &'a Scope,
    /// Holds the scan, once it is done.
    pub(super) scan: &'a OnceCell<ScanResult>,
}

/// The log, once it is scanned.
#[derive(Debug)]
pub(super) struct Log<'a> {
    parts: Parts<'a>,
    found: Option<FoundInputs>,
    graded: Option<GradedLog<'a>>,
    /// Something is wrong with the log.
    pub(super) has_trouble: bool,
}

/// What a scan for `explain` looks at: all of the log but what is allowed.
pub(super) fn scope(question: &Question) -> Result<Scope, Failure> {
    Ok(Scope {
        format: question.formats.as_clf(),
        since: None,
        until: None,
        allow: AllowList::load(&question.allow)?,
        max_line: question.max_line,
        unlisted: false,
        windows: false,
    })
}

impl<'a> Log<'a> {
    /// The log that is named; or else the file that the line is read from, where it can be read twice.
    pub(super) fn of(parts: Parts<'a>, file: Option<&Path>) -> Result<Self, Exit> {
        let found = match (&parts.question.log, file) {
            (Some(path), _) => Some(one(path)?),
            (None, Some(file)) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => Some(find(&[file.to_owned()])),
            (None, _) => None,
        };
        Ok(Self { parts, found, graded: None, has_trouble: false })
    }

    /// Which IPv6 addresses count as one client.
    pub(super) fn prefix(&self) -> Option<Ipv6Prefix> {
        self.parts.question.prefix
    }

    /// What the log shows of the answer to a request.
    pub(super) fn grade(&mut self, request: &GradeRequest<'_>) -> GradeResult {
        let Some(found) = &self.found else { return GradeResult::NeedsLog };
        if self.graded.is_none() {
            match scanned(&self.parts, found) {
                Ok((log, has_trouble)) => {
                    self.has_trouble = has_trouble;
                    self.graded = Some(log);
                }
                Err(failure) => {
                    let _ = failure.tell();
                    (self.has_trouble, self.found) = (true, None);
                }
            }
        }
        self.graded.as_ref().map_or(GradeResult::NeedsLog, |log| log.grade(request))
    }
}

/// The log at this path.
fn one(path: &PathBuf) -> Result<FoundInputs, Exit> {
    let found = find(std::slice::from_ref(path));
    if !found.problems.is_empty() {
        for problem in &found.problems {
            message::error(&message::shown(&format!("--in: {}: {}", problem.path.display(), problem.what)));
        }
        return Err(Exit::Damaged);
    }
    if let Some(pattern) = found.no_match.first() {
        return Err(Failure::NoMatch(pattern.clone()).tell());
    }
    if found.sources.len() != 1 || path.is_dir() {
        return Err(message::refused(&format!("--in: '{}' is not one file; name the log that the line is of", path.display())));
    }
    Ok(found)
}

/// Scans the log, and says what is wrong with it; whether anything was.
fn scanned<'a>(parts: &Parts<'a>, found: &FoundInputs) -> Result<(GradedLog<'a>, bool), Failure> {
    let job = ScanJob {
        rules: parts.rules,
        scope: parts.scope,
        formats: parts.formats,
        mmap: Mmap::default(),
        stop: &AtomicBool::new(false),
        progress: &AtomicU64::new(0),
        keep_lines: false,
        prefix: parts.question.prefix,
    };
    let read = scan::scan(&found.sources, &job).map_err(Failure::Spool)?;
    let scan = parts.scan.get_or_init(|| read);
    let inputs: Vec<_> = scan.inputs.iter().flatten().cloned().collect();
    let has_trouble = tell_problems(&inputs) | tell_absence(&inputs, found);
    let material = ReportInput {
        rules: parts.rules,
        tally: &scan.tally,
        texts: &scan.texts,
        min_severity: Severity::Info,
        outcomes: &[],
        apps: parts.apps,
        allow: &parts.scope.allow,
    };
    Ok((GradedLog::new(material), has_trouble))
}
