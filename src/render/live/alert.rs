//! Prints an alert as a line for people, as a short text for a system log, or as a JSON object for
//! programs.
//!
//! The keys of the object and their order are stable: new keys come at the end. The words of the
//! texts may change.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::LiveLines;
use crate::alerting::{Alert, AlertKind, AlertSample};
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::render::hit_fields::{ObjectFields, unless_empty};
use crate::render::layout::{ALARM, BOLD, DIM, truncate};
use crate::report::labels::{self, Attributed};
use crate::rules::RuleSet;
use crate::text::number::{counted, grouped};
use crate::text::redact::sanitize::escape;
use crate::text::redact::{LogString, LogText};

/// The most columns of a path or target in a sentence.
const MAX_TEXT: usize = 80;

/// The most columns of a client's name.
const MAX_NAME: usize = 39;

/// The least columns of a request; with fewer it is left out.
const MIN_REQUEST: usize = 12;

/// Appends an alert as one JSON object and its newline.
pub(crate) fn write_json(alert: &Alert, rules: &RuleSet, json: &mut Vec<u8>) {
    ObjectFields::line(json, |fields| put_alert(fields, alert, rules));
}

/// An alert as one line of escaped text without colour or newline, at most about 500 columns.
#[must_use]
pub(crate) fn text_line(alert: &Alert, rules: &RuleSet) -> String {
    let mut text = format!(
        "{} {}: {}; {}",
        label(alert),
        alert.severity,
        sentence(alert, rules),
        request(&alert.sample)
    );
    let from = escape(&alert.sample.source);
    // Writing to a `String` does not fail.
    let _ = write!(
        text,
        ", {}:{}",
        truncate(&from, MAX_TEXT),
        alert.sample.line
    );
    text
}

impl LiveLines {
    /// Writes an alert as a line. Its sentence is not cut, even if it is wider than the page; the
    /// request that raised it is left out on a narrow page.
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    pub(crate) fn write_alert<W: Write>(
        &mut self,
        alert: &Alert,
        rules: &RuleSet,
        out: &mut W,
    ) -> io::Result<()> {
        self.begin(alert.last_time, alert.severity);
        let Self { layout, stops, .. } = self;
        layout.push_uncut(
            stops.outcome,
            if alert.kind == AlertKind::Withdrawn {
                BOLD
            } else {
                ALARM
            },
            label(alert),
        );
        layout.push_uncut(stops.client, BOLD, &sentence(alert, rules));
        if !is_of_find(alert.kind) && layout.remaining(0) >= MIN_REQUEST {
            layout.push_cell(0, DIM, &request(&alert.sample), usize::MAX);
        }
        out.write_all(layout.finish().as_bytes())
    }
}

/// The word that stands out.
fn label(alert: &Alert) -> &'static str {
    if alert.kind == AlertKind::Withdrawn {
        "WITHDRAWN"
    } else {
        "ALERT"
    }
}

/// Whether the sentence names the only request.
fn is_of_find(kind: AlertKind) -> bool {
    matches!(
        kind,
        AlertKind::Answered | AlertKind::AnsweredAgain | AlertKind::Withdrawn
    )
}

/// What happened, as a sentence without a full stop.
pub(crate) fn sentence(alert: &Alert, rules: &RuleSet) -> String {
    let within = within(alert);
    match alert.kind {
        AlertKind::Threshold(rule) => {
            let rule = rules.rule(rule);
            let requests = counted(alert.hits, "request", "requests");
            format!(
                "{requests} by {}{}{within}: {}, {}",
                who(alert),
                for_path(alert),
                rule.id,
                escape(rule.title.as_bytes())
            )
        }
        AlertKind::Probing => format!(
            "{} requested {}{within}",
            who(alert),
            counted(alert.paths, "probe path", "different probe paths")
        ),
        AlertKind::Answered | AlertKind::AnsweredAgain | AlertKind::Withdrawn => {
            let status = alert
                .sample
                .status
                .map_or_else(String::new, |status| format!(" with {status}"));
            let path = short_text(
                alert
                    .path
                    .as_ref()
                    .map(LogString::text)
                    .filter(|path| !path.is_empty())
                    .unwrap_or(alert.sample.target.text()),
            );
            let rule = labels::worst_rule(rules, &alert.rules);
            match alert.kind {
                AlertKind::Withdrawn => {
                    format!("the answer to {path} is what the site gives to any path ({rule})")
                }
                AlertKind::AnsweredAgain => format!(
                    "{} was answered{status} as well: {path} ({rule})",
                    who(alert)
                ),
                _ => format!("{} was answered{status}: {path} ({rule})", who(alert)),
            }
        }
        AlertKind::Campaign => {
            let what = match (&alert.path, alert.paths) {
                (Some(path), _) => format!("the unusual path {}", short_text(path.text())),
                (None, 0 | 1) => "an unusual path".to_owned(),
                (None, paths) => format!("{} unusual paths", grouped(paths)),
            };
            format!("{} requested {what}{within}", who(alert))
        }
        AlertKind::Guesses(rule) => {
            let rule = rules.rule(rule);
            let attempts = counted(alert.hits, "login", "logins");
            let clients = format!("a campaign of {}", who(alert));
            format!(
                "{attempts} by {clients}{}{within}, and little else: {}, {}",
                for_path(alert),
                rule.id,
                escape(rule.title.as_bytes())
            )
        }
    }
}

