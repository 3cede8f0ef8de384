//! Writes one object of the Elastic Common Schema (ECS) per hit and line.
//!
//! Only fields of the released schema are written, and none without a value. Text is masked and escaped as in NDJSON.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::attack::{Technique, techniques};
use super::hit_fields::{TargetParts, address, host_name, http_version, title, unless_empty, worst_rule};
use crate::analysis::labels;
use crate::analysis::model::ReportedHit;
use crate::finding::Severity;
use crate::geoip::GeoInfo;
use crate::log_entry::Outcome;
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::time::LogTime;

/// The version of the schema.
pub(crate) const ECS_VERSION: &str = "9.4.0";

type Text<'a> = Cow<'a, str>;

/// A hit.
#[derive(Serialize)]
struct EcsEvent<'a> {
    #[serde(rename = "@timestamp", skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    ecs: EcsInfo,
    message: String,
    event: EventFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<RuleFields<'a>>,
    threat: ThreatFields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vulnerability: Option<VulnerabilityFields<'a>>,
    source: SourceFields<'a>,
    url: UrlFields<'a>,
    http: HttpFields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<Original<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserFields<'a>>,
    log: LogFields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<RelatedFields>,
    tags: Vec<&'a str>,
    labels: Labels,
}

#[derive(Serialize)]
struct EcsInfo {
    version: &'static str,
}

#[derive(Serialize)]
struct EventFields {
    kind: &'static str,
    category: [&'static str; 2],
    r#type: Vec<&'static str>,
    outcome: &'static str,
    severity: u8,
    id: String,
    sequence: u64,
    module: &'static str,
    dataset: &'static str,
}

#[derive(Serialize)]
struct UserFields<'a> {
    name: Text<'a>,
}

#[derive(Serialize)]
struct RuleFields<'a> {
    id: &'a str,
    name: Text<'a>,
    category: &'a str,
    ruleset: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Text<'a>>,
}

#[derive(Serialize)]
struct ThreatFields<'a> {
    framework: &'static str,
    #[serde(skip_serializing_if = "NamedIds::is_empty")]
    tactic: NamedIds<'a>,
    technique: TechniqueFields<'a>,
}

/// Numbers and names in the same order.
#[derive(Serialize, Default)]
struct NamedIds<'a> {
    id: Vec<&'a str>,
    name: Vec<&'static str>,
}

#[derive(Serialize)]
struct TechniqueFields<'a> {
    #[serde(flatten)]
    ids: NamedIds<'a>,
    #[serde(skip_serializing_if = "NamedIds::is_empty")]
    subtechnique: NamedIds<'a>,
}

#[derive(Serialize)]
struct VulnerabilityFields<'a> {
    id: &'a str,
    enumeration: &'static str,
}

#[derive(Serialize)]
struct SourceFields<'a> {
    address: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    geo: Option<GeoFields<'a>>,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    autonomous_system: Option<AsFields<'a>>,
}

#[derive(Serialize)]
struct GeoFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    country_iso_code: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    city_name: Option<Text<'a>>,
}

#[derive(Serialize)]
struct AsFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<AsOrganization<'a>>,
}

#[derive(Serialize)]
struct AsOrganization<'a> {
    name: Text<'a>,
}

#[derive(Serialize)]
struct UrlFields<'a> {
    original: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<Text<'a>>,
}

#[derive(Serialize)]
struct HttpFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Text<'a>>,
    request: HttpRequestFields<'a>,
    response: HttpResponseFields,
}

#[derive(Serialize)]
struct HttpRequestFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    referrer: Option<Text<'a>>,
}

#[derive(Serialize)]
struct HttpResponseFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<BodySize>,
}

#[derive(Serialize)]
struct BodySize {
    bytes: u64,
}

#[derive(Serialize)]
struct Original<'a> {
    original: Text<'a>,
}

#[derive(Serialize)]
struct LogFields<'a> {
    file: LogFile<'a>,
}

#[derive(Serialize)]
struct LogFile<'a> {
    path: Text<'a>,
}

#[derive(Serialize)]
struct RelatedFields {
    ip: [String; 1],
}

/// What has no field of its own.
#[derive(Serialize)]
struct Labels {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'static str>,
}

/// Writes one hit and its newline, in one piece.
pub(crate) fn write<W: Write>(hit: &ReportedHit<'_>, rules: &RuleSet, out: &mut W) -> io::Result<()> {
    let mut line = serde_json::to_vec(&object(hit, rules))?;
    line.push(b'\n');
    out.write_all(&line)
}

fn object<'a>(hit: &ReportedHit<'a>, rules: &'a RuleSet) -> EcsEvent<'a> {
    let rule = worst_rule(hit, rules);
    let cves = labels::cves(rules, hit.rules);
    let (vulnerability, ip) = (cves.first().copied(), address(hit.client));
    EcsEvent {
        // A time outside the calendar has no date.
        timestamp: hit.time.map(LogTime::rfc3339).filter(|time| !time.starts_with('@')),
        ecs: EcsInfo { version: ECS_VERSION },
        message: format!("{}, {}", rule.map(title).unwrap_or_default(), hit.outcome.as_str()),
        event: event(hit),
        rule: rule.map(|rule| RuleFields {
            id: &rule.id,
            name: title(rule),
            category: &rule.class,
            ruleset: "probewatch",
            reference: rule.references.first().map(|reference| escape(reference.as_bytes())),
        }),
        threat: threat(&techniques(rules, hit.rules)),
        vulnerability: vulnerability.map(|id| VulnerabilityFields { id, enumeration: "CVE" }),
        source: source(hit, ip.clone()),
        url: url(hit),
        http: http(hit),
        user_agent: hit.user_agent.map(|agent| Original { original: redacted(agent) }),
        user: hit.user.map(|name| UserFields { name: redacted(name) }),
        log: LogFields { file: LogFile { path: escape(hit.source) } },
        related: ip.map(|ip| RelatedFields { ip: [ip] }),
        tags: labels::rule_ids(rules, hit.rules).into_iter().chain(cves).collect(),
        labels: Labels { outcome: hit.outcome.as_str(), answer: hit.answer.map(Answer::as_str), context: hit.context },
    }
}

