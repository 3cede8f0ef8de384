//! Guessing of passwords, however slow: clients that log in again and again and request little else
//! are a finding, and from several networks one campaign. Users and owners at work are none of it.

#![expect(
    clippy::cast_possible_wrap,
    reason = "numbers of made-up lines, far below 2^63"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::follower::Follower;
use crate::harness::{Harness, Rng};

const START: i64 = 1_793_577_600;

/// A line at a second after the start, 2026-11-02 00:00 UTC.
fn at(second: i64, client: &str, request: &str, status: u16) -> (i64, String) {
    let time = jiff::Timestamp::from_second(START + second)
        .unwrap()
        .strftime("%d/%b/%Y:%H:%M:%S +0000")
        .to_string();
    // Forms with a token and a message differ in size.
    let bytes = 4_400 + second % 97;
    (
        second,
        format!(
            "{client} - - [{time}] \"{request} HTTP/1.1\" {status} {bytes} \"-\" \"Mozilla/5.0\"\n"
        ),
    )
}

/// The lines by time.
fn log(mut lines: Vec<(i64, String)>) -> String {
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Another network for each number.
fn client(number: i64) -> String {
    format!(
        "{}.{}.{}.9",
        60 + number / 200,
        number % 200,
        7 * number % 250
    )
}

/// An owner of phpMyAdmin for an hour from a second on: her browser loads its pages, which send
/// many POST requests.
fn owner(start: i64) -> Vec<(i64, String)> {
    let session = include_str!("../../cases/ordinary/phpmyadmin.log");
    let requests: Vec<(&str, u16)> = session
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('"').collect();
            (
                fields[1].strip_suffix(" HTTP/1.1").unwrap(),
                fields[2].trim()[..3].parse().unwrap(),
            )
        })
        .collect();
    // The sizes of pages and scripts differ by magnitudes.
    let size = |n: usize| format!(" {} \"-\"", 100_u64 << (n % 9));
    let mut lines = Vec::new();
    for n in 0..7 * requests.len() {
        let (request, status) = requests[n % requests.len()];
        let (second, line) = at(
            start + n as i64 * 3_600 / (7 * requests.len() as i64),
            "::1",
            request,
            status,
        );
        let (before, after) = line.split_at(line.find("\" ").unwrap() + 5);
        lines.push((
            second,
            format!(
                "{before}{}{}",
                size(n),
                after.split_once(" \"-\"").unwrap().1
            ),
        ));
    }
    lines
}

/// Visitors with a few pages each.
fn visitors() -> Vec<(i64, String)> {
    let pages = ["/", "/style.css", "/logo.png", "/about"];
    let visit = |n: i64| {
        pages.iter().zip(0..).map(move |(page, after)| {
            at(
                n * 4_000 + after,
                &format!("203.0.113.{n}"),
                &format!("GET {page}"),
                200,
            )
        })
    };
    (0..200).flat_map(visit).collect()
}

/// What a real site had: 13,766 POST requests of 282 clients, at most four a minute each, and 7,131
/// passwords in the query by 20.
fn real() -> Vec<(i64, String)> {
    let mut numbers = Rng::new();
    let mut lines = [owner(40_000), visitors()].concat();
    let mut times = [0_i64; 282];
    for n in 0..13_766_usize {
        let of_client = n % 282;
        times[of_client] += 15 + (numbers.below(20_000) * numbers.below(2)) as i64;
        let path = if n % 10 == 0 {
            "/phpmyadmin/index.php"
        } else {
            "/phpmyadmin/"
        };
        lines.push(at(
            times[of_client] + of_client as i64 * 600,
            &client(of_client as i64),
            &format!("POST {path}"),
            200,
        ));
    }
    for n in 0..7_131 {
        let request =
            format!("GET /phpmyadmin/index.php?pma_username=root&pma_password=secret{n}&server=1");
        lines.push(at(n * 130, &client(1_000 + n % 20), &request, 200));
    }
    lines
}

