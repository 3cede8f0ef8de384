//! Writes one JSON object per hit and line.
//!
//! The keys and their order are stable: new keys come at the end. All text is valid UTF-8, with secrets masked and unsafe
//! characters escaped as `\xNN` or `\u{..}`.

use std::borrow::Cow;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::labels;
use crate::analysis::model::ReportedHit;
use crate::finding::Severity;
use crate::redact::mask::{RedactionCache, redacted_decoded};
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::time::LogTime;

/// A hit: one line of `-f ndjson`.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "probewatch hit")]
pub(crate) struct HitObject<'a> {
    /// Identity of the request: the generation of its log and the byte offset of its line. Two requests never share one.
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
    /// Grade of the answer: `distinct`, `uncertain` or `soft_404`; null where the request was not answered.
    answer: Option<&'static str>,
    /// Highest severity of the rules, one step higher where an answer exposes something.
    severity: Severity,
    /// IDs of the rules that matched, sorted.
    rules: Vec<&'a str>,
    /// Classes of these rules, sorted.
    classes: Vec<&'a str>,
    /// CVE IDs of these rules, sorted.
    cve: Vec<&'a str>,
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
    /// What makes the request a hit where its line alone does not: `client` (its other requests) or `flood`; null otherwise.
    context: Option<&'static str>,
    /// Country of the client, two letters of ISO 3166-1; null without a GeoIP database that has it.
    country: Option<Cow<'a, str>>,
    /// Number of the autonomous system of the client; null without a GeoIP database that has it.
    asn: Option<u32>,
    /// Name of that autonomous system; null without a GeoIP database that has it.
    as_name: Option<Cow<'a, str>>,
}

/// Bytes of most lines: a buffer of this size is not moved.
const USUAL_LEN: usize = 1024;

/// Writes one hit and its newline, in one piece: a buffer is then written out between two lines, and a run that is killed
/// between two writes leaves whole lines.
pub(crate) fn write<W: Write>(hit: &ReportedHit<'_>, rules: &RuleSet, texts: &mut HitTexts, out: &mut W) -> io::Result<()> {
    let mut line = Vec::with_capacity(USUAL_LEN);
    serde_json::to_writer(&mut line, &object(hit, rules, texts))?;
    line.push(b'\n');
    out.write_all(&line)
}

/// The texts of earlier hits: most come again.
#[derive(Debug, Default)]
pub(crate) struct HitTexts {
    method: RedactionCache,
    target: RedactionCache,
    path: RedactionCache,
    decoded: RedactionCache,
    protocol: RedactionCache,
    host: RedactionCache,
    referer: RedactionCache,
    user_agent: RedactionCache,
}

fn object<'a>(hit: &ReportedHit<'a>, rules: &'a RuleSet, texts: &'a mut HitTexts) -> HitObject<'a> {
    let target = texts.target.redacted(hit.target);
    // If the target holds no secret, the decoded form has only those that show there.
    let has_no_secret = target.as_bytes() == hit.target;
    let decoded = match hit.decoded {
        Some(decoded) if has_no_secret => Some(texts.decoded.redacted(decoded)),
        decoded => decoded.map(|decoded| redacted_decoded(hit.target, decoded)),
    };
    HitObject {
        id: labels::id(hit.generation, hit.offset),
        time: hit.time.map(LogTime::rfc3339),
        client: labels::client(hit.client),
        method: (!hit.method.is_empty()).then(|| texts.method.redacted(hit.method)),
        target,
        path: texts.path.redacted(hit.path),
        decoded,
        protocol: (!hit.protocol.is_empty()).then(|| texts.protocol.redacted(hit.protocol)),
        status: hit.status,
        bytes: hit.bytes,
        outcome: hit.outcome.as_str(),
        answer: hit.answer.map(Answer::as_str),
        severity: hit.severity,
        rules: labels::rule_ids(rules, hit.rules),
        classes: labels::classes(rules, hit.rules),
        cve: labels::cves(rules, hit.rules),
        host: hit.host.map(|host| texts.host.redacted(host)),
        referer: hit.referer.map(|referer| texts.referer.redacted(referer)),
        user_agent: hit.user_agent.map(|agent| texts.user_agent.redacted(agent)),
        source: escape(hit.source),
        line: hit.line,
        offset: hit.offset,
        context: hit.context,
        country: hit.geo.and_then(|geo| labels::geo_name(geo.country.as_ref())),
        asn: hit.geo.and_then(|geo| geo.asn),
        as_name: hit.geo.and_then(|geo| labels::geo_name(geo.as_name.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::redact::mask::redacted;
    use crate::render::ndjson::*;
    use proptest::prelude::*;

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), &mut HitTexts::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn says_everything_in_the_order_of_the_contract() {
        insta::assert_snapshot!(line(&fixture::hit()));
    }

    #[test]
    fn missing_fields_are_null() {
        let hit = ReportedHit { time: None, method: b"", protocol: b"", referer: None, answer: None, decoded: None, ..fixture::hit() };
        let value: serde_json::Value = serde_json::from_str(&line(&hit)).unwrap();
        for key in ["time", "method", "protocol", "referer", "answer", "decoded", "context"] {
            assert!(value[key].is_null(), "{key}");
        }
    }

    proptest! {
        #[test]
        fn any_hit_is_one_line_of_valid_json(target in any::<Vec<u8>>(), agent in any::<Vec<u8>>(), client in any::<Vec<u8>>()) {
            let hit = ReportedHit {
                target: &target,
                decoded: Some(&agent),
                user_agent: Some(&agent),
                client: crate::client::Client::Text(&client),
                ..fixture::hit()
            };
            let line = line(&hit);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(value["target"].as_str().unwrap(), &*redacted(&target));
        }
    }
}
