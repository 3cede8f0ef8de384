//! The exceptions of a rule (`unless`) and their limits: no text that a client can add to a request
//! hides one that was answered.
//!
//! A header exempts a request only if the status means that nothing was answered. In a rule with a
//! regex, an excepted text exempts only itself: it is removed, and the regex is searched in the
//! rest. In a rule without a regex, a match in the path exempts the request, as the server answered
//! that path; a match in another field works like a header.
//!
//! The words of an exception are searched one by one: there are one or two, in short texts, after
//! all other conditions.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use super::condition::RequestFacts;
use super::definition::{AnswerMeaning, Class, Definition, EXCEPTIONS, Field, fields};
use super::literals::bit;
use super::pattern::RulePattern;

/// The compiled `unless` of a rule.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// The fields that `words` and `regex` check: those of the rule.
    pub(super) fields: u16,
    pub(super) words: Option<WordSet>,
    /// The exceptions that rules have in common, and the rule's own regex.
    pub(super) regexes: Vec<Arc<RulePattern>>,
    pub(super) referer: Option<RulePattern>,
    /// A scan uses the bit [`bit::EXCEPTION`]; this finds the position.
    pub(super) agents: Option<WordSet>,
    /// The rule has a regex, which is searched in the rest of the text.
    removes_text: bool,
    /// An answer means nothing, so an exception cannot hide one.
    ignores_status: bool,
}

impl Exceptions {
    /// The exceptions of a rule; `common` has those that rules have in common.
    pub(super) fn new(d: &Definition, common: &CommonExceptions) -> Self {
        let unless = d.unless.clone().unwrap_or_default();
        let known = common
            .0
            .iter()
            .filter(|(name, _)| unless.known.iter().any(|known| known == name));
        Self {
            fields: d.field_mask(),
            words: WordSet::any_of(&unless.words),
            regexes: known
                .map(|(_, regex)| Arc::clone(regex))
                .chain(unless.regex.map(|own| Arc::new(RulePattern::lazy(own))))
                .collect(),
            referer: unless.referer.map(RulePattern::lazy),
            agents: WordSet::any_of(&unless.agents),
            removes_text: d.regex.is_some(),
            ignores_status: d.answer == Some(AnswerMeaning::Inconclusive)
                && !Class::is_payload(&d.class),
        }
    }

    /// All its regexes.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &RulePattern> {
        self.regexes.iter().map(Arc::as_ref).chain(&self.referer)
    }

    /// Whether `regex` matches a text, and still matches after excepted parts are removed.
    #[inline]
    pub(super) fn matches_rest(&self, regex: &RulePattern, text: &[u8]) -> bool {
        regex.is_match(text) && self.rest_of(text).is_none_or(|rest| regex.is_match(&rest))
    }

    /// A text without its excepted parts; `None` if it has none.
    fn rest_of(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !self.removes_text || !self.occurs_in(text) {
            return None;
        }
        let words = self.words.iter().flat_map(|words| words.find_all(text));
        let mut excepted: Vec<Range<usize>> = words
            .chain(self.regexes.iter().flat_map(|regex| regex.find_all(text)))
            .collect();
        excepted.sort_unstable_by_key(|range| range.start);
        let (mut rest, mut from) = (Vec::with_capacity(text.len()), 0);
        for range in excepted {
            rest.extend_from_slice(&text[from..range.start.max(from)]);
            from = from.max(range.end);
            // Keep the parameters on either side apart.
            let is_between = range.start > 0 && range.end < text.len();
            if is_between && (text[range.start] == b'&' || text[range.end - 1] == b'&') {
                rest.push(b'&');
            }
        }
        rest.extend_from_slice(&text[from..]);
        Some(rest)
    }

    /// Whether a text has an excepted part.
    fn occurs_in(&self, text: &[u8]) -> bool {
        self.words
            .as_ref()
            .is_some_and(|words| words.is_match(text))
            || self.regexes.iter().any(|regex| regex.is_match(text))
    }

    /// Whether the whole request is exempted. It reads the status before a header, and reads
    /// neither if neither matters.
    pub(super) fn applies<'a>(
        &self,
        bits: u16,
        request: &RequestFacts<'a>,
        field: &impl Fn(Field) -> &'a [u8],
    ) -> bool {
        self.text_exempts(request, field)
            || (self.agents.is_some()
                && self.in_effect(request)
                && request.has_agent_exception(bits))
            || self.referer.as_ref().is_some_and(|regex| {
                self.in_effect(request) && regex.is_match(field(Field::Referer))
            })
    }

    /// Whether words or the regex exempt a request of a rule without its own regex.
    fn text_exempts<'a>(
        &self,
        request: &RequestFacts<'a>,
        field: &impl Fn(Field) -> &'a [u8],
    ) -> bool {
        if self.removes_text || (self.words.is_none() && self.regexes.is_empty()) {
            return false;
        }
        fields(self.fields).any(|f| match f {
            Field::Path => self.occurs_in(request.resolved),
            Field::Referer | Field::UserAgent => {
                self.in_effect(request) && self.occurs_in(field(f))
            }
            _ => self.occurs_in(field(f)) && self.in_effect(request),
        })
    }

    /// Whether text that a client can add to any request may exempt this one.
    pub(super) fn in_effect(&self, request: &RequestFacts<'_>) -> bool {
        self.ignores_status || request.is_unanswered()
    }

    /// The fields in which words and the regex may exempt a request.
    pub(super) fn fields_in_effect(&self, request: &RequestFacts<'_>) -> u16 {
        if self.removes_text || self.in_effect(request) {
            self.fields
        } else {
            self.fields & bit::of_field(Field::Path)
        }
    }

    /// Whether excepted text is removed, instead of exempting the whole request.
    pub(super) fn removes_text(&self) -> bool {
        self.removes_text
    }
}

