//! A few words, any of which excuses a request.
//!
//! No automaton: there are one or two of them and they are asked about short texts, after everything else. They say where
//! they stand, not what that means.

use std::ops::Range;

use memchr::memmem;

/// Words in lower case.
#[derive(Debug)]
pub(super) struct WordSet {
    words: Vec<String>,
    /// All of them, for whoever explains.
    text: String,
}

impl WordSet {
    /// Any of these; `None` where there are none.
    pub(super) fn any_of(words: &[String]) -> Option<Self> {
        let words: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        (!words.is_empty()).then(|| Self { text: words.join("|"), words })
    }

    /// Whether one of them stands in `text`.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.words.iter().any(|word| memmem::find(text, word.as_bytes()).is_some())
    }

    /// Where the first of them stands.
    pub(super) fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let found = self.words.iter().filter_map(|word| memmem::find(text, word.as_bytes()).map(|at| at..at + word.len()));
        found.min_by_key(|range| range.start)
    }

    /// Every place where one of them stands.
    pub(super) fn find_all(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let of_word = move |word: &'_ String| {
            let length = word.len();
            memmem::find_iter(text, word.as_bytes()).map(move |at| at..at + length).collect::<Vec<_>>()
        };
        self.words.iter().flat_map(of_word)
    }

    /// The words, with `|` between them.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leftmost_counts() {
        let words = WordSet::any_of(&["CD".to_owned(), "b".to_owned(), "bc".to_owned()]).unwrap();
        assert_eq!((words.find(b"abcd"), words.is_match(b"abcd")), (Some(1..2), true));
        assert_eq!((words.find(b"acd"), words.find(b"ac")), (Some(1..3), None));
        assert!(WordSet::any_of(&[]).is_none() && !words.is_match(b""));
    }
}
