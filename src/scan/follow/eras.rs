//! Tallies in two eras, so that a summary covers a good while and memory stays bounded: when an era is full, the one before
//! it is forgotten.

use crate::tally::Tally;
use crate::time::LogTime;

/// The era before, and this one.
#[derive(Debug, Default)]
pub(super) struct Eras {
    before: Tally,
    now: Tally,
    forgot: bool,
}

/// From when on hits are in a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From the first line.
    Start,
    /// From this time on; earlier ones were forgotten.
    Time(Option<LogTime>),
}

impl Eras {
    /// Nothing yet, in a time before which much was forgotten.
    pub(super) fn of_a_later_time() -> Self {
        Self { forgot: true, ..Self::default() }
    }

    /// Adds to this era.
    pub(super) fn add(&mut self, tally: Tally) {
        self.now.merge(tally);
    }

    /// Begins a new era.
    pub(super) fn begin(&mut self) {
        let before = std::mem::replace(&mut self.before, std::mem::take(&mut self.now));
        self.forgot |= !before.is_empty();
    }

    /// Both eras in one tally.
    pub(super) fn whole(&self) -> Tally {
        let mut whole = self.before.clone();
        whole.merge(self.now.clone());
        whole
    }

    /// How far back they reach.
    pub(super) fn since(&self) -> Since {
        if !self.forgot {
            return Since::Start;
        }
        let first = |tally: &Tally| tally.cells().filter_map(|view| Some(view.cell.times()?.0)).min();
        Since::Time([first(&self.before), first(&self.now)].into_iter().flatten().min())
    }
}
