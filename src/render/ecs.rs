//! Writes one object of the Elastic Common Schema (ECS) per hit and line.
//!
//! Only fields of the released schema are written, and none without a value. Text is masked and
//! escaped as in NDJSON.

use super::attack::{Technique, techniques};
use super::hit_fields::{
    ObjectFields, address, host_name, http_version, put_geo, target_parts, title, titled,
    unless_empty,
};
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::report::labels::{self, Attributed};
use crate::report::model::ReportedHit;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::text::redact::sanitize::escape;

/// The version of the schema.
pub(crate) const ECS_VERSION: &str = "9.4.0";

/// Appends one hit and its newline.
pub(crate) fn write(hit: &ReportedHit<'_>, rules: &RuleSet, json: &mut Vec<u8>) {
    ObjectFields::line(json, |fields| put_hit(fields, hit, rules));
}

fn put_hit(fields: &mut ObjectFields<'_>, hit: &ReportedHit<'_>, rules: &RuleSet) {
    let rule = labels::worst(rules, hit.rules);
    let Attributed { cves, products } = Attributed::of_hit(rules, hit);
    let ip = address(hit.client);
    // A time outside the calendar has no date.
    fields.put_some(
        "@timestamp",
        hit.time
            .map(LogTime::rfc3339)
            .filter(|time| !time.starts_with('@')),
    );
    fields.put("ecs.version", ECS_VERSION);
    fields.put(
        "message",
        format!(
            "{}, {}",
            rule.map(|rule| titled(rule, &products)).unwrap_or_default(),
            hit.outcome.as_str()
        ),
    );
    fields.put("event.kind", "alert");
    fields.put("event.category", ["web", "intrusion_detection"]);
    fields.put("event.type", ["access", event_type(hit.outcome)]);
    fields.put("event.outcome", event_outcome(hit));
    fields.put("event.severity", severity_number(hit.severity));
    fields.put("event.id", hit.id);
    fields.put("event.sequence", hit.line);
    fields.put("event.module", "probewatch");
    fields.put("event.dataset", "probewatch.hit");
    if let Some(rule) = rule {
        fields.put("rule.id", &rule.id);
        fields.put("rule.name", title(rule));
        fields.put("rule.category", &rule.class);
        fields.put("rule.ruleset", "probewatch");
        fields.put_some(
            "rule.reference",
            rule.references()
                .first()
                .map(|reference| escape(reference.as_bytes())),
        );
    }
    put_threat(fields, &techniques(rules, hit.rules));
    if let Some(cve) = cves.first() {
        fields.put("vulnerability.id", cve);
        fields.put("vulnerability.enumeration", "CVE");
    }
    fields.put("source.address", hit.client.redacted());
    fields.put_some("source.ip", ip.as_ref());
    let geo = [
        "source.geo.country_iso_code",
        "source.geo.city_name",
        "source.as.number",
        "source.as.organization.name",
    ];
    put_geo(fields, hit.geo, geo);
    let (whole, path, query) = target_parts(hit.target);
    fields.put("url.original", whole);
    fields.put_some("url.path", path);
    fields.put_some("url.query", query);
    fields.put_some("url.domain", host_name(hit));
    fields.put_some("http.version", http_version(hit));
    fields.open("http.request");
    fields.put_some("http.request.method", unless_empty(hit.method));
    fields.put_some("http.request.referrer", hit.referer);
    fields.open("http.response");
    fields.put_some("http.response.status_code", hit.status);
    fields.put_some("http.response.body.bytes", hit.bytes);
    fields.put_some("user_agent.original", hit.user_agent);
    fields.put_some("user.name", hit.user);
    fields.put("log.file.path", escape(hit.source));
    fields.put_some("related.ip", ip.map(|ip| [ip]));
    fields.put(
        "tags",
        labels::rule_ids(rules, hit.rules)
            .into_iter()
            .chain(cves)
            .collect::<Vec<_>>(),
    );
    fields.put("labels.outcome", hit.outcome.as_str());
    fields.put_some("labels.answer", hit.answer.map(Answer::as_str));
    fields.put_some("labels.context", hit.context);
    fields.put_some("labels.product", products.first());
}

