//! `probewatch formats`: which log formats are known, and what a log is written in.
//!
//! Reads the first lines of each log and says what a scan would make of them. It matches no rule.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::message::shown;
use super::{Exit, message, screen, stdout};
use crate::formats::detect::Detector;
use crate::formats::{FormatChoice, Formats};
use crate::input::lines_in_order::{InputLine, for_each_line};
use crate::render::formats::{SampledLog, write_known, write_sampled};
use crate::render::{Color, OutputFormat, RenderOptions};

/// Bytes of a log that are looked at.
const SAMPLE: usize = 64 << 10;

/// What `formats` is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatsQuestion {
    /// Logs to look at; none lists what is known.
    pub paths: Vec<PathBuf>,
    /// The formats.
    pub formats: FormatChoice,
    /// The longest line that a scan looks at, in bytes.
    pub max_line: usize,
    /// JSON, or else text.
    pub format: OutputFormat,
    /// When to colour.
    pub color: Color,
}

/// Says what is known or what was found.
#[must_use]
pub fn run(question: &FormatsQuestion) -> Exit {
    let formats = match Formats::new(&question.formats) {
        Ok(formats) => formats,
        Err(error) => return message::refused(&shown(&error.to_string())),
    };
    let screen = screen::of(question.color, false);
    let view = RenderOptions { format: question.format, width: screen.width, color: screen.color, ..RenderOptions::default() };
    let mut out = BufWriter::new(io::stdout().lock());
    let sampled: Vec<SampledLog> = question.paths.iter().map(|path| sample(path, question, &formats)).collect();
    let written =
        if sampled.is_empty() { write_known(&formats, &view, &mut out) } else { write_sampled(&sampled, &formats, &view, &mut out) };
    if let Err(error) = written.and_then(|()| out.flush()) {
        return stdout::failed(&error);
    }
    let is_read = |sampled: &SampledLog| sampled.problem.is_none() && (sampled.detected.lines == 0 || !sampled.detected.found.is_empty());
    if sampled.iter().all(is_read) { Exit::Success } else { Exit::Damaged }
}

fn sample(path: &Path, question: &FormatsQuestion, formats: &Formats) -> SampledLog {
    let mut detector = Detector::new(formats, formats.preferred_for(path), question.max_line);
    let mut seen = 0;
    let end = for_each_line(path, question.max_line, |_, line| {
        if let InputLine::Text(text) = line {
            detector.push_line(text);
            seen += text.len() + 1;
        }
        if seen < SAMPLE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let problem = end.map_or_else(|error| Some(error.to_string()), |end| end.damage);
    SampledLog { path: path.as_os_str().as_bytes().to_vec(), detected: detector.finish(), problem }
}
