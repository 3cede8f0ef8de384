//! `probewatch explain`: why a line matches, and why it does not.
//!
//! Finds the line, explains it and prints the explanation. A line that cannot be read is an error; any text in it is explained. To grade
//! an answer that could expose something it scans the whole log, where it knows one.

mod log;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::log::{Log, Parts, scope};
use super::message::shown;
use super::rules::named;
use super::{Exit, message, screen, stdout};
use crate::analysis::path_answer::{Graded, Request, is_graded};
use crate::client::Prefix;
use crate::engine::Probe;
use crate::engine::explain::{Explainer, Explanation, Typed, Withheld};
use crate::finding::{RuleId, Severity};
use crate::formats::transcriber::{Course, Read, Transcriber};
use crate::formats::{ClientPlace, FormatChoice, Formats, Frame, Header, LogFormat, recognise};
use crate::input::sequence::{End, Line, each_line};
use crate::record::Record;
use crate::render::explain::{ExplainedRequest, ReadAs, ViewCache, write};
use crate::render::{Color, OutputFormat, RenderOptions};
use crate::rules::{RuleChoice, RuleSet, View as Seen, load};
use crate::time::LogTime;

/// What `explain` is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// A line, `FILE:LINE`, or `-`.
    pub line: OsString,
    /// The rule that is meant; all where `None`.
    pub rule: Option<String>,
    /// The log that answers are graded by; `None` for the file that the line is of.
    pub log: Option<PathBuf>,
    /// The formats of lines.
    pub formats: FormatChoice,
    /// Which rules.
    pub rules: RuleChoice,
    /// A scan reports from this level on.
    pub min_severity: Severity,
    /// Apps that are said to run.
    pub apps: Vec<String>,
    /// Files that say what is allowed.
    pub allow: Vec<PathBuf>,
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Prefix>,
    /// The longest line that a scan looks at, in bytes.
    pub max_line: usize,
    /// JSON, or else text.
    pub format: OutputFormat,
    /// When to colour.
    pub color: Color,
    /// No notices on standard error.
    pub quiet: bool,
}

/// Where the lines come from.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Typed(Vec<u8>),
    Stdin,
    Line(PathBuf, u64),
}

/// Explains what is asked for.
#[must_use]
pub fn run(question: &Question) -> Exit {
    let rules = match load(&question.rules) {
        Ok(rules) => rules,
        Err(error) => return message::refused(&error.to_string()),
    };
    if !question.quiet {
        message::warnings(rules.warnings());
    }
    let only = match question.rule.as_deref().map(|id| named(&rules, id)).transpose() {
        Ok(only) => only,
        Err(exit) => return exit,
    };
    let apps = match super::run::apps(&question.apps, &rules) {
        Ok(apps) => apps,
        Err(failure) => return failure.tell(),
    };
    let place = match origin(question) {
        Ok(place) => place,
        Err(exit) => return exit,
    };
    let formats = match Formats::of(&question.formats) {
        Ok(formats) => formats,
        Err(error) => return message::refused(&error.to_string()),
    };
    let scope = match scope(question) {
        Ok(scope) => scope,
        Err(failure) => return failure.tell(),
    };
    let scan = OnceCell::new();
    let parts = Parts { question, rules: &rules, formats: &formats, apps: &apps, scope: &scope, scan: &scan };
    let file = if let Origin::Line(path, _) = &place { Some(path.as_path()) } else { None };
    let log = match Log::of(parts, file) {
        Ok(log) => log,
        Err(exit) => return exit,
    };
    let course = Course {
        formats: &formats,
        first: formats.asked(),
        header: Header::None,
        clients: ClientPlace::Unknown,
        max_line: question.max_line,
    };
    let screen = screen::of(question.color, false);
    let view = RenderOptions { format: question.format, width: screen.width, color: screen.color, ..RenderOptions::default() };
    let explainer = Explainer::new(&rules, question.min_severity, &apps);
    let out = BufWriter::new(io::stdout().lock());
    let reader = Reader { course, transcriber: Transcriber::default(), line: Vec::new() };
    let mut desk = Desk { question, rules: &rules, explainer, only, view, reader, log, out, told: 0, failure: None };
    let exit = match place {
        Origin::Typed(text) => desk.typed(&text),
        Origin::Stdin => desk.stdin(),
        Origin::Line(path, line) => desk.line(&path, line),
    };
    let exit = if exit == Exit::Success && desk.log.has_trouble { Exit::Damaged } else { exit };
    let flushed = desk.out.flush();
    match desk.failure.map_or(flushed, Err) {
        Ok(()) => exit,
        Err(error) => stdout::failed(&error),
    }
}

