//! Detects the format of a log from its first lines, for `probewatch formats` and messages.
//!
//! A scan parses each line by itself and does not need this. Lines are read here exactly as a scan reads them.

use super::builtin::{FormatDefinition, FormatId, FormatReader, Formats};
use super::line_prefix::{self, LinePrefix};
use super::reader::{LineContext, LineKind, LogReader};
use super::{ClientPosition, FieldKind, Frame, LogFormat, W3cHeader, recognize};

/// The formats of the first lines of a log.
#[derive(Debug, Clone, Default)]
pub struct Detected {
    /// The number of lines examined.
    pub lines: u64,
    /// The detected formats, the most frequent first.
    pub found: Vec<DetectedFormat>,
    /// The number of directive lines.
    pub own: u64,
    /// The number of lines in no known format.
    pub unread: u64,
    /// The first of those, and what it looks like.
    pub first_unread: Option<(Vec<u8>, Option<&'static str>)>,
}

/// A format of some lines.
#[derive(Debug, Clone)]
pub struct DetectedFormat {
    /// The format.
    pub format: FormatId,
    /// A more specific format of the same lines: `nginx_main` is `combined` with another field.
    pub exactly: Option<FormatId>,
    /// The writer of the prefix of each line.
    pub prefix: Option<LinePrefix>,
    /// The number of lines.
    pub lines: u64,
    /// The number of its first line, from 1.
    pub line: u64,
    /// The fields of the first line.
    pub fields: Vec<SplitField>,
}

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitField {
    /// As in the format: `$remote_addr`, `request.uri`, `cs-method`.
    pub name: String,
    /// Its meaning; `None` if it is not used.
    pub kind: Option<String>,
    /// Its text as logged.
    pub text: Vec<u8>,
}

/// Detects the formats of lines.
#[derive(Debug)]
pub struct Detector<'f> {
    context: LineContext<'f>,
    log_reader: LogReader,
    line: Vec<u8>,
    detected: Detected,
}

impl<'f> Detector<'f> {
    /// Creates a detector for these formats and lines up to `max_line` bytes.
    #[must_use]
    pub fn new(formats: &'f Formats, first: &'f [FormatId], max_line: usize) -> Self {
        let context = LineContext { formats, preferred: first, header: W3cHeader::None, clients: ClientPosition::Unknown, max_line };
        Self { context, log_reader: LogReader::default(), line: Vec::new(), detected: Detected::default() }
    }

    /// Examines the next line, without its newline.
    pub fn push_line(&mut self, text: &[u8]) {
        if self.detected.lines == 0 {
            self.context.header = W3cHeader::from_log_start(text, self.context.max_line);
        }
        self.detected.lines += 1;
        self.line.clear();
        let read = self.log_reader.line(text, &mut self.context, &mut self.line);
        let clf = Frame::locate(text, None).map(|frame| FormatId(frame.format() as u8));
        match (read, clf) {
            (LineKind::Directive, _) => self.detected.own += 1,
            (LineKind::WithoutClient, _) => self.count(FormatId(LogFormat::Combined as u8), text, false),
            (LineKind::As(format), _) | (LineKind::AsIs, Some(format)) => self.count(format, text, read == LineKind::AsIs),
            (LineKind::AsIs, None) => {
                self.detected.unread += 1;
                self.detected.first_unread.get_or_insert_with(|| (text.to_vec(), recognize(text)));
            }
        }
    }

    /// Returns the result.
    #[must_use]
    pub fn finish(mut self) -> Detected {
        // The sort is stable: of equal counts, the first format stays first.
        self.detected.found.sort_by_key(|found| std::cmp::Reverse(found.lines));
        self.detected
    }

    fn count(&mut self, format: FormatId, text: &[u8], is_clf: bool) {
        let mut buffers = Vec::new();
        let is_prefixed = !is_clf && self.log_reader.prefix().is_some();
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

    /// The fields of a line, and the most specific format.
    fn split(&self, format: FormatId, text: &[u8]) -> (Option<FormatId>, Vec<SplitField>) {
        let formats = self.context.formats;
        match &formats.format(format).reader {
            FormatReader::Json => (by_marker(formats, text), formats.json().split(text).map(from_json).unwrap_or_default()),
            FormatReader::W3c => (None, self.context.header.columns().and_then(|parser| split(parser, text)).unwrap_or_default()),
            FormatReader::Strings(_) => (None, split_by_parsers(formats.format(format), text).unwrap_or_default()),
            FormatReader::Clf => {
                let own = split_by_parsers(formats.format(format), text);
                let more = formats.ids().filter(|id| formats.format(*id).is_clf && *id != format);
                let exactly = more.into_iter().find_map(|id| Some((id, split_by_parsers(formats.format(id), text)?)));
                match (own, exactly) {
                    (Some(own), _) => (None, own),
                    (None, Some((id, fields))) => (Some(id), fields),
                    (None, None) => (None, Vec::new()),
                }
            }
        }
    }
}

/// The product whose marker text is in the line.
fn by_marker(formats: &Formats, text: &[u8]) -> Option<FormatId> {
    let is_signed = |sign: &String| memchr::memmem::find(text, sign.as_bytes()).is_some();
    formats.ids().find(|id| formats.format(*id).sign.as_ref().is_some_and(is_signed))
}

fn split_by_parsers(format: &FormatDefinition, text: &[u8]) -> Option<Vec<SplitField>> {
    format.parsers().iter().find_map(|parser| split(parser, text))
}

fn split(parser: &super::FormatLineParser, text: &[u8]) -> Option<Vec<SplitField>> {
    let fields = parser.split(text)?;
    let kinds = parser.kinds().map(|(_, kind)| kind);
    let split =
        |((name, text), kind): ((&str, &[u8]), &FieldKind)| SplitField { name: name.to_owned(), kind: named(kind), text: text.to_vec() };
    Some(fields.into_iter().zip(kinds).map(split).collect())
}

fn from_json(fields: Vec<(String, &[u8], FieldKind)>) -> Vec<SplitField> {
    let split = |(name, text, kind): (String, &[u8], FieldKind)| SplitField { name, kind: named(&kind), text: text.to_vec() };
    fields.into_iter().map(split).collect()
}

/// The name of a kind; that of a header is the header's name.
fn named(kind: &FieldKind) -> Option<String> {
    match kind {
        FieldKind::Other => None,
        FieldKind::Header(name) => Some(format!("header {name}")),
        other => Some(other.as_str().to_owned()),
    }
}
