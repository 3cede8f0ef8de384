//! Kinds of sites made with nginx: single-page applications, echoes, tokens, partial fallbacks,
//! filters, many hosts.
//!
//! Each kind is one server process with one log. If nginx is not installed, these kinds are skipped
//! with a message.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::site::{self, Kind, SECRETS, Score, TWO};
use crate::harness::{Harness, skip};
use crate::servers::daemon::Daemon;

const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// Part of a configuration: the log format and the content of `http`. PORT and TEXT are replaced by
/// the port and 700 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conf {
    format: &'static str,
    http: &'static str,
}

const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
const SENT: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent""#;
const NO_SIZE: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status - "$http_referer" "$http_user_agent""#;
const VHOST: &str = r#"$host:80 $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

const ONE: &[(&str, usize)] = &[("/.env.production", 388)];
const SMALL: &[(&str, usize)] = &[
    ("/.htpasswd", 46),
    ("/id_rsa", 2_602),
    ("/config.json", 911),
];

const SPA: &str = "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri /index.html; } error_page 405 =200 $uri; }";
const ORDINARY: &str = "server { listen 127.0.0.1:PORT; root site; }";
const ECHO: &str = "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; } location = / { index index.html; }
    location @page { return 200 '<p>$request_uri</p>TEXT'; } }";
const ECHO_TWICE: &str =
    "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
    location @page { return 200 '<title>$request_uri</title>TEXT<p>$request_uri</p>'; } }";

const fn kind(
    name: &'static str,
    plants: &'static [(&'static str, usize)],
    http: &'static str,
) -> Kind<Conf> {
    Kind::new(
        name,
        plants,
        Conf {
            format: COMBINED,
            http,
        },
    )
}

const fn logs(mut kind: Kind<Conf>, format: &'static str) -> Kind<Conf> {
    kind.engine.format = format;
    kind
}

/// A server with one site, and the default server for other hosts.
const fn made_up_hosts(name: &'static str, http: &'static str) -> Kind<Conf> {
    let kind = kind(
        name,
        &[
            ("www.example.com /.env", 300),
            ("www.example.com /backup.zip", 120_000),
        ],
        http,
    );
    logs(kind.few(5).hosts(&MADE_UP), VHOST)
}