/// What a text names. A line of a file needs the file to be there.
fn origin(question: &Question) -> Result<Origin, Exit> {
    let text = question.line.as_bytes();
    if text == b"-" {
        if question.log.as_deref() == Some(Path::new("-")) {
            return Err(message::refused("the lines and the log of --in cannot both be standard input; name a file"));
        }
        return Ok(Origin::Stdin);
    }
    let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
    if let Some((path, number)) = file_and_number(text) {
        match number.parse() {
            Ok(0) if is_file(path) => {
                return Err(message::refused("lines are counted from 1: type 1 or more behind the colon"));
            }
            Ok(number) if is_file(path) => return Ok(Origin::Line(path.to_owned(), number)),
            _ if !question.quiet => message::notice(&format!("no file is called '{}'; taken as a text", shown(&path.to_string_lossy()))),
            _ => {}
        }
    } else if is_file(Path::new(&question.line)) {
        let name = shown(&question.line.to_string_lossy());
        let how = format!("'{name}' is a file: type '{name}:1' for its first line, or '- < {name}' for all");
        if !text.starts_with(b"/") {
            return Err(message::refused(&how));
        }
        if !question.quiet {
            message::notice(&format!("taken as the path of a request, but {how}"));
        }
    }
    Ok(Origin::Typed(text.to_vec()))
}

/// `FILE:LINE` taken apart; a text with blanks is a line.
fn file_and_number(text: &[u8]) -> Option<(&Path, &str)> {
    let colon = memchr::memrchr(b':', text)?;
    let number = std::str::from_utf8(&text[colon + 1..]).ok().filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))?;
    let file = Path::new(std::ffi::OsStr::from_bytes(&text[..colon]));
    let is_url = memchr::memmem::find(text, b"://").is_some();
    (colon > 0 && !is_url && (!text.contains(&b' ') || file.exists())).then_some((file, number))
}

/// Reads lines of any format, in their order.
struct Reader<'a> {
    course: Course<'a>,
    transcriber: Transcriber,
    /// The last line, written down again.
    line: Vec<u8>,
}

impl Reader<'_> {
    /// Takes over what a line says of those behind it.
    fn pass(&mut self, number: u64, text: &[u8]) {
        let Course { header, max_line, .. } = &mut self.course;
        if number == 1 {
            *header = Header::of_log(text, *max_line);
        }
        *header = std::mem::take(header).behind(text, *max_line);
    }

    /// Whether a line says something of those behind it, and nothing else.
    fn is_own(&mut self, number: u64, text: &[u8]) -> bool {
        self.pass(number, text);
        self.course.header.is_w3c() && text.first() == Some(&b'#')
    }

    /// The name of a line's format, and the line as the engine reads it; no name where it is left as it is.
    fn read<'l>(&'l mut self, text: &'l [u8]) -> (Option<Arc<str>>, &'l [u8]) {
        self.line.clear();
        match self.transcriber.line(text, &mut self.course, &mut self.line) {
            Read::As(format) => (Some(Arc::clone(self.course.formats.name(format))), &self.line),
            Read::WithoutClient => (Some(LogFormat::Combined.as_str().into()), &self.line),
            Read::AsIs | Read::Own => (None, text),
        }
    }
}

/// Explains lines, one after the other.
struct Desk<'a, W> {
    question: &'a Question,
    rules: &'a RuleSet,
    explainer: Explainer<'a>,
    only: Option<RuleId>,
    view: RenderOptions,
    reader: Reader<'a>,
    log: Log<'a>,
    out: W,
    /// Lines told so far.
    told: u64,
    /// Why no more can be told.
    failure: Option<io::Error>,
}

