//! Regexes of built-in rules that were turned into automata when the program was built: a scan of a small log tries
//! a hundred and more, and to compile them took longer than the log.
//!
//! Where there is none, as for regexes that come to a large automaton, the regex is compiled when it is first tried. An
//! automaton says whether a regex matches, never where.

use regex_automata::Input;
use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::dense::DFA;

/// Each regex that has one, sorted, and where in [`TABLES`] its table begins and ends.
#[expect(clippy::unreadable_literal, reason = "nobody reads what the build writes")]
const BUILT: &[(&str, usize, usize)] = include!(concat!(env!("OUT_DIR"), "/automata.rs"));

/// The tables, each from a multiple of eight bytes on.
static TABLES: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/automata.bin")));

/// Lies in memory as tables have to.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

/// A regex that is ready to be tried.
#[derive(Debug)]
pub(super) struct Automaton(DFA<&'static [u32]>);

impl Automaton {
    /// That of a regex as written.
    pub(super) fn of(source: &str) -> Option<Self> {
        let at = BUILT.binary_search_by_key(&source, |(built, ..)| built).ok()?;
        let (_, start, end) = BUILT[at];
        DFA::from_bytes(&TABLES.0[start..end]).ok().map(|(table, _)| Self(table))
    }

    /// Whether the regex matches somewhere in `text`; `None` where the automaton cannot tell.
    pub(super) fn is_match(&self, text: &[u8]) -> Option<bool> {
        let found = self.0.try_search_fwd(&Input::new(text).earliest(true)).ok()?;
        Some(found.is_some())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern::Pattern;
    use super::*;

    #[test]
    fn most_regexes_have_an_automaton() {
        assert!(BUILT.len() > 200 && BUILT.is_sorted(), "{}", BUILT.len());
        assert!(BUILT.iter().all(|(source, ..)| Automaton::of(source).is_some()));
        assert!(Automaton::of("no built-in rule says this").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Texts made of pieces of the regex itself come near to what it looks for.
        #[test]
        fn an_automaton_equals_its_regex(picks in prop::collection::vec((any::<prop::sample::Index>(), 1..12_usize), 1..12)) {
            for (source, ..) in BUILT {
                let (automaton, pattern) = (Automaton::of(source).unwrap(), Pattern::later((*source).to_owned()));
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
