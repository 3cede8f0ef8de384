//! The part of a cell that few hits change: how far it may be too low, and its proof, whose text lies among the
//! [texts](ByteArena) of its table.

use super::cell::{ImportedSample, LinePosition, Sample, SampleContent, SampleContentView, SampleView, is_earlier};
use super::texts::{ArenaSpan, ByteArena};
use crate::time::LogTime;

/// A cell but for its counts.
#[derive(Debug, Clone)]
pub(super) struct CellSample {
    pub(super) error: u64,
    time: Option<LogTime>,
    pub(super) position: LinePosition,
    content: StoredSample,
}

/// What there is of the request that proves the cell.
#[derive(Debug, Clone)]
enum StoredSample {
    Line { text: ArenaSpan, parsed: bool },
    Imported(Box<ImportedSample>),
}

/// A line that hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitLine<'l> {
    pub(super) time: Option<LogTime>,
    pub(super) position: LinePosition,
    pub(super) text: &'l [u8],
    pub(super) parsed: bool,
}

impl CellSample {
    /// With a line as proof.
    pub(super) fn from_line(line: &HitLine<'_>, texts: &mut ByteArena) -> Self {
        let content = StoredSample::Line { text: texts.insert(line.text), parsed: line.parsed };
        Self { error: 0, time: line.time, position: line.position, content }
    }

    /// With a sample as proof.
    pub(super) fn from_sample(error: u64, sample: Sample, texts: &mut ByteArena) -> Self {
        let Sample { time, position, content } = sample;
        let content = match content {
            SampleContent::Line { text, parsed } => StoredSample::Line { text: texts.insert(&text), parsed },
            SampleContent::Imported(told) => StoredSample::Imported(told),
        };
        Self { error, time, position, content }
    }

    /// Whether a line is earlier than its proof.
    pub(super) fn is_later_than(&self, line: &HitLine<'_>) -> bool {
        is_earlier((line.time, line.position), (self.time, self.position))
    }

    /// Whether its proof is earlier than that of another.
    pub(super) fn is_before(&self, other: &Self, texts: &ByteArena) -> bool {
        let (mine, others) = ((self.time, self.position), (other.time, other.position));
        is_earlier(mine, others) || (mine == others && self.view(texts).order(&other.view(texts)).is_lt())
    }

    /// Takes the proof of another.
    pub(super) fn replace(&mut self, other: Self, texts: &mut ByteArena) {
        let error = self.error;
        std::mem::replace(self, Self { error, ..other }).free(texts);
    }

    /// Its proof.
    pub(super) fn view<'t>(&'t self, texts: &'t ByteArena) -> SampleView<'t> {
        let content = match &self.content {
            StoredSample::Line { text, parsed } => SampleContentView::Line { text: texts.get(*text), parsed: *parsed },
            StoredSample::Imported(told) => SampleContentView::Imported(told),
        };
        SampleView { time: self.time, position: self.position, content }
    }

    /// Its proof, with its own text.
    pub(super) fn into_sample(self, texts: &ByteArena) -> Sample {
        let content = match self.content {
            StoredSample::Line { text, parsed } => SampleContent::Line { text: texts.get(text).into(), parsed },
            StoredSample::Imported(told) => SampleContent::Imported(told),
        };
        Sample { time: self.time, position: self.position, content }
    }

    /// Where its text is, if it has one there.
    pub(super) fn text_mut(&mut self) -> Option<&mut ArenaSpan> {
        match &mut self.content {
            StoredSample::Line { text, .. } => Some(text),
            StoredSample::Imported(_) => None,
        }
    }

    /// Says that nobody needs its proof any more.
    pub(super) fn free(self, texts: &mut ByteArena) {
        if let StoredSample::Line { text, .. } = self.content {
            texts.free(text);
        }
    }
}
