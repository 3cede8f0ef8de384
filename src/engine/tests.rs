//! The engine against the cases of the rules, and its invariants: nothing that a client can add
//! hides a request that was answered or carries a payload.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;

use super::explain::Explainer;
use super::*;
use crate::formats::Headers;
use crate::log::finding::{Findings, Severity};
use crate::log::log_entry::LogEntry;
use crate::rules::{CLASSES, Case, Class, RequestShape, Rule, RuleChoice, RuleSet, load};

fn builtin() -> &'static RuleSet {
    static BUILTIN: LazyLock<RuleSet> = LazyLock::new(|| {
        load(&RuleChoice {
            with_cases: true,
            ..RuleChoice::default()
        })
        .unwrap()
    });
    &BUILTIN
}

#[test]
fn every_rule_passes_its_cases() {
    let rules = builtin();
    let matcher = Matcher::new(rules);
    let mut worker = WorkerState::default();
    let mut wrong = Vec::new();
    for (number, rule) in rules.rules().iter().enumerate() {
        for (cases, expected) in [(&rule.must_match, true), (&rule.must_not_match, false)] {
            assert!(
                cases.len() >= 2,
                "{}: at least two cases of each kind",
                rule.id
            );
            for case in cases {
                let verdict = matcher.match_uncached(&case.log_entry(), &mut worker);
                if worker
                    .rules(verdict)
                    .iter()
                    .any(|id| usize::from(id.0) == number)
                    != expected
                {
                    wrong.push(format!(
                        "{}: {} {case:?}",
                        rule.id,
                        if expected { "must hit" } else { "must miss" }
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_class_and_every_rule_says_what_it_wants_and_what_to_do() {
    let is_sentence = |text: &str| {
        text.len() > 20 && text.ends_with('.') && !text.contains('\n') && text.is_ascii()
    };
    assert!(
        CLASSES.is_sorted_by(|a, b| a.id < b.id),
        "each id is there once"
    );
    for class in CLASSES {
        assert!(
            is_sentence(class.wants) && is_sentence(class.remedy),
            "{}: {:?} {:?}",
            class.id,
            class.wants,
            class.remedy
        );
        assert!(
            builtin().rules().iter().any(|rule| rule.class == class.id),
            "{}: a class without a rule",
            class.id
        );
    }
    for rule in builtin()
        .rules()
        .iter()
        .filter(|rule| !rule.is_app_evidence)
    {
        assert!(
            is_sentence(rule.wants()) && is_sentence(rule.remedy()),
            "{}",
            rule.id
        );
    }
}

/// What a path stands for is one of the paths or texts of its rule; a rule of many vulnerabilities
/// says which.
#[test]
fn a_request_has_the_cve_ids_and_the_product_of_its_path_and_of_no_other() {
    for rule in builtin().rules() {
        let entries = || rule.notes().of.iter().flatten();
        assert!(
            rule.notes().of.is_some() || rule.cve().len() < 5,
            "{}: which path stands for which of {:?}",
            rule.id,
            rule.cve()
        );
        let texts: Vec<&String> = entries()
            .flat_map(|entry| entry.paths.iter().chain(&entry.words))
            .collect();
        assert!(
            texts.iter().all(|text| **text == text.to_ascii_lowercase()),
            "{}: lower case",
            rule.id
        );
        for (at, entry) in entries().enumerate() {
            let is_about = !entry.cve.is_empty() || entry.product.is_some();
            assert!(
                is_about && !(entry.paths.is_empty() && entry.words.is_empty()),
                "{}",
                rule.id
            );
            for text in entry.paths.iter().chain(&entry.words) {
                let found: Vec<&str> = rule.cves_of(text.as_bytes()).collect();
                let others = entries()
                    .enumerate()
                    .filter(|(other, of)| *other != at && of.is_in(text.as_bytes()));
                let expected: usize =
                    entry.cve.len() + others.map(|(_, of)| of.cve.len()).sum::<usize>();
                assert!(
                    entry.cve.iter().all(|cve| found.contains(&cve.as_str()))
                        && found.len() == expected,
                    "{}: {text}",
                    rule.id
                );
            }
        }
    }
    let rule = |id: &str| builtin().rule(builtin().number_of(id).unwrap());
    let products = |id: &str, text: &str| rule(id).products_of(text.as_bytes()).collect::<Vec<_>>();
    assert_eq!(
        products("iot/broadband", "/cgi-bin/export-cgi?category=config"),
        ["Zyxel"]
    );
    assert_eq!(
        products("iot/broadband", "/cgi-bin/mainfunction.cgi"),
        ["DrayTek"]
    );
    assert!(products("iot/broadband", "/goform/x").is_empty());
    let cves = |id: &str, text: &str| rule(id).cves_of(text.as_bytes()).collect::<Vec<_>>();
    assert_eq!(
        cves("iot/broadband", "/cgi-bin/webproc?getpage=/etc/passwd"),
        ["CVE-2014-2962"]
    );
    assert!(
        cves("iot/broadband", "/cgi-bin/timepro.cgi").is_empty(),
        "ipTIME is none of the others"
    );
    assert_eq!(
        cves("vpn/sonicwall", "/cgi-bin/supportinstaller"),
        ["CVE-2019-7481"]
    );
    assert!(
        cves("vpn/sonicwall", "/cgi-bin/supportinstallers").is_empty(),
        "a longer name"
    );
}

#[test]
fn binary_is_what_was_sent_however_it_was_escaped() {
    let shape = |request| {
        ParsedRequest::new(&LogEntry {
            request,
            ..LogEntry::default()
        })
        .shape
    };
    for logged in [
        &br"JRMI\x00\x02K"[..],
        br"JRMI\u0000\u0002K",
        br"a\n",
        br"a\x7F",
        br"\\\n",
        b"a\xff",
    ] {
        assert_eq!(
            shape(logged),
            Some(RequestShape::Binary),
            "{}",
            logged.escape_ascii()
        );
    }
    for logged in [
        &br"stats\x5Cr\x5Cn"[..],
        br"stats\\r\\n",
        br"\\x00",
        br"a\u005Cn",
        br"a\",
        br"a\x0",
    ] {
        assert_eq!(
            shape(logged),
            Some(RequestShape::NoMethod),
            "{}",
            logged.escape_ascii()
        );
    }
}

#[test]
fn words_that_are_no_target_are_no_request() {
    let shape = |request| {
        ParsedRequest::new(&LogEntry {
            request,
            status: Some(200),
            ..LogEntry::default()
        })
        .shape
    };
    for logged in [
        "service launcher",
        "name Yarn",
        "DELETE your logs",
        "LOGIN anonymous",
        "OPTIONS sip:nm SIP/2.0",
    ] {
        assert_eq!(
            shape(logged.as_bytes()),
            Some(RequestShape::NoMethod),
            "{logged}"
        );
    }
    for logged in [
        "GET favicon.ico",
        "GET favicon.ico HTTP/1.0",
        "OPTIONS *",
        "CONNECT a.example:443",
        "GET a b HTTP/1.1",
        "VIEW x HTTP/1.1",
    ] {
        assert_eq!(shape(logged.as_bytes()), None, "{logged}");
    }
}

/// A server that has `/.env` or runs `/x.php` does so whatever slash or path follows it.
#[test]
fn what_follows_a_file_changes_nothing() {
    let mut runner = RuleRunner::new();
    let (mut tried, mut wrong) = (0, BTreeSet::new());
    for (number, rule) in RULES
        .rules()
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.is_certain() && !rule.is_app_evidence)
    {
        for case in rule
            .must_match
            .iter()
            .filter(|case| !case.request.contains(['%', '#', ';']))
        {
            let Some((line, protocol)) = case.request.rsplit_once(" HTTP/") else {
                continue;
            };
            let (path, query) = line
                .split_once('?')
                .map_or((line, String::new()), |(path, query)| {
                    (path, format!("?{query}"))
                });
            let is_read = ["GET ", "HEAD ", "POST "]
                .iter()
                .any(|method| path.starts_with(method));
            let Some((folder, name)) = path.rsplit_once('/') else {
                continue;
            };
            if !is_read || folder.contains('.') || !name.contains('.') || name.ends_with('.') {
                continue;
            }
            let is_script = [".php", ".jsp", ".aspx", ".cgi"]
                .iter()
                .any(|extension| path.ends_with(extension));
            for after in ["/", "//", "/a.css", "/x/y"]
                .iter()
                .take(if is_script { 4 } else { 2 })
            {
                tried += 1;
                let case = Case {
                    request: format!("{path}{after}{query} HTTP/{protocol}"),
                    ..case.clone()
                };
                if !runner.matches(number, &case, Some(case.status)) {
                    wrong.insert(format!("{}: {}", rule.id, case.request));
                }
            }
        }
    }
    assert!(
        tried > 1_000 && wrong.is_empty(),
        "{} of {tried}: {wrong:#?}",
        wrong.len()
    );
}

/// A redirect to https or to a login page, a page for everything and a referer of any site say
/// nothing about what was requested.
#[test]
fn cases_hold_with_any_status_and_referer() {
    let mut runner = RuleRunner::new();
    let (mut tried, mut wrong) = (0, BTreeSet::new());
    let rules = RULES
        .rules()
        .iter()
        .enumerate()
        .filter_map(|(number, rule)| Some((number, rule, WRITTEN.get(&rule.id)?)));
    for (number, rule, written) in
        rules.filter(|(_, _, written)| written.statuses.is_empty() && written.shape.is_none())
    {
        // An exception for an agent holds only where nothing was answered.
        let cases = rule
            .must_match
            .iter()
            .filter(|case| case.user_agent.is_none() || written.unless.agents.is_empty());
        for case in cases {
            for (status, referer) in [404, 301, 302, 200].iter().flat_map(|status| {
                ["http://a/", "https://www.example.org/"].map(|referer| (*status, referer))
            }) {
                tried += 1;
                let case = Case {
                    referer: case.referer.clone().or_else(|| Some(referer.into())),
                    ..case.clone()
                };
                if !runner.matches(number, &case, Some(status)) {
                    wrong.insert(format!("{}: {status} {}", rule.id, case.request));
                }
            }
        }
    }
    assert!(
        tried > 10_000 && wrong.is_empty(),
        "{} of {tried}: {wrong:#?}",
        wrong.len()
    );
}

/// The findings of a chunk, in a form that does not depend on how the text was split.
fn explanation(findings: &Findings, worker: &WorkerState, offset: u64, line: u64) -> Vec<String> {
    findings
        .hits
        .iter()
        .map(|hit| {
            let text = String::from_utf8_lossy(findings.text(hit)).into_owned();
            format!(
                "{} {} {text} {:?}",
                hit.offset + offset,
                u64::from(hit.line) + line,
                worker.names.rules.resolve(hit.rules)
            )
        })
        .collect()
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let request = prop_oneof![
        Just("GET /.env HTTP/1.1"),
        Just("GET /ordinary?a=1 HTTP/1.1"),
        Just("GET /?q=%27+union+select+1 HTTP/1.1"),
        Just(r"\x16\x03\x01"),
        Just("GET /a/../.git/config HTTP/1.1"),
    ];
    let parsed = (request, "192\\.0\\.2\\.[1-9]", 100_u16..600).prop_map(|(request, client, status)| {
        format!(r#"{client} - - [02/Nov/2026:08:01:00 +0000] "{request}" {status} 1 "-" "sqlmap/1.8""#).into_bytes()
    });
    prop_oneof![4 => parsed, 1 => prop::collection::vec(any::<u8>(), 0..40), 1 => Just(Vec::new())]
}

proptest! {
    #[test]
    fn a_cut_between_lines_changes_nothing(lines in prop::collection::vec(any_line(), 1..30), cut in any::<prop::sample::Index>()) {
        let rules = builtin();
        let options = ScanOptions::default();
        let scanner = LineScanner::new(rules, &options);
        let text = lines.join(&b'\n');
        let ends: Vec<_> = memchr::memchr_iter(b'\n', &text).map(|n| n + 1).chain([0]).collect();
        let cut = ends[cut.index(ends.len())];
        let mut worker = WorkerState::default();
        let whole = scanner.scan(&text, &mut worker);
        let first = scanner.scan(&text[..cut], &mut worker);
        let second = scanner.scan(&text[cut..], &mut worker);
        let mut parts = explanation(&first, &worker, 0, 0);
        parts.extend(explanation(&second, &worker, cut as u64, first.lines.lines));
        prop_assert_eq!(explanation(&whole, &worker, 0, 0), parts);
        let mut sum = first.lines;
        sum.add(&second.lines);
        prop_assert_eq!(&whole.lines, &sum);
        prop_assert_eq!(sum.lines, sum.parsed() + sum.unparsed + sum.oversized);
    }
}

#[test]
fn lines_of_any_length_are_found_wherever_blocks_end() {
    let (rules, options) = (builtin(), ScanOptions::default());
    let scanner = LineScanner::new(rules, &options);
    let probe = |length: usize| {
        let path = "a".repeat(length);
        format!(
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /{path}/.env HTTP/1.1" 404 1 "-" "-""#
        )
    };
    for length in [
        0, 63, 64, 1_000, 65_300, 65_440, 65_460, 65_470, 70_000, 140_000,
    ] {
        for end in ["", "\n", "\n\n", "\nx", "\0\0"] {
            let text = format!(
                "{}\nx\n{}\n\r\n{}{end}",
                probe(3),
                probe(length),
                probe(length / 2)
            )
            .into_bytes();
            let mut worker = WorkerState::default();
            let whole = scanner.scan(&text, &mut worker);
            assert_eq!(whole.hits.len(), 3, "{length} {end:?}");
            let (mut sum, mut explained, mut at) =
                (crate::log::finding::LineCounts::default(), Vec::new(), 0);
            for line in text.split_inclusive(|&b| b == b'\n') {
                let found = scanner.scan(line, &mut worker);
                explained.extend(explanation(&found, &worker, at, sum.lines));
                sum.add(&found.lines);
                at += line.len() as u64;
            }
            assert_eq!(
                (explanation(&whole, &worker, 0, 0), &whole.lines),
                (explained, &sum),
                "{length} {end:?}"
            );
        }
    }
}

/// The rules that match according to the explanation.
fn explained(
    explainer: &Explainer<'_>,
    probe: &ParsedRequest<'_>,
) -> Vec<crate::log::finding::RuleId> {
    explainer
        .explain(probe, None)
        .matches
        .iter()
        .map(|account| account.rule)
        .collect()
}

#[test]
fn what_is_explained_is_what_matches() {
    let rules = builtin();
    let (matcher, explainer) = (
        Matcher::new(rules),
        Explainer::new(rules, Severity::Info, &[]),
    );
    let mut worker = WorkerState::default();
    for case in rules
        .rules()
        .iter()
        .flat_map(|rule| rule.must_match.iter().chain(&rule.must_not_match))
    {
        let verdict = matcher.match_uncached(&case.log_entry(), &mut worker);
        assert_eq!(
            explained(&explainer, &ParsedRequest::new(&case.log_entry())),
            worker.rules(verdict),
            "{case:?}"
        );
        let line = format!(
            r#"x "{}" "{}""#,
            case.request,
            case.user_agent.as_deref().unwrap_or_default()
        );
        let verdict = matcher.match_raw(line.as_bytes(), &mut worker);
        let mut found = Vec::new();
        ParsedRequest::each_in(line.as_bytes(), |probe| {
            found.extend(explained(&explainer, probe));
        });
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, worker.rules(verdict), "{line}");
    }
}

#[test]
fn any_single_rule_can_be_explained() {
    let rules = builtin();
    let explainer = Explainer::new(rules, Severity::Info, &[]);
    let record = LogEntry {
        request: b"GET / HTTP/1.1",
        status: Some(200),
        ..Default::default()
    };
    for number in 0..rules.rules().len() {
        let id = crate::log::finding::RuleId(number as u16);
        let explanation = explainer.explain(&ParsedRequest::new(&record), Some(id));
        assert!(
            explanation.matches.is_empty() && explanation.near_misses.len() == 1,
            "{}",
            rules.rule(id).id
        );
        assert!(
            explanation.near_misses[0].missing().count() > 0,
            "{}: no reason",
            rules.rule(id).id
        );
    }
}

/// Requests made of pieces of the rules' cases, plain and encoded.
fn any_probe() -> impl Strategy<Value = (String, Option<String>, Option<String>, Option<u16>)> {
    let piece = |text: &Option<String>| text.clone().unwrap_or_default();
    let cases: Vec<_> = builtin()
        .rules()
        .iter()
        .flat_map(|rule| &rule.must_match)
        .map(|case| {
            (
                case.request.clone(),
                piece(&case.referer),
                piece(&case.user_agent),
            )
        })
        .collect();
    let pick = || prop::sample::select(cases.clone());
    let request = (pick(), pick(), any::<prop::sample::Index>(), 0..6).prop_map(
        |((a, ..), (b, ..), cut, how)| {
            let cut = (0..=cut.index(a.len() + 1))
                .rev()
                .find(|&at| a.is_char_boundary(at))
                .unwrap_or(0);
            match how {
                0 => a,
                1 => format!("{}{}", &a[..cut], b.trim_start_matches("GET ")),
                2 => a.replace(['/', '.'], "%2f"),
                3 => a.replace('.', "%252e"),
                4 => format!("{}#{}", &a[..cut], b.trim_start_matches("GET ")),
                _ => format!("{}{}", b, &a[cut..]),
            }
        },
    );
    let header = prop::option::of(
        pick().prop_map(|(request, referer, agent)| [request, referer, agent].concat()),
    );
    (
        request,
        header.clone(),
        header,
        prop::option::of(prop::sample::select(vec![200_u16, 301, 404, 500])),
    )
}

proptest! {
    #[test]
    fn an_explanation_agrees_with_the_matcher((request, referer, agent, status) in any_probe()) {
        let rules = builtin();
        let record = LogEntry {
            request: request.as_bytes(),
            referer: referer.as_deref().map(str::as_bytes),
            user_agent: agent.as_deref().map(str::as_bytes),
            status,
            ..Default::default()
        };
        let mut worker = WorkerState::default();
        let verdict = Matcher::new(rules).verdict(&record, Headers::quoted(b"x"), &mut worker);
        let probe = ParsedRequest::new(&record);
        let explanation = Explainer::new(rules, Severity::Info, &[]).explain(&probe, None);
        prop_assert_eq!(explanation.matches.iter().map(|account| account.rule).collect::<Vec<_>>(), worker.rules(verdict));
        for account in explanation.matches.iter().chain(&explanation.near_misses) {
            prop_assert!(account.matches() || account.missing().count() > 0);
            for (_, span) in account.spans() {
                prop_assert!(explanation.texts.of_view(span.view).get(span.range.clone()).is_some(), "{:?}", span);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_verdict_is_the_same_without_the_prefilter((request, referer, agent, status) in any_probe()) {
        static WITHOUT: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice { no_prefilter: true, ..RuleChoice::default() }).unwrap());
        let [referer, user_agent] = [&referer, &agent].map(|header| header.as_deref().map(str::as_bytes));
        let record = LogEntry { request: request.as_bytes(), referer, user_agent, status, ..Default::default() };
        let [with, without] = [builtin(), &WITHOUT].map(|rules| {
            let mut worker = WorkerState::default();
            let verdict = Matcher::new(rules).verdict(&record, Headers::quoted(b"x"), &mut worker);
            worker.rules(verdict).to_vec()
        });
        prop_assert_eq!(with, without);
    }

    #[test]
    fn cached_verdicts_equal_fresh_verdicts(
        probes in prop::collection::vec(any_probe(), 1..4),
        steps in prop::collection::vec((0..4_usize, 0..4_usize, 0..4_usize, 0..2_usize), 1..40),
    ) {
        let matcher = Matcher::new(builtin());
        let shared = std::sync::Arc::new(SharedCache::default());
        let mut workers = [(); 2].map(|()| WorkerState::with_shared_cache(std::sync::Arc::clone(&shared)));
        let mut alone = WorkerState::default();
        for (request, headers, status, worker) in steps {
            let of = |number: usize| &probes[number % probes.len()];
            let (_, referer, agent, _) = of(headers);
            let text = format!("{referer:?} {agent:?}");
            let headers = Headers::quoted(text.as_bytes());
            let record = LogEntry {
                request: of(request).0.as_bytes(),
                referer: referer.as_deref().map(str::as_bytes),
                user_agent: agent.as_deref().map(str::as_bytes),
                status: of(status).3,
                ..Default::default()
            };
            let worker = &mut workers[worker];
            let known = worker.cached_verdict(record.request, headers, record.status, matcher.may_be_unknown(record.status));
            let verdict = known.unwrap_or_else(|| matcher.verdict(&record, headers, worker));
            let expected = matcher.match_uncached(&record, &mut alone);
            prop_assert_eq!(worker.rules(verdict), alone.rules(expected), "{:?}", record);
            prop_assert_eq!(worker.names.paths.resolve(verdict.path), alone.names.paths.resolve(expected.path));
        }
    }
}

/// The keys of a rule file that these tests need.
#[derive(Deserialize)]
struct TestRuleFile {
    #[serde(default)]
    rule: Vec<TestRule>,
}

#[derive(Deserialize)]
struct TestRule {
    id: String,
    class: String,
    answer: Option<String>,
    shape: Option<String>,
    #[serde(default)]
    statuses: Vec<u16>,
    #[serde(default)]
    unless: TestUnless,
}

#[derive(Default, Deserialize)]
struct TestUnless {
    #[serde(default)]
    words: Vec<String>,
    regex: Option<String>,
    #[serde(default)]
    agents: Vec<String>,
    referer: Option<String>,
}

static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    load(&RuleChoice {
        with_cases: true,
        ..RuleChoice::default()
    })
    .unwrap()
});

static WRITTEN: LazyLock<BTreeMap<String, TestRule>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let rules = files.flat_map(|path| {
        toml::from_str::<TestRuleFile>(&fs::read_to_string(path).unwrap())
            .unwrap()
            .rule
    });
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
struct RuleRunner {
    matcher: Matcher<'static>,
    worker: WorkerState,
}

impl RuleRunner {
    fn new() -> Self {
        Self {
            matcher: Matcher::new(&RULES),
            worker: WorkerState::default(),
        }
    }

    fn matches(&mut self, rule: usize, case: &Case, status: Option<u16>) -> bool {
        let record = LogEntry {
            status,
            ..case.log_entry()
        };
        let verdict = self.matcher.match_uncached(&record, &mut self.worker);
        self.worker
            .rules(verdict)
            .iter()
            .any(|id| usize::from(id.0) == rule)
    }
}

/// The rules whose exceptions could hide something, with their numbers.
fn relevant_rules() -> impl Iterator<Item = (usize, &'static Rule, &'static TestRule)> {
    let all = RULES
        .rules()
        .iter()
        .enumerate()
        .filter_map(|(number, rule)| Some((number, rule, WRITTEN.get(&rule.id)?)));
    all.filter(|(_, _, written)| {
        has_payload(written) || written.answer.as_deref() != Some("inconclusive")
    })
}

fn has_payload(rule: &TestRule) -> bool {
    Class::is_payload(&rule.class)
}

/// The case with a query appended.
fn with_query(case: &Case, added: &str) -> Option<Case> {
    let (line, protocol) = case.request.rsplit_once(" HTTP/")?;
    let sign = if line.contains('?') { '&' } else { '?' };
    Some(Case {
        request: format!("{line}{sign}{added} HTTP/{protocol}"),
        ..case.clone()
    })
}

const ANSWERED: [Option<u16>; 4] = [Some(200), Some(206), Some(304), None];

#[test]
fn no_header_hides_an_answer_or_a_payload() {
    let named = WRITTEN
        .values()
        .flat_map(|rule| rule.unless.agents.iter().cloned());
    let agents: BTreeSet<String> = AGENTS.into_iter().map(str::to_owned).chain(named).collect();
    assert!(agents.len() > 50, "{}", agents.len());
    let mut runner = RuleRunner::new();
    let (mut tried, mut wrong) = (0, BTreeSet::new());
    for (number, rule, written) in relevant_rules() {
        let statuses = if has_payload(written) {
            [ANSWERED.as_slice(), &[Some(404), Some(403)]].concat()
        } else {
            ANSWERED.to_vec()
        };
        for (case, status) in rule
            .must_match
            .iter()
            .flat_map(|case| statuses.iter().map(move |status| (case, *status)))
        {
            for referer in REFERERS {
                let unknown = Case {
                    referer: Some("zz".into()),
                    ..case.clone()
                };
                if runner.matches(number, &unknown, status) {
                    tried += 1;
                    let referred = Case {
                        referer: Some(referer.into()),
                        ..case.clone()
                    };
                    if !runner.matches(number, &referred, status) {
                        wrong.insert(format!(
                            "{}: {status:?} {} {referer}",
                            rule.id, case.request
                        ));
                    }
                }
            }
            let unknown = Case {
                user_agent: Some("zz".into()),
                ..case.clone()
            };
            if !runner.matches(number, &unknown, status) {
                continue;
            }
            for agent in &agents {
                tried += 1;
                if !runner.matches(
                    number,
                    &Case {
                        user_agent: Some(agent.clone()),
                        ..case.clone()
                    },
                    status,
                ) {
                    wrong.insert(format!("{}: {status:?} {} {agent}", rule.id, case.request));
                }
            }
        }
    }
    assert!(tried > 100_000 && wrong.is_empty(), "{tried} {wrong:#?}");
}

#[test]
fn nothing_added_to_a_query_hides_an_answer_or_a_payload() {
    let named = WRITTEN
        .values()
        .flat_map(|rule| rule.unless.words.iter().map(|word| format!("x={word}")));
    let added: BTreeSet<String> = ADDED.into_iter().map(str::to_owned).chain(named).collect();
    let mut runner = RuleRunner::new();
    let (mut tried, mut wrong) = (0, BTreeSet::new());
    for (number, rule, written) in relevant_rules() {
        // The exceptions of the rule itself: the queries of its must_not_match cases.
        let own = rule.must_not_match.iter().filter_map(|case| {
            let exceptions = !written.unless.words.is_empty() || written.unless.regex.is_some();
            let target = case.request.rsplit_once(" HTTP/")?.0;
            exceptions.then(|| target.split_once('?').map(|(_, query)| query.to_owned()))?
        });
        let added: Vec<String> = added.iter().cloned().chain(own).collect();
        let statuses = if has_payload(written) {
            [ANSWERED.as_slice(), &[Some(404)]].concat()
        } else {
            ANSWERED.to_vec()
        };
        for (case, status) in rule
            .must_match
            .iter()
            .flat_map(|case| statuses.iter().map(move |status| (case, *status)))
        {
            // Skip patterns that match only at the end of the query.
            if !with_query(case, "zz=1").is_some_and(|case| runner.matches(number, &case, status)) {
                continue;
            }
            for text in &added {
                tried += 1;
                if !runner.matches(number, &with_query(case, text).unwrap(), status) {
                    wrong.insert(format!("{}: {status:?} {} {text}", rule.id, case.request));
                }
            }
        }
    }
    assert!(tried > 100_000 && wrong.is_empty(), "{tried} {wrong:#?}");
}

#[test]
fn payload_rules_have_no_header_exception() {
    let excused = WRITTEN.values().filter(|rule| {
        has_payload(rule) && !(rule.unless.agents.is_empty() && rule.unless.referer.is_none())
    });
    assert_eq!(
        excused.map(|rule| rule.id.as_str()).collect::<Vec<_>>(),
        [""; 0]
    );
}

#[test]
fn a_verdict_by_exception_is_cached_by_status_and_header() {
    let matcher = Matcher::new(&RULES);
    let mut worker = WorkerState::default();
    let referers = [None, Some(&b"http://a/"[..]), Some(b"http://b/")];
    let agents = [&b"Mozilla/5.0"[..], b"Googlebot/2.1"];
    let targets = [
        "/test.php",
        "/uploads/x.php?c=cat%20/etc/passwd",
        "/backups/",
        "/a1b2.php",
        "/wp-login.php",
        "/ordinary",
    ];
    // Several rounds, so that each answer follows each other one.
    for round in 0..4_usize {
        for (n, target) in targets.iter().enumerate() {
            for status in [Some(404), Some(200), None, Some(304), Some(302)] {
                for (referer, agent) in referers
                    .iter()
                    .flat_map(|referer| agents.map(|agent| (*referer, agent)))
                {
                    let method = if (n + round) % 2 == 0 { "GET" } else { "POST" };
                    let request = format!("{method} {target} HTTP/1.1");
                    let headers = [referer.unwrap_or(b"-"), agent].join(&b"\" \""[..]);
                    let record = LogEntry {
                        request: request.as_bytes(),
                        status,
                        referer,
                        user_agent: Some(agent),
                        ..LogEntry::default()
                    };
                    let remembered =
                        matcher.verdict(&record, Headers::quoted(&headers), &mut worker);
                    let afresh = matcher.match_uncached(&record, &mut worker);
                    assert_eq!(remembered, afresh, "{request} {status:?} {headers:?}");
                }
            }
        }
    }
}

/// The rule cases that are found in lines that nothing explains, of those that a request line and a
/// status show.
#[test]
fn rule_cases_are_found_in_any_text() {
    // Where a line has no status, a rule that needs one finds nothing.
    const WRAPPERS: [(&str, &str); 8] = [
        ("log: ", " done"),
        ("", ""),
        ("app[12] INFO \"", "\" STATUS 3ms"),
        ("{\"msg\":\"request\",\"line\":\"", "\",\"status\":STATUS}"),
        ("web\t12\t", "\tSTATUS"),
        ("<", "> STATUS"),
        ("x | ", " | STATUS"),
        ("req='", "' code=STATUS n=1"),
    ];
    let rules = builtin();
    let matcher = Matcher::new(rules);
    let mut worker = WorkerState::default();
    let (mut all, mut found, mut missed) = (0, 0, Vec::new());
    for (number, rule) in rules.rules().iter().enumerate() {
        for case in rule.must_match.iter().filter(|case| {
            case.user_agent.is_none() && case.referer.is_none() && case.user.is_none()
        }) {
            let without_status = LogEntry {
                status: None,
                ..case.log_entry()
            };
            let verdict = matcher.match_uncached(&without_status, &mut worker);
            let needs_status = !worker
                .rules(verdict)
                .iter()
                .any(|id| usize::from(id.0) == number);
            for (before, after) in WRAPPERS {
                if !after.contains("STATUS") && needs_status {
                    continue;
                }
                let line = format!(
                    "{before}{}{}",
                    case.request,
                    after.replace("STATUS", &case.status.to_string())
                );
                let verdict = matcher.match_raw(line.as_bytes(), &mut worker);
                all += 1;
                if worker
                    .rules(verdict)
                    .iter()
                    .any(|id| usize::from(id.0) == number)
                {
                    found += 1;
                } else {
                    missed.push(line);
                }
            }
        }
    }
    assert!(
        found * 100 >= all * 95,
        "{found} of {all}\n{}",
        missed.join("\n")
    );
}
