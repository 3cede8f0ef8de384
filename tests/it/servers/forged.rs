//! What a client sends to a real server makes no other address the client, and hides neither itself
//! nor others.

use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;

use serde_json::Value;

use super::{apache, nginx};
use crate::harness::{Harness, Rng};

/// The address that a client pretends to have.
const FORGED: &str = "66.249.66.1";

/// What a client sends in a request: texts that may stand in a log line.
#[derive(Clone, Default)]
struct Sent {
    host: String,
    user: String,
    forwarded: String,
    referer: String,
    agent: String,
    path: String,
}

impl Sent {
    fn new(path: &str) -> Self {
        let text = str::to_owned;
        Self {
            host: text("site.example"),
            agent: text("curl/8"),
            path: text(path),
            ..Self::default()
        }
    }

    /// The request of this client.
    fn request(&self, client: &str) -> Vec<u8> {
        let Self {
            host,
            user,
            forwarded,
            referer,
            agent,
            path,
        } = self;
        let mut text = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Test-Client: {client}\r\nUser-Agent: {agent}\r\n"
        );
        if !user.is_empty() {
            let _ = write!(
                text,
                "Authorization: Basic {}\r\n",
                base64(format!("{user}:x").as_bytes())
            );
        }
        for (name, value) in [("X-Forwarded-For", forwarded), ("Referer", referer)] {
            if !value.is_empty() {
                let _ = write!(text, "{name}: {value}\r\n");
            }
        }
        (text + "Connection: close\r\n\r\n").into_bytes()
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or_default())
        });
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

/// A text of pieces of log lines.
fn text(rng: &mut Rng) -> String {
    const PIECES: [&str; 22] = [
        FORGED,
        FORGED,
        " - ",
        " - ",
        "-",
        " ",
        " ",
        "x",
        "[",
        "] ",
        " [",
        "\"",
        "\\",
        ", ",
        "|",
        "site.example",
        ":80",
        " \"-\" ",
        "=",
        "[01/Jan/2020:00:00:00 +0000] ",
        "01/Jan/2020:00:00:00 +0000",
        "GET / HTTP/1.1",
    ];
    (0..rng.below(7))
        .map(|_| PIECES[rng.below(PIECES.len() as u64) as usize])
        .collect()
}

/// Requests of many clients with forged texts, among ordinary ones.
fn forged_requests() -> Vec<Sent> {
    let mut rng = Rng::new();
    let mut requests = vec![Sent::new("/.env"); 20];
    for number in 0..180 {
        let mut one = Sent::new("/.env");
        for (bit, field) in [
            &mut one.host,
            &mut one.user,
            &mut one.forwarded,
            &mut one.referer,
            &mut one.agent,
        ]
        .into_iter()
        .enumerate()
        {
            // Each field alone, and all together.
            if number % 6 == bit || number % 6 == 5 {
                *field = text(&mut rng)
                    .trim()
                    .replace(if bit == 1 { ":" } else { "\0" }, "");
            }
        }
        requests.push(one);
    }
    requests
}

/// The client of a request by its number.
fn client(number: usize) -> String {
    format!("9.9.{}.{}", number / 200, number % 200 + 1)
}

fn as_bytes(requests: &[Sent]) -> Vec<Vec<u8>> {
    requests
        .iter()
        .enumerate()
        .map(|(number, sent)| sent.request(&client(number)))
        .collect()
}

/// The client of each hit, by its line from 0.
fn clients_of(harness: &Harness, args: &[&str]) -> Vec<(usize, String)> {
    let run = harness.run(["scan", "-q", "-f", "ndjson"].iter().chain(args));
    let client = |hit: &Value| {
        (
            hit["line"].as_u64().unwrap() as usize - 1,
            hit["client"].as_str().unwrap().to_owned(),
        )
    };
    run.objects().iter().map(client).collect()
}

/// Fails if a hit has another address as its client than that of its request. Returns the number of
/// hits with a client.
fn assert_no_other_client(harness: &Harness, args: &[&str], what: &str) -> usize {
    let hits = clients_of(harness, args);
    assert!(hits.len() >= 100, "{what}: {} hits", hits.len());
    for (line, found) in &hits {
        assert!(
            *found == client(*line) || is_refused(found) || found.parse::<IpAddr>().is_err(),
            "{what}: line {line} has the client {found}"
        );
    }
    hits.iter().filter(|(_, found)| found != "-").count()
}

