//! Writes one JSON object per hit and line.
//!
//! The keys and their order are stable: new keys come at the end. All text is valid UTF-8, with secrets masked and unsafe
//! characters escaped as `\xNN` or `\u{..}`.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use crate::analysis::labels;
use crate::analysis::model::ReportedHit;
use crate::finding::Severity;
use crate::redact::mask::{redacted, redacted_decoded};
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::time::LogTime;

#[derive(Serialize)]
struct HitObject<'a> {
    id: String,
    time: Option<String>,
    client: Cow<'a, str>,
    method: Option<Cow<'a, str>>,
    target: Cow<'a, str>,
    path: Cow<'a, str>,
    decoded: Option<Cow<'a, str>>,
    protocol: Option<Cow<'a, str>>,
    status: Option<u16>,
    bytes: Option<u64>,
    outcome: &'static str,
    answer: Option<&'static str>,
    severity: Severity,
    rules: Vec<&'a str>,
    classes: Vec<&'a str>,
    cve: Vec<&'a str>,
    host: Option<Cow<'a, str>>,
    referer: Option<Cow<'a, str>>,
    user_agent: Option<Cow<'a, str>>,
    source: Cow<'a, str>,
    line: u64,
    offset: u64,
    context: Option<&'static str>,
}

/// Writes one hit and its newline, in one piece: a buffer is then written out between two lines, and a run that is killed
/// between two writes leaves whole lines.
pub fn write<W: Write>(hit: &ReportedHit<'_>, rules: &RuleSet, out: &mut W) -> io::Result<()> {
    let mut line = serde_json::to_vec(&object(hit, rules))?;
    line.push(b'\n');
    out.write_all(&line)
}

fn object<'a>(hit: &ReportedHit<'a>, rules: &'a RuleSet) -> HitObject<'a> {
    HitObject {
        id: labels::id(hit.generation, hit.offset),
        time: hit.time.map(LogTime::rfc3339),
        client: labels::client(hit.client),
        method: unless_empty(hit.method),
        target: redacted(hit.target),
        path: redacted(hit.path),
        decoded: hit.decoded.map(|decoded| redacted_decoded(hit.target, decoded)),
        protocol: unless_empty(hit.protocol),
        status: hit.status,
        bytes: hit.bytes,
        outcome: hit.outcome.as_str(),
        answer: hit.answer.map(Answer::as_str),
        severity: hit.severity,
        rules: labels::rule_ids(rules, hit.rules),
        classes: labels::classes(rules, hit.rules),
        cve: labels::cves(rules, hit.rules),
        host: hit.host.map(redacted),
        referer: hit.referer.map(redacted),
        user_agent: hit.user_agent.map(redacted),
        source: escape(hit.source),
        line: hit.line,
        offset: hit.offset,
        context: hit.context,
    }
}

fn unless_empty(text: &[u8]) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then(|| redacted(text))
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::render::ndjson::*;
    use proptest::prelude::*;

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), &mut out).unwrap();
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
