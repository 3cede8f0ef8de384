//! The requests of scanners and visitors. The lists are fixed; order and clients come from a
//! generator with a fixed seed.
//!
//! Nothing here knows what a server answers.

use crate::harness::Rng;

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) host: &'static str,
    pub(super) client: String,
    pub(super) agent: &'static str,
    pub(super) gzip: bool,
}

/// Paths of many products, as in scanner lists.
pub(crate) const PATHS: &[&str] = &[
    "/.env",
    "/.env.bak",
    "/.env.local",
    "/.env.production",
    "/api/.env",
    "/laravel/.env",
    "/backend/.env",
    "/app/.env",
    "/admin/.env",
    "/public/.env",
    "/core/.env",
    "/.git/config",
    "/.git/HEAD",
    "/.git/index",
    "/.git/logs/HEAD",
    "/.gitignore",
    "/.svn/entries",
    "/.svn/wc.db",
    "/.hg/hgrc",
    "/.htpasswd",
    "/.htaccess",
    "/.ssh/id_rsa",
    "/.ssh/id_ed25519",
    "/.aws/credentials",
    "/.docker/config.json",
    "/.npmrc",
    "/.DS_Store",
    "/.bash_history",
    "/.vscode/sftp.json",
    "/.idea/workspace.xml",
    "/id_rsa",
    "/server.key",
    "/backup.zip",
    "/backup.tar.gz",
    "/www.zip",
    "/site.tar.gz",
    "/dump.sql",
    "/db.sql",
    "/backup/db.sql.gz",
    "/database.sqlite",
    "/users.db",
    "/wp-config.php",
    "/wp-config.php.bak",
    "/wp-config.php~",
    "/wp-config.txt",
    "/wp-login.php",
    "/wp-admin/install.php",
    "/wp-admin/setup-config.php",
    "/xmlrpc.php",
    "/wp-json/wp/v2/users",
    "/wp-content/debug.log",
    "/wp-content/plugins/hello.php",
    "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/phpunit/src/Util/PHP/eval-stdin.php",
    "/lib/phpunit/Util/PHP/eval-stdin.php",
    "/lib/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/laravel/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/www/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/yii/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/phpinfo.php",
    "/info.php",
    "/test.php",
    "/_profiler/phpinfo",
    "/phpmyadmin/index.php",
    "/pma/index.php",
    "/adminer.php",
    "/mysql/index.php",
    "/administrator/index.php",
    "/configuration.php.bak",
    "/config.php.old",
    "/config.json",
    "/config/database.yml",
    "/config/secrets.yml",
    "/appsettings.json",
    "/web.config",
    "/WEB-INF/web.xml",
    "/application.properties",
    "/application.yml",
    "/docker-compose.yml",
    "/composer.json",
    "/composer.lock",
    "/package.json",
    "/credentials.json",
    "/secrets.json",
    "/sftp-config.json",
    "/storage/logs/laravel.log",
    "/logs/error.log",
    "/error_log",
    "/server-status",
    "/server-info",
    "/actuator/env",
    "/actuator/health",
    "/actuator/heapdump",
    "/actuator/gateway/routes",
    "/env",
    "/heapdump",
    "/jolokia/list",
    "/manager/html",
    "/host-manager/html",
    "/solr/admin/info/system",
    "/jenkins/script",
    "/struts2-showcase/index.action",
    "/invoker/JMXInvokerServlet",
    "/axis2/services/listServices",
    "/console/login/LoginForm.jsp",
    "/shell.jsp",
    "/cmd.jsp",
    "/nacos/v1/auth/users",
    "/elmah.axd",
    "/trace.axd",
    "/owa/auth/logon.aspx",
    "/autodiscover/autodiscover.json",
    "/ecp/Current/exporttool/microsoft.exchange.ediscovery.exporttool.application",
    "/dana-na/auth/url_default/welcome.cgi",
    "/remote/login",
    "/remote/fgt_lang",
    "/+CSCOE+/logon.html",
    "/global-protect/login.esp",
    "/vpn/index.html",
    "/boaform/admin/formLogin",
    "/cgi-bin/luci",
    "/HNAP1/",
    "/GponForm/diag_Form",
    "/setup.cgi",
    "/shell.php",
    "/c99.php",
    "/r57.php",
    "/alfa.php",
    "/wso.php",
    "/cmd.php",
    "/graphql",
    "/swagger-ui.html",
    "/v2/api-docs",
    "/api/v1/pods",
    "/debug/pprof/",
    "/telescope/requests",
    "/_ignition/health-check",
    "/console/",
    "/geoserver/web/",
    "/druid/index.html",
    "/grafana/login",
    "/kibana/app/kibana",
    "/_cat/indices",
    "/_all_dbs",
    "/phpldapadmin/index.php",
    "/solr/",
    "/fckeditor/editor/filemanager/connectors/test.html",
    "/moodle/config.php.bak",
    "/sitecore/login",
    "/umbraco/",
    "/bitrix/admin/index.php",
    "/typo3/install.php",
    "/user/register?element_parents=account",
    "/index.php?s=/index/think",
    "/cgi-bin/test.cgi",
    "/login.action",
    "/backup/",
    "/terraform.tfstate",
    "/.travis.yml",
    "/.circleci/config.yml",
    "/Dockerfile",
    "/.well-known/security.txt",
];

