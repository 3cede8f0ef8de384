//! Every notation of a path for which nginx or Apache serves a planted file is a hit.
//!
//! The servers decide which notations reach the file: each is requested, and if the file is in the
//! answer, the log line must match the rule of the plain path.

use super::requests::{Request, with_line};
use super::{ServerRun, apache, nginx};

/// Files of the site, their contents, and the class of the rule that matches them.
const SECRETS: [(&str, &[u8], &str); 2] = [
    ("/.env", b"A=b\n", "config-exposure"),
    ("/.git/config", b"[core]\n", "vcs-exposure"),
];

/// Prefixes of a path that some server ignores.
const BEFORE: [&str; 30] = [
    "/",
    "//",
    "/.",
    "/./.",
    "/%2e",
    "/%2f",
    "/a/..",
    "/a/../b/..",
    "/a/%2e%2e",
    "/a/%2E.",
    "/a/.%2e",
    "/..",
    "/%2e%2e",
    "/index.html/..",
    "/a;x=1/..",
    "/a/..;",
    "/;",
    "/;x=1",
    "\\",
    "/a\\..",
    "/%5c",
    "/a/%5c..",
    "/%00",
    "/#/..",
    "/?/..",
    "http://site.example",
    "HTTP://SITE.example:80",
    "https://site.example",
    "http://site.example/a/..",
    "http://a@site.example",
];

/// Suffixes.
const AFTER: [&str; 44] = [
    "#", "#x", "#/a.css", "#?x", "?#", "?", "??", "?x=1", "?/a.css", "/", "//", "/.", "/..",
    "/../.env", "/x", "/a.css", ".", "..", ". ", "%20", "%20%20", " ", "  ", " x", "%09", "\t",
    "%0a", "%0d%0a", "%00", "%00.css", "%23", "%3f", "%3fx", "%2f", "%5c", "\\", ";", ";x=1",
    ";a.css", "%3bx", "::$DATA", "~", "%", "&x=1",
];

/// Request lines around a target, `TARGET`.
const LINES: [&str; 22] = [
    "GET TARGET HTTP/1.1",
    "GET TARGET HTTP/1.0",
    "GET TARGET",
    "get TARGET HTTP/1.1",
    "POST TARGET HTTP/1.1",
    "PUT TARGET HTTP/1.1",
    "FOO TARGET HTTP/1.1",
    "foo TARGET",
    "GET  TARGET HTTP/1.1",
    "GET TARGET  HTTP/1.1",
    "GET\tTARGET\tHTTP/1.1",
    "GET TARGET HTTP/1.9",
    "GET TARGET HTTP/0.9",
    "GET TARGET HTTP/2.0",
    "GET TARGET http/1.1",
    "GET TARGET HTTP/1.1 ",
    "GET TARGET x HTTP/1.1",
    "GET TARGET HTTP/01.1",
    "\r\nGET TARGET HTTP/1.1",
    "\nGET TARGET HTTP/1.1",
    "G-T TARGET HTTP/1.1",
    "G_T TARGET HTTP/1.1",
];

/// A path with some of its bytes encoded.
fn spellings(path: &str) -> Vec<String> {
    let mut all = vec![path.to_owned(), path.to_uppercase()];
    let escapes: [fn(u8) -> String; 7] = [
        |byte| format!("%{byte:02x}"),
        |byte| format!("%{byte:02X}"),
        |byte| format!("%25{byte:02x}"),
        |byte| format!("%u00{byte:02x}"),
        |byte| format!("%c{:x}%{:02x}", byte >> 6, 0x80 | byte & 0x3f),
        |byte| format!("%e0%8{:x}%{:02x}", byte >> 6, 0x80 | byte & 0x3f),
        |byte| format!("\\x{byte:02x}"),
    ];
    for escape in escapes {
        all.push(format!(
            "/{}",
            path[1..].bytes().map(escape).collect::<String>()
        ));
        for at in 1..path.len() {
            all.push(format!(
                "{}{}{}",
                &path[..at],
                escape(path.as_bytes()[at]),
                &path[at + 1..]
            ));
        }
    }
    let slashes = ["//", "/./", "/x/../", "/%2e/", "\\", "/;x/", "/%00/", "/#/"];
    all.extend(
        slashes
            .iter()
            .filter(|_| path.matches('/').count() > 1)
            .map(|slash| format!("/{}", path[1..].replace('/', slash))),
    );
    all
}

/// Every request, and which file it may reach.
fn requests() -> Vec<(String, usize)> {
    let mut lines = Vec::new();
    for (secret, (path, ..)) in SECRETS.iter().enumerate() {
        let mut targets: Vec<String> = spellings(path);
        targets.extend(BEFORE.iter().map(|before| format!("{before}{path}")));
        targets.extend(AFTER.iter().map(|after| format!("{path}{after}")));
        targets.extend(
            BEFORE
                .iter()
                .zip(AFTER.iter().cycle().skip(secret * 7))
                .map(|(before, after)| format!("{before}{path}{after}")),
        );
        lines.extend(
            targets
                .iter()
                .map(|target| (format!("GET {target} HTTP/1.1"), secret)),
        );
        lines.extend(
            LINES
                .iter()
                .map(|line| (line.replace("TARGET", path), secret)),
        );
        lines.extend(
            ["#x", "%20", "/"]
                .iter()
                .map(|after| (format!("GET {path}{after}"), secret)),
        );
    }
    lines
}

#[test]
fn every_path_that_a_server_serves_is_matched() {
    let test = "servers::spellings::every_path_that_a_server_serves_is_matched";
    let lines = requests();
    let requests: Vec<Request> = lines
        .iter()
        .enumerate()
        .map(|(number, (line, _))| with_line(number, line.as_bytes()))
        .collect();
    for served in [
        nginx::served(test, &requests),
        apache::served(test, &requests),
    ]
    .into_iter()
    .flatten()
    {
        compare(&served, &lines);
    }
}

fn compare(served: &ServerRun, lines: &[(String, usize)]) {
    let log = served.log("combined");
    let run = served
        .harness
        .run(["scan", "-q", "-f", "ndjson", log.path.to_str().unwrap()]);
    let hits = run.objects();
    let mut given = 0;
    let mut missed = Vec::new();
    for (number, ((line, secret), answer)) in lines.iter().zip(&served.answers).enumerate() {
        let (_, body, class) = SECRETS[*secret];
        if !answer.ends_with(body) {
            continue;
        }
        given += 1;
        let is_seen = hits.iter().any(|hit| {
            hit["line"] == number + 1
                && hit["classes"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|seen| seen == class)
        });
        if !is_seen {
            missed.push(format!("{line:?}"));
        }
    }
    // Some notations reach the file with each server; otherwise nothing would be compared.
    assert!(
        given > 60,
        "{}: only {given} of {} spellings are served",
        served.server,
        lines.len()
    );
    assert!(
        missed.is_empty(),
        "{}: served and not seen:\n{}",
        served.server,
        missed.join("\n")
    );
}