fn event(hit: &ReportedHit<'_>) -> EventFields {
    EventFields {
        kind: "alert",
        category: ["web", "intrusion_detection"],
        r#type: vec!["access", event_type(hit.outcome)],
        outcome: event_outcome(hit),
        severity: severity_number(hit.severity),
        id: labels::id(hit.generation, hit.offset),
        sequence: hit.line,
        module: "probewatch",
        dataset: "probewatch.hit",
    }
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
        (Outcome::Answered, Some(Answer::Uncertain)) | (Outcome::Redirected | Outcome::Unknown, _) => "unknown",
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

impl<'a> NamedIds<'a> {
    fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// Adds a number once. A technique without a name has its number there too, so that the lists stay parallel.
    fn add(&mut self, id: &'a str, name: &'static str) {
        if !self.id.contains(&id) {
            self.id.push(id);
            self.name.push(name);
        }
    }
}

fn threat<'a>(techniques: &[Technique<'a>]) -> ThreatFields<'a> {
    let (mut tactic, mut ids, mut subtechnique) = (NamedIds::default(), NamedIds::default(), NamedIds::default());
    for technique in techniques {
        let parent = technique.parent();
        ids.add(parent.id, parent.name);
        if technique.is_sub_technique() {
            subtechnique.add(technique.id, technique.name);
        }
        if let Some(goal) = technique.tactic {
            tactic.add(goal.id, goal.name);
        }
    }
    ThreatFields { framework: "MITRE ATT&CK", tactic, technique: TechniqueFields { ids, subtechnique } }
}

fn source<'a>(hit: &ReportedHit<'a>, ip: Option<String>) -> SourceFields<'a> {
    SourceFields {
        address: labels::client(hit.client),
        ip,
        geo: hit.geo.filter(|geo| geo.country.is_some() || geo.city.is_some()).map(|geo| GeoFields {
            country_iso_code: labels::geo_name(geo.country.as_ref()),
            city_name: labels::geo_name(geo.city.as_ref()),
        }),
        autonomous_system: hit.geo.filter(|geo| geo.asn.is_some() || geo.as_name.is_some()).map(autonomous_system),
    }
}

fn autonomous_system(geo: &GeoInfo) -> AsFields<'_> {
    AsFields { number: geo.asn, organization: labels::geo_name(geo.as_name.as_ref()).map(|name| AsOrganization { name }) }
}

fn url<'a>(hit: &ReportedHit<'a>) -> UrlFields<'a> {
    let TargetParts { whole, path, query } = TargetParts::new(hit.target);
    UrlFields { original: whole, path, query, domain: host_name(hit) }
}

fn http<'a>(hit: &ReportedHit<'a>) -> HttpFields<'a> {
    HttpFields {
        version: http_version(hit),
        request: HttpRequestFields { method: unless_empty(hit.method), referrer: hit.referer.map(redacted) },
        response: HttpResponseFields { status_code: hit.status, body: hit.bytes.map(|bytes| BodySize { bytes }) },
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::client::Client;
    use crate::render::ecs::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_event_has_the_fields_of_the_contract() {
        let geo = fixture::geo("DE", 64_500, "Example Hosting");
        insta::assert_snapshot!(line(&ReportedHit { geo: Some(&geo), ..fixture::hit() }));
    }

    #[test]
    fn what_is_missing_has_no_field() {
        let hit = ReportedHit {
            time: None,
            method: b"",
            protocol: b"\x16\x03",
            referer: None,
            user_agent: None,
            host: None,
            status: None,
            bytes: None,
            client: Client::Text(b"203.0.113.0/24"),
            ..fixture::hit()
        };
        let event: Value = serde_json::from_str(&line(&hit)).unwrap();
        assert_eq!(event["source"], serde_json::json!({"address": "203.0.113.0/24"}));
        assert_eq!(event["http"], serde_json::json!({"request": {}, "response": {}}));
        for key in ["@timestamp", "related", "user_agent"] {
            assert!(event.get(key).is_none(), "{key}");
        }
    }

    proptest! {
        #[test]
        fn any_hit_is_one_line_of_valid_json(target in any::<Vec<u8>>(), agent in any::<Vec<u8>>(), client in any::<Vec<u8>>()) {
            let hit = ReportedHit {
                target: &target,
                host: Some(&agent),
                protocol: &client,
                user_agent: Some(&agent),
                source: &agent,
                client: Client::Text(&client),
                ..fixture::hit()
            };
            let line = line(&hit);
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert!(!line.trim_end().contains(char::is_control));
            let event: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(event["url"]["original"].as_str().unwrap(), &*redacted(&target));
        }
    }
}
