//! `probewatch explain`: why a line matches, or why it does not.
//!
//! Finds the line and explains it. If the answer to the request could expose something, the whole
//! log is scanned to grade the answer, if the log is known: once, when a line first needs it.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueHint};

use super::common::{RuleContext, load_rules, print_problems, report_no_logs};
use super::message::{sanitized, sanitized_path};
use super::rules::find_rule;
use super::{Exit, ScanSettings, message, stdout};
use crate::commands::error::CommandError;
use crate::engine::ParsedRequest;
use crate::engine::explain::{Explainer, Explanation, InputRequest, SuppressedBy};
use crate::formats::reader::{LineContext, LineKind, LogReader};
use crate::formats::{Formats, Frame, LogFormat, W3cHeader, is_directive, recognize};
use crate::input::Mmap;
use crate::input::find::{FoundInputs, InputOrigin, find};
use crate::input::lines::{InputLine, LinesSummary, for_each_line};
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::client::Ipv6Prefix;
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::LogEntry;
use crate::log::time::LogTime;
use crate::render::explain::{ExplainedRequest, ReadAs, ViewCache, write};
use crate::render::{OutputFormat, RenderOptions};
use crate::report::path_answer::{GradeRequest, GradeResult, GradedLog, is_graded};
use crate::rules::{RuleSet, TextView as Seen};
use crate::scan::log::ScannedLog;
use crate::scan::{self, BatchOptions, ScanResult};

