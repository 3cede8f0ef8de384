//! The same requests in every known format have the same hits, and how a log is read does not
//! change them.

use std::fs;

use proptest::test_runner::Config as ProptestConfig;
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
    Request {
        second: 0,
        client: "192.0.2.7",
        target: "/.env",
        status: 404,
    },
    Request {
        second: 1,
        client: "192.0.2.7",
        target: "/.git/config",
        status: 200,
    },
    Request {
        second: 2,
        client: "2001:db8::9",
        target: "/about",
        status: 200,
    },
    Request {
        second: 3,
        client: "198.51.100.3",
        target: "/wp-login.php?action=x",
        status: 403,
    },
    Request {
        second: 4,
        client: "198.51.100.3",
        target: "/cgi-bin/.%2e/.%2e/bin/sh",
        status: 400,
    },
];

/// What `probewatch formats` lists is what is read without a flag, and what the guide lists.
#[test]
fn listed_programs_are_read_without_a_flag() {
    let harness = Harness::new();
    let listed: Value =
        serde_json::from_slice(&harness.run(["formats", "-f", "json"]).stdout).unwrap();
    let guide = fs::read_to_string("samples/guide.md").unwrap();
    let programs = listed["programs"].as_object().unwrap();
    for (name, example) in programs {
        let (head, last) = example.as_str().unwrap().rsplit_once('\n').map_or(
            (String::new(), example.as_str().unwrap()),
            |(head, last)| (format!("{head}\n"), last),
        );
        let clients = ["192.0.2.7", "192.0.2.8", "192.0.2.9"];
        let text: String = clients
            .iter()
            .map(|client| last.replace("192.0.2.7", client) + "\n")
            .collect();
        harness.file("program.log", head + &text);
        let output = harness.run(["scan", "-f", "ndjson", "program.log"]);
        let rows: Vec<Value> = output
            .text()
            .lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect();
        assert_eq!(rows.len(), 3, "{name}: {}", output.stderr);
        assert_eq!(output.code, 0, "{name}: {}", output.stderr);
        for (row, client) in rows.iter().zip(clients) {
            assert_eq!(row["path"], "/.env", "{name}");
            assert_eq!(
                row["status"],
                if last.contains("404") {
                    json!(404)
                } else {
                    Value::Null
                },
                "{name}"
            );
            let has_time = last.contains("08:01:00") || last.contains("1793606460");
            let time = row["time"]
                .as_str()
                .filter(|_| has_time)
                .unwrap_or("2026-11-02T08:01:00");
            assert!(time.starts_with("2026-11-02T08:01:00"), "{name}: {row}");
            assert_eq!(row["time"].is_null(), !has_time, "{name}");
            assert_eq!(
                row["client"],
                if last.contains("192.0.2.7") {
                    client
                } else {
                    "-"
                },
                "{name}"
            );
        }
    }
    let mut names: Vec<&str> = programs.keys().map(String::as_str).collect();
    names.sort_by_key(|name| name.to_lowercase());
    let prefixes: Vec<&str> = listed["prefixes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prefix| prefix.as_str().unwrap())
        .collect();
    for list in [names.join(", "), prefixes.join(", ")] {
        assert!(
            guide.contains(&list),
            "the guide does not have this list: {list}"
        );
    }
    for format in listed["formats"].as_array().unwrap() {
        let name = format["name"].as_str().unwrap();
        assert!(
            guide.contains(&format!("`{name}`")),
            "the guide does not name {name}"
        );
    }
}

const AGENT: &str = "Mozilla/5.0 (X11)";

/// A log of these requests; `write` formats one of them.
fn log(head: &str, write: impl Fn(&Request) -> String) -> String {
    let lines: Vec<String> = REQUESTS
        .iter()
        .map(|request| write(request) + "\n")
        .collect();
    head.to_owned() + &lines.concat()
}

fn combined(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    format!(
        r#"{client} - - [02/Nov/2026:08:01:0{second} +0000] "GET {target} HTTP/1.1" {status} 512 "-" "{AGENT}""#
    )
}

fn nginx_json(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    let time = format!("02/Nov/2026:08:01:0{second} +0000");
    json!({"ts": time, "ip": client, "request": format!("GET {target} HTTP/1.1"), "status": status.to_string(), "body_bytes_sent": "512", "http_user_agent": AGENT})
        .to_string()
}

fn caddy(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    let epoch = 1_793_606_460 + second;
    format!(
        r#"{{"level":"info","ts":{epoch}.5,"logger":"http.log.access","msg":"handled request","request":{{"remote_ip":"{client}","remote_port":"41342","client_ip":"{client}","proto":"HTTP/1.1","method":"GET","host":"","uri":"{target}","headers":{{"User-Agent":["{AGENT}"]}}}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":512,"status":{status},"resp_headers":{{"Server":["Caddy"]}}}}"#
    )
}

fn alb(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    let client = if client.contains(':') {
        format!("[{client}]")
    } else {
        (*client).to_owned()
    };
    format!(
        r#"http 2026-11-02T08:01:0{second}.186641Z app/my-loadbalancer/50dc6c495c0c9188 {client}:2817 10.0.0.1:80 0.000 0.001 0.000 {status} {status} 34 512 "GET http://-:80{target} HTTP/1.1" "{AGENT}" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2026-11-02T08:01:00.186000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#
    )
}

fn haproxy(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    format!(
        r#"Nov  2 08:01:0{second} lb haproxy[14389]: {client}:33317 [02/Nov/2026:08:01:0{second}.655] http-in static/srv1 10/0/30/69/109 {status} 512 - - ---- 1/1/1/1/0 0/0 {{{AGENT}}} {{}} "GET {target} HTTP/1.1""#
    )
}

fn proxy_manager(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    format!(
        r#"[02/Nov/2026:08:01:0{second} +0000] - {status} {status} - GET https - "{target}" [Client {client}] [Length 512] [Gzip -] [Sent-to 10.0.0.5] "{AGENT}" "-""#
    )
}

fn envoy(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    format!(
        r#"[2026-11-02T08:01:0{second}.310Z] "GET {target} HTTP/1.1" {status} - 0 512 226 100 "{client}" "{AGENT}" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "-" "tcp://10.0.2.1:80""#
    )
}

fn iis(r: &Request) -> String {
    let Request {
        second,
        client,
        target,
        status,
    } = r;
    let (path, query) = target.split_once('?').unwrap_or((target, "-"));
    let agent = AGENT.replace(' ', "+");
    format!(
        "2026-11-02 08:01:0{second} 10.0.0.1 GET {path} {query} 80 - {client} HTTP/1.1 {agent} - {status} 0 0 512 15"
    )
}

const IIS_HEAD: &str = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-02 08:00:00\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs-version cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status sc-bytes time-taken\n";

/// Every log, with the name of its format.
fn logs() -> Vec<(&'static str, String)> {
    let docker = |r: &Request| {
        json!({"log": combined(r) + "\n", "stream": "stdout", "time": "2026-11-02T08:01:00.669794202Z"}).to_string()
    };
    vec![
        ("combined", log("", combined)),
        ("combined", log("", |r| combined(r) + " \"203.0.113.5\"")),
        (
            "combined",
            log("", |r| {
                format!("<190>Nov  2 08:01:00 web nginx: {}", combined(r))
            }),
        ),
        (
            "combined",
            log("", |r| {
                format!("2026-11-02T08:01:00.669794202Z stdout F {}", combined(r))
            }),
        ),
        ("combined", log("", docker)),
        ("json", log("", nginx_json)),
        ("json", log("", caddy)),
        (
            "json",
            log("", |r| {
                format!(
                    "<190>1 2026-11-02T08:01:00Z web nginx - - - {}",
                    nginx_json(r)
                )
            }),
        ),
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
    let keys = [
        "time", "client", "method", "target", "path", "status", "bytes", "outcome", "rules",
        "severity",
    ];
    let agent = |hit: &Value| hit["user_agent"].clone();
    let of = |hit: &Value| {
        Value::from(
            keys.iter()
                .map(|key| hit[key].clone())
                .chain([agent(hit)])
                .collect::<Vec<_>>(),
        )
    };
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
        let without_agent = |hits: &[Value]| {
            hits.iter()
                .map(|hit| hit.as_array().unwrap()[..10].to_vec())
                .collect::<Vec<_>>()
        };
        // HAProxy logs no user agent by default.
        assert_eq!(
            without_agent(&hits),
            without_agent(&expected),
            "{name}: {text}"
        );
        assert!(
            name == "haproxy_http" || hits == expected,
            "{name}: {hits:?}"
        );
        let (run, report) = harness.json(["other.log"]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        assert_eq!(
            (
                &report["inputs"][0]["format"],
                &report["inputs"][0]["parsed"]
            ),
            (&json!(name), &json!(5)),
            "{text}"
        );
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
    for header in [
        "Uri",
        "Url",
        "Method",
        "Line",
        "Client-Ip",
        "Timestamp",
        "Target",
    ] {
        harness.file(
            "traefik.log",
            traefik(&format!(r#","request_{header}":"/""#)),
        );
        assert_eq!(
            hits_of_scan(&harness, &["traefik.log"]),
            expected,
            "{header}"
        );
    }
}

#[test]
fn hits_have_the_line_and_offset_of_the_log() {
    let harness = Harness::new();
    for (name, text) in logs() {
        let path = harness.file("other.log", &text);
        let bytes = fs::read(&path).unwrap();
        for hit in harness.run(["scan", "-f", "ndjson", "other.log"]).objects() {
            let (number, offset) = (
                hit["line"].as_u64().unwrap() as usize,
                hit["offset"].as_u64().unwrap() as usize,
            );
            let line = text.lines().nth(number - 1).unwrap();
            assert!(
                bytes[offset..].starts_with(line.as_bytes()),
                "{name}: line {number} at {offset}"
            );
        }
    }
}

/// A log in all formats, large enough to be read in several chunks; a W3C extended one on request.
fn mixed(is_w3c: bool) -> String {
    let logs = logs();
    let mut text = if is_w3c {
        IIS_HEAD.to_owned()
    } else {
        String::new()
    };
    let mut number = 0_usize;
    while text.len() < 5 << 20 {
        // Long runs of one format, as in real logs, with a line of another format now and then.
        let (_, part) = &logs[number / 40 % logs.len()];
        text += if number.is_multiple_of(7) {
            "GET /.git/config and no format\n"
        } else {
            ""
        };
        text += if part.starts_with('#') && !is_w3c {
            &logs[0].1
        } else {
            part
        };
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
        let scan = |args: &[&str]| {
            harness
                .run(["scan", "-f", "json"].iter().chain(args))
                .text()
        };
        let expected = scan(&["-j1", "--mmap", "never", "access.log"]);
        assert!(expected.contains("\"unparsed\":"), "{expected}");
        for args in [
            ["-j3", "--mmap", "always", "access.log"],
            ["-j3", "--mmap", "never", "access.log"],
        ] {
            assert!(scan(&args) == expected, "{args:?}");
        }
        let piped = harness
            .run_with_stdin(["scan", "-f", "json", "-j3", "-"], text.as_bytes())
            .text();
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
    assert_eq!(
        (
            run.code,
            report["totals"]["parsed"].as_u64(),
            report["totals"]["hits"].as_u64()
        ),
        (0, Some(15), Some(12))
    );
    assert_eq!(report["inputs"][0]["format"], "combined");
}

#[test]
fn directives_of_a_log_are_skipped() {
    let harness = Harness::new();
    harness.file("u_ex.log", log(IIS_HEAD, iis));
    let (run, report) = harness.json(["u_ex.log"]);
    let sums = ["lines", "parsed", "unparsed", "skipped"]
        .map(|name| report["totals"][name].as_u64().unwrap());
    assert_eq!((run.code, sums), (0, [9, 5, 0, 4]));
    harness.file("u_ex.log", IIS_HEAD);
    let run = harness.run(["scan", "u_ex.log"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, ""),
        "a server without requests"
    );
}

#[test]
fn a_format_string_reads_an_unknown_format() {
    let harness = Harness::new();
    // The second address may be that of the client too.
    let odd = |r: &Request| {
        format!(
            "{}|{0}9|{}|GET {} HTTP/1.1|{}|512|{AGENT}",
            r.client,
            1_793_606_460 + r.second,
            r.target,
            r.status
        )
    };
    harness.file("odd.log", log("", odd));
    let run = harness.run(["scan", "odd.log"]);
    assert!(
        run.stderr.contains(
            "give this format to --log-format with $remote_addr in the place of the client"
        ),
        "{}",
        run.stderr
    );
    harness.file("access.log", log("", combined));
    let string = "$remote_addr|$other|$msec|$request|$status|$body_bytes_sent|$http_user_agent";
    assert_eq!(
        hits_of_scan(&harness, &["--log-format", string, "odd.log"]),
        hits_of_scan(&harness, &["access.log"])
    );
    let run = harness.run(["scan", "--log-format", "cobmined", "odd.log"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("no log format is called 'cobmined'; there are combined, "),
        "{}",
        run.stderr
    );
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
    assert_eq!(
        hits_of_scan(&harness, &["--field", fields, "odd.log"]),
        hits_of_scan(&harness, &["access.log"])
    );
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
        assert_eq!(
            (
                log["found"][0]["read_as"].as_str(),
                log["confidence"].as_f64()
            ),
            (Some(name), Some(1.0)),
            "{log}"
        );
        let client = log["found"][0]["fields"]
            .as_array()
            .unwrap()
            .iter()
            .find(|field| field["meaning"] == "client");
        assert!(
            client.is_some_and(|client| client["text"].as_str().unwrap().starts_with("192.0.2.7"))
                || name == "envoy",
            "{log}"
        );
    }
    harness.file(
        "error.log",
        "2026/11/02 08:01:00 [error] 12#12: *1 open() \"/x\" failed\n",
    );
    let run = harness.run(["formats", "error.log"]);
    assert_eq!(run.code, 3);
    assert!(
        run.text().contains("it looks like a server's error log"),
        "{}",
        run.text()
    );
    let known = harness.run(["formats"]);
    assert_eq!(known.code, 0);
    for name in [
        "combined",
        "json",
        "w3c",
        "aws_alb",
        "haproxy_http",
        "nginx_proxy_manager",
    ] {
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
        (
            &hits_of_scan["format"],
            &hits_of_scan["client"],
            &hits_of_scan["target"]
        ),
        (&json!("w3c"), &json!("192.0.2.7"), &json!("/.env")),
        "{hits_of_scan}"
    );
    let run = harness.run(["explain", "-f", "json", &nginx_json(&REQUESTS[0])]);
    let hits_of_scan: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(
        (&hits_of_scan["format"], &hits_of_scan["client"]),
        (&json!("json"), &json!("192.0.2.7")),
        "{hits_of_scan}"
    );
}

/// Reports with and without named formats are merged.
#[test]
fn reports_of_different_formats_merge() {
    let harness = Harness::new();
    harness.file("a.log", log("", nginx_json));
    harness.file(
        "b.log",
        log("", nginx_json) + &sized(&line("192.0.2.1", "GET /.env HTTP/1.1", 404), 7),
    );
    for name in ["a", "b"] {
        let run = harness.run([
            "scan",
            "-f",
            "json",
            "-o",
            &format!("{name}.json"),
            &format!("{name}.log"),
        ]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let whole = harness.run(["scan", "-f", "json", "a.log", "b.log"]).json();
    let merged = harness
        .run(["merge", "-f", "json", "a.json", "b.json"])
        .json();
    assert_eq!(
        merged["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|input| &input["format"])
            .collect::<Vec<_>>(),
        ["json", "json"]
    );
    assert_eq!(merged["totals"]["parsed"], whole["totals"]["parsed"]);
    let plain: Value = serde_json::from_str(&with_plain_evidence(&merged.to_string())).unwrap();
    assert_eq!(
        plain["evidence"]["input"][1]["others"],
        json!([["json", 5]])
    );
}

/// A request of a generated log.
#[derive(Debug, Clone)]
struct Sent {
    second: i64,
    client: &'static str,
    user: &'static str,
    method: &'static str,
    target: String,
    protocol: &'static str,
    status: u16,
    bytes: u64,
    referer: &'static str,
    agent: &'static str,
}

const HOST: &str = "shop.example.com";
const CLIENTS: [&str; 9] = [
    "203.0.113.1",
    "203.0.113.2",
    "203.0.113.3",
    "203.0.113.4",
    "203.0.113.5",
    "198.51.100.6",
    "198.51.100.7",
    "2001:db8::8",
    "2001:db8:1:2::9",
];
const AGENTS: [&str; 7] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
    "curl/8.5.0",
    "sqlmap/1.8.4#stable (https://sqlmap.org)",
    "a \"quoted\" caf\u{e9} \\ agent",
    "-",
    "",
];
const REFERERS: [&str; 4] = [
    "-",
    "",
    "https://shop.example.com/",
    "https://other.example/x?y=1",
];
const PROBES: [&str; 14] = [
    "/.env",
    "/.git/config",
    "/wp-config.php.bak",
    "/phpinfo.php",
    "/.aws/credentials",
    "/actuator/env",
    "/?id=1%27%20or%201=1--",
    "/search?q=%3Cscript%3Ealert(1)%3C/script%3E",
    "/x?f=../../../../etc/passwd",
    "/y?q=\"><script>alert(1)</script>",
    "/cgi-bin/.%2e/.%2e/bin/sh",
    "/caf\u{e9}/.env",
    "/a\\b/.env",
    "//xmlrpc.php?rsd",
];

/// Numbers that only look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }
}

/// A log of ordinary requests, and of what these events add: each is its kind and a number to draw
/// from.
fn generated(events: &[(u8, u64)]) -> Vec<Sent> {
    let mut log: Vec<Sent> = Vec::new();
    let mut second = 1_793_606_460;
    let mut add = |dice: &mut Dice,
                   client: &'static str,
                   method: &'static str,
                   target: &str,
                   status: u16,
                   bytes: u64| {
        second += dice.below(4).cast_signed();
        let protocol = dice.pick(&["HTTP/1.1", "HTTP/1.1", "HTTP/2.0", "HTTP/1.0"]);
        let (referer, agent, target) =
            (dice.pick(&REFERERS), dice.pick(&AGENTS), target.to_owned());
        log.push(Sent {
            second,
            client,
            user: "-",
            method,
            target,
            protocol,
            status,
            bytes,
            referer,
            agent,
        });
        log.len() - 1
    };
    let mut changes = Vec::new();
    for (kind, seed) in [(7, 1), (7, 2)].iter().chain(events) {
        let dice = &mut Dice(*seed);
        let client = dice.pick(&CLIENTS);
        match kind % 8 {
            0 => {
                for _ in 0..5 {
                    let (method, target) = (
                        dice.pick(&["GET", "GET", "POST", "HEAD"]),
                        dice.pick(&PROBES),
                    );
                    let (status, bytes) =
                        (dice.pick(&[404, 404, 403, 200, 301]), 50 + dice.below(4000));
                    add(dice, client, method, target, status, bytes);
                }
            }
            1 => {
                let bytes = 1000 + dice.below(4000);
                let random = format!("/random/{}", dice.below(999));
                for target in [
                    "/.env",
                    "/.git/config",
                    "/phpinfo.php",
                    "/nope",
                    "/wp-login.php",
                    "/backup.zip",
                    random.as_str(),
                    "/",
                ] {
                    add(dice, client, "GET", target, 200, bytes);
                }
            }
            2 => {
                let status = dice.pick(&[200, 302, 401, 403]);
                for _ in 0..40 {
                    let number = add(dice, client, "POST", "/wp-login.php", status, 4523);
                    changes.push((number, "-", "x"));
                }
            }
            3 => {
                for client in [CLIENTS[0], CLIENTS[3], client] {
                    for target in [
                        "/",
                        "/wp-content/themes/t/style.css",
                        "/wp-includes/js/jquery/jquery.min.js",
                        "/wp-login.php",
                        "/wp-admin/admin-ajax.php",
                    ] {
                        let bytes = 1000 + dice.below(90_000);
                        let number = add(dice, client, "GET", target, 200, bytes);
                        changes.push((number, "-", AGENTS[0]));
                    }
                }
            }
            4 => {
                add(dice, client, "GET", "/admin/", 401, 180);
                for target in ["/admin/", "/admin/.env"] {
                    let number = add(dice, client, "GET", target, 200, 77);
                    changes.push((number, "bob", AGENTS[1]));
                }
            }
            5 => {
                let much = format!("/{}", "a".repeat(300));
                for (method, target, status) in [
                    ("GET", "/video.mp4", 206),
                    ("OPTIONS", "*", 200),
                    ("HEAD", "/", 200),
                    ("PROPFIND", "/", 405),
                    ("GET", much.as_str(), 414),
                    ("CONNECT", "example.org:443", 400),
                    ("GET", "http://example.org/", 400),
                ] {
                    add(dice, client, method, target, status, 157);
                }
            }
            _ => {
                for number in 0..12 {
                    let page = format!("/p/{number}?n={}", dice.below(99));
                    let (client, target) = (
                        dice.pick(&CLIENTS),
                        dice.pick(&["/", "/about", "/css/site.css?v=2", page.as_str()]),
                    );
                    let (status, bytes) = (
                        dice.pick(&[200, 200, 304, 302, 404]),
                        100 + dice.below(9000),
                    );
                    add(dice, client, "GET", target, status, bytes);
                }
            }
        }
    }
    for (number, user, agent) in changes {
        (log[number].user, log[number].agent) = (user, agent);
    }
    log
}

fn time(second: i64, form: &str) -> String {
    jiff::Timestamp::from_second(second)
        .unwrap()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .strftime(form)
        .to_string()
}

/// As nginx escapes texts.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\x{byte:02X}"),
        other => char::from(other).to_string(),
    };
    if text.is_empty() {
        "-".to_owned()
    } else {
        text.bytes().map(byte).collect()
    }
}

fn combined_line(r: &Sent) -> String {
    let Sent {
        client,
        user,
        method,
        protocol,
        status,
        bytes,
        ..
    } = r;
    let (time, target, referer, agent) = (
        time(r.second, "%d/%b/%Y:%H:%M:%S %z"),
        escaped(&r.target),
        escaped(r.referer),
        escaped(r.agent),
    );
    format!(
        r#"{client} - {user} [{time}] "{method} {target} {protocol}" {status} {bytes} "{referer}" "{agent}""#
    )
}

/// How a format writes a request, and what it lacks.
struct Writer {
    name: &'static str,
    has_host: bool,
    has_user: bool,
    head: &'static str,
    string: Option<&'static str>,
    line: fn(&Sent) -> String,
}

const FORMAT_STRING: &str = "$time_iso8601|$status|$remote_addr|$request|$body_bytes_sent|$http_referer|$http_user_agent|$remote_user";
const FORMAT_STRING_OF_PARTS: &str = r#"$host $remote_addr $remote_user [$time_local] $request_method "$request_uri" $server_protocol $status $bytes_sent "$http_referer" "$http_user_agent""#;
const W3C_HEAD: &str = "#Version: 1.0\n#Fields: date time c-ip cs-username cs-method cs-host cs-uri-stem cs-uri-query cs-version sc-status sc-bytes cs(User-Agent) cs(Referer)\n";

const fn writer(name: &'static str, has_host: bool, line: fn(&Sent) -> String) -> Writer {
    Writer {
        name,
        has_host,
        has_user: true,
        head: "",
        string: None,
        line,
    }
}

fn writers() -> [Writer; 14] {
    fn iso(r: &Sent) -> String {
        time(r.second, "%Y-%m-%dT%H:%M:%SZ")
    }
    fn column(text: &str) -> String {
        format!("\"{}\"", text.replace('"', "\"\""))
    }
    fn quoted(text: &str) -> String {
        format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
    }
    let nginx_json = |r: &Sent| {
        let request = format!("{} {} {}", r.method, r.target, r.protocol);
        json!({"time": iso(r), "remote_addr": r.client, "remote_user": r.user, "request": request, "status": r.status, "body_bytes_sent": r.bytes, "http_referer": r.referer, "http_user_agent": r.agent}).to_string()
    };
    let caddy = |r: &Sent| {
        let sent = |text: &str| {
            if matches!(text, "" | "-") {
                json!([])
            } else {
                json!([text])
            }
        };
        let request = json!({"remote_ip": r.client, "remote_port": "5712", "client_ip": r.client, "proto": r.protocol, "method": r.method, "host": HOST, "uri": r.target, "headers": {"User-Agent": sent(r.agent), "Referer": sent(r.referer)}});
        json!({"level": "info", "ts": r.second, "logger": "http.log.access", "msg": "handled request", "request": request, "user_id": r.user, "size": r.bytes, "status": r.status}).to_string()
    };
    let traefik = |r: &Sent| {
        json!({"ClientHost": r.client, "ClientUsername": r.user, "DownstreamContentSize": r.bytes, "DownstreamStatus": r.status, "RequestHost": HOST, "RequestMethod": r.method, "RequestPath": r.target, "RequestProtocol": r.protocol, "StartUTC": iso(r), "request_Referer": r.referer, "request_User-Agent": r.agent, "level": "info", "msg": ""}).to_string()
    };
    let w3c = |r: &Sent| {
        let (path, query) = r.target.split_once('?').unwrap_or((&r.target, "-"));
        let [agent, referer] = [r.agent, r.referer].map(|text| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                text.replace(' ', "+")
            }
        });
        let time = time(r.second, "%Y-%m-%d %H:%M:%S");
        format!(
            "{time} {} {} {} {HOST} {path} {query} {} {} {} {agent} {referer}",
            r.client, r.user, r.method, r.protocol, r.status, r.bytes
        )
    };
    let proxy_manager = |r: &Sent| {
        let Sent {
            client,
            method,
            status,
            bytes,
            ..
        } = r;
        let (time, target) = (time(r.second, "%d/%b/%Y:%H:%M:%S %z"), escaped(&r.target));
        let (agent, referer) = (escaped(r.agent), escaped(r.referer));
        format!(
            r#"[{time}] - {status} {status} - {method} https {HOST} "{target}" [Client {client}] [Length {bytes}] [Gzip -] [Sent-to 10.0.0.7] "{agent}" "{referer}""#
        )
    };
    let pairs = |r: &Sent| {
        let Sent {
            client,
            user,
            method,
            protocol,
            status,
            bytes,
            ..
        } = r;
        let (target, agent, referer) = (quoted(&r.target), quoted(r.agent), quoted(r.referer));
        format!(
            r#"time={} level=info msg="request completed" method={method} path={target} proto={protocol} status={status} bytes={bytes} remote_ip={client} user={user} host={HOST} referer={referer} user_agent={agent}"#,
            iso(r)
        )
    };
    let csv = |r: &Sent| {
        let (target, agent, referer) = (
            column(&r.target.replace('\\', r"\\")),
            column(&r.agent.replace('\\', r"\\")),
            column(r.referer),
        );
        format!(
            "{},{},{},{target},{},{},{},{HOST},{referer},{agent}",
            iso(r),
            r.client,
            r.method,
            r.protocol,
            r.status,
            r.bytes
        )
    };
    let pipes = |r: &Sent| {
        let Sent {
            client,
            method,
            protocol,
            status,
            bytes,
            ..
        } = r;
        let time = time(r.second, "%d/%b/%Y:%H:%M:%S %z");
        let (target, agent, referer) = (escaped(&r.target), escaped(r.agent), escaped(r.referer));
        format!(
            "{client} | [{time}] | {method} {target} {protocol} | {status} | {bytes} | {referer} | {agent} | {HOST}"
        )
    };
    let string = |r: &Sent| {
        let Sent {
            client,
            user,
            method,
            protocol,
            status,
            bytes,
            ..
        } = r;
        let (target, agent, referer) = (escaped(&r.target), escaped(r.agent), escaped(r.referer));
        format!(
            "{}|{status}|{client}|{method} {target} {protocol}|{bytes}|{referer}|{agent}|{user}",
            iso(r)
        )
    };
    let parts = |r: &Sent| {
        let Sent {
            client,
            user,
            method,
            protocol,
            status,
            bytes,
            ..
        } = r;
        let time = time(r.second, "%d/%b/%Y:%H:%M:%S %z");
        let (target, agent, referer) = (escaped(&r.target), escaped(r.agent), escaped(r.referer));
        format!(
            r#"{HOST} {client} {user} [{time}] {method} "{target}" {protocol} {status} {bytes} "{referer}" "{agent}""#
        )
    };
    [
        writer("nginx's JSON", false, nginx_json),
        writer("Caddy", true, caddy),
        writer("Traefik", true, traefik),
        Writer {
            head: W3C_HEAD,
            ..writer("W3C", true, w3c)
        },
        Writer {
            has_user: false,
            ..writer("Nginx Proxy Manager", true, proxy_manager)
        },
        Writer {
            has_user: false,
            ..writer("pairs", true, pairs)
        },
        Writer {
            has_user: false,
            head: "time,client,method,target,protocol,status,bytes,host,referer,agent\n",
            ..writer("CSV", true, csv)
        },
        Writer {
            has_user: false,
            ..writer("pipes", true, pipes)
        },
        writer("CRI", false, |r| {
            format!(
                "{}.669794202Z stdout F {}",
                time(r.second, "%Y-%m-%dT%H:%M:%S"),
                combined_line(r)
            )
        }),
        writer("syslog", false, |r| {
            format!(
                "<190>{} web nginx: {}",
                time(r.second, "%b %e %H:%M:%S"),
                combined_line(r)
            )
        }),
        writer("docker", false, |r| {
            json!({"log": combined_line(r) + "\n", "stream": "stdout", "time": iso(r)}).to_string()
        }),
        Writer {
            head: "time,message\n",
            ..writer("a column of CSV", false, |r| {
                format!("{},{}", iso(r), column(&combined_line(r)))
            })
        },
        Writer {
            string: Some(FORMAT_STRING),
            ..writer("a format string", false, string)
        },
        Writer {
            string: Some(FORMAT_STRING_OF_PARTS),
            ..writer("a format string of parts", true, parts)
        },
    ]
}

/// A text of a report without the escapes of its log.
fn without_escapes(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let hex = after
            .get(1..3)
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        let (byte, length) = match (first, after.first()) {
            (b'\\', Some(b'x')) if hex.is_some() => (hex.unwrap(), 4),
            (b'\\', Some(escaped)) => (*escaped, 2),
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a report says of requests: without the names of formats, places in the log, and the
/// spelling of texts.
fn said_of_requests(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["id", "line", "offset", "evidence", "format", "problem"] {
                fields.remove(name);
            }
            if fields.contains_key("oversized") {
                for name in ["bytes", "lines", "unparsed", "skipped"] {
                    fields.remove(name);
                }
            }
            for (name, value) in fields {
                match value {
                    Value::String(text)
                        if matches!(&**name, "target" | "user_agent" | "referer" | "command") =>
                    {
                        *text = without_escapes(text);
                    }
                    other => said_of_requests(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(said_of_requests),
        _ => {}
    }
}

fn report_of(harness: &Harness, writer: &Writer, text: &str) -> Value {
    harness.file("access.log", text);
    let string = writer.string.map(|string| ["--log-format", string]);
    let (_, mut report) = harness.json(
        ["--min-severity", "info"]
            .iter()
            .chain(string.iter().flatten())
            .chain(&["access.log"]),
    );
    said_of_requests(&mut report);
    report
}

/// The first places where two reports differ.
fn differences(path: &str, a: &Value, b: &Value, out: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let of = |map: &serde_json::Map<String, Value>, key| {
                map.get(key).cloned().unwrap_or_default()
            };
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                differences(&format!("{path}.{key}"), &of(a, key), &of(b, key), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter()
                .zip(b)
                .enumerate()
                .for_each(|(at, (a, b))| differences(&format!("{path}[{at}]"), a, b, out));
        }
        _ if a == b || out.len() > 8 => {}
        _ => out.push(format!("{path}: {a} is {b}")),
    }
}

/// Checks that these requests have the same report in all formats.
fn assert_same_in_all_formats(log: &[Sent]) {
    let harness = Harness::new();
    let mut expected = std::collections::HashMap::new();
    for writer in writers() {
        let of = (writer.has_host, writer.has_user);
        let expected = expected.entry(of).or_insert_with(|| {
            let line = |r: &Sent| {
                let line = combined_line(&Sent {
                    user: if writer.has_user { r.user } else { "-" },
                    ..r.clone()
                });
                if writer.has_host {
                    format!("{HOST} {line}\n")
                } else {
                    line + "\n"
                }
            };
            report_of(
                &harness,
                &Writer {
                    string: None,
                    ..writer
                },
                &log.iter().map(line).collect::<String>(),
            )
        });
        let text = writer.head.to_owned()
            + &log
                .iter()
                .map(|r| (writer.line)(r) + "\n")
                .collect::<String>();
        let found = report_of(&harness, &writer, &text);
        let mut places = Vec::new();
        differences("", expected, &found, &mut places);
        assert!(places.is_empty(), "{}: {places:#?}", writer.name);
    }
}

/// Cases of the property: few, or as many as `PROBEWATCH_FORMAT_CASES` says.
fn format_cases() -> u32 {
    std::env::var("PROBEWATCH_FORMAT_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(2)
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { cases: format_cases(), failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn requests_have_the_same_report_in_all_formats(events in proptest::collection::vec((0_u8..8, proptest::num::u64::ANY), 0..7)) {
        assert_same_in_all_formats(&generated(&events));
    }
}

/// Ten writers of JSON.
fn json_writers() -> Vec<Writer> {
    fn iso(r: &Sent) -> String {
        time(r.second, "%Y-%m-%dT%H:%M:%SZ")
    }
    let google = |r: &Sent| {
        let request = json!({"requestMethod": r.method, "requestUrl": r.target, "status": r.status, "responseSize": r.bytes.to_string(), "userAgent": r.agent, "remoteIp": r.client, "referer": r.referer, "protocol": r.protocol});
        json!({"httpRequest": request, "timestamp": iso(r), "jsonPayload": {"statusDetails": "x"}, "resource": {"type": "http_load_balancer"}}).to_string()
    };
    let gateway = |r: &Sent| {
        json!({"requestId": "x", "ip": r.client, "requestTime": time(r.second, "%d/%b/%Y:%H:%M:%S %z"), "httpMethod": r.method, "path": r.target, "status": r.status.to_string(), "protocol": r.protocol, "responseLength": r.bytes.to_string(), "userAgent": r.agent}).to_string()
    };
    let cloudflare = |r: &Sent| {
        json!({"ClientIP": r.client, "ClientRequestHost": HOST, "ClientRequestMethod": r.method, "ClientRequestURI": r.target, "ClientRequestProtocol": r.protocol, "EdgeResponseStatus": r.status, "EdgeResponseBytes": r.bytes, "EdgeStartTimestamp": iso(r), "ClientRequestUserAgent": r.agent, "ClientRequestReferer": r.referer}).to_string()
    };
    let pino = |r: &Sent| {
        let request = json!({"id": 1, "method": r.method, "url": r.target, "headers": {"user-agent": r.agent, "referer": r.referer}, "remoteAddress": r.client, "remotePort": 5712});
        json!({"level": 30, "time": r.second * 1000, "req": request, "res": {"statusCode": r.status}, "responseTime": 3, "msg": "request completed"}).to_string()
    };
    let envoy = |r: &Sent| {
        json!({"start_time": iso(r), "method": r.method, "path": r.target, "protocol": r.protocol, "response_code": r.status, "bytes_sent": r.bytes, "downstream_remote_address": format!("{}:5712", r.client), "user_agent": r.agent, "authority": HOST}).to_string()
    };
    let elastic = |r: &Sent| {
        let http = json!({"request": {"method": r.method, "referrer": r.referer}, "response": {"status_code": r.status, "body": {"bytes": r.bytes}}, "version": "1.1"});
        json!({"@timestamp": iso(r), "source": {"address": r.client, "ip": r.client}, "http": http, "url": {"original": r.target}, "user_agent": {"original": r.agent}}).to_string()
    };
    let front_door = |r: &Sent| {
        let properties = json!({"httpMethod": r.method, "requestUri": r.target, "httpStatusCode": r.status.to_string(), "clientIp": r.client, "userAgent": r.agent, "referer": r.referer, "httpVersion": "1.1"});
        json!({"time": iso(r), "category": "FrontDoorAccessLog", "properties": properties})
            .to_string()
    };
    let of_others = [
        writer("Google Cloud", false, google),
        writer("API Gateway", false, gateway),
        writer("Cloudflare", false, cloudflare),
        writer("pino", false, pino),
        writer("Envoy", false, envoy),
        writer("Elastic", false, elastic),
        writer("Front Door", false, front_door),
    ];
    let known = writers()
        .into_iter()
        .filter(|writer| matches!(writer.name, "nginx's JSON" | "Caddy" | "Traefik"));
    known.chain(of_others).collect()
}

/// A line with members whose keys a client chose: at its start, at its end, or in the object of an
/// application.
fn with_hostile_members(line: &str, dice: &mut Dice) -> String {
    let mut line = line.to_owned();
    for _ in 0..=dice.below(2) {
        let name = dice.pick(&[
            "Remote-Addr",
            "RemoteIp",
            "ClientHost",
            "c-ip",
            "client_ip",
            "ip",
            "httpRequest",
            "request",
            "method",
            "Uri",
            "url",
            "path",
            "status",
            "StatusCode",
            "time",
            "timestamp",
            "user",
            "Remote-User",
            "Protocol",
        ]);
        let value = dice.pick(&[
            "\"203.0.113.66\"",
            "\"GET /.git/config HTTP/1.1\"",
            "200",
            "\"DELETE\"",
            "1",
            "{\"remoteIp\":\"203.0.113.66\",\"status\":200}",
        ]);
        let member = match dice.below(4) {
            0 => format!(
                "\"{}\":{{\"{name}\":{value}}}",
                dice.pick(&["headers", "query", "params", "cookies", "requestHeaders"])
            ),
            1 => format!(
                "\"{}{name}\":{value}",
                dice.pick(&[
                    "req.headers.",
                    "request.headers.",
                    "query.",
                    "cookies.",
                    "http.request.header."
                ])
            ),
            2 => format!("\"headers\":[{{\"name\":\"{name}\",\"value\":{value}}}]"),
            _ => format!("\"list\":[{{\"{name}\":{value}}}]"),
        };
        match (dice.below(3), line.find("\"jsonPayload\":{")) {
            (0, Some(payload)) => line.insert_str(
                payload + "\"jsonPayload\":{".len(),
                &format!("\"{name}\":{value},"),
            ),
            (1, _) => line.insert_str(line.len() - 1, &format!(",{member}")),
            _ => line.insert_str(1, &format!("{member},")),
        }
    }
    line
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { cases: format_cases(), failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_key_that_a_client_chose_changes_a_report(events in proptest::collection::vec((0_u8..8, proptest::num::u64::ANY), 1..5), seed: u64) {
        let (harness, log, mut dice) = (Harness::new(), generated(&events), Dice(seed));
        for of_json in json_writers() {
            let Writer { name, line, .. } = of_json;
            let clean: Vec<_> = log.iter().map(line).collect();
            let hostile: String = clean.iter().map(|line| with_hostile_members(line, &mut dice) + "\n").collect();
            let expected = report_of(&harness, &of_json, &(clean.join("\n") + "\n"));
            assert_eq!((&expected["inputs"][0]["parsed"], expected["clients"][0]["client"] == "-"), (&json!(log.len()), false), "{name}");
            let mut places = Vec::new();
            differences("", &expected, &report_of(&harness, &of_json, &hostile), &mut places);
            assert!(places.is_empty(), "{name}: {places:#?}\n{hostile}");
        }
    }
}

/// The client in a forged line, and the client that sends it.
const FORGED: &str = "203.0.113.66";
const SENDER: &str = "198.51.100.200";

/// More shapes of lines.
fn prefixed_writers() -> [Writer; 7] {
    fn tabs(r: &Sent) -> String {
        let Sent {
            client,
            method,
            protocol,
            status,
            bytes,
            ..
        } = r;
        let (time, target, agent) = (
            time(r.second, "%Y-%m-%dT%H:%M:%SZ"),
            escaped(&r.target),
            escaped(r.agent),
        );
        format!("{time}\t{client}\t{method}\t{target}\t{protocol}\t{status}\t{bytes}\t{agent}")
    }
    fn padded(r: &Sent) -> String {
        let Sent {
            client,
            method,
            protocol,
            status,
            ..
        } = r;
        let (time, target, agent) = (
            time(r.second, "%Y/%m/%d - %H:%M:%S"),
            escaped(&r.target),
            escaped(r.agent),
        );
        format!(
            "[APP] {time} |{status:>5} | {client:>15} | {method:<7} \"{target}\" {protocol} | {agent}"
        )
    }
    [
        writer("docker compose", false, |r| {
            format!("web-1  | {}", combined_line(r))
        }),
        writer("kubectl", false, |r| {
            format!("[pod/web-7d9c7b6f5-x2x8k/nginx] {}", combined_line(r))
        }),
        writer("quoted lines", false, |r| {
            format!("\"{}\"", combined_line(r))
        }),
        writer("a logger", false, |r| {
            format!(
                "{} INFO [exec-1] access - {}",
                time(r.second, "%Y-%m-%d %H:%M:%S,123"),
                combined_line(r)
            )
        }),
        writer("a time first", false, |r| {
            format!(
                "{} {}",
                time(r.second, "%Y-%m-%dT%H:%M:%SZ"),
                combined_line(r)
            )
        }),
        writer("tabs", false, tabs),
        writer("padded columns", false, padded),
    ]
}

/// The rows of a report that say nothing of the sender of forged lines.
fn rows_of_others(report: &Value) -> Vec<Value> {
    let rows = ["clients", "pairs"]
        .iter()
        .flat_map(|name| report[name].as_array().unwrap());
    rows.filter(|row| row["client"] != SENDER)
        .cloned()
        .collect()
}

/// Whole log lines as agent, referer, query and user in the first lines of a log, where formats and
/// layouts are found out.
#[test]
fn hostile_first_lines_change_no_report() {
    let harness = Harness::new();
    let log = generated(&[(0, 1), (0, 2), (2, 3), (6, 4)]);
    let first = Sent {
        client: SENDER,
        target: "/".to_owned(),
        status: 200,
        bytes: 5000,
        user: "-",
        referer: "-",
        agent: "x",
        ..log[0].clone()
    };
    let forged = Sent {
        client: FORGED,
        target: "/.git/config".to_owned(),
        agent: "-",
        ..first.clone()
    };
    let text_of = |writer: &Writer, head: &[Sent]| -> String {
        writer.head.to_owned()
            + &head
                .iter()
                .chain(&log)
                .map(|r| (writer.line)(r) + "\n")
                .collect::<String>()
    };
    let mut wrong = Vec::new();
    for writer in writers().into_iter().chain(prefixed_writers()) {
        let clean = report_of(
            &harness,
            &writer,
            &text_of(&writer, &vec![first.clone(); 40]),
        );
        let expected = rows_of_others(&clean);
        assert!(expected.len() > 10, "{}: {clean}", writer.name);
        let lines = [(writer.line)(&forged), combined_line(&forged)];
        for place in ["agent", "referer", "query", "user"] {
            let hostile = |number: usize| {
                let text: &'static str = lines[number % 2].clone().leak();
                match place {
                    "agent" => Sent {
                        agent: text,
                        ..first.clone()
                    },
                    "referer" => Sent {
                        referer: text,
                        ..first.clone()
                    },
                    "query" => Sent {
                        target: format!("/?q={text}"),
                        ..first.clone()
                    },
                    _ => Sent {
                        user: escaped(text).leak(),
                        ..first.clone()
                    },
                }
            };
            let text = text_of(&writer, &(0..40).map(hostile).collect::<Vec<_>>());
            let string = writer.string.map(|string| ["--log-format", string]);
            harness.file("access.log", &text);
            let args = ["--min-severity", "info"];
            let (run, report) = harness.json(
                args.iter()
                    .chain(string.iter().flatten())
                    .chain(&["access.log"]),
            );
            let is_said = run.code == 3 && run.stderr.contains("access.log");
            let found = rows_of_others(&{
                let mut report = report.clone();
                said_of_requests(&mut report);
                report
            });
            let is_forged = found.iter().any(|row| row["client"] == FORGED);
            if is_forged || found != expected && !is_said {
                wrong.push(format!(
                    "{}, {place}, forged: {is_forged}, {}",
                    writer.name, run.stderr
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A time that no form explains, a client that is no address and a status in words: each is read in
/// most programs' logs, so each is worth a warning, which `-q` does not hide.
#[test]
fn fields_that_were_not_read_are_in_a_warning() {
    let harness = Harness::new();
    let log = |line: &str| {
        (0..10)
            .map(|n| line.replace('#', &n.to_string()))
            .collect::<String>()
    };
    let time = log("[W 330/2026 12:00:0# web:2271] 404 GET /.env (203.0.113.5) 0.47ms\n");
    let client = log("515 - - [26/Nov/2026:12:00:0# +0000] \"GET /.env HTTP/1.1\" 404 162\n");
    // Without a format that was given, a log in which no line has a client is in a layout without
    // one, which a note says.
    for (text, field, typed, format) in [
        (&time, "time", "$time", &[][..]),
        (
            &client,
            "client",
            "$remote_addr",
            &["--log-format", "common"],
        ),
    ] {
        harness.file("odd.log", text);
        let sentence = format!("the {field} of 10 of 10 lines that match a rule was not read");
        let (run, report) = harness.json([&["-q", "odd.log"], format].concat());
        let expected = format!("warning: odd.log: {sentence}");
        assert!(
            run.stderr.starts_with(&expected) && run.stderr.contains(typed) && run.code == 0,
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(
            report["inputs"][0]["warning"]
                .as_str()
                .is_some_and(|warning| warning.starts_with(&sentence)),
            "{report}"
        );
        let run =
            harness.run_with_stdin([&["follow", "-q", "-"], format].concat(), text.as_bytes());
        assert!(
            run.stderr.contains(&sentence) && run.text().contains(&sentence[..40]),
            "{}{}",
            run.stderr,
            run.text()
        );
    }
    // A part of the lines is the work of clients.
    let read = log("203.0.113.5 - - [26/Nov/2026:12:00:0# +0000] \"GET /.env HTTP/1.1\" 404 162\n");
    for (odd, is_said) in [(5, false), (6, true)] {
        let lines: Vec<&str> = client
            .lines()
            .take(odd)
            .chain(read.lines().take(10 - odd))
            .collect();
        harness.file("odd.log", lines.join("\n"));
        assert_eq!(
            harness
                .run(["scan", "-q", "odd.log"])
                .stderr
                .contains("the client of"),
            is_said,
            "{odd} of 10"
        );
    }
    // A text of the client is no time of the log.
    harness.file(
        "odd.log",
        log("203.0.113.5 GET /.env?2026-11-26T12:00:0# 404\n"),
    );
    assert_eq!(harness.run(["scan", "-q", "odd.log"]).stderr, "");
}

/// DEBUG and TRACE are methods, and levels of the logs of programs.
#[test]
fn a_level_is_no_method() {
    let harness = Harness::new();
    let line = |path: &str| {
        format!(
            "2026-11-26T12:00:01.1Z DEBUG request{{method=GET uri={path} version=HTTP/1.1}}: on_response: latency=0 ms status=200\n"
        )
    };
    harness.file("app.log", line("/").repeat(9) + &line("/.env"));
    let (_, report) = harness.json(["app.log"]);
    assert_eq!(
        (&report["totals"]["hits"], &report["paths"][0]["path"]),
        (&json!(1), &json!("/.env")),
        "{report}"
    );
}
