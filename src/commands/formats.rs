//! `probewatch formats`: lists the known log formats, or detects the formats of logs.
//!
//! Reads the first lines of each log and prints what a scan would make of them. No rules are
//! matched.

use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::message::sanitized;
use super::{Exit, ScanSettings, message, stdout};
use crate::engine::ScanOptions;
use crate::formats::Formats;
use crate::formats::detect::Detector;
use crate::input::find::InputOrigin;
use crate::input::lines::{InputLine, for_each_line};
use crate::render::RenderOptions;
use crate::render::formats::{SampledLog, write_known, write_sampled};
use crate::scan::log::{HEAD_BYTES, ScannedLog};

/// Prints the known formats, or the formats of the logs.
#[must_use]
pub(crate) fn run(settings: &ScanSettings) -> Exit {
    let formats = match Formats::new(&settings.formats) {
        Ok(formats) => formats,
        Err(error) => return message::usage_error(&sanitized(&error.to_string())),
    };
    let view = RenderOptions {
        format: settings.format,
        ..stdout::terminal(settings.color, false)
    };
    let mut out = match stdout::open() {
        Ok(out) => out,
        Err(error) => return stdout::failed(&error),
    };
    let sampled: Vec<SampledLog> = settings
        .paths
        .iter()
        .map(|path| sample(path, settings, &formats))
        .collect();
    let written = if sampled.is_empty() {
        write_known(&formats, &view, &mut out)
    } else {
        write_sampled(&sampled, &formats, &view, &mut out)
    };
    if let Err(error) = written.and_then(|()| out.flush()) {
        return stdout::failed(&error);
    }
    let is_read = |sampled: &SampledLog| {
        sampled.problem.is_none()
            && (sampled.detected.lines == 0 || !sampled.detected.found.is_empty())
    };
    if sampled.iter().all(is_read) {
        Exit::Success
    } else {
        Exit::Damaged
    }
}

fn sample(path: &Path, settings: &ScanSettings, formats: &Formats) -> SampledLog {
    let mut lines = Vec::new();
    let end = for_each_line(path, settings.max_line, |_, line| {
        if let InputLine::Text(text) = line {
            lines.extend_from_slice(text);
            lines.push(b'\n');
        }
        if lines.len() < HEAD_BYTES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    let scan_options = ScanOptions {
        format: settings.formats.as_clf(),
        max_line: settings.max_line,
        ..ScanOptions::default()
    };
    let log = ScannedLog::new(path, InputOrigin::Name, &lines, formats, &scan_options);
    let mut detector = Detector::new(
        formats,
        formats.preferred_for(path),
        log.layouts().cloned(),
        settings.max_line,
    );
    lines
        .split_inclusive(|byte| *byte == b'\n')
        .for_each(|line| detector.push_line(&line[..line.len() - 1]));
    let problem = end.map_or_else(|error| Some(error.to_string()), |end| end.damage);
    SampledLog {
        path: path.as_os_str().as_bytes().to_vec(),
        detected: detector.finish(),
        problem,
    }
}
