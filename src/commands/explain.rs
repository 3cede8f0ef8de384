//! `probewatch explain`: why a line matches, or why it does not.
//!
//! Finds the line and explains it. If the answer to the request could expose something, the whole
//! log is scanned to grade the answer, if the log is known: once, when a line first needs it.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::common::{print_problems, report_no_logs};
use super::message::sanitized;
use super::rules::find_rule;
use super::stdout::TerminalInfo;
use super::{Exit, message, stdout};
use crate::commands::error::CommandError;
use crate::engine::explain::{Explainer, Explanation, InputRequest, SuppressedBy};
use crate::engine::{ParsedRequest, ScanOptions};
use crate::formats::reader::{LineContext, LineKind, LogReader};
use crate::formats::{FormatChoice, Formats, Frame, LogFormat, W3cHeader, is_directive, recognize};
use crate::input::Mmap;
use crate::input::find::{FoundInputs, InputOrigin, find};
use crate::input::lines::{InputLine, LinesSummary, for_each_line};
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::client::Ipv6Prefix;
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::LogEntry;
use crate::log::time::LogTime;
use crate::render::explain::{ExplainedRequest, ReadAs, ViewCache, write};
use crate::render::{Color, OutputFormat, RenderOptions};
use crate::report::path_answer::{GradeRequest, GradeResult, GradedLog, is_graded};
use crate::rules::{AllowList, RuleChoice, RuleSet, TextView as Seen, load};
use crate::scan::log::ScannedLog;
use crate::scan::{self, BatchOptions, ScanJob, ScanResult};

/// The settings of `explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExplainSettings {
    /// A line, a request, `FILE:LINE`, or `-`.
    pub line: OsString,
    /// Explains only this rule; all rules if `None`.
    pub rule: Option<String>,
    /// The log for grading answers; `None` for the file that the line is from.
    pub log: Option<PathBuf>,
    /// The formats of lines.
    pub formats: FormatChoice,
    /// Which rules to use.
    pub rules: RuleChoice,
    /// The severity from which a scan reports.
    pub min_severity: Severity,
    /// Apps that run on every site.
    pub apps: Vec<String>,
    /// Allow lists.
    pub allow: Vec<PathBuf>,
    /// The length of the IPv6 prefix that counts as one client; `None` for single addresses.
    pub prefix: Option<Ipv6Prefix>,
    /// The longest line that a scan reads, in bytes.
    pub max_line: usize,
    /// JSON, or text.
    pub format: OutputFormat,
    /// When to use colours.
    pub color: Color,
    /// No notices on standard error.
    pub quiet: bool,
}

/// Where the lines come from.
#[derive(Debug, PartialEq, Eq)]
enum LineSource {
    InputRequest(Vec<u8>),
    Stdin,
    Line(PathBuf, u64),
}

/// Explains the lines and prints the explanations.
#[must_use]
pub(crate) fn run(settings: &ExplainSettings) -> Exit {
    let rules = match load(&settings.rules) {
        Ok(rules) => rules,
        Err(error) => return message::usage_error(&error.to_string()),
    };
    if !settings.quiet {
        message::warnings(rules.warnings());
    }
    let only = match settings
        .rule
        .as_deref()
        .map(|id| find_rule(&rules, id))
        .transpose()
    {
        Ok(only) => only,
        Err(exit) => return exit,
    };
    let apps = match super::common::apps(&settings.apps, &rules) {
        Ok(apps) => apps,
        Err(error) => return error.report(),
    };
    let source = match line_source(settings) {
        Ok(source) => source,
        Err(exit) => return exit,
    };
    let formats = match Formats::new(&settings.formats) {
        Ok(formats) => formats,
        Err(error) => return message::usage_error(&error.to_string()),
    };
    let scan_options = match scan_options(settings) {
        Ok(scan_options) => scan_options,
        Err(error) => return error.report(),
    };
    let scan = OnceCell::new();
    let context = GradingContext {
        settings,
        rules: &rules,
        formats: &formats,
        apps: &apps,
        scan_options: &scan_options,
        scan: &scan,
    };
    let file = if let LineSource::Line(path, _) = &source {
        Some(path.as_path())
    } else {
        None
    };
    let log = match GradingLog::new(context, file) {
        Ok(log) => log,
        Err(exit) => return exit,
    };
    let scanned = match file {
        Some(file) => ScannedLog::of_file(file, InputOrigin::Name, &formats, &scan_options),
        None => ScannedLog::new(
            Path::new(""),
            InputOrigin::Name,
            b"",
            &formats,
            &scan_options,
        ),
    };
    let context = scanned.context(&formats, &scan_options, W3cHeader::None);
    let screen = TerminalInfo::detect(settings.color, false);
    let view = RenderOptions {
        format: settings.format,
        width: screen.width,
        color: screen.color,
        ..RenderOptions::default()
    };
    let explainer = Explainer::new(&rules, settings.min_severity, &apps);
    let out = match stdout::open() {
        Ok(out) => out,
        Err(error) => return stdout::failed(&error),
    };
    let reader = LogLineReader {
        context,
        log_reader: LogReader::default(),
    };
    let mut line_explainer = LineExplainer {
        settings,
        rules: &rules,
        explainer,
        only,
        view,
        reader,
        log,
        out,
        explained: 0,
        error: None,
    };
    let exit = match source {
        LineSource::InputRequest(text) => line_explainer.explain_text(&text),
        LineSource::Stdin => line_explainer.explain_stdin(),
        LineSource::Line(path, line) => line_explainer.explain_file_line(&path, line),
    };
    let exit = if exit == Exit::Success && line_explainer.log.has_problem {
        Exit::Damaged
    } else {
        exit
    };
    let flushed = line_explainer.out.flush();
    match line_explainer.error.map_or(flushed, Err) {
        Ok(()) => exit,
        Err(error) => stdout::failed(&error),
    }
}

