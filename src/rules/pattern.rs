//! A regex of a rule, with a size limit: the regex crate guarantees linear time, and the limit
//! keeps the constant small.
//!
//! Rules match lower-case text, and a case-insensitive regex takes four times as long to compile.
//! So a regex without capital letters is compiled case-sensitively (see
//! [`case_folding`](super::case_folding)).
//!
//! Small patterns of built-in rules are embedded as automata, which the build script compiles: a
//! scan of a small log uses more than a hundred regexes, and compiling them took longer than the
//! scan. Others are compiled at first use, as a scan uses few of them, and only as far as to find
//! whether they match, which takes half the time of a whole regex; tests compile all. Patterns of a
//! user's rules are compiled at load, so that errors are reported before the scan.

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use flate2::{Decompress, FlushDecompress};
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::dense::DFA;
use regex_automata::hybrid::dfa::{self as lazy, Cache};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;

use super::case_folding;

/// The largest compiled size of a regex in bytes. `\w{1,500}` needs a fortieth of it.
const MAX_COMPILED_SIZE: usize = 1 << 19;
/// The longest regex source in bytes.
const MAX_SOURCE_LEN: usize = 16 * 1024;
/// The deepest nesting of groups.
const MAX_NESTING: u32 = 64;

/// A regex, compiled at first use.
#[derive(Debug)]
pub(super) struct RulePattern {
    source: String,
    /// Looked up at first use. Most are never used, so a rule has room for a pointer only.
    automaton: OnceLock<Option<Box<Automaton>>>,
    regex: OnceLock<Option<Regex>>,
}

impl RulePattern {
    /// A pattern to compile at first use; an invalid one matches nothing.
    pub(super) fn lazy(source: String) -> Self {
        Self {
            source,
            automaton: OnceLock::new(),
            regex: OnceLock::new(),
        }
    }

    /// Compiles it now.
    ///
    /// # Errors
    ///
    /// Why it is invalid.
    pub(super) fn check(&self) -> Result<(), String> {
        // The size limit applies to the case-insensitive form in any case, so that capital letters
        // do not matter for it.
        let regex = compile(&self.source, true)?;
        self.regex.get_or_init(|| Some(regex));
        self.automaton.get_or_init(|| None);
        Ok(())
    }

    /// Whether it matches somewhere in `text`.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        let automaton = || {
            Automaton::embedded(&self.source)
                .or_else(|| Automaton::lazy(&self.source))
                .map(Box::new)
        };
        let automaton = self.automaton.get_or_init(automaton).as_ref();
        let is_match = automaton.and_then(|automaton| automaton.is_match(text));
        is_match.unwrap_or_else(|| self.regex().is_some_and(|regex| regex.is_match(text)))
    }

    /// The first match.
    pub(super) fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        self.regex()?.find(text).map(|found| found.range())
    }

    /// All matches.
    pub(super) fn find_all(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        self.regex()
            .into_iter()
            .flat_map(move |regex| regex.find_iter(text).map(|found| found.range()))
    }

    /// The regex as written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex
            .get_or_init(|| {
                compile(&self.source, case_folding::needs_case_folding(&self.source)).ok()
            })
            .as_ref()
    }
}

fn compile(source: &str, ignores_case: bool) -> Result<Regex, String> {
    if source.len() > MAX_SOURCE_LEN {
        return Err(format!(
            "a regex of {} bytes is too long; {MAX_SOURCE_LEN} is the most",
            source.len()
        ));
    }
    RegexBuilder::new(source)
        .case_insensitive(ignores_case)
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(MAX_COMPILED_SIZE)
        .dfa_size_limit(MAX_COMPILED_SIZE)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|error| format!("regex: {error}"))
}

/// The regexes with an automaton, all but those whose automaton is large, sorted, and the range of
/// each compressed table in [`TABLES`].
#[expect(clippy::unreadable_literal, reason = "generated code")]
static AUTOMATA: &[(&str, usize, usize)] = include!(concat!(env!("OUT_DIR"), "/automata.rs"));

/// The tables, compressed, as they have many repeats.
static TABLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/automata.bin"));

/// An automaton. It finds whether a regex matches, not where.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a rule has a pointer to it")]
enum Automaton {
    /// All its states are compiled.
    Compiled(DFA<Vec<u32>>),
    /// A search makes the states that it needs.
    Lazy {
        automaton: Arc<lazy::DFA>,
        states: Pool<Cache, NewStates>,
    },
}

