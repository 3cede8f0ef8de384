//! The log that answers are graded by: scanned whole, once, when a line first needs it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::super::run::{Failure, tell_absence, tell_problems};
use super::super::{Exit, message};
use super::Question;
use crate::client::Prefix;
use crate::engine::ScanOptions;
use crate::finding::{RuleId, Severity};
use crate::format::Formats;
use crate::input::Mmap;
use crate::input::find::{Found, find};
use crate::pipeline::{self, Job, Scan};
use crate::report::answer::{Graded, GradedLog, Request};
use crate::report::build::Material;
use crate::rules::{AllowList, RuleSet};

/// What a scan of the log needs.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) question: &'a Question,
    pub(super) rules: &'a RuleSet,
    pub(super) formats: &'a Formats,
    pub(super) apps: &'a [RuleId],
    /// What a scan looks at.
    pub(super) scope: &'a ScanOptions,
    /// Holds the scan, once it is done.
    pub(super) scan: &'a OnceCell<Scan>,
}

/// The log, once it is scanned.
#[derive(Debug)]
pub(super) struct Log<'a> {
    parts: Parts<'a>,
    found: Option<Found>,
    graded: Option<GradedLog<'a>>,
    /// Something is wrong with the log.
    pub(super) has_trouble: bool,
}

/// What a scan for `explain` looks at: all of the log but what is allowed.
pub(super) fn scope(question: &Question) -> Result<ScanOptions, Failure> {
    Ok(ScanOptions {
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
    pub(super) fn prefix(&self) -> Option<Prefix> {
        self.parts.question.prefix
    }

    /// What the log shows of the answer to a request.
    pub(super) fn grade(&mut self, request: &Request<'_>) -> Graded {
        let Some(found) = &self.found else { return Graded::NeedsLog };
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
        self.graded.as_ref().map_or(Graded::NeedsLog, |log| log.grade(request))
    }
}

/// The log at this path.
fn one(path: &PathBuf) -> Result<Found, Exit> {
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
fn scanned<'a>(parts: &Parts<'a>, found: &Found) -> Result<(GradedLog<'a>, bool), Failure> {
    let job = Job {
        rules: parts.rules,
        scope: parts.scope,
        formats: parts.formats,
        mmap: Mmap::default(),
        stop: &AtomicBool::new(false),
        progress: &AtomicU64::new(0),
        keep_lines: false,
        prefix: parts.question.prefix,
    };
    let read = pipeline::scan(&found.sources, &job).map_err(Failure::Spool)?;
    let scan = parts.scan.get_or_init(|| read);
    let inputs: Vec<_> = scan.inputs.iter().flatten().cloned().collect();
    let has_trouble = tell_problems(&inputs) | tell_absence(&inputs, found);
    let material = Material {
        rules: parts.rules,
        tally: &scan.tally,
        texts: &scan.texts,
        min_severity: Severity::Info,
        outcomes: &[],
        apps: parts.apps,
        allow: &parts.scope.allow,
    };
    Ok((GradedLog::of(material), has_trouble))
}