/// Whether the site let the request through.
fn event_type(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered | Outcome::Redirected => "allowed",
        Outcome::AuthRequired | Outcome::Denied => "denied",
        Outcome::Error => "error",
        Outcome::NotFound | Outcome::Rejected | Outcome::Unknown => "info",
    }
}

/// Whether the prober got what it wanted, as far as the answer shows it.
fn event_outcome(hit: &ReportedHit<'_>) -> &'static str {
    match (hit.outcome, hit.answer) {
        (Outcome::Answered, Some(Answer::Soft404)) => "failure",
        (Outcome::Answered, Some(Answer::Uncertain))
        | (Outcome::Redirected | Outcome::Unknown, _) => "unknown",
        (Outcome::Answered, _) => "success",
        _ => "failure",
    }
}

/// From 1 for info to 5 for critical, as in OCSF.
pub(crate) fn severity_number(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 1,
        Severity::Low => 2,
        Severity::Medium => 3,
        Severity::High => 4,
        Severity::Critical => 5,
    }
}

/// Numbers and names of techniques, in the same order and each once. A technique without a name has
/// its number there too, so that the lists stay parallel.
fn put_threat(fields: &mut ObjectFields<'_>, techniques: &[Technique<'_>]) {
    let mut lists: [(Vec<&str>, Vec<&str>); 3] = Default::default();
    let mut add = |list: usize, id, name| {
        let (ids, names) = &mut lists[list];
        if !ids.contains(&id) {
            ids.push(id);
            names.push(name);
        }
    };
    for technique in techniques {
        let parent = technique.parent();
        add(1, parent.id, parent.name);
        if technique.is_sub_technique() {
            add(2, technique.id, technique.name);
        }
        if let Some((id, name)) = technique.tactic {
            add(0, id, name);
        }
    }
    fields.put("threat.framework", "MITRE ATT&CK");
    let [tactics, parents, sub_techniques] = lists;
    if !tactics.0.is_empty() {
        fields.put("threat.tactic.id", tactics.0);
        fields.put("threat.tactic.name", tactics.1);
    }
    fields.put("threat.technique.id", parents.0);
    fields.put("threat.technique.name", parents.1);
    if !sub_techniques.0.is_empty() {
        fields.put("threat.technique.subtechnique.id", sub_techniques.0);
        fields.put("threat.technique.subtechnique.name", sub_techniques.1);
    }
}

#[cfg(test)]
mod tests {
    use crate::log::client::Client;
    use crate::render::ecs::*;
    use crate::report::fixture;
    use crate::text::redact::LogText;
    use proptest::prelude::*;
    use serde_json::Value;

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_event_has_the_fields_of_the_contract() {
        let geo = fixture::geo("DE", 64_500, "Example Hosting");
        insta::assert_snapshot!(line(&ReportedHit {
            geo: Some(&geo),
            ..fixture::hit()
        }));
    }

    #[test]
    fn what_is_missing_has_no_field() {
        let hit = ReportedHit {
            time: None,
            method: LogText::new(b""),
            protocol: LogText::new(b"\x16\x03"),
            referer: None,
            user_agent: None,
            host: None,
            status: None,
            bytes: None,
            client: Client::Text(b"203.0.113.0/24"),
            ..fixture::hit()
        };
        let event: Value = serde_json::from_str(&line(&hit)).unwrap();
        assert_eq!(
            event["source"],
            serde_json::json!({"address": "203.0.113.0/24"})
        );
        assert_eq!(
            event["http"],
            serde_json::json!({"request": {}, "response": {}})
        );
        for key in ["@timestamp", "related", "user_agent"] {
            assert!(event.get(key).is_none(), "{key}");
        }
    }

    proptest! {
        #[test]
        fn any_hit_is_one_line_of_valid_json(target in any::<Vec<u8>>(), agent in any::<Vec<u8>>(), client in any::<Vec<u8>>()) {
            let hit = ReportedHit {
                target: LogText::new(&target),
                host: Some(LogText::new(&agent)),
                protocol: LogText::new(&client),
                user_agent: Some(LogText::new(&agent)),
                source: &agent,
                client: Client::Text(&client),
                ..fixture::hit()
            };
            let line = line(&hit);
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert!(!line.trim_end().contains(char::is_control));
            let event: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(event["url"]["original"].as_str().unwrap(), &*LogText::new(&target).redacted());
        }
    }
}
