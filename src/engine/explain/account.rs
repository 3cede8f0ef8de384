//! What one rule says of a request, and by what: plain data to be told in words elsewhere.

use crate::finding::{RuleId, Severity};
use crate::normalize::Reading;
use crate::rules::{Asks, Check, Field, Span, View, bit};

/// What one rule says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account<'r> {
    /// The rule.
    pub rule: RuleId,
    /// Everything it asks for.
    pub checks: Vec<Check<'r>>,
    /// Its literals that were found, those that count first.
    pub seen: Vec<Seen>,
    /// A scan asks the rule at all: one of its literals stands where it must, or it has none.
    pub is_candidate: bool,
    /// The reading of a text that it matches, whatever it says of the text itself.
    pub reread: Option<Reread>,
    /// Why a scan would not report it though it matches.
    pub withheld: Option<Withheld>,
}

/// A text read again, as the one who runs it might.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reread {
    /// The target or a header.
    pub field: Field,
    /// How.
    pub reading: RereadAs,
    /// What it says then.
    pub text: Vec<u8>,
}

/// How a text is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RereadAs {
    /// As the program does that runs it.
    Run(Reading),
    /// As a server does that knows no fragments: `#` is a byte of the path.
    Fragment,
}

/// A literal that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Where.
    pub span: Span,
    /// What it may be for; bits of [`bit`].
    pub wanted: u16,
    /// Whether it stands where the rule wants it.
    pub counts: bool,
}

/// Why a match is not reported, or not by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// The rule is below the level that is reported.
    BelowMinSeverity {
        /// The severity of the hit.
        severity: Severity,
        /// The level.
        least: Severity,
    },
    /// It is no rule but the sign of an app.
    Sign,
    /// It is ordinary on a site that runs this app, and that is said to run.
    App(RuleId),
    /// It counts only where its client asked for other things as well.
    Client,
    /// It is one of many that are told of together.
    Window,
}

impl<'r> Account<'r> {
    /// Whether the rule matches.
    #[must_use]
    pub fn matches(&self) -> bool {
        self.reread.is_some() || self.matches_itself()
    }

    /// Whether the rule matches the request as it is decoded.
    #[must_use]
    pub fn matches_itself(&self) -> bool {
        self.is_candidate && self.checks.iter().all(|check| check.holds)
    }

    /// What does not hold.
    pub fn missing(&self) -> impl Iterator<Item = &Check<'r>> {
        self.checks.iter().filter(|check| !check.holds)
    }

    /// What was found of the rule, with the kind of literal or regex that it is: literals that count, then regexes; of a
    /// word only what stands in a field where the regex was tried.
    #[must_use]
    pub fn spans(&self) -> Vec<(Mark, &Span)> {
        let literals = self.seen.iter().filter(|seen| seen.counts).map(|seen| (Mark::Literal(seen.wanted), &seen.span));
        let regexes = self.checks.iter().filter_map(|check| Some((Mark::of(check)?, check.found.as_ref()?)));
        let matched = self.checks.iter().find(|check| matches!(check.asks, Asks::Regex(..))).and_then(|check| check.found.as_ref());
        let is_beside = |mark: Mark, span: &Span| match (mark, matched) {
            (Mark::Literal(wanted), Some(regex)) => wanted >= bit::PATHS || span.view == regex.view,
            _ => true,
        };
        literals.chain(regexes).filter(|(mark, span)| is_beside(*mark, span)).collect()
    }

    /// How far the rule is from matching: what it lacks, then how little of it was seen.
    pub(super) fn distance(&self) -> (usize, usize) {
        (self.lacks(), usize::MAX - self.longest(true).max(self.longest(false)))
    }

    /// Whether a reader may wonder why the rule does not match: a telling part of it stands where it must and little is
    /// lacking, or nothing is lacking but that it stands there.
    pub(super) fn is_near(&self) -> bool {
        match self.lacks() {
            1 => self.longest(true) >= TELLING || self.longest(false) > TELLING,
            2 => self.longest(true) >= TELLING,
            _ => false,
        }
    }

    /// What is missing of itself, and not for something else that is missing: a regex needs a word to be tried at.
    pub fn lacking(&self) -> impl Iterator<Item = &Check<'r>> {
        let is_missing = |asks: fn(&Asks<'_>) -> bool| self.missing().any(|check| asks(&check.asks));
        let no_word = is_missing(|asks| matches!(asks, Asks::Word(_)));
        let no_glob = is_missing(|asks| matches!(asks, Asks::Literal(bit::GLOB)));
        let follows = move |asks: &Asks<'_>| matches!(asks, Asks::Regex(..)) && no_word || matches!(asks, Asks::Glob(_)) && no_glob;
        self.missing().filter(move |check| !follows(&check.asks))
    }

    fn lacks(&self) -> usize {
        self.lacking().count()
    }

    /// The longest literal that was seen where it counts, or elsewhere in a part of the request.
    fn longest(&self, counts: bool) -> usize {
        let elsewhere = |seen: &&Seen| !matches!(seen.span.view, View::Field(Field::Raw | Field::Method));
        let seen = self.seen.iter().filter(|seen| seen.counts == counts).filter(|seen| counts || elsewhere(seen));
        seen.map(|seen| seen.span.range.len()).max().unwrap_or(0)
    }
}

/// Letters of a literal that say something: `/.` stands in every hidden file.
const TELLING: usize = 4;

/// What a place was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A literal; bits of [`bit`] say of what kind.
    Literal(u16),
    /// A glob.
    Glob,
    /// The regex.
    Regex,
    /// What excuses the request.
    Unless,
}

impl Mark {
    fn of(check: &Check<'_>) -> Option<Self> {
        match check.asks {
            Asks::Glob(_) => Some(Self::Glob),
            Asks::Regex(..) => Some(Self::Regex),
            Asks::Not(..) => Some(Self::Unless),
            _ => None,
        }
    }

    /// What rule files call it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Literal(kind) => literal(kind),
            Self::Glob => "path_glob",
            Self::Regex => "regex",
            Self::Unless => "unless",
        }
    }
}

/// What rule files call a kind of literal.
#[must_use]
pub fn literal(kind: u16) -> &'static str {
    match kind {
        bit::PATHS => "paths",
        bit::SUFFIX => "suffixes",
        bit::GLOB => "path_glob",
        bit::AGENT => "agents",
        bit::PREFIX => "raw_prefixes",
        _ => "words",
    }
}

/// Whether these marks were left for what stands in this view.
pub(super) fn leaves(bits: u16, view: View) -> bool {
    let kinds = match view {
        View::Resolved => bit::PATHS | bit::SUFFIX | bit::GLOB,
        View::Field(Field::UserAgent) => bit::AGENT | bit::of_field(Field::UserAgent),
        View::Field(Field::Raw) => bit::PREFIX | bit::of_field(Field::Raw),
        View::Field(field) => bit::of_field(field),
    };
    bits & kinds != 0
}
