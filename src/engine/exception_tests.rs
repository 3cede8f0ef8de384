//! Nothing that a client can add hides a request that was answered or carries a payload. Tries each built-in rule with its own
//! cases and with the exceptions of all rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::*;
use crate::rules::{Case, PAYLOADS, Rule, RuleChoice, RuleSet, load};

/// The keys of a rule file that these tests need.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    rule: Vec<Written>,
}

#[derive(Deserialize)]
struct Written {
    id: String,
    class: String,
    answer: Option<String>,
    #[serde(default)]
    unless: Unless,
}

#[derive(Default, Deserialize)]
struct Unless {
    #[serde(default)]
    words: Vec<String>,
    regex: Option<String>,
    #[serde(default)]
    agents: Vec<String>,
    referer: Option<String>,
}

static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());

static WRITTEN: LazyLock<BTreeMap<String, Written>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let files =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let rules = files.flat_map(|path| toml::from_str::<File>(&fs::read_to_string(path).unwrap()).unwrap().rule);
    rules.map(|rule| (rule.id.clone(), rule)).collect()
});

const REFERERS: [&str; 5] = [
    "http://a/",
    "https://example.org/x",
    "https://www.example.org/wp-admin/post.php?post=1&action=edit",
    "http://192.0.2.1/",
    "https://api.example.org/",
];

const AGENTS: [&str; 6] = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 (Applebot/0.1)",
    "kube-probe/1.29",
    "WordPress/6.5; https://blog.example.org",
];

/// Exceptions of some rules, present and past, as a client can add them to a query.
const ADDED: [&str; 27] = [
    "info_hash=1",
    "peer_id=%12",
    "context=edit",
    "_locale=user",
    "who=authors",
    "capabilities=x",
    "rsd",
    "for=jetpack",
    "q=1",
    "q=a%20!=b",
    "search=x.sql",
    "tag=passthru",
    "function=x",
    "url=file:///",
    "ref=http://192.0.2.7/",
    "redirect_uri=https://localhost/",
    "origin=https://10.0.0.1/",
    "host=localhost",
    "location=/paris",
    "mail=https://x@gmail.com/",
    "x=$(document)",
    "x=${a.b}",
    "x=netsh-a",
    "x=%u4e00",
    "x=javascript:void(0)",
    "x=jndi:ldap://a",
    "x=/docs/wiki/",
];

/// Matches requests against single rules.
struct Asker {
    matcher: Matcher<'static>,
    worker: WorkerState,
}

impl Asker {
    fn new() -> Self {
        Self { matcher: Matcher::new(&RULES), worker: WorkerState::default() }
    }

    fn matches(&mut self, rule: usize, case: &Case, status: Option<u16>) -> bool {
        let record = crate::log_entry::LogEntry { status, ..case.log_entry() };
        let verdict = self.matcher.match_uncached(&record, &mut self.worker);
        self.worker.rules(verdict).iter().any(|id| usize::from(id.0) == rule)
    }
}

/// The rules whose exceptions could hide something, with their numbers.
fn telling() -> impl Iterator<Item = (usize, &'static Rule, &'static Written)> {
    let all = RULES.rules().iter().enumerate().filter_map(|(number, rule)| Some((number, rule, WRITTEN.get(&rule.id)?)));
    all.filter(|(_, _, written)| carries(written) || written.answer.as_deref() != Some("inconclusive"))
}

fn carries(rule: &Written) -> bool {
    PAYLOADS.contains(&rule.class.as_str())
}

/// The case with a query appended.
fn with_query(case: &Case, added: &str) -> Option<Case> {
    let (line, protocol) = case.request.rsplit_once(" HTTP/")?;
    let sign = if line.contains('?') { '&' } else { '?' };
    Some(Case { request: format!("{line}{sign}{added} HTTP/{protocol}"), ..case.clone() })
}

const ANSWERED: [Option<u16>; 4] = [Some(200), Some(206), Some(304), None];

