//! Why one rule matches a request or not. Plain data; `report` renders it.

use crate::finding::{RuleId, Severity};
use crate::normalize::AltDecoding;
use crate::rules::{Field, Requirement, RequirementCheck, TextSpan, TextView, bit};

/// Why one rule matches a request or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleExplanation<'r> {
    /// The rule.
    pub rule: RuleId,
    /// Its requirements, checked.
    pub checks: Vec<RequirementCheck<'r>>,
    /// Its literals that were found, those in the right place first.
    pub seen: Vec<FoundLiteral>,
    /// A scan checks the rule: one of its literals is in the right place, or it has none.
    pub is_candidate: bool,
    /// The alternative decoding that it matches.
    pub alternative: Option<AlternativeDecoding>,
    /// Why a scan would not report the match.
    pub suppressed_by: Option<SuppressedBy>,
}

/// An alternative decoding of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlternativeDecoding {
    /// The target or a header.
    pub field: Field,
    /// The kind of decoding.
    pub reading: AlternativeKind,
    /// The decoded text.
    pub text: Vec<u8>,
}

/// The kind of an alternative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlternativeKind {
    /// As a database, a shell or a script reads it.
    Run(AltDecoding),
    /// As a server without fragments reads it: `#` is a byte of the path.
    Fragment,
}

/// A literal that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLiteral {
    /// Where.
    pub span: TextSpan,
    /// The kinds of literal it can be; bits of [`bit`].
    pub wanted: u16,
    /// Whether it is where the rule requires it.
    pub counts: bool,
}

/// Why a match is not reported, or not alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressedBy {
    /// The rule is below `--min-severity`.
    BelowMinSeverity {
        /// The severity of the hit.
        severity: Severity,
        /// The level.
        least: Severity,
    },
    /// The rule is app evidence.
    Sign,
    /// The request is ordinary on a site that runs this app, which `--app` names.
    App(RuleId),
    /// It counts only if its client made other requests as well.
    Client,
    /// It counts only as one of many within a window.
    Window,
}

impl<'r> RuleExplanation<'r> {
    /// Whether the rule matches.
    #[must_use]
    pub fn matches(&self) -> bool {
        self.alternative.is_some() || self.matches_itself()
    }

    /// Whether the rule matches the request as it is decoded.
    #[must_use]
    pub fn matches_itself(&self) -> bool {
        self.is_candidate && self.checks.iter().all(|check| check.holds)
    }

    /// The requirements that are not met.
    pub fn missing(&self) -> impl Iterator<Item = &RequirementCheck<'r>> {
        self.checks.iter().filter(|check| !check.holds)
    }

    /// Where parts of the rule were found, and by what: literals in the right place, then regexes. Words count only in a field
    /// where the regex was tried.
    #[must_use]
    pub fn spans(&self) -> Vec<(FoundBy, &TextSpan)> {
        let literals = self.seen.iter().filter(|seen| seen.counts).map(|seen| (FoundBy::Literal(seen.wanted), &seen.span));
        let regexes = self.checks.iter().filter_map(|check| Some((FoundBy::of(check)?, check.found.as_ref()?)));
        let matched = self.checks.iter().find(|check| matches!(check.asks, Requirement::Regex(..))).and_then(|check| check.found.as_ref());
        let is_beside = |mark: FoundBy, span: &TextSpan| match (mark, matched) {
            (FoundBy::Literal(wanted), Some(regex)) => wanted >= bit::PATHS || span.view == regex.view,
            _ => true,
        };
        literals.chain(regexes).filter(|(mark, span)| is_beside(*mark, span)).collect()
    }

    /// How far the rule is from a match: missing requirements, then the length of the literals found.
    pub(super) fn distance(&self) -> (usize, usize) {
        (self.lacks(), usize::MAX - self.longest(true).max(self.longest(false)))
    }

    /// Whether the rule nearly matches: a distinctive literal is in the right place and little is missing, or only the place is
    /// wrong.
    pub(super) fn is_near(&self) -> bool {
        match self.lacks() {
            1 => self.longest(true) >= TELLING || self.longest(false) > TELLING,
            2 => self.longest(true) >= TELLING,
            _ => false,
        }
    }

    /// The missing requirements that do not follow from others: a regex is tried only where a word was found.
    pub fn lacking(&self) -> impl Iterator<Item = &RequirementCheck<'r>> {
        let is_missing = |asks: fn(&Requirement<'_>) -> bool| self.missing().any(|check| asks(&check.asks));
        let no_word = is_missing(|asks| matches!(asks, Requirement::Word(_)));
        let no_glob = is_missing(|asks| matches!(asks, Requirement::Literal(bit::GLOB)));
        let follows = move |asks: &Requirement<'_>| {
            matches!(asks, Requirement::Regex(..)) && no_word || matches!(asks, Requirement::Glob(_)) && no_glob
        };
        self.missing().filter(move |check| !follows(&check.asks))
    }

    fn lacks(&self) -> usize {
        self.lacking().count()
    }

    /// The longest literal that was found in the right place, or in another one.
    fn longest(&self, counts: bool) -> usize {
        let elsewhere = |seen: &&FoundLiteral| !matches!(seen.span.view, TextView::Field(Field::Raw | Field::Method));
        let seen = self.seen.iter().filter(|seen| seen.counts == counts).filter(|seen| counts || elsewhere(seen));
        seen.map(|seen| seen.span.range.len()).max().unwrap_or(0)
    }
}

/// The shortest distinctive literal: `/.` occurs in every hidden file.
const TELLING: usize = 4;

/// The kind of pattern that a span was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundBy {
    /// A literal; bits of [`bit`] say of what kind.
    Literal(u16),
    /// A glob.
    Glob,
    /// The regex.
    Regex,
    /// An exception.
    Unless,
}

impl FoundBy {
    fn of(check: &RequirementCheck<'_>) -> Option<Self> {
        match check.asks {
            Requirement::Glob(_) => Some(Self::Glob),
            Requirement::Regex(..) => Some(Self::Regex),
            Requirement::Not(..) => Some(Self::Unless),
            _ => None,
        }
    }

    /// The key in rule files.
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

/// The key of a kind of literal in rule files.
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

/// Whether these bits can come from a literal in this view.
pub(super) fn leaves(bits: u16, view: TextView) -> bool {
    let kinds = match view {
        TextView::Resolved => bit::PATHS | bit::SUFFIX | bit::GLOB,
        TextView::Field(Field::UserAgent) => bit::AGENT | bit::of_field(Field::UserAgent),
        TextView::Field(Field::Raw) => bit::PREFIX | bit::of_field(Field::Raw),
        TextView::Field(field) => bit::of_field(field),
    };
    bits & kinds != 0
}