/// Makes the states of an automaton for one more thread.
type NewStates = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

impl Automaton {
    /// The embedded automaton of a regex.
    fn embedded(source: &str) -> Option<Self> {
        let at = AUTOMATA
            .binary_search_by_key(&source, |(regex, ..)| regex)
            .ok()?;
        let (_, start, end) = AUTOMATA[at];
        // Allocators align buffers of this size to eight bytes or more; with one that does not, the
        // regex is compiled.
        let table = decompressed(&TABLES[start..end]);
        DFA::from_bytes(&table)
            .ok()
            .map(|(table, _)| Self::Compiled(table.to_owned()))
    }

    /// The automaton of any regex, with the limits of [`compile`].
    fn lazy(source: &str) -> Option<Self> {
        let syntax = case_folding::syntax_of(source).nest_limit(MAX_NESTING);
        let nfa = thompson::Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(MAX_COMPILED_SIZE));
        let config = lazy::Config::new()
            .cache_capacity(MAX_COMPILED_SIZE)
            .skip_cache_capacity_check(true);
        let automaton = Arc::new(
            lazy::Builder::new()
                .configure(config)
                .syntax(syntax)
                .thompson(nfa)
                .build(source)
                .ok()?,
        );
        let shared = Arc::clone(&automaton);
        Some(Self::Lazy {
            automaton,
            states: Pool::new(Box::new(move || shared.create_cache())),
        })
    }

    /// Whether the regex matches somewhere in `text`; `None` if the automaton gives up.
    fn is_match(&self, text: &[u8]) -> Option<bool> {
        let input = Input::new(text).earliest(true);
        let found = match self {
            Self::Compiled(automaton) => automaton.try_search_fwd(&input),
            Self::Lazy { automaton, states } => automaton.try_search_fwd(&mut states.get(), &input),
        };
        Some(found.ok()?.is_some())
    }
}

/// Decompresses what the build script compressed: the length in four bytes, then a zlib stream.
/// Anything else results in no bytes.
pub(super) fn decompressed(embedded: &[u8]) -> Vec<u8> {
    let Some((length, stream)) = embedded.split_first_chunk() else {
        return Vec::new();
    };
    let mut content = Vec::with_capacity(u32::from_le_bytes(*length) as usize);
    let end = Decompress::new(true).decompress_vec(stream, &mut content, FlushDecompress::Finish);
    end.map(|_| content).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::definition::EXCEPTIONS;

    #[test]
    fn most_regexes_have_an_automaton() {
        assert!(
            AUTOMATA.len() > 200 && AUTOMATA.is_sorted(),
            "{}",
            AUTOMATA.len()
        );
        assert!(
            AUTOMATA
                .iter()
                .all(|(source, ..)| Automaton::embedded(source).is_some())
        );
        assert!(Automaton::embedded("not a built-in regex").is_none());
        let missing: Vec<_> = EXCEPTIONS
            .iter()
            .filter(|(_, regex)| Automaton::embedded(regex).is_none())
            .collect();
        assert!(missing.is_empty(), "many rules share them: {missing:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Texts made of pieces of the regex often match nearly or completely.
        #[test]
        fn an_automaton_equals_its_regex(picks in prop::collection::vec((any::<prop::sample::Index>(), 1..12_usize), 1..12)) {
            for (source, ..) in AUTOMATA {
                let (automaton, pattern) = (Automaton::embedded(source).unwrap(), RulePattern::lazy((*source).to_owned()));
                let lazy = Automaton::lazy(source).unwrap();
                let piece = |(at, length): &(prop::sample::Index, usize)| {
                    let at = at.index(source.len());
                    source.as_bytes()[at..].iter().take(*length).copied().filter(|byte| !b"\\?()[]|^$".contains(byte)).collect::<Vec<_>>()
                };
                let text = picks.iter().map(piece).collect::<Vec<_>>().concat().to_ascii_lowercase();
                let is_match = Some(pattern.find(&text).is_some());
                prop_assert_eq!([automaton.is_match(&text), lazy.is_match(&text)], [is_match; 2], "{} on {:?}", source, text);
            }
        }
    }
}
