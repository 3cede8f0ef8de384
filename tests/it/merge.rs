//! `merge` and `diff`: merged reports of parts equal the report of the whole, and differences are
//! listed.

use crate::harness::{Harness, Run, line, log, with_changed_evidence};

/// Logs with probes on sites that answer, with secrets and unparsed lines.
fn logs(harness: &Harness) -> [&'static str; 3] {
    let secret = line("192.0.2.77", "GET /.env?token=s3cr3t HTTP/1.1", 200);
    harness.file("a.log", log(300) + &secret + "no log line /etc/passwd\n");
    harness.file(
        "b.log",
        log(70) + &line("198.51.100.7", "GET /wp-login.php HTTP/1.1", 200),
    );
    let hosted = |n: u32| {
        format!(
            "shop.example:443 {}",
            line(
                &format!("203.0.113.{n}"),
                &format!("GET /backup{n}.sql HTTP/1.1"),
                200
            )
        )
    };
    harness.file("c.log", (1..40).map(hosted).collect::<String>());
    ["a.log", "b.log", "c.log"]
}

fn report(harness: &Harness, name: &str, args: &[&str]) {
    let run = harness.run([&["scan", "-f", "json", "-o", name], args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// A report of each log, and the file names.
fn reports(harness: &Harness) -> Vec<String> {
    let each = logs(harness).map(|log| (log, format!("{log}.json")));
    for (log, name) in &each {
        report(harness, name, &[log]);
    }
    each.map(|(_, name)| name).to_vec()
}

fn merge(harness: &Harness, args: &[&str]) -> Run {
    let run = harness.run([&["merge"], args].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run
}

#[test]
fn merged_reports_of_parts_equal_the_report_of_the_whole() {
    let harness = Harness::new();
    let names = reports(&harness);
    let [a, b, c] = [0, 1, 2].map(|n| names[n].as_str());
    for args in [
        &["-f", "json"][..],
        &["-f", "csv"],
        &["-f", "csv", "--by", "client"],
        &["-f", "csv", "--by", "rule", "--min-severity", "high"],
        &[
            "-f",
            "json",
            "--outcome",
            "answered",
            "--disable",
            "dotfiles/env",
        ],
    ] {
        let whole = harness
            .run([&["scan"], args, &["a.log", "b.log", "c.log"]].concat())
            .text();
        for order in [[a, b, c], [c, a, b], [b, c, a]] {
            assert_eq!(
                merge(&harness, &[args, &order].concat()).text(),
                whole,
                "{args:?} {order:?}"
            );
        }
    }
    merge(&harness, &["-f", "json", "-o", "two.json", c, a]);
    let whole = harness.run(["scan", "-f", "json", "a.log", "b.log", "c.log"]);
    assert!(!whole.text().contains("s3cr3t"));
    assert_eq!(
        merge(&harness, &["-f", "json", b, "two.json"]).text(),
        whole.text()
    );
    let last = |text: String| {
        text.lines()
            .filter(|line| !line.contains(" in "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        last(merge(&harness, &[a, b, c]).text()),
        last(harness.run(["scan", "a.log", "b.log", "c.log"]).text())
    );
    merge(&harness, &["-f", "json", a, b, c]).json();
}

/// Makes the reports so large that they are merged in two halves: blanks after a report are no part
/// of it.
fn pad(harness: &Harness, names: &[String]) {
    for name in names {
        let mut report = std::fs::read(harness.path(name)).unwrap();
        report.resize(report.len() + (128 << 20) / names.len() + 1, b' ');
        harness.file(name, report);
    }
}

#[test]
fn large_reports_of_parts_equal_the_report_of_the_whole() {
    let harness = Harness::new();
    let mut names = reports(&harness);
    harness.file(
        "d.log",
        line("192.0.2.77", "GET /.git/config HTTP/1.1", 200),
    );
    report(&harness, "d.json", &["d.log"]);
    names.push("d.json".to_owned());
    let whole = harness
        .run(["scan", "-f", "json", "a.log", "b.log", "c.log", "d.log"])
        .text();
    pad(&harness, &names);
    let args = |names: &[String]| {
        ["-f", "json"]
            .into_iter()
            .map(str::to_owned)
            .chain(names.iter().cloned())
            .collect::<Vec<_>>()
    };
    let merged = |names: &[String]| {
        merge(
            &harness,
            &args(names).iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .text()
    };
    assert_eq!(merged(&names), whole);
    names.swap(0, 3);
    assert_eq!(merged(&names), whole);
    // The first problem is reported.
    harness.file(&names[3], "no report");
    let run = harness.run(
        ["merge"]
            .into_iter()
            .chain(names.iter().map(String::as_str)),
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains(&names[3]), "{}", run.stderr);
}

#[test]
fn ranges_that_are_in_two_large_reports_count_once() {
    let harness = Harness::new();
    harness.file("a.log", log(300));
    let names: Vec<String> = (0..4).map(|number| format!("{number}.json")).collect();
    for (range, name) in ["0-5000", "5000-", "0-5000", "5000-"].iter().zip(&names) {
        assert_eq!(
            harness
                .run(["scan", "-f", "json", "--range", range, "-o", name, "a.log"])
                .code,
            0
        );
    }
    let whole = harness.run(["scan", "-f", "json", "a.log"]).text();
    pad(&harness, &names);
    assert_eq!(
        merge(
            &harness,
            &["-f", "json", &names[0], &names[1], &names[2], &names[3]]
        )
        .text(),
        whole
    );
}

#[test]
fn reports_from_folders_and_pipes_count_once() {
    let harness = Harness::new();
    let names = reports(&harness);
    std::fs::create_dir(harness.path("2026-11-20")).unwrap();
    std::fs::rename(
        harness.path(&names[0]),
        harness.path("2026-11-20/report.json"),
    )
    .unwrap();
    let whole = merge(&harness, &["-f", "json", "2026-11-20", &names[1]]).text();
    let piped = std::fs::read(harness.path(&names[1])).unwrap();
    assert_eq!(
        harness
            .run_with_stdin(["merge", "-f", "json", "2026-11-20/", "-"], &piped)
            .text(),
        whole
    );
    let twice = harness.run([
        "merge",
        "-f",
        "json",
        "2026-11-20",
        &names[1],
        "2026-11-20/report.json",
    ]);
    assert_eq!((twice.code, twice.text()), (0, whole));
    assert!(twice.stderr.contains("given twice"), "{}", twice.stderr);
}

#[test]
fn files_that_are_no_reports_are_refused() {
    let harness = Harness::new();
    let name = &reports(&harness)[0];
    report(&harness, "cut.json", &["--top", "3", "a.log"]);
    let whole = std::fs::read_to_string(harness.path(name)).unwrap();
    harness.file("half.json", &whole[..whole.len() / 2]);
    let changed = |whole: &str, key: &str, after: &str| {
        let at = whole
            .find(key)
            .and_then(|at| Some(at + whole[at..].find(after)? + after.len()))
            .unwrap();
        format!("{}7{}", &whole[..at], &whole[at..])
    };
    harness.file("totals.json", changed(&whole, "\"totals\"", "\"parsed\":"));
    harness.file(
        "lines.json",
        with_changed_evidence(&whole, |rows| changed(rows, "{\"input\"", "\"lines\":")),
    );
    harness.file(
        "host.json",
        whole.replacen("\"log_host\": null", "\"log_host\": \"other\"", 1),
    );
    harness.file(
        "later.json",
        whole.replacen("\"schema_version\": 10", "\"schema_version\": 11", 1),
    );
    harness.file("other.json", "{\"general\": {}}");
    let ndjson = harness.run(["scan", "-f", "ndjson", "a.log"]).stdout;
    harness.file("hits.ndjson", ndjson);
    harness.run(["learn", "-f", "json", "-o", "learnt.json", "a.log"]);
    for (file, message) in [
        ("missing.json", "cannot be read"),
        ("a.log", "is no report"),
        ("other.json", "is no report"),
        ("hits.ndjson", "is no report"),
        ("learnt.json", "schema_version 1"),
        ("cut.json", "--top"),
        ("half.json", "is damaged"),
        ("totals.json", "its totals have"),
        ("lines.json", "an input has"),
        ("host.json", "its host, its period"),
        ("later.json", "schema_version 11"),
    ] {
        for args in [
            &["merge", name, file][..],
            &["diff", file, name],
            &["diff", name, file],
        ] {
            let run = harness.run(args);
            assert_eq!((run.code, run.text().as_str()), (2, ""), "{args:?}");
            assert!(
                run.stderr.contains(file) && run.stderr.contains(message),
                "{args:?}: {}",
                run.stderr
            );
        }
    }
    let run = harness.run(["merge", "-f", "json", "-o", name, name]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("would overwrite an input"),
        "{}",
        run.stderr
    );
    assert_eq!(harness.run(["merge"]).code, 2);
    assert!(
        harness
            .run(["merge", "-f", "ndjson", name])
            .stderr
            .contains("does not print ndjson")
    );
}

#[test]
fn unknown_rules_cause_a_warning_and_can_be_excluded() {
    let harness = Harness::new();
    harness.file("own.toml", "[[rule]]\nid = 'own/page'\ntitle = 'Page'\nclass = 'panel'\nseverity = 'high'\npaths = ['/page']\nmust_match = ['GET /page']\nmust_not_match = ['GET /']\n");
    logs(&harness);
    report(&harness, "own.json", &["--rules", "own.toml", "a.log"]);
    let with = harness
        .run(["scan", "-f", "csv", "--rules", "own.toml", "a.log"])
        .text();
    assert_eq!(
        merge(&harness, &["-f", "csv", "--rules", "own.toml", "own.json"]).text(),
        with
    );
    let without = harness.run(["merge", "-f", "csv", "own.json"]);
    assert_eq!((without.code, without.text()), (0, with));
    assert!(
        without.stderr.contains("no rule here is called own/page"),
        "{}",
        without.stderr
    );
    let left = merge(
        &harness,
        &[
            "-f",
            "csv",
            "--rules",
            "own.toml",
            "--disable",
            "own/page",
            "own.json",
        ],
    );
    assert_eq!(
        left.text(),
        harness.run(["scan", "-f", "csv", "a.log"]).text()
    );
    let only = merge(
        &harness,
        &["-f", "csv", "--only", "vcs-exposure", "own.json"],
    );
    assert_eq!(
        only.text(),
        harness
            .run(["scan", "-f", "csv", "--only", "vcs-exposure", "a.log"])
            .text()
    );
}

#[test]
fn a_report_of_damaged_input_keeps_its_problem() {
    let harness = Harness::new();
    harness.file("a.log", log(20));
    harness.file("b.log", "nothing that is known\n");
    assert_eq!(
        harness
            .run(["scan", "-f", "json", "-o", "all.json", "a.log", "b.log"])
            .code,
        3
    );
    let run = harness.run(["merge", "all.json"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("b.log"), "{}", run.stderr);
    assert_eq!(
        harness.run(["merge", "--fail-on", "low", "all.json"]).code,
        1
    );
}

#[test]
fn diff_lists_what_is_new_and_finds_nothing_in_equal_reports() {
    let harness = Harness::new();
    logs(&harness);
    report(&harness, "old.json", &["a.log"]);
    report(&harness, "new.json", &["a.log", "c.log"]);
    let diff = |args: &[&str]| {
        let run = harness.run([&["diff"], args].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.text()
    };
    assert_eq!(diff(&["old.json", "old.json"]), "No difference.\n");
    assert_eq!(
        diff(&["-f", "csv", "old.json", "old.json"]),
        "kind,key,change,severity,hits_before,hits_after,status_after\n"
    );
    assert_eq!(diff(&["-f", "json", "old.json", "old.json"]), "[]\n");
    let rows = diff(&["-f", "csv", "old.json", "new.json"]);
    assert!(
        rows.lines()
            .skip(1)
            .all(|row| row.contains(",new,") || row.contains(",more,")),
        "{rows}"
    );
    assert!(rows.contains("\nclient,203.0.113.7,new,"), "{rows}");
    assert!(diff(&["-f", "csv", "new.json", "old.json"]).contains("\nclient,203.0.113.7,gone,"));
    assert!(diff(&["--top", "1", "old.json", "new.json"]).contains("CLIENTS"));
    let json: serde_json::Value =
        serde_json::from_str(&diff(&["-f", "json", "--top", "2", "old.json", "new.json"])).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
}

#[test]
fn diff_distinguishes_refused_from_not_requested() {
    let harness = Harness::new();
    let sized = |path: &str, status: u16, bytes: u32| {
        format!(
            "192.0.2.9 - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"curl/8\"\n"
        )
    };
    let files = ["/.env", "/.git/config", "/backup.sql", "/phpinfo.php"];
    let old: String = files
        .iter()
        .zip(1..)
        .map(|(path, n)| sized(path, 200, 7_000 * n))
        .collect();
    // The last one gets the home page now.
    let home = sized("/", 200, 512);
    let new = [
        sized(files[0], 403, 9),
        sized(files[0], 404, 9),
        sized(files[0], 404, 9),
        sized(files[2], 500, 9),
        home,
        sized(files[3], 200, 512),
    ];
    harness.file("old.log", old);
    harness.file("new.log", new.concat());
    report(&harness, "old.json", &["old.log"]);
    report(&harness, "new.json", &["new.log"]);
    for filter in [&[][..], &["--outcome", "answered"]] {
        let run = harness.run([&["diff", "-f", "csv"], filter, &["old.json", "new.json"]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let text = run.text();
        let answers: Vec<_> = text
            .lines()
            .filter(|row| row.starts_with("answer,"))
            .map(|row| row.replace(",critical,", ",high,"))
            .collect();
        let expected = [
            "answer,/.git/config,not_requested,high,1,0,",
            "answer,/backup.sql,unanswered,high,1,0,500",
            "answer,/phpinfo.php,soft_404,high,1,0,200",
            "answer,/.env,refused,high,1,0,404",
        ];
        assert_eq!(answers, expected, "{filter:?}");
    }
    let text = harness.run(["diff", "old.json", "new.json"]).text();
    assert!(
        text.contains("not requested")
            && text.contains("refused 404")
            && text.contains("unanswered 500"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(
        &harness
            .run(["diff", "-f", "json", "old.json", "new.json"])
            .text(),
    )
    .unwrap();
    let refused = json
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == "/.env" && row["kind"] == "answer")
        .unwrap();
    assert_eq!(
        (refused["change"].as_str(), refused["status_after"].as_u64()),
        (Some("refused"), Some(404))
    );
    // Paths without an answer are gone, as before.
    assert!(
        json.as_array()
            .unwrap()
            .iter()
            .any(|row| row["kind"] == "path" && row["change"] == "gone")
    );
}

#[test]
fn help_variables_and_manual_include_both() {
    let harness = Harness::new();
    for (command, words, variable) in [
        (
            "merge",
            ["Examples:", "Exit codes:"],
            "[env: PROBEWATCH_MIN_SEVERITY]",
        ),
        (
            "diff",
            ["Examples:", "No difference."],
            "[env: PROBEWATCH_TOP]",
        ),
    ] {
        let help = harness.run([command, "--help"]).text();
        assert!(words.iter().all(|word| help.contains(word)), "{help}");
        assert!(harness.run(["man", command]).text().contains(variable));
        assert!(
            harness
                .run([command, "-h"])
                .text()
                .lines()
                .all(|line| line.len() <= 100)
        );
        assert!(
            harness
                .run(["man", command])
                .text()
                .contains(&format!(".TH probewatch-{command} 1"))
        );
        assert!(
            harness
                .run(["completions", "bash"])
                .text()
                .contains(command)
        );
    }
    let names = reports(&harness);
    let by_variable = crate::harness::finish(
        harness
            .command(["merge", &names[0], &names[2]])
            .env("PROBEWATCH_FORMAT", "csv")
            .env("PROBEWATCH_TOP", "1"),
    );
    assert_eq!(by_variable.text().lines().count(), 2);
}