/// The exceptions that rules have in common, by name. Rules share them, so that each is compiled
/// once.
pub(super) struct CommonExceptions(Vec<(&'static str, Arc<RulePattern>)>);

impl CommonExceptions {
    pub(super) fn new() -> Self {
        Self(
            EXCEPTIONS
                .iter()
                .map(|(name, regex)| (*name, Arc::new(RulePattern::lazy((*regex).to_owned()))))
                .collect(),
        )
    }
}

/// Words in lower case.
#[derive(Debug)]
pub(super) struct WordSet {
    words: Vec<String>,
    /// All of them as text, for `explain`.
    text: String,
}

impl WordSet {
    /// A set of these words; `None` if there are none.
    pub(super) fn any_of(words: &[String]) -> Option<Self> {
        let words: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        (!words.is_empty()).then(|| Self {
            text: words.join("|"),
            words,
        })
    }

    /// Whether one of them is in `text`.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.words
            .iter()
            .any(|word| memmem::find(text, word.as_bytes()).is_some())
    }

    /// The leftmost match.
    pub(super) fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let found = self
            .words
            .iter()
            .filter_map(|word| memmem::find(text, word.as_bytes()).map(|at| at..at + word.len()));
        found.min_by_key(|range| range.start)
    }

    /// All matches.
    pub(super) fn find_all(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let matches_of = move |word: &'_ String| {
            let length = word.len();
            memmem::find_iter(text, word.as_bytes())
                .map(move |at| at..at + length)
                .collect::<Vec<_>>()
        };
        self.words.iter().flat_map(matches_of)
    }

    /// The words, with `|` between them.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceptions(unless: &str) -> Exceptions {
        let rule = format!(
            "id = 'x/y'\ntitle = 'T'\nclass = 'sqli'\nseverity = 'low'\nwords = ['z']\nregex = 'z'\nunless = {unless}"
        );
        Exceptions::new(&toml::from_str(&rule).unwrap(), &CommonExceptions::new())
    }

    #[test]
    fn only_the_excepted_text_is_removed() {
        for (unless, text, rest) in [
            ("{ words = ['bc', 'cd'] }", "abcde bc", Some("ae ")),
            (
                "{ regex = '(?:^|&)q=[a-z]*' }",
                "q=ab&x=1&q=cd",
                Some("&x=1"),
            ),
            (
                "{ regex = '(?:^|&)q=[a-z]*' }",
                "x=1&q=ab&y=2",
                Some("x=1&&y=2"),
            ),
            (
                "{ regex = '(?:^|&)q=[a-z]*(?:&|$)' }",
                "x=1&q=ab&y=2",
                Some("x=1&y=2"),
            ),
            ("{ regex = '^/docs/[a-z]*$' }", "/docs/ab", Some("")),
            ("{ regex = '^/docs/[a-z]*$' }", "/docs/ab?c=1", None),
            ("{ words = ['x'], regex = '[a-c]' }", "axbyc", Some("y")),
            ("{ agents = ['x'], referer = 'x' }", "x", None),
        ] {
            assert_eq!(
                exceptions(unless).rest_of(text.as_bytes()).as_deref(),
                rest.map(str::as_bytes),
                "{unless} {text}"
            );
        }
    }

    #[test]
    fn the_leftmost_counts() {
        let words = WordSet::any_of(&["CD".to_owned(), "b".to_owned(), "bc".to_owned()]).unwrap();
        assert_eq!(
            (words.find(b"abcd"), words.is_match(b"abcd")),
            (Some(1..2), true)
        );
        assert_eq!((words.find(b"acd"), words.find(b"ac")), (Some(1..3), None));
        assert!(WordSet::any_of(&[]).is_none() && !words.is_match(b""));
    }
}