#[test]
fn no_header_hides_an_answer_or_a_payload() {
    let named = WRITTEN.values().flat_map(|rule| rule.unless.agents.iter().cloned());
    let agents: BTreeSet<String> = AGENTS.into_iter().map(str::to_owned).chain(named).collect();
    assert!(agents.len() > 50, "{}", agents.len());
    let mut asker = Asker::new();
    let (mut tried, mut wrong) = (0, BTreeSet::new());
    for (number, rule, written) in telling() {
        let statuses = if carries(written) { [ANSWERED.as_slice(), &[Some(404), Some(403)]].concat() } else { ANSWERED.to_vec() };
        for (case, status) in rule.must_match.iter().flat_map(|case| statuses.iter().map(move |status| (case, *status))) {
            for referer in REFERERS {
                let unknown = Case { referer: Some("zz".into()), ..case.clone() };
                if asker.matches(number, &unknown, status) {
                    tried += 1;
                    let referred = Case { referer: Some(referer.into()), ..case.clone() };
                    if !asker.matches(number, &referred, status) {
                        wrong.insert(format!("{}: {status:?} {} {referer}", rule.id, case.request));
                    }
                }
            }
            let unknown = Case { user_agent: Some("zz".into()), ..case.clone() };
            if !asker.matches(number, &unknown, status) {
                continue;
            }
            for agent in &agents {
                tried += 1;
                if !asker.matches(number, &Case { user_agent: Some(agent.clone()), ..case.clone() }, status) {
                    wrong.insert(format!("{}: {status:?} {} {agent}", rule.id, case.request));
                }
            }
        }
    }
    assert!(tried > 100_000 && wrong.is_empty(), "{tried} {wrong:#?}");
}

#[test]
fn nothing_added_to_a_query_hides_an_answer_or_a_payload() {
    let named = WRITTEN.values().flat_map(|rule| rule.unless.words.iter().map(|word| format!("x={word}")));
    let added: BTreeSet<String> = ADDED.into_iter().map(str::to_owned).chain(named).collect();
    let mut asker = Asker::new();
    let (mut tried, mut wrong) = (0, BTreeSet::new());
    for (number, rule, written) in telling() {
        // The exceptions of the rule itself: the queries of its must_not_match cases.
        let own = rule.must_not_match.iter().filter_map(|case| {
            let exceptions = !written.unless.words.is_empty() || written.unless.regex.is_some();
            let target = case.request.rsplit_once(" HTTP/")?.0;
            exceptions.then(|| target.split_once('?').map(|(_, query)| query.to_owned()))?
        });
        let added: Vec<String> = added.iter().cloned().chain(own).collect();
        let statuses = if carries(written) { [ANSWERED.as_slice(), &[Some(404)]].concat() } else { ANSWERED.to_vec() };
        for (case, status) in rule.must_match.iter().flat_map(|case| statuses.iter().map(move |status| (case, *status))) {
            // Skip patterns that match only at the end of the query.
            if !with_query(case, "zz=1").is_some_and(|case| asker.matches(number, &case, status)) {
                continue;
            }
            for text in &added {
                tried += 1;
                if !asker.matches(number, &with_query(case, text).unwrap(), status) {
                    wrong.insert(format!("{}: {status:?} {} {text}", rule.id, case.request));
                }
            }
        }
    }
    assert!(tried > 100_000 && wrong.is_empty(), "{tried} {wrong:#?}");
}

#[test]
fn payload_rules_have_no_header_exception() {
    let excused = WRITTEN.values().filter(|rule| carries(rule) && !(rule.unless.agents.is_empty() && rule.unless.referer.is_none()));
    assert_eq!(excused.map(|rule| rule.id.as_str()).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_verdict_by_exception_is_cached_by_status_and_header() {
    let matcher = Matcher::new(&RULES);
    let mut worker = WorkerState::default();
    let referers = [None, Some(&b"http://a/"[..]), Some(b"http://b/")];
    let agents = [&b"Mozilla/5.0"[..], b"Googlebot/2.1"];
    let targets = ["/test.php", "/uploads/x.php?c=cat%20/etc/passwd", "/backups/", "/a1b2.php", "/wp-login.php", "/ordinary"];
    // Several rounds, so that each answer follows each other one.
    for round in 0..4_usize {
        for (n, target) in targets.iter().enumerate() {
            for status in [Some(404), Some(200), None, Some(304), Some(302)] {
                for (referer, agent) in referers.iter().flat_map(|referer| agents.map(|agent| (*referer, agent))) {
                    let method = if (n + round) % 2 == 0 { "GET" } else { "POST" };
                    let request = format!("{method} {target} HTTP/1.1");
                    let headers = [referer.unwrap_or(b"-"), agent].join(&b"\" \""[..]);
                    let record = crate::log_entry::LogEntry {
                        request: request.as_bytes(),
                        status,
                        referer,
                        user_agent: Some(agent),
                        ..crate::log_entry::LogEntry::default()
                    };
                    let remembered = matcher.verdict(&record, &headers, &mut worker);
                    let afresh = matcher.match_uncached(&record, &mut worker);
                    assert_eq!(remembered, afresh, "{request} {status:?} {headers:?}");
                }
            }
        }
    }
}