/// Whether a line has the address of the connection, as if the server refuses the host.
fn is_refused(client: &str) -> bool {
    client == "127.0.0.1"
}

/// Formats with what a client chooses before the client, or in its place.
const NGINX: [(&str, &str); 9] = [
    (
        "host",
        r#"$http_host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
    ),
    (
        "vhost",
        r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
    ),
    (
        "port",
        r#"$host:$server_port $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#,
    ),
    (
        "alone",
        r#"$http_host $remote_addr [$time_local] "$request" $status $body_bytes_sent"#,
    ),
    (
        "forwarded",
        r#"$http_x_forwarded_for - $remote_user [$time_local] "$request" $status $body_bytes_sent"#,
    ),
    (
        "both",
        r#"$http_x_forwarded_for $remote_addr $remote_user [$time_local] "$request" $status"#,
    ),
    (
        "piped",
        "$http_user_agent|$http_referer|$remote_addr|$remote_user|$time_iso8601|$request|$status",
    ),
    (
        "json",
        r#"{"agent":"$http_user_agent","user":"$remote_user","ip":"$remote_addr","request":"$request","status":$status}"#,
    ),
    (
        "main",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#,
    ),
];

const APACHE: [(&str, &str); 5] = [
    (
        "host",
        r#"%{Host}i %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""#,
    ),
    ("vhost", r#"%V %a - %u %t \"%r\" %>s %b"#),
    (
        "vhost_combined",
        r#"%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""#,
    ),
    ("forwarded", r#"%{X-Forwarded-For}i %l %u %t \"%r\" %>s %b"#),
    ("piped", r"%{User-Agent}i|%{Referer}i|%a|%u|%t|%r|%>s"),
];

const APACHE_MODULES: [&str; 5] = [
    "authn_core",
    "authn_file",
    "auth_basic",
    "authz_user",
    "env",
];

fn nginx_logs(test: &str, requests: &[Sent]) -> Option<Harness> {
    let formats: String = NGINX
        .map(|(name, format)| format!("log_format {name} '{format}';\n"))
        .concat();
    let sites: String = NGINX
        .map(|(name, _)| format!("access_log log/{name}.log {name};\n"))
        .concat();
    let requests = as_bytes(requests);
    let requests: Vec<&[u8]> = requests.iter().map(Vec::as_slice).collect();
    nginx::write_logs(
        test,
        &sites,
        &formats,
        &NGINX.map(|(name, _)| name),
        &requests,
    )
    .map(|(harness, _)| harness)
}

fn apache_logs(test: &str, requests: &[Sent]) -> Option<Harness> {
    // The user is logged if it is required; no user is known.
    let mut sites = String::from(
        "<Location />\nAuthType Basic\nAuthName x\nAuthUserFile /dev/null\nRequire valid-user\n</Location>\n",
    );
    for (name, format) in APACHE {
        let _ = write!(
            sites,
            "LogFormat \"{format}\" {name}\nCustomLog ${{LOGS}}/{name}.log {name}\n"
        );
    }
    let requests = as_bytes(requests);
    let requests: Vec<&[u8]> = requests.iter().map(Vec::as_slice).collect();
    apache::write_logs(
        test,
        &sites,
        &APACHE_MODULES,
        &APACHE.map(|(name, _)| name),
        &requests,
    )
    .map(|(harness, _)| harness)
}

/// The formats by name, and the flag for the configuration.
type LogsOfServer = (Harness, Vec<(&'static str, String)>, &'static str);

fn logs_of_both(test: &str, requests: &[Sent]) -> Vec<LogsOfServer> {
    let nginx = nginx_logs(test, requests).map(|harness| {
        let formats = NGINX
            .iter()
            .map(|(name, format)| (*name, (*format).to_owned()))
            .collect();
        (harness, formats, "--from-nginx=nginx.conf")
    });
    let apache = apache_logs(test, requests).map(|harness| {
        let formats = APACHE
            .iter()
            .map(|(name, format)| (*name, format.replace("\\\"", "\"")))
            .collect();
        (harness, formats, "--from-apache=apache2.conf")
    });
    [nginx, apache].into_iter().flatten().collect()
}

#[test]
fn no_text_of_a_client_makes_another_address_the_client() {
    let requests = forged_requests();
    for (harness, formats, flag) in logs_of_both("forged texts", &requests) {
        for (name, format) in &formats {
            let log = format!("log/{name}.log");
            let what = format!("{flag} {name}");
            let known = assert_no_other_client(&harness, &["--log-format", format, &log], &what);
            // Nothing but the header of any client stands in the place of the client.
            assert_eq!(known == 0, *name == "forwarded", "{what}: {known}");
            if *name == "forwarded" {
                let run = harness.run(["scan", "--log-format", format, &log]);
                assert!(
                    run.stderr.contains("--client-from x-forwarded-for"),
                    "{}",
                    run.stderr
                );
                continue;
            }
            // Each ordinary line has its client, and most of the others.
            assert!(known >= 100, "{what}: {known}");
            let ordinary = clients_of(&harness, &["--log-format", format, &log]);
            assert!(
                ordinary
                    .iter()
                    .filter(|(line, _)| *line < 20)
                    .all(|(line, found)| *found == client(*line)),
                "{what}"
            );
            // Without a format, `66.249.66.1 - 9.9.9.9 [` is a line of the combined format, with a
            // user.
            if !["piped", "both", "json", "alone"].contains(name) {
                assert_no_other_client(&harness, &[&log], &format!("{what}, detected"));
            }
        }
        let run = harness.run(["block", "--ttl", "36500d", flag]);
        assert!(!run.text().contains(FORGED), "{}", run.text());
    }
}

/// `66.249.66.1, 203.0.113.9`: a proxy appended the second address, a client sent the first.
#[test]
fn a_forwarded_list_in_the_place_of_the_client_is_read_from_the_right() {
    let requests: Vec<Sent> = (0..20)
        .map(|number| Sent {
            forwarded: format!("{FORGED}, 203.0.113.{number}, 10.0.0.1"),
            ..Sent::new("/.env")
        })
        .collect();
    for (harness, formats, flag) in logs_of_both("forwarded lists", &requests) {
        let (_, format) = formats
            .iter()
            .find(|(name, _)| *name == "forwarded")
            .unwrap();
        let proxies = [
            "--client-from",
            "x-forwarded-for",
            "--trusted-proxy",
            "10.0.0.0/8",
        ];
        for (number, found) in clients_of(
            &harness,
            &[&proxies[..], &["--log-format", format, "log/forwarded.log"]].concat(),
        ) {
            assert_eq!(found, format!("203.0.113.{number}"), "{flag}");
        }
        assert!(
            clients_of(&harness, &["--log-format", format, "log/forwarded.log"])
                .iter()
                .all(|(_, found)| found == "-"),
            "{flag}"
        );
        let list = |args: &[&str]| {
            harness
                .run(
                    [
                        &[
                            "block",
                            "--ttl",
                            "36500d",
                            "--log-format",
                            format,
                            "log/forwarded.log",
                        ],
                        args,
                    ]
                    .concat(),
                )
                .text()
        };
        assert!(
            !list(&[]).contains(FORGED) && !list(&proxies).contains(FORGED),
            "{flag}"
        );
    }
}

/// The users and hosts of a client that wants to be unknown.
#[test]
fn no_text_of_a_client_hides_it() {
    let of_user = |user: &str| Sent {
        user: user.to_owned(),
        ..Sent::new("/.env")
    };
    let of_host = |host: &str| Sent {
        host: host.to_owned(),
        ..Sent::new("/.env")
    };
    let mut requests = vec![Sent::new("/.env"); 20];
    requests.extend(
        [
            "a b",
            "a b c d",
            "a 1.2.3.4",
            "1.2.3.4",
            "x [26/Nov/2026:10:00:00 +0000] y",
            "x [y",
            "a\"b \\ c",
        ]
        .map(of_user),
    );
    let users = requests.len();
    requests.extend(["a 1.2.3.4 - b", "1.2.3.4 - 5.6.7.8 - -"].map(of_user));
    let more_users = requests.len();
    requests.extend(["a\"b", "a[b", "a\\b", "a]b", "1.2.3.4"].map(of_host));
    let all = requests.len();
    for (harness, formats, flag) in logs_of_both("hidden clients", &requests) {
        for name in ["vhost", "port", "vhost_combined", "main", "host", "alone"] {
            let Some((_, format)) = formats.iter().find(|(known, _)| *known == name) else {
                continue;
            };
            let log = format!("log/{name}.log");
            for args in [&[&log[..]][..], &["--log-format", format, &log]] {
                // Two addresses with a dash after each are ambiguous where any text may be the
                // host. The ports of browsers are 80 and 443, so only a format states that another
                // port is of the server.
                let is_ambiguous = match name {
                    "vhost" | "host" => true,
                    "port" | "vhost_combined" => args.len() == 1,
                    _ => false,
                };
                let is_known = |line: usize| !is_ambiguous || line < users || line >= more_users;
                let hits = clients_of(&harness, args);
                assert_eq!(hits.len(), all, "{flag} {args:?}");
                for (line, found) in hits {
                    let is_right = found == client(line)
                        || found == "-" && !is_known(line)
                        || is_refused(&found) && line >= more_users;
                    assert!(
                        is_right,
                        "{flag} {args:?}: line {line} has the client {found}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_user_with_a_time_does_not_hide_the_time() {
    let user = "x [26/Nov/2016:10:00:00 +0000] y".to_owned();
    let requests = vec![
        Sent {
            user,
            ..Sent::new("/.env")
        };
        3
    ];
    for (harness, formats, flag) in logs_of_both("hidden times", &requests) {
        for (name, format) in formats
            .iter()
            .filter(|(name, _)| ["main", "vhost", "vhost_combined", "host"].contains(name))
        {
            let log = format!("log/{name}.log");
            let run = harness.run([
                "scan",
                "-q",
                "-f",
                "ndjson",
                "--since",
                "2020-01-01",
                "--log-format",
                format,
                &log,
            ]);
            let times: Vec<_> = run
                .objects()
                .iter()
                .map(|hit| hit["time"].clone())
                .collect();
            assert!(
                times.len() == 3
                    && times
                        .iter()
                        .all(|time| !time.as_str().unwrap_or("2016").starts_with("2016")),
                "{flag} {name}: {times:?}"
            );
        }
    }
}

/// Ordinary clients, a prober, and a single request with a forwarded client.
#[test]
fn one_request_with_a_forwarded_client_does_not_empty_the_list() {
    let mut requests: Vec<Sent> = (0..60)
        .map(|page| Sent::new(&format!("/page/{page}")))
        .collect();
    requests[7].forwarded = "1.2.3.4".into();
    requests[9].agent = "Forwarded: for=1.2.3.4".into();
    let sent: Vec<Vec<u8>> = as_bytes(&requests)
        .into_iter()
        .chain(
            [
                "/.env",
                "/.git/config",
                "/phpinfo.php",
                "/id_rsa",
                "/backup.sql",
            ]
            .map(|path| Sent::new(path).request("9.9.9.200")),
        )
        .collect();
    let sent: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
    let nginx = {
        let formats: String = NGINX
            .map(|(name, format)| format!("log_format {name} '{format}';\n"))
            .concat();
        let json = "log_format fields escape=json '{\"time\":\"$time_iso8601\",\"remote_addr\":\"$remote_addr\",\"request\":\"$request\",\"status\":\"$status\",\"http_user_agent\":\"$http_user_agent\"}';\n";
        nginx::write_logs(
            "lists",
            "access_log log/main.log main;\naccess_log log/fields.log fields;\n",
            &(formats + json),
            &["main", "fields"],
            &sent,
        )
    };
    let forwarded = "LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\" \\\"%{X-Forwarded-For}i\\\"\" main\nCustomLog ${LOGS}/main.log main\n";
    let apache = apache::write_logs("lists", forwarded, &[], &["main"], &sent);
    for (harness, _) in [nginx, apache].into_iter().flatten() {
        for log in ["log/main.log", "log/fields.log"]
            .into_iter()
            .filter(|log| harness.path(log).exists())
        {
            let run = harness.run(["block", "--ttl", "36500d", log]);
            let listed: Vec<_> = run
                .text()
                .lines()
                .filter(|line| !line.starts_with('#'))
                .map(str::to_owned)
                .collect();
            assert_eq!(listed, ["9.9.9.200"], "{log}: {}", run.stderr);
            let name = log.replace('/', "-");
            let list = format!("{name}.txt");
            let run = harness.run([
                "report",
                "--state",
                &name,
                "--out",
                &format!("{name}.out"),
                "--block-out",
                &list,
                "--block-format",
                "plain",
                log,
            ]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(
                fs::read_to_string(harness.path(&list))
                    .unwrap()
                    .contains("9.9.9.200"),
                "{log}: {}",
                run.stderr
            );
        }
    }
}
