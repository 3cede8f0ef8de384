//! Caches the layout of recent lines: everything between their values.
//!
//! A server writes all lines with the same layout. If a line has a cached layout, it has the same
//! keys in the same objects, and only the ends of the values are searched for. The cache affects
//! only the speed, never the result: a line that differs in one byte is tokenized.
//!
//! A fast path decides the field of each value once per layout. It applies to lines with a
//! client, a time and a request line in their usual form and without a backslash. All other lines
//! go through [`FieldCollector`], with the same result where both apply.

use memchr::memchr;

use super::keys::{IN_PAYLOAD, KeyCache, KeyRole, KeyRoles};
use super::tokenizer::{bare, string_end};
use super::values::{FieldCollector, integer, is_target, parse_time, status, time_shaped, visit};
use crate::formats::bytes::begins;
use crate::formats::clf::is_bare;
use crate::formats::fast_values::FastValues;
use crate::formats::fields::FieldSlot;
use crate::formats::{Escapes, Fields, RequestField};

/// The maximum length of a cached line, and the maximum number of its values.
const MAX_LINE: usize = 16 * 1024;
const MAX_VALUES: usize = 256;
/// A layout is dropped when this many consecutive lines had another.
const MAX_MISSES: u8 = 16;
/// The maximum number of lines to tokenize before another layout is learned, if lines keep
/// differing.
const MAX_WAIT: u32 = 255;

/// Caches two layouts, because a value may be a string in some lines and `null` in others.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct LayoutCache {
    /// The fingerprint of the roles that the layouts are based on.
    roles_fingerprint: u64,
    layouts: [JsonLayout; 2],
    /// The index of the last layout that matched.
    first: usize,
    wait: u32,
    /// The number of lines to wait after the next layout is learned.
    pause: u32,
    copy: Vec<u8>,
}

#[derive(Debug, Default, Clone)]
struct JsonLayout {
    values: Vec<LayoutValue>,
    /// The literal texts before each value and after the last one.
    literals: Vec<u8>,
    /// Where the text after the last value starts in `literals`.
    tail: usize,
    /// For the fast path, if lines of this layout can take it: the fields with an alternative value,
    /// one bit each. The alternative counts if the best value is missing.
    alternatives: Option<u32>,
    misses: u8,
}

/// A value and the literal text before it.
#[derive(Debug, Clone, Copy)]
struct LayoutValue {
    start: usize,
    end: usize,
    /// Whether the value is a string.
    quoted: bool,
    role: KeyRole,
    /// The slot of the value on the fast path.
    slot: FieldSlot,
}

impl LayoutCache {
    /// Collects the values of a line if it has a cached layout.
    #[inline]
    pub(super) fn read<'a>(
        &mut self,
        roles: &KeyRoles,
        line: &'a [u8],
        found: &mut FieldCollector<'a>,
    ) -> bool {
        if self.roles_fingerprint != roles.fingerprint() {
            *self = Self {
                roles_fingerprint: roles.fingerprint(),
                copy: std::mem::take(&mut self.copy),
                ..Self::default()
            };
        }
        for at in [self.first, 1 - self.first] {
            let layout = &mut self.layouts[at];
            if layout.read(line, found).is_some() {
                (self.first, layout.misses) = (at, 0);
                self.pause = self.pause.saturating_sub(1);
                return true;
            }
            *found = FieldCollector::new();
            layout.misses += 1;
            if layout.misses >= MAX_MISSES {
                layout.clear();
            }
        }
        false
    }

    /// Reads the values of a line without a backslash if its layout has a fast path. `first_quote`
    /// returns the position of the first quote from an offset on.
    #[inline]
    pub(super) fn read_fast<'a>(
        &mut self,
        roles: &KeyRoles,
        line: &'a [u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        values: &mut FastValues<'a>,
    ) -> bool {
        for at in [self.first, 1 - self.first] {
            let layout = &mut self.layouts[at];
            let Some(alternatives) = layout
                .alternatives
                .filter(|_| self.roles_fingerprint == roles.fingerprint())
            else {
                continue;
            };
            let found = layout.for_each_value(
                line,
                |at| Some((first_quote(at)?, false)),
                |value_layout, value, _| values.set(value_layout.slot, value),
            );
            if found.is_some() && is_complete(alternatives, values) {
                (self.first, layout.misses) = (at, 0);
                self.pause = self.pause.saturating_sub(1);
                return true;
            }
            *values = FastValues::new(line);
        }
        false
    }

    /// Learns the layout of a line, unless lines keep differing.
    pub(super) fn learn(&mut self, roles: &KeyRoles, line: &[u8], keys: &mut KeyCache) {
        if self.wait > 0 || line.len() > MAX_LINE {
            self.wait = self.wait.saturating_sub(1);
            return;
        }
        (self.wait, self.pause) = (self.pause, (self.pause * 2 + 1).min(MAX_WAIT));
        // Learns from a copy: a memory-mapped file may change between two reads.
        self.copy.clear();
        self.copy.extend_from_slice(line);
        let layout = &mut self.layouts[1 - self.first];
        layout.clear();
        if layout.learn(roles, &self.copy, keys).is_none() {
            layout.clear();
        }
    }
}

