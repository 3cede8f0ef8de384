//! A report on one day of a small site, for the tests of all formats. No log is read; the rows are
//! listed and summed here.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use super::labels::{self, Attributed};
use super::model::{
    AllowedCount, AnswerDetail, AppSeen, Campaign, ClassHits, FloodRow, HostRow, NetworkRow,
    ReportModel, ReportedHit, Row, RowKey, SampleRequest, Soft404, Timeline, TimelineBucket,
    Totals,
};
use crate::geoip::GeoInfo;
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::client::Client;
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::source::RequestId;
use crate::log::source::SourceInfo;
use crate::log::time::LogTime;
use crate::rules::{AllowList, RuleChoice, RuleSet, load};
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::soft_404::{Answer, Grade, MethodClass, Reason};
use crate::tally::Tally;
use crate::text::redact::{DecodedText, LogText};

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36";

/// Sorted by id, like every rule set.
const RULES: [(&str, &str, &str, Severity, &[&str]); 9] = [
    (
        "cve/apache-traversal",
        "Apache path traversal",
        "lfi",
        Severity::Critical,
        &["CVE-2021-41773", "CVE-2021-42013"],
    ),
    (
        "dotfiles/env",
        "Environment file",
        "config-exposure",
        Severity::High,
        &["CVE-2017-16894"],
    ),
    (
        "iot/boaform",
        "Router login form",
        "iot",
        Severity::Medium,
        &["CVE-2020-8958"],
    ),
    (
        "non-http/tls",
        "TLS on a plain port",
        "non-http",
        Severity::Low,
        &[],
    ),
    (
        "php/eval-stdin",
        "PHPUnit eval-stdin.php",
        "php-eval",
        Severity::High,
        &["CVE-2017-9841"],
    ),
    (
        "sqli/union-select",
        "SQL injection with UNION SELECT",
        "sqli",
        Severity::Medium,
        &[],
    ),
    (
        "vcs/git-config",
        "Git repository",
        "vcs-exposure",
        Severity::High,
        &[],
    ),
    (
        "wordpress/login",
        "WordPress login page",
        "wordpress",
        Severity::Low,
        &[],
    ),
    (
        "wordpress/xmlrpc",
        "WordPress XML-RPC",
        "wordpress",
        Severity::Medium,
        &[],
    ),
];

/// The input of a report on hits of low severity and above.
pub(crate) fn report_input<'a>(
    rules: &'a RuleSet,
    tally: &'a Tally,
    sources: &'a [SourceInfo],
    inputs: &'a [InputSummary],
    allow: &'a AllowList,
) -> ReportInput<'a> {
    let filter = ReportFilter {
        min_severity: Severity::Low,
        ..ReportFilter::default()
    };
    ReportInput {
        rules,
        tally,
        sources,
        inputs,
        without_time: 0,
        filter,
        allow,
    }
}

/// The rules of the fixture, loaded like any others; it does not matter what they match.
pub(crate) fn rules() -> &'static RuleSet {
    static SET: LazyLock<RuleSet> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        for rule in &RULES {
            std::fs::write(
                folder
                    .path()
                    .join(format!("{}.toml", rule.0.replace('/', "-"))),
                definition(rule),
            )
            .unwrap();
        }
        load(&RuleChoice {
            paths: vec![folder.path().to_owned()],
            no_builtin: true,
            ..RuleChoice::default()
        })
        .unwrap()
    });
    &SET
}

fn definition((id, title, class, severity, cve): &(&str, &str, &str, Severity, &[&str])) -> String {
    let (family, name) = id.split_once('/').unwrap();
    format!(
        "family = '{family}'\ntitle = '{family}'\n[[rule]]\nid = '{id}'\ntitle = '{title}'\nclass = '{class}'\n\
         severity = '{severity}'\ncve = {cve:?}\npaths = ['/{name}']\nmust_match = ['GET /{name}']\nmust_not_match = ['GET /']\n"
    )
}

/// Client, path, target, rules, status, hits, minute of the first hit, user agent.
type Pair = (
    &'static str,
    &'static str,
    &'static str,
    &'static [u16],
    Option<u16>,
    u64,
    i64,
    &'static str,
);

