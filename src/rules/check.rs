//! A condition taken apart for a person: each thing that a rule asks for, and whether a request has it.
//!
//! The twin of [`Condition::holds`], which stops at the first no and keeps no reasons. Both read the same parts; a test
//! over every case of every rule holds them together. Slow on purpose: nothing here is for the line loop.

use std::ops::Range;

use super::condition::{Condition, Request, Shape};
use super::definition::Field;
use super::literals::bit;
use super::pattern::Pattern;

/// A text of a request that rules look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// A field of `words` and `regex`.
    Field(Field),
    /// The path with `..` resolved, where `paths`, `suffixes` and `path_glob` look.
    Resolved,
}

/// A place in a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The view.
    pub view: View,
    /// Where in it.
    pub range: Range<usize>,
}

/// One thing a rule asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks<'r> {
    /// A literal of this kind, a bit of [`bit`] above those of the fields.
    Literal(u16),
    /// One of these methods.
    Method(&'r [Vec<u8>]),
    /// One of these status codes.
    Status(&'r [u16]),
    /// This shape.
    Shape(Shape),
    /// One of its globs, as a regex, in the resolved path.
    Glob(&'r str),
    /// One of its words in one of these fields, a mask of their bits.
    Word(u16),
    /// Its regex, in one of these fields: those in which a word stands, where it asks for words and some stand.
    Regex(&'r str, u16),
    /// None of this, a regex, in any of these fields.
    Not(&'r str, u16),
}

/// What a request says to one thing a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check<'r> {
    /// What is asked for.
    pub asks: Asks<'r>,
    /// Whether the request has it.
    pub holds: bool,
    /// Where a regex matched: what it found, or what excuses the request.
    pub found: Option<Span>,
}

impl Condition {
    /// Everything the rule asks for, in the order in which it is asked; all of it holds exactly where
    /// [`holds`](Self::holds) says so.
    #[must_use]
    pub fn checks<'a>(&self, marks: u16, request: &Request<'a>, field: impl Fn(Field) -> &'a [u8]) -> Vec<Check<'_>> {
        let mut checks: Vec<_> = LITERALS
            .into_iter()
            .filter(|kind| self.needs & kind != 0)
            .map(|kind| Check::plain(Asks::Literal(kind), marks & kind != 0))
            .collect();
        if !self.methods.is_empty() {
            checks.push(Check::plain(Asks::Method(&self.methods), self.methods.iter().any(|m| m == request.method)));
        }
        if !self.statuses.is_empty() {
            checks.push(Check::plain(Asks::Status(&self.statuses), request.status.is_some_and(|s| self.statuses.contains(&s))));
        }
        if let Some(shape) = self.shape {
            checks.push(Check::plain(Asks::Shape(shape), shape.includes(request.shape)));
        }
        if let Some(globs) = &self.globs {
            let found = globs.find(request.resolved).map(|range| Span { view: View::Resolved, range });
            checks.push(Check { asks: Asks::Glob(globs.source()), holds: found.is_some(), found });
        }
        checks.extend(self.text_checks(marks, &field));
        checks.extend(self.excuses(&field));
        checks
    }

    fn text_checks<'a>(&self, marks: u16, field: &impl Fn(Field) -> &'a [u8]) -> impl Iterator<Item = Check<'_>> {
        let (mut words, mut regex) = (None, None);
        if let Some(text) = &self.text {
            let seen = text.fields & marks;
            words = text.has_words.then(|| Check::plain(Asks::Word(text.fields), seen != 0));
            // Where no word stands, the rest of the rule is explained all the same.
            let tried = if text.has_words && seen != 0 { seen } else { text.fields };
            regex = text.regex.as_ref().map(|pattern| {
                let found = find(pattern, tried, field);
                Check { asks: Asks::Regex(pattern.source(), tried), holds: found.is_some(), found }
            });
        }
        words.into_iter().chain(regex)
    }

    fn excuses<'a>(&self, field: &impl Fn(Field) -> &'a [u8]) -> impl Iterator<Item = Check<'_>> {
        let agent = bit::of_field(Field::UserAgent);
        let patterns = self.unless_text.iter().map(|p| (p, self.unless_fields)).chain(self.unless_agent.iter().map(move |p| (p, agent)));
        patterns.map(move |(pattern, fields)| {
            let found = find(pattern, fields, field);
            Check { asks: Asks::Not(pattern.source(), fields), holds: found.is_none(), found }
        })
    }
}

/// The kinds of literals of which one must stand for each kind that a rule has.
const LITERALS: [u16; 5] = [bit::PATHS, bit::SUFFIX, bit::GLOB, bit::AGENT, bit::PREFIX];

impl<'r> Check<'r> {
    fn plain(asks: Asks<'r>, holds: bool) -> Self {
        Self { asks, holds, found: None }
    }
}

fn find<'a>(pattern: &Pattern, mask: u16, field: &impl Fn(Field) -> &'a [u8]) -> Option<Span> {
    let fields = Field::ALL.into_iter().filter(|f| mask & bit::of_field(*f) != 0);
    fields.map(|f| (f, pattern.find(field(f)))).find_map(|(f, range)| Some(Span { view: View::Field(f), range: range? }))
}
