//! Apache with its `LogFormat`s: those of Debian, and custom ones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Daemon;
use super::requests::{Request, lay_out_site};
use super::{Kind, ServerRun};
use crate::harness::{Harness, skip};

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

/// The logs, whether their formats are detected, and the formats as in the configuration.
const LOGS: [Kind; 4] = [
    ("common", true, COMMON),
    ("combined", true, COMBINED),
    ("vhost", true, VHOST),
    ("own", false, OWN),
];

const COMMON: &str = r#"LogFormat "%h %l %u %t \"%r\" %>s %b" common"#;

const COMBINED: &str =
    r#"LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined"#;

const VHOST: &str = r#"LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" %D \"%{X-Forwarded-For}i\"" vhost"#;

const OWN: &str = r#"CustomLog ${LOGS}/own.log "[%{%Y-%m-%dT%H:%M:%S%z}t] %>s %a %v \"%{User-Agent}i\" \"%r\" %D""#;

const SITES: &str = r#"
CustomLog ${LOGS}/common.log common
CustomLog ${LOGS}/combined.log combined
CustomLog ${LOGS}/vhost.log vhost
CustomLog "|/bin/cat" common "expr=false"
"#;

/// Sends it these requests; `None`, with a message, if it is not installed.
pub(super) fn served(test: &str, requests: &[Request]) -> Option<ServerRun> {
    let requests: Vec<&[u8]> = requests.iter().map(|request| &request.bytes[..]).collect();
    let names: Vec<&str> = LOGS.iter().map(|(name, ..)| *name).collect();
    let sites = format!(
        "{COMMON}\n<IfModule logio_module>\n{COMBINED}\n</IfModule>\n{VHOST}\n{OWN}{SITES}"
    );
    let (harness, answers) = write_logs(test, &sites, &[], &names, &requests)?;
    let conf = harness.path("apache2.conf");
    Some(ServerRun::new("apache", harness, conf, &LOGS, answers))
}

/// Sends these requests to a server with these directives and more modules. Its logs are in `log`.
/// Returns its answers.
pub(super) fn write_logs(
    test: &str,
    sites: &str,
    more_modules: &[&str],
    names: &[&str],
    requests: &[&[u8]],
) -> Option<(Harness, Vec<Vec<u8>>)> {
    let Some((program, modules)) = PLACES
        .into_iter()
        .zip(MODULES)
        .find(|(place, _)| Path::new(place).exists())
    else {
        skip(test, "Apache is not installed");
        return None;
    };
    let harness = Harness::new();
    lay_out_site(&harness);
    // Its workers run as another user.
    fs::set_permissions(harness.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(harness.path("log")).unwrap();
    harness.file("sites.conf", sites);
    harness.file(
        "envvars",
        format!(
            "export LOGS={}/log$SUFFIX\n",
            harness.path("").display().to_string().trim_end_matches('/')
        ),
    );
    let daemon = Daemon::start(&harness, |port| {
        harness.file("apache2.conf", conf(&harness, port, modules, more_modules));
        let mut command = Command::new(program);
        command
            .args(["-D", "FOREGROUND", "-f"])
            .arg(harness.path("apache2.conf"))
            .env("TZ", "UTC")
            .env("LOGS", harness.path("log"));
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

fn conf(harness: &Harness, port: u16, modules: &str, more_modules: &[&str]) -> String {
    let root = harness.path("");
    let user = if rustix::process::geteuid().is_root() {
        "User nobody\nGroup nogroup\n"
    } else {
        ""
    };
    let load = [&["mpm_prefork", "authz_core", "remoteip"], more_modules]
        .concat()
        .iter()
        .map(|name| format!("<IfModule !{name}_module>\nLoadModule {name}_module {modules}/mod_{name}.so\n</IfModule>\n"))
        .collect::<Vec<_>>()
        .concat();
    // The client is taken from a header, because all connections come from this host. One worker
    // answers all requests in order.
    format!(
        "ServerRoot \"{root}\"\nDocumentRoot \"{root}/site\"\nPidFile apache.pid\nErrorLog error.log\nLogLevel crit\nMutex posixsem\n\
         Listen 127.0.0.1:{port}\nServerName site.example\n{load}{user}\
         StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nServerLimit 1\nMaxRequestWorkers 1\nKeepAlive Off\nTimeout 20\n\
         HttpProtocolOptions Unsafe LenientMethods\nRemoteIPHeader X-Test-Client\nRemoteIPInternalProxy 127.0.0.1\n\
         IncludeOptional gone/*.conf\nInclude sites.conf\n",
        root = root.display().to_string().trim_end_matches('/')
    )
}
