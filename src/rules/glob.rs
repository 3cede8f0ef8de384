//! Path globs: `*` any characters but `/`, `**` any number of segments, `?` one character but `/`.
//!
//! A glob matches up to the end of a path, so it is matched from the end. A set of states advances
//! byte by byte (an NFA without backtracking), so time is linear. It matches texts, not files, and
//! allocates nothing.

use std::sync::OnceLock;

use memchr::memmem;

/// Longest glob in bytes: more than any server accepts as a path.
pub(super) const MAX_LEN: usize = MAX_STATE_WORDS * 64 - 1;

/// Words of bits for the states of the longest glob.
const MAX_STATE_WORDS: usize = 64;

/// The globs of a rule; one has to match. They are compiled when the first path is compared.
#[derive(Debug)]
pub(super) struct Globs {
    compiled: OnceLock<Vec<Glob>>,
    /// All of them as text, for `explain`.
    text: OnceLock<String>,
    /// As written.
    texts: Vec<String>,
    /// They match whole paths, not suffixes.
    root: bool,
}

impl Globs {
    /// Compiles globs of up to [`MAX_LEN`] bytes, to match under any prefix, or with `root` only at
    /// the start. `None` if there are none.
    pub(super) fn any_of(globs: &[String], root: bool) -> Option<Self> {
        (!globs.is_empty()).then(|| Self {
            compiled: OnceLock::new(),
            text: OnceLock::new(),
            texts: globs.to_vec(),
            root,
        })
    }

    fn compiled(&self) -> &[Glob] {
        self.compiled.get_or_init(|| {
            self.texts
                .iter()
                .map(|glob| Glob::new(glob, self.root))
                .collect()
        })
    }

    /// Whether one of them matches a path in lower case.
    pub(super) fn is_match(&self, path: &[u8]) -> bool {
        self.compiled().iter().any(|glob| glob.is_match(path))
    }

    /// The start of the leftmost match; every match reaches to the end of the path.
    pub(super) fn find(&self, path: &[u8]) -> Option<usize> {
        self.compiled()
            .iter()
            .filter_map(|glob| glob.start(path, true))
            .min()
    }

    /// The globs as written.
    pub(super) fn text(&self) -> &str {
        self.text.get_or_init(|| self.texts.join(", "))
    }
}

/// One glob.
#[derive(Debug)]
struct Glob {
    /// In lower case.
    text: String,
    /// It matches whole paths, not suffixes.
    root: bool,
    /// Bytes before the first wildcard.
    head: usize,
    /// The start of the bytes after the last wildcard.
    tail: usize,
    /// The steps before them, from right to left.
    steps: Vec<GlobStep>,
}

/// What the next byte of a path has to be, from right to left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlobStep {
    /// This byte.
    Byte(u8),
    /// Any but `/`: `?`.
    QuestionMark,
    /// Any number of bytes but `/`: `*`.
    Star,
    /// Any number of bytes: `**`.
    DoubleStar,
    /// The `/` after whole segments, or nothing if there are no segments: the first of three steps
    /// of `**/`.
    SegmentsEnd,
    /// The last byte of a segment.
    SegmentLast,
    /// The other bytes of a segment, and the `/` after one more segment.
    SegmentRest,
}

impl Glob {
    fn new(glob: &str, root: bool) -> Self {
        let text = glob.to_ascii_lowercase();
        let mut steps = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let [first, after @ ..] = rest {
            rest = match rest {
                [b'*', b'*', b'/', after @ ..] => {
                    steps.extend([
                        GlobStep::SegmentRest,
                        GlobStep::SegmentLast,
                        GlobStep::SegmentsEnd,
                    ]);
                    after
                }
                [b'*', b'*', after @ ..] => {
                    steps.push(GlobStep::DoubleStar);
                    after
                }
                _ => {
                    steps.push(match first {
                        b'*' => GlobStep::Star,
                        b'?' => GlobStep::QuestionMark,
                        byte => GlobStep::Byte(*byte),
                    });
                    after
                }
            };
        }
        let is_literal = |step: &&GlobStep| matches!(step, GlobStep::Byte(_));
        let tail = text.len() - steps.iter().rev().take_while(is_literal).count();
        steps.truncate(steps.len() - (text.len() - tail));
        let head = steps.iter().take_while(is_literal).count();
        steps.reverse();
        Self {
            text,
            root,
            head,
            tail,
            steps,
        }
    }

