//! The names of the line before, and what they stand for.
//!
//! A server writes the same names in the same order again and again: where the next line does, nothing is searched or looked up. This
//! changes how fast an answer comes, never which.

use super::role::Role;
use super::walk::Key;

/// How many names are remembered, and how long they may be.
const MOST: usize = 128;
const LONGEST: usize = 64;
/// How far ahead a name is looked for when others were left out.
const AHEAD: usize = 8;

/// Remembers the names of a line.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct Keys {
    /// Which roles they were learned by.
    mark: u64,
    entries: Vec<Entry>,
    names: Vec<u8>,
    /// The entry that is expected next.
    next: usize,
    misses: usize,
    learning: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
    within: Place,
    role: Role,
}

/// The object that a name lies in: the entry of the object's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The line itself.
    Line,
    /// The object of that entry.
    Entry(u16),
    /// An object that is not remembered.
    Elsewhere,
}

impl Keys {
    /// Begins a line.
    pub(super) fn begin(&mut self, mark: u64) {
        // When a quarter is new, so is the format.
        if mark != self.mark || self.misses > 2 + self.entries.len() / 4 {
            self.entries.clear();
            self.names.clear();
            self.mark = mark;
        }
        (self.next, self.misses, self.learning) = (0, 0, self.entries.is_empty());
    }

    /// The name that is expected next; empty where none is.
    #[inline]
    pub(super) fn expected(&self) -> &[u8] {
        self.entries.get(self.next).map_or(b"", |entry| self.name(entry))
    }

    /// What `key` within `place` stands for, and the place of what lies in it. What is not remembered is looked up.
    #[inline]
    pub(super) fn role(&mut self, place: Place, key: Key<'_>, look_up: impl Fn(&[u8]) -> Role) -> (Role, Place) {
        match self.entries.get(self.next) {
            Some(entry) if key.expected && entry.within == place => self.hit(self.next, entry.role),
            _ => self.other(place, key, look_up),
        }
    }

    fn hit(&mut self, at: usize, role: Role) -> (Role, Place) {
        self.next = at + 1;
        (role, Place::Entry(at as u16))
    }

    #[inline(never)]
    fn other(&mut self, place: Place, key: Key<'_>, look_up: impl Fn(&[u8]) -> Role) -> (Role, Place) {
        if self.learning {
            return self.learn(place, key, look_up);
        }
        let ahead = self.entries.iter().enumerate().skip(self.next).take(AHEAD);
        let found = ahead.into_iter().find(|(_, entry)| entry.within == place && self.name(entry) == key.name);
        if let Some((at, role)) = found.map(|(at, entry)| (at, entry.role)) {
            return self.hit(at, role);
        }
        self.misses += 1;
        (look_up(key.name), Place::Elsewhere)
    }

    fn learn(&mut self, place: Place, key: Key<'_>, look_up: impl Fn(&[u8]) -> Role) -> (Role, Place) {
        if key.name.is_empty() || key.name.len() > LONGEST || self.entries.len() == MOST || place == Place::Elsewhere {
            return (look_up(key.name), Place::Elsewhere);
        }
        let start = self.names.len();
        // The role is that of the copy: the bytes of a map may change.
        self.names.extend_from_slice(key.name);
        let role = look_up(self.names.get(start..).unwrap_or_default());
        self.entries.push(Entry { start: start as u32, end: self.names.len() as u32, within: place, role });
        self.hit(self.entries.len() - 1, role)
    }

    #[inline]
    fn name(&self, entry: &Entry) -> &[u8] {
        self.names.get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }
}