const KINDS: &[Kind<Conf>] = &[
    kind("echo gzip", &[("/.git/index", 14_311), ("/id_rsa", 2_602), ("/dump.sql", 48_211)], "gzip on; gzip_types *; gzip_min_length 1; server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
        location @page { return 200 '<title>$request_uri</title>TEXT<p>$request_uri</p>'; } }").gzip(),
    kind("spa git", &[("/.git/HEAD", 21), ("/.git/config", 262), ("/.git/index", 14_311), ("/.git/logs/HEAD", 177), ("/.gitignore", 61)], SPA),
    kind("spa near", &[("/.env", 1_391), ("/dump.sql", 1_620), ("/id_rsa", 1_500)], SPA),
    kind("spa php refused", SECRETS, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri /index.html; } location ~ \\.php { return 404; }
        location ~ /\\.(?!env) { deny all; } }"),
    logs(kind("spa hosts", &[("a.example.com /.env", 214), ("c.example.com /dump.sql", 9_000)],
        "map $host $page { a.example.com 'TEXT'; b.example.com 'TEXTTEXT'; c.example.com '<p>TEXT</p>'; default 'TEXT and more'; }
         server { listen 127.0.0.1:PORT; root site/$host; location / { try_files $uri @page; } location @page { return 200 $page; } }")
        .few(7)
        .hosts(&["a.example.com", "b.example.com", "c.example.com", "d.example.com", "e.example.com"]), VHOST),
    logs(kind("ordinary and default", &[("a.example.com /.env", 214), ("a.example.com /.git/HEAD", 21), ("a.example.com /backup.zip", 90_000)],
        "server { listen 127.0.0.1:PORT default_server; location / { return 200 'TEXT'; } }
         server { listen 127.0.0.1:PORT; server_name a.example.com; root site/$host; }")
        .hosts(&["a.example.com", "127.0.0.1"]), VHOST),
    kind("echo to home", SECRETS, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; } location = / { return 200 'TEXT'; }
        location @page { return 200 'TEXT<!-- $request_uri -->'; } }"),
    kind("echo time", SMALL, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
        location @page { return 200 'TEXT$request_uri$connection$remote_addr$request_uri'; } }"),
    kind("echo referer path only", SMALL, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
        location @page { return 200 'TEXT$uri$uri$uri'; } }"),
    kind("echo three few", ONE, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
        location @page { return 200 'TEXT$uri$uri$uri'; } }").few(7),
    kind("php fallback few", TWO, "server { listen 127.0.0.1:PORT; root site; location ~ \\.php$ { return 200 'TEXT<p>No input file.</p>'; } }").few(12),
    kind("spa", SECRETS, SPA),
    kind("spa without secrets", &[], SPA),
    kind("spa few", ONE, SPA).few(8),
    kind("spa few without", &[], SPA).few(7),
    kind("spa gzip", SMALL, "gzip on; gzip_min_length 1; server { listen 127.0.0.1:PORT; root site; location / { try_files $uri /index.html; } }").gzip(),
    kind("spa gzip all", TWO, "gzip on; gzip_types *; gzip_min_length 1; server { listen 127.0.0.1:PORT; root site; location / { try_files $uri /index.html; } }")
        .gzip(),
    logs(kind("spa sent", SECRETS, SPA), SENT),
    logs(kind("echo sent", TWO, ECHO), SENT),
    logs(kind("spa no size", &[], SPA), NO_SIZE),
    logs(kind("ordinary no size", SECRETS, ORDINARY), NO_SIZE),
    kind("ordinary", SECRETS, ORDINARY),
    kind("ordinary other", SMALL, ORDINARY),
    kind("ordinary few", TWO, ORDINARY).few(6),
    kind("echo", SECRETS, ECHO),
    kind("echo small", SMALL, ECHO),
    kind("echo few", ONE, ECHO).few(10),
    kind("echo twice", SECRETS, ECHO_TWICE),
    kind("echo twice few", TWO, ECHO_TWICE).few(12),
    kind(
        "echo uri and agent",
        SECRETS,
        "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
            location @page { return 200 '<p>$request_uri</p>TEXT$http_user_agent'; } }",
    ),
    kind(
        "echo agent",
        SMALL,
        "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; }
            location @page { return 200 'TEXT$http_user_agent'; } }",
    ),
    kind(
        "token",
        SECRETS,
        "server { listen 127.0.0.1:PORT; root site; sub_filter '<!-- TOKEN -->' '$request_id $connection $msec $remote_port';
            location / { try_files $uri /index.html; } }",
    ),
    kind(
        "token few",
        ONE,
        "server { listen 127.0.0.1:PORT; root site; sub_filter '<!-- TOKEN -->' '$connection $msec $request_time $request_length';
            location / { try_files $uri /index.html; } }",
    )
    .few(12),
    kind(
        "php fallback",
        SECRETS,
        "server { listen 127.0.0.1:PORT; root site; location ~ \\.php$ { return 200 'TEXT<p>No input file.</p>'; } }",
    ),
    kind(
        "php fallback echo",
        SMALL,
        "server { listen 127.0.0.1:PORT; root site; location ~ \\.php$ { return 200 'TEXT<p>$uri</p>'; } }",
    ),
    kind(
        "dot files",
        &[("/.env", 214), ("/.aws/credentials", 117), ("/.svn/wc.db", 61_440), ("/dump.sql", 3_000)],
        "server { listen 127.0.0.1:PORT; root site; location ~ /\\. { try_files $uri @page; } location @page { return 200 'TEXT'; } }",
    ),
    kind(
        "blog folder",
        &[("/.env", 214), ("/blog/.git/config", 266), ("/backup.zip", 70_000), ("/blog/backup.zip", 33_000)],
        "server { listen 127.0.0.1:PORT; root site; location /blog/ { try_files $uri /404.html; } }",
    )
    .folders(&["/blog/"]),
    kind(
        "filter before spa",
        &[("/.env", 214), ("/id_rsa", 2_602), ("/config.json", 911), ("/backup.zip", 500_000)],
        "server { listen 127.0.0.1:PORT; root site; location ~ \"\\.(sql|bak|php)$|/\\.git|actuator|\\.\\./\" { return 403; }
            location / { try_files $uri /index.html; } }",
    ),
    kind(
        "filter answers 200",
        &[("/id_rsa", 2_602), ("/backup.zip", 500_000), ("/config.json", 911)],
        "server { listen 127.0.0.1:PORT; root site; location ~ \"/\\.|wp-|phpunit|actuator|shell\" { return 200 'Request blocked. ID: $request_id'; } }",
    ),
    kind(
        "filter answers in spa",
        &[("/id_rsa", 2_602), ("/backup.zip", 500_000), ("/config.json", 911)],
        "server { listen 127.0.0.1:PORT; root site; location ~ \"/\\.|wp-|phpunit|actuator|shell\" { return 200 'Request blocked. ID: $request_id'; }
            location / { try_files $uri /index.html; } }",
    ),
    kind("error page", SECRETS, "server { listen 127.0.0.1:PORT; root site; error_page 404 =200 /404.html; }"),
    kind("error page few", ONE, "server { listen 127.0.0.1:PORT; root site; error_page 404 =200 /404.html; }").few(9),
    kind("redirects", &[], "server { listen 127.0.0.1:PORT; return 301 https://$host$request_uri; }"),
    kind("redirect home", TWO, "server { listen 127.0.0.1:PORT; root site; error_page 404 =302 /; }"),
    kind("api json", SECRETS, "server { listen 127.0.0.1:PORT; root site; default_type application/json;
        location /api/ { return 200 '{\"error\":\"no route\",\"path\":\"$request_uri\"}'; } }")
    .folders(&["/api/"]),
    kind("listing", SECRETS, "server { listen 127.0.0.1:PORT; root site; autoindex on; }"),
    kind("tiny body", SMALL, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; } location @page { return 200 'ok'; } }"),
    kind("empty body", SMALL, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; } location @page { return 200; } }"),
    kind("no content", TWO, "server { listen 127.0.0.1:PORT; root site; location / { try_files $uri @page; } location @page { return 204; } }"),
    logs(
        kind(
            "three hosts",
            &[
                ("spa.example.com /.env", 214),
                ("shop.example.com /.git/HEAD", 21),
                ("shop.example.com /backup.zip", 120_000),
                ("echo.example.com /id_rsa", 2_602),
            ],
            "server { listen 127.0.0.1:PORT; server_name spa.example.com; root site/$host; location / { try_files $uri @page; } location @page { return 200 'TEXT'; } }
             server { listen 127.0.0.1:PORT; server_name shop.example.com; root site/$host; }
             server { listen 127.0.0.1:PORT; server_name echo.example.com; root site/$host; location / { try_files $uri @page; }
                location @page { return 200 '<p>$request_uri</p>TEXT'; } }",
        )
        .hosts(&["spa.example.com", "shop.example.com", "echo.example.com"]),
        VHOST,
    ),
    made_up_hosts(
        "made-up hosts",
        "server { listen 127.0.0.1:PORT default_server; location / { return 200 'TEXT'; } }
         server { listen 127.0.0.1:PORT; server_name www.example.com; root site/$host; }",
    ),
    made_up_hosts(
        "made-up hosts echo",
        "server { listen 127.0.0.1:PORT default_server; location / { return 200 '<p>$host</p>TEXT<p>$request_uri</p>'; } }
         server { listen 127.0.0.1:PORT; server_name www.example.com; root site/$host; }",
    ),
    logs(
        kind("ordinary hosts", &[("a.example.com /.env", 300), ("b.example.com /dump.sql", 120_000), ("c.example.com /.git/HEAD", 23)],
            "server { listen 127.0.0.1:PORT; root site/$host; }")
        .few(20)
        .hosts(&["a.example.com", "b.example.com", "c.example.com", "d.example.com"]),
        VHOST,
    ),
];

