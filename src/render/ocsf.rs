//! Writes one Detection Finding of the Open Cybersecurity Schema Framework (OCSF) per hit and line.
//!
//! The request is the evidence of the finding. Only attributes of the released schema are written; what it has no attribute for is
//! in `unmapped`. Text is masked and escaped as in NDJSON.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::attack::{Technique, techniques};
use super::ecs::severity_number;
use super::hit_fields::{TargetParts, address, host_name, http_version, title, worst_rule};
use crate::analysis::labels;
use crate::analysis::model::ReportedHit;
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::time::LogTime;

/// The version of the schema.
pub(crate) const OCSF_VERSION: &str = "1.5.0";

/// The methods that `http_method` may have.
const METHODS: [&str; 9] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

type Text<'a> = Cow<'a, str>;

/// A hit.
#[derive(Serialize)]
struct DetectionFinding<'a> {
    activity_id: u8,
    activity_name: &'static str,
    category_uid: u8,
    category_name: &'static str,
    class_uid: u16,
    class_name: &'static str,
    type_uid: u32,
    type_name: &'static str,
    severity_id: u8,
    severity: &'static str,
    status_id: u8,
    status: &'static str,
    is_alert: bool,
    time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone_offset: Option<i16>,
    message: String,
    metadata: Metadata<'a>,
    finding_info: FindingInfo<'a>,
    evidences: [Evidence<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vulnerabilities: Vec<Vulnerability<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    observables: Vec<Observable>,
    unmapped: Unmapped<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    version: &'static str,
    uid: String,
    product: Product,
    log_name: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_time: Option<String>,
}

#[derive(Serialize)]
struct Product {
    name: &'static str,
    vendor_name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct FindingInfo<'a> {
    uid: String,
    title: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    analytic: Option<Analytic<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_analytics: Vec<Analytic<'a>>,
    attacks: Vec<Attack<'a>>,
    types: Vec<&'a str>,
    data_sources: [Text<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    first_seen_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen_time: Option<i64>,
}

#[derive(Serialize)]
struct Analytic<'a> {
    uid: &'a str,
    name: Text<'a>,
    category: &'a str,
    type_id: u8,
    r#type: &'static str,
}

#[derive(Serialize)]
struct Attack<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tactic: Option<AttackName<'a>>,
    technique: AttackName<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_technique: Option<AttackName<'a>>,
}

#[derive(Serialize)]
struct AttackName<'a> {
    uid: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'static str,
}

#[derive(Serialize)]
struct Evidence<'a> {
    src_endpoint: Endpoint<'a>,
    http_request: HttpRequest<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_response: Option<HttpResponse>,
}

#[derive(Serialize)]
struct Endpoint<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    autonomous_system: Option<AutonomousSystem<'a>>,
}

#[derive(Serialize)]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<Text<'a>>,
}

#[derive(Serialize)]
struct AutonomousSystem<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Text<'a>>,
}

#[derive(Serialize)]
struct HttpRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    http_method: Option<&'static str>,
    url: Url<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    referrer: Option<Text<'a>>,
}

#[derive(Serialize)]
struct Url<'a> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_string: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<Text<'a>>,
}

#[derive(Serialize)]
struct HttpResponse {
    code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
}

#[derive(Serialize)]
struct Vulnerability<'a> {
    cve: Cve<'a>,
}

#[derive(Serialize)]
struct Cve<'a> {
    uid: &'a str,
}

#[derive(Serialize)]
struct Observable {
    name: &'static str,
    type_id: u8,
    r#type: &'static str,
    value: String,
}

/// What the schema has no attribute for.
#[derive(Serialize)]
struct Unmapped<'a> {
    line: u64,
    offset: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Text<'a>>,
}

/// Writes one hit and its newline, in one piece. A finding needs a time: that of a request without one is `now`, in seconds since
/// 1970.
pub(crate) fn write<W: Write>(hit: &ReportedHit<'_>, rules: &RuleSet, now: i64, out: &mut W) -> io::Result<()> {
    let mut line = serde_json::to_vec(&object(hit, rules, now))?;
    line.push(b'\n');
    out.write_all(&line)
}

fn object<'a>(hit: &ReportedHit<'a>, rules: &'a RuleSet, now: i64) -> DetectionFinding<'a> {
    let method = METHODS.into_iter().find(|method| method.as_bytes() == hit.method);
    DetectionFinding {
        activity_id: 1,
        activity_name: "Create",
        category_uid: 2,
        category_name: "Findings",
        class_uid: 2004,
        class_name: "Detection Finding",
        type_uid: 200_401,
        type_name: "Detection Finding: Create",
        severity_id: severity_number(hit.severity),
        severity: severity_caption(hit.severity),
        status_id: 1,
        status: "New",
        is_alert: true,
        time: milliseconds(hit.time.map_or(now, |time| time.utc)),
        timezone_offset: hit.time.map(|time| time.offset),
        message: format!("{}, {}", worst_rule(hit, rules).map(title).unwrap_or_default(), hit.outcome.as_str()),
        metadata: metadata(hit),
        finding_info: finding_info(hit, rules),
        evidences: [evidence(hit, method)],
        vulnerabilities: labels::cves(rules, hit.rules).into_iter().map(|uid| Vulnerability { cve: Cve { uid } }).collect(),
        observables: address(hit.client).map(client_observable).into_iter().collect(),
        unmapped: Unmapped {
            line: hit.line,
            offset: hit.offset,
            outcome: hit.outcome.as_str(),
            answer: hit.answer.map(Answer::as_str),
            context: hit.context,
            method: (method.is_none() && !hit.method.is_empty()).then(|| redacted(hit.method)),
        },
    }
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

fn metadata<'a>(hit: &ReportedHit<'a>) -> Metadata<'a> {
    Metadata {
        version: OCSF_VERSION,
        uid: labels::id(hit.generation, hit.offset),
        product: Product { name: "probewatch", vendor_name: "probewatch", version: env!("CARGO_PKG_VERSION") },
        log_name: escape(hit.source),
        original_time: hit.time.map(LogTime::rfc3339),
    }
}

