//! Renders the texts of hits as JSON, and keeps what is likely to come again.
//!
//! Each thread has its own texts, so that none waits. Their number and length are bounded: a log may hold any number of paths and
//! lines of a megabyte.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64;

use crate::analysis::labels;
use crate::finding::RuleId;
use crate::redact::mask::{is_plain, redacted, redacted_decoded};
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;
use crate::short_bytes::{append, is_equal};
use crate::time::LogTime;

/// The texts of earlier hits: most come again. A list of rules stands for the rules of one rule set.
#[derive(Debug, Default)]
pub(crate) struct HitTexts {
    pub(super) target: TextCache,
    pub(super) path: TextCache,
    pub(super) decoded: TextCache,
    pub(super) host: TextCache,
    pub(super) referer: TextCache,
    pub(super) user_agent: TextCache,
    pub(super) rules: RuleListCache,
    pub(super) source: LastSource,
    pub(super) time: LastTime,
}

/// Texts of one field, as logged and as JSON.
#[derive(Debug, Default)]
pub(super) struct TextCache {
    /// By the hash of the text; a text that is not there replaces the one that is.
    slots: Vec<CachedText>,
}

#[derive(Debug, Clone, Default)]
struct CachedText {
    logged: Vec<u8>,
    json: Vec<u8>,
    is_unchanged: bool,
}

impl TextCache {
    /// Texts that are kept: a site has about as many paths and user agents that are requested often.
    const SLOTS: usize = 1024;

    /// Bytes of the longest text that is kept. Longer ones are rare, and would take much memory.
    const LONGEST: usize = 1024;

    /// Appends a text, redacted. Returns whether that left it unchanged.
    pub(super) fn push(&mut self, logged: &[u8], json: &mut Vec<u8>) -> bool {
        if is_plain(logged) {
            push_quoted(logged, json);
            return true;
        }
        if logged.len() > Self::LONGEST {
            return push_redacted(logged, json);
        }
        if self.slots.is_empty() {
            self.slots = vec![CachedText::default(); Self::SLOTS];
        }
        // An unused slot has the empty text, which is plain and not looked up.
        let slot = &mut self.slots[xxh3_64(logged) as usize % Self::SLOTS];
        if !is_equal(&slot.logged, logged) {
            slot.logged.clear();
            slot.logged.extend_from_slice(logged);
            slot.json.clear();
            slot.is_unchanged = push_redacted(logged, &mut slot.json);
        }
        append(json, &slot.json);
        slot.is_unchanged
    }

    /// Appends the decoded form of a target, redacted.
    pub(super) fn push_decoded(&mut self, target: &[u8], is_unchanged: bool, decoded: &[u8], json: &mut Vec<u8>) {
        // If the target holds no secret, the decoded form has only those that show there.
        if is_unchanged {
            self.push(decoded, json);
        } else {
            push_string(&redacted_decoded(target, decoded), json);
        }
    }
}

/// Appends a text, redacted. Returns whether that left it unchanged. For texts that few hits have.
pub(super) fn push_redacted(logged: &[u8], json: &mut Vec<u8>) -> bool {
    let shown = redacted(logged);
    push_string(&shown, json);
    shown.as_bytes() == logged
}

/// Appends a JSON string.
pub(super) fn push_string(text: &str, json: &mut Vec<u8>) {
    if text.bytes().any(|byte| matches!(byte, 0..b' ' | b'"' | b'\\')) {
        // Writing to a `Vec` does not fail.
        let _ = serde_json::to_writer(json, text);
    } else {
        push_quoted(text.as_bytes(), json);
    }
}

/// Appends a text without characters that JSON escapes.
pub(super) fn push_quoted(text: &[u8], json: &mut Vec<u8>) {
    json.push(b'"');
    append(json, text);
    json.push(b'"');
}

