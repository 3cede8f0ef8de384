//! What must hold for a rule to match, once it is known which of its literals occurred.
//!
//! The cheap questions come first; a regex is tried last and only on a field where a word of the rule stands.

use std::cell::Cell;

use schemars::JsonSchema;
use serde::Deserialize;

use super::definition::Field;
use super::exceptions::Exceptions;
use super::glob::Globs;
use super::literals::bit;
use super::pattern::Pattern;
use crate::log_entry::Outcome;

/// Everything a rule asks for beyond its literals.
#[derive(Debug, Default)]
pub struct Condition {
    /// Literals of these kinds must all have occurred; bits of [`bit`].
    pub(super) needs: u16,
    /// Words and regex, where the rule has them.
    pub(super) text: Option<TextCondition>,
    pub(super) globs: Option<Globs>,
    pub(super) methods: Vec<Vec<u8>>,
    pub(super) statuses: Vec<u16>,
    pub(super) shape: Option<Shape>,
    /// What must not be there.
    pub(super) unless: Exceptions,
}

/// The `words`, `regex` and `fields` of a rule.
#[derive(Debug, Default)]
pub(super) struct TextCondition {
    pub(super) fields: u16,
    pub(super) has_words: bool,
    pub(super) regex: Option<Pattern>,
}

/// What a request looks like as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The target names a scheme and a host.
    Absolute,
    /// It does not begin with a method.
    NoMethod,
    /// The same, with bytes that are no printable ASCII.
    Binary,
    /// A method that nobody registered, before an ordinary target.
    UnknownMethod,
}

impl Shape {
    /// Whether a request of shape `seen` has this one.
    pub(super) fn includes(self, seen: Option<Self>) -> bool {
        seen == Some(self) || (self == Self::NoMethod && seen == Some(Self::Binary))
    }
}

impl Condition {
    /// Whether a request meets this condition. What is remembered by is asked for last: a rule of which nothing stands in a
    /// request asks for nothing. `marks` says which of the rule's literals occurred, `field` gives the
    /// text of a view.
    #[must_use]
    pub fn holds<'a>(&self, marks: u16, request: &RequestFacts<'a>, field: impl Fn(Field) -> &'a [u8]) -> bool {
        marks & self.needs == self.needs
            && self.text.as_ref().is_none_or(|text| text.may_hold(marks))
            && (self.methods.is_empty() || self.methods.iter().any(|m| m == request.method))
            && self.shape.is_none_or(|shape| shape.includes(request.shape))
            && (self.statuses.is_empty() || request.used_status().is_some_and(|s| self.statuses.contains(&s)))
            && self.globs.as_ref().is_none_or(|globs| globs.is_match(request.resolved))
            && self.text.as_ref().is_none_or(|text| text.holds(marks, &self.unless, &field))
            && !self.unless.applies(marks, request, &field)
    }

    /// Whether a text meets this condition as if it were all there is, in these fields: that of a rule that asks for words
    /// in one of them and for nothing else. No status is known here, and no header excuses it.
    #[must_use]
    pub fn holds_in(&self, seen: &[Field], marks: u16, text: &[u8]) -> bool {
        let field = |field| if seen.contains(&field) { text } else { b"".as_slice() };
        let of_words = |words: &TextCondition| words.has_words && words.holds(marks, &self.unless, &field);
        let asks_more = self.needs != 0 || !self.methods.is_empty() || !self.statuses.is_empty() || self.shape.is_some();
        !asks_more && self.globs.is_none() && self.text.as_ref().is_some_and(of_words)
    }

    /// Whether a request with a common method and no odd shape may meet it.
    #[must_use]
    pub fn may_be_ordinary(&self) -> bool {
        let common = |m: &Vec<u8>| matches!(m.as_slice(), b"GET" | b"POST" | b"HEAD");
        self.shape.is_none() && (self.methods.is_empty() || self.methods.iter().any(common))
    }

    /// All its regexes.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        let regex = self.text.as_ref().and_then(|text| text.regex.as_ref());
        regex.into_iter().chain(self.unless.patterns())
    }
}

impl TextCondition {
    /// Whether a word stands where one must.
    fn may_hold(&self, marks: u16) -> bool {
        !self.has_words || self.fields & marks != 0
    }

    pub(super) fn holds<'a>(&self, marks: u16, unless: &Exceptions, field: &impl Fn(Field) -> &'a [u8]) -> bool {
        let seen = if self.has_words { self.fields & marks } else { self.fields };
        fields(seen).any(|f| self.regex.as_ref().is_none_or(|regex| unless.matches_rest(regex, field(f))))
    }
}

/// The fields of a mask.
pub(super) fn fields(mask: u16) -> impl Iterator<Item = Field> {
    Field::ALL.into_iter().filter(move |f| mask & bit::of_field(*f) != 0)
}

/// What a condition asks of the request as a whole.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    /// The method as sent.
    pub method: &'a [u8],
    /// The path with `..` resolved.
    pub resolved: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
    /// Set when a rule asks for the status.
    pub status_was_used: &'a Cell<bool>,
    /// Set when a rule asks whether the user agent excuses the request.
    pub exception_was_used: &'a Cell<bool>,
    /// Its shape, where it has one worth a word.
    pub shape: Option<Shape>,
}

impl RequestFacts<'_> {
    fn used_status(&self) -> Option<u16> {
        self.status_was_used.set(true);
        self.status
    }

    /// Whether the status says that nothing was answered. Without one that is not known.
    pub(super) fn is_unanswered(&self) -> bool {
        !matches!(Outcome::of(self.used_status()), Outcome::Answered | Outcome::Unknown)
    }

    pub(super) fn has_agent_exception(&self, marks: u16) -> bool {
        self.exception_was_used.set(true);
        marks & bit::EXCEPTION != 0
    }
}
