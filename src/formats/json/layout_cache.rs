//! The layout of lines before: all that stands between their values.
//!
//! A server writes one line like the other. Where a line has the layout of an earlier one, it has the same members in the same
//! objects, and only the values are searched for their ends. This changes how fast an answer comes, never which: a line that differs
//! in one byte is walked through.

use super::collector::FieldCollector;
use super::fast_layout::FastLayout;
use super::key_cache::KeyCache;
use super::role::{JsonField, KeyRole, KeyRoles};
use super::tokenizer::{Tokenizer, string_end};
use super::visitor::{KeyPath, ValueVisitor, visit};
use crate::formats::bytes::begins;
use crate::formats::fast_values::{FastValues, ValueSlot};

/// The longest line whose layout is remembered, and the most values in it.
const MAX_LINE: usize = 16 * 1024;
const MAX_VALUES: usize = 256;
/// A layout is forgotten when so many lines in a row had another.
const MAX_MISSES: u8 = 16;
/// The most lines to walk through before another layout is learned, where lines differ all the time.
const MAX_WAIT: u32 = 255;

/// Remembers two layouts: values that are a text here and `null` there make two of one.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct LayoutCache {
    /// Which roles they were learned by.
    roles_fingerprint: u64,
    known: [JsonLayout; 2],
    /// The one that fitted last.
    first: usize,
    wait: u32,
    /// How long to wait after the next one is learned.
    pause: u32,
    copy: Vec<u8>,
}

#[derive(Debug, Default, Clone)]
struct JsonLayout {
    values: Vec<LayoutValue>,
    /// What stands before for_each_value value, and behind the last.
    literals: Vec<u8>,
    /// Where what stands behind the last value begins in `literals`.
    tail: usize,
    /// Whether a line of it goes the short way.
    short: Option<FastLayout>,
    misses: u8,
}

/// A value and what stands before it.
#[derive(Debug, Clone, Copy)]
struct LayoutValue {
    start: usize,
    end: usize,
    /// Whether it is a text in quotes.
    quoted: bool,
    role: KeyRole,
    /// Which value of the short way it is.
    slot: ValueSlot,
}

impl LayoutCache {
    /// Finds the values of a line, if it has a layout that is remembered; nothing is found if not.
    #[inline]
    pub(super) fn read<'a>(&mut self, roles: &KeyRoles, line: &'a [u8], found: &mut FieldCollector<'a>) -> bool {
        if self.roles_fingerprint != roles.fingerprint() {
            *self = Self { roles_fingerprint: roles.fingerprint(), copy: std::mem::take(&mut self.copy), ..Self::default() };
        }
        for at in [self.first, 1 - self.first] {
            let layout = &mut self.known[at];
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

    /// Finds the values of a line without a backslash that has a layout that is remembered, where that goes the short way;
    /// `first_quote` says where the first quote stands from a place on.
    #[inline]
    pub(super) fn read_fast<'a>(
        &mut self,
        roles: &KeyRoles,
        line: &'a [u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        values: &mut FastValues<'a>,
    ) -> bool {
        for at in [self.first, 1 - self.first] {
            let layout = &mut self.known[at];
            let Some(short) = layout.short.filter(|_| self.roles_fingerprint == roles.fingerprint()) else { continue };
            let found = layout.for_each_value(
                line,
                |at| Some((first_quote(at)?, false)),
                |value_layout, value, _| values.put(value_layout.slot, value),
            );
            if found.is_some() && short.is_complete(values) {
                (self.first, layout.misses) = (at, 0);
                self.pause = self.pause.saturating_sub(1);
                return true;
            }
            *values = FastValues::new(line);
        }
        false
    }

