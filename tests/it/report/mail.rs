//! What cron mails: nothing without news, otherwise ten short lines.

use super::harness::{Out, QUICK, Row, Sums, report_ok};
use crate::harness::{Harness, Rng, is_installed, line, sized, skip};

fn get(client: &str, path: &str, status: u16) -> String {
    line(client, &format!("GET {path} HTTP/1.1"), status)
}

/// A run over this log and these arguments, with all rules.
fn mail(harness: &Harness, log: &str, args: &[&str]) -> String {
    let before = std::fs::read_to_string(harness.path("access.log")).unwrap_or_default();
    harness.file("access.log", before + log);
    report_ok(harness, &[args, &["access.log"]].concat()).text()
}

/// A site with history: without it everything is new and not worth a mail.
fn site_with_history() -> Harness {
    let harness = Harness::new();
    assert_eq!(
        mail(&harness, &get("192.0.2.9", "/.svn/entries", 404), &[]),
        "",
        "a first run mails answers only"
    );
    harness
}

#[test]
fn on_a_terminal_a_run_without_a_mail_says_that_it_worked() {
    let harness = Harness::new();
    harness.file("access.log", get("192.0.2.9", "/.svn/entries", 404));
    if !is_installed("script") {
        return skip("a report on a terminal", "there is no script");
    }
    let run = || {
        let command = format!(
            "{} report --state S --out O access.log",
            env!("CARGO_BIN_EXE_probewatch")
        );
        let shown = harness
            .program("script")
            .args(["-qec", &command, "/dev/null"])
            .output()
            .unwrap()
            .stdout;
        String::from_utf8(shown).unwrap().replace("\r\n", "\n")
    };
    assert_eq!(
        run(),
        "Nothing that is new was answered. The report is in O/latest.\n"
    );
    assert_eq!(run(), "Nothing new.\n");
}

/// Checks for every mail.
fn assert_short(mail: &str) {
    assert!((2..=10).contains(&mail.lines().count()), "{mail}");
    for line in mail.lines() {
        assert!(
            line.chars().count() <= 70 && !line.trim().is_empty() && line.trim_end() == line,
            "{line:?} in\n{mail}"
        );
    }
    assert!(mail.ends_with('\n') && !mail.contains('\t'), "{mail}");
}

#[test]
fn nothing_is_mailed_without_news() {
    let harness = site_with_history();
    assert_eq!(mail(&harness, "", &[]), "");
    let ordinary: String = (0..200)
        .map(|n| get("192.0.2.1", &format!("/page/{n}"), 200))
        .collect();
    assert_eq!(mail(&harness, &ordinary, &[]), "");
    assert_eq!(mail(&harness, "", &["--always"]), "");
    // Below the notify level: it is in the folder only.
    assert_eq!(
        mail(&harness, &get("192.0.2.2", "/server-status", 404), &[]),
        ""
    );
    assert_eq!(Out::read(&harness).last().report["totals"]["hits"], 1);
}

#[test]
fn answers_come_first_with_their_location() {
    let harness = Harness::new();
    let mail = mail(
        &harness,
        &(get("192.0.2.1", "/.git/config", 200) + &get("192.0.2.1", "/.env", 404)),
        &[],
    );
    assert_short(&mail);
    assert!(
        mail.contains("/.git/config") && mail.contains("192.0.2.1"),
        "{mail}"
    );
    let out = Out::read(&harness);
    let files = mail.lines().any(|line| {
        line.contains(&format!("out/{}", out.last().name)) || line.contains("out/latest")
    });
    assert!(files, "where the files are: {mail}");
    let line_of = |text: &str| mail.lines().position(|line| line.contains(text));
    assert!(
        line_of("/.git/config") < line_of("/.env").or(Some(usize::MAX)),
        "{mail}"
    );
}

#[test]
fn the_notify_level_decides() {
    for (level, path, status, is_due) in [
        ("high", "/.git/config", 404, true),
        ("critical", "/.git/config", 404, false),
        ("critical", "/.git/config", 200, true),
        ("medium", "/xmlrpc.php", 404, true),
        ("high", "/xmlrpc.php", 404, false),
        ("low", "/server-status", 404, true),
    ] {
        let harness = site_with_history();
        let mail = mail(
            &harness,
            &get("192.0.2.1", path, status),
            &["--notify-level", level],
        );
        assert_eq!(!mail.is_empty(), is_due, "{level} {path} {status}: {mail}");
        if is_due {
            assert_short(&mail);
        }
    }
}

/// A common probe is reported the first time.
#[test]
fn repeated_findings_are_not_mailed() {
    let harness = site_with_history();
    assert_ne!(
        mail(&harness, &get("192.0.2.1", "/.git/config", 404), &[]),
        ""
    );
    for client in ["192.0.2.1", "198.51.100.7"] {
        assert_eq!(
            mail(&harness, &get(client, "/.git/config", 404), &[]),
            "",
            "{client}"
        );
    }
    // An answer is reported each time, because it is still there.
    for _ in 0..2 {
        assert_ne!(
            mail(&harness, &get("192.0.2.1", "/.git/config", 200), &[]),
            ""
        );
    }
}

