//! Prints the known log formats and the detected format of a log, as text or JSON.
//!
//! Detects nothing itself. All text of a log is redacted; of a line without a known format only the
//! shape is shown.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::layout::{BOLD, DIM, Grid, PLAIN, TextPage, styled};
use super::{OutputFormat, RenderOptions};
use crate::formats::builtin::{FormatDefinition, programs};
use crate::formats::detect::{Detected, DetectedFormat};
use crate::formats::line_prefix::LinePrefix;
use crate::formats::{FormatId, Formats, line_shape};
use crate::text::redact::mask::{redacted, redacted_value};
use crate::text::redact::sanitize::escape;

/// A log, and its detected format.
#[derive(Debug)]
pub(crate) struct SampledLog {
    /// As named; `-` is standard input.
    pub path: Vec<u8>,
    /// The formats of its first lines.
    pub detected: Detected,
    /// An error while reading it, as a sentence.
    pub problem: Option<String>,
}

/// Writes the known formats.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_known<W: Write>(
    formats: &Formats,
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    if options.format == OutputFormat::Json {
        let known = formats.all().map(known).collect();
        let prefixes = LinePrefix::ALL.map(LinePrefix::as_str);
        return write_json(
            &KnownFormatList {
                schema_version: 1,
                formats: known,
                programs: programs(),
                prefixes,
            },
            out,
        );
    }
    let rows: Vec<&FormatDefinition> = formats.all().collect();
    let mut page = TextPage::new(options);
    Grid::new(&rows)
        .text("name", |format| styled(&*format.name, BOLD))
        .text("what it is", |format| &format.title)
        .flexible(20)
        .text("documented at", |format| {
            styled(format.source.as_deref().unwrap_or_default(), DIM)
        })
        .flexible(16)
        .rank(2)
        .write(&mut page);
    let mut names: Vec<String> = programs().into_keys().collect();
    names.sort_by_cached_key(|name| name.to_lowercase());
    let prefixes = LinePrefix::ALL.map(LinePrefix::as_str).join(", ");
    for paragraph in [
        &*format!(
            "Programs whose lines are read without a flag: {}.",
            names.join(", ")
        ),
        &format!("A line may stand in what other programs write: {prefixes}."),
        "Other layouts are discovered in the first lines of a log. Where that fails, give a format string: --log-format '$remote_addr [$time_local] \"$request\" $status', as in log_format or LogFormat of the server's configuration. Keys of JSON lines that are not recognised are named with --field.",
    ] {
        page.line("");
        page.wrapped(0, PLAIN, paragraph);
    }
    out.write_all(page.text.as_bytes())
}

/// Writes the detected formats of logs.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_sampled<W: Write>(
    sampled: &[SampledLog],
    formats: &Formats,
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    if options.format == OutputFormat::Json {
        let logs = sampled
            .iter()
            .map(|sampled| log(sampled, formats))
            .collect();
        return write_json(
            &LogList {
                schema_version: 1,
                logs,
            },
            out,
        );
    }
    let mut page = TextPage::new(options);
    for (number, sampled) in sampled.iter().enumerate() {
        if number > 0 {
            page.line("");
        }
        let verdict = verdict(sampled, formats);
        page.wrapped(0, BOLD, &format!("{}: {verdict}", escape(&sampled.path)));
        page.wrapped(2, PLAIN, &why(&sampled.detected, formats));
        if let Some((line, _)) = &sampled.detected.first_unread {
            let shape = line_shape(line);
            page.wrapped(
                2,
                DIM,
                &format!("The shape of the first line without a known format: {shape}"),
            );
        }
        for found in &sampled.detected.found {
            page.line("");
            write_fields(found, formats, &mut page);
        }
    }
    out.write_all(page.text.as_bytes())
}

fn write_fields(found: &DetectedFormat, formats: &Formats, page: &mut TextPage) {
    let name = name(found, formats);
    page.wrapped(2, BOLD, &format!("Line {}, {name}", found.line));
    if let Some(string) = &found.string {
        // Not wrapped, so that it can be copied.
        page.line(&format!("  --log-format {}", escape(string.as_bytes())));
    }
    if found.fields.is_empty() {
        page.wrapped(2, DIM, "the line has more fields than its known format");
    }
    Grid::new(&found.fields)
        .text("field", |field| redacted(field.name.as_bytes()))
        .text("means", |field| {
            styled(field.kind.as_deref().unwrap_or_default(), DIM)
        })
        .text("text", |field| {
            redacted_value(field.name.as_bytes(), &field.text)
        })
        .flexible(12)
        .write(page);
}

