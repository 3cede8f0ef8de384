//! Writes one JSON object per hit and line.
//!
//! The keys and their order are stable: new keys come at the end. All text is valid UTF-8, with
//! secrets masked and unsafe characters escaped as `\xNN` or `\u{..}`.
//!
//! Texts that are likely to come again are kept as JSON. Each thread has its own, so that none
//! waits. Their number and length are bounded: a log may hold any number of paths and lines of a
//! megabyte.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use itoa::Integer;
use schemars::JsonSchema;
use xxhash_rust::xxh3::xxh3_64;

use crate::log::client::Client;
use crate::log::finding::{RuleId, Severity};
use crate::log::time::LogTime;
use crate::report::labels::{self, Attributed};
use crate::report::model::ReportedHit;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::text::redact::mask::is_plain;
use crate::text::redact::sanitize::escape;
use crate::text::redact::{DecodedText, LogText};
use crate::text::short_bytes::{append, is_equal};

/// A hit: one line of `-f ndjson`. It documents what [`write`] writes faster than a serializer; a
/// test compares the two.
#[derive(JsonSchema)]
#[cfg_attr(test, derive(serde::Serialize))]
#[cfg_attr(not(test), expect(dead_code, reason = "only its schema is used"))]
#[schemars(title = "probewatch hit")]
pub(crate) struct HitObject<'a> {
    /// Identity of the request: the generation of its log and the byte offset of its line. Two
    /// requests never share one.
    id: String,
    /// Time of the request, RFC 3339; null where none is logged.
    time: Option<String>,
    /// Client: an address, or the text of the log; `-` where unknown.
    client: Cow<'a, str>,
    /// HTTP method; null where the line has none.
    method: Option<Cow<'a, str>>,
    /// Request target as logged, secrets masked.
    target: Cow<'a, str>,
    /// Normalized path, which rules match.
    path: Cow<'a, str>,
    /// Target after decoding, where that differs from the logged one; null otherwise.
    decoded: Option<Cow<'a, str>>,
    /// Protocol, such as `HTTP/1.1`; null where the line has none.
    protocol: Option<Cow<'a, str>>,
    /// Status code; null where none is logged.
    status: Option<u16>,
    /// Size of the answer in bytes; null where none is logged.
    bytes: Option<u64>,
    /// Outcome of the request, from its status.
    outcome: &'static str,
    /// Grade of the answer: `distinct`, `uncertain` or `soft_404`; null where the request was not
    /// answered.
    answer: Option<&'static str>,
    /// Highest severity of the rules, one step higher where an answer exposes something.
    severity: Severity,
    /// IDs of the rules that matched, sorted.
    rules: Vec<&'a str>,
    /// Classes of these rules, sorted.
    classes: Vec<&'a str>,
    /// CVE IDs of these rules, sorted.
    cve: Vec<&'a str>,
    /// Products that the request is for, sorted; absent where no rule names one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    product: Vec<&'a str>,
    /// Host the request was for; null where none is logged.
    host: Option<Cow<'a, str>>,
    /// Referer; null where none is logged.
    referer: Option<Cow<'a, str>>,
    /// User agent; null where none is logged.
    user_agent: Option<Cow<'a, str>>,
    /// Path of the log.
    source: Cow<'a, str>,
    /// Number of the line, from 1.
    line: u64,
    /// Byte offset of the line in its log, after decompression.
    offset: u64,
    /// What makes the request a hit where its line alone does not: `client` (its other requests) or
    /// `flood`; null otherwise.
    context: Option<&'static str>,
    /// Country of the client, two letters of ISO 3166-1; null without a GeoIP database that has it.
    country: Option<Cow<'a, str>>,
    /// Number of the autonomous system of the client; null without a GeoIP database that has it.
    asn: Option<u32>,
    /// Name of that autonomous system; null without a GeoIP database that has it.
    as_name: Option<Cow<'a, str>>,
    /// User of the log, secrets masked; null where none is logged. A client can send any name, also
    /// one that does not exist.
    user: Option<Cow<'a, str>>,
}

