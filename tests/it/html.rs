//! Pages in Chromium: no request, no error, sorted and filtered by clicks and keys, accessible, and
//! hostile text runs no script.
//!
//! Chromium and Node.js must be installed. puppeteer-core and axe-core are installed from the npm
//! registry into a folder of the system's temporary folder, which later runs use again. Without one
//! of these the tests are skipped with a message.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::json;

use crate::harness::{Harness, is_installed, line, log, skip};

/// The browser test, in the language of browsers.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/html/browser.js");

/// What the script needs. The versions are fixed, so that a new rule of axe does not fail a change
/// that did not cause it.
const PACKAGES: [&str; 2] = ["puppeteer-core@24.43.1", "axe-core@4.14.1"];

/// More logs to open, where this variable names their folder.
const MORE_LOGS: &str = "PROBEWATCH_TEST_LOGS";

/// The folder of the packages; `None` if they cannot be installed. One test installs them, into
/// another folder that becomes this one when it is complete.
static INSTALLED: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!(
        "probewatch-browser-test-{}",
        rustix::process::geteuid().as_raw()
    ));
    if !folder.exists() {
        let new = folder.with_extension(std::process::id().to_string());
        fs::create_dir_all(&new).ok()?;
        fs::write(new.join("package.json"), "{\"private\": true}").ok()?;
        let mut npm = Command::new("timeout");
        npm.args([
            "180",
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--fetch-retries=1",
        ])
        .args(PACKAGES);
        let is_installed = npm
            .current_dir(&new)
            .stdin(Stdio::null())
            .output()
            .is_ok_and(|run| run.status.success());
        if !is_installed || fs::rename(&new, &folder).is_err() {
            let _ = fs::remove_dir_all(&new);
        }
    }
    folder.exists().then_some(folder)
});

