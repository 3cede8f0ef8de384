//! What a rule says with `unless`, and how far that goes: what a client writes never hides a request that was answered.
//!
//! A header excuses a request only where the status says that nothing was answered. A text excuses itself and nothing
//! beside it: it is struck out, and the rule is tried on what is left. A rule without a regex has nothing to try; there the
//! path excuses, for it is what was asked for, and any other field does what a header does.

use std::ops::Range;

use super::condition::{RequestFacts, fields};
use super::definition::{Answer, Definition, Field, PAYLOADS};
use super::literals::bit;
use super::pattern::Pattern;
use super::word_set::WordSet;

/// The `unless` of a rule.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// Where `words` and `regex` look: where those of the rule do.
    pub(super) fields: u16,
    pub(super) words: Option<WordSet>,
    pub(super) regex: Option<Pattern>,
    pub(super) referer: Option<Pattern>,
    /// A scan goes by the mark [`bit::EXCEPTION`], this says where.
    pub(super) agents: Option<WordSet>,
    /// The rule has a regex, which is tried again on what is left.
    removes_text: bool,
    /// An answer tells nothing: no answer is lost with an excuse.
    ignores_status: bool,
}

impl Exceptions {
    pub(super) fn of(d: &Definition) -> Self {
        let unless = d.unless.clone().unwrap_or_default();
        Self {
            fields: d.fields().iter().fold(0, |mask, f| mask | bit::of_field(*f)),
            words: WordSet::any_of(&unless.words),
            regex: unless.regex.map(Pattern::later),
            referer: unless.referer.map(Pattern::later),
            agents: WordSet::any_of(&unless.agents),
            removes_text: d.regex.is_some(),
            ignores_status: d.answer == Some(Answer::Inconclusive) && !PAYLOADS.contains(&d.class.as_str()),
        }
    }

    /// All its regexes.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.regex.iter().chain(&self.referer)
    }

    /// Whether `regex` matches a text, and matches it still when what excuses itself is struck out.
    #[inline]
    pub(super) fn matches_rest(&self, regex: &Pattern, text: &[u8]) -> bool {
        regex.is_match(text) && self.rest_of(text).is_none_or(|rest| regex.is_match(&rest))
    }

    /// What is left of a text; `None` where nothing in it excuses itself.
    fn rest_of(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !self.removes_text || !self.is_in(text) {
            return None;
        }
        let words = self.words.iter().flat_map(|words| words.find_all(text));
        let mut struck: Vec<Range<usize>> = words.chain(self.regex.iter().flat_map(|regex| regex.find_all(text))).collect();
        struck.sort_unstable_by_key(|range| range.start);
        let (mut rest, mut from) = (Vec::with_capacity(text.len()), 0);
        for range in struck {
            rest.extend_from_slice(&text[from..range.start.max(from)]);
            from = from.max(range.end);
            // The parameters on either side stay two.
            let is_between = range.start > 0 && range.end < text.len();
            if is_between && (text[range.start] == b'&' || text[range.end - 1] == b'&') {
                rest.push(b'&');
            }
        }
        rest.extend_from_slice(&text[from..]);
        Some(rest)
    }

    /// Whether something in a text may excuse.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.words.as_ref().is_some_and(|words| words.is_match(text)) || self.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Whether a request is excused as a whole. It asks for the status before it looks at a header, and for neither where
    /// neither matters.
    pub(super) fn applies<'a>(&self, marks: u16, request: &RequestFacts<'a>, field: &impl Fn(Field) -> &'a [u8]) -> bool {
        self.by_text(request, field)
            || (self.agents.is_some() && self.in_effect(request) && request.has_agent_exception(marks))
            || self.referer.as_ref().is_some_and(|regex| self.in_effect(request) && regex.is_match(field(Field::Referer)))
    }

    /// Whether words or the regex excuse a request to a rule that has no regex of its own.
    fn by_text<'a>(&self, request: &RequestFacts<'a>, field: &impl Fn(Field) -> &'a [u8]) -> bool {
        if self.removes_text || (self.words.is_none() && self.regex.is_none()) {
            return false;
        }
        fields(self.fields).any(|f| match f {
            Field::Path => self.is_in(request.resolved),
            Field::Referer | Field::UserAgent => self.in_effect(request) && self.is_in(field(f)),
            _ => self.is_in(field(f)) && self.in_effect(request),
        })
    }

    /// Whether what a client may add to any request excuses this one: nothing was answered.
    fn in_effect(&self, request: &RequestFacts<'_>) -> bool {
        self.ignores_status || request.is_unanswered()
    }

    /// The fields in which words and the regex may excuse a request.
    pub(super) fn fields_in_effect(&self, request: &RequestFacts<'_>) -> u16 {
        if self.removes_text || self.in_effect(request) { self.fields } else { self.fields & bit::of_field(Field::Path) }
    }

    /// Whether a header may excuse a request.
    pub(super) fn headers_in_effect(&self, request: &RequestFacts<'_>) -> bool {
        self.in_effect(request)
    }

    /// Whether what excuses itself is struck out, rather than a request excused as a whole.
    pub(super) fn removes_text(&self) -> bool {
        self.removes_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceptions(unless: &str) -> Exceptions {
        let rule = format!("id = 'x/y'\ntitle = 'T'\nclass = 'sqli'\nseverity = 'low'\nwords = ['z']\nregex = 'z'\nunless = {unless}");
        Exceptions::of(&toml::from_str(&rule).unwrap())
    }

    #[test]
    fn only_the_excepted_text_is_removed() {
        for (unless, text, rest) in [
            ("{ words = ['bc', 'cd'] }", "abcde bc", Some("ae ")),
            ("{ regex = '(?:^|&)q=[a-z]*' }", "q=ab&x=1&q=cd", Some("&x=1")),
            ("{ regex = '(?:^|&)q=[a-z]*' }", "x=1&q=ab&y=2", Some("x=1&&y=2")),
            ("{ regex = '(?:^|&)q=[a-z]*(?:&|$)' }", "x=1&q=ab&y=2", Some("x=1&y=2")),
            ("{ regex = '^/docs/[a-z]*$' }", "/docs/ab", Some("")),
            ("{ regex = '^/docs/[a-z]*$' }", "/docs/ab?c=1", None),
            ("{ words = ['x'], regex = '[a-c]' }", "axbyc", Some("y")),
            ("{ agents = ['x'], referer = 'x' }", "x", None),
        ] {
            assert_eq!(exceptions(unless).rest_of(text.as_bytes()).as_deref(), rest.map(str::as_bytes), "{unless} {text}");
        }
    }
}
