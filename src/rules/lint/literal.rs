//! The literals of a rule by kind, and its other conditions.
//!
//! Compares rules as written: equivalent rules with different texts are not recognised.

use super::super::definition::{Definition, Field, OneOrMany};
use super::super::glob;
use super::super::literals::bit;
use crate::finding::Severity;

/// The lists of literals of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LiteralList {
    Paths,
    Suffixes,
    Globs,
    Words,
    Agents,
    Prefixes,
}

impl LiteralList {
    pub(super) const ALL: [Self; 6] = [Self::Paths, Self::Suffixes, Self::Globs, Self::Words, Self::Agents, Self::Prefixes];

    /// The key in rule files.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::Suffixes => "suffixes",
            Self::Globs => "path_glob",
            Self::Words => "words",
            Self::Agents => "agents",
            Self::Prefixes => "raw_prefixes",
        }
    }

    /// The literals of a rule, as written.
    pub(super) fn of(self, d: &Definition) -> &[String] {
        match self {
            Self::Paths => &d.paths,
            Self::Suffixes => &d.suffixes,
            Self::Globs => &d.path_glob.0,
            Self::Words => &d.words,
            Self::Agents => &d.agents,
            Self::Prefixes => &d.raw_prefixes,
        }
    }

    fn clear(self, d: &mut Definition) {
        match self {
            Self::Paths => d.paths.clear(),
            Self::Suffixes => d.suffixes.clear(),
            Self::Globs => d.path_glob = OneOrMany(Vec::new()),
            Self::Words => d.words.clear(),
            Self::Agents => d.agents.clear(),
            Self::Prefixes => d.raw_prefixes.clear(),
        }
    }

    /// The text that the literal search uses.
    pub(super) fn literal(self, text: &str) -> String {
        if self == Self::Globs { glob::anchor(text).to_ascii_lowercase() } else { text.to_ascii_lowercase() }
    }
}

/// All conditions of a rule except one of its lists, as a text to compare. New keys of rules are included automatically.
pub(super) fn besides(list: LiteralList, definition: &Definition) -> String {
    let mut rest = asked(definition);
    list.clear(&mut rest);
    format!("{rest:?}")
}

/// Whether a rule has no condition but this list and its fields.
pub(super) fn is_alone(list: LiteralList, definition: &Definition) -> bool {
    let mut rest = asked(definition);
    list.clear(&mut rest);
    rest.at = None;
    rest.fields = None;
    blank().is_some_and(|blank| format!("{rest:?}") == format!("{blank:?}"))
}

/// The fields of a rule's words, as bits.
pub(super) fn fields(definition: &Definition) -> u16 {
    definition.fields().iter().fold(0, |mask, field: &Field| mask | bit::of_field(*field))
}

/// A rule without its metadata.
fn asked(definition: &Definition) -> Definition {
    let mut d = definition.clone();
    let texts = !d.words.is_empty() || d.regex.is_some() || d.unless.is_some();
    d.fields = texts.then(|| definition.fields().to_vec());
    if let Some(blank) = blank() {
        (d.id, d.title, d.class, d.severity, d.answer) = (blank.id, blank.title, blank.class, Severity::Info, None);
    }
    for list in [&mut d.cve, &mut d.attack, &mut d.references, &mut d.false_positives] {
        list.clear();
    }
    d.cwe.clear();
    d.must_match.clear();
    d.must_not_match.clear();
    d
}

/// A rule without conditions.
fn blank() -> Option<Definition> {
    toml::from_str("id = ''\ntitle = ''\nclass = ''\nseverity = 'info'").ok()
}