const MADE_UP: [&str; 14] = [
    "www.example.com",
    "dev.example.com",
    "mail.example.com",
    "admin.example.com",
    "api.example.com",
    "staging.example.com",
    "vpn.example.com",
    "test.example.com",
    "a.example.net",
    "internal.example.net",
    "localhost",
    "old.example.com",
    "shop.example.com",
    "xn--bcher-kva.example",
];

/// The scores of all kinds; empty if nginx is not installed.
pub(super) fn scores(test: &str) -> Vec<(&'static str, Score)> {
    let Some(program) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
        skip(test, "nginx is not installed");
        return Vec::new();
    };
    (0..)
        .zip(KINDS)
        .map(|(seed, kind)| (kind.name, run(program, kind, seed)))
        .collect()
}

fn run(program: &str, kind: &Kind<Conf>, seed: u64) -> Score {
    let harness = Harness::new();
    site::lay_out(&harness);
    kind.plant(&harness);
    fs::create_dir(harness.path("log")).unwrap();
    fs::create_dir(harness.path("tmp")).unwrap();
    let daemon = Daemon::start(&harness, |port| {
        harness.file("nginx.conf", conf(&kind.engine, port));
        let mut command = Command::new(program);
        command
            .args(["-e", "error.log", "-c", "nginx.conf", "-p"])
            .arg(harness.path(""))
            .env("TZ", "UTC");
        command
    });
    site::score_server(kind, &harness, daemon, seed)
}

fn conf(Conf { format, http }: &Conf, port: u16) -> String {
    let user = if rustix::process::geteuid().is_root() {
        "user root;"
    } else {
        ""
    };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path tmp/{name};"))
        .concat();
    let http = http
        .replace("PORT", &port.to_string())
        .replace("TEXT", &site::text(700));
    format!(
        "{user} daemon off; worker_processes 1; pid nginx.pid; error_log error.log crit;
        events {{ worker_connections 64; }}
        http {{ {temporary}
            log_format here '{format}';
            access_log log/access.log here;
            types {{ text/html html; text/css css; text/javascript js; }}
            default_type text/plain;
            keepalive_timeout 0; lingering_close off;
            set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;
            {http}
        }}\n"
    )
}
