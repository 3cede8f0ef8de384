//! What needs the whole log: apps that a site runs, clients that are probers, and allow lists.

use serde_json::Value;

use crate::harness::{Harness, Rng, line, sized};

const RULES: &str = r#"
[[app]]
id = "shop"
title = "Shop"
path_glob = ["/shop-assets/**/*.css"]
must_match = ["GET /shop-assets/a.css", "GET /x/shop-assets/b/c.css"]
must_not_match = ["GET /shop-assets/", "GET /a.css"]

[[rule]]
id = "own/shop-login"
title = "Log-in page of the shop"
class = "panel"
severity = "high"
paths = ["/shop-login"]
unless_app = "shop"
must_match = ["GET /shop-login", "POST /shop-login"]
must_not_match = ["GET /shop-log", "GET /"]

[[rule]]
id = "own/key"
title = "Key"
class = "config-exposure"
severity = "high"
paths = ["/key.pem", "/key-1.pem", "/key-2.pem", "/key-3.pem"]
must_match = ["GET /key.pem", "GET /a/key.pem"]
must_not_match = ["GET /key.pe", "GET /"]

[[rule]]
id = "own/guess"
title = "A page that key hunters guess at"
class = "exposure"
severity = "medium"
suffixes = [".page"]
with_client = { distinct_paths = 3, classes = ["config-exposure"] }
must_match = ["GET /a.page", "GET /b.page"]
must_not_match = ["GET /page", "GET /a.pages"]
"#;

fn asset(client: u8, bytes: u32) -> String {
    sized(
        &line(
            &format!("198.51.100.{client}"),
            "GET /shop-assets/site.css HTTP/1.1",
            200,
        ),
        bytes.into(),
    )
}

fn login() -> String {
    line("192.0.2.1", "GET /shop-login HTTP/1.1", 200)
}

fn get(client: &str, path: &str, status: u16) -> String {
    line(client, &format!("GET {path} HTTP/1.1"), status)
}

