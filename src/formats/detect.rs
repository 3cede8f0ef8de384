//! What a log is written in, going by its first lines: for people who want to know, and for messages.
//!
//! A scan does not ask: it reads each line as what that line is. So what is said here of the first lines is what a scan would
//! make of them.

use super::builtin::{Format, FormatId, Formats, Reader};
use super::prefix::{self, Prefix};
use super::transcriber::{Course, Read, Transcriber};
use super::{ClientPlace, Frame, Header, LogFormat, Meaning, recognise};

/// What the first lines of a log are.
#[derive(Debug, Clone, Default)]
pub struct Detected {
    /// Lines that were looked at.
    pub lines: u64,
    /// Formats that were found, that of most lines first.
    pub found: Vec<Found>,
    /// Lines of the log's own.
    pub own: u64,
    /// Lines that no format explains.
    pub unread: u64,
    /// The first of those, and what it looks like.
    pub first_unread: Option<(Vec<u8>, Option<&'static str>)>,
}

/// A format that lines are in.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its place in the list.
    pub format: FormatId,
    /// The name of a format that says more of the same lines: `nginx_main` is `combined` with a field behind.
    pub exactly: Option<FormatId>,
    /// Who wrote what stands before each line.
    pub prefix: Option<Prefix>,
    /// Lines in it.
    pub lines: u64,
    /// The number of its first line, from 1.
    pub line: u64,
    /// The fields of that line.
    pub fields: Vec<Split>,
}

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// As the format has it: `$remote_addr`, `request.uri`, `cs-method`.
    pub name: String,
    /// What it means to us; nothing where that is nothing.
    pub meaning: Option<String>,
    /// Its text as logged.
    pub text: Vec<u8>,
}

/// Looks at the first lines of a log.
#[derive(Debug)]
pub struct Detector<'f> {
    course: Course<'f>,
    transcriber: Transcriber,
    line: Vec<u8>,
    detected: Detected,
}

impl<'f> Detector<'f> {
    /// One who knows these formats, and lines up to so many bytes.
    #[must_use]
    pub fn new(formats: &'f Formats, first: &'f [FormatId], max_line: usize) -> Self {
        let course = Course { formats, first, header: Header::None, clients: ClientPlace::Unknown, max_line };
        Self { course, transcriber: Transcriber::default(), line: Vec::new(), detected: Detected::default() }
    }

    /// Looks at the next line, which comes without its newline.
    pub fn take(&mut self, text: &[u8]) {
        if self.detected.lines == 0 {
            self.course.header = Header::of_log(text, self.course.max_line);
        }
        self.detected.lines += 1;
        self.line.clear();
        let read = self.transcriber.line(text, &mut self.course, &mut self.line);
        let engines = Frame::locate(text, None).map(|frame| FormatId(frame.format() as u8));
        match (read, engines) {
            (Read::Own, _) => self.detected.own += 1,
            (Read::WithoutClient, _) => self.count(FormatId(LogFormat::Combined as u8), text, false),
            (Read::As(format), _) | (Read::AsIs, Some(format)) => self.count(format, text, read == Read::AsIs),
            (Read::AsIs, None) => {
                self.detected.unread += 1;
                self.detected.first_unread.get_or_insert_with(|| (text.to_vec(), recognise(text)));
            }
        }
    }

    /// What was found.
    #[must_use]
    pub fn done(mut self) -> Detected {
        // The first of equals stays the first.
        self.detected.found.sort_by_key(|found| std::cmp::Reverse(found.lines));
        self.detected
    }

    fn count(&mut self, format: FormatId, text: &[u8], is_engines: bool) {
        let mut room = Vec::new();
        let is_prefixed = !is_engines && self.transcriber.prefix().is_some();
        let within = if is_prefixed { prefix::within(text, &mut room) } else { None };
        let prefix = within.map(|(prefix, _)| prefix);
        let known = self.detected.found.iter_mut().find(|found| found.format == format && found.prefix == prefix);
        if let Some(found) = known {
            found.lines += 1;
            return;
        }
        let inner = within.map_or(text, |(_, inner)| inner);
        let (exactly, fields) = self.split(format, inner);
        let line = self.detected.lines;
        self.detected.found.push(Found { format, exactly, prefix, lines: 1, line, fields });
    }

    /// The fields of a line, and the name of the format that says most of it.
    fn split(&self, format: FormatId, text: &[u8]) -> (Option<FormatId>, Vec<Split>) {
        let formats = self.course.formats;
        match &formats.format(format).reader {
            Reader::Json => (signed(formats, text), formats.json().split(text).map(of_json).unwrap_or_default()),
            Reader::W3c => (None, self.course.header.columns().and_then(|plan| split(plan, text)).unwrap_or_default()),
            Reader::Plans(_) => (None, by_plans(formats.format(format), text).unwrap_or_default()),
            Reader::Clf => {
                let own = by_plans(formats.format(format), text);
                let more = formats.ids().filter(|id| formats.format(*id).is_clf && *id != format);
                let exactly = more.into_iter().find_map(|id| Some((id, by_plans(formats.format(id), text)?)));
                match (own, exactly) {
                    (Some(own), _) => (None, own),
                    (None, Some((id, fields))) => (Some(id), fields),
                    (None, None) => (None, Vec::new()),
                }
            }
        }
    }
}

/// The product whose lines have a text like this one.
fn signed(formats: &Formats, text: &[u8]) -> Option<FormatId> {
    let is_signed = |sign: &String| memchr::memmem::find(text, sign.as_bytes()).is_some();
    formats.ids().find(|id| formats.format(*id).sign.as_ref().is_some_and(is_signed))
}

fn by_plans(format: &Format, text: &[u8]) -> Option<Vec<Split>> {
    format.plans().iter().find_map(|plan| split(plan, text))
}

fn split(plan: &super::Plan, text: &[u8]) -> Option<Vec<Split>> {
    let fields = plan.split(text)?;
    let meanings = plan.meanings().map(|(_, meaning)| meaning);
    let split =
        |((name, text), meaning): ((&str, &[u8]), &Meaning)| Split { name: name.to_owned(), meaning: named(meaning), text: text.to_vec() };
    Some(fields.into_iter().zip(meanings).map(split).collect())
}

fn of_json(fields: Vec<(String, &[u8], Meaning)>) -> Vec<Split> {
    let split = |(name, text, meaning): (String, &[u8], Meaning)| Split { name, meaning: named(&meaning), text: text.to_vec() };
    fields.into_iter().map(split).collect()
}

/// The name of a meaning; that of a header is its own.
fn named(meaning: &Meaning) -> Option<String> {
    match meaning {
        Meaning::Other => None,
        Meaning::Header(name) => Some(format!("header {name}")),
        other => Some(other.as_str().to_owned()),
    }
}