    fn is_match(&self, path: &[u8]) -> bool {
        self.start(path, false).is_some()
    }

    /// The start of a match: the leftmost one, or the first one found.
    fn start(&self, path: &[u8], leftmost: bool) -> Option<usize> {
        let (head, tail) = (
            &self.text.as_bytes()[..self.head],
            &self.text.as_bytes()[self.tail..],
        );
        let front = path.strip_suffix(tail)?;
        let has_head = if self.root {
            front.starts_with(head)
        } else {
            memmem::find(front, head).is_some()
        };
        match self.steps.len() {
            _ if !has_head => None,
            0..64 => self.match_backwards::<1>(front, leftmost),
            _ => self.match_backwards::<MAX_STATE_WORDS>(front, leftmost),
        }
    }

    /// Reads `front` from its end to its start, or to the start of a match.
    fn match_backwards<const WORDS: usize>(&self, front: &[u8], leftmost: bool) -> Option<usize> {
        let mut states = GlobStates::<WORDS>::default();
        states.insert(0, &self.steps);
        let mut found = None;
        let mut at = front.len();
        loop {
            if states.contains(self.steps.len()) && (!self.root || at == 0) {
                found = Some(at);
                if !leftmost {
                    return found;
                }
            }
            if at == 0 || states.is_empty() {
                return found;
            }
            at -= 1;
            states = states.next(front[at], &self.steps);
        }
    }
}

/// The active states, a bit each.
struct GlobStates<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for GlobStates<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> GlobStates<WORDS> {
    fn contains(&self, state: usize) -> bool {
        self.0[state / 64] & 1 << (state % 64) != 0
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Adds a state, and those reachable from it without a byte.
    fn insert(&mut self, mut state: usize, steps: &[GlobStep]) {
        loop {
            self.0[state / 64] |= 1 << (state % 64);
            state += match steps.get(state) {
                Some(GlobStep::Star | GlobStep::DoubleStar | GlobStep::SegmentRest) => 1,
                Some(GlobStep::SegmentsEnd) => 3,
                _ => return,
            };
        }
    }

    /// The states after this byte.
    fn next(&self, byte: u8, steps: &[GlobStep]) -> Self {
        let mut next = Self::default();
        for (word, bits) in self.0.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let state = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let is_slash = byte == b'/';
                match steps.get(state) {
                    Some(GlobStep::Byte(expected)) if *expected == byte => {
                        next.insert(state + 1, steps);
                    }
                    Some(GlobStep::QuestionMark | GlobStep::SegmentLast) if !is_slash => {
                        next.insert(state + 1, steps);
                    }
                    Some(GlobStep::Star | GlobStep::SegmentRest) if !is_slash => {
                        next.insert(state, steps);
                    }
                    Some(GlobStep::DoubleStar) => next.insert(state, steps),
                    Some(GlobStep::SegmentsEnd) if is_slash => next.insert(state + 1, steps),
                    Some(GlobStep::SegmentRest) => next.insert(state - 1, steps),
                    _ => {}
                }
            }
        }
        next
    }
}

/// The longest piece of a glob without a wildcard. Every match contains it.
pub(super) fn anchor(glob: &str) -> &str {
    // `/a/**/b` also matches `/a/b`: a piece that `**` and a slash follow ends before them.
    glob.split("**/")
        .flat_map(|part| part.split(['*', '?']))
        .max_by_key(|piece| piece.len())
        .unwrap_or("")
}

