//! The conditions of a rule besides its literals, and their explanation.
//!
//! Cheap conditions are checked first. A regex is searched last, and only on a field with a word of
//! the rule. [`Condition::holds`] stops at the first unmet requirement; an explanation lists each
//! [`Requirement`] of a rule, and whether a request meets it.

use std::cell::Cell;
use std::ops::Range;

use super::definition::{Field, RequestShape, TextView, fields};
use super::exceptions::{Exceptions, WordSet};
use super::glob::Globs;
use super::literals::bit;
use super::pattern::RulePattern;
use crate::log::log_entry::Outcome;

/// The conditions of a rule besides its literals.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    /// One literal of each of these kinds must have been found; bits of [`bit`].
    pub(super) needs: u16,
    /// Words and regex, if the rule has any.
    pub(super) text: Option<TextCondition>,
    pub(super) globs: Option<Globs>,
    pub(super) methods: Vec<Vec<u8>>,
    pub(super) statuses: Vec<u16>,
    pub(super) shape: Option<RequestShape>,
    /// Exceptions.
    pub(super) unless: Exceptions,
}

/// The `words`, `regex` and `fields` of a rule.
#[derive(Debug, Default)]
pub(super) struct TextCondition {
    pub(super) fields: u16,
    pub(super) has_words: bool,
    pub(super) regex: Option<RulePattern>,
}

impl Condition {
    /// Whether a request meets this condition. Parts of the cache key are read last, so that a rule
    /// without literal hits adds no dependencies. `bits` are the literal hits of the rule, `field`
    /// returns the text of a field.
    #[must_use]
    pub(crate) fn holds<'a>(
        &self,
        bits: u16,
        request: &RequestFacts<'a>,
        field: impl Fn(Field) -> &'a [u8],
    ) -> bool {
        bits & self.needs == self.needs
            && self.text.as_ref().is_none_or(|text| text.may_hold(bits))
            && (self.methods.is_empty() || self.methods.iter().any(|m| m == request.method))
            && self.shape.is_none_or(|shape| shape.includes(request.shape))
            && (self.statuses.is_empty()
                || request
                    .used_status()
                    .is_some_and(|s| self.statuses.contains(&s)))
            && self
                .globs
                .as_ref()
                .is_none_or(|globs| globs.is_match(request.resolved))
            && self
                .text
                .as_ref()
                .is_none_or(|text| text.holds(bits, &self.unless, &field))
            && !self.unless.applies(bits, request, &field)
    }

    /// Whether a text alone meets this condition, as the text of these fields. Only rules with
    /// words and no other requirement can match. No status is known, and no header is an exception.
    #[must_use]
    pub(crate) fn holds_in(&self, in_fields: &[Field], bits: u16, text: &[u8]) -> bool {
        let field = |field| {
            if in_fields.contains(&field) {
                text
            } else {
                b"".as_slice()
            }
        };
        let words_match =
            |words: &TextCondition| words.has_words && words.holds(bits, &self.unless, &field);
        let has_other_requirements = self.needs != 0
            || !self.methods.is_empty()
            || !self.statuses.is_empty()
            || self.shape.is_some();
        !has_other_requirements
            && self.globs.is_none()
            && self.text.as_ref().is_some_and(words_match)
    }

    /// Whether a request with a common method and no unusual shape can meet it.
    #[must_use]
    pub(crate) fn may_be_ordinary(&self) -> bool {
        let common = |m: &Vec<u8>| matches!(m.as_slice(), b"GET" | b"POST" | b"HEAD");
        self.shape.is_none() && (self.methods.is_empty() || self.methods.iter().any(common))
    }

    /// All its regexes.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &RulePattern> {
        let regex = self.text.as_ref().and_then(|text| text.regex.as_ref());
        regex.into_iter().chain(self.unless.patterns())
    }
}

impl TextCondition {
    /// Whether a required word was found.
    fn may_hold(&self, bits: u16) -> bool {
        !self.has_words || self.fields & bits != 0
    }

