//! A condition taken apart for a person: each thing that a rule asks for, and whether a request has it.
//!
//! The twin of [`Condition::holds`], which stops at the first no and keeps no reasons. Both read the same parts; a test
//! over every case of every rule holds them together. Slow on purpose: nothing here is for the line loop.

use std::ops::Range;

use super::condition::{Condition, RequestFacts, Shape};
use super::definition::Field;
use super::literals::bit;
use super::pattern::Pattern;
use super::word_set::WordSet;

/// A text of a request that rules look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextView {
    /// A field of `words` and `regex`.
    Field(Field),
    /// The path with `..` resolved, where `paths`, `suffixes` and `path_glob` look.
    Resolved,
}

/// A place in a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    /// The view.
    pub view: TextView,
    /// Where in it.
    pub range: Range<usize>,
}

/// One thing a rule asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement<'r> {
    /// A literal of this kind, a bit of [`bit`] above those of the fields.
    Literal(u16),
    /// One of these methods.
    Method(&'r [Vec<u8>]),
    /// One of these status codes.
    Status(&'r [u16]),
    /// This shape.
    Shape(Shape),
    /// One of its globs, in the resolved path.
    Glob(&'r str),
    /// One of its words in one of these fields, a mask of their bits.
    Word(u16),
    /// Its regex, in one of these fields: those in which a word stands, where it asks for words and some stand.
    Regex(&'r str, u16),
    /// None of this, words or a regex, in any of these fields.
    Not(&'r str, u16),
}

/// What a request says to one thing a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequirementCheck<'r> {
    /// What is asked for.
    pub asks: Requirement<'r>,
    /// Whether the request has it.
    pub holds: bool,
    /// Where a regex matched: what it found, or what excuses the request.
    pub found: Option<TextSpan>,
}

impl Condition {
    /// Everything the rule asks for, in the order in which it is asked; all of it holds exactly where
    /// [`holds`](Self::holds) says so.
    #[must_use]
    pub fn checks<'a>(&self, marks: u16, request: &RequestFacts<'a>, field: impl Fn(Field) -> &'a [u8]) -> Vec<RequirementCheck<'_>> {
        let mut checks: Vec<_> = LITERALS
            .into_iter()
            .filter(|kind| self.needs & kind != 0)
            .map(|kind| RequirementCheck::plain(Requirement::Literal(kind), marks & kind != 0))
            .collect();
        if !self.methods.is_empty() {
            checks.push(RequirementCheck::plain(Requirement::Method(&self.methods), self.methods.iter().any(|m| m == request.method)));
        }
        if !self.statuses.is_empty() {
            checks.push(RequirementCheck::plain(
                Requirement::Status(&self.statuses),
                request.status.is_some_and(|s| self.statuses.contains(&s)),
            ));
        }
        if let Some(shape) = self.shape {
            checks.push(RequirementCheck::plain(Requirement::Shape(shape), shape.includes(request.shape)));
        }
        if let Some(globs) = &self.globs {
            let path = request.resolved;
            let found = globs.find(path).map(|start| TextSpan { view: TextView::Resolved, range: start..path.len() });
            checks.push(RequirementCheck { asks: Requirement::Glob(globs.text()), holds: found.is_some(), found });
        }
        checks.extend(self.text_checks(marks, &field));
        checks.extend(self.exceptions(marks, request, &field));
        checks
    }

    fn text_checks<'a>(&self, marks: u16, field: &impl Fn(Field) -> &'a [u8]) -> impl Iterator<Item = RequirementCheck<'_>> {
        let (mut words, mut regex) = (None, None);
        if let Some(text) = &self.text {
            let seen = text.fields & marks;
            words = text.has_words.then(|| RequirementCheck::plain(Requirement::Word(text.fields), seen != 0));
            // Where no word stands, the rest of the rule is explained all the same.
            let tried = if text.has_words && seen != 0 { seen } else { text.fields };
            regex = text.regex.as_ref().map(|pattern| {
                let found = find(|text| pattern.find(text), tried, field);
                RequirementCheck { asks: Requirement::Regex(pattern.source(), tried), holds: found.is_some(), found }
            });
        }
        words.into_iter().chain(regex)
    }

    fn exceptions<'r, 'a>(
        &'r self,
        marks: u16,
        request: &RequestFacts<'a>,
        field: &impl Fn(Field) -> &'a [u8],
    ) -> impl Iterator<Item = RequirementCheck<'r>> {
        let unless = &self.unless;
        let not = |source, fields, found: Option<TextSpan>| RequirementCheck {
            asks: Requirement::Not(source, fields),
            holds: found.is_none(),
            found,
        };
        let fields_in_effect = if unless.removes_text() && self.text.as_ref().is_some_and(|text| text.holds(marks, unless, field)) {
            // What is left of the text is found all the same.
            0
        } else {
            unless.fields_in_effect(request)
        };
        let resolves = !unless.removes_text();
        let view = |f| if resolves && f == Field::Path { request.resolved } else { field(f) };
        let of_words = |words: &'r WordSet, fields, in_fields| not(words.text(), fields, find(|text| words.find(text), in_fields, &view));
        let of_regex = |regex: &'r Pattern, fields, in_fields| not(regex.source(), fields, find(|text| regex.find(text), in_fields, &view));
        let headers = |field| if unless.headers_in_effect(request) { bit::of_field(field) } else { 0 };
        let (agent, referer) = (Field::UserAgent, Field::Referer);
        let words = unless.words.as_ref().map(|words| of_words(words, unless.fields, fields_in_effect));
        let regex = unless.regex.as_ref().map(|regex| of_regex(regex, unless.fields, fields_in_effect));
        let agents = unless.agents.as_ref().map(|agents| of_words(agents, bit::of_field(agent), headers(agent)));
        let referers = unless.referer.as_ref().map(|regex| of_regex(regex, bit::of_field(referer), headers(referer)));
        words.into_iter().chain(regex).chain(agents).chain(referers)
    }
}

/// The kinds of literals of which one must stand for each kind that a rule has.
const LITERALS: [u16; 5] = [bit::PATHS, bit::SUFFIX, bit::GLOB, bit::AGENT, bit::PREFIX];

impl<'r> RequirementCheck<'r> {
    fn plain(asks: Requirement<'r>, holds: bool) -> Self {
        Self { asks, holds, found: None }
    }
}

fn find<'a>(in_text: impl Fn(&[u8]) -> Option<Range<usize>>, mask: u16, field: &impl Fn(Field) -> &'a [u8]) -> Option<TextSpan> {
    let fields = Field::ALL.into_iter().filter(|f| mask & bit::of_field(*f) != 0);
    fields.map(|f| (f, in_text(field(f)))).find_map(|(f, range)| Some(TextSpan { view: TextView::Field(f), range: range? }))
}