/// The same in a subfolder, for sites that answer anything below it.
const FOLDER_PATHS: &[&str] = &[
    ".env",
    ".git/config",
    ".git/HEAD",
    "wp-config.php.bak",
    "wp-login.php",
    "xmlrpc.php",
    "phpinfo.php",
    "backup.zip",
    "dump.sql",
    "vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "config.json",
    ".aws/credentials",
    "web.config",
    "shell.php",
    "wp-admin/install.php",
    ".htpasswd",
    "storage/logs/laravel.log",
    "actuator/env",
];

const BROWSER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36";
/// User agents of different lengths.
const SCANNERS: [&str; 4] = [
    "Mozilla/5.0",
    "python-requests/2.31.0",
    BROWSER,
    "curl/8.5.0",
];

/// What is requested from one site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) hosts: &'static [&'static str],
    /// Folders in which short names are requested too.
    pub(super) folders: &'static [&'static str],
    /// How many of the paths to request, chosen at random; all if `None`.
    pub(super) few: Option<usize>,
    /// Paths that are always requested.
    pub(super) also: &'static [(&'static str, usize)],
    /// Whether some of the clients accept gzip.
    pub(super) gzip: bool,
    /// Whether HEAD, POST and OPTIONS are sent.
    pub(super) methods: bool,
}

/// All requests of a plan, in order.
pub(super) fn requests(plan: &Plan, seed: u64) -> Vec<Request> {
    let mut rng = Rng::new();
    for _ in 0..=seed {
        rng.next_u64();
    }
    let mut requests = Vec::new();
    for (number, host) in plan.hosts.iter().copied().enumerate() {
        let mut paths: Vec<String> = PATHS.iter().map(|path| (*path).to_owned()).collect();
        if let Some(few) = plan.few {
            shuffle(&mut paths, &mut rng);
            paths.truncate(few);
        }
        paths.extend(plan.also.iter().map(|(path, _)| {
            path.split_once(' ')
                .map_or(*path, |(_, path)| path)
                .to_owned()
        }));
        for folder in plan.folders {
            paths.extend(FOLDER_PATHS.iter().map(|name| format!("{folder}{name}")));
        }
        if plan.few.is_none() {
            paths.extend((0..4).map(|_| format!("/{}", made_up(&mut rng))));
            paths.push(format!("/.{}", made_up(&mut rng)));
            paths.push(format!("/{}.php", made_up(&mut rng)));
        }
        paths.sort();
        paths.dedup();
        let visits = if plan.few.is_none() { 12 } else { 2 };
        for visit in 0..visits {
            let client = format!("203.0.113.{}", 10 + visit);
            for target in ["/", "/assets/app.js", "/assets/style.css", "/about"]
                .into_iter()
                .take(2 + visit % 3)
            {
                requests.push(Request {
                    method: "GET",
                    target: target.to_owned(),
                    host,
                    client: client.clone(),
                    agent: BROWSER,
                    gzip: true,
                });
            }
        }
        for path in paths {
            let scanner = rng.below(SCANNERS.len() as u64) as usize;
            let scan = |method, target: String, scanner: usize| Request {
                method,
                target,
                host,
                client: format!("198.51.100.{}", 1 + scanner + 8 * (number % 4)),
                agent: SCANNERS[scanner],
                gzip: scanner % 2 == 1,
            };
            requests.push(scan("GET", path.clone(), scanner));
            if plan.methods {
                match rng.below(12) {
                    0 => requests.push(scan("HEAD", path, scanner)),
                    1 => requests.push(scan("POST", path, scanner)),
                    2 => requests.push(scan("OPTIONS", path, scanner)),
                    3 | 4 => requests.push(scan("GET", path, (scanner + 1) % SCANNERS.len())),
                    5 if !path.contains('?') => {
                        requests.push(scan("GET", format!("{path}?x=12345"), scanner));
                    }
                    _ => {}
                }
            }
        }
    }
    shuffle(&mut requests, &mut rng);
    for request in &mut requests {
        request.gzip &= plan.gzip;
    }
    requests
}

/// A name as scanners invent them to see what a site answers to anything.
fn made_up(rng: &mut Rng) -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyz";
    (0..16)
        .map(|n| {
            if n % 4 == 3 {
                b'0' + rng.below(10) as u8
            } else {
                letters[rng.below(26) as usize]
            }
        })
        .map(char::from)
        .collect()
}

fn shuffle<T>(values: &mut [T], rng: &mut Rng) {
    for n in (1..values.len()).rev() {
        values.swap(n, rng.below(n as u64 + 1) as usize);
    }
}
