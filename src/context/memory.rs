//! What earlier runs saw of a site, where one run is too short to show it: an hour of a quiet site has two probes, and
//! says nothing about whether everything there gets the same answer.
//!
//! Bounded: of many the one seen last longest ago is forgotten first, and may be learnt again. Holds hashes, and no text of a log.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::{CLASSES, PATHS};

/// Answers that are remembered: sites give few, and whoever asks may choose the name of a host.
const ANSWERS: usize = 4_096;
/// Apps on sites that are remembered.
const APPS: usize = 4_096;

/// A site, wherever it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site<'a> {
    /// A virtual host.
    Host(&'a [u8]),
    /// A log that names no host, and its rotated siblings.
    Log(&'a [u8]),
}

impl Site<'_> {
    fn hash(self, of: &[u8]) -> u64 {
        let (kind, name) = match self {
            Self::Host(name) => (b"host\0", name),
            Self::Log(name) => (b"log\0\0", name),
        };
        let mut hash = Xxh3::new();
        for part in [kind, name, b"\0", of] {
            hash.update(part);
        }
        hash.digest()
    }
}

/// What one answer was given to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Hashes of unlike probe paths, as many as it takes to see that everything gets this answer.
    pub paths: Vec<u64>,
    /// Classes of the rules they matched, likewise.
    pub classes: Vec<String>,
    /// When it was last given, in seconds since 1970.
    last: i64,
}

/// What earlier runs saw.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    answers: BTreeMap<u64, Given>,
    /// When an app was last seen on a site.
    apps: BTreeMap<u64, i64>,
}

impl Memory {
    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.apps.is_empty()
    }

    /// What a site's answer of that status and size was given to, as far as it is remembered.
    #[must_use]
    pub fn given(&self, site: Site<'_>, status: u16, bytes: Option<u64>) -> Option<&Given> {
        self.answers.get(&answer(site, status, bytes))
    }

    /// Takes in that a site gave an answer to a probe path.
    pub fn note_given(&mut self, site: Site<'_>, status: u16, bytes: Option<u64>, path: u64, classes: &[&str], now: i64) {
        let given = self.answers.entry(answer(site, status, bytes)).or_default();
        given.last = given.last.max(now);
        if given.paths.len() < PATHS && !given.paths.contains(&path) {
            given.paths.push(path);
        }
        for class in classes {
            if given.classes.len() < CLASSES && !given.classes.iter().any(|known| known == class) {
                given.classes.push((*class).to_owned());
            }
        }
    }

    /// Whether a site was seen to run an app.
    #[must_use]
    pub fn runs(&self, site: Site<'_>, app: &str) -> bool {
        self.apps.contains_key(&site.hash(app.as_bytes()))
    }

    /// Takes in that a site runs an app.
    pub fn note_app(&mut self, site: Site<'_>, app: &str, now: i64) {
        let last = self.apps.entry(site.hash(app.as_bytes())).or_insert(now);
        *last = now.max(*last);
    }

    /// Forgets what was not seen for as long as `keep`, and what is too much.
    pub fn prune(&mut self, now: i64, keep: Duration) {
        let oldest = now.saturating_sub_unsigned(keep.as_secs());
        self.answers.retain(|_, given| given.last >= oldest);
        self.apps.retain(|_, last| *last >= oldest);
        thin(&mut self.answers, ANSWERS, |given| given.last);
        thin(&mut self.apps, APPS, |last| *last);
    }
}

fn answer(site: Site<'_>, status: u16, bytes: Option<u64>) -> u64 {
    let mut of = Vec::with_capacity(16);
    of.extend(status.to_le_bytes());
    of.extend(bytes.into_iter().flat_map(u64::to_le_bytes));
    site.hash(&of)
}

/// Lets go what was seen longest ago, until there are `most`.
fn thin<V>(map: &mut BTreeMap<u64, V>, most: usize, last: impl Fn(&V) -> i64) {
    if map.len() <= most {
        return;
    }
    let mut ages: Vec<(i64, u64)> = map.iter().map(|(key, value)| (last(value), *key)).collect();
    ages.sort_unstable();
    for (_, key) in &ages[..ages.len() - most] {
        map.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: Duration = Duration::from_secs(7 * 86_400);

    #[test]
    fn an_answer_is_known_by_site_status_and_size() {
        let mut memory = Memory::default();
        for path in 0..9 {
            memory.note_given(Site::Host(b"a.example"), 200, Some(512), path % 7, &["vcs", "env"], 10);
        }
        let given = memory.given(Site::Host(b"a.example"), 200, Some(512)).unwrap();
        assert_eq!((given.paths.len(), &given.classes[..]), (PATHS, &["vcs".to_owned(), "env".to_owned()][..]));
        let others =
            [(Site::Log(b"a.example"), 200, Some(512)), (Site::Host(b"a.example"), 206, Some(512)), (Site::Host(b"a.example"), 200, None)];
        for (site, status, bytes) in others {
            assert_eq!(memory.given(site, status, bytes), None);
        }
    }

    #[test]
    fn what_is_old_or_too_much_is_forgotten() {
        let mut memory = Memory::default();
        let name = |n: i64| format!("{n}.example").into_bytes();
        for n in 0..5_000 {
            memory.note_given(Site::Host(&name(n)), 200, None, 1, &[], 1_000 + n);
            memory.note_app(Site::Host(&name(n)), "wordpress", 1_000 + n);
        }
        memory.prune(6_000, WEEK);
        assert_eq!((memory.answers.len(), memory.apps.len()), (ANSWERS, APPS));
        assert!(memory.runs(Site::Host(b"4999.example"), "wordpress") && !memory.runs(Site::Host(b"4999.example"), "joomla"));
        assert!(memory.given(Site::Host(b"0.example"), 200, None).is_none());
        memory.prune(0, WEEK);
        assert_eq!(memory.apps.len(), APPS, "a clock that was set back forgets nothing");
        memory.prune(700_000, WEEK);
        assert_eq!(memory, Memory::default());
    }

    #[test]
    fn it_is_written_and_read_back() {
        let mut memory = Memory::default();
        memory.note_given(Site::Log(b"access.log"), 200, Some(1), u64::MAX, &["vcs"], 7);
        memory.note_app(Site::Host(b"a.example"), "wordpress", 7);
        let text = serde_json::to_string(&memory).unwrap();
        assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), memory);
    }
}