/// The client, or the number of clients.
fn who(alert: &Alert) -> Cow<'_, str> {
    match &alert.client {
        Some(client) => Cow::Owned(truncate(&client.client().redacted(), MAX_NAME).into_owned()),
        None => Cow::Owned(counted(alert.clients, "client", "clients")),
    }
}

fn for_path(alert: &Alert) -> String {
    match &alert.path {
        Some(path) => format!(" for {}", short_text(path.text())),
        None => String::new(),
    }
}

/// The duration, rounded up; empty if the log has no times.
fn within(alert: &Alert) -> String {
    let Some((first, last)) = alert.first_time.zip(alert.last_time) else {
        return String::new();
    };
    let seconds = last.utc.saturating_sub(first.utc).max(1).unsigned_abs();
    let (n, one, many) = match seconds {
        ..120 => (seconds, "second", "seconds"),
        120..7200 => (seconds.div_ceil(60), "minute", "minutes"),
        _ => (seconds.div_ceil(3600), "hour", "hours"),
    };
    format!(" within {}", counted(n, one, many))
}

/// The request that raised an alert, with its status.
fn request(sample: &AlertSample) -> String {
    let status = sample
        .status
        .map_or(Cow::Borrowed("-"), |status| Cow::Owned(status.to_string()));
    let method = sample.method.text().redacted();
    let method = if method.is_empty() {
        method
    } else {
        Cow::Owned(format!("{} ", truncate(&method, MAX_NAME)))
    };
    format!("last {status} {method}{}", short_text(sample.target.text()))
}

fn short_text(text: LogText<'_>) -> String {
    truncate(&text.redacted(), MAX_TEXT).into_owned()
}

/// All keys are always present. Times are RFC 3339 or null.
fn put_alert(fields: &mut ObjectFields<'_>, alert: &Alert, rules: &RuleSet) {
    let sample = &alert.sample;
    let path = alert.path.as_ref().map(LogString::text);
    fields.put("kind", alert.kind.as_str());
    fields.put("severity", alert.severity);
    fields.put("first_time", alert.first_time.map(LogTime::rfc3339));
    fields.put("last_time", alert.last_time.map(LogTime::rfc3339));
    // Null if it is not about one client, or one path.
    fields.put(
        "client",
        alert
            .client
            .as_ref()
            .map(|client| client.client().redacted()),
    );
    fields.put("path", path);
    // Requests that count, and their distinct clients and paths.
    fields.put("hits", alert.hits);
    fields.put("clients", alert.clients);
    fields.put("paths", alert.paths);
    fields.put("rules", labels::rule_ids(rules, &alert.rules));
    fields.put("classes", labels::classes(rules, &alert.rules));
    let about = Attributed::new(
        rules,
        &alert.rules,
        &[path.unwrap_or_default().raw(), sample.target.text().raw()],
    );
    fields.put("cve", about.cves);
    // The request that raised the alert.
    fields.put("sample.id", sample.id);
    fields.put("sample.source", escape(&sample.source));
    fields.put("sample.line", sample.line);
    fields.put("sample.method", unless_empty(sample.method.text()));
    fields.put("sample.target", sample.target.text());
    fields.put("sample.status", sample.status);
    fields.put(
        "sample.outcome",
        Outcome::from_status(sample.status).as_str(),
    );
    // The rule of the threshold, or of the guesses of a campaign.
    let rule = match alert.kind {
        AlertKind::Threshold(rule) | AlertKind::Guesses(rule) => Some(&rules.rule(rule).id),
        _ => None,
    };
    fields.put("rule", rule);
    fields.put("text", sentence(alert, rules));
    // That of the hit; a withdrawal has that of the alert.
    fields.put("id", sample.id);
}

#[cfg(test)]
mod tests {
    use crate::log::client::ClientKey;
    use crate::log::finding::{RuleId, Severity};
    use crate::render::live::alert::*;
    use crate::report::fixture;
    use proptest::prelude::*;

    fn answered() -> Alert {
        let hit = fixture::hit();
        Alert {
            kind: AlertKind::Answered,
            severity: hit.severity,
            first_time: hit.time,
            last_time: hit.time,
            client: Some(ClientKey::from(&hit.client)),
            path: Some(hit.path.into()),
            hits: 1,
            clients: 1,
            paths: 1,
            rules: hit.rules.to_vec(),
            sample: AlertSample {
                id: hit.id,
                source: hit.source.to_vec(),
                line: hit.line,
                method: hit.method.into(),
                target: hit.target.into(),
                status: hit.status,
            },
        }
    }