impl JsonLayout {
    fn clear(&mut self) {
        self.values.clear();
        self.literals.clear();
        self.alternatives = None;
        self.misses = 0;
    }

    #[inline]
    fn read<'a>(&self, line: &'a [u8], found: &mut FieldCollector<'a>) -> Option<()> {
        self.for_each_value(
            line,
            |at| string_end(line, at),
            |value_layout, value, escaped| {
                if value_layout.role.slot != FieldSlot::Unused || value_layout.role.forwarded {
                    found.add(value_layout.role, value, escaped);
                }
            },
        )
    }

    /// Visits each value of a line with this layout, and whether it is escaped. `end` finds the end
    /// of a string.
    #[inline]
    fn for_each_value<'a>(
        &self,
        line: &'a [u8],
        end: impl Fn(usize) -> Option<(usize, bool)>,
        mut visit_value: impl FnMut(&LayoutValue, &'a [u8], bool),
    ) -> Option<()> {
        let mut at = self.values.first()?.end;
        // Most lines of another format differ at the start.
        begins(line, self.literals.get(..at)?).then_some(())?;
        for value_layout in &self.values {
            if value_layout.start > 0 {
                let literal = self.literals.get(value_layout.start..value_layout.end)?;
                begins(line.get(at..)?, literal).then_some(())?;
                at += literal.len();
            }
            let (end, escaped) = if value_layout.quoted {
                end(at)?
            } else {
                (bare_end(line, at)?, false)
            };
            let value = line.get(at..end)?;
            visit_value(
                value_layout,
                if value_layout.quoted {
                    value
                } else {
                    bare(value)
                },
                escaped,
            );
            at = end;
        }
        (line.get(at..)? == self.literals.get(self.tail..)?).then_some(())
    }

    fn learn(&mut self, roles: &KeyRoles, line: &[u8], keys: &mut KeyCache) -> Option<()> {
        // The end of the last value, and whether the layout can describe the whole line.
        let (mut at, mut is_whole) = (0, line.first() == Some(&b'{'));
        visit(roles, line, keys, |path, role, walk| {
            let (from, to) = walk.span;
            let Some(literal) = line.get(at..from) else {
                is_whole = false;
                return;
            };
            // The key of a name/value pair is itself a value.
            is_whole &= !path.is_pair() && self.values.len() < MAX_VALUES;
            if is_whole {
                let start = self.literals.len();
                self.literals.extend_from_slice(literal);
                self.values.push(LayoutValue {
                    start,
                    end: self.literals.len(),
                    quoted: literal.ends_with(b"\""),
                    role,
                    slot: FieldSlot::Unused,
                });
            }
            at = to;
        })?;
        self.tail = self.literals.len();
        self.literals.extend_from_slice(line.get(at..)?);
        self.alternatives = assign_slots(
            self.values
                .iter_mut()
                .map(|value_layout| (value_layout.role, &mut value_layout.slot)),
        );
        is_whole.then_some(())
    }
}

/// The end of a number or a word; `None` for anything else.
#[inline]
fn bare_end(line: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match *line.get(at)? {
            b',' | b'}' | b']' => return Some(at),
            b'"' | b'\\' | b'{' | b'[' => return None,
            _ => at += 1,
        }
    }
}

