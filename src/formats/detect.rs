//! What a log is written in, going by its first lines: for people who want to know, and for messages.
//!
//! A scan does not ask: it reads each line as what that line is. So what is said here of the first lines is what a scan would
//! make of them.

use super::builtin::{FormatDefinition, FormatId, FormatReader, Formats};
use super::line_prefix::{self, LinePrefix};
use super::reader::{LineContext, LineKind, LogReader};
use super::{ClientPosition, FieldKind, Frame, LogFormat, W3cHeader, recognize};

/// What the first lines of a log are.
#[derive(Debug, Clone, Default)]
pub struct Detected {
    /// Lines that were looked at.
    pub lines: u64,
    /// Formats that were found, that of most lines first.
    pub found: Vec<DetectedFormat>,
    /// Lines of the log's own.
    pub own: u64,
    /// Lines that no format explains.
    pub unread: u64,
    /// The first of those, and what it looks like.
    pub first_unread: Option<(Vec<u8>, Option<&'static str>)>,
}

/// A format that lines are in.
#[derive(Debug, Clone)]
pub struct DetectedFormat {
    /// Its place in the list.
    pub format: FormatId,
    /// The name of a format that says more of the same lines: `nginx_main` is `combined` with a field behind.
    pub exactly: Option<FormatId>,
    /// Who wrote what stands before each line.
    pub prefix: Option<LinePrefix>,
    /// Lines in it.
    pub lines: u64,
    /// The number of its first line, from 1.
    pub line: u64,
    /// The fields of that line.
    pub fields: Vec<SplitField>,
}

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitField {
    /// As the format has it: `$remote_addr`, `request.uri`, `cs-method`.
    pub name: String,
    /// What it means to us; nothing where that is nothing.
    pub kind: Option<String>,
    /// Its text as logged.
    pub text: Vec<u8>,
}

/// Looks at the first lines of a log.
#[derive(Debug)]
pub struct Detector<'f> {
    context: LineContext<'f>,
    log_reader: LogReader,
    line: Vec<u8>,
    detected: Detected,
}

impl<'f> Detector<'f> {
    /// One who knows these formats, and lines up to so many bytes.
    #[must_use]
    pub fn new(formats: &'f Formats, first: &'f [FormatId], max_line: usize) -> Self {
        let context = LineContext { formats, preferred: first, header: W3cHeader::None, clients: ClientPosition::Unknown, max_line };
        Self { context, log_reader: LogReader::default(), line: Vec::new(), detected: Detected::default() }
    }

    /// Looks at the next line, which comes without its newline.
    pub fn take(&mut self, text: &[u8]) {
        if self.detected.lines == 0 {
            self.context.header = W3cHeader::from_log_start(text, self.context.max_line);
        }
        self.detected.lines += 1;
        self.line.clear();
        let read = self.log_reader.line(text, &mut self.context, &mut self.line);
        let engines = Frame::locate(text, None).map(|frame| FormatId(frame.format() as u8));
        match (read, engines) {
            (LineKind::Directive, _) => self.detected.own += 1,
            (LineKind::WithoutClient, _) => self.count(FormatId(LogFormat::Combined as u8), text, false),
            (LineKind::As(format), _) | (LineKind::AsIs, Some(format)) => self.count(format, text, read == LineKind::AsIs),
            (LineKind::AsIs, None) => {
                self.detected.unread += 1;
                self.detected.first_unread.get_or_insert_with(|| (text.to_vec(), recognize(text)));
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
        let mut buffers = Vec::new();
        let is_prefixed = !is_engines && self.log_reader.prefix().is_some();
        let strip_prefix = if is_prefixed { line_prefix::strip_prefix(text, &mut buffers) } else { None };
        let prefix = strip_prefix.map(|(prefix, _)| prefix);
        let known = self.detected.found.iter_mut().find(|found| found.format == format && found.prefix == prefix);
        if let Some(found) = known {
            found.lines += 1;
            return;
        }
        let inner = strip_prefix.map_or(text, |(_, inner)| inner);
        let (exactly, fields) = self.split(format, inner);
        let line = self.detected.lines;
        self.detected.found.push(DetectedFormat { format, exactly, prefix, lines: 1, line, fields });
    }

    /// The fields of a line, and the name of the format that says most of it.
    fn split(&self, format: FormatId, text: &[u8]) -> (Option<FormatId>, Vec<SplitField>) {
        let formats = self.context.formats;
        match &formats.format(format).reader {
            FormatReader::Json => (signed(formats, text), formats.json().split(text).map(of_json).unwrap_or_default()),
            FormatReader::W3c => (None, self.context.header.columns().and_then(|plan| split(plan, text)).unwrap_or_default()),
            FormatReader::Strings(_) => (None, by_plans(formats.format(format), text).unwrap_or_default()),
            FormatReader::Clf => {
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

fn by_plans(format: &FormatDefinition, text: &[u8]) -> Option<Vec<SplitField>> {
    format.plans().iter().find_map(|plan| split(plan, text))
}

fn split(plan: &super::FormatLineParser, text: &[u8]) -> Option<Vec<SplitField>> {
    let fields = plan.split(text)?;
    let kinds = plan.kinds().map(|(_, kind)| kind);
    let split =
        |((name, text), kind): ((&str, &[u8]), &FieldKind)| SplitField { name: name.to_owned(), kind: named(kind), text: text.to_vec() };
    Some(fields.into_iter().zip(kinds).map(split).collect())
}

fn of_json(fields: Vec<(String, &[u8], FieldKind)>) -> Vec<SplitField> {
    let split = |(name, text, kind): (String, &[u8], FieldKind)| SplitField { name, kind: named(&kind), text: text.to_vec() };
    fields.into_iter().map(split).collect()
}

/// The name of a kind; that of a header is its own.
fn named(kind: &FieldKind) -> Option<String> {
    match kind {
        FieldKind::Other => None,
        FieldKind::Header(name) => Some(format!("header {name}")),
        other => Some(other.as_str().to_owned()),
    }
}