const PAIRS: [Pair; 22] = [
    (
        "203.0.113.7",
        "/.git/config",
        "/.git/config",
        &[6],
        Some(200),
        2,
        481,
        "python-requests/2.31.0",
    ),
    (
        "2001:db8:85a3::8a2e:370:7334",
        "/.git/config",
        "/.git/config",
        &[6],
        Some(200),
        1,
        512,
        CHROME,
    ),
    (
        "198.51.100.23",
        "/backup/.env",
        "/backup/.env?token=s3cr3t",
        &[1],
        Some(200),
        1,
        77,
        "curl/8.5.0",
    ),
    (
        "192.0.2.44",
        "/xmlrpc.php",
        "/xmlrpc.php",
        &[7, 8],
        Some(200),
        311,
        2,
        "Mozilla/5.0 (compatible; x/1.0)",
    ),
    (
        "198.51.100.23",
        "/cgi-bin/../../../../bin/sh",
        "/cgi-bin/.%2e/.%2e/.%2e/.%2e/bin/sh",
        &[0],
        Some(400),
        4,
        78,
        "libredtail-http",
    ),
    (
        "203.0.113.7",
        "/.env",
        "/.env",
        &[1],
        Some(404),
        3,
        480,
        "python-requests/2.31.0",
    ),
    (
        "203.0.113.9",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        &[4],
        Some(404),
        12,
        600,
        "Go-http-client/1.1",
    ),
    (
        "203.0.113.9",
        "/lib/phpunit/src/Util/PHP/eval-stdin.php",
        "/lib/phpunit/src/Util/PHP/eval-stdin.php",
        &[4],
        Some(404),
        9,
        601,
        "-",
    ),
    (
        "192.0.2.99",
        "/index.php",
        "/index.php?id=1%20UNION%20SELECT%20user,password%20FROM%20users--",
        &[5],
        Some(200),
        18,
        900,
        "sqlmap/1.8",
    ),
    (
        "192.0.2.101",
        "/boaform/admin/formLogin",
        "/boaform/admin/formLogin?username=ec8&psw=ec8",
        &[2],
        Some(404),
        2,
        121,
        "-",
    ),
    (
        "192.0.2.102",
        "/boaform/admin/formLogin",
        "/boaform/admin/formLogin",
        &[2],
        Some(404),
        2,
        122,
        "-",
    ),
    (
        "192.0.2.103",
        "/boaform/admin/formLogin",
        "/boaform/admin/formLogin",
        &[2],
        Some(404),
        1,
        123,
        "-",
    ),
    (
        "192.0.2.104",
        "/boaform/admin/formLogin",
        "/boaform/admin/formLogin",
        &[2],
        Some(404),
        1,
        124,
        "-",
    ),
    (
        "192.0.2.105",
        "/boaform/admin/formLogin",
        "/boaform/admin/formLogin",
        &[2],
        Some(404),
        1,
        125,
        "-",
    ),
    (
        "192.0.2.106",
        "/boaform/admin/formLogin",
        "/boaform/admin/formLogin",
        &[2],
        Some(444),
        1,
        126,
        "-",
    ),
    (
        "198.51.100.77",
        "/wp-login.php",
        "/wp-login.php",
        &[7],
        Some(301),
        41,
        333,
        CHROME,
    ),
    (
        "198.51.100.78",
        "/blog/wp-login.php",
        "/blog/wp-login.php",
        &[7],
        Some(404),
        2,
        334,
        CHROME,
    ),
    (
        "198.51.100.79",
        "/wp/wp-login.php",
        "/wp/wp-login.php",
        &[7],
        Some(404),
        2,
        335,
        CHROME,
    ),
    (
        "203.0.113.200",
        "",
        r"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03",
        &[3],
        Some(400),
        5,
        45,
        "-",
    ),
    ("203.0.113.201", "", r"\x16\x03\x01", &[3], None, 1, 46, "-"),
    (
        "198.51.100.23",
        "/日本語/\u{202e}gnp.env",
        "/%E6%97%A5%E6%9C%AC%E8%AA%9E/%E2%80%AEgnp.env",
        &[1],
        Some(404),
        1,
        79,
        "\u{1b}]0;owned\u{7}",
    ),
    (
        "scanner.example.net",
        "/.env.bak",
        "/.env.bak",
        &[1],
        Some(403),
        1,
        1000,
        "-",
    ),
];