fn finding_info<'a>(hit: &ReportedHit<'a>, rules: &'a RuleSet) -> FindingInfo<'a> {
    let worst = worst_rule(hit, rules);
    let others = hit.rules.iter().map(|&rule| rules.rule(rule)).filter(|rule| worst.is_none_or(|worst| worst.id != rule.id));
    let time = hit.time.map(|time| milliseconds(time.utc));
    FindingInfo {
        uid: labels::id(hit.generation, hit.offset),
        title: worst.map(title).unwrap_or_default(),
        analytic: worst.map(Analytic::new),
        related_analytics: others.map(Analytic::new).collect(),
        attacks: techniques(rules, hit.rules).into_iter().map(Attack::new).collect(),
        types: labels::classes(rules, hit.rules),
        data_sources: [escape(hit.source)],
        first_seen_time: time,
        last_seen_time: time,
    }
}

impl<'a> Analytic<'a> {
    fn new(rule: &'a crate::rules::Rule) -> Self {
        Self { uid: &rule.id, name: title(rule), category: &rule.class, type_id: 1, r#type: "Rule" }
    }
}

impl<'a> Attack<'a> {
    fn new(technique: Technique<'a>) -> Self {
        let parent = technique.parent();
        let name = |of: Technique<'a>| AttackName { uid: of.id, name: of.name };
        Self {
            tactic: technique.tactic.map(|tactic| AttackName { uid: tactic.id, name: tactic.name }),
            technique: name(parent),
            sub_technique: technique.is_sub_technique().then(|| name(technique)),
        }
    }
}

fn evidence<'a>(hit: &ReportedHit<'a>, method: Option<&'static str>) -> Evidence<'a> {
    let TargetParts { whole, path, query } = TargetParts::new(hit.target);
    Evidence {
        src_endpoint: endpoint(hit),
        http_request: HttpRequest {
            http_method: method,
            url: Url { path: path.unwrap_or(whole), query_string: query, hostname: host_name(hit) },
            version: http_version(hit),
            user_agent: hit.user_agent.map(redacted),
            referrer: hit.referer.map(redacted),
        },
        http_response: hit.status.map(|code| HttpResponse { code, length: hit.bytes }),
    }
}

fn endpoint<'a>(hit: &ReportedHit<'a>) -> Endpoint<'a> {
    let ip = address(hit.client);
    Endpoint {
        name: ip.is_none().then(|| labels::client(hit.client)),
        ip,
        location: hit
            .geo
            .filter(|geo| geo.country.is_some() || geo.city.is_some())
            .map(|geo| Location { country: labels::geo_name(geo.country.as_ref()), city: labels::geo_name(geo.city.as_ref()) }),
        autonomous_system: hit
            .geo
            .filter(|geo| geo.asn.is_some() || geo.as_name.is_some())
            .map(|geo| AutonomousSystem { number: geo.asn, name: labels::geo_name(geo.as_name.as_ref()) }),
    }
}

fn client_observable(ip: String) -> Observable {
    Observable { name: "evidences[].src_endpoint.ip", type_id: 2, r#type: "IP Address", value: ip }
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::client::Client;
    use crate::render::ocsf::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn line(hit: &ReportedHit<'_>) -> String {
        let mut out = Vec::new();
        write(hit, fixture::rules(), 1_793_577_600, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_finding_has_the_attributes_of_the_contract() {
        let geo = fixture::geo("DE", 64_500, "Example Hosting");
        let hit = ReportedHit { geo: Some(&geo), ..fixture::hit() };
        insta::assert_snapshot!(line(&hit).replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }

    #[test]
    fn a_method_outside_the_schema_and_a_missing_time_are_no_violation() {
        let hit = ReportedHit { method: b"PROPFIND", time: None, client: Client::Text(b"scanner.example"), ..fixture::hit() };
        let finding: Value = serde_json::from_str(&line(&hit)).unwrap();
        assert_eq!((&finding["unmapped"]["method"], &finding["time"]), (&"PROPFIND".into(), &1_793_577_600_000_i64.into()));
        assert_eq!(finding["evidences"][0]["src_endpoint"], serde_json::json!({"name": "scanner.example"}));
        assert!(finding["evidences"][0]["http_request"].get("http_method").is_none() && finding.get("observables").is_none());
    }

    proptest! {
        #[test]
        fn any_hit_is_one_line_of_valid_json(target in any::<Vec<u8>>(), agent in any::<Vec<u8>>(), client in any::<Vec<u8>>()) {
            let hit = ReportedHit {
                target: &target,
                method: &agent,
                host: Some(&agent),
                protocol: &client,
                referer: Some(&agent),
                source: &agent,
                client: Client::Text(&client),
                ..fixture::hit()
            };
            let line = line(&hit);
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert!(!line.trim_end().contains(char::is_control));
            let finding: Value = serde_json::from_str(&line).unwrap();
            prop_assert!(redacted(&target).starts_with(finding["evidences"][0]["http_request"]["url"]["path"].as_str().unwrap()));
        }
    }
}