    pub(super) fn holds<'a>(
        &self,
        bits: u16,
        unless: &Exceptions,
        field: &impl Fn(Field) -> &'a [u8],
    ) -> bool {
        let searched = if self.has_words {
            self.fields & bits
        } else {
            self.fields
        };
        fields(searched).any(|f| {
            self.regex
                .as_ref()
                .is_none_or(|regex| unless.matches_rest(regex, field(f)))
        })
    }
}

/// Facts about a request that conditions check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestFacts<'a> {
    /// The method as sent.
    pub method: &'a [u8],
    /// The path with `..` resolved.
    pub resolved: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
    /// Set when a rule uses the status.
    pub status_was_used: &'a Cell<bool>,
    /// Set when a rule checks for a user agent exception.
    pub exception_was_used: &'a Cell<bool>,
    /// Its shape, if it is unusual.
    pub shape: Option<RequestShape>,
}

impl RequestFacts<'_> {
    fn used_status(&self) -> Option<u16> {
        self.status_was_used.set(true);
        self.status
    }

    /// Whether the status means that nothing was answered; false without a status.
    pub(super) fn is_unanswered(&self) -> bool {
        !matches!(
            Outcome::from_status(self.used_status()),
            Outcome::Answered | Outcome::Unknown
        )
    }

    pub(super) fn has_agent_exception(&self, bits: u16) -> bool {
        self.exception_was_used.set(true);
        bits & bit::EXCEPTION != 0
    }
}

/// A range of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextSpan {
    /// The view.
    pub view: TextView,
    /// The range.
    pub range: Range<usize>,
}

