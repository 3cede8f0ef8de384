//! The part of a cell that few hits change: how far it may be too low, and its proof, whose text lies among the
//! [texts](Texts) of its table.

use super::cell::{Place, Proof, ProofView, Sample, SampleView, Told, is_earlier};
use super::texts::{At, Texts};
use crate::time::LogTime;

/// A cell but for its counts.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    pub(super) error: u64,
    time: Option<LogTime>,
    pub(super) place: Place,
    proof: Kept,
}

/// What there is of the request that proves the cell.
#[derive(Debug, Clone)]
enum Kept {
    Line { text: At, parsed: bool },
    Told(Box<Told>),
}

/// A line that hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'l> {
    pub(super) time: Option<LogTime>,
    pub(super) place: Place,
    pub(super) text: &'l [u8],
    pub(super) parsed: bool,
}

impl Rest {
    /// With a line as proof.
    pub(super) fn of_line(line: &Line<'_>, texts: &mut Texts) -> Self {
        let proof = Kept::Line { text: texts.put(line.text), parsed: line.parsed };
        Self { error: 0, time: line.time, place: line.place, proof }
    }

    /// With a sample as proof.
    pub(super) fn of_sample(error: u64, sample: Sample, texts: &mut Texts) -> Self {
        let Sample { time, place, proof } = sample;
        let proof = match proof {
            Proof::Line { text, parsed } => Kept::Line { text: texts.put(&text), parsed },
            Proof::Told(told) => Kept::Told(told),
        };
        Self { error, time, place, proof }
    }

    /// Whether a line is earlier than its proof.
    pub(super) fn is_later(&self, line: &Line<'_>) -> bool {
        is_earlier((line.time, line.place), (self.time, self.place))
    }

    /// Whether its proof is earlier than that of another.
    pub(super) fn is_before(&self, other: &Self, texts: &Texts) -> bool {
        let (mine, others) = ((self.time, self.place), (other.time, other.place));
        is_earlier(mine, others) || (mine == others && self.view(texts).order(&other.view(texts)).is_lt())
    }

    /// Takes the proof of another.
    pub(super) fn replace(&mut self, other: Self, texts: &mut Texts) {
        let error = self.error;
        std::mem::replace(self, Self { error, ..other }).spend(texts);
    }

    /// Its proof.
    pub(super) fn view<'t>(&'t self, texts: &'t Texts) -> SampleView<'t> {
        let proof = match &self.proof {
            Kept::Line { text, parsed } => ProofView::Line { text: texts.get(*text), parsed: *parsed },
            Kept::Told(told) => ProofView::Told(told),
        };
        SampleView { time: self.time, place: self.place, proof }
    }

    /// Its proof, with its own text.
    pub(super) fn into_sample(self, texts: &Texts) -> Sample {
        let proof = match self.proof {
            Kept::Line { text, parsed } => Proof::Line { text: texts.get(text).into(), parsed },
            Kept::Told(told) => Proof::Told(told),
        };
        Sample { time: self.time, place: self.place, proof }
    }

    /// Where its text is, if it has one there.
    pub(super) fn text_mut(&mut self) -> Option<&mut At> {
        match &mut self.proof {
            Kept::Line { text, .. } => Some(text),
            Kept::Told(_) => None,
        }
    }

    /// Says that nobody needs its proof any more.
    pub(super) fn spend(self, texts: &mut Texts) {
        if let Kept::Line { text, .. } = self.proof {
            texts.spend(text);
        }
    }
}