/// What the argument refers to. `FILE:LINE` needs an existing file.
fn line_source(settings: &ExplainSettings) -> Result<LineSource, Exit> {
    let text = settings.line.as_bytes();
    if text == b"-" {
        if settings.log.as_deref() == Some(Path::new("-")) {
            return Err(message::usage_error(
                "the lines and the log of --in cannot both be standard input; name a file",
            ));
        }
        return Ok(LineSource::Stdin);
    }
    let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
    if let Some((path, number)) = file_and_number(text) {
        match number.parse() {
            Ok(0) if is_file(path) => {
                return Err(message::usage_error(
                    "lines are numbered from 1: type 1 or more after the colon",
                ));
            }
            Ok(number) if is_file(path) => return Ok(LineSource::Line(path.to_owned(), number)),
            _ if !settings.quiet => {
                message::notice(&format!(
                    "no file is called '{}'; the argument is read as text",
                    sanitized(&path.to_string_lossy())
                ));
            }
            _ => {}
        }
    } else if is_file(Path::new(&settings.line)) {
        let name = sanitized(&settings.line.to_string_lossy());
        let message = format!(
            "'{name}' is a file: type '{name}:1' for its first line, or '- < {name}' for all"
        );
        if !text.starts_with(b"/") {
            return Err(message::usage_error(&message));
        }
        if !settings.quiet {
            message::notice(&format!("read as the path of a request, but {message}"));
        }
    }
    Ok(LineSource::InputRequest(text.to_vec()))
}

/// Splits `FILE:LINE`. A text with spaces is a line of a log.
fn file_and_number(text: &[u8]) -> Option<(&Path, &str)> {
    let colon = memchr::memrchr(b':', text)?;
    let number = std::str::from_utf8(&text[colon + 1..])
        .ok()
        .filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))?;
    let file = Path::new(std::ffi::OsStr::from_bytes(&text[..colon]));
    let is_url = memchr::memmem::find(text, b"://").is_some();
    (colon > 0 && !is_url && (!text.contains(&b' ') || file.exists())).then_some((file, number))
}

/// Reads lines of any format, in order.
struct LogLineReader<'a> {
    context: LineContext<'a>,
    log_reader: LogReader,
}

