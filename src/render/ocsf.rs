//! Writes one Detection Finding of the Open Cybersecurity Schema Framework (OCSF) per hit and line.
//!
//! The request is the evidence of the finding. Only attributes of the released schema are written;
//! what it has no attribute for is in `unmapped`. Text is masked and escaped as in NDJSON.

use super::attack::{Technique, techniques};
use super::ecs::severity_number;
use super::hit_fields::{
    ObjectFields, address, host_name, http_version, put_geo, target_parts, title, titled,
    unless_empty,
};
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::report::labels::{self, Attributed};
use crate::report::model::ReportedHit;
use crate::rules::{Rule, RuleSet};
use crate::soft_404::Answer;
use crate::text::redact::sanitize::escape;

/// The version of the schema.
pub(crate) const OCSF_VERSION: &str = "1.5.0";

/// The methods that `http_method` may have.
const METHODS: [&str; 9] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
];

/// Appends one hit and its newline. A finding needs a time: that of a request without
/// one is `now`, in seconds since 1970.
pub(crate) fn write(hit: &ReportedHit<'_>, rules: &RuleSet, now: i64, json: &mut Vec<u8>) {
    ObjectFields::line(json, |fields| put_hit(fields, hit, rules, now));
}

fn put_hit(fields: &mut ObjectFields<'_>, hit: &ReportedHit<'_>, rules: &RuleSet, now: i64) {
    let method = METHODS
        .into_iter()
        .find(|method| method.as_bytes() == hit.method.raw());
    let worst = labels::worst(rules, hit.rules);
    fields.put("activity_id", 1);
    fields.put("activity_name", "Create");
    fields.put("category_uid", 2);
    fields.put("category_name", "Findings");
    fields.put("class_uid", 2004);
    fields.put("class_name", "Detection Finding");
    fields.put("type_uid", 200_401);
    fields.put("type_name", "Detection Finding: Create");
    fields.put("severity_id", severity_number(hit.severity));
    fields.put("severity", severity_caption(hit.severity));
    fields.put("status_id", 1);
    fields.put("status", "New");
    fields.put("is_alert", true);
    fields.put("time", milliseconds(hit.time.map_or(now, |time| time.utc)));
    fields.put_some("timezone_offset", hit.time.map(|time| time.offset));
    fields.put(
        "message",
        format!(
            "{}, {}",
            worst.map(title).unwrap_or_default(),
            hit.outcome.as_str()
        ),
    );
    fields.put("metadata.version", OCSF_VERSION);
    fields.put("metadata.uid", hit.id);
    fields.put("metadata.product.name", "probewatch");
    fields.put("metadata.product.vendor_name", "probewatch");
    fields.put("metadata.product.version", env!("CARGO_PKG_VERSION"));
    fields.put("metadata.log_name", escape(hit.source));
    fields.put_some("metadata.original_time", hit.time.map(LogTime::rfc3339));
    fields.put("finding_info.uid", hit.id);
    let about = Attributed::of_hit(rules, hit);
    fields.put(
        "finding_info.title",
        worst
            .map(|rule| titled(rule, &about.products))
            .unwrap_or_default(),
    );
    if let Some(rule) = worst {
        fields.put_object("finding_info.analytic", |fields| put_analytic(fields, rule));
    }
    let others = hit
        .rules
        .iter()
        .map(|&rule| rules.rule(rule))
        .filter(|rule| worst.is_none_or(|worst| worst.id != rule.id));
    fields.put_any("finding_info.related_analytics", others, put_analytic);
    fields.put_objects(
        "finding_info.attacks",
        techniques(rules, hit.rules),
        put_attack,
    );
    fields.put("finding_info.types", labels::classes(rules, hit.rules));
    fields.put("finding_info.data_sources", [escape(hit.source)]);
    let time = hit.time.map(|time| milliseconds(time.utc));
    fields.put_some("finding_info.first_seen_time", time);
    fields.put_some("finding_info.last_seen_time", time);
    fields.put_objects("evidences", [hit], |fields, hit| {
        put_evidence(fields, hit, method);
    });
    fields.put_any("vulnerabilities", about.cves, |fields, cve| {
        fields.put("cve.uid", cve);
    });
    fields.put_any("observables", address(hit.client), |fields, ip| {
        fields.put("name", "evidences[].src_endpoint.ip");
        fields.put("type_id", 2);
        fields.put("type", "IP Address");
        fields.put("value", ip);
    });
    // What the schema has no attribute for.
    fields.put("unmapped.line", hit.line);
    fields.put("unmapped.offset", hit.id.offset);
    fields.put("unmapped.outcome", hit.outcome.as_str());
    fields.put_some("unmapped.answer", hit.answer.map(Answer::as_str));
    fields.put_some("unmapped.context", hit.context);
    fields.put_some(
        "unmapped.products",
        (!about.products.is_empty()).then_some(&about.products),
    );
    fields.put_some(
        "unmapped.method",
        unless_empty(hit.method).filter(|_| method.is_none()),
    );
}