/// Opens pages with the script; skips the test if something is missing.
fn open_in_browser(test: &str, pages: &[(String, PathBuf)], harness: &Harness) {
    for program in ["chromium", "node", "npm"] {
        if !is_installed(program) {
            return skip(test, &format!("{program} is not installed"));
        }
    }
    let Some(folder) = &*INSTALLED else {
        return skip(
            test,
            "puppeteer-core and axe-core cannot be installed from the npm registry",
        );
    };
    let list: Vec<_> = pages
        .iter()
        .map(|(name, file)| json!({ "name": name, "file": file }))
        .collect();
    let list = harness.file("pages.json", serde_json::to_vec(&list).unwrap());
    let done = Command::new("node")
        .arg(SCRIPT)
        .arg(folder)
        .arg("/usr/bin/chromium")
        .arg(list)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let _ = std::io::stdout().write_all(&done.stdout);
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Writes the page of a log.
fn page(harness: &Harness, name: &str, log: &Path) -> (String, PathBuf) {
    let file = harness.path(format!("{name}.html"));
    let run = harness.run([
        "scan".as_ref(),
        "-q".as_ref(),
        "-f".as_ref(),
        "html".as_ref(),
        "-o".as_ref(),
        file.as_os_str(),
        log.as_os_str(),
    ]);
    let is_read = run.code == 0 && run.stderr.is_empty();
    assert!(
        is_read || run.code == 3 && run.stderr.contains("in no known format"),
        "{}: {}",
        log.display(),
        run.stderr
    );
    (name.to_owned(), file)
}

#[test]
fn pages_of_logs_work_in_a_browser() {
    let harness = Harness::new();
    let mut pages = vec![page(
        &harness,
        "samples",
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/samples")),
    )];
    pages.push(page(
        &harness,
        "quiet",
        &harness.file("quiet.log", line("192.0.2.1", "GET / HTTP/1.1", 200)),
    ));
    pages.push(page(&harness, "log", &harness.file("some.log", log(2_000))));
    let reported = harness.run([
        "report",
        "--html",
        "--state",
        "state",
        "--out",
        "out",
        "--from-start",
        "some.log",
    ]);
    assert_eq!(reported.code, 0, "{}", reported.stderr);
    pages.extend(
        [
            ("index", "out/index.html"),
            ("report", "out/latest/report.html"),
        ]
        .map(|(name, file)| (name.to_owned(), harness.path(file))),
    );
    let more = std::env::var_os(MORE_LOGS)
        .map(|folder| fs::read_dir(folder).unwrap())
        .into_iter()
        .flatten();
    for log in more.map(|entry| entry.unwrap().path()) {
        pages.push(page(
            &harness,
            log.file_name().unwrap().to_str().unwrap(),
            &log,
        ));
    }
    open_in_browser("pages_of_logs_work_in_a_browser", &pages, &harness);
}

/// H: text that a browser would act on, in every field of a log.
#[test]
fn hostile_text_runs_no_script_in_a_browser() {
    const HOSTILE: [&str; 10] = [
        "</script><script>window.hit=1;alert(1)</script>",
        "<img src=x onerror=window.hit=1>",
        "javascript:window.hit=1",
        "<svg/onload=window.hit=1>",
        "</style><style>*{background:url(http://192.0.2.1/x)}</style>",
        "'onmouseover='window.hit=1'autofocus onfocus='window.hit=1",
        "</title><base href=//192.0.2.1/><meta http-equiv=refresh content=0;url=http://192.0.2.1/>",
        "<!--<script>",
        "\u{202e}txt.exe\u{2066}",
        "&lt;img src=x onerror=window.hit=1&gt;",
    ];
    let harness = Harness::new();
    let mut log = String::new();
    for text in HOSTILE {
        let lines = [
            format!(
                "203.0.113.7 - {text} [02/Nov/2026:08:01:00 +0000] \"GET /.git/config?x={text} HTTP/1.1\" 200 512 \"{text}\" \"{text}\"\n"
            ),
            format!(
                "{} - - [02/Nov/2026:08:01:00 +0000] \"GET /{text}/.env HTTP/1.1\" 200 99 \"-\" \"() {{ :;}}; {text}\"\n",
                text.replace(' ', "_")
            ),
            format!("{text} union select 1,2 from /etc/passwd {text}\n"),
            format!(
                "{{\"ip\":\"192.0.2.9\",\"host\":{text:?},\"time\":\"2026-11-02T08:01:00Z\",\"method\":\"GET\",\"path\":\"/.env\",\"status\":200}}\n"
            ),
        ];
        log.extend(lines);
    }
    let path = "x".repeat(10_000);
    log += &line("203.0.113.8", &format!("GET /{path}/.env HTTP/1.1"), 200);
    let (name, file) = page(
        &harness,
        "hostile",
        &harness.file("<img src=x onerror=window.hit=1>.log", log),
    );
    let text = fs::read_to_string(&file).unwrap();
    for part in [
        "<img",
        "<svg/onload",
        "<script>window",
        "<base",
        "</style><style>",
        "\u{202e}",
    ] {
        assert!(!text.contains(part), "{part}");
    }
    assert!(text.contains("&#60;img src=x onerror=window.hit=1&#62;"));
    open_in_browser(
        "hostile_text_runs_no_script_in_a_browser",
        &[(name, file)],
        &harness,
    );
}

/// The cells of the rows of a table, by the ID of its section.
fn rows_of(page: &str, id: &str) -> Vec<String> {
    let (_, section) = page.split_once(&format!("<section id=\"{id}\"")).unwrap();
    let (_, body) = section.split_once("<tbody>").unwrap();
    let tag = regex::Regex::new("<[^>]*>").unwrap();
    let (rows, _) = body.split_once("</tbody>").unwrap();
    rows.trim()
        .lines()
        .map(|row| {
            tag.replace_all(row, " ")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn hits_are_summed_by_host_and_user_agent() {
    let harness = Harness::new();
    let request = |host: &str, client: u8, target: &str, status: u16, agent: &str| {
        format!(
            "{host}:80 192.0.2.{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {target} HTTP/1.1\" {status} 77 \"-\" \"{agent}\"\n"
        )
    };
    let log = [
        request("a.example", 1, "/.env", 404, "zgrab/0.x"),
        request("A.example", 1, "/.git/config", 404, "zgrab/0.x"),
        request("a.example", 2, "/.env", 404, "zgrab/0.x"),
        request("b.example", 3, "/.env", 200, "curl/8.5.0"),
        request("c.example", 4, "/", 200, "Mozilla/5.0"),
    ];
    harness.file("some.log", log.concat());
    assert_eq!(
        harness
            .run(["scan", "-q", "-f", "json", "-o", "some.json", "some.log"])
            .code,
        0
    );
    for args in [
        &["scan", "-q", "-f", "html", "some.log"][..],
        &["merge", "-q", "-f", "html", "some.json"],
    ] {
        let page = harness.run(args).text();
        assert_eq!(
            rows_of(&page, "hosts"),
            ["a.example 3 2 2 0", "b.example 1 1 1 1"],
            "{args:?}"
        );
        assert_eq!(
            rows_of(&page, "user-agents"),
            ["zgrab/0.x 2 3 0", "curl/8.5.0 1 1 1"],
            "{args:?}"
        );
    }
    harness.file("plain.log", line("192.0.2.1", "GET /.env HTTP/1.1", 404));
    assert!(
        !harness
            .run(["scan", "-q", "-f", "html", "plain.log"])
            .text()
            .contains("Virtual hosts")
    );
}

#[test]
fn pages_are_of_scans_and_merged_reports() {
    let harness = Harness::new();
    harness.file("some.log", log(200));
    assert_eq!(
        harness
            .run(["scan", "-q", "-f", "json", "-o", "some.json", "some.log"])
            .code,
        0
    );
    let (scanned, merged) = (
        harness.run(["scan", "-q", "-f", "html", "some.log"]),
        harness.run(["merge", "-q", "-f", "html", "some.json"]),
    );
    assert_eq!(
        (scanned.code, merged.code),
        (0, 0),
        "{}{}",
        scanned.stderr,
        merged.stderr
    );
    for page in [scanned.text(), merged.text()] {
        assert!(
            page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"),
            "{page}"
        );
        assert!(
            page.contains("<h1>Nothing answered; 20 probes from 20 clients.</h1>"),
            "{page}"
        );
    }
    for args in [
        &["learn", "-f", "html", "some.log"][..],
        &["diff", "-f", "html", "some.json", "some.json"],
        &["follow", "-f", "html", "some.log"],
        &["scan", "-f", "html", "--by", "path", "some.log"],
    ] {
        let run = harness.run(args);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{args:?}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("html") || run.stderr.contains("a page has all sections"),
            "{args:?}: {}",
            run.stderr
        );
    }
}
