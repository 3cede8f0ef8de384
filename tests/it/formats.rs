//! The same requests in every known format have the same hits, and how a log is read does not change them.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Harness, line, sized, with_plain_evidence};
use crate::invariants::gzip;

/// A request, written in every format.
struct Request {
    second: u32,
    client: &'static str,
    target: &'static str,
    status: u16,
}

const REQUESTS: [Request; 5] = [
    Request { second: 0, client: "192.0.2.7", target: "/.env", status: 404 },
    Request { second: 1, client: "192.0.2.7", target: "/.git/config", status: 200 },
    Request { second: 2, client: "2001:db8::9", target: "/about", status: 200 },
    Request { second: 3, client: "198.51.100.3", target: "/wp-login.php?action=x", status: 403 },
    Request { second: 4, client: "198.51.100.3", target: "/cgi-bin/.%2e/.%2e/bin/sh", status: 400 },
];

const AGENT: &str = "Mozilla/5.0 (X11)";

/// A log of these requests; `write` formats one of them.
fn log(head: &str, write: impl Fn(&Request) -> String) -> String {
    let lines: Vec<String> = REQUESTS.iter().map(|request| write(request) + "\n").collect();
    head.to_owned() + &lines.concat()
}

fn combined(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    format!(r#"{client} - - [02/Nov/2026:08:01:0{second} +0000] "GET {target} HTTP/1.1" {status} 512 "-" "{AGENT}""#)
}

fn nginx_json(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    let time = format!("02/Nov/2026:08:01:0{second} +0000");
    json!({"ts": time, "ip": client, "request": format!("GET {target} HTTP/1.1"), "status": status.to_string(), "body_bytes_sent": "512", "http_user_agent": AGENT})
        .to_string()
}

fn caddy(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    let epoch = 1_793_606_460 + second;
    format!(
        r#"{{"level":"info","ts":{epoch}.5,"logger":"http.log.access","msg":"handled request","request":{{"remote_ip":"{client}","remote_port":"41342","client_ip":"{client}","proto":"HTTP/1.1","method":"GET","host":"","uri":"{target}","headers":{{"User-Agent":["{AGENT}"]}}}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":512,"status":{status},"resp_headers":{{"Server":["Caddy"]}}}}"#
    )
}

fn alb(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    let client = if client.contains(':') { format!("[{client}]") } else { (*client).to_owned() };
    format!(
        r#"http 2026-11-02T08:01:0{second}.186641Z app/my-loadbalancer/50dc6c495c0c9188 {client}:2817 10.0.0.1:80 0.000 0.001 0.000 {status} {status} 34 512 "GET http://-:80{target} HTTP/1.1" "{AGENT}" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2026-11-02T08:01:00.186000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#
    )
}

fn haproxy(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    format!(
        r#"Nov  2 08:01:0{second} lb haproxy[14389]: {client}:33317 [02/Nov/2026:08:01:0{second}.655] http-in static/srv1 10/0/30/69/109 {status} 512 - - ---- 1/1/1/1/0 0/0 {{{AGENT}}} {{}} "GET {target} HTTP/1.1""#
    )
}

fn proxy_manager(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    format!(
        r#"[02/Nov/2026:08:01:0{second} +0000] - {status} {status} - GET https - "{target}" [Client {client}] [Length 512] [Gzip -] [Sent-to 10.0.0.5] "{AGENT}" "-""#
    )
}

fn envoy(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    format!(
        r#"[2026-11-02T08:01:0{second}.310Z] "GET {target} HTTP/1.1" {status} - 0 512 226 100 "{client}" "{AGENT}" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "-" "tcp://10.0.2.1:80""#
    )
}

fn iis(r: &Request) -> String {
    let Request { second, client, target, status } = r;
    let (path, query) = target.split_once('?').unwrap_or((target, "-"));
    let agent = AGENT.replace(' ', "+");
    format!("2026-11-02 08:01:0{second} 10.0.0.1 GET {path} {query} 80 - {client} HTTP/1.1 {agent} - {status} 0 0 512 15")
}

const IIS_HEAD: &str = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-02 08:00:00\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs-version cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status sc-bytes time-taken\n";

/// Every log, with the name of its format.
fn logs() -> Vec<(&'static str, String)> {
    let docker = |r: &Request| json!({"log": combined(r) + "\n", "stream": "stdout", "time": "2026-11-02T08:01:00.669794202Z"}).to_string();
    vec![
        ("combined", log("", combined)),
        ("combined", log("", |r| combined(r) + " \"203.0.113.5\"")),
        ("combined", log("", |r| format!("<190>Nov  2 08:01:00 web nginx: {}", combined(r)))),
        ("combined", log("", |r| format!("2026-11-02T08:01:00.669794202Z stdout F {}", combined(r)))),
        ("combined", log("", docker)),
        ("json", log("", nginx_json)),
        ("json", log("", caddy)),
        ("json", log("", |r| format!("<190>1 2026-11-02T08:01:00Z web nginx - - - {}", nginx_json(r)))),
        ("aws_alb", log("", alb)),
        ("haproxy_http", log("", haproxy)),
        ("nginx_proxy_manager", log("", proxy_manager)),
        ("envoy", log("", envoy)),
        ("w3c", log(IIS_HEAD, iis)),
    ]
}

/// A hit without its location and without fields that only some formats have.
fn hits_of_scan(harness: &Harness, args: &[&str]) -> Vec<Value> {
    let run = harness.run(["scan", "-f", "ndjson"].iter().chain(args));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let keys = ["time", "client", "method", "target", "path", "status", "bytes", "outcome", "rules", "severity"];
    let agent = |hit: &Value| hit["user_agent"].clone();
    let of = |hit: &Value| Value::from(keys.iter().map(|key| hit[key].clone()).chain([agent(hit)]).collect::<Vec<_>>());
    run.objects().iter().map(of).collect()
}

#[test]
fn every_format_has_the_same_hits() {
    let harness = Harness::new();
    harness.file("access.log", log("", combined));
    let expected = hits_of_scan(&harness, &["access.log"]);
    assert_eq!(expected.len(), 4);
    for (name, text) in logs() {
        harness.file("other.log", &text);
        let hits = hits_of_scan(&harness, &["other.log"]);
        let without_agent = |hits: &[Value]| hits.iter().map(|hit| hit.as_array().unwrap()[..10].to_vec()).collect::<Vec<_>>();
        // HAProxy logs no user agent by default.
        assert_eq!(without_agent(&hits), without_agent(&expected), "{name}: {text}");
        assert!(name == "haproxy_http" || hits == expected, "{name}: {hits:?}");
        let (run, report) = harness.json(["other.log"]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        assert_eq!((&report["inputs"][0]["format"], &report["inputs"][0]["parsed"]), (&json!(name), &json!(5)), "{text}");
    }
}

/// Traefik names keys after headers: `Uri: /` is `request_Uri`.
#[test]
fn a_header_does_not_replace_the_request() {
    let harness = Harness::new();
    let traefik = |more: &str| {
        format!(
            r#"{{"ClientHost":"203.0.113.9","DownstreamStatus":404,"RequestHost":"www.example.org","RequestMethod":"GET","RequestPath":"/.env","RequestProtocol":"HTTP/1.1","StartUTC":"2026-11-02T08:01:00Z"{more}}}"#
        ) + "\n"
    };
    harness.file("traefik.log", traefik(""));
    let expected = hits_of_scan(&harness, &["traefik.log"]);
    assert_eq!(expected.len(), 1);
    for header in ["Uri", "Url", "Method", "Line", "Client-Ip", "Timestamp", "Target"] {
        harness.file("traefik.log", traefik(&format!(r#","request_{header}":"/""#)));
        assert_eq!(hits_of_scan(&harness, &["traefik.log"]), expected, "{header}");
    }
}

#[test]
fn hits_have_the_line_and_offset_of_the_log() {
    let harness = Harness::new();
    for (name, text) in logs() {
        let path = harness.file("other.log", &text);
        let bytes = fs::read(&path).unwrap();
        for hit in harness.run(["scan", "-f", "ndjson", "other.log"]).objects() {
            let (number, offset) = (hit["line"].as_u64().unwrap() as usize, hit["offset"].as_u64().unwrap() as usize);
            let line = text.lines().nth(number - 1).unwrap();
            assert!(bytes[offset..].starts_with(line.as_bytes()), "{name}: line {number} at {offset}");
        }
    }
}

/// A log in all formats, large enough to be read in several chunks; a W3C extended one on request.
fn mixed(is_w3c: bool) -> String {
    let logs = logs();
    let mut text = if is_w3c { IIS_HEAD.to_owned() } else { String::new() };
    let mut number = 0_usize;
    while text.len() < 5 << 20 {
        // Long runs of one format, as in real logs, with a line of another format now and then.
        let (_, part) = &logs[number / 40 % logs.len()];
        text += if number.is_multiple_of(7) { "GET /.git/config and no format\n" } else { "" };
        text += if part.starts_with('#') && !is_w3c { &logs[0].1 } else { part };
        number += 1;
    }
    text
}

#[test]
fn threads_and_maps_do_not_change_the_report_of_mixed_formats() {
    for is_w3c in [false, true] {
        let harness = Harness::new();
        let text = mixed(is_w3c);
        harness.file("access.log", &text);
        let scan = |args: &[&str]| harness.run(["scan", "-f", "json"].iter().chain(args)).text();
        let expected = scan(&["-j1", "--mmap", "never", "access.log"]);
        assert!(expected.contains("\"unparsed\":"), "{expected}");
        for args in [["-j3", "--mmap", "always", "access.log"], ["-j3", "--mmap", "never", "access.log"]] {
            assert!(scan(&args) == expected, "{args:?}");
        }
        let piped = harness.run_with_stdin(["scan", "-f", "json", "-j3", "-"], text.as_bytes()).text();
        let renamed = |text: &str| with_plain_evidence(text).replace("\"-\"", "\"access.log\"");
        assert!(renamed(&piped) == renamed(&expected), "piped");
        harness.file("access.log", gzip(text.as_bytes()));
        assert!(scan(&["-j3", "access.log"]) == expected, "compressed");
    }
}

#[test]
fn a_log_may_change_its_format() {
    let harness = Harness::new();
    let text = log("", combined) + &log("", nginx_json) + &log("", combined);
    harness.file("access.log", text);
    let (run, report) = harness.json(["access.log"]);
    assert_eq!((run.code, report["totals"]["parsed"].as_u64(), report["totals"]["hits"].as_u64()), (0, Some(15), Some(12)));
    assert_eq!(report["inputs"][0]["format"], "combined");
}

#[test]
fn directives_of_a_log_are_skipped() {
    let harness = Harness::new();
    harness.file("u_ex.log", log(IIS_HEAD, iis));
    let (run, report) = harness.json(["u_ex.log"]);
    let sums = ["lines", "parsed", "unparsed", "skipped"].map(|name| report["totals"][name].as_u64().unwrap());
    assert_eq!((run.code, sums), (0, [9, 5, 0, 4]));
    harness.file("u_ex.log", IIS_HEAD);
    let run = harness.run(["scan", "u_ex.log"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "a server without requests");
}

#[test]
fn a_format_string_reads_an_unknown_format() {
    let harness = Harness::new();
    // The second address may be that of the client too.
    let odd = |r: &Request| format!("{}|{0}9|{}|GET {} HTTP/1.1|{}|512|{AGENT}", r.client, 1_793_606_460 + r.second, r.target, r.status);
    harness.file("odd.log", log("", odd));
    let run = harness.run(["scan", "odd.log"]);
    assert!(run.stderr.contains("give this format to --log-format with $remote_addr in the place of the client"), "{}", run.stderr);
    harness.file("access.log", log("", combined));
    let string = "$remote_addr|$other|$msec|$request|$status|$body_bytes_sent|$http_user_agent";
    assert_eq!(hits_of_scan(&harness, &["--log-format", string, "odd.log"]), hits_of_scan(&harness, &["access.log"]));
    let run = harness.run(["scan", "--log-format", "cobmined", "odd.log"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no log format is called 'cobmined'; there are combined, "), "{}", run.stderr);
}

#[test]
fn unknown_keys_are_listed() {
    let harness = Harness::new();
    let odd = |r: &Request| {
        json!({"a": r.client, "b": r.target, "c": r.status, "d": format!("2026-11-02T08:01:0{}Z", r.second), "e": AGENT, "f": 512, "g": "GET"}).to_string()
    };
    harness.file("odd.log", log("", odd));
    let run = harness.run(["scan", "odd.log"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("--field"), "{}", run.stderr);
    harness.file("access.log", log("", combined));
    let fields = "client=a,target=b,status=c,time=d,user_agent=e,bytes=f,method=g";
    assert_eq!(hits_of_scan(&harness, &["--field", fields, "odd.log"]), hits_of_scan(&harness, &["access.log"]));
}

#[test]
fn the_format_of_a_log_is_printed() {
    let harness = Harness::new();
    for (name, text) in logs() {
        harness.file("some.log", &text);
        let run = harness.run(["formats", "-f", "json", "some.log"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let hits_of_scan: Value = serde_json::from_slice(&run.stdout).unwrap();
        let log = &hits_of_scan["logs"][0];
        assert_eq!((log["found"][0]["read_as"].as_str(), log["confidence"].as_f64()), (Some(name), Some(1.0)), "{log}");
        let client = log["found"][0]["fields"].as_array().unwrap().iter().find(|field| field["meaning"] == "client");
        assert!(client.is_some_and(|client| client["text"].as_str().unwrap().starts_with("192.0.2.7")) || name == "envoy", "{log}");
    }
    harness.file("error.log", "2026/11/02 08:01:00 [error] 12#12: *1 open() \"/x\" failed\n");
    let run = harness.run(["formats", "error.log"]);
    assert_eq!(run.code, 3);
    assert!(run.text().contains("it looks like a server's error log"), "{}", run.text());
    let known = harness.run(["formats"]);
    assert_eq!(known.code, 0);
    for name in ["combined", "json", "w3c", "aws_alb", "haproxy_http", "nginx_proxy_manager"] {
        assert!(known.text().contains(name), "{}", known.text());
    }
}

#[test]
fn a_line_of_another_format_is_explained() {
    let harness = Harness::new();
    harness.file("u_ex.log", log(IIS_HEAD, iis));
    let run = harness.run(["explain", "-f", "json", "u_ex.log:5"]);
    let hits_of_scan: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(
        (&hits_of_scan["format"], &hits_of_scan["client"], &hits_of_scan["target"]),
        (&json!("w3c"), &json!("192.0.2.7"), &json!("/.env")),
        "{hits_of_scan}"
    );
    let run = harness.run(["explain", "-f", "json", &nginx_json(&REQUESTS[0])]);
    let hits_of_scan: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((&hits_of_scan["format"], &hits_of_scan["client"]), (&json!("json"), &json!("192.0.2.7")), "{hits_of_scan}");
}

/// Reports with and without named formats are merged.
#[test]
fn reports_of_different_formats_merge() {
    let harness = Harness::new();
    harness.file("a.log", log("", nginx_json));
    harness.file("b.log", log("", nginx_json) + &sized(&line("192.0.2.1", "GET /.env HTTP/1.1", 404), 7));
    for name in ["a", "b"] {
        let run = harness.run(["scan", "-f", "json", "-o", &format!("{name}.json"), &format!("{name}.log")]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let whole = harness.run(["scan", "-f", "json", "a.log", "b.log"]).json();
    let merged = harness.run(["merge", "-f", "json", "a.json", "b.json"]).json();
    assert_eq!(merged["inputs"].as_array().unwrap().iter().map(|input| &input["format"]).collect::<Vec<_>>(), ["json", "json"]);
    assert_eq!(merged["totals"]["parsed"], whole["totals"]["parsed"]);
    let plain: Value = serde_json::from_str(&with_plain_evidence(&merged.to_string())).unwrap();
    assert_eq!(plain["evidence"]["inputs"][1]["other_formats"], json!([["json", 5]]));
}

/// A time that no form explains, a client that is no address and a status in words: each is read in most programs' logs, so each is
/// worth a warning, which `-q` does not hide.
#[test]
fn fields_that_were_not_read_are_in_a_warning() {
    let harness = Harness::new();
    let log = |line: &str| (0..10).map(|n| line.replace('#', &n.to_string())).collect::<String>();
    let time = log("[W 261126 12:00:0# web:2271] 404 GET /.env (203.0.113.5) 0.47ms\n");
    let client = log("515 - - [26/Nov/2026:12:00:0# +0000] \"GET /.env HTTP/1.1\" 404 162\n");
    for (text, field, typed) in [(&time, "time", "$time"), (&client, "client", "$remote_addr")] {
        harness.file("odd.log", text);
        let sentence = format!("the {field} of 10 of 10 lines that match a rule was not read");
        let (run, report) = harness.json(["-q", "odd.log"]);
        let expected = format!("warning: odd.log: {sentence}");
        assert!(run.stderr.starts_with(&expected) && run.stderr.contains(typed) && run.code == 0, "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(report["inputs"][0]["warning"].as_str().is_some_and(|warning| warning.starts_with(&sentence)), "{report}");
        let run = harness.run_with_stdin(["follow", "-q", "-"], text.as_bytes());
        assert!(run.stderr.contains(&sentence) && run.text().contains(&sentence[..40]), "{}{}", run.stderr, run.text());
    }
    // A part of the lines is the work of clients.
    let read = log("203.0.113.5 - - [26/Nov/2026:12:00:0# +0000] \"GET /.env HTTP/1.1\" 404 162\n");
    for (odd, is_said) in [(5, false), (6, true)] {
        let lines: Vec<&str> = client.lines().take(odd).chain(read.lines().take(10 - odd)).collect();
        harness.file("odd.log", lines.join("\n"));
        assert_eq!(harness.run(["scan", "-q", "odd.log"]).stderr.contains("the client of"), is_said, "{odd} of 10");
    }
    // A text of the client is no time of the log.
    harness.file("odd.log", log("203.0.113.5 GET /.env?2026-11-26T12:00:0# 404\n"));
    assert_eq!(harness.run(["scan", "-q", "odd.log"]).stderr, "");
}

/// DEBUG and TRACE are methods, and levels of the logs of programs.
#[test]
fn a_level_is_no_method() {
    let harness = Harness::new();
    let line = |path: &str| {
        format!("2026-11-26T12:00:01.1Z DEBUG request{{method=GET uri={path} version=HTTP/1.1}}: on_response: latency=0 ms status=200\n")
    };
    harness.file("app.log", line("/").repeat(9) + &line("/.env"));
    let (_, report) = harness.json(["app.log"]);
    assert_eq!((&report["totals"]["hits"], &report["paths"][0]["path"]), (&json!(1), &json!("/.env")), "{report}");
}