/// Lists of rules, as the three keys `rules`, `classes` and `cve`. A log has few different ones.
#[derive(Debug, Default)]
pub(super) struct RuleListCache {
    lists: HashMap<Box<[RuleId]>, Box<[u8]>, RandomState>,
}

impl RuleListCache {
    /// Lists that are kept. When there are more, all are dropped.
    const MOST: usize = 4096;

    /// Appends the keys of a list, after another key.
    pub(super) fn push(&mut self, set: &RuleSet, rules: &[RuleId], json: &mut Vec<u8>) {
        if let Some(keys) = self.lists.get(rules) {
            append(json, keys);
            return;
        }
        let start = json.len();
        for (key, words) in [
            (&br#","rules":["#[..], labels::rule_ids(set, rules)),
            (br#","classes":["#, labels::classes(set, rules)),
            (br#","cve":["#, labels::cves(set, rules)),
        ] {
            json.extend_from_slice(key);
            push_words(&words, json);
            json.push(b']');
        }
        if self.lists.len() >= Self::MOST {
            self.lists.clear();
        }
        self.lists.insert(rules.into(), json[start..].into());
    }
}

fn push_words(words: &[&str], json: &mut Vec<u8>) {
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            json.push(b',');
        }
        push_string(word, json);
    }
}

/// The log of the last hit.
#[derive(Debug, Default)]
pub(super) struct LastSource {
    path: Vec<u8>,
    json: Vec<u8>,
}

impl LastSource {
    /// Appends the path of a log.
    pub(super) fn push(&mut self, path: &[u8], json: &mut Vec<u8>) {
        if !is_equal(&self.path, path) || self.json.is_empty() {
            self.path.clear();
            self.path.extend_from_slice(path);
            self.json.clear();
            push_string(&escape(path), &mut self.json);
        }
        append(json, &self.json);
    }
}

/// The time of the last hit: many requests share a second.
#[derive(Debug, Default)]
pub(super) struct LastTime {
    time: Option<LogTime>,
    text: String,
}

impl LastTime {
    /// Appends a time.
    pub(super) fn push(&mut self, time: LogTime, json: &mut Vec<u8>) {
        if self.time != Some(time) {
            self.time = Some(time);
            self.text.clear();
            time.push_rfc3339(&mut self.text);
        }
        push_quoted(self.text.as_bytes(), json);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pushed(cache: &mut TextCache, logged: &[u8]) -> String {
        let mut json = Vec::new();
        let is_unchanged = cache.push(logged, &mut json);
        let shown: String = serde_json::from_slice(&json).unwrap();
        assert_eq!(is_unchanged, shown.as_bytes() == logged, "{shown}");
        shown
    }

    proptest! {
        #[test]
        fn a_cached_text_is_redacted_like_any_other(texts in prop::collection::vec("[a-c]{0,2}|/?token=[a-z]{0,3}|.{0,8}", 0..200)) {
            let mut cache = TextCache::default();
            for text in texts.iter().chain(&texts) {
                prop_assert_eq!(pushed(&mut cache, text.as_bytes()), redacted(text.as_bytes()));
            }
        }
    }

    #[test]
    fn long_texts_are_not_cached() {
        let mut cache = TextCache::default();
        let long = format!("/?token={}", "a".repeat(TextCache::LONGEST));
        assert_eq!(pushed(&mut cache, long.as_bytes()), "/?token=***");
        assert!(cache.slots.is_empty());
        assert_eq!(pushed(&mut cache, &long.as_bytes()[..TextCache::LONGEST]), "/?token=***");
        assert_eq!(cache.slots.iter().filter(|slot| !slot.logged.is_empty()).count(), 1);
    }

    #[test]
    fn a_source_without_a_name_is_a_text_too() {
        let (mut last, mut json) = (LastSource::default(), Vec::new());
        for path in [&b""[..], b"a\"b", b"a\"b", b""] {
            last.push(path, &mut json);
        }
        assert_eq!(json, br#""""a\"b""a\"b""""#);
    }
}