/// Bytes of most lines: a buffer with as much room is not moved within one.
const USUAL_LEN: usize = 1024;

/// Appends one hit and its newline. A line is then written out in one piece, and a run that is
/// killed between two writes leaves whole lines.
pub(crate) fn write(
    hit: &ReportedHit<'_>,
    rules: &RuleSet,
    texts: &mut HitTexts,
    json: &mut Vec<u8>,
) {
    json.reserve(USUAL_LEN);
    json.extend_from_slice(br#"{"id":""#);
    push_hex(hit.id.generation, json);
    json.push(b':');
    push_number(hit.id.offset, json);
    json.extend_from_slice(br#"","time":"#);
    push_or_null(hit.time, json, |time, json| texts.time.push(time, json));
    json.extend_from_slice(br#","client":"#);
    match hit.client {
        Client::V4(bits) => push_v4(bits, json),
        client => push_string(&client.redacted(), json),
    }
    json.extend_from_slice(br#","method":"#);
    push_short(hit.method, json);
    json.extend_from_slice(br#","target":"#);
    let is_unchanged = texts.target.push(hit.target, json);
    json.extend_from_slice(br#","path":"#);
    texts.path.push(hit.path, json);
    json.extend_from_slice(br#","decoded":"#);
    push_or_null(hit.decoded, json, |decoded, json| {
        texts
            .decoded
            .push_decoded(hit.target, is_unchanged, decoded, json);
    });
    json.extend_from_slice(br#","protocol":"#);
    push_short(hit.protocol, json);
    json.extend_from_slice(br#","status":"#);
    push_or_null(hit.status, json, push_number);
    json.extend_from_slice(br#","bytes":"#);
    push_or_null(hit.bytes, json, push_number);
    json.extend_from_slice(br#","outcome":"#);
    push_string(hit.outcome.as_str(), json);
    json.extend_from_slice(br#","answer":"#);
    push_or_null(hit.answer.map(Answer::as_str), json, push_string);
    json.extend_from_slice(br#","severity":"#);
    push_string(hit.severity.as_str(), json);
    push_rules(&mut texts.rules, rules, hit, json);
    for (key, text, cache) in [
        (&br#","host":"#[..], hit.host, &mut texts.host),
        (br#","referer":"#, hit.referer, &mut texts.referer),
        (br#","user_agent":"#, hit.user_agent, &mut texts.user_agent),
    ] {
        json.extend_from_slice(key);
        push_or_null(text, json, |text, json| cache.push(text, json));
    }
    json.extend_from_slice(br#","source":"#);
    push_source(&mut texts.source, hit.source, json);
    json.extend_from_slice(br#","line":"#);
    push_number(hit.line, json);
    json.extend_from_slice(br#","offset":"#);
    push_number(hit.id.offset, json);
    json.extend_from_slice(br#","context":"#);
    push_or_null(hit.context, json, push_string);
    let (country, as_name) = hit.geo.map_or((None, None), |geo| {
        (
            labels::geo_name(geo.country.as_ref()),
            labels::geo_name(geo.as_name.as_ref()),
        )
    });
    json.extend_from_slice(br#","country":"#);
    push_or_null(country.as_deref(), json, push_string);
    json.extend_from_slice(br#","asn":"#);
    push_or_null(hit.geo.and_then(|geo| geo.asn), json, push_number);
    json.extend_from_slice(br#","as_name":"#);
    push_or_null(as_name.as_deref(), json, push_string);
    json.extend_from_slice(br#","user":"#);
    push_or_null(
        hit.user.map(LogText::redacted).as_deref(),
        json,
        push_string,
    );
    json.extend_from_slice(b"}\n");
}

#[inline]
fn push_or_null<T, R>(
    value: Option<T>,
    json: &mut Vec<u8>,
    push: impl FnOnce(T, &mut Vec<u8>) -> R,
) {
    if let Some(value) = value {
        push(value, json);
    } else {
        json.extend_from_slice(b"null");
    }
}

/// A text that most logs have few of, such as a method; null where it is empty.
fn push_short(text: LogText<'_>, json: &mut Vec<u8>) {
    if text.is_empty() {
        json.extend_from_slice(b"null");
    } else if is_plain(text.raw()) {
        push_quoted(text.raw(), json);
    } else {
        push_string(&text.redacted(), json);
    }
}

fn push_number(number: impl Integer, json: &mut Vec<u8>) {
    append(json, itoa::Buffer::new().format(number).as_bytes());
}

/// Sixteen hexadecimal digits.
fn push_hex(number: u64, json: &mut Vec<u8>) {
    let digits = std::array::from_fn::<u8, 16, _>(|digit| {
        b"0123456789abcdef"[(number >> (60 - 4 * digit)) as usize & 15]
    });
    json.extend_from_slice(&digits);
}

/// An IPv4 address, as a string.
fn push_v4(bits: u32, json: &mut Vec<u8>) {
    json.push(b'"');
    for (number, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if number > 0 {
            json.push(b'.');
        }
        push_number(byte, json);
    }
    json.push(b'"');
}

/// The texts of earlier hits: most come again. Lists of rules are those of one rule set.
#[derive(Debug, Default)]
pub(crate) struct HitTexts {
    target: TextCache,
    path: TextCache,
    decoded: TextCache,
    host: TextCache,
    referer: TextCache,
    user_agent: TextCache,
    /// Lists of rules, as the keys `rules`, `classes` and `cve`, and `product` where the request
    /// names one. A log has few different ones.
    rules: RuleLists,
    /// The log of the last hit.
    source: CachedText,
    time: LastTime,
}

/// Texts of one field, as logged and as JSON.
#[derive(Debug, Default)]
struct TextCache {
    /// By the hash of the text; a text that is not there replaces the one that is.
    slots: Vec<CachedText>,
}

/// A text, and how it is printed.
#[derive(Debug, Clone, Default)]
struct CachedText {
    logged: Vec<u8>,
    /// Empty if there is no text yet.
    json: Vec<u8>,
    is_unchanged: bool,
}

impl CachedText {
    /// Appends a text. `push_new` appends one that is not this one, and returns whether it is
    /// unchanged.
    fn push(
        &mut self,
        logged: &[u8],
        json: &mut Vec<u8>,
        push_new: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        if !is_equal(&self.logged, logged) || self.json.is_empty() {
            self.logged.clear();
            self.logged.extend_from_slice(logged);
            self.json.clear();
            self.is_unchanged = push_new(&mut self.json);
        }
        append(json, &self.json);
        self.is_unchanged
    }
}

impl TextCache {
    /// The most texts that are kept: about as many paths and user agents of a site are requested
    /// often.
    const SLOTS: usize = 1024;

    /// The most bytes of a text that is kept. Longer ones are rare, and would take much memory.
    const MAX_TEXT_LEN: usize = 1024;

    /// Appends a text, redacted. Returns whether that left it unchanged.
    fn push(&mut self, logged: LogText<'_>, json: &mut Vec<u8>) -> bool {
        self.push_with(logged.raw(), json, |_| logged.redacted())
    }

    /// Adds a text that `redacted` masks: one function for each cache.
    fn push_with<'t>(
        &mut self,
        logged: &'t [u8],
        json: &mut Vec<u8>,
        redacted: impl Fn(&'t [u8]) -> Cow<'t, str>,
    ) -> bool {
        let push_redacted = |json: &mut Vec<u8>| {
            let shown = redacted(logged);
            push_string(&shown, json);
            shown.as_bytes() == logged
        };
        if is_plain(logged) {
            push_quoted(logged, json);
            return true;
        }
        if logged.len() > Self::MAX_TEXT_LEN {
            return push_redacted(json);
        }
        if self.slots.is_empty() {
            self.slots = vec![CachedText::default(); Self::SLOTS];
        }
        let slot = &mut self.slots[xxh3_64(logged) as usize % Self::SLOTS];
        slot.push(logged, json, push_redacted)
    }

    /// Appends the decoded form of a target, redacted.
    fn push_decoded(
        &mut self,
        target: LogText<'_>,
        is_unchanged: bool,
        decoded: DecodedText<'_>,
        json: &mut Vec<u8>,
    ) {
        // If the target holds no secret, the decoded form has only those that show there.
        if is_unchanged {
            self.push_with(decoded.raw(), json, |_| {
                LogText::default().redacted_decoded(decoded)
            });
        } else {
            push_string(&target.redacted_decoded(decoded), json);
        }
    }
}

/// Appends a JSON string.
fn push_string(text: &str, json: &mut Vec<u8>) {
    if text
        .bytes()
        .any(|byte| matches!(byte, 0..b' ' | b'"' | b'\\'))
    {
        // Writing to a `Vec` does not fail.
        let _ = serde_json::to_writer(json, text);
    } else {
        push_quoted(text.as_bytes(), json);
    }
}

/// Appends a text without characters that JSON escapes.
fn push_quoted(text: &[u8], json: &mut Vec<u8>) {
    json.push(b'"');
    append(json, text);
    json.push(b'"');
}

/// Appends the path of a log.
fn push_source(last: &mut CachedText, path: &[u8], json: &mut Vec<u8>) {
    last.push(path, json, |json| {
        push_string(&escape(path), json);
        false
    });
}

/// The most lists of rules that are kept. When there are more, all are dropped.
const MAX_LISTS: usize = 4096;

/// The lists of rules of earlier hits, as JSON.
type RuleLists = HashMap<Box<[RuleId]>, Box<[u8]>, RandomState>;

/// Appends the keys of the rules of a hit, after another key.
fn push_rules(lists: &mut RuleLists, set: &RuleSet, hit: &ReportedHit<'_>, json: &mut Vec<u8>) {
    push_list(lists, set, hit.rules, json);
    if json.ends_with(b"[") {
        let about = Attributed::of_hit(set, hit);
        push_words(&about.cves, json);
        json.push(b']');
        if !about.products.is_empty() {
            json.extend_from_slice(br#","product":["#);
            push_words(&about.products, json);
            json.push(b']');
        }
    }
}

/// Adds the keys of a list of rules, without the CVE ids if they depend on the request.
fn push_list(lists: &mut RuleLists, set: &RuleSet, rules: &[RuleId], json: &mut Vec<u8>) {
    if let Some(keys) = lists.get(rules) {
        append(json, keys);
        return;
    }
    let start = json.len();
    for (key, words) in [
        (&br#","rules":["#[..], labels::rule_ids(set, rules)),
        (br#","classes":["#, labels::classes(set, rules)),
    ] {
        json.extend_from_slice(key);
        push_words(&words, json);
        json.push(b']');
    }
    json.extend_from_slice(br#","cve":["#);
    if !labels::depend_on_request(set, rules) {
        push_words(&Attributed::new(set, rules, &[]).cves, json);
        json.push(b']');
    }
    if lists.len() >= MAX_LISTS {
        lists.clear();
    }
    lists.insert(rules.into(), json[start..].into());
}

fn push_words(words: &[&str], json: &mut Vec<u8>) {
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            json.push(b',');
        }
        push_string(word, json);
    }
}

/// The time of the last hit: many requests share a second.
#[derive(Debug, Default)]
struct LastTime {
    time: Option<LogTime>,
    text: String,
}

impl LastTime {
    /// Appends a time.
    fn push(&mut self, time: LogTime, json: &mut Vec<u8>) {
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
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::geoip::GeoInfo;
    use crate::log::finding::RuleId;
    use crate::log::log_entry::Outcome;
    use crate::log::source::RequestId;
    use crate::log::time::LogTime;
    use crate::report::fixture;
    use crate::soft_404::Answer;
    use crate::text::redact::sanitize::escape;

    fn object<'a>(hit: &ReportedHit<'a>, rules: &'a RuleSet) -> HitObject<'a> {
        let unless_empty = |text: LogText<'a>| (!text.is_empty()).then(|| text.redacted());
        let target = hit.target.redacted();
        let decoded = hit
            .decoded
            .map(|decoded| hit.target.redacted_decoded(decoded));
        let about = Attributed::of_hit(rules, hit);
        HitObject {
            id: hit.id.to_string(),
            time: hit.time.map(LogTime::rfc3339),
            client: hit.client.redacted(),
            method: unless_empty(hit.method),
            target,
            path: hit.path.redacted(),
            decoded,
            protocol: unless_empty(hit.protocol),
            status: hit.status,
            bytes: hit.bytes,
            outcome: hit.outcome.as_str(),
            answer: hit.answer.map(Answer::as_str),
            severity: hit.severity,
            rules: labels::rule_ids(rules, hit.rules),
            classes: labels::classes(rules, hit.rules),
            cve: about.cves,
            product: about.products,
            host: hit.host.map(LogText::redacted),
            referer: hit.referer.map(LogText::redacted),
            user_agent: hit.user_agent.map(LogText::redacted),
            source: escape(hit.source),
            line: hit.line,
            offset: hit.id.offset,
            context: hit.context,
            country: hit
                .geo
                .and_then(|geo| labels::geo_name(geo.country.as_ref())),
            asn: hit.geo.and_then(|geo| geo.asn),
            as_name: hit
                .geo
                .and_then(|geo| labels::geo_name(geo.as_name.as_ref())),
            user: hit.user.map(LogText::redacted),
        }
    }

    /// Text of a log: any bytes, or what the quick checks decide about.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<Vec<u8>>(),
            "[A-Z]{0,7}".prop_map(String::into_bytes),
            "(/[a-z0-9.-]{0,20}){1,3}(\\?(id|key|q|token|page)=[a-z0-9%\"\\\\]{0,6})?"
                .prop_map(String::into_bytes),
            "/(reset|confirm)/[a-zA-Z0-9]{12,20}(/?|[.]php)".prop_map(String::into_bytes),
            "[:/@=bearic J?y. e0-9+]{0,24}".prop_map(String::into_bytes),
        ]
    }

    fn client(kind: u8, bits: u128, text: &[u8]) -> Client<'_> {
        match kind % 3 {
            0 => Client::V4(bits as u32),
            1 => Client::V6(bits),
            _ => Client::Text(text),
        }
    }

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), &mut HitTexts::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_keys_are_written_in_their_order() {
        insta::assert_snapshot!(line(&fixture::hit()));
    }

    #[test]
    fn missing_fields_are_null() {
        let hit = ReportedHit {
            time: None,
            method: LogText::new(b""),
            protocol: LogText::new(b""),
            referer: None,
            answer: None,
            decoded: None,
            ..fixture::hit()
        };
        let value: serde_json::Value = serde_json::from_str(&line(&hit)).unwrap();
        for key in [
            "time", "method", "protocol", "referer", "answer", "decoded", "context",
        ] {
            assert!(value[key].is_null(), "{key}");
        }
    }

    proptest! {
        #[test]
        fn a_line_is_its_object_serialized(
            texts in prop::collection::vec(text(), 9),
            present in prop::collection::vec(any::<bool>(), 10),
            (time, offset) in (any::<i64>(), any::<i16>()),
            (kind, bits, numbers) in (any::<u8>(), any::<u128>(), any::<(u64, u64, u64, u64, u16, u32)>()),
            rules in prop::collection::btree_set(0_u16..9, 0..4),
        ) {
            let rules: Vec<RuleId> = rules.into_iter().map(RuleId).collect();
            let name = |at: usize| present[at].then(|| Arc::from(String::from_utf8_lossy(&texts[at])));
            let geo = GeoInfo { country: name(0), city: None, asn: present[1].then_some(numbers.5), as_name: name(2) };
            let hit = ReportedHit {
                id: RequestId { generation: numbers.0, offset: numbers.1 },
                line: numbers.2,
                time: present[3].then_some(LogTime { utc: time, offset }),
                client: client(kind, bits, &texts[0]),
                method: LogText::new(&texts[1]),
                target: LogText::new(&texts[2]),
                path: LogText::new(&texts[3]),
                decoded: present[4].then_some(DecodedText::new(&texts[4])),
                protocol: LogText::new(&texts[5]),
                status: present[5].then_some(numbers.4),
                bytes: present[6].then_some(numbers.3),
                outcome: Outcome::from_status(Some(numbers.4)),
                answer: present[7].then_some(Answer::Uncertain),
                rules: &rules,
                host: present[8].then_some(LogText::new(&texts[6])),
                referer: present[9].then_some(LogText::new(&texts[7])),
                user_agent: present[0].then_some(LogText::new(&texts[8])),
                user: present[1].then_some(LogText::new(&texts[5])),
                source: &texts[0],
                context: present[2].then_some("client"),
                geo: present[4].then_some(&geo),
                ..fixture::hit()
            };
            let expected = serde_json::to_string(&object(&hit, fixture::rules())).unwrap() + "\n";
            let mut cache = HitTexts::default();
            // The second line has the texts of the first.
            for _ in 0..2 {
                let mut json = Vec::new();
                write(&hit, fixture::rules(), &mut cache, &mut json);
                prop_assert_eq!(std::str::from_utf8(&json).unwrap(), &expected);
            }
        }

        #[test]
        fn any_hit_is_one_line_of_valid_json(target in any::<Vec<u8>>(), agent in any::<Vec<u8>>(), client in any::<Vec<u8>>()) {
            let hit = ReportedHit {
                target: LogText::new(&target),
                decoded: Some(DecodedText::new(&agent)),
                user_agent: Some(LogText::new(&agent)),
                client: Client::Text(&client),
                ..fixture::hit()
            };
            let line = line(&hit);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(value["target"].as_str().unwrap(), &*LogText::new(&target).redacted());
        }
    }

    fn pushed(cache: &mut TextCache, logged: LogText<'_>) -> String {
        let mut json = Vec::new();
        let is_unchanged = cache.push(logged, &mut json);
        let shown: String = serde_json::from_slice(&json).unwrap();
        assert_eq!(is_unchanged, shown.as_bytes() == logged.raw(), "{shown}");
        shown
    }

    proptest! {
        #[test]
        fn a_cached_text_is_redacted_like_any_other(texts in prop::collection::vec("[a-c]{0,2}|/?token=[a-z]{0,3}|.{0,8}", 0..200)) {
            let mut cache = TextCache::default();
            for text in texts.iter().chain(&texts) {
                prop_assert_eq!(pushed(&mut cache, LogText::new(text.as_bytes())), LogText::new(text.as_bytes()).redacted());
            }
        }
    }

    #[test]
    fn long_texts_are_not_cached() {
        let mut cache = TextCache::default();
        let long = format!("/?token={}", "a".repeat(TextCache::MAX_TEXT_LEN));
        assert_eq!(
            pushed(&mut cache, LogText::new(long.as_bytes())),
            "/?token=***"
        );
        assert!(cache.slots.is_empty());
        assert_eq!(
            pushed(
                &mut cache,
                LogText::new(&long.as_bytes()[..TextCache::MAX_TEXT_LEN])
            ),
            "/?token=***"
        );
        assert_eq!(
            cache
                .slots
                .iter()
                .filter(|slot| !slot.logged.is_empty())
                .count(),
            1
        );
    }

    #[test]
    fn a_source_without_a_name_is_a_text_too() {
        let (mut last, mut json) = (CachedText::default(), Vec::new());
        for path in [&b""[..], b"a\"b", b"a\"b", b""] {
            push_source(&mut last, path, &mut json);
        }
        assert_eq!(json, br#""""a\"b""a\"b""""#);
    }
}