/// The arguments of `explain`.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::doc_markdown,
    reason = "comments on arguments are the help, and a terminal shows backticks as they are"
)]
pub(crate) struct ExplainOptions {
    /// A log line in quotes, FILE:LINE, or - for standard input
    ///
    /// A request line (GET /x), a path or a URL is taken as a request. The file of FILE:LINE may be
    /// compressed.
    #[arg(value_name = "LINE", value_hint = ValueHint::AnyPath)]
    line: OsString,
    /// Grade the answer by this log, which is scanned whole
    ///
    /// FILE:LINE is graded by its own file by default. The log may be compressed.
    #[arg(long = "in", value_name = "LOG", value_hint = ValueHint::FilePath, help_heading = "Input")]
    log: Option<PathBuf>,
    /// Explain this rule alone: everything it requires, met or not
    #[arg(long, value_name = "ID", help_heading = "Rules", value_parser = NonEmptyStringValueParser::new())]
    rule: Option<String>,
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
pub(crate) fn run(settings: &ScanSettings, options: &ExplainOptions) -> Exit {
    explain(settings, options).unwrap_or_else(|error| error.report())
}

fn explain(settings: &ScanSettings, options: &ExplainOptions) -> Result<Exit, CommandError> {
    let rules = load_rules(&settings.rules)?;
    if !settings.quiet {
        message::warnings(rules.warnings());
    }
    let only = options
        .rule
        .as_deref()
        .map(|id| find_rule(&rules, id))
        .transpose()?;
    let mut rule_context = RuleContext::new(settings, rules, Formats::new(&settings.formats))?;
    rule_context.scan_options.windows = false;
    let RuleContext {
        rules,
        scan_options,
        formats,
        apps,
    } = &rule_context;
    let source = line_source(settings, options)?;
    let file = if let LineSource::Line(path, _) = &source {
        Some(path.as_path())
    } else {
        None
    };
    let scan = OnceCell::new();
    let log = GradingLog {
        found: grading_log(options.log.as_ref(), file)?,
        rule_context: &rule_context,
        prefix: settings.client.prefix,
        scan: &scan,
        graded: None,
        has_problem: false,
    };
    let scanned = match file {
        Some(file) => ScannedLog::of_file(file, InputOrigin::Name, formats, scan_options),
        None => ScannedLog::new(Path::new(""), InputOrigin::Name, b"", formats, scan_options),
    };
    let out = match stdout::open() {
        Ok(out) => out,
        Err(error) => return Ok(stdout::failed(&error)),
    };
    let mut line_explainer = LineExplainer {
        settings,
        rules,
        explainer: Explainer::new(rules, settings.min_severity, apps),
        only,
        view: RenderOptions {
            format: settings.format,
            ..stdout::terminal(settings.color, false)
        },
        reader: LogLineReader {
            context: scanned.context(formats, scan_options, W3cHeader::None),
            log_reader: LogReader::default(),
        },
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
    Ok(match line_explainer.error.map_or(flushed, Err) {
        Ok(()) => exit,
        Err(error) => stdout::failed(&error),
    })
}

/// What the argument refers to. `FILE:LINE` needs an existing file.
fn line_source(
    settings: &ScanSettings,
    options: &ExplainOptions,
) -> Result<LineSource, CommandError> {
    let text = options.line.as_bytes();
    if text == b"-" {
        if options.log.as_deref() == Some(Path::new("-")) {
            return Err(CommandError::Usage(
                "the lines and the log of --in cannot both be standard input; name a file"
                    .to_owned(),
            ));
        }
        return Ok(LineSource::Stdin);
    }
    let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
    // What cannot be looked at may be a file.
    let may_be_file = |path: &Path| match path.metadata() {
        Ok(metadata) => !metadata.is_dir(),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    };
    if let Some((path, number)) = file_and_number(text) {
        match number.parse() {
            Ok(0) if may_be_file(path) => {
                return Err(CommandError::Usage(
                    "lines are numbered from 1: type 1 or more after the colon".to_owned(),
                ));
            }
            Ok(number) if may_be_file(path) => {
                return Ok(LineSource::Line(path.to_owned(), number));
            }
            _ if !settings.quiet => {
                message::notice(&format!(
                    "no file is called '{}'; the argument is read as text",
                    sanitized_path(path)
                ));
            }
            _ => {}
        }
    } else if is_file(Path::new(&options.line)) {
        let name = sanitized(&options.line.to_string_lossy());
        let message = format!(
            "'{name}' is a file: type '{name}:1' for its first line, or '- < {name}' for all"
        );
        if !text.starts_with(b"/") {
            return Err(CommandError::Usage(message));
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
    ParsedRequest::each_in(text, |parsed| {
        if found.is_none() && !explainer.explain(parsed, None).matches.is_empty() {
            found = Some(parsed.request.to_vec());
        }
    });
    found.unwrap_or_else(|| text.to_vec())
}

/// Explains lines, one at a time.
struct LineExplainer<'a, W> {
    settings: &'a ScanSettings,
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
        let parsed = record
            .as_ref()
            .map_or_else(|| ParsedRequest::from_raw(&raw), ParsedRequest::new);
        let mut explanation = self.explainer.explain(&parsed, self.only);
        let record = record.unwrap_or(LogEntry {
            request: text,
            ..LogEntry::default()
        });
        let full_explanation = self.only.map(|_| self.explainer.explain(&parsed, None));
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
            line: parsed.line,
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
        prefix: log.prefix,
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
    let name = sanitized_path(path);
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

/// The log, scanned on demand.
#[derive(Debug)]
struct GradingLog<'a> {
    found: Option<FoundInputs>,
    rule_context: &'a RuleContext,
    prefix: Option<Ipv6Prefix>,
    /// The result of the scan.
    scan: &'a OnceCell<ScanResult>,
    graded: Option<GradedLog<'a>>,
    /// The log could not be read completely.
    has_problem: bool,
}

impl GradingLog<'_> {
    /// Grades the answer to a request.
    fn grade(&mut self, request: &GradeRequest<'_>) -> GradeResult {
        let Some(found) = &self.found else {
            return GradeResult::NeedsLog;
        };
        if self.graded.is_none() {
            let RuleContext {
                rules,
                scan_options,
                apps,
                ..
            } = self.rule_context;
            let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
            let options = BatchOptions {
                mmap: Mmap::default(),
                stop: &stop,
                progress: &progress,
                keep_lines: false,
                range: None,
            };
            let job = self.rule_context.job(self.prefix);
            let scan = self
                .scan
                .get_or_init(|| scan::scan(&found.sources, &job, &options));
            let inputs: Vec<_> = scan.inputs.iter().flatten().cloned().collect();
            self.has_problem = print_problems(&inputs) | report_no_logs(&inputs, found);
            self.graded = Some(GradedLog::new(ReportInput {
                rules,
                tally: &scan.tally,
                sources: &scan.sources,
                inputs: &[],
                without_time: scan.without_time,
                filter: ReportFilter {
                    apps,
                    ..ReportFilter::default()
                },
                allow: &scan_options.allow,
            }));
        }
        self.graded
            .as_ref()
            .map_or(GradeResult::NeedsLog, |log| log.grade(request))
    }
}

/// The log that was given, or else the file that the line is from, if it can be read twice.
fn grading_log(
    given: Option<&PathBuf>,
    file: Option<&Path>,
) -> Result<Option<FoundInputs>, CommandError> {
    match (given, file) {
        (Some(path), _) => find_log(path).map(Some),
        (None, Some(file)) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => {
            Ok(Some(find(&[file.to_owned()])))
        }
        (None, _) => Ok(None),
    }
}

/// Finds the log at this path.
fn find_log(path: &PathBuf) -> Result<FoundInputs, CommandError> {
    let found = find(std::slice::from_ref(path));
    if !found.problems.is_empty() {
        for problem in &found.problems {
            message::error(&sanitized(&format!(
                "--in: {}: {}",
                problem.path.display(),
                problem.what
            )));
        }
        return Err(CommandError::Printed(Exit::Damaged));
    }
    if let Some(pattern) = found.no_match.first() {
        return Err(CommandError::NoMatch(pattern.clone()));
    }
    if found.sources.len() != 1 || path.is_dir() {
        return Err(CommandError::Usage(format!(
            "--in: '{}' is not one file; name the log that contains the line",
            path.display()
        )));
    }
    Ok(found)
}
