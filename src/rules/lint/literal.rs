//! The literals of a rule by kind, and what of the rule there is besides them.
//!
//! Compares rules as they are written: two that look for the same in other words are not seen to be the same.

use super::super::definition::{Definition, Field, OneOrMany};
use super::super::glob;
use super::super::literals::bit;
use crate::finding::Severity;

/// The lists of literals a rule may have.
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

    /// The key of a rule file.
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

    /// The literals of a rule, as they are written.
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

    /// What the automaton looks for.
    pub(super) fn literal(self, text: &str) -> String {
        if self == Self::Globs { glob::anchor(text).to_ascii_lowercase() } else { text.to_ascii_lowercase() }
    }
}

/// Everything a rule asks for but one of its lists, as a text to compare. A key that is added to rules is in it by itself.
pub(super) fn besides(list: LiteralList, definition: &Definition) -> String {
    let mut rest = asked(definition);
    list.clear(&mut rest);
    format!("{rest:?}")
}

/// Whether a rule asks for one of the literals of this list in these fields and for nothing else.
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

/// A rule without what it says of itself.
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

/// A rule that asks for nothing.
fn blank() -> Option<Definition> {
    toml::from_str("id = ''\ntitle = ''\nclass = ''\nseverity = 'info'").ok()
}
