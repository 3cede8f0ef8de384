//! nginx with its `log_format`s: the one it knows, the one packages have, a JSON map, nothing escaped, and one of its own kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Daemon;
use super::requests::{Request, lay_out_site};
use super::{Kind, Served};
use crate::harness::{Harness, skip};

const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// The logs, whether their formats are found out without a flag, and the formats as they are named or stand in the configuration.
const LOGS: [Kind; 5] =
    [("combined", true, "combined"), ("main", true, MAIN), ("json", true, JSON), ("none", true, NONE), ("piped", false, PIPED)];

/// What the server says of its logs; the formats stand in a file of their own.
const SITES: &str = r"
access_log log/combined.log;
access_log log/main.log main;
access_log log/json.log json;
access_log log/none.log none;
access_log log/piped.log piped;
access_log syslog:server=127.0.0.1:9 main if=$never;
";

const MAIN: &str = r#"log_format main '$remote_addr - $remote_user [$time_local] "$request" '
                '$status $body_bytes_sent "$http_referer" '
                '"$http_user_agent" "$http_x_forwarded_for"';
"#;

const JSON: &str = r#"log_format json escape=json
    '{'
        '"time":"$time_iso8601","client":"$remote_addr","host":"$host","request":"$request","uri":"$request_uri",'
        '"status":"$status","bytes":$body_bytes_sent,"duration":$request_time,'
        '"referer":"$http_referer","agent":"$http_user_agent","x_forwarded_for":"$http_x_forwarded_for"'
    '}';
"#;

/// Nobody can tell from its lines alone that nothing is escaped in them.
const NONE: &str = r#"log_format none escape=none '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                            '"$http_referer" "$http_user_agent"';
"#;

const PIPED: &str = r#"log_format piped '$time_iso8601|$remote_addr|$status|$body_bytes_sent|"$request"|"$http_referer"|"$http_user_agent"';
"#;

/// Asks it these; none where it is missing, which is said.
pub(super) fn served(test: &str, asked: &[Request]) -> Option<Served> {
    let Some(program) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
        skip(test, "nginx is not installed");
        return None;
    };
    let harness = Harness::new();
    lay_out_site(&harness);
    fs::create_dir(harness.path("log")).unwrap();
    fs::create_dir(harness.path("tmp")).unwrap();
    fs::create_dir(harness.path("conf.d")).unwrap();
    harness.file("conf.d/sites.conf", SITES);
    harness.file("conf.d/formats.conf", [MAIN, JSON, NONE, PIPED].concat());
    let daemon = Daemon::start(&harness, |port| {
        harness.file("nginx.conf", conf(port));
        let mut command = Command::new(program);
        command.args(["-e", "error.log", "-c", "nginx.conf", "-p"]).arg(harness.path("")).env("TZ", "UTC");
        command
    });
    let answers = asked.iter().map(|request| daemon.ask(&request.bytes)).collect();
    let logs: Vec<PathBuf> = LOGS.iter().map(|(name, ..)| harness.path(format!("log/{name}.log"))).collect();
    daemon.finish(&logs.iter().map(PathBuf::as_path).collect::<Vec<_>>(), asked.len());
    let conf = harness.path("nginx.conf");
    Some(Served::new("nginx", harness, conf, &LOGS, answers))
}

fn conf(port: u16) -> String {
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let temporary: String =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path tmp/{name};")).concat();
    // A client is who a header says: all of them come from here. A connection ends when its line is written.
    format!(
        "{user} daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
        events {{ worker_connections 64; }}
        http {{ {temporary}
            map $host $never {{ default 0; }}
            include conf.d/f*.conf;
            include conf.d/sites.conf;
            keepalive_timeout 0; lingering_close off;
            set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;
            server {{ listen 127.0.0.1:{port}; root site; }}
        }}\n"
    )
}