impl LogLineReader<'_> {
    /// Applies the header of the log, if the line is part of one.
    fn update_header(&mut self, number: u64, text: &[u8]) {
        let LineContext {
            header, max_line, ..
        } = &mut self.context;
        if number == 1 {
            *header = W3cHeader::from_log_start(text, *max_line);
        }
        *header = std::mem::take(header).after(text, *max_line);
    }

    /// Whether the line is only a directive for the following lines.
    fn is_directive(&mut self, number: u64, text: &[u8]) -> bool {
        self.update_header(number, text);
        self.context.header.is_w3c() && is_directive(text)
    }

    /// The name of the line's format, and its fields. With `only`, lines of other formats are not
    /// read.
    fn read<'l>(
        &'l mut self,
        text: &'l [u8],
        only: Option<LogFormat>,
    ) -> Option<(Arc<str>, LogEntry<'l>)> {
        let (kind, entry) = match only {
            Some(_) => (LineKind::AsIs, None),
            None => self.log_reader.line(text, &mut self.context),
        };
        match kind {
            LineKind::As(format)
            | LineKind::AsDoubtful(format)
            | LineKind::WithoutClient(format) => {
                Some((Arc::clone(self.context.name(format)), entry?))
            }
            LineKind::AsIs => {
                let frame = Frame::locate(text, only)?;
                Some((
                    frame.format().as_str().into(),
                    frame.record(LogTime::parse_any_format(frame.time)),
                ))
            }
            LineKind::Directive => None,
        }
    }
}

/// The first request in an unparsed line that a rule matches; the line, if there is none.
fn matching_request(explainer: &Explainer<'_>, text: &[u8]) -> Vec<u8> {
    let mut found = None;
    ParsedRequest::each_in(text, |probe| {
        if found.is_none() && !explainer.explain(probe, None).matches.is_empty() {
            found = Some(probe.request.to_vec());
        }
    });
    found.unwrap_or_else(|| text.to_vec())
}

/// Explains lines, one at a time.
struct LineExplainer<'a, W> {
    settings: &'a ExplainSettings,
    rules: &'a RuleSet,
    explainer: Explainer<'a>,
    only: Option<RuleId>,
    view: RenderOptions,
    reader: LogLineReader<'a>,
    log: GradingLog<'a>,
    out: W,
    /// Number of lines explained.
    explained: u64,
    /// Why the output failed.
    error: Option<io::Error>,
}

impl<W: Write> LineExplainer<'_, W> {
    /// The argument may have several lines, such as the output of another command.
    fn explain_text(&mut self, text: &[u8]) -> Exit {
        let lines = text
            .strip_suffix(b"\n")
            .unwrap_or(text)
            .split(|&b| b == b'\n');
        for line in lines {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let length = line.len();
            let line = if length > self.settings.max_line {
                InputLine::Oversized(length as u64)
            } else {
                InputLine::Text(line)
            };
            if self.explain_line(line, None, true).is_break() {
                break;
            }
        }
        Exit::Success
    }

    fn explain_stdin(&mut self) -> Exit {
        let path = Path::new("-");
        let end = for_each_line(path, self.settings.max_line, |number, line| match line {
            InputLine::Text(b"") => ControlFlow::Continue(()),
            InputLine::Text(text) if self.reader.is_directive(number, text) => {
                ControlFlow::Continue(())
            }
            line => self.explain_line(line, Some((b"-", number)), true),
        });
        exit_code(path, end.map_err(|e| e.to_string()), |_| Exit::Success)
    }

    fn explain_file_line(&mut self, path: &Path, line_number: u64) -> Exit {
        let mut is_found = false;
        let end = for_each_line(path, self.settings.max_line, |number, line| {
            if let InputLine::Text(text) = line {
                self.reader.update_header(number, text);
            }
            if number < line_number {
                return ControlFlow::Continue(());
            }
            is_found = true;
            let _ = self.explain_line(line, Some((path.as_os_str().as_bytes(), number)), false);
            ControlFlow::Break(())
        });
        exit_code(path, end.map_err(|e| e.to_string()), |end| {
            if is_found {
                return Exit::Success;
            }
            let count = if end.lines == 1 {
                "1 line".into()
            } else {
                format!("{} lines", end.lines)
            };
            message::usage_error(&format!(
                "{}: has {count}, and no line {line_number}",
                path.display()
            ))
        })
    }

    /// Explains one line. Breaks if the output failed.
    fn explain_line(
        &mut self,
        line: InputLine<'_>,
        location: Option<(&[u8], u64)>,
        may_be_request: bool,
    ) -> ControlFlow<()> {
        let InputLine::Text(text) = line else {
            let prefix = location
                .map(|(path, line)| {
                    format!("{}:{line}: ", sanitized(&String::from_utf8_lossy(path)))
                })
                .unwrap_or_default();
            message::notice(&format!(
                "{prefix}longer than --max-line ({} bytes); a scan skips it",
                self.settings.max_line
            ));
            return ControlFlow::Continue(());
        };
        match self.explain(text, location, may_be_request) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn explain(
        &mut self,
        text: &[u8],
        location: Option<(&[u8], u64)>,
        may_be_request: bool,
    ) -> io::Result<()> {
        let only = self.settings.formats.as_clf();
        let entry = self.reader.read(text, only);
        let input_request = if entry.is_none() && may_be_request {
            InputRequest::read(text)
        } else {
            None
        };
        let (read_as, record) = match (entry, &input_request) {
            (Some((name, entry)), _) => (ReadAs::Line(name), Some(entry)),
            (None, Some(request)) => (ReadAs::Request, Some(request.record())),
            (None, None) => (ReadAs::Unparsed(recognize(text)), None),
        };
        let raw = if record.is_none() {
            matching_request(&self.explainer, text)
        } else {
            Vec::new()
        };
        let probe = record
            .as_ref()
            .map_or_else(|| ParsedRequest::from_raw(&raw), ParsedRequest::new);
        let mut explanation = self.explainer.explain(&probe, self.only);
        let record = record.unwrap_or(LogEntry {
            request: text,
            ..LogEntry::default()
        });
        let full_explanation = self.only.map(|_| self.explainer.explain(&probe, None));
        let answer = grade_answer(
            &mut self.log,
            self.rules,
            &record,
            &explanation,
            full_explanation.as_ref(),
        );
        if let Some(answer) = &answer {
            apply_min_severity(
                &mut explanation,
                answer,
                self.rules,
                self.settings.min_severity,
            );
        }
        if self.explained > 0 && self.view.format == OutputFormat::Table {
            writeln!(self.out)?;
        }
        self.explained += 1;
        let (rules, only, views) = (self.rules, self.only, ViewCache::default());
        let answer = answer.as_ref();
        let by_status = input_request
            .as_ref()
            .filter(|_| only.is_none())
            .map(|typed| self.explainer.by_status(typed))
            .unwrap_or_default();
        let explanation = &explanation;
        let subject = ExplainedRequest {
            location,
            read_as,
            record,
            line: probe.line,
            explanation,
            by_status,
            rules,
            only,
            answer,
            views,
        };
        write(&subject, &self.view, &mut self.out)
    }
}