/// The format of a log, in a few words.
fn verdict(sampled: &SampledLog, formats: &Formats) -> String {
    let Detected {
        found,
        lines,
        first_unread,
        ..
    } = &sampled.detected;
    match (&sampled.problem, found.first(), first_unread) {
        (Some(problem), ..) => escape(problem.as_bytes()).into_owned(),
        (None, Some(first), _) => format!(
            "{} ({})",
            name(first, formats),
            formats.format(best(first)).title
        ),
        (None, None, Some((_, Some(what)))) => format!("no known format; it looks like {what}"),
        (None, None, _) if *lines == 0 => "it has no lines".to_owned(),
        (None, None, _) => "no known format".to_owned(),
    }
}

/// The counts of lines by format.
fn why(detected: &Detected, formats: &Formats) -> String {
    let Detected {
        lines,
        found,
        own,
        unread,
        ..
    } = detected;
    let mut parts: Vec<String> = found
        .iter()
        .map(|found| format!("{} in {}", found.lines, name(found, formats)))
        .collect();
    if *own > 0 {
        parts.push(format!("{own} directives (#)"));
    }
    if *unread > 0 {
        parts.push(format!("{unread} in no known format"));
    }
    let sum = if *lines == 1 {
        "1 line was sampled".to_owned()
    } else {
        format!("{lines} lines were sampled")
    };
    if parts.is_empty() {
        format!("{sum}.")
    } else {
        format!("{sum}: {}.", parts.join(", "))
    }
}

/// The most specific format of a line.
fn best(found: &DetectedFormat) -> FormatId {
    found.exactly.unwrap_or(found.format)
}

fn name(found: &DetectedFormat, formats: &Formats) -> String {
    let name = formats.name(best(found));
    match found.prefix {
        None => name.to_string(),
        Some(prefix) => format!("{name} after the prefix of {}", prefix.as_str()),
    }
}

/// The share of lines with a known format.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn confidence(detected: &Detected) -> f64 {
    let data = detected.lines - detected.own;
    let read: u64 = detected.found.iter().map(|found| found.lines).sum();
    if data == 0 {
        0.0
    } else {
        ((read as f64 / data as f64) * 1000.0).round() / 1000.0
    }
}

#[derive(Serialize)]
struct KnownFormatList<'a> {
    schema_version: u32,
    formats: Vec<KnownFormat<'a>>,
    programs: BTreeMap<String, String>,
    prefixes: [&'static str; 16],
}

#[derive(Serialize)]
struct KnownFormat<'a> {
    name: &'a str,
    title: &'a str,
    source: Option<&'a str>,
    string: Option<&'a str>,
    example: Option<&'a str>,
}

fn known(format: &FormatDefinition) -> KnownFormat<'_> {
    KnownFormat {
        name: &format.name,
        title: &format.title,
        source: format.source.as_deref(),
        string: format.string.as_deref(),
        example: format.example.as_deref(),
    }
}

#[derive(Serialize)]
struct LogList<'a> {
    schema_version: u32,
    logs: Vec<LogObject<'a>>,
}

#[derive(Serialize)]
struct LogObject<'a> {
    path: String,
    format: Option<&'a str>,
    confidence: f64,
    lines: u64,
    unread: u64,
    problem: Option<String>,
    found: Vec<DetectedObject<'a>>,
}

#[derive(Serialize)]
struct DetectedObject<'a> {
    format: &'a str,
    read_as: &'a str,
    prefix: Option<&'static str>,
    lines: u64,
    line: u64,
    string: Option<&'a str>,
    fields: Vec<FieldObject<'a>>,
}

#[derive(Serialize)]
struct FieldObject<'a> {
    name: String,
    meaning: Option<&'a str>,
    text: String,
}

fn log<'a>(sampled: &'a SampledLog, formats: &'a Formats) -> LogObject<'a> {
    let detected = &sampled.detected;
    LogObject {
        path: escape(&sampled.path).into_owned(),
        format: detected
            .found
            .first()
            .map(|found| &**formats.name(best(found))),
        confidence: confidence(detected),
        lines: detected.lines,
        unread: detected.unread,
        problem: sampled
            .problem
            .as_deref()
            .map(|problem| escape(problem.as_bytes()).into_owned()),
        found: detected
            .found
            .iter()
            .map(|found| object(found, formats))
            .collect(),
    }
}

fn object<'a>(found: &'a DetectedFormat, formats: &'a Formats) -> DetectedObject<'a> {
    let field = |field: &'a crate::formats::detect::SplitField| FieldObject {
        name: redacted(field.name.as_bytes()).into_owned(),
        meaning: field.kind.as_deref(),
        text: redacted_value(field.name.as_bytes(), &field.text).into_owned(),
    };
    DetectedObject {
        format: formats.name(best(found)),
        read_as: formats.name(found.format),
        prefix: found.prefix.map(LinePrefix::as_str),
        lines: found.lines,
        line: found.line,
        string: found.string.as_deref(),
        fields: found.fields.iter().map(field).collect(),
    }
}

fn write_json<W: Write>(value: &impl Serialize, out: &mut W) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}