/// A site without hits has a history too: its first probe is news.
#[test]
fn the_first_probe_of_a_quiet_site() {
    let harness = Harness::new();
    assert_eq!(mail(&harness, &get("192.0.2.1", "/page", 200), &[]), "");
    let mail = mail(&harness, &get("192.0.2.1", "/.git/config", 404), &[]);
    assert_short(&mail);
    assert!(
        !Out::read(&harness).last().summary.contains("the first run"),
        "{}",
        Out::read(&harness).last().summary
    );
}

/// With any number of findings and any text in the log.
#[test]
fn ten_lines_are_enough() {
    let harness = Harness::new();
    let mut rng = Rng::new();
    let probes = [
        "/.env",
        "/.git/config",
        "/phpinfo.php",
        "/id_rsa",
        "/db.sql",
        "/actuator/env",
        "/shell.php",
        "/backup.zip",
    ];
    let log: String = (0..3_000)
        .map(|n| {
            let client = format!(
                "{}.{}.{}.9",
                1 + rng.below(9),
                rng.below(250),
                rng.below(250)
            );
            let deep = "deep/".repeat(rng.below(60) as usize);
            let status = if n % 50 == 0 { 200 } else { 404 };
            let probe = probes[rng.below(8) as usize];
            sized(
                &get(
                    &client,
                    &format!("/{deep}\\x1b[2J\u{202e}{probe}?token=s3cr3t"),
                    status,
                ),
                rng.size(),
            )
        })
        .collect();
    let mail = mail(&harness, &log, &["--max-block", "50"]);
    assert_short(&mail);
    assert!(!mail.contains("s3cr3t"), "{mail}");
}

#[test]
fn quiet_keeps_the_mail() {
    let harness = Harness::new();
    let mail = mail(&harness, &get("192.0.2.1", "/.git/config", 200), &["-q"]);
    assert_short(&mail);
}

#[test]
fn the_mail_agrees_with_the_report() {
    let harness = Harness::new();
    let status = |n| if n < 13 { 200 } else { 404 };
    let log: String = (0..40)
        .map(|n| {
            sized(
                &get("192.0.2.1", &format!("/{n}/.git/config"), status(n)),
                90 << n.min(13),
            )
        })
        .collect();
    let mail = mail(&harness, &log, &QUICK);
    assert!(mail.contains("13 of 40 probes answered"), "{mail}");
    Out::read(&harness).sums().assert_same(
        &Sums::scanned(&harness, &[&["access.log"][..], &QUICK].concat()),
        "a mail",
    );
}

/// A row of an earlier mail proves to be what the site gives to any path.
#[test]
fn a_mail_withdraws_an_answer_of_an_earlier_one() {
    for args in [&["--html"][..], &["--html", "--daily"]] {
        let harness = Harness::new();
        let soft = |client: &str, path: &str| sized(&get(client, path, 200), 948);
        let first = mail(
            &harness,
            &(soft("192.0.2.1", "/.env") + &get("192.0.2.1", "/.git/HEAD", 200)),
            args,
        );
        assert!(
            first.contains("/.env") && first.contains("/.git/HEAD") && !first.contains("Withdrawn"),
            "{first}"
        );
        let paths = [
            "/c99.php",
            "/phpinfo.php",
            "/.aws/credentials",
            "/backup.sql",
            "/actuator/env",
            "/solr/admin/info/system",
        ];
        let second = mail(
            &harness,
            &paths.map(|path| soft("198.51.100.7", path)).concat(),
            args,
        );
        assert_short(&second);
        assert!(
            second
                .lines()
                .any(|line| line.starts_with("Withdrawn, soft 404: /.env")),
            "{second}"
        );
        assert!(
            !second.contains("/.git/HEAD"),
            "its answer stands: {second}"
        );
        let out = Out::read(&harness);
        let summary = std::fs::read_to_string(
            harness
                .path("out")
                .join(&out.last().name)
                .join("summary.txt"),
        )
        .unwrap();
        assert!(
            summary.contains("WITHDRAWN") && summary.contains("/.env"),
            "{summary}"
        );
        let withdrawn = |row: &&Row| row["kind"] == "withdrawn";
        let news = out.last().rows("new.csv");
        let rows: Vec<_> = news
            .iter()
            .filter(withdrawn)
            .map(|row| (&*row["key"], &*row["severity"], &*row["hits"]))
            .collect();
        assert_eq!(rows, [("/.env", "critical", "")]);
        let page = std::fs::read_to_string(
            harness
                .path("out")
                .join(&out.last().name)
                .join("report.html"),
        )
        .unwrap();
        let section = page
            .split("<section")
            .find(|section| section.contains("id=\"withdrawn\""))
            .unwrap_or_default();
        assert!(
            section.contains("/.env") && !section.contains("/.git/HEAD"),
            "{section}"
        );
        let third = mail(&harness, &soft("198.51.100.7", "/dump.sql"), args);
        assert!(!third.contains("Withdrawn"), "once: {third}");
    }
}