/// A requirement of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requirement<'r> {
    /// A literal of this kind, a bit of [`bit`] above those of the fields.
    Literal(u16),
    /// One of these methods.
    Method(&'r [Vec<u8>]),
    /// One of these status codes.
    Status(&'r [u16]),
    /// This shape.
    Shape(RequestShape),
    /// One of its globs, in the resolved path.
    Glob(&'r str),
    /// One of its words in one of these fields, a mask of their bits.
    Word(u16),
    /// Its regex, in one of these fields: those with a word, if the rule has words and some were
    /// found.
    Regex(&'r str, u16),
    /// None of these words, or no match of this regex, in any of these fields.
    Not(&'r str, u16),
}

/// Whether a request meets a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequirementCheck<'r> {
    /// The requirement.
    pub requirement: Requirement<'r>,
    /// Whether the request meets it.
    pub holds: bool,
    /// The match of a regex, or of an exception.
    pub found: Option<TextSpan>,
}

impl Condition {
    /// All requirements of the rule, in order; all hold exactly if [`holds`](Self::holds) returns
    /// true.
    #[must_use]
    pub(crate) fn checks<'a>(
        &self,
        bits: u16,
        request: &RequestFacts<'a>,
        field: impl Fn(Field) -> &'a [u8],
    ) -> Vec<RequirementCheck<'_>> {
        let mut checks: Vec<_> = LITERALS
            .into_iter()
            .filter(|kind| self.needs & kind != 0)
            .map(|kind| {
                RequirementCheck::without_match(Requirement::Literal(kind), bits & kind != 0)
            })
            .collect();
        if !self.methods.is_empty() {
            checks.push(RequirementCheck::without_match(
                Requirement::Method(&self.methods),
                self.methods.iter().any(|m| m == request.method),
            ));
        }
        if !self.statuses.is_empty() {
            checks.push(RequirementCheck::without_match(
                Requirement::Status(&self.statuses),
                request.status.is_some_and(|s| self.statuses.contains(&s)),
            ));
        }
        if let Some(shape) = self.shape {
            checks.push(RequirementCheck::without_match(
                Requirement::Shape(shape),
                shape.includes(request.shape),
            ));
        }
        if let Some(globs) = &self.globs {
            let path = request.resolved;
            let found = globs.find(path).map(|start| TextSpan {
                view: TextView::Resolved,
                range: start..path.len(),
            });
            checks.push(RequirementCheck {
                requirement: Requirement::Glob(globs.text()),
                holds: found.is_some(),
                found,
            });
        }
        checks.extend(self.text_checks(bits, &field));
        checks.extend(self.exceptions(bits, request, &field));
        checks
    }

    fn text_checks<'a>(
        &self,
        bits: u16,
        field: &impl Fn(Field) -> &'a [u8],
    ) -> impl Iterator<Item = RequirementCheck<'_>> {
        let (mut words, mut regex) = (None, None);
        if let Some(text) = &self.text {
            let with_word = text.fields & bits;
            words = text.has_words.then(|| {
                RequirementCheck::without_match(Requirement::Word(text.fields), with_word != 0)
            });
            // Without a word, explain the rest of the rule anyway.
            let searched = if text.has_words && with_word != 0 {
                with_word
            } else {
                text.fields
            };
            regex = text.regex.as_ref().map(|pattern| {
                let found = find(|text| pattern.find(text), searched, field);
                RequirementCheck {
                    requirement: Requirement::Regex(pattern.source(), searched),
                    holds: found.is_some(),
                    found,
                }
            });
        }
        words.into_iter().chain(regex)
    }

    fn exceptions<'r, 'a>(
        &'r self,
        bits: u16,
        request: &RequestFacts<'a>,
        field: &impl Fn(Field) -> &'a [u8],
    ) -> impl Iterator<Item = RequirementCheck<'r>> {
        let unless = &self.unless;
        let exclusion = |source, fields, found: Option<TextSpan>| RequirementCheck {
            requirement: Requirement::Not(source, fields),
            holds: found.is_none(),
            found,
        };
        let fields_in_effect = if unless.removes_text()
            && self
                .text
                .as_ref()
                .is_some_and(|text| text.holds(bits, unless, field))
        {
            // The rest of the text matches without the exception.
            0
        } else {
            unless.fields_in_effect(request)
        };
        let uses_resolved_path = !unless.removes_text();
        let view = |f| {
            if uses_resolved_path && f == Field::Path {
                request.resolved
            } else {
                field(f)
            }
        };
        let word_check = |words: &'r WordSet, fields, in_fields| {
            exclusion(
                words.text(),
                fields,
                find(|text| words.find(text), in_fields, &view),
            )
        };
        let regex_check = |regex: &'r RulePattern, fields, in_fields| {
            exclusion(
                regex.source(),
                fields,
                find(|text| regex.find(text), in_fields, &view),
            )
        };
        let header_field = |field| {
            if unless.in_effect(request) {
                bit::of_field(field)
            } else {
                0
            }
        };
        let (agent, referer) = (Field::UserAgent, Field::Referer);
        let words = unless
            .words
            .as_ref()
            .map(|words| word_check(words, unless.fields, fields_in_effect));
        let regexes: Vec<_> = unless
            .regexes
            .iter()
            .map(|regex| regex_check(regex, unless.fields, fields_in_effect))
            .collect();
        let agents = unless
            .agents
            .as_ref()
            .map(|agents| word_check(agents, bit::of_field(agent), header_field(agent)));
        let referers = unless
            .referer
            .as_ref()
            .map(|regex| regex_check(regex, bit::of_field(referer), header_field(referer)));
        words
            .into_iter()
            .chain(regexes)
            .chain(agents)
            .chain(referers)
    }
}

/// The kinds of literals; a rule requires one literal of each kind that it has.
const LITERALS: [u16; 6] = [
    bit::PATHS,
    bit::SUFFIX,
    bit::GLOB,
    bit::AGENT,
    bit::PREFIX,
    bit::UNKNOWN,
];

impl<'r> RequirementCheck<'r> {
    fn without_match(requirement: Requirement<'r>, holds: bool) -> Self {
        Self {
            requirement,
            holds,
            found: None,
        }
    }
}

fn find<'a>(
    in_text: impl Fn(&[u8]) -> Option<Range<usize>>,
    mask: u16,
    field: &impl Fn(Field) -> &'a [u8],
) -> Option<TextSpan> {
    fields(mask)
        .map(|f| (f, in_text(field(f))))
        .find_map(|(f, range)| {
            Some(TextSpan {
                view: TextView::Field(f),
                range: range?,
            })
        })
}
