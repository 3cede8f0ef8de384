//! One regex of a rule, held to a size: linear time is the regex crate's promise, and a limit on the program keeps the
//! constant small.
//!
//! Rules look at text in lower case, and a regex that ignores case is four times the work to compile: one in which no
//! capital letter is meant is compiled as it stands (see [`fold`](super::case_folding)).
//!
//! The patterns of built-in rules come as [automata](super::automaton) where those are small. The others are compiled when
//! they are first tried, because a scan tries few of them and all cost more than a small log; the tests compile them all. Those
//! of other rules are compiled at once, so that a mistake is told before the first line is read.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::automaton::Automaton;
use super::case_folding;

/// Compiled size of one regex in bytes. `\w{1,500}` needs a fortieth of it.
const SIZE: usize = 1 << 19;
/// Length of a regex as written, in bytes.
const LENGTH: usize = 16 * 1024;
/// Parentheses within parentheses.
const NESTING: u32 = 64;

/// A regex, perhaps not compiled yet.
#[derive(Debug)]
pub(super) struct Pattern {
    source: String,
    /// Looked for when the pattern is first tried.
    automaton: OnceLock<Option<Automaton>>,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern that will be compiled when it is first tried; one that cannot be matches nothing.
    pub(super) fn later(source: String) -> Self {
        Self { source, automaton: OnceLock::new(), regex: OnceLock::new() }
    }

    /// Compiles it now.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        // Held to the size that it has when it ignores case, whether it has to or not: nobody is to count capitals.
        let regex = compile(&self.source, true)?;
        self.regex.get_or_init(|| Some(regex));
        Ok(())
    }

    /// Whether it matches somewhere in `text`.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        let automaton = self.automaton.get_or_init(|| Automaton::of(&self.source)).as_ref();
        let told = automaton.and_then(|automaton| automaton.is_match(text));
        told.unwrap_or_else(|| self.regex().is_some_and(|regex| regex.is_match(text)))
    }

    /// Where it matches first.
    pub(super) fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        self.regex()?.find(text).map(|found| found.range())
    }

    /// Every place where it matches.
    pub(super) fn find_all(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        self.regex().into_iter().flat_map(move |regex| regex.find_iter(text).map(|found| found.range()))
    }

    /// The regex as written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| compile(&self.source, case_folding::needs_case_folding(&self.source)).ok()).as_ref()
    }
}

fn compile(source: &str, ignores_case: bool) -> Result<Regex, String> {
    if source.len() > LENGTH {
        return Err(format!("a regex of {} bytes is too long; {LENGTH} is the most", source.len()));
    }
    RegexBuilder::new(source)
        .case_insensitive(ignores_case)
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(SIZE)
        .dfa_size_limit(SIZE)
        .nest_limit(NESTING)
        .build()
        .map_err(|error| format!("regex: {error}"))
}
