//! One leak is one row, in every output.

use crate::harness::Harness;

const CHROME: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";

/// A site that refuses most probes, and has a repository, scripts in a folder of uploads, a secret
/// there, and one at the root.
fn log() -> String {
    let refused = [
        "/wp-login.php",
        "/phpinfo.php",
        "/backup.zip",
        "/server-status",
        "/.aws/credentials",
        "/.git-credentials",
    ];
    let answered = [
        ("/app/.git/HEAD", 23),
        ("/app/.git/config", 205),
        (
            "/app/.git/objects/5c/0d1b3e5f77aa0cc2b1e0d9c8b7a69584736251",
            998,
        ),
        ("/uploads/shell.php", 310),
        ("/uploads/c99.php", 4_120),
        ("/uploads/.env", 512),
        ("/.env", 611),
        ("/.env.bak", 609),
    ];
    let line = |(n, (path, status, bytes)): (usize, (&str, u16, u32))| {
        let (client, minute) = (n % 3 + 1, n % 60);
        format!(
            "203.0.113.{client} - - [02/Nov/2026:08:{minute:02}:00 +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"{CHROME}\"\n"
        )
    };
    let refused = refused.iter().map(|path| (*path, 404, 153));
    refused
        .chain(answered.iter().map(|(path, bytes)| (*path, 200, *bytes)))
        .enumerate()
        .map(line)
        .collect()
}

#[test]
fn one_leak_is_one_row() {
    let harness = Harness::new();
    harness.file("access.log", log());
    let csv = harness
        .run(["scan", "-f", "csv", "--by", "answer", "access.log"])
        .text();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name| heads.iter().position(|head| head == name).unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let found = |row: &csv::StringRecord| {
        ["path", "paths", "hits", "sample_target"].map(|name| row[column(name)].to_owned())
    };
    let mut found: Vec<_> = rows.iter().map(found).collect();
    found.sort();
    assert_eq!(
        found,
        [
            ["/.env", "1", "1", "/.env"],
            ["/.env.bak", "1", "1", "/.env.bak"],
            ["/app/.git/", "3", "3", "/app/.git/HEAD"],
            ["/uploads/", "2", "2", "/uploads/c99.php"],
            ["/uploads/.env", "1", "1", "/uploads/.env"],
        ]
    );

    let (_, json) = harness.json(["access.log"]);
    let row = json["answered"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["path"] == "/app/.git/")
        .unwrap();
    let members: Vec<_> = row["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| (&member["path"], &member["bytes"]))
        .collect();
    assert_eq!(
        (row["paths"].as_u64(), members.len()),
        (Some(3), 3),
        "{row:#}"
    );
    assert_eq!(
        members[0],
        (&row["sample"]["target"], &row["bytes"]),
        "the details are those of the first member"
    );

    let table = harness.run(["scan", "access.log"]).text();
    let shown = table
        .lines()
        .find(|line| line.contains("/app/.git/"))
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>();
    assert_eq!((shown[1], shown[2]), ("/app/.git/HEAD", "3"), "{table}");
    assert!(!table.contains("/app/.git/config"), "{table}");
    let full = harness.run(["scan", "--full", "access.log"]).text();
    assert!(
        full.contains("/app/.git/: 3 paths, 3 answers:")
            && full.contains("/app/.git/config (205 bytes)"),
        "{full}"
    );
    assert_eq!(
        harness
            .run([
                "report",
                "--html",
                "--state",
                "state",
                "--out",
                "out",
                "access.log"
            ])
            .code,
        0
    );
    let page = std::fs::read_to_string(harness.path("out/latest/report.html")).unwrap();
    assert!(page.contains("/app/.git/HEAD and 2 more"), "{page}");
}

#[test]
fn an_answer_names_the_rules_that_its_path_matched() {
    let harness = Harness::new();
    let attack = "/docker-compose.yml?page=php://filter/convert.base64-encode/resource=index";
    let line = |target: &str| {
        format!(
            "203.0.113.9 - - [02/Nov/2026:08:00:00 +0000] \"GET {target} HTTP/1.1\" 200 811 \"-\" \"{CHROME}\"\n"
        )
    };
    harness.file("access.log", line("/docker-compose.yml") + &line(attack));
    let (_, json) = harness.json(["access.log"]);
    let (row, pair) = (&json["answered"][0], &json["pairs"][0]);
    assert_eq!(
        (row["path"].as_str(), row["hits"].as_u64()),
        (Some("/docker-compose.yml"), Some(2))
    );
    assert_eq!(row["rules"].as_array().unwrap().len(), 1, "{row:#}");
    assert!(
        pair["rules"].as_array().unwrap().len() > 1,
        "the attack is a finding: {pair:#}"
    );
}

#[test]
fn a_further_file_of_a_leak_is_not_new() {
    let harness = Harness::new();
    let line = |path: &str, bytes: u32| {
        format!(
            "203.0.113.9 - - [02/Nov/2026:08:00:00 +0000] \"GET {path} HTTP/1.1\" 200 {bytes} \"-\" \"{CHROME}\"\n"
        )
    };
    let new_answers = |log: &str| {
        harness.file("access.log", log);
        assert_eq!(
            harness
                .run(["report", "--state", "state", "--out", "out", "access.log"])
                .code,
            0
        );
        let new = std::fs::read_to_string(harness.path("out/latest/new.csv")).unwrap();
        new.lines()
            .filter(|line| line.starts_with("answer,"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (first, second, third) = (
        line("/.git/HEAD", 23),
        line("/.git/config", 205),
        line("/.env", 99),
    );
    assert_eq!(new_answers(&first).len(), 1);
    assert_eq!(
        new_answers(&format!("{first}{second}")),
        [""; 0],
        "the same repository"
    );
    assert_eq!(
        new_answers(&format!("{first}{second}{third}")).len(),
        1,
        "another leak"
    );
}

#[test]
fn an_answer_that_needs_a_log_in_says_so_and_is_excused_by_no_user() {
    let harness = Harness::new();
    let line = |user: &str, status: u16, bytes: u32| {
        format!(
            "203.0.113.9 - {user} [02/Nov/2026:08:00:00 +0000] \"GET /backup.sql HTTP/1.1\" {status} {bytes} \"-\" \"{CHROME}\"\n"
        )
    };
    for (first, why) in [
        ("", "8,112 bytes; no sign of a soft 404"),
        (
            &*line("-", 401, 381),
            "8,112 bytes; no sign of a soft 404; with a user, others got 401",
        ),
    ] {
        harness.file(
            "access.log",
            format!("{first}{}", line("admin", 200, 8_112)),
        );
        let (_, json) = harness.json(["access.log"]);
        let row = &json["answered"][0];
        assert_eq!(
            (row["path"].as_str(), row["why"].as_str()),
            (Some("/backup.sql"), Some(why))
        );
    }
}