/// Grades the answer if by one of the explained rules it could expose something. `whole` is the
/// explanation with all rules, if only one rule is explained.
fn grade_answer(
    log: &mut GradingLog<'_>,
    rules: &RuleSet,
    record: &LogEntry<'_>,
    explanation: &Explanation<'_>,
    full_explanation: Option<&Explanation<'_>>,
) -> Option<GradeResult> {
    let matched = |explanation: &Explanation<'_>| -> Vec<RuleId> {
        explanation
            .matches
            .iter()
            .map(|account| account.rule)
            .filter(|&rule| !rules.rule(rule).is_app_evidence)
            .collect()
    };
    if !is_graded(rules, &matched(explanation), record.status) {
        return None;
    }
    let matched_rules = matched(full_explanation.unwrap_or(explanation));
    let path = explanation.texts.of_view(Seen::Resolved);
    Some(log.grade(&GradeRequest {
        record,
        path,
        rules: &matched_rules,
        prefix: log.prefix(),
    }))
}

/// Marks rules as suppressed if the grade of the answer leaves them below the minimum severity.
fn apply_min_severity(
    explanation: &mut Explanation<'_>,
    answer: &GradeResult,
    rules: &RuleSet,
    least: Severity,
) {
    let is_raised = match answer {
        GradeResult::Known(answer) => answer.is_distinct(),
        GradeResult::NeedsLog => true,
        GradeResult::Ordinary => false,
    };
    for account in explanation
        .matches
        .iter_mut()
        .filter(|account| account.suppressed_by.is_none())
    {
        let severity = rules.rule(account.rule).effective_severity(is_raised);
        account.suppressed_by =
            (severity < least).then_some(SuppressedBy::BelowMinSeverity { severity, least });
    }
}

/// The exit code after reading lines. Problems with the input come first.
fn exit_code(
    path: &Path,
    end: Result<LinesSummary, String>,
    then: impl FnOnce(&LinesSummary) -> Exit,
) -> Exit {
    let name = sanitized(&path.to_string_lossy());
    match end {
        Ok(LinesSummary { damage: None, .. }) => end.as_ref().map_or(Exit::Damaged, then),
        Ok(LinesSummary {
            damage: Some(what), ..
        })
        | Err(what) => {
            message::error(&format!("{name}: {}", sanitized(&what)));
            Exit::Damaged
        }
    }
}

