//! The layout of lines before: all that stands between their values.
//!
//! A server writes one line like the other. Where a line has the layout of an earlier one, it has the same members in the same
//! objects, and only the values are searched for their ends. This changes how fast an answer comes, never which: a line that differs
//! in one byte is walked through.

use super::found::Found;
use super::keys::Keys;
use super::reader::{Collect, Path, read};
use super::role::{Role, Roles, Slot};
use super::short::Short;
use super::walk::{Walk, string_end};
use crate::formats::begins::begins;
use crate::formats::values::{Place, Values};

/// The longest line whose layout is remembered, and the most values in it.
const LONGEST: usize = 16 * 1024;
const MOST: usize = 256;
/// A layout is forgotten when so many lines in a row had another.
const PATIENCE: u8 = 16;
/// The most lines to walk through before another layout is learned, where lines differ all the time.
const LONGEST_WAIT: u32 = 255;

/// Remembers two layouts: values that are a text here and `null` there make two of one.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct Layouts {
    /// Which roles they were learned by.
    mark: u64,
    known: [Layout; 2],
    /// The one that fitted last.
    first: usize,
    wait: u32,
    /// How long to wait after the next one is learned.
    pause: u32,
    copy: Vec<u8>,
}

#[derive(Debug, Default, Clone)]
struct Layout {
    pieces: Vec<Piece>,
    /// What stands before each value, and behind the last.
    literals: Vec<u8>,
    /// Where what stands behind the last value begins in `literals`.
    tail: usize,
    /// Whether a line of it goes the short way.
    short: Option<Short>,
    misses: u8,
}

/// A value and what stands before it.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    /// Whether it is a text in quotes.
    quoted: bool,
    role: Role,
    /// Which value of the short way it is.
    place: Place,
}

impl Layouts {
    /// Finds the values of a line, if it has a layout that is remembered; nothing is found if not.
    #[inline]
    pub(super) fn read<'a>(&mut self, roles: &Roles, line: &'a [u8], found: &mut Found<'a>) -> bool {
        if self.mark != roles.mark_of() {
            *self = Self { mark: roles.mark_of(), copy: std::mem::take(&mut self.copy), ..Self::default() };
        }
        for at in [self.first, 1 - self.first] {
            let layout = &mut self.known[at];
            if layout.read(line, found).is_some() {
                (self.first, layout.misses) = (at, 0);
                self.pause = self.pause.saturating_sub(1);
                return true;
            }
            *found = Found::new();
            layout.misses += 1;
            if layout.misses >= PATIENCE {
                layout.forget();
            }
        }
        false
    }

    /// Finds the values of a line without a backslash that has a layout that is remembered, where that goes the short way;
    /// `first_quote` says where the first quote stands from a place on.
    #[inline]
    pub(super) fn read_short<'a>(
        &mut self,
        roles: &Roles,
        line: &'a [u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        values: &mut Values<'a>,
    ) -> bool {
        for at in [self.first, 1 - self.first] {
            let layout = &mut self.known[at];
            let Some(short) = layout.short.filter(|_| self.mark == roles.mark_of()) else { continue };
            let found = layout.each(line, |at| Some((first_quote(at)?, false)), |piece, value, _| values.put(piece.place, value));
            if found.is_some() && short.knows(values) {
                (self.first, layout.misses) = (at, 0);
                self.pause = self.pause.saturating_sub(1);
                return true;
            }
            *values = Values::new(line);
        }
        false
    }

    /// Remembers the layout of a line that was read otherwise, unless lines differ all the time.
    pub(super) fn learn(&mut self, roles: &Roles, line: &[u8], keys: &mut Keys) {
        if self.wait > 0 || line.len() > LONGEST {
            self.wait = self.wait.saturating_sub(1);
            return;
        }
        (self.wait, self.pause) = (self.pause, (self.pause * 2 + 1).min(LONGEST_WAIT));
        // All is learned of a copy: the bytes of a map may change.
        self.copy.clear();
        self.copy.extend_from_slice(line);
        let layout = &mut self.known[1 - self.first];
        layout.forget();
        if layout.learn(roles, &self.copy, keys).is_none() {
            layout.forget();
        }
    }
}

impl Layout {
    fn forget(&mut self) {
        self.pieces.clear();
        self.literals.clear();
        self.short = None;
        self.misses = 0;
    }

    #[inline]
    fn read<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Option<()> {
        self.each(
            line,
            |at| string_end(line, at),
            |piece, value, escaped| {
                if piece.role.slot != Slot::None || piece.role.forwarded {
                    found.offer(piece.role, value, escaped);
                }
            },
        )
    }

    /// Tells each value of a line that has this layout, and whether it is escaped, as `end` says, which finds where a text ends.
    #[inline]
    fn each<'a>(
        &self,
        line: &'a [u8],
        end: impl Fn(usize) -> Option<(usize, bool)>,
        mut tell: impl FnMut(&Piece, &'a [u8], bool),
    ) -> Option<()> {
        let mut at = self.pieces.first()?.end;
        // Most lines of another format differ at once.
        begins(line, self.literals.get(..at)?).then_some(())?;
        for piece in &self.pieces {
            if piece.start > 0 {
                let literal = self.literals.get(piece.start..piece.end)?;
                begins(line.get(at..)?, literal).then_some(())?;
                at += literal.len();
            }
            let (end, escaped) = if piece.quoted { end(at)? } else { (bare_end(line, at)?, false) };
            let value = line.get(at..end)?;
            tell(piece, if piece.quoted { value } else { bare(value) }, escaped);
            at = end;
        }
        (line.get(at..)? == self.literals.get(self.tail..)?).then_some(())
    }

    fn learn(&mut self, roles: &Roles, line: &[u8], keys: &mut Keys) -> Option<()> {
        let mut learned = Learned { layout: self, line, at: 0, whole: line.first() == Some(&b'{') };
        read(roles, line, keys, &mut learned)?;
        let (at, whole) = (learned.at, learned.whole);
        self.tail = self.literals.len();
        self.literals.extend_from_slice(line.get(at..)?);
        self.short = Short::of(self.pieces.iter_mut().map(|piece| (piece.role, &mut piece.place)));
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
struct Learned<'l, 'a> {
    layout: &'l mut Layout,
    line: &'a [u8],
    /// Where the last value ends.
    at: usize,
    /// Whether all of the line can be told by its layout.
    whole: bool,
}

impl<'a> Collect<'a> for Learned<'_, 'a> {
    fn value(&mut self, path: Path<'_, 'a>, role: Role, walk: &Walk<'a>) {
        let (from, to) = walk.span;
        let Some(literal) = self.line.get(self.at..from) else { return self.whole = false };
        // What a pair is called stands in a value.
        self.whole &= !path.is_pair() && self.layout.pieces.len() < MOST;
        if self.whole {
            let start = self.layout.literals.len();
            self.layout.literals.extend_from_slice(literal);
            let quoted = literal.ends_with(b"\"");
            let end = self.layout.literals.len();
            self.layout.pieces.push(Piece { start, end, quoted, role, place: Place::Nowhere });
        }
        self.at = to;
    }
}