/// Runs with the rules above only.
fn scan(harness: &Harness, log: &str, args: &[&str]) -> crate::harness::Run {
    harness.file("own.toml", RULES);
    harness.file("access.log", log);
    let given = ["scan", "--no-builtin", "--rules", "own.toml", "access.log"]
        .iter()
        .chain(args);
    let run = harness.run(given);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

fn report(log: &str, args: &[&str]) -> Value {
    let harness = Harness::new();
    scan(&harness, log, &[&["-f", "json"], args].concat()).json()
}

fn hits(report: &Value) -> u64 {
    report["totals"]["hits"].as_u64().unwrap()
}

#[test]
fn normal_pages_of_an_app_are_not_reported_on_its_site() {
    let shop = [asset(1, 10), asset(2, 11), asset(3, 12)].concat();
    let log = login() + &shop + &get("192.0.2.1", "/key.pem", 404);
    let seen = report(&log, &[]);
    assert_eq!(hits(&seen), 1, "the key still is");
    assert_eq!(
        seen["apps"],
        serde_json::json!([{"app": "shop", "site": "access.log", "silenced": 1}])
    );
    assert_eq!(seen["answered"], serde_json::json!([]));
    let info = report(&log, &["--min-severity", "info"]);
    assert_eq!(hits(&info), 2);
    let severities: Vec<_> = info["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["rule"], &row["severity"]))
        .collect();
    assert_eq!(
        severities,
        [
            (&"own/key".into(), &"high".into()),
            (&"own/shop-login".into(), &"info".into())
        ]
    );
    // The client made four requests, and one of them is a normal page.
    assert_eq!(seen["clients"][0]["requests"], 2);
    assert_eq!(seen["clients"][0]["other_requests"], 0);
}

#[test]
fn an_app_is_detected_by_several_clients_and_distinct_answers() {
    for (assets, why) in [
        ([asset(1, 10), asset(2, 11)].concat(), "two clients"),
        (
            [asset(1, 10), asset(2, 10), asset(3, 10)].concat(),
            "a site that says the same to everything",
        ),
        (
            [asset(1, 10), asset(1, 11), asset(1, 12)].concat(),
            "one client",
        ),
        (
            [asset(1, 10), asset(2, 11), asset(3, 12)]
                .concat()
                .replace("\" 200 ", "\" 404 "),
            "nothing was answered",
        ),
    ] {
        let seen = report(&(login() + &assets), &[]);
        assert_eq!(
            (hits(&seen), &seen["apps"]),
            (1, &serde_json::json!([])),
            "{why}"
        );
    }
}

#[test]
fn an_app_with_one_user_is_detected_by_the_sizes_of_its_answers() {
    let files: String = [301, 900, 4_100, 33_000, 290_000]
        .map(|bytes| asset(1, bytes))
        .concat();
    let seen = report(&(login() + &files), &[]);
    assert_eq!((hits(&seen), &seen["apps"][0]["app"]), (0, &"shop".into()));
    let refused = files.replace("\" 200 ", "\" 404 ");
    assert_eq!(
        hits(&report(&(login() + &refused), &[])),
        1,
        "nothing was answered"
    );
    let page = |length: usize| {
        let path = format!("/shop-assets/{}.css", "a".repeat(length));
        sized(
            &get("198.51.100.1", &path, 200),
            200 + 2 * path.len() as u64,
        )
    };
    let pages: String = [10, 400, 1_000, 2_000, 4_000, 7_900].map(page).concat();
    assert_eq!(
        hits(&report(&(login() + &pages), &[])),
        1,
        "a page for everything that repeats the address"
    );
}

#[test]
fn apps_are_detected_by_host() {
    let at = |host: &str, line: String| format!("{host}:443 {line}");
    let shop: String = [1, 2, 3]
        .map(|n| at("Shop.example", asset(n, u32::from(n))))
        .concat();
    let log = shop + &at("shop.example", login()) + &at("blog.example", login());
    let seen = report(&log, &[]);
    assert_eq!(hits(&seen), 1);
    assert_eq!(seen["pairs"][0]["sample"]["host"], "blog.example");
    assert_eq!(seen["apps"][0]["site"], "shop.example");
}

#[test]
fn rotated_logs_belong_to_one_site() {
    let harness = Harness::new();
    harness.file("own.toml", RULES);
    harness.file("access.log", login());
    harness.file("access.log.1", [asset(1, 10), asset(2, 11)].concat());
    harness.file(
        "access.log.2.gz",
        crate::invariants::gzip(asset(3, 12).as_bytes()),
    );
    harness.file("other.log", login());
    let run = harness.run([
        "scan",
        "--no-builtin",
        "--rules",
        "own.toml",
        "-f",
        "json",
        "access.log",
        "access.log.1",
        "access.log.2.gz",
        "other.log",
    ]);
    let seen = run.json();
    assert_eq!(hits(&seen), 1);
    assert_eq!(seen["pairs"][0]["sample"]["source"], "other.log");
    assert_eq!(
        seen["apps"],
        serde_json::json!([{"app": "shop", "site": "access.log", "silenced": 1}])
    );
}

#[test]
fn an_app_can_be_given_and_disabled() {
    assert_eq!(hits(&report(&login(), &["--app", "shop"])), 0);
    let shop = [asset(1, 10), asset(2, 11), asset(3, 12)].concat();
    assert_eq!(
        hits(&report(&(login() + &shop), &["--disable", "apps/shop"])),
        1
    );
    let harness = Harness::new();
    harness.file("access.log", login());
    let run = harness.run(["scan", "--app", "wordpres", "access.log"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("no app is called 'wordpres'") && run.stderr.contains("wordpress"),
        "{}",
        run.stderr
    );
}

#[test]
fn rules_about_the_client_do_not_depend_on_the_order_of_lines() {
    let guess = get("192.0.2.7", "/a.page", 200);
    let keys: Vec<_> = ["/key-1.pem", "/key-2.pem", "/key-3.pem"]
        .map(|path| get("192.0.2.7", path, 404))
        .into();
    let other = get("192.0.2.8", "/a.page", 200);
    for log in [
        guess.clone() + &keys.concat() + &other,
        keys.concat() + &other + &guess,
    ] {
        let seen = report(&log, &[]);
        assert_eq!(hits(&seen), 4);
        let client = &seen["clients"][0];
        assert_eq!(
            (
                &client["client"],
                &client["requests"],
                &client["other_requests"]
            ),
            (&"192.0.2.7".into(), &4.into(), &0.into())
        );
        let harness = Harness::new();
        let objects = scan(&harness, &log, &["-f", "ndjson"]).objects();
        let of = |path: &str| {
            objects
                .iter()
                .find(|object| object["path"] == path)
                .map(|object| object["context"].clone())
        };
        assert_eq!(of("/a.page"), Some("client".into()));
        assert_eq!(of("/key-1.pem"), Some(Value::Null));
        assert_eq!(objects.len(), 4);
    }
    let few = guess + &keys[..2].concat() + &keys[0] + &get("192.0.2.7", "/b.page", 404);
    assert_eq!(
        hits(&report(&few, &[])),
        3,
        "two distinct keys are too few, and guesses do not uphold each other"
    );
}

#[test]
fn hits_that_are_not_reported_count_as_evidence() {
    let keys: String = ["/key-1.pem", "/key-2.pem", "/key-3.pem"]
        .map(|path| get("192.0.2.7", path, 404))
        .concat();
    let log = keys + &get("192.0.2.7", "/a.page", 200);
    assert_eq!(hits(&report(&log, &["--outcome", "answered"])), 1);
}

#[test]
fn allowed_requests_are_left_out_and_counted() {
    let harness = Harness::new();
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'our own scanner'\nclients = ['192.0.2.0/28']\n[[allow]]\nreason = 'never met'\nagents = ['x9']\n",
    );
    let log = get("192.0.2.7", "/key.pem", 404)
        + &get("192.0.2.7", "/", 200)
        + &get("192.0.2.99", "/key.pem", 404);
    let run = scan(&harness, &log, &["-f", "json", "--allow", "allow.toml"]);
    let seen = run.json();
    assert_eq!(hits(&seen), 1);
    assert_eq!(seen["clients"].as_array().unwrap().len(), 1);
    assert_eq!(
        seen["allowed"],
        serde_json::json!([
            {"file": "allow.toml", "line": 1, "reason": "our own scanner", "requests": 1},
            {"file": "allow.toml", "line": 4, "reason": "never met", "requests": 0}
        ])
    );
    let table = scan(&harness, &log, &["--allow", "allow.toml"]).text();
    assert!(
        table.contains("Allowed by allow.toml:1, our own scanner: 1 request left out."),
        "{table}"
    );
    assert_eq!(
        scan(&harness, &log, &["-f", "ndjson", "--allow", "allow.toml"])
            .objects()
            .len(),
        1
    );
    let wrong = harness.run(["scan", "--allow", "none.toml", "access.log"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("none.toml"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn threads_and_maps_do_not_change_the_report() {
    let harness = Harness::new();
    let mut rng = Rng::new();
    let lines: Vec<String> = (0..40_000)
        .map(|_| {
            let client = format!("192.0.2.{}", rng.below(60));
            match rng.below(12) {
                0 => get(&client, &format!("/key-{}.pem", rng.below(4)), 404),
                1 => get(&client, &format!("/{}.page", rng.below(9)), 200),
                2 => get(&client, "/shop-login", 200),
                3 => asset(rng.below(200) as u8, rng.below(5) as u32),
                n => get(&client, &format!("/ordinary/{n}"), 200),
            }
        })
        .collect();
    let log = lines.concat();
    for format in ["json", "ndjson", "csv", "table"] {
        let of = |args: &[&str]| {
            let text = scan(&harness, &log, &[&["-f", format], args].concat()).text();
            // The last line of a table shows the elapsed time.
            text.lines()
                .filter(|line| !line.starts_with("40,000 lines: "))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let expected = of(&["-j1", "--mmap", "never"]);
        for args in [
            &["-j2", "--mmap", "always"],
            &["-j8", "--mmap", "never"],
            &["-j3", "--mmap", "always"],
        ] {
            assert!(of(args) == expected, "{format} {args:?}");
        }
    }
}

#[test]
fn a_rule_with_an_unknown_app_is_reported() {
    let harness = Harness::new();
    harness.file(
        "own.toml",
        RULES.replace(
            "unless_app = \"shop\"",
            "unless_app = [\"shopp\", \"shop\"]",
        ),
    );
    let run = harness.run(["rules", "test", "own.toml"]);
    assert_eq!(run.code, 0);
    for part in [
        "own.toml:10: rule 'own/shop-login'",
        "no app is called 'shopp' (did you mean 'shop'?)",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    harness.file(
        "own.toml",
        RULES.replace("distinct_paths = 3", "distinct_paths = 0"),
    );
    let run = harness.run(["rules", "test", "own.toml"]);
    assert!(
        run.code == 2 && run.stderr.contains("use at least 1"),
        "{}",
        run.stderr
    );
}

#[test]
fn lines_without_a_client_are_not_grouped_as_one() {
    let probes = |client: &str| {
        ["/key-1.pem", "/key-2.pem", "/key-3.pem", "/a.page"]
            .map(|path| get(client, path, 404))
            .concat()
    };
    // It is unknown which of the two is the client, so another client may have requested the page.
    for (client, hits) in [("192.0.2.1", 4), ("192.0.2.1 198.51.100.7", 3), ("-", 3)] {
        let harness = Harness::new();
        let run = scan(&harness, &probes(client), &["-f", "json"]);
        assert_eq!(
            run.json()["totals"]["hits"],
            hits,
            "{client}: {}",
            run.stderr
        );
    }
}

#[test]
fn three_probed_paths_make_a_prober() {
    let harness = Harness::new();
    let probes = |count: usize| {
        ["/.git/config", "/.svn/entries", "/.aws/credentials"][..count]
            .iter()
            .map(|path| get("192.0.2.7", path, 404))
    };
    let found = |count: usize| {
        let unlike = [
            "/menu.php",
            "/files/qwerty.rar",
            "/app/env-old.yml",
            "/modules/mod_x/",
            "/debug.jsp",
        ];
        let log: String = probes(count)
            .chain(unlike.iter().map(|path| get("192.0.2.7", path, 404)))
            .collect();
        harness.file("access.log", log);
        let hits = harness
            .run(["scan", "-f", "ndjson", "access.log"])
            .objects();
        let by_client = hits
            .iter()
            .filter(|hit| hit["context"] == "client")
            .map(|hit| hit["path"].as_str().unwrap().to_owned());
        by_client.collect::<Vec<_>>()
    };
    assert_eq!(found(2), Vec::<String>::new());
    assert_eq!(
        found(3),
        [
            "/menu.php",
            "/files/qwerty.rar",
            "/app/env-old.yml",
            "/modules/mod_x/",
            "/debug.jsp"
        ]
    );
}

/// A monitor requests metrics all day, and an owner who tests the defences of a site uses the site
/// too.
#[test]
fn metrics_are_a_finding_of_a_prober_and_of_no_monitor_and_no_owner() {
    const ANSWERED: [&str; 3] = ["/metrics", "/actuator/health", "/uploads/"];
    let harness = Harness::new();
    let probes = |client: &str| {
        [
            "/.git/config",
            "/.svn/entries",
            "/.aws/credentials",
            "/wso.php",
            "/.env",
        ]
        .map(|path| get(client, path, 404))
        .concat()
    };
    let answered = |client: &str| ANSWERED.map(|path| get(client, path, 200)).concat();
    let pages: String = (0..30)
        .map(|n| get("192.0.2.8", &format!("/news/{n}"), 200))
        .collect();
    let owner = [probes("192.0.2.8"), answered("192.0.2.8"), pages].concat();
    harness.file(
        "access.log",
        [
            probes("192.0.2.7"),
            answered("192.0.2.7"),
            answered("192.0.2.9").repeat(40),
            owner,
        ]
        .concat(),
    );
    let hits = harness
        .run(["scan", "-f", "ndjson", "access.log"])
        .objects();
    let found = hits.iter().filter(|hit| hit["status"] == 200);
    let found: Vec<_> = found
        .map(|hit| {
            format!(
                "{} {}",
                hit["client"].as_str().unwrap(),
                hit["path"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(found, ANSWERED.map(|path| format!("192.0.2.7 {path}")));
}

#[test]
fn findings_of_a_single_line_do_not_depend_on_its_client() {
    let harness = Harness::new();
    let log: String = [
        "/.git/config",
        "/.svn/entries",
        "/.aws/credentials",
        "/.env",
    ]
    .iter()
    .map(|path| get("192.0.2.7", path, 404))
    .collect();
    harness.file("access.log", log);
    for hit in harness
        .run(["scan", "-f", "ndjson", "access.log"])
        .objects()
    {
        let rules = hit["rules"].as_array().unwrap();
        assert!(
            rules
                .iter()
                .all(|rule| !rule.as_str().unwrap().starts_with("prober/")),
            "{hit}"
        );
    }
}

/// Names of web shells that scanners try one after another.
const SHELLS: [&str; 20] = [
    "/wso.php",
    "/alfa.php",
    "/c99.php",
    "/r57.php",
    "/shell.php",
    "/b374k.php",
    "/up.php",
    "/mini.php",
    "/mailer.php",
    "/upload1.php",
    "/1.php",
    "/123.php",
    "/aaa.php",
    "/xx7.php",
    "/leafmailer.php",
    "/gank.php",
    "/bypass.php",
    "/cmd.php",
    "/root.php",
    "/x.php",
];

/// The findings of a log, by the built-in rules: path and context.
fn findings(harness: &Harness, log: &str) -> Vec<(String, Value)> {
    harness.file("access.log", log);
    let run = harness.run(["scan", "-f", "ndjson", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.objects()
        .iter()
        .map(|hit| {
            (
                hit["path"].as_str().unwrap().to_owned(),
                hit["context"].clone(),
            )
        })
        .collect()
}

#[test]
fn a_referer_excuses_no_probe() {
    let harness = Harness::new();
    // Each was excused by any referer, where it was not answered.
    let probes = [
        "GET /x7.php",
        "POST /mazi2.php",
        "GET /hub/login",
        "GET /backups/",
        "GET /env.json",
        "GET /login.action",
        "GET /.users",
        "GET /x.php5",
        "GET /get/foo.old",
        "GET /info.php",
        "POST /api/v2/login",
        "GET /images/vuln.php",
        "GET /actuator/health",
    ];
    let sent = |referer: &dyn Fn(&str) -> String| {
        let lines = probes.iter().zip(1..).map(|(request, client)| {
            let path = request.split_once(' ').unwrap().1;
            line(
                &format!("192.0.2.{client}"),
                &format!("{request} HTTP/1.1"),
                404,
            )
            .replacen("\"-\"", &format!("\"{}\"", referer(path)), 1)
        });
        findings(&harness, &lines.collect::<String>()).len()
    };
    assert_eq!(sent(&|_| "-".into()), probes.len());
    assert_eq!(
        sent(&|path| format!("https://www.example.org{path}")),
        probes.len(),
        "the requested URL itself"
    );
    assert_eq!(
        sent(&|_| "https://www.example.org/".into()),
        probes.len(),
        "the home page of the site"
    );
    assert_eq!(
        sent(&|_| "https://www.google.com/".into()),
        probes.len(),
        "a search engine"
    );
}

#[test]
fn names_of_shells_are_found_if_a_site_redirects_or_answers_all() {
    let harness = Harness::new();
    let found = |status: u16, bytes: u64| {
        let log: String = SHELLS
            .iter()
            .map(|path| sized(&get("192.0.2.7", path, status), bytes))
            .collect();
        findings(&harness, &log).len()
    };
    assert_eq!(found(404, 153), SHELLS.len());
    for (status, bytes, site) in [
        (301, 162, "https"),
        (302, 0, "a login page"),
        (303, 0, "a form"),
        (307, 0, "https"),
        (200, 5_120, "one page"),
    ] {
        assert_eq!(
            found(status, bytes),
            SHELLS.len(),
            "{status}: {site} for any name"
        );
    }
}

#[test]
fn a_page_of_the_site_is_no_probe_though_a_prober_requests_it() {
    let harness = Harness::new();
    let probes: String = SHELLS[..8]
        .iter()
        .map(|path| get("192.0.2.7", path, 404))
        .collect();
    let own = |path: &str, request: &str, status: u16, bytes: u64| {
        let log = probes.clone()
            + &sized(
                &line("192.0.2.7", &format!("{request} {path} HTTP/1.1"), status),
                bytes,
            );
        findings(&harness, &log)
            .iter()
            .any(|(found, _)| found == path)
    };
    for (path, request, status, bytes) in [
        ("/contact.php", "POST", 302, 0),
        ("/contact.php", "POST", 200, 4_210),
        ("/r2.php", "GET", 200, 4_210),
        ("/admin/", "GET", 302, 0),
        ("/db.php", "GET", 304, 0),
    ] {
        assert!(
            !own(path, request, status, bytes),
            "{request} {path} {status}: its probes got 404"
        );
    }
    assert!(own("/contact.php", "POST", 404, 153));
}

/// Three probes and four names that no rule knows, by one client.
fn prober(client: &str, status: u16) -> Vec<String> {
    let paths = [
        "/.git/config",
        "/api/v1/files/extract-text",
        "/.svn/entries",
        "/qwerty/zxcv",
        "/.aws/credentials",
        "/lkjh.bin",
    ];
    let get = paths.map(|path| get(client, path, status));
    let post = line(client, "POST /rest/v9/agents/run HTTP/1.1", status);
    [&get[..], &[post, get_asset(client)]].concat()
}

fn get_asset(client: &str) -> String {
    get(client, "/logo.png", 404) + &get(client, "/blog/robots.txt", 404)
}

#[test]
fn names_that_no_rule_knows_are_findings_of_a_prober_and_of_no_other_client() {
    let harness = Harness::new();
    let unknown = |log: &str| {
        harness.file("access.log", log);
        let hits = harness
            .run(["scan", "-f", "ndjson", "access.log"])
            .objects();
        let of_rule = hits
            .iter()
            .filter(|hit| hit["classes"] == serde_json::json!(["prober"]));
        of_rule
            .map(|hit| {
                format!(
                    "{} {}",
                    hit["client"].as_str().unwrap(),
                    hit["path"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    let with_agent = |line: String, agent: &str| {
        let end = line.rfind(" \"").unwrap();
        format!("{} \"{agent}\"\n", &line[..end])
    };
    let lines = |client: &'static str, path: &'static str, status, count: u32| {
        (0..count)
            .map(move |n| get(client, &format!("{path}{n}"), status))
            .collect::<Vec<_>>()
    };
    let all: Vec<String> = [
        prober("192.0.2.7", 404),
        // A visitor and a proxy: pages beside a prober's requests.
        [
            prober("192.0.2.8", 404),
            lines("192.0.2.8", "/news/", 200, 30),
        ]
        .concat(),
        // A visitor of a broken site, and a monitor of what is gone.
        [
            lines("192.0.2.9", "/js/app-", 404, 30),
            lines("192.0.2.9", "/page/", 200, 3),
        ]
        .concat(),
        lines("192.0.2.10", "/health?", 404, 40),
        // A crawler with old addresses, verified or not.
        prober("192.0.2.11", 404)
            .into_iter()
            .map(|line| with_agent(line, "Mozilla/5.0 (compatible; bingbot/2.0)"))
            .collect(),
        // Two probes are an accident.
        prober("192.0.2.12", 404)[..4].to_vec(),
    ]
    .concat();
    let of_prober = [
        "/api/v1/files/extract-text",
        "/qwerty/zxcv",
        "/lkjh.bin",
        "/rest/v9/agents/run",
    ]
    .map(|path| format!("192.0.2.7 {path}"));
    assert_eq!(unknown(&all.concat()), of_prober);
    let redirected = unknown(&prober("192.0.2.7", 302).concat());
    assert_eq!(
        redirected,
        [0, 2, 3].map(|at| of_prober[at].clone()),
        "files and routes, where a site redirects what it does not have"
    );
    let reversed: String = all.iter().rev().map(String::as_str).collect();
    assert_eq!(unknown(&reversed).len(), 4, "in any order");
}

#[test]
fn reports_of_parts_and_the_cost_of_a_block_know_the_unknown_names_of_a_prober() {
    let harness = Harness::new();
    let lines = prober("192.0.2.7", 404);
    let rule = |report: &Value| {
        report["rules"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["rule"] == "prober/unknown")
            .cloned()
    };
    for (name, part) in [
        ("whole", &lines[..]),
        ("a", &lines[..2]),
        ("b", &lines[2..]),
    ] {
        harness.file(format!("{name}.log"), part.concat());
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
    let read = |name: &str| {
        serde_json::from_str::<Value>(&std::fs::read_to_string(harness.path(name)).unwrap())
            .unwrap()
    };
    assert_eq!(rule(&read("a.json")), None, "one probe is no prober");
    let merged = harness
        .run(["merge", "-f", "json", "b.json", "a.json"])
        .json();
    let (merged, whole) = (rule(&merged).unwrap(), rule(&read("whole.json")).unwrap());
    assert_eq!(
        (&merged["hits"], &merged["paths"]),
        (&whole["hits"], &whole["paths"])
    );
    assert_eq!(
        (whole["hits"].as_u64(), whole["classes"][0].as_str()),
        (Some(4), Some("prober"))
    );
    let client = &read("whole.json")["clients"][0];
    assert_eq!(
        (client["hits"].as_u64(), client["other_requests"].as_u64()),
        (Some(7), Some(2)),
        "only the picture and robots.txt"
    );
}
