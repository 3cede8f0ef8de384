//! The part of a cell that few hits change: the error of its count, and its sample. The text of the sample is in the
//! [`ByteArena`] of its table.

use super::byte_arena::{ArenaSpan, ByteArena};
use super::cell::{ImportedSample, LinePosition, Sample, SampleContent, SampleContentView, SampleView, is_earlier};
use crate::time::LogTime;

/// A cell without its counts.
#[derive(Debug, Clone)]
pub(super) struct CellSample {
    pub(super) error: u64,
    time: Option<LogTime>,
    pub(super) position: LinePosition,
    content: StoredSample,
}

/// The text of a sample.
#[derive(Debug, Clone)]
enum StoredSample {
    Line { text: ArenaSpan, parsed: bool },
    Imported(Box<ImportedSample>),
}

/// A line with a hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitLine<'l> {
    pub(super) time: Option<LogTime>,
    pub(super) position: LinePosition,
    pub(super) text: &'l [u8],
    pub(super) parsed: bool,
}

impl CellSample {
    /// With a log line as sample.
    pub(super) fn from_line(line: &HitLine<'_>, texts: &mut ByteArena) -> Self {
        let content = StoredSample::Line { text: texts.insert(line.text), parsed: line.parsed };
        Self { error: 0, time: line.time, position: line.position, content }
    }

    /// With an existing sample.
    pub(super) fn from_sample(error: u64, sample: Sample, texts: &mut ByteArena) -> Self {
        let Sample { time, position, content } = sample;
        let content = match content {
            SampleContent::Line { text, parsed } => StoredSample::Line { text: texts.insert(&text), parsed },
            SampleContent::Imported(imported) => StoredSample::Imported(imported),
        };
        Self { error, time, position, content }
    }

    /// Whether a line is earlier than this sample.
    pub(super) fn is_later_than(&self, line: &HitLine<'_>) -> bool {
        is_earlier((line.time, line.position), (self.time, self.position))
    }

    /// Whether this sample is earlier than another.
    pub(super) fn is_before(&self, other: &Self, texts: &ByteArena) -> bool {
        let (mine, others) = ((self.time, self.position), (other.time, other.position));
        is_earlier(mine, others) || (mine == others && self.view(texts).order(&other.view(texts)).is_lt())
    }

    /// Takes the sample of another.
    pub(super) fn replace(&mut self, other: Self, texts: &mut ByteArena) {
        let error = self.error;
        std::mem::replace(self, Self { error, ..other }).free(texts);
    }

    /// The sample.
    pub(super) fn view<'t>(&'t self, texts: &'t ByteArena) -> SampleView<'t> {
        let content = match &self.content {
            StoredSample::Line { text, parsed } => SampleContentView::Line { text: texts.get(*text), parsed: *parsed },
            StoredSample::Imported(imported) => SampleContentView::Imported(imported),
        };
        SampleView { time: self.time, position: self.position, content }
    }

    /// The sample with a copy of its text.
    pub(super) fn into_sample(self, texts: &ByteArena) -> Sample {
        let content = match self.content {
            StoredSample::Line { text, parsed } => SampleContent::Line { text: texts.get(text).into(), parsed },
            StoredSample::Imported(imported) => SampleContent::Imported(imported),
        };
        Sample { time: self.time, position: self.position, content }
    }

    /// The location of its text in the arena, if it is there.
    pub(super) fn text_mut(&mut self) -> Option<&mut ArenaSpan> {
        match &mut self.content {
            StoredSample::Line { text, .. } => Some(text),
            StoredSample::Imported(_) => None,
        }
    }

    /// Frees its text.
    pub(super) fn free(self, texts: &mut ByteArena) {
        if let StoredSample::Line { text, .. } = self.content {
            texts.free(text);
        }
    }
}