    /// Remembers the layout of a line that was read otherwise, unless lines differ all the time.
    pub(super) fn learn(&mut self, roles: &KeyRoles, line: &[u8], keys: &mut KeyCache) {
        if self.wait > 0 || line.len() > MAX_LINE {
            self.wait = self.wait.saturating_sub(1);
            return;
        }
        (self.wait, self.pause) = (self.pause, (self.pause * 2 + 1).min(MAX_WAIT));
        // All is learned of a copy: the bytes of a map may change.
        self.copy.clear();
        self.copy.extend_from_slice(line);
        let layout = &mut self.known[1 - self.first];
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
        self.short = None;
        self.misses = 0;
    }

    #[inline]
    fn read<'a>(&self, line: &'a [u8], found: &mut FieldCollector<'a>) -> Option<()> {
        self.for_each_value(
            line,
            |at| string_end(line, at),
            |value_layout, value, escaped| {
                if value_layout.role.slot != JsonField::None || value_layout.role.forwarded {
                    found.add(value_layout.role, value, escaped);
                }
            },
        )
    }

    /// Tells for_each_value value of a line that has this layout, and whether it is escaped, as `end` says, which finds where a text ends.
    #[inline]
    fn for_each_value<'a>(
        &self,
        line: &'a [u8],
        end: impl Fn(usize) -> Option<(usize, bool)>,
        mut visit_value: impl FnMut(&LayoutValue, &'a [u8], bool),
    ) -> Option<()> {
        let mut at = self.values.first()?.end;
        // Most lines of another format differ at once.
        begins(line, self.literals.get(..at)?).then_some(())?;
        for value_layout in &self.values {
            if value_layout.start > 0 {
                let literal = self.literals.get(value_layout.start..value_layout.end)?;
                begins(line.get(at..)?, literal).then_some(())?;
                at += literal.len();
            }
            let (end, escaped) = if value_layout.quoted { end(at)? } else { (bare_end(line, at)?, false) };
            let value = line.get(at..end)?;
            visit_value(value_layout, if value_layout.quoted { value } else { bare(value) }, escaped);
            at = end;
        }
        (line.get(at..)? == self.literals.get(self.tail..)?).then_some(())
    }

    fn learn(&mut self, roles: &KeyRoles, line: &[u8], keys: &mut KeyCache) -> Option<()> {
        let mut learned = LayoutRecorder { layout: self, line, at: 0, whole: line.first() == Some(&b'{') };
        visit(roles, line, keys, &mut learned)?;
        let (at, whole) = (learned.at, learned.whole);
        self.tail = self.literals.len();
        self.literals.extend_from_slice(line.get(at..)?);
        self.short = FastLayout::of(self.values.iter_mut().map(|value_layout| (value_layout.role, &mut value_layout.slot)));
        whole.then_some(())
    }
}

/// Where a number or a word ends; `None` where there is something else.
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

/// A number or a word without spaces around it; `null` is nothing.
pub(super) fn bare(text: &[u8]) -> &[u8] {
    match text.trim_ascii() {
        b"null" => b"",
        text => text,
    }
}

/// Collects a layout.
struct LayoutRecorder<'l, 'a> {
    layout: &'l mut JsonLayout,
    line: &'a [u8],
    /// Where the last value ends.
    at: usize,
    /// Whether all of the line can be told by its layout.
    whole: bool,
}

impl<'a> ValueVisitor<'a> for LayoutRecorder<'_, 'a> {
    fn value(&mut self, path: KeyPath<'_, 'a>, role: KeyRole, walk: &Tokenizer<'a>) {
        let (from, to) = walk.span;
        let Some(literal) = self.line.get(self.at..from) else { return self.whole = false };
        // What a pair is called stands in a value.
        self.whole &= !path.is_pair() && self.layout.values.len() < MAX_VALUES;
        if self.whole {
            let start = self.layout.literals.len();
            self.layout.literals.extend_from_slice(literal);
            let quoted = literal.ends_with(b"\"");
            let end = self.layout.literals.len();
            self.layout.values.push(LayoutValue { start, end, quoted, role, slot: ValueSlot::None });
        }
        self.at = to;
    }
}
