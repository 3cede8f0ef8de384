//! Which log formats are known, and what a log is written in: text for a person, JSON for a program.
//!
//! Puts into words what was found; finds nothing out itself. All text of a log is masked and escaped on the way.

use std::io::{self, Write};

use serde::Serialize;

use super::RenderOptions;
use super::layout::{Cell, Column, Grid, TextPage};
use super::style::{BOLD, DIM, PLAIN};
use crate::formats::builtin::Format as LogFormat;
use crate::formats::detect::{Detected, Found};
use crate::formats::{FormatId, Formats};
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::render::OutputFormat;

/// A log, and what it is written in.
#[derive(Debug)]
pub struct SampledLog {
    /// As named; `-` is standard input.
    pub path: Vec<u8>,
    /// What its first lines are.
    pub detected: Detected,
    /// What went wrong with it, in a sentence.
    pub problem: Option<String>,
}

/// Writes which formats are known.
///
/// # Errors
///
/// Those of `out`.
pub fn write_known<W: Write>(formats: &Formats, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    if options.format == OutputFormat::Json {
        let known: Vec<_> = formats.all().map(known).collect();
        return write_json(&KnownFormatList { schema_version: 1, formats: known }, out);
    }
    let rows: Vec<&LogFormat> = formats.all().collect();
    let page = TextPage::new(options);
    Grid::new(&rows)
        .column(Column::text("name"), |format| Cell::new(&format.name).styled(BOLD))
        .column(Column::text("what it is").flexible(20), |format| Cell::new(&format.title))
        .column(Column::text("where it is written down").flexible(16).rank(2), |format| {
            Cell::new(format.source.as_deref().unwrap_or_default()).styled(DIM)
        })
        .write(page.width, page.painter, out)?;
    writeln!(out)?;
    let own = "Any other is given as a format string: --log-format '$remote_addr [$time_local] \"$request\" $status', as log_format or LogFormat has it in the server's configuration. Keys of JSON lines that are not recognised are named with --field.";
    page.text(own, 0, PLAIN, out)
}

/// Writes what logs are written in.
///
/// # Errors
///
/// Those of `out`.
pub fn write_sampled<W: Write>(sampled: &[SampledLog], formats: &Formats, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    if options.format == OutputFormat::Json {
        let logs = sampled.iter().map(|sampled| log(sampled, formats)).collect();
        return write_json(&LogList { schema_version: 1, logs }, out);
    }
    let page = TextPage::new(options);
    for (number, sampled) in sampled.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        page.text(&format!("{}: {}", escape(&sampled.path), verdict(sampled, formats)), 0, BOLD, out)?;
        page.text(&why(&sampled.detected, formats), 2, PLAIN, out)?;
        if let Some((line, _)) = &sampled.detected.first_unread {
            page.text(&format!("The first line that no format explains: {}", redacted(line)), 2, DIM, out)?;
        }
        for found in &sampled.detected.found {
            writeln!(out)?;
            write_fields(found, formats, &page, out)?;
        }
    }
    Ok(())
}

fn write_fields<W: Write>(found: &Found, formats: &Formats, page: &TextPage, out: &mut W) -> io::Result<()> {
    page.text(&format!("Line {}, {}", found.line, name(found, formats)), 2, BOLD, out)?;
    if found.fields.is_empty() {
        return page.text("more stands behind its fields than a format that is known by name has", 2, DIM, out);
    }
    Grid::new(&found.fields)
        .column(Column::text("field"), |field| Cell::new(redacted(field.name.as_bytes())))
        .column(Column::text("means"), |field| Cell::new(field.meaning.as_deref().unwrap_or_default()).styled(DIM))
        .column(Column::text("text").flexible(12), |field| Cell::new(redacted(&field.text)))
        .write(page.width, page.painter, out)
}

/// What a log is, in a few words.
fn verdict(sampled: &SampledLog, formats: &Formats) -> String {
    let Detected { found, lines, first_unread, .. } = &sampled.detected;
    match (&sampled.problem, found.first(), first_unread) {
        (Some(problem), ..) => escape(problem.as_bytes()).into_owned(),
        (None, Some(first), _) => format!("{} ({})", name(first, formats), formats.format(best(first)).title),
        (None, None, Some((_, Some(what)))) => format!("no format that is known; it looks like {what}"),
        (None, None, _) if *lines == 0 => "it holds no line".to_owned(),
        (None, None, _) => "no format that is known".to_owned(),
    }
}

/// Why it is that.
fn why(detected: &Detected, formats: &Formats) -> String {
    let Detected { lines, found, own, unread, .. } = detected;
    let mut parts: Vec<String> = found.iter().map(|found| format!("{} in {}", found.lines, name(found, formats))).collect();
    if *own > 0 {
        parts.push(format!("{own} of its own (#)"));
    }
    if *unread > 0 {
        parts.push(format!("{unread} in none"));
    }
    let sum = if *lines == 1 { "1 line was looked at".to_owned() } else { format!("{lines} lines were looked at") };
    if parts.is_empty() { format!("{sum}.") } else { format!("{sum}: {}.", parts.join(", ")) }
}

/// The format that says most of a line.
fn best(found: &Found) -> FormatId {
    found.exactly.unwrap_or(found.format)
}

fn name(found: &Found, formats: &Formats) -> String {
    let name = formats.name(best(found));
    match found.prefix {
        None => name.to_string(),
        Some(prefix) => format!("{name} behind the prefix of {}", prefix.as_str()),
    }
}

/// How sure it is: the share of lines that a format explains.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn confidence(detected: &Detected) -> f64 {
    let asked = detected.lines - detected.own;
    let read: u64 = detected.found.iter().map(|found| found.lines).sum();
    if asked == 0 { 0.0 } else { ((read as f64 / asked as f64) * 1000.0).round() / 1000.0 }
}

#[derive(Serialize)]
struct KnownFormatList<'a> {
    schema_version: u32,
    formats: Vec<KnownFormat<'a>>,
}

#[derive(Serialize)]
struct KnownFormat<'a> {
    name: &'a str,
    title: &'a str,
    source: Option<&'a str>,
    string: Option<&'a str>,
    example: Option<&'a str>,
}

fn known(format: &LogFormat) -> KnownFormat<'_> {
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
        format: detected.found.first().map(|found| &**formats.name(best(found))),
        confidence: confidence(detected),
        lines: detected.lines,
        unread: detected.unread,
        problem: sampled.problem.as_deref().map(|problem| escape(problem.as_bytes()).into_owned()),
        found: detected.found.iter().map(|found| object(found, formats)).collect(),
    }
}

fn object<'a>(found: &'a Found, formats: &'a Formats) -> DetectedObject<'a> {
    let field = |field: &'a crate::formats::detect::Split| FieldObject {
        name: redacted(field.name.as_bytes()).into_owned(),
        meaning: field.meaning.as_deref(),
        text: redacted(&field.text).into_owned(),
    };
    DetectedObject {
        format: formats.name(best(found)),
        read_as: formats.name(found.format),
        prefix: found.prefix.map(crate::formats::prefix::Prefix::as_str),
        lines: found.lines,
        line: found.line,
        fields: found.fields.iter().map(field).collect(),
    }
}

fn write_json<W: Write>(value: &impl Serialize, out: &mut W) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}
