//! Automata of built-in regexes, compiled at build time: a scan of a small log uses more than a hundred regexes, and compiling them
//! took longer than the scan.
//!
//! The tables are embedded compressed, as they have many repeats. Regexes with a large automaton have none here and are compiled at
//! first use. An automaton finds whether a regex matches, not where.

use regex_automata::Input;
use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::dense::DFA;

use super::builtin::decompressed;

/// The regexes with an automaton, sorted, and the range of each compressed table in [`TABLES`].
#[expect(clippy::unreadable_literal, reason = "generated code")]
const BUILT: &[(&str, usize, usize)] = include!(concat!(env!("OUT_DIR"), "/automata.rs"));

/// The compressed tables.
static TABLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/automata.bin"));

/// A compiled automaton.
#[derive(Debug)]
pub(super) struct Automaton(DFA<Vec<u32>>);

impl Automaton {
    /// The automaton of a regex.
    pub(super) fn of(source: &str) -> Option<Self> {
        let at = BUILT.binary_search_by_key(&source, |(built, ..)| built).ok()?;
        let (_, start, end) = BUILT[at];
        // Allocators align buffers of this size to eight bytes or more; with one that does not, the regex is compiled.
        let table = decompressed(&TABLES[start..end]);
        DFA::from_bytes(&table).ok().map(|(table, _)| Self(table.to_owned()))
    }

    /// Whether the regex matches somewhere in `text`; `None` if the automaton gives up.
    pub(super) fn is_match(&self, text: &[u8]) -> Option<bool> {
        let found = self.0.try_search_fwd(&Input::new(text).earliest(true)).ok()?;
        Some(found.is_some())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern::RulePattern;
    use super::*;

    #[test]
    fn most_regexes_have_an_automaton() {
        assert!(BUILT.len() > 200 && BUILT.is_sorted(), "{}", BUILT.len());
        assert!(BUILT.iter().all(|(source, ..)| Automaton::of(source).is_some()));
        assert!(Automaton::of("not a built-in regex").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Texts made of pieces of the regex often match nearly or completely.
        #[test]
        fn an_automaton_equals_its_regex(picks in prop::collection::vec((any::<prop::sample::Index>(), 1..12_usize), 1..12)) {
            for (source, ..) in BUILT {
                let (automaton, pattern) = (Automaton::of(source).unwrap(), RulePattern::later((*source).to_owned()));
                let piece = |(at, length): &(prop::sample::Index, usize)| {
                    let at = at.index(source.len());
                    source.as_bytes()[at..].iter().take(*length).copied().filter(|byte| !b"\\?()[]|^$".contains(byte)).collect::<Vec<_>>()
                };
                let text = picks.iter().map(piece).collect::<Vec<_>>().concat().to_ascii_lowercase();
                prop_assert_eq!(automaton.is_match(&text), Some(pattern.find(&text).is_some()), "{} on {:?}", source, text);
            }
        }
    }
}