/// The suffix of every match: the piece after the last wildcard.
pub(super) fn tail(glob: &str) -> &str {
    glob.rsplit(['*', '?']).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::bytes::RegexBuilder;

    /// The equivalent regex of a glob.
    fn to_regex(glob: &str, root: bool) -> String {
        let mut regex = String::from(if root { "^" } else { "" });
        let mut rest = glob;
        while let Some(c) = rest.chars().next() {
            let (piece, length) = if rest.starts_with("**/") {
                ("(?:[^/]+/)*".to_owned(), 3)
            } else if rest.starts_with("**") {
                (".*".to_owned(), 2)
            } else if c == '*' {
                ("[^/]*".to_owned(), 1)
            } else if c == '?' {
                ("[^/]".to_owned(), 1)
            } else {
                (
                    regex::escape(c.to_ascii_lowercase().encode_utf8(&mut [0; 4])),
                    c.len_utf8(),
                )
            };
            regex.push_str(&piece);
            rest = &rest[length..];
        }
        regex + "$"
    }

    #[test]
    fn matches_paths() {
        for (glob, root, path, expected) in [
            ("/wp-includes/**/*.php", false, "/wp-includes/a.php", true),
            (
                "/wp-includes/**/*.php",
                false,
                "/blog/wp-includes/x/y/a.php",
                true,
            ),
            (
                "/wp-includes/**/*.php",
                false,
                "/wp-includes/a.php/b",
                false,
            ),
            (
                "/wp-includes/**/*.php",
                false,
                "/my-wp-includes/a.php",
                false,
            ),
            (
                "/wp-includes/**/*.php",
                true,
                "/blog/wp-includes/a.php",
                false,
            ),
            ("/Wp-*.php", false, "/a/wp-login.php", true),
            ("/a?.php", true, "/ab.php", true),
            ("/a?.php", true, "/a/.php", false),
            ("/x/**", true, "/x/y/z", true),
            ("/x/y", true, "/x/y", true),
            ("/x/y", true, "/x/x/y", false),
        ] {
            assert_eq!(
                Glob::new(glob, root).is_match(path.as_bytes()),
                expected,
                "{glob} {path}"
            );
        }
        assert_eq!(anchor("/wp-includes/**/*.php"), "/wp-includes/");
        assert_eq!(anchor("/**/x.php"), "x.php");
        assert_eq!(anchor("**"), "");
        assert_eq!(
            ["/a/**/*.php", "/a/**", "/a/?b/c", "/a"].map(tail),
            [".php", "", "b/c", "/a"]
        );
    }

    #[test]
    fn the_longest_globs_match_long_paths_in_linear_time() {
        let glob = Glob::new(&"/**/a*".repeat(MAX_LEN / 6), false);
        assert!(glob.is_match("/a".repeat(20_000).as_bytes()));
        assert!(!glob.is_match(&[b"/a".repeat(20_000), b"/".to_vec()].concat()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
        #[test]
        fn a_glob_is_its_regex(
            glob in "[a.*?/]{0,9}|/(a|A|\\*\\*/|\\*|/|é){0,6}",
            root: bool,
            is_long: bool,
            paths in prop::collection::vec(prop::collection::vec(prop::sample::select(b"aaa//.\n\xc3\xa9".as_slice()), 0..12), 12),
        ) {
            let before = if is_long { "/a".repeat(40) } else { String::new() };
            let (glob, ours) = (format!("{before}{glob}"), Glob::new(&format!("{before}{glob}"), root));
            let regex = RegexBuilder::new(&to_regex(&glob, root)).unicode(false).dot_matches_new_line(true).build().unwrap();
            for path in paths {
                let path = [before.as_bytes(), &path].concat();
                let found = regex.find(&path);
                prop_assert!(found.is_none_or(|found| found.end() == path.len()));
                prop_assert_eq!(ours.start(&path, true), found.map(|found| found.start()), "{} in {:?}", &glob, &path);
                prop_assert_eq!(ours.is_match(&path), found.is_some(), "{} in {:?}", &glob, &path);
            }
        }
    }
}