/// The slot of a field on the fast path. A request line makes the other fields redundant.
fn slot_of(slot: FieldSlot) -> FieldSlot {
    match slot {
        FieldSlot::Client
        | FieldSlot::Host
        | FieldSlot::Time
        | FieldSlot::Request
        | FieldSlot::Status
        | FieldSlot::Bytes
        | FieldSlot::Referer
        | FieldSlot::UserAgent
        | FieldSlot::User => slot,
        _ => FieldSlot::Unused,
    }
}

/// Assigns the values of a layout to slots, and returns the fields with an alternative value; `None`
/// if the user named fields, or if the fields are not simple.
fn assign_slots<'p>(roles: impl Iterator<Item = (KeyRole, &'p mut FieldSlot)>) -> Option<u32> {
    let mut best: [Option<(u8, &mut FieldSlot)>; FieldSlot::COUNT] =
        [const { None }; FieldSlot::COUNT];
    let mut alternatives = 0;
    for (role, value_slot) in roles {
        if role.forwarded || role.slot != FieldSlot::Unused && role.rank == 0 {
            return None;
        }
        // The request line is outside of it.
        if role.rank >= IN_PAYLOAD {
            continue;
        }
        let Some(chosen) = best.get_mut(role.slot as usize) else {
            continue;
        };
        if let Some((rank, _)) = chosen {
            // They may differ.
            if role.slot == FieldSlot::Client && role.rank == *rank {
                return None;
            }
            alternatives |= 1 << slot_of(role.slot) as u32;
            if role.rank >= *rank {
                continue;
            }
        }
        *value_slot = slot_of(role.slot);
        if let Some((_, worse)) = chosen.replace((role.rank, value_slot)) {
            *worse = FieldSlot::Unused;
        }
    }
    let has = |slot: FieldSlot| best[slot as usize].is_some();
    (has(FieldSlot::Client) && has(FieldSlot::Time) && has(FieldSlot::Request))
        .then_some(alternatives)
}

/// Whether these values determine all fields.
#[inline]
fn is_complete(alternatives: u32, values: &FastValues<'_>) -> bool {
    let is_text = |text: &[u8]| !matches!(text, b"" | b"-");
    let has_no_other = |slot: FieldSlot| alternatives & 1 << slot as u32 == 0;
    let all_known = alternatives == 0
        || (has_no_other(FieldSlot::Host)
            || is_text(values.get(FieldSlot::Host)) && values.get(FieldSlot::Host) != b"_")
            && (has_no_other(FieldSlot::Status) || status(values.get(FieldSlot::Status)).is_some())
            && (has_no_other(FieldSlot::Bytes) || integer(values.get(FieldSlot::Bytes)).is_some())
            && (has_no_other(FieldSlot::Referer) || is_text(values.get(FieldSlot::Referer)))
            && (has_no_other(FieldSlot::UserAgent) || is_text(values.get(FieldSlot::UserAgent)))
            && (has_no_other(FieldSlot::User) || is_text(values.get(FieldSlot::User)));
    all_known
        && is_text(values.get(FieldSlot::Client))
        && is_bare(values.get(FieldSlot::Client))
        && memchr(b',', values.get(FieldSlot::Client)).is_none()
        // A method may stand alone.
        && memchr(b' ', values.get(FieldSlot::Request)).is_some()
        && !is_target(values.get(FieldSlot::Request))
        && matches!(time_shaped(values.get(FieldSlot::Time)), Some((FieldSlot::Time, _)))
}

/// The fields of a line from its values.
#[expect(
    clippy::inline_always,
    reason = "in the line loop; so large an answer would go through memory"
)]
#[inline(always)]
pub(super) fn fields<'a>(values: &FastValues<'a>, time: &'a mut Vec<u8>) -> Fields<'a> {
    let (host, bytes) = (values.get(FieldSlot::Host), values.get(FieldSlot::Bytes));
    Fields {
        client: values.get(FieldSlot::Client),
        host: if host == b"_" { b"" } else { host },
        time: parse_time(values.get(FieldSlot::Time), time),
        request: RequestField::Line(values.get(FieldSlot::Request)),
        status: status(values.get(FieldSlot::Status)).unwrap_or_default(),
        // An invalid number is not written as one.
        bytes: bytes.strip_suffix(b".0").unwrap_or(bytes),
        referer: values.get(FieldSlot::Referer),
        user_agent: values.get(FieldSlot::UserAgent),
        user: values.get(FieldSlot::User),
        escapes: Escapes::Written,
        ..Fields::default()
    }
}