impl<W: Write> Desk<'_, W> {
    /// A text may be several lines, as the shell hands over the output of a command.
    fn typed(&mut self, text: &[u8]) -> Exit {
        let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n');
        for line in lines {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let length = line.len();
            let line = if length > self.question.max_line { Line::Oversized(length as u64) } else { Line::Text(line) };
            if self.take(line, None, true).is_break() {
                break;
            }
        }
        Exit::Success
    }

    fn stdin(&mut self) -> Exit {
        let path = Path::new("-");
        let end = each_line(path, self.question.max_line, |number, line| match line {
            Line::Text(b"") => ControlFlow::Continue(()),
            Line::Text(text) if self.reader.is_own(number, text) => ControlFlow::Continue(()),
            line => self.take(line, Some((b"-", number)), true),
        });
        ended(path, end.map_err(|e| e.to_string()), |_| Exit::Success)
    }

    fn line(&mut self, path: &Path, wanted: u64) -> Exit {
        let mut found = false;
        let end = each_line(path, self.question.max_line, |number, line| {
            if let Line::Text(text) = line {
                self.reader.pass(number, text);
            }
            if number < wanted {
                return ControlFlow::Continue(());
            }
            found = true;
            let _ = self.take(line, Some((path.as_os_str().as_bytes(), number)), false);
            ControlFlow::Break(())
        });
        ended(path, end.map_err(|e| e.to_string()), |end| {
            if found {
                return Exit::Success;
            }
            let count = if end.lines == 1 { "1 line".into() } else { format!("{} lines", end.lines) };
            message::refused(&format!("{}: has {count}, and no line {wanted}", path.display()))
        })
    }

    /// Explains one line; breaks where nobody reads any more.
    fn take(&mut self, line: Line<'_>, place: Option<(&[u8], u64)>, may_be_request: bool) -> ControlFlow<()> {
        let Line::Text(text) = line else {
            let which = place.map(|(path, line)| format!("{}:{line}: ", shown(&String::from_utf8_lossy(path)))).unwrap_or_default();
            message::notice(&format!("{which}longer than --max-line ({} bytes); a scan does not look at it", self.question.max_line));
            return ControlFlow::Continue(());
        };
        match self.explain(text, place, may_be_request) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn explain(&mut self, text: &[u8], place: Option<(&[u8], u64)>, may_be_request: bool) -> io::Result<()> {
        let only = self.question.formats.as_clf();
        let (name, line) = if only.is_some() { (None, text) } else { self.reader.read(text) };
        let frame = Frame::locate(line, only);
        let typed = if frame.is_none() && may_be_request { Typed::read(text) } else { None };
        let (taken, record) = match (&frame, &typed) {
            (Some(frame), _) => {
                (ReadAs::Line(name.unwrap_or_else(|| frame.format().as_str().into())), Some(frame.record(LogTime::parse_clf(frame.time))))
            }
            (None, Some(typed)) => (ReadAs::Request, Some(typed.record())),
            (None, None) => (ReadAs::Unparsed(recognise(text)), None),
        };
        let probe = record.as_ref().map_or_else(|| Probe::of_raw(text), Probe::of_record);
        let mut explanation = self.explainer.explain(&probe, self.only);
        let record = record.unwrap_or(Record { request: text, ..Record::default() });
        let whole = self.only.map(|_| self.explainer.explain(&probe, None));
        let answer = graded(&mut self.log, self.rules, &record, &explanation, whole.as_ref());
        if let Some(answer) = &answer {
            withhold(&mut explanation, answer, self.rules, self.question.min_severity);
        }
        if self.told > 0 && self.view.format == OutputFormat::Table {
            writeln!(self.out)?;
        }
        self.told += 1;
        let (rules, only, views) = (self.rules, self.only, ViewCache::default());
        let answer = answer.as_ref();
        let subject = ExplainedRequest {
            location: place,
            read_as: taken,
            record,
            line: probe.line,
            explanation: &explanation,
            rules,
            only,
            answer,
            views,
        };
        write(&subject, &self.view, &mut self.out)
    }
}

/// The grade of an answer, where one of the rules that are explained says that it could expose something. `whole` is what all
/// rules say, where one alone is explained.
fn graded(
    log: &mut Log<'_>,
    rules: &RuleSet,
    record: &Record<'_>,
    said: &Explanation<'_>,
    whole: Option<&Explanation<'_>>,
) -> Option<Graded> {
    let matched = |said: &Explanation<'_>| -> Vec<RuleId> {
        said.matches.iter().map(|account| account.rule).filter(|&rule| !rules.rule(rule).is_sign).collect()
    };
    if !is_graded(rules, &matched(said), record.status) {
        return None;
    }
    let all = matched(whole.unwrap_or(said));
    let path = said.texts.of_view(Seen::Resolved);
    Some(log.grade(&Request { record, path, rules: &all, prefix: log.prefix() }))
}

/// What the grade does not raise may be below the level that is reported.
fn withhold(explanation: &mut Explanation<'_>, answer: &Graded, rules: &RuleSet, least: Severity) {
    let is_raised = match answer {
        Graded::Known(answer) => answer.is_distinct(),
        Graded::NeedsLog => true,
        Graded::Ordinary => false,
    };
    for account in explanation.matches.iter_mut().filter(|account| account.withheld.is_none()) {
        let severity = rules.rule(account.rule).severity_when(is_raised);
        account.withheld = (severity < least).then_some(Withheld::BelowMinSeverity { severity, least });
    }
}

/// How a sequence of lines ended: what is wrong with its source comes before what was made of it.
fn ended(path: &Path, end: Result<End, String>, then: impl FnOnce(&End) -> Exit) -> Exit {
    let name = shown(&path.to_string_lossy());
    match end {
        Ok(End { damage: None, .. }) => end.as_ref().map_or(Exit::Damaged, then),
        Ok(End { damage: Some(what), .. }) | Err(what) => {
            message::error(&format!("{name}: {}", shown(&what)));
            Exit::Damaged
        }
    }
}