fn milliseconds(seconds: i64) -> i64 {
    seconds.saturating_mul(1_000)
}

fn severity_caption(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "Informational",
        Severity::Low => "Low",
        Severity::Medium => "Medium",
        Severity::High => "High",
        Severity::Critical => "Critical",
    }
}

fn put_analytic(fields: &mut ObjectFields<'_>, rule: &Rule) {
    fields.put("uid", &rule.id);
    fields.put("name", title(rule));
    fields.put("category", &rule.class);
    fields.put("type_id", 1);
    fields.put("type", "Rule");
}

fn put_attack(fields: &mut ObjectFields<'_>, technique: Technique<'_>) {
    let name = |name: &'static str| Some(name).filter(|name| !name.is_empty());
    if let Some((tactic, tactic_name)) = technique.tactic {
        fields.put("tactic.uid", tactic);
        fields.put_some("tactic.name", name(tactic_name));
    }
    let parent = technique.parent();
    fields.put("technique.uid", parent.id);
    fields.put_some("technique.name", name(parent.name));
    if technique.is_sub_technique() {
        fields.put("sub_technique.uid", technique.id);
        fields.put_some("sub_technique.name", name(technique.name));
    }
}

fn put_evidence(
    fields: &mut ObjectFields<'_>,
    hit: &ReportedHit<'_>,
    method: Option<&'static str>,
) {
    let ip = address(hit.client);
    let name = ip.is_none().then(|| hit.client.redacted());
    fields.put_some("src_endpoint.ip", ip);
    fields.put_some("src_endpoint.name", name);
    let geo = [
        "src_endpoint.location.country",
        "src_endpoint.location.city",
        "src_endpoint.autonomous_system.number",
        "src_endpoint.autonomous_system.name",
    ];
    put_geo(fields, hit.geo, geo);
    let (whole, path, query) = target_parts(hit.target);
    fields.put_some("http_request.http_method", method);
    fields.put("http_request.url.path", path.unwrap_or(whole));
    fields.put_some("http_request.url.query_string", query);
    fields.put_some("http_request.url.hostname", host_name(hit));
    fields.put_some("http_request.version", http_version(hit));
    fields.put_some("http_request.user_agent", hit.user_agent);
    fields.put_some("http_request.referrer", hit.referer);
    if let Some(code) = hit.status {
        fields.put("http_response.code", code);
        fields.put_some("http_response.length", hit.bytes);
    }
}

#[cfg(test)]
mod tests {
    use crate::log::client::Client;
    use crate::render::ocsf::*;
    use crate::report::fixture;
    use crate::text::redact::LogText;
    use proptest::prelude::*;
    use serde_json::Value;

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), 1_793_577_600, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_finding_has_the_attributes_of_the_contract() {
        let geo = fixture::geo("DE", 64_500, "Example Hosting");
        let hit = ReportedHit {
            geo: Some(&geo),
            ..fixture::hit()
        };
        insta::assert_snapshot!(line(&hit).replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }

    #[test]
    fn a_method_outside_the_schema_and_a_missing_time_are_no_violation() {
        let hit = ReportedHit {
            method: LogText::new(b"PROPFIND"),
            time: None,
            client: Client::Text(b"scanner.example"),
            ..fixture::hit()
        };
        let finding: Value = serde_json::from_str(&line(&hit)).unwrap();
        assert_eq!(
            (&finding["unmapped"]["method"], &finding["time"]),
            (&"PROPFIND".into(), &1_793_577_600_000_i64.into())
        );
        assert_eq!(
            finding["evidences"][0]["src_endpoint"],
            serde_json::json!({"name": "scanner.example"})
        );
        assert!(
            finding["evidences"][0]["http_request"]
                .get("http_method")
                .is_none()
                && finding.get("observables").is_none()
        );
    }

    proptest! {
        #[test]
        fn any_hit_is_one_line_of_valid_json(target in any::<Vec<u8>>(), agent in any::<Vec<u8>>(), client in any::<Vec<u8>>()) {
            let hit = ReportedHit {
                target: LogText::new(&target),
                method: LogText::new(&agent),
                host: Some(LogText::new(&agent)),
                protocol: LogText::new(&client),
                referer: Some(LogText::new(&agent)),
                source: &agent,
                client: Client::Text(&client),
                ..fixture::hit()
            };
            let line = line(&hit);
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert!(!line.trim_end().contains(char::is_control));
            let finding: Value = serde_json::from_str(&line).unwrap();
            prop_assert!(LogText::new(&target).redacted().starts_with(finding["evidences"][0]["http_request"]["url"]["path"].as_str().unwrap()));
        }
    }
}
