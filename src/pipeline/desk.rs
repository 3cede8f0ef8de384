//! Judges lines of any format: as they are where the engine reads them, and else written down again.
//!
//! What comes of a line does not depend on the way that is tried first: that saves work, and no more.

use crate::engine::{Judge, Scope, Scratch};
use crate::finding::Findings;
use crate::format::transcriber::{Course, Transcribed, Transcriber, looks_usual};

/// Where lines are written down again. Keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Desk {
    transcriber: Transcriber,
    transcribed: Transcribed,
}

impl Desk {
    /// Judges whole lines; the last one may lack its newline. Findings are at their places in `lines`, whatever they were read as.
    pub(super) fn judge(&mut self, judge: Judge<'_>, scope: &Scope, lines: &[u8], course: &Course<'_>, scratch: &mut Scratch) -> Findings {
        // A format of the engine's own was asked for, and no other.
        if scope.format.is_some() {
            return judge.judge(lines, scratch);
        }
        let mut direct = None;
        if course.is_open() && looks_usual(lines) {
            let findings = judge.judge(lines, scratch);
            if findings.lines.unparsed == 0 {
                return findings;
            }
            direct = Some(findings);
        }
        let Self { transcriber, transcribed } = self;
        if !transcriber.transcribe(lines, course, transcribed) {
            return direct.unwrap_or_else(|| judge.judge(lines, scratch));
        }
        if let Some(findings) = direct {
            scratch.recycle(findings);
        }
        let mut findings = judge.judge(&transcribed.text, scratch);
        transcribed.restore(0, &mut findings, course.formats, in_window(scope));
        findings
    }
}

/// Whether lines without a time are counted.
pub(super) fn in_window(scope: &Scope) -> bool {
    scope.since.is_some() || scope.until.is_some()
}
