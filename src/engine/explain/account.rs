//! What one rule says of a request, and by what: plain data to be told in words elsewhere.

use crate::finding::{RuleId, Severity};
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
    /// Why a scan would not report it though it matches.
    pub withheld: Option<Withheld>,
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

/// Why a match is not reported. What depends on other lines (an app that was recognised, what else a client asked for)
/// belongs here as well, one variant each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// The rule is below the level that is reported.
    BelowMinSeverity {
        /// The severity of the hit.
        severity: Severity,
        /// The level.
        least: Severity,
    },
}

impl<'r> Account<'r> {
    /// Whether the rule matches.
    #[must_use]
    pub fn matches(&self) -> bool {
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
        let longest = self.seen.iter().map(|seen| seen.span.range.len()).max().unwrap_or(0);
        (self.missing().count(), usize::MAX - longest)
    }
}

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

    /// The word of rule files for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Literal(kind) if kind & bit::PATHS != 0 => "path",
            Self::Literal(kind) if kind & bit::SUFFIX != 0 => "suffix",
            Self::Literal(kind) if kind & bit::AGENT != 0 => "agent",
            Self::Literal(kind) if kind & bit::PREFIX != 0 => "prefix",
            Self::Literal(kind) if kind & bit::GLOB != 0 => "glob",
            Self::Literal(_) => "word",
            Self::Glob => "glob",
            Self::Regex => "regex",
            Self::Unless => "unless",
        }
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