    fn later(time: Option<LogTime>, seconds: i64) -> Option<LogTime> {
        time.map(|time| LogTime {
            utc: time.utc + seconds,
            ..time
        })
    }

    fn threshold() -> Alert {
        let alert = answered();
        let last_time = later(alert.first_time, 58);
        Alert {
            kind: AlertKind::Threshold(RuleId(7)),
            severity: Severity::Medium,
            last_time,
            path: None,
            hits: 25,
            rules: vec![RuleId(7)],
            ..alert
        }
    }

    fn probing() -> Alert {
        let alert = answered();
        let last_time = later(alert.first_time, 290);
        Alert {
            kind: AlertKind::Probing,
            severity: Severity::High,
            last_time,
            path: None,
            hits: 41,
            paths: 23,
            ..alert
        }
    }

    fn campaign() -> Alert {
        let alert = answered();
        let last_time = later(alert.first_time, 9000);
        Alert {
            kind: AlertKind::Campaign,
            severity: Severity::High,
            last_time,
            client: None,
            path: None,
            hits: 60,
            clients: 12,
            paths: 5,
            ..alert
        }
    }

    fn json(alert: &Alert) -> String {
        let mut out = Vec::new();
        write_json(alert, fixture::rules(), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn lines(alerts: &[Alert], width: u16, color: bool) -> String {
        let (mut lines, mut out) = (LiveLines::new(width, color, false), Vec::new());
        for alert in alerts {
            lines
                .write_alert(alert, fixture::rules(), &mut out)
                .unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    fn each_kind() -> Vec<Alert> {
        let path = Some(LogString::from(b"/.git/config".to_vec()));
        vec![
            answered(),
            Alert {
                kind: AlertKind::AnsweredAgain,
                ..answered()
            },
            Alert {
                kind: AlertKind::Withdrawn,
                ..answered()
            },
            threshold(),
            Alert {
                client: None,
                path: path.clone(),
                clients: 7,
                first_time: None,
                ..threshold()
            },
            probing(),
            campaign(),
            Alert {
                path,
                paths: 1,
                ..campaign()
            },
        ]
    }

    #[test]
    fn alerts_as_lines() {
        insta::assert_snapshot!("lines_at_140", lines(&each_kind(), 140, false));
        insta::assert_snapshot!("lines_at_60", lines(&each_kind(), 60, false));
    }

    #[test]
    fn alerts_as_texts_for_a_system_log() {
        let texts: Vec<_> = each_kind()
            .iter()
            .map(|alert| text_line(alert, fixture::rules()))
            .collect();
        insta::assert_snapshot!("texts", texts.join("\n"));
    }

    #[test]
    fn alerts_as_objects() {
        let objects: String = each_kind().iter().map(json).collect();
        insta::assert_snapshot!("objects", objects);
    }

    #[test]
    fn an_alert_is_red() {
        assert!(lines(&[probing()], 100, true).contains("\u{1b}[1m\u{1b}[31mALERT\u{1b}[0m"));
    }

    #[test]
    fn durations_are_rounded_up() {
        let within = |seconds| {
            within(&Alert {
                last_time: later(answered().first_time, seconds),
                ..answered()
            })
        };
        assert_eq!(within(-5), " within 1 second");
        assert_eq!(within(0), " within 1 second");
        assert_eq!(within(119), " within 119 seconds");
        assert_eq!(within(120), " within 2 minutes");
        assert_eq!(within(121), " within 3 minutes");
        assert_eq!(within(7200), " within 2 hours");
        assert_eq!(within(i64::MAX / 2), " within 1,281,023,894,007,608 hours");
    }

    proptest! {
        #[test]
        fn any_alert_is_one_line(client in any::<Vec<u8>>(), path in any::<Option<Vec<u8>>>(), source in any::<Vec<u8>>(), method in any::<Vec<u8>>(),
            target in any::<Vec<u8>>(), which in 0_usize..8, times in any::<[Option<i64>; 2]>(), width: u16) {
            let time = |utc: Option<i64>| utc.map(|utc| LogTime { utc: utc / 2, offset: 0 });
            let alert = each_kind().swap_remove(which);
            let sample = AlertSample { source, method: method.into(), target: target.clone().into(), ..alert.sample };
            let client = alert.client.map(|_| ClientKey::Text(client.into()));
            let alert = Alert { client, path: path.map(LogString::from), sample, first_time: time(times[0]), last_time: time(times[1]), ..alert };
            let object = json(&alert);
            prop_assert_eq!(object.matches('\n').count(), 1);
            let value: serde_json::Value = serde_json::from_str(&object).unwrap();
            prop_assert_eq!(value["sample"]["target"].as_str().unwrap(), &*LogText::new(&target).redacted());
            let line = lines(std::slice::from_ref(&alert), width, false);
            prop_assert_eq!(line.matches('\n').count(), 1);
            for text in [line.trim_end_matches('\n'), &text_line(&alert, fixture::rules()), value["text"].as_str().unwrap()] {
                prop_assert_eq!(escape(text.as_bytes()), text);
            }
        }
    }
}
