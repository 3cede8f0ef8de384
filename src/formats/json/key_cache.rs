//! The names of the line before, and what they stand for.
//!
//! A server writes the same names in the same order again and again: where the next line does, nothing is searched or looked up. This
//! changes how fast an answer comes, never which.

use super::role::KeyRole;
use super::tokenizer::MemberName;

/// How many names are remembered, and how long they may be.
const MAX_KEYS: usize = 128;
const MAX_KEY_LEN: usize = 64;
/// How far ahead a name is looked for when others were left out.
const LOOK_AHEAD: usize = 8;

/// Remembers the names of a line.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct KeyCache {
    /// Which roles they were learned by.
    roles_fingerprint: u64,
    entries: Vec<KeyEntry>,
    names: Vec<u8>,
    /// The entry that is expected next.
    next: usize,
    misses: usize,
    learning: bool,
}

#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    start: u32,
    end: u32,
    within: KeyScope,
    role: KeyRole,
}

/// The object that a name lies in: the entry of the object's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyScope {
    /// The line itself.
    Line,
    /// The object of that entry.
    Entry(u16),
    /// An object that is not remembered.
    Elsewhere,
}

impl KeyCache {
    /// Begins a line.
    pub(super) fn begin(&mut self, roles_fingerprint: u64) {
        // TimeField a quarter is new, so is the format.
        if roles_fingerprint != self.roles_fingerprint || self.misses > 2 + self.entries.len() / 4 {
            self.entries.clear();
            self.names.clear();
            self.roles_fingerprint = roles_fingerprint;
        }
        (self.next, self.misses, self.learning) = (0, 0, self.entries.is_empty());
    }

    /// The name that is expected next; empty where none is.
    #[inline]
    pub(super) fn expected(&self) -> &[u8] {
        self.entries.get(self.next).map_or(b"", |entry| self.name(entry))
    }

    /// What `key` within `scope` stands for, and the scope of what lies in it. What is not remembered is looked up.
    #[inline]
    pub(super) fn role(&mut self, scope: KeyScope, key: MemberName<'_>, look_up: impl Fn(&[u8]) -> KeyRole) -> (KeyRole, KeyScope) {
        match self.entries.get(self.next) {
            Some(entry) if key.expected && entry.within == scope => self.hit(self.next, entry.role),
            _ => self.other(scope, key, look_up),
        }
    }

    fn hit(&mut self, at: usize, role: KeyRole) -> (KeyRole, KeyScope) {
        self.next = at + 1;
        (role, KeyScope::Entry(at as u16))
    }

    #[inline(never)]
    fn other(&mut self, scope: KeyScope, key: MemberName<'_>, look_up: impl Fn(&[u8]) -> KeyRole) -> (KeyRole, KeyScope) {
        if self.learning {
            return self.learn(scope, key, look_up);
        }
        let ahead = self.entries.iter().enumerate().skip(self.next).take(LOOK_AHEAD);
        let found = ahead.into_iter().find(|(_, entry)| entry.within == scope && self.name(entry) == key.name);
        if let Some((at, role)) = found.map(|(at, entry)| (at, entry.role)) {
            return self.hit(at, role);
        }
        self.misses += 1;
        (look_up(key.name), KeyScope::Elsewhere)
    }

    fn learn(&mut self, scope: KeyScope, key: MemberName<'_>, look_up: impl Fn(&[u8]) -> KeyRole) -> (KeyRole, KeyScope) {
        if key.name.is_empty() || key.name.len() > MAX_KEY_LEN || self.entries.len() == MAX_KEYS || scope == KeyScope::Elsewhere {
            return (look_up(key.name), KeyScope::Elsewhere);
        }
        let start = self.names.len();
        // The role is that of the copy: the bytes of a map may change.
        self.names.extend_from_slice(key.name);
        let role = look_up(self.names.get(start..).unwrap_or_default());
        self.entries.push(KeyEntry { start: start as u32, end: self.names.len() as u32, within: scope, role });
        self.hit(self.entries.len() - 1, role)
    }

    #[inline]
    fn name(&self, entry: &KeyEntry) -> &[u8] {
        self.names.get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }
}
