//! Sites that give every path one and the same page, as single-page applications do. On such a site a 200 tells nothing.

use std::hash::Hash;

use foldhash::{HashMap, HashSet};

/// A site says the same to everything when at least so many unlike probe paths ...
pub const PATHS: usize = 5;
/// ... of at least so many classes got the same status and size.
pub const CLASSES: usize = 3;

/// One answer to a probe.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a, K, C> {
    /// Site, status and size.
    pub answer: K,
    /// The path that was asked for: a hash of it.
    pub path: u64,
    /// The classes of the rules it matched.
    pub classes: &'a [C],
}

/// The answers that are given to everything.
#[derive(Debug)]
pub struct CatchAlls<K> {
    answers: HashMap<K, usize>,
}

impl<K: Copy + Eq + Hash> CatchAlls<K> {
    /// Weighs all evidence.
    pub fn weigh<'a, C: Copy + Eq + Hash + 'a>(evidence: impl Iterator<Item = Evidence<'a, K, C>>) -> Self {
        let mut seen: HashMap<K, (HashSet<u64>, HashSet<C>)> = HashMap::default();
        for Evidence { answer, path, classes } in evidence {
            let (paths, of_classes) = seen.entry(answer).or_default();
            paths.insert(path);
            of_classes.extend(classes);
        }
        let everything = |(paths, classes): &(HashSet<u64>, HashSet<C>)| paths.len() >= PATHS && classes.len() >= CLASSES;
        Self { answers: seen.into_iter().filter(|(_, s)| everything(s)).map(|(k, (paths, _))| (k, paths.len())).collect() }
    }

    /// Whether this answer is one of them.
    #[must_use]
    pub fn contains(&self, answer: &K) -> bool {
        self.answers.contains_key(answer)
    }

    /// The number of unlike probe paths this answer was given to; 0 where it is none of them.
    #[must_use]
    pub fn paths(&self, answer: &K) -> usize {
        self.answers.get(answer).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weigh(answers: &[(u16, u64, &'static str)]) -> bool {
        let evidence =
            answers.iter().map(|(answer, path, class)| Evidence { answer: *answer, path: *path, classes: std::slice::from_ref(class) });
        CatchAlls::weigh(evidence).contains(&200)
    }

    #[test]
    fn five_paths_of_three_classes() {
        let all = [(200, 1, "vcs"), (200, 2, "env"), (200, 3, "shell"), (200, 4, "vcs"), (200, 5, "vcs")];
        assert!(weigh(&all));
        assert!(!weigh(&all[..4]), "four paths are too few");
        assert!(!weigh(&all.map(|(a, p, _)| (a, p, "vcs"))), "one class is one list of files that may be there");
        assert!(!weigh(&all.map(|(a, p, c)| (a + (p % 2) as u16, p, c))), "answers that differ are answers");
    }
}