const fn text(text: &str) -> LogText<'_> {
    LogText::new(text.as_bytes())
}

fn minute(minutes: i64) -> LogTime {
    LogTime {
        utc: 1_793_577_600 + minutes * 60,
        offset: 60,
    }
}

fn row_of_pair(
    line: usize,
    &(client, path, target, rules, status, hits, first, agent): &Pair,
) -> Row<'static> {
    let outcome = Outcome::from_status(status);
    let answered = if outcome == Outcome::Answered && !rules.contains(&5) && !rules.contains(&7) {
        hits
    } else {
        0
    };
    let severity = rules
        .iter()
        .map(|&r| RULES[usize::from(r)].3)
        .max()
        .unwrap();
    let mut outcomes = [0; 8];
    outcomes[outcome as usize] = hits;
    Row {
        key: RowKey::Pair(Client::parse(client.as_bytes()), text(path), outcome),
        severity: if answered > 0 {
            severity.escalated()
        } else {
            severity
        },
        rules: rules.iter().map(|&r| RuleId(r)).collect(),
        about: Attributed {
            cves: labels::sorted(
                rules
                    .iter()
                    .flat_map(|&r| RULES[usize::from(r)].4.iter().copied()),
            ),
            products: Vec::new(),
        },
        hits,
        outcomes,
        answered,
        uncertain: 0,
        soft_404: 0,
        answer: None,
        clients: 1,
        paths: 1,
        requests: 0,
        geo: None,
        block: None,
        other_requests: 0,
        status,
        first_time: Some(minute(first)),
        last_time: Some(minute(first + hits.cast_signed())),
        sample: SampleRequest {
            id: RequestId {
                generation: 0x00c0_ffee,
                offset: 211 * line as u64,
            },
            log_host: None,
            source: b"/var/log/nginx/access.log",
            line: line as u64 + 1,
            target: text(target),
            status,
            host: Some(text("shop.example")),
            user_agent: (agent != "-").then_some(text(agent)),
            user: None,
        },
    }
}

