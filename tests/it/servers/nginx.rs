//! nginx with its `log_format`s: the default, that of packages, a JSON map, one without escapes,
//! and a custom one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Daemon;
use super::requests::{Request, lay_out_site};
use super::{Kind, ServerRun};
use crate::harness::{Harness, skip};

const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// The logs, whether their formats are detected, and the formats by name or as in the
/// configuration.
const LOGS: [Kind; 5] = [
    ("combined", true, "combined"),
    ("main", true, MAIN),
    ("json", true, JSON),
    ("none", true, NONE),
    ("piped", false, PIPED),
];

/// The log directives; the formats are in a file of their own.
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

/// Its lines do not show that nothing is escaped.
const NONE: &str = r#"log_format none escape=none '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                            '"$http_referer" "$http_user_agent"';
"#;

const PIPED: &str = r#"log_format piped '$time_iso8601|$remote_addr|$status|$body_bytes_sent|"$request"|"$http_referer"|"$http_user_agent"';
"#;

/// Sends it these requests; `None`, with a message, if it is not installed.
pub(super) fn served(test: &str, requests: &[Request]) -> Option<ServerRun> {
    let requests: Vec<&[u8]> = requests.iter().map(|request| &request.bytes[..]).collect();
    let names: Vec<&str> = LOGS.iter().map(|(name, ..)| *name).collect();
    let (harness, answers) = write_logs(
        test,
        SITES,
        &[MAIN, JSON, NONE, PIPED].concat(),
        &names,
        &requests,
    )?;
    let conf = harness.path("nginx.conf");
    Some(ServerRun::new("nginx", harness, conf, &LOGS, answers))
}

/// Sends these requests to a server with these directives for its logs, which are in `log`. Returns
/// its answers.
pub(super) fn write_logs(
    test: &str,
    sites: &str,
    formats: &str,
    names: &[&str],
    requests: &[&[u8]],
) -> Option<(Harness, Vec<Vec<u8>>)> {
    let Some(program) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
        skip(test, "nginx is not installed");
        return None;
    };
    let harness = Harness::new();
    lay_out_site(&harness);
    fs::create_dir(harness.path("log")).unwrap();
    fs::create_dir(harness.path("tmp")).unwrap();
    fs::create_dir(harness.path("conf.d")).unwrap();
    harness.file("conf.d/sites.conf", sites);
    harness.file("conf.d/formats.conf", formats);
    let daemon = Daemon::start(&harness, |port| {
        harness.file("nginx.conf", conf(port));
        let mut command = Command::new(program);
        command
            .args(["-e", "error.log", "-c", "nginx.conf", "-p"])
            .arg(harness.path(""))
            .env("TZ", "UTC");
        command
    });
    let answers = requests
        .iter()
        .map(|request| daemon.send(request))
        .collect();
    let logs: Vec<PathBuf> = names
        .iter()
        .map(|name| harness.path(format!("log/{name}.log")))
        .collect();
    daemon.finish(
        &logs.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
        requests.len(),
    );
    Some((harness, answers))
}

fn conf(port: u16) -> String {
    let user = if rustix::process::geteuid().is_root() {
        "user root;"
    } else {
        ""
    };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path tmp/{name};"))
        .concat();
    // The client is taken from a header, because all connections come from this host. A connection
    // is closed after its line is written.
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
