//! Kinds of sites made with Apache: fallback resources, rewritten errors, listings, prefixes that
//! answer anything.
//!
//! Each kind is one server process with one log. If Apache is not installed, these kinds are
//! skipped with a message.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::site::{self, Kind, SECRETS, Score, TWO};
use crate::harness::{Harness, skip};
use crate::servers::daemon::Daemon;

const PLACES: [&str; 3] = [
    "/usr/sbin/apache2",
    "/usr/sbin/httpd",
    "/usr/local/apache2/bin/httpd",
];

/// The folder of Apache's modules.
const MODULES: [&str; 3] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/local/apache2/modules",
];

/// The `LogFormat` directive for the size, and part of the configuration. FOLDER is replaced by the
/// folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conf {
    size: &'static str,
    conf: &'static str,
}

const fn kind(
    name: &'static str,
    plants: &'static [(&'static str, usize)],
    size: &'static str,
    conf: &'static str,
) -> Kind<Conf> {
    Kind::new(name, plants, Conf { size, conf })
}

const KINDS: &[Kind<Conf>] = &[
    kind("apache ordinary", SECRETS, "%O", ""),
    kind("apache ordinary body", TWO, "%b", ""),
    kind(
        "apache fallback",
        SECRETS,
        "%b",
        "FallbackResource /index.html",
    ),
    kind(
        "apache fallback sent",
        SECRETS,
        "%O",
        "FallbackResource /index.html",
    ),
    kind(
        "apache fallback few",
        TWO,
        "%O",
        "FallbackResource /index.html",
    )
    .few(9),
    kind(
        "apache fallback gzip",
        TWO,
        "%O",
        "FallbackResource /index.html\nSetOutputFilter DEFLATE",
    )
    .gzip(),
    kind(
        "apache rewrite",
        SECRETS,
        "%b",
        "RewriteEngine on\nRewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f\nRewriteRule ^/. /404.html [L]",
    ),
    kind(
        "apache rewrite php",
        SECRETS,
        "%O",
        "RewriteEngine on\nRewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f\nRewriteRule \\.php$ /404.html [L]",
    ),
    kind(
        "apache listing",
        SECRETS,
        "%O",
        "<Directory FOLDER/site>\nOptions Indexes\n</Directory>",
    )
    .pages(&["/backup/", "/.git/"]),
    kind(
        "apache user folders",
        TWO,
        "%b",
        "AliasMatch ^/~[^/]+ FOLDER/site/404.html",
    )
    .folders(&["/~root/", "/~admin/"]),
    kind(
        "apache prefix",
        &[("/.env", 214), ("/cgi-bin/.env", 190)],
        "%b",
        "AliasMatch ^/(cgi-bin|manager|wp-[a-z]*)/(?!\\.env) FOLDER/site/404.html",
    )
    .folders(&["/cgi-bin/", "/manager/"]),
];

/// The scores of all kinds; empty if Apache is not installed.
pub(super) fn scores(test: &str) -> Vec<(&'static str, Score)> {
    let Some((program, modules)) = PLACES
        .into_iter()
        .zip(MODULES)
        .find(|(place, _)| Path::new(place).exists())
    else {
        skip(test, "Apache is not installed");
        return Vec::new();
    };
    (40..)
        .zip(KINDS)
        .map(|(seed, kind)| (kind.name, run(program, modules, kind, seed)))
        .collect()
}

fn run(program: &str, modules: &str, kind: &Kind<Conf>, seed: u64) -> Score {
    let harness = Harness::new();
    // Its workers run as another user.
    fs::set_permissions(harness.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    site::lay_out(&harness);
    kind.plant(&harness);
    fs::create_dir(harness.path("log")).unwrap();
    let daemon = Daemon::start(&harness, |port| {
        harness.file("apache2.conf", conf(&harness, &kind.engine, port, modules));
        let mut command = Command::new(program);
        command
            .args(["-D", "FOREGROUND", "-f"])
            .arg(harness.path("apache2.conf"))
            .env("TZ", "UTC");
        command
    });
    site::score_server(kind, &harness, daemon, seed)
}

fn conf(harness: &Harness, Conf { size, conf }: &Conf, port: u16, modules: &str) -> String {
    let root = harness.path("");
    let root = root.display().to_string().trim_end_matches('/').to_owned();
    let user = if rustix::process::geteuid().is_root() {
        "User nobody\nGroup nogroup\n"
    } else {
        ""
    };
    let names = [
        "mpm_prefork",
        "authz_core",
        "remoteip",
        "mime",
        "dir",
        "rewrite",
        "alias",
        "autoindex",
        "filter",
        "deflate",
        "logio",
        "log_config",
    ];
    let load: String =
        names.map(|name| format!("<IfModule !{name}_module>\nLoadModule {name}_module {modules}/mod_{name}.so\n</IfModule>\n")).concat();
    let conf = conf.replace("FOLDER", &root);
    format!(
        "ServerRoot \"{root}\"\nDocumentRoot \"{root}/site\"\nPidFile apache.pid\nErrorLog error.log\nLogLevel crit\nMutex posixsem\n\
         Listen 127.0.0.1:{port}\nServerName www.example.com\n{load}{user}TypesConfig /dev/null\nAddType text/html .html\n\
         StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nServerLimit 1\nMaxRequestWorkers 1\nKeepAlive Off\nTimeout 20\n\
         RemoteIPHeader X-Test-Client\nRemoteIPInternalProxy 127.0.0.1\nDirectoryIndex index.html\n\
         LogFormat \"%a %l %u %t \\\"%r\\\" %>s {size} \\\"%{{Referer}}i\\\" \\\"%{{User-Agent}}i\\\"\" here\nCustomLog log/access.log here\n{conf}\n"
    )
}