/// What a scan of the log needs.
#[derive(Debug)]
struct GradingContext<'a> {
    settings: &'a ExplainSettings,
    rules: &'a RuleSet,
    formats: &'a Formats,
    apps: &'a [RuleId],
    /// Options of the scan.
    scan_options: &'a ScanOptions,
    /// The result of the scan.
    scan: &'a OnceCell<ScanResult>,
}

/// The log, scanned on demand.
#[derive(Debug)]
struct GradingLog<'a> {
    context: GradingContext<'a>,
    found: Option<FoundInputs>,
    graded: Option<GradedLog<'a>>,
    /// The log could not be read completely.
    has_problem: bool,
}

/// The options of a scan for `explain`: the whole log, except for allowed requests.
fn scan_options(settings: &ExplainSettings) -> Result<ScanOptions, CommandError> {
    Ok(ScanOptions {
        format: settings.formats.as_clf(),
        allow: AllowList::load(&settings.allow)?,
        max_line: settings.max_line,
        ..ScanOptions::default()
    })
}

impl<'a> GradingLog<'a> {
    /// The log that was given, or else the file that the line is from, if it can be read twice.
    fn new(context: GradingContext<'a>, file: Option<&Path>) -> Result<Self, Exit> {
        let found = match (&context.settings.log, file) {
            (Some(path), _) => Some(find_log(path)?),
            (None, Some(file)) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => {
                Some(find(&[file.to_owned()]))
            }
            (None, _) => None,
        };
        Ok(Self {
            context,
            found,
            graded: None,
            has_problem: false,
        })
    }

    /// The length of the IPv6 prefix that counts as one client.
    fn prefix(&self) -> Option<Ipv6Prefix> {
        self.context.settings.prefix
    }

    /// Grades the answer to a request.
    fn grade(&mut self, request: &GradeRequest<'_>) -> GradeResult {
        let Some(found) = &self.found else {
            return GradeResult::NeedsLog;
        };
        if self.graded.is_none() {
            let (log, has_problem) = scan_log(&self.context, found);
            (self.graded, self.has_problem) = (Some(log), has_problem);
        }
        self.graded
            .as_ref()
            .map_or(GradeResult::NeedsLog, |log| log.grade(request))
    }
}

/// Finds the log at this path.
fn find_log(path: &PathBuf) -> Result<FoundInputs, Exit> {
    let found = find(std::slice::from_ref(path));
    if !found.problems.is_empty() {
        for problem in &found.problems {
            message::error(&sanitized(&format!(
                "--in: {}: {}",
                problem.path.display(),
                problem.what
            )));
        }
        return Err(Exit::Damaged);
    }
    if let Some(pattern) = found.no_match.first() {
        return Err(CommandError::NoMatch(pattern.clone()).report());
    }
    if found.sources.len() != 1 || path.is_dir() {
        return Err(message::usage_error(&format!(
            "--in: '{}' is not one file; name the log that contains the line",
            path.display()
        )));
    }
    Ok(found)
}

/// Scans the log and prints its problems. Returns whether there were any.
fn scan_log<'a>(context: &GradingContext<'a>, found: &FoundInputs) -> (GradedLog<'a>, bool) {
    let job = ScanJob {
        rules: context.rules,
        scan_options: context.scan_options,
        formats: context.formats,
        prefix: context.settings.prefix,
    };
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = BatchOptions {
        mmap: Mmap::default(),
        stop: &stop,
        progress: &progress,
        keep_lines: false,
        range: None,
    };
    let scan = context
        .scan
        .get_or_init(|| scan::scan(&found.sources, &job, &options));
    let inputs: Vec<_> = scan.inputs.iter().flatten().cloned().collect();
    let has_problem = print_problems(&inputs) | report_no_logs(&inputs, found);
    let report_input = ReportInput {
        rules: context.rules,
        tally: &scan.tally,
        sources: &scan.sources,
        inputs: &[],
        without_time: scan.without_time,
        filter: ReportFilter {
            apps: context.apps,
            ..ReportFilter::default()
        },
        allow: &context.scan_options.allow,
    };
    (GradedLog::new(report_input), has_problem)
}