/// The rule, clients and attempts of each campaign of guesses, and the number of its clients that
/// send nothing else.
fn guesses(report: &Value) -> Vec<(&str, u64, u64, u64)> {
    let campaigns = report["campaigns"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|campaign| !campaign["guesses"].is_null());
    let mut found: Vec<_> = campaigns
        .map(|campaign| {
            let (guesses, number) = (&campaign["guesses"], |name: &str| {
                campaign[name].as_u64().unwrap()
            });
            (
                guesses["rule"].as_str().unwrap(),
                number("clients"),
                number("hits"),
                guesses["nothing_else"].as_u64().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    found
}

fn rules(report: &Value) -> BTreeSet<&str> {
    report["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["rule"].as_str().unwrap())
        .collect()
}

#[test]
fn slow_guesses_of_hundreds_of_clients_are_one_campaign() {
    let harness = Harness::new();
    harness.file("access.log", log(real()));
    let (_, report) = harness.json(["access.log"]);
    assert_eq!(
        guesses(&report),
        [
            ("flood/phpmyadmin", 282, 13_766, 282),
            ("flood/query", 20, 7_131, 20)
        ]
    );
    assert_eq!(
        (
            report["totals"]["clients"].as_u64(),
            report["floods"].as_array().unwrap().len()
        ),
        (Some(302), 0)
    );
    assert_eq!(
        rules(&report),
        [
            "default-login/phpmyadmin-query",
            "flood/phpmyadmin",
            "flood/query"
        ]
        .into()
    );
    let campaign = &report["campaigns"][0];
    assert_eq!(
        (&campaign["severity"], &campaign["sample_paths"][0]),
        (&"high".into(), &"/phpmyadmin/".into())
    );
    let table = harness.run(["scan", "access.log"]).text();
    let first = "  flood/phpmyadmin: a campaign of 282 clients in 282 networks sent 13,766 POST /phpmyadmin/";
    let second = "  flood/query: a campaign of 20 clients in 20 networks sent 7,131 GET /phpmyadmin/index.php";
    assert!(
        [first, second]
            .iter()
            .all(|sentence| table.contains(sentence))
            && table.lines().count() <= 24,
        "{table}"
    );
    assert!(table.contains("and nothing else"), "{table}");
    // The first run of a report mails it, and later ones do not: it may last for months.
    let run = |harness: &Harness| {
        harness
            .run(["report", "--out", "out", "--state", "state", "access.log"])
            .text()
    };
    let mail = run(&harness);
    assert!(
        mail.contains("\nflood/phpmyadmin: a campaign of 282 clients in 282 net"),
        "{mail}"
    );
    let folder = fs::read_dir(harness.path("out"))
        .unwrap()
        .filter_map(Result::ok)
        .map(|entry| entry.path());
    let summary = folder
        .map(|path| path.join("summary.txt"))
        .find(|path| path.exists())
        .unwrap();
    let summary = fs::read_to_string(summary).unwrap();
    assert!(
        summary.contains("a campaign of 282 clients")
            && summary.contains("a campaign of 20 clients"),
        "{summary}"
    );
    let page = harness.run(["scan", "-f", "html", "access.log"]).text();
    assert!(page.contains("flood/phpmyadmin: a campaign of 282 clients in 282 networks"));
}

#[test]
fn follow_raises_one_alert_for_each_campaign_and_day() {
    let harness = Harness::new();
    harness.file("access.log", log(real()));
    let args = [
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--alert-file",
        "alerts.ndjson",
        "access.log",
    ];
    let follower = Follower::start(&mut harness.command(args));
    let alerts = || -> Vec<Value> {
        let text = fs::read_to_string(harness.path("alerts.ndjson")).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    let of = |rule: &str, kind: &str| -> Vec<Value> {
        alerts()
            .into_iter()
            .filter(|alert| alert["rule"] == rule && alert["kind"] == kind)
            .collect()
    };
    let are_all = || {
        of("flood/phpmyadmin", "campaign")
            .iter()
            .chain(&of("flood/query", "campaign"))
            .any(|alert| alert["clients"] == 20)
    };
    follower.until_process("both campaigns are reported", |_| are_all());
    follower.end_with(Signal::INT);
    for rule in ["flood/phpmyadmin", "flood/query"] {
        let (campaigns, clients) = (of(rule, "campaign"), of(rule, "threshold"));
        // Ten days and the hours before.
        assert!((1..=12).contains(&campaigns.len()), "{rule}: {campaigns:?}");
        assert!(
            clients.len() <= 2,
            "{rule}: before a campaign there are two networks at most: {clients:?}"
        );
        assert_eq!(campaigns[0]["severity"], "high");
    }
    assert!(
        alerts().iter().all(|alert| alert["client"] != "::1"),
        "the owner is none of it"
    );
}

#[test]
fn an_owner_at_work_is_no_guesser() {
    let harness = Harness::new();
    // An hour, and the same in two minutes: a rate of requests after a login is no guessing.
    let hour = owner(0);
    let posts = hour
        .iter()
        .filter(|(_, line)| line.contains("\"POST "))
        .count();
    assert!(posts > 876, "{posts}");
    let fast: Vec<_> = hour
        .iter()
        .map(|(second, line)| {
            at(
                second / 30,
                "::1",
                line.split('"')
                    .nth(1)
                    .unwrap()
                    .strip_suffix(" HTTP/1.1")
                    .unwrap(),
                200,
            )
        })
        .collect();
    for lines in [[hour, visitors()].concat(), [fast, visitors()].concat()] {
        harness.file("access.log", log(lines));
        let (_, report) = harness.json(["--app", "phpmyadmin", "access.log"]);
        assert_eq!(report["totals"]["hits"], 0, "{report}");
    }
}

/// An attempt, and its answer; what the tool requests before each attempt.
const KINDS: [(&str, &str, u16, &[&str]); 14] = [
    (
        "flood/login",
        "POST /wp-login.php",
        200,
        &["GET /wp-login.php"],
    ),
    ("flood/login", "POST /wp-login.php", 403, &[]),
    ("flood/login", "POST /login", 302, &["GET /login"]),
    ("flood/login", "POST /user/login", 303, &["GET /user/login"]),
    ("flood/login", "POST /grafana/login", 401, &[]),
    ("flood/login", "POST /index.php/login", 429, &[]),
    ("flood/login", "POST /api/auth/login", 400, &[]),
    ("flood/login-api", "POST /api/auth", 422, &[]),
    ("flood/login-api", "POST /api2/json/access/ticket", 401, &[]),
    ("flood/xmlrpc", "POST /xmlrpc.php", 200, &[]),
    (
        "flood/joomla",
        "POST /administrator/index.php",
        303,
        &["GET /administrator/"],
    ),
    (
        "flood/login-action",
        "POST /roundcube/?_task=login",
        401,
        &["GET /roundcube/"],
    ),
    (
        "flood/phpmyadmin",
        "POST /pma/index.php?route=/",
        200,
        &["GET /pma/index.php?route=/"],
    ),
    (
        "flood/query",
        "GET /auth/login?user=jane&password=summer7",
        200,
        &[],
    ),
];

/// Thirty networks with twelve attempts each, hours apart, and users who log in and read pages.
fn kind((_, attempt, status, before): (&str, &str, u16, &[&str])) -> Vec<(i64, String)> {
    let mut lines = visitors();
    for n in 0..30 * 12 {
        let (second, client) = (n * 2_000, client(n % 30));
        lines.extend(
            before
                .iter()
                .map(|request| at(second - 1, &client, request, 200)),
        );
        lines.push(at(second, &client, attempt, status));
    }
    lines.extend(users(attempt, 60, 3));
    lines
}

/// Users who mistype their password, log in at last, and read pages.
fn users(attempt: &str, users: i64, attempts: i64) -> Vec<(i64, String)> {
    let user = |n: i64| {
        let (second, client) = (n * 5_000, format!("198.51.100.{n}"));
        let form = (0..3).map(|n| format!("GET /assets/{n}.css"));
        let attempts = (0..attempts).map(|_| attempt.to_owned());
        let pages = (0..8).map(|n| format!("GET /account/{n}"));
        let requests: Vec<String> = form.chain(attempts).chain(pages).collect();
        requests
            .into_iter()
            .zip(second..)
            .map(move |(request, second)| at(second, &client, &request, 200))
            .collect::<Vec<_>>()
    };
    (0..users).flat_map(user).collect()
}

#[test]
fn logins_of_any_kind_and_answer_are_guessed_at() {
    let harness = Harness::new();
    for case in KINDS {
        harness.file("access.log", log(kind(case)));
        let (_, report) = harness.json(["access.log"]);
        let nothing_else = if case.3.is_empty() {
            30
        } else {
            guesses(&report)[0].3
        };
        assert_eq!(
            guesses(&report),
            [(case.0, 30, 360, nothing_else)],
            "{case:?}"
        );
    }
}

/// A line with the user that the client sent.
fn sent_by(user: &str, second: i64, client: &str, request: &str, status: u16) -> (i64, String) {
    let (second, line) = at(second, client, request, status);
    (second, line.replacen(" - - [", &format!(" - {user} ["), 1))
}

#[test]
fn refused_logins_of_http_authentication_are_guessed_at() {
    let harness = Harness::new();
    let report = |lines: Vec<(i64, String)>| {
        harness.file("access.log", log([lines, visitors()].concat()));
        harness.json(["access.log"]).1
    };
    let floods = |report: &Value| -> Vec<(String, u64)> {
        let floods = report["floods"].as_array().unwrap().iter();
        floods
            .map(|flood| {
                (
                    flood["rule"].as_str().unwrap().to_owned(),
                    flood["requests"].as_u64().unwrap(),
                )
            })
            .collect()
    };
    let botnet =
        (0..360).map(|n| sent_by("admin", n * 2_000, &client(n % 30), "GET /private/", 401));
    assert_eq!(
        guesses(&report(botnet.collect())),
        [("flood/basic-auth", 30, 360, 30)]
    );
    let slow = |count| {
        (0..count)
            .map(|n| sent_by("admin", n * 40_000, "192.0.2.77", "GET /private/", 401))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        floods(&report(slow(100))),
        [("flood/basic-auth".to_owned(), 100)]
    );
    assert_eq!(floods(&report(slow(99))), []);
    // The owner of a changed password reads pages in the end.
    let pages =
        (0..151).map(|n| sent_by("admin", n * 40_001, "192.0.2.77", "GET /private/page", 200));
    assert_eq!(
        floods(&report(slow(100).into_iter().chain(pages).collect())),
        []
    );
    // A browser asks for a page, then for the password; feed readers and monitors send none; WebDAV
    // clients repeat an old one.
    let browsers = (0..40).flat_map(|n| {
        let (second, client) = (n * 9_000, client(n));
        let first = [
            at(second, &client, "GET /private/", 401),
            sent_by("jane", second + 5, &client, "GET /private/", 401),
        ];
        first.into_iter().chain(
            (0..6).map(move |n| sent_by("jane", second + 9 + n, &client, "GET /private/page", 200)),
        )
    });
    let monitors = (0..3_000).map(|n| at(n * 300, &client(50 + n % 20), "GET /private/feed", 401));
    let calendar =
        (0..3_000).map(|n| sent_by("jane", n * 300, "192.0.2.78", "PROPFIND /dav/jane/", 401));
    let report = report(browsers.chain(monitors).chain(calendar).collect());
    assert!(!rules(&report).contains("flood/basic-auth"), "{report}");
}

#[test]
fn one_client_needs_as_many_attempts_as_a_flood_and_nothing_else() {
    let harness = Harness::new();
    let found = |lines: Vec<(i64, String)>| {
        harness.file("access.log", log([lines, visitors()].concat()));
        let text = harness.run(["scan", "access.log"]).text();
        let line = text
            .lines()
            .find(|line| line.contains("flood/login: "))
            .map(|line| line.trim().to_owned());
        line.unwrap_or_default()
    };
    let attempts = |count: i64| {
        (0..count)
            .map(|n| at(n * 40_000, "192.0.2.77", "POST /wp-login.php", 200))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(attempts(20)),
        "flood/login: 192.0.2.77 sent 20 POST /wp-login.php within 9 days"
    );
    assert_eq!(found(attempts(19)), "");
    let pages = |count: i64| {
        (0..count)
            .map(|n| at(n * 20_000, "192.0.2.77", "GET /page", 200))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found([attempts(20), pages(31)].concat()),
        "",
        "an owner reads pages"
    );
    assert_ne!(found([attempts(20), pages(30)].concat()), "");
}

#[test]
fn users_are_no_guessers() {
    let harness = Harness::new();
    for attempt in [
        "POST /login",
        "POST /wp-login.php",
        "POST /administrator/index.php",
    ] {
        harness.file(
            "access.log",
            log([users(attempt, 200, 3), visitors()].concat()),
        );
        let (_, report) = harness.json(["access.log"]);
        assert!(
            !rules(&report).iter().any(|rule| rule.starts_with("flood/"))
                && guesses(&report).is_empty(),
            "{report}"
        );
    }
    // An administrator of Joomla saves articles all day.
    let articles = (0..300).map(|n| {
        at(
            n * 90,
            "198.51.100.9",
            "POST /administrator/index.php?option=com_content&view=articles",
            303,
        )
    });
    // Jetpack calls the site, and an owner's app does.
    let jetpack = (0..900).map(|n| {
        at(
            n * 30,
            &client(n % 30),
            "POST /xmlrpc.php?for=jetpack&token=a",
            200,
        )
    });
    let app = (0..400).map(|n| at(n * 100, "198.51.100.10", "POST /xmlrpc.php", 200));
    harness.file(
        "access.log",
        log(articles
            .chain(jetpack)
            .chain(app)
            .chain(visitors())
            .collect()),
    );
    let (_, report) = harness.json(["access.log"]);
    assert!(
        !rules(&report).iter().any(|rule| rule.starts_with("flood/")),
        "{report}"
    );
}

#[test]
fn guesses_do_not_depend_on_order_threads_or_splits() {
    let harness = Harness::new();
    let lines = kind(KINDS[0]);
    harness.file("access.log", log(lines.clone()));
    let json = |threads: &str| {
        harness
            .run(["scan", "-f", "json", "--threads", threads, "access.log"])
            .text()
    };
    let whole = json("1");
    assert_eq!((json("2"), json("8")), (whole.clone(), whole));
    let mut backwards = String::new();
    for (_, line) in lines.iter().rev() {
        let _ = write!(backwards, "{line}");
    }
    harness.file("backwards.log", &backwards);
    let expected = [("flood/login", 30, 360, 0)];
    assert_eq!(guesses(&harness.json(["backwards.log"]).1), expected);
    let half = |odd: usize| {
        lines
            .iter()
            .enumerate()
            .filter(|(n, _)| n % 2 == odd)
            .map(|(_, line)| line.clone())
            .collect()
    };
    for (name, odd) in [("a", 0), ("b", 1)] {
        harness.file(format!("{name}.log"), log(half(odd)));
        assert_eq!(
            harness
                .run([
                    "scan",
                    "-f",
                    "json",
                    "-o",
                    &format!("{name}.json"),
                    &format!("{name}.log")
                ])
                .code,
            0
        );
    }
    let merged = harness.run(["merge", "-f", "json", "b.json", "a.json"]);
    assert_eq!(
        merged.text(),
        harness.run(["scan", "-f", "json", "a.log", "b.log"]).text()
    );
    assert_eq!(guesses(&merged.json()), expected);
}