/// Sums rows with the same `key`, in the order of reports.
fn summed(
    pairs: &[Row<'static>],
    key: impl Fn(&Row<'static>) -> Vec<RowKey<'static>>,
) -> Vec<Row<'static>> {
    let mut sums = BTreeMap::new();
    for pair in pairs {
        for key in key(pair) {
            sums.entry(key)
                .and_modify(|sum| add(sum, pair))
                .or_insert_with(|| Row {
                    key,
                    ..pair.clone()
                });
        }
    }
    let mut rows: Vec<_> = sums.into_values().collect();
    rows.sort_by_key(|row| {
        (
            std::cmp::Reverse((row.severity, row.answered, row.hits)),
            row.key,
        )
    });
    for row in &mut rows {
        row.other_requests = if row.hits == 18 { 7 } else { 0 };
        row.requests = row.hits + row.other_requests;
    }
    rows
}

fn add(sum: &mut Row<'static>, pair: &Row<'static>) {
    if pair.severity > sum.severity {
        (sum.severity, sum.sample) = (pair.severity, pair.sample);
    }
    sum.hits += pair.hits;
    sum.answered += pair.answered;
    sum.clients += 1;
    sum.paths += 1;
    for (sum, n) in sum.outcomes.iter_mut().zip(pair.outcomes) {
        *sum += n;
    }
    let rules = sum.rules.to_mut();
    rules.extend(&*pair.rules);
    rules.sort_unstable();
    rules.dedup();
    sum.about = Attributed::union(&[sum.about.clone(), pair.about.clone()]);
    sum.first_time = sum.first_time.min(pair.first_time);
    sum.last_time = sum.last_time.max(pair.last_time);
}

fn inputs() -> Vec<InputSummary> {
    let access = InputSummary {
        path: b"/var/log/nginx/access.log".to_vec(),
        format: Some("combined".into()),
        counts: LineTotals {
            bytes: 249_870_113,
            lines: 1_234_567,
            parsed: 1_234_560,
            unparsed: 6,
            oversized: 1,
            requests: 1_234_566,
            hits: 422,
            ..LineTotals::default()
        },
        first_time: Some(minute(0)),
        last_time: Some(minute(1439)),
        ..InputSummary::default()
    };
    let damaged = InputSummary {
        path: b"/var/log/nginx/access.log.2.gz".to_vec(),
        counts: LineTotals {
            bytes: 65_536,
            lines: 301,
            parsed: 301,
            requests: 301,
            ..LineTotals::default()
        },
        problem: Some("the archive ends in the middle; the lines before that were read".into()),
        ..InputSummary::default()
    };
    vec![access, damaged]
}

fn totals(pairs: &[Row<'_>], inputs: &[InputSummary], rows: [usize; 3]) -> Totals {
    let mut outcomes = [0; 8];
    for pair in pairs {
        outcomes[pair.key.outcome().unwrap() as usize] += pair.hits;
    }
    Totals {
        sum: LineTotals::sum(inputs),
        first_time: Some(minute(0)),
        last_time: Some(minute(1439)),
        outcomes,
        clients: rows[0] as u64,
        paths: rows[1] as u64,
        rules: rows[2] as u64,
        answered: pairs.iter().map(|pair| pair.answered).sum(),
        soft_404: 31,
        severity: pairs.iter().map(|pair| pair.severity).max(),
        ..Totals::default()
    }
}

fn answers(pairs: &[Row<'static>]) -> Vec<Row<'static>> {
    let answered: Vec<_> = pairs
        .iter()
        .filter(|row| row.answered > 0)
        .cloned()
        .collect();
    let mut rows = summed(&answered, |row| {
        vec![RowKey::Answer(
            row.sample.host,
            row.key.path().unwrap(),
            text("shop.example"),
        )]
    });
    for (row, bytes) in rows
        .iter_mut()
        .zip([6_861, 412, 48_211].into_iter().cycle())
    {
        row.answer = Some(Box::new(AnswerDetail {
            statuses: row.status.into_iter().collect(),
            bytes: Some(bytes),
            method: MethodClass::Get,
            grade: Grade {
                answer: Answer::Distinct,
                reason: Reason::StandsOut(2_100, 4_800),
            },
            client: (row.clients == 1).then(|| Client::parse(b"203.0.113.7")),
            is_known_host: true,
            needs_login: false,
            members: Vec::new(),
        }));
    }
    rows
}

/// The login form of routers, as a list of five paths.
fn campaign(paths: &[Row<'static>]) -> Campaign<'static> {
    let row = paths
        .iter()
        .find(|row| row.key == RowKey::Path(text("/boaform/admin/formLogin")))
        .unwrap();
    let Row {
        severity,
        hits,
        first_time,
        last_time,
        sample,
        ..
    } = *row;
    Campaign {
        key: "0123456789ab".into(),
        guesses: None,
        severity,
        clients: 6,
        networks: 3,
        paths: 5,
        hits,
        answered: 0,
        first_time,
        last_time,
        sample_paths: vec![
            text("/boaform/admin/formLogin"),
            text("/boaform/admin/formPing"),
        ],
        sample,
    }
}

/// The client that tried passwords.
fn flood(rows: &[Row<'static>]) -> FloodRow<'static> {
    let client = Client::parse(b"192.0.2.44");
    let row = rows
        .iter()
        .find(|row| row.key == RowKey::Client(client))
        .unwrap();
    FloodRow {
        rule: RULES[8].0,
        severity: Severity::Medium,
        client: Some(client),
        method: MethodClass::Post,
        path: text("/xmlrpc.php"),
        clients: 1,
        has_more_clients: false,
        paths: 1,
        requests: 311,
        minutes: 5,
        first_minute: minute(2),
        last_minute: minute(6),
        floods: 1,
        sample: row.sample,
    }
}

/// Hits by the hour of the first one of each pair; one pair has no time.
fn timeline(pairs: &[Row<'_>]) -> Timeline {
    const HOUR: i64 = 3_600;
    let first = minute(0).utc;
    let mut buckets: Vec<TimelineBucket> = (0..17)
        .map(|hour| TimelineBucket {
            from: Some(first + hour * HOUR),
            to: Some(first + (hour + 1) * HOUR),
            ..TimelineBucket::default()
        })
        .chain([TimelineBucket::default()])
        .collect();
    let mut timeline = Timeline {
        unit: HOUR as u32,
        ..Timeline::default()
    };
    for pair in pairs {
        let hour = pair
            .first_time
            .filter(|_| pair.status.is_some())
            .and_then(|time| usize::try_from((time.utc - first) / HOUR).ok());
        let bucket = &mut buckets[hour.unwrap_or(17)];
        bucket.hits += pair.hits;
        bucket.outcomes[pair.key.outcome().unwrap() as usize] += pair.hits;
        if let Some(hour) = hour {
            timeline.hours[0][hour + 1] += pair.hits;
        }
    }
    timeline.answered_at = pairs
        .iter()
        .filter(|row| row.answered > 0)
        .filter_map(|row| row.first_time)
        .collect();
    timeline.answered_at.sort_unstable();
    Timeline {
        buckets,
        ..timeline
    }
}

/// Hits of two classes.
fn classes() -> Vec<ClassHits<'static>> {
    vec![
        ClassHits {
            class: "config-exposure",
            outcomes: [1, 0, 0, 1, 4, 0, 0, 0],
            answered: 1,
        },
        ClassHits {
            class: "wordpress",
            outcomes: [311, 41, 0, 0, 4, 0, 0, 0],
            answered: 0,
        },
    ]
}

/// The report of the fixture.
pub(crate) fn report(rule_set: &RuleSet) -> ReportModel<'_> {
    let pairs: Vec<_> = PAIRS
        .iter()
        .enumerate()
        .map(|(line, pair)| row_of_pair(line, pair))
        .collect();
    let pairs = summed(&pairs, |row| vec![row.key]);
    let timeline = timeline(&pairs);
    let clients = summed(&pairs, |row| {
        vec![RowKey::Client(row.key.client().unwrap())]
    });
    let paths = summed(&pairs, |row| vec![RowKey::Path(row.key.path().unwrap())]);
    let rules = summed(&pairs, |row| {
        row.rules.iter().map(|&rule| RowKey::Rule(rule)).collect()
    });
    let inputs = inputs();
    ReportModel {
        rule_set,
        log_host: None,
        period: None,
        prefix: None,
        hidden: None,
        proxied: None,
        totals: totals(&pairs, &inputs, [clients.len(), paths.len(), rules.len()]),
        approximate: None,
        inputs,
        answered: answers(&pairs),
        uncertain: vec![],
        campaigns: vec![campaign(&paths)],
        floods: vec![flood(&clients)],
        pairs,
        clients,
        has_blocks: false,
        paths,
        rules,
        classes: classes(),
        timeline,
        days: Vec::new(),
        hosts: vec![
            HostRow {
                host: text("shop.example"),
                hits: 400,
                clients: 12,
                paths: 30,
                answered: 311,
            },
            HostRow {
                host: text("app.example"),
                hits: 31,
                clients: 3,
                paths: 14,
                answered: 0,
            },
        ],
        networks: Vec::new(),
        client_hits: Vec::new(),
        apps: vec![
            AppSeen {
                app: "wordpress",
                title: "WordPress",
                site: Some(text("shop.example")),
                silenced: 1204,
            },
            AppSeen {
                app: "joomla",
                title: "Joomla",
                site: None,
                silenced: 0,
            },
        ],
        allowed: vec![
            AllowedCount {
                file: "allow.toml",
                line: 3,
                reason: "our own scanner",
                requests: 17,
            },
            AllowedCount {
                file: "allow.toml",
                line: 9,
                reason: "nobody yet",
                requests: 0,
            },
        ],
        soft_404: vec![Soft404 {
            site: text("app.example"),
            hosts: 1,
            grade: Grade {
                answer: Answer::Soft404,
                reason: Reason::SameSize,
            },
            sizes: vec![(612, 612)],
            paths: 14,
            requests: 31,
        }],
        elapsed: Duration::from_millis(312),
        evidence: None,
    }
}

/// What GeoIP databases have about a client.
pub(crate) fn geo(country: &str, asn: u32, as_name: &str) -> GeoInfo {
    GeoInfo {
        country: Some(country.into()),
        city: Some("Springfield".into()),
        asn: Some(asn),
        as_name: Some(as_name.into()),
    }
}

/// The report of the fixture with the data of GeoIP databases: clients of two networks, and others
/// without data.
pub(crate) fn report_with_networks(rule_set: &RuleSet) -> ReportModel<'_> {
    let mut report = report(rule_set);
    let known = [
        geo("DE", 64_500, "Example Hosting and Colocation GmbH"),
        geo("US", 64_501, "=Other\u{1b}[31m"),
    ];
    let mut geo = known.iter().cycle();
    for row in report.clients.iter_mut().take(5) {
        row.geo = geo.next().cloned().map(Arc::new);
    }
    let network = |geo: &GeoInfo, clients, hits| NetworkRow {
        asn: geo.asn,
        as_name: geo.as_name.clone(),
        countries: geo.country.iter().cloned().collect(),
        clients,
        hits,
        answered: 1,
    };
    report.networks = vec![
        network(&known[0], 3, 1200),
        NetworkRow {
            clients: 13,
            hits: 40,
            ..NetworkRow::default()
        },
        network(&known[1], 2, 7),
    ];
    report
}

/// A report without hits.
pub(crate) fn empty(rule_set: &RuleSet) -> ReportModel<'_> {
    let inputs = vec![InputSummary {
        path: b"access.log".to_vec(),
        format: Some("combined".into()),
        counts: LineTotals {
            bytes: 200_113,
            lines: 1000,
            parsed: 1000,
            requests: 1000,
            ..LineTotals::default()
        },
        ..InputSummary::default()
    }];
    ReportModel {
        rule_set,
        log_host: None,
        period: None,
        prefix: None,
        hidden: None,
        proxied: None,
        totals: Totals {
            answered: 0,
            soft_404: 0,
            ..totals(&[], &inputs, [0; 3])
        },
        approximate: None,
        inputs,
        answered: vec![],
        uncertain: vec![],
        campaigns: vec![],
        floods: vec![],
        pairs: vec![],
        clients: vec![],
        has_blocks: false,
        paths: vec![],
        rules: vec![],
        classes: vec![],
        timeline: Timeline::default(),
        days: Vec::new(),
        hosts: vec![],
        networks: Vec::new(),
        client_hits: Vec::new(),
        apps: Vec::new(),
        allowed: Vec::new(),
        soft_404: vec![],
        elapsed: Duration::from_millis(3),
        evidence: None,
    }
}

/// A hit with a value in every field.
pub(crate) fn hit() -> ReportedHit<'static> {
    ReportedHit {
        id: RequestId {
            generation: 0x00c0_ffee,
            offset: 4242,
        },
        source: b"/var/log/nginx/access.log",
        line: 17,
        time: Some(minute(481)),
        client: Client::V4(0xcb00_7107),
        method: text("GET"),
        target: text("/%2egit/config?token=a%26b&x=%1b%5b2J"),
        path: text("/.git/config"),
        decoded: Some(DecodedText::new(b"/.git/config?token=a&b&x=\x1b[2J")),
        protocol: text("HTTP/1.1"),
        status: Some(200),
        bytes: Some(291),
        outcome: Outcome::Answered,
        answer: Some(Answer::Distinct),
        severity: Severity::Critical,
        rules: &[RuleId(1), RuleId(6)],
        host: Some(text("shop.example")),
        referer: Some(text("http://bob:hunter2@example.com/")),
        user_agent: Some(text("curl/8.5.0")),
        user: Some(text("jane")),
        context: None,
        geo: None,
    }
}
