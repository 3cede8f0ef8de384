//! `verify` against servers on 127.0.0.1: the real nginx and Apache, and small ones that are
//! hostile. What is sent, what is never sent, what is said of each answer, and the exit codes.

use std::fs;
use std::io::{Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Harness, Run, finish, is_installed, line, skip, spawn, wait};
use crate::schema::assert_described;
use crate::servers::daemon::Daemon;

/// Whether curl is installed. Every test needs it but those that send nothing.
fn has_curl(test: &str) -> bool {
    let found = is_installed("curl");
    if !found {
        skip(test, "curl is not installed");
    }
    found
}

/// A log in which these paths got an answer of their own, and others none.
fn log(paths: &[&str]) -> String {
    let refused: String = (0..9)
        .map(|n| line("203.0.113.9", &format!("GET /old-{n}.sql HTTP/1.1"), 404))
        .collect();
    paths
        .iter()
        .map(|path| line("203.0.113.7", &format!("GET {path} HTTP/1.1"), 200))
        .collect::<String>()
        + &refused
}

/// A server that answers each request as `answer` does, and what was requested.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, requests) = (
            listener.local_addr().unwrap().port(),
            Arc::<Mutex<Vec<String>>>::default(),
        );
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, seen, answer) =
                    (stream.unwrap(), Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || {
                    let (mut head, mut byte) = (Vec::new(), [0]);
                    while !head.ends_with(b"\r\n\r\n")
                        && stream.read(&mut byte).is_ok_and(|read| read > 0)
                    {
                        head.push(byte[0]);
                        // The start of TLS.
                        if head[0] == 0x16 {
                            return;
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    seen.lock().unwrap().push(head);
                    answer(&path, &mut stream);
                });
            }
        });
        Self { port, requests }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The paths that were requested, in order.
    fn paths(&self) -> Vec<String> {
        self.requests
            .lock()
            .unwrap()
            .iter()
            .map(|head| head.split(' ').nth(1).unwrap().to_owned())
            .collect()
    }
}

/// Writes an answer. The client may be gone.
fn respond(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status} x\r\nConnection: close\r\n{headers}\r\n");
    drop(stream.write_all(&[head.as_bytes(), body].concat()));
}

/// `verify` of this site without a pause, unless the arguments name one, and without a proxy.
fn command(harness: &Harness, url: &str, args: &[&str]) -> Command {
    let mut command = harness.command(["verify", "--site", url]);
    if !args.contains(&"--pause") {
        command.args(["--pause", "1ms"]);
    }
    command.args(args).env("no_proxy", "*");
    command
}

fn verify(harness: &Harness, url: &str, args: &[&str]) -> Run {
    finish(&mut command(harness, url, args))
}

/// The JSON of a run, and its paths by name.
fn verified(run: &Run) -> Value {
    let result: Value = serde_json::from_slice(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.text(), run.stderr));
    assert_described("verified", &result);
    let counts: u64 = result["totals"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(counts, result["paths"].as_array().unwrap().len() as u64);
    result
}

fn row<'r>(result: &'r Value, path: &str) -> &'r Value {
    result["paths"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["path"] == path)
        .unwrap_or_else(|| panic!("{path} in {result}"))
}

fn verdicts(result: &Value) -> Vec<(&str, &str)> {
    result["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["path"].as_str().unwrap(),
                row["verdict"].as_str().unwrap(),
            )
        })
        .collect()
}

/// What a real server has: a leak, one that was removed, one that moved, one that is denied, and a
/// page for anything in a folder.
const LEAKS: [&str; 6] = [
    "/.git/config",
    "/.env",
    "/backup.sql",
    "/dump.sql",
    "/id_rsa",
    "/app/.env",
];

fn lay_out(harness: &Harness) {
    for folder in ["site/.git", "site/app", "tmp"] {
        fs::create_dir_all(harness.path(folder)).unwrap();
    }
    harness.file("site/.git/config", "[core]\n\tbare = false\n");
    harness.file("site/id_rsa", "-----BEGIN RSA PRIVATE KEY-----\n");
    harness.file(
        "site/app/index.html",
        "<!doctype html><title>App</title><p>Loading the application, wait a moment please</p>",
    );
    for folder in ["", "site", "site/.git", "site/app"] {
        fs::set_permissions(harness.path(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    harness.file("access.log", log(&LEAKS));
}

/// What is said of these, whatever the server.
fn check_real_server(harness: &Harness, port: u16) {
    let url = format!("http://127.0.0.1:{port}");
    let run = verify(harness, &url, &["-f", "json", "access.log"]);
    let result = verified(&run);
    let mut found = verdicts(&result);
    found.sort_unstable();
    let expected = [
        ("/.env", "refused"),
        ("/.git/config", "still_given"),
        ("/app/.env", "soft_404"),
        ("/backup.sql", "redirected"),
        ("/dump.sql", "redirected"),
        ("/id_rsa", "refused"),
    ];
    assert_eq!(
        (found.as_slice(), run.code),
        (&expected[..], 1),
        "{}",
        run.stderr
    );
    let git = row(&result, "/.git/config");
    assert_eq!(
        (&git["kind"], &git["bytes"], &git["status"]),
        (&"git_config".into(), &21.into(), &200.into())
    );
    assert_eq!(row(&result, "/app/.env")["kind"], "html");
    assert_eq!(
        (
            &row(&result, "/.env")["status"],
            &row(&result, "/id_rsa")["status"]
        ),
        (&404.into(), &403.into())
    );
    let [moved, elsewhere] = ["/backup.sql", "/dump.sql"].map(|path| row(&result, path));
    assert_eq!(
        (
            moved["location"]
                .as_str()
                .unwrap()
                .ends_with("/new/backup.sql"),
            &moved["other_host"]
        ),
        (true, &Value::Null)
    );
    assert_eq!(
        (&elsewhere["other_host"], &elsewhere["location"]),
        (
            &"files.example".into(),
            &"https://files.example/moved".into()
        )
    );
    // The leak is closed.
    fs::remove_dir_all(harness.path("site/.git")).unwrap();
    let run = finish(command(harness, &url, &["access.log"]).env("COLUMNS", "140"));
    let text = run.text();
    assert_eq!(run.code, 0, "{text}{}", run.stderr);
    assert!(
        text.contains("3 refused")
            && text.contains("HTML like the soft 404")
            && text.contains("to another host: files.example"),
        "{text}"
    );
}

/// Where nginx may be.
pub(crate) const NGINX: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// Starts nginx with a site like this. `more` are directives of the server, and `tls` is a word
/// after its port.
pub(crate) fn start_nginx(harness: &Harness, program: &str, tls: &str, more: &str) -> Daemon {
    let user = if rustix::process::geteuid().is_root() {
        "user root;"
    } else {
        ""
    };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path tmp/{name};"))
        .concat();
    Daemon::start(harness, |port| {
        let conf = format!(
            "{user} daemon off; worker_processes 1; pid nginx.pid; error_log error.log; events {{ worker_connections 64; }}
            http {{ {temporary} access_log own.log; server {{ listen 127.0.0.1:{port} {tls}; root site; {more}
                location = /backup.sql {{ return 301 /new/backup.sql?id=7; }}
                location = /dump.sql {{ return 302 https://files.example/moved; }}
                location = /id_rsa {{ deny all; }}
                location /app/ {{ try_files $uri /app/index.html; }}
            }} }}"
        );
        harness.file("nginx.conf", conf);
        let mut command = Command::new(program);
        command
            .args(["-e", "error.log", "-c", "nginx.conf", "-p"])
            .arg(harness.path(""));
        command
    })
}

#[test]
fn nginx_is_asked_what_it_still_gives() {
    let Some(program) = NGINX.into_iter().find(|place| Path::new(place).exists()) else {
        return skip("verify", "nginx is not installed");
    };
    if !has_curl("nginx") {
        return;
    }
    let harness = Harness::new();
    lay_out(&harness);
    let daemon = start_nginx(&harness, program, "", "");
    check_real_server(&harness, daemon.port());
    drop(daemon);
    // Its own log has the requests, as they are announced.
    let log = fs::read_to_string(harness.path("own.log")).unwrap();
    assert!(
        log.lines().count() > 20
            && log
                .lines()
                .all(|line| line.contains("\"GET /") && line.contains("\"probewatch-verify/")),
        "{log}"
    );
    assert!(
        harness
            .run(["scan", "own.log"])
            .text()
            .contains("127.0.0.1"),
        "the agent excuses nothing"
    );
}

/// A certificate for 127.0.0.1, and its key.
fn add_certificate(harness: &Harness) -> bool {
    let mut command = harness.program("openssl");
    command.args([
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
        "-days", "2",
    ]);
    command.args([
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]);
    command.output().is_ok_and(|run| run.status.success())
}

#[test]
fn a_certificate_is_trusted_if_it_is_named() {
    let Some(program) = NGINX.into_iter().find(|place| Path::new(place).exists()) else {
        return skip("certificates", "nginx is not installed");
    };
    let harness = Harness::new();
    lay_out(&harness);
    if !has_curl("certificates") || !add_certificate(&harness) {
        return skip("certificates", "openssl or curl is not installed");
    }
    let daemon = start_nginx(
        &harness,
        program,
        "ssl",
        "ssl_certificate cert.pem; ssl_certificate_key key.pem;",
    );
    let url = format!("https://127.0.0.1:{}", daemon.port());
    let run = verify(&harness, &url, &["-f", "json", "access.log"]);
    assert_eq!(
        (run.code, &row(&verified(&run), "/.env")["reason"]),
        (3, &"no trusted TLS connection".into()),
        "{}",
        run.stderr
    );
    let run = verify(
        &harness,
        &url,
        &["-f", "json", "--cacert", "cert.pem", "access.log"],
    );
    assert_eq!(
        (run.code, &row(&verified(&run), "/.git/config")["verdict"]),
        (1, &"still_given".into()),
        "{}",
        run.stderr
    );
    let none = verify(&harness, &url, &["--cacert", "access.log", "access.log"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
}

#[test]
fn the_proxy_of_the_environment_is_used() {
    if !has_curl("proxies") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env"]));
    let proxy = Server::start(|path, stream| match path {
        "http://shop.example/.env" => respond(stream, 200, "", b"APP_KEY=x\n"),
        _ => respond(stream, 404, "", b""),
    });
    let mut command = command(&harness, "http://shop.example", &["access.log"]);
    let run = finish(
        command
            .env("http_proxy", proxy.url())
            .env_remove("no_proxy"),
    );
    assert_eq!(run.code, 1, "{}{}", run.text(), run.stderr);
    assert!(
        proxy
            .paths()
            .iter()
            .all(|path| path.starts_with("http://shop.example/"))
            && proxy.paths().len() == 3
    );
}

#[test]
fn apache_is_asked_what_it_still_gives() {
    let (program, modules) = ("/usr/sbin/apache2", "/usr/lib/apache2/modules");
    if !Path::new(program).exists() {
        return skip("verify", "Apache is not installed");
    }
    if !has_curl("Apache") {
        return;
    }
    let harness = Harness::new();
    lay_out(&harness);
    let root = harness.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let user = if rustix::process::geteuid().is_root() {
        "User nobody\nGroup nogroup\n"
    } else {
        ""
    };
    let load: String = ["mpm_prefork", "authz_core", "alias", "dir"]
        .map(|name| format!("<IfModule !{name}_module>\nLoadModule {name}_module {modules}/mod_{name}.so\n</IfModule>\n"))
        .concat();
    let daemon = Daemon::start(&harness, |port| {
        let conf = format!(
            "ServerRoot \"{root}\"\nDocumentRoot \"{root}/site\"\nPidFile apache.pid\nErrorLog error.log\nMutex posixsem\n\
             Listen 127.0.0.1:{port}\nServerName 127.0.0.1\n{load}{user}\
             Redirect permanent /backup.sql /new/backup.sql\nRedirect /dump.sql https://files.example/moved\n\
             <Location /id_rsa>\nRequire all denied\n</Location>\n<Location /app/>\nFallbackResource /app/index.html\n</Location>\n"
        );
        harness.file("apache2.conf", conf);
        let mut command = Command::new(program);
        command
            .args(["-D", "FOREGROUND", "-f"])
            .arg(harness.path("apache2.conf"));
        command
    });
    check_real_server(&harness, daemon.port());
}

#[test]
fn a_report_keeps_its_result_and_the_index_shows_it() {
    if !has_curl("results of reports") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env", "/.git/config"]));
    let report = [
        "report",
        "--state",
        "S",
        "--out",
        "O",
        "--html",
        "--from-start",
        "--notify-level",
        "never",
        "access.log",
    ];
    assert_eq!(harness.run(report).code, 0);
    let server = Server::start(|path, stream| match path {
        "/.env" => respond(stream, 200, "Content-Length: 11\r\n", b"APP_KEY=x\n\n"),
        _ => respond(stream, 404, "", b"gone"),
    });
    let run = verify(&harness, &server.url(), &["O/latest"]);
    assert_eq!(run.code, 1, "{}{}", run.text(), run.stderr);
    assert!(
        run.text().starts_with(&format!(
            "2 paths of {}: 1 still given, 1 refused.\n",
            server.url()
        )),
        "{}",
        run.text()
    );
    assert!(
        run.stderr.contains("sending 6 requests to"),
        "{}",
        run.stderr
    );
    let file = harness.path("O/latest/verified.json");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
        0o600
    );
    let saved: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_described("verified", &saved);
    assert_eq!(
        (
            &saved["totals"]["still_given"],
            &row(&saved, "/.env")["kind"]
        ),
        (&1.into(), &"dotenv".into())
    );
    assert_eq!(
        (&saved["requests"], &saved["controls"]),
        (&6.into(), &4.into())
    );
    // The next run shows it, and reads the same logs.
    assert_eq!(harness.run(report).code, 0);
    let index = fs::read_to_string(harness.path("O/index.html")).unwrap();
    assert!(index.contains(": 1 still given, 1 refused"), "{index}");
    // Another file, and none.
    let again = |args: &[&str]| {
        verify(
            &harness,
            &server.url(),
            &[args, &["-q", "-f", "json", "O/latest/report.json"]].concat(),
        )
    };
    fs::remove_file(&file).unwrap();
    let (other, none) = (again(&["-o", "other.json"]), again(&["-o", "-"]));
    assert_eq!((other.code, none.code, &*other.stderr), (1, 1, ""));
    assert_eq!(fs::read(harness.path("other.json")).unwrap(), other.stdout);
    assert!(!file.exists());
    assert_eq!(again(&[]).code, 1);
    assert!(file.exists());
    // Neither the report nor a missing folder is written to, and then nothing is sent.
    let sent = server.paths().len();
    for (args, code) in [
        (["-o", "O/latest/report.json"], 2),
        (["-o", "gone/x.json"], 4),
    ] {
        let run = again(&args);
        assert_eq!(
            (run.code, server.paths().len()),
            (code, sent),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn only_plain_paths_of_get_are_requested() {
    let harness = Harness::new();
    let requests = [
        ("GET /.env?x=1", 200),
        ("GET /.git/config", 200),
        ("HEAD /backup.sql", 200),
        ("POST /dump.sql", 200),
        ("GET /%2eaws/credentials", 200),
        ("GET /a/../.htpasswd", 200),
        ("GET /shell.php", 200),
        ("GET /wp-admin/install.php", 200),
        ("GET /.env.bak", 404),
        ("GET /index.php?file=../../etc/passwd", 200),
    ];
    let lines: String = requests
        .iter()
        .map(|(request, status)| line("203.0.113.7", &format!("{request} HTTP/1.1"), *status))
        .collect();
    harness.file("access.log", lines + &log(&[]));
    let run = verify(
        &harness,
        "https://shop.example",
        &["--dry-run", "access.log"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = run.text();
    let urls: Vec<&str> = text.lines().collect();
    assert!(
        urls.iter()
            .all(|url| url.starts_with("https://shop.example/"))
            && urls.len() == 6,
        "{text}"
    );
    for url in [
        "https://shop.example/.env",
        "https://shop.example/.git/config",
    ] {
        assert!(urls.contains(&url), "{text}");
    }
    for reason in [
        "another method",
        "payload or a disguise",
        "web shells",
        "installer",
    ] {
        assert!(run.stderr.contains(reason), "{reason}: {}", run.stderr);
    }
    // The variable of `report` sends nothing either.
    let mut with_variable = command(&harness, "https://shop.example", &["access.log"]);
    assert_eq!(
        finish(with_variable.env("PROBEWATCH_DRY_RUN", "1")).text(),
        text
    );
    let none = verify(
        &harness,
        "https://shop.example",
        &["--dry-run", "--since", "2030-01-01", "access.log"],
    );
    assert_eq!((none.code, none.text().as_str()), (0, ""));
}

#[test]
fn of_a_log_with_hosts_only_the_host_of_the_site_counts() {
    let harness = Harness::new();
    let with_host = |host: &str, path: &str| {
        format!(
            "{host} {}",
            log(&[path])
                .lines()
                .collect::<Vec<_>>()
                .join(&format!("\n{host} "))
        ) + "\n"
    };
    harness.file(
        "access.log",
        with_host("Shop.example:443", "/.env") + &with_host("other.example:443", "/.git/config"),
    );
    let run = verify(
        &harness,
        "https://shop.example",
        &["--dry-run", "access.log"],
    );
    assert!(
        run.text().ends_with("https://shop.example/.env\n") && !run.text().contains(".git"),
        "{}",
        run.text()
    );
    assert!(
        run.stderr.contains("1 path is left out: of another host."),
        "{}",
        run.stderr
    );
}

#[test]
fn what_is_hidden_is_refused_and_named() {
    let harness = Harness::new();
    harness.file(
        "access.log",
        log(&[
            "/.env",
            "/backup/AKIAIOSFODNN7EXAMPLE.sql",
            "/.git/token=hunter2hunter2/config",
        ]),
    );
    assert_eq!(
        harness
            .run([
                "scan",
                "-f",
                "json",
                "-o",
                "hidden.json",
                "--anonymize",
                "access.log"
            ])
            .code,
        0
    );
    let run = verify(&harness, "http://127.0.0.1:9", &["hidden.json"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0));
    assert!(
        run.stderr.contains("hidden.json") && run.stderr.contains("anonym"),
        "{}",
        run.stderr
    );
    assert_eq!(
        harness
            .run(["scan", "-f", "json", "-o", "open.json", "access.log"])
            .code,
        0
    );
    for input in ["access.log", "open.json"] {
        let run = verify(&harness, "http://127.0.0.1:9", &["--dry-run", input]);
        assert!(
            run.text().contains("/.env")
                && !run.text().contains("hunter2")
                && !run.stderr.contains("hunter2"),
            "{}{}",
            run.text(),
            run.stderr
        );
        assert!(
            run.stderr
                .contains("*** is not requested: its secret is masked")
                || run.stderr.contains("***/config is not requested"),
            "{input}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_dry_run_prints_what_is_sent() {
    if !has_curl("dry run") {
        return;
    }
    let harness = Harness::new();
    harness.file(
        "access.log",
        log(&["/.env", "/.git/config", "/.git/HEAD", "/backup.sql"]),
    );
    let server = Server::start(|_, stream| respond(stream, 404, "", b""));
    let planned = verify(&harness, &server.url(), &["--dry-run", "access.log"]).text();
    assert_eq!(server.paths(), [""; 0]);
    assert_eq!(verify(&harness, &server.url(), &["access.log"]).code, 0);
    let planned: Vec<String> = planned
        .lines()
        .map(|url| url.strip_prefix(&server.url()).unwrap().to_owned())
        .collect();
    assert_eq!(server.paths(), planned);
    assert_eq!(planned.len(), 4 + 3 * 2);
}

#[test]
fn a_request_has_no_more_than_it_needs() {
    if !has_curl("headers") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env"]));
    harness.file(
        ".curlrc",
        "user-agent = \"mine\"\nheader = \"X-Mine: 1\"\ncookie = \"a=b\"\nlocation\n",
    );
    harness.file(".netrc", "machine 127.0.0.1 login me password secret\n");
    let server = Server::start(|_, stream| respond(stream, 404, "Set-Cookie: a=b\r\n", b""));
    let run = finish(
        command(&harness, &server.url(), &["access.log"])
            .env("HOME", harness.path(""))
            .env("CURL_HOME", harness.path("")),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    for head in server.requests.lock().unwrap().iter() {
        let names: Vec<&str> = head
            .lines()
            .skip(1)
            .filter_map(|line| Some(line.split_once(':')?.0))
            .collect();
        assert!(
            head.starts_with("GET /") && names == ["Host", "User-Agent", "Accept"],
            "{head}"
        );
        assert!(
            head.contains(concat!(
                "User-Agent: probewatch-verify/",
                env!("CARGO_PKG_VERSION"),
                "\r\n"
            )),
            "{head}"
        );
    }
}

#[test]
fn requests_keep_the_pause_and_the_limit() {
    if !has_curl("pause") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env", "/.git/config"]));
    let server = Server::start(|_, stream| respond(stream, 404, "", b""));
    let start = Instant::now();
    let run = verify(
        &harness,
        &server.url(),
        &[
            "--pause",
            "400ms",
            "--max-requests",
            "5",
            "-f",
            "json",
            "access.log",
        ],
    );
    assert!(
        start.elapsed() >= Duration::from_millis(800),
        "three requests"
    );
    let result = verified(&run);
    assert_eq!(
        (
            run.code,
            server.paths().len(),
            &result["totals"]["not_requested"]
        ),
        (3, 3, &1.into()),
        "{}",
        run.stderr
    );
    assert!(
        result["paths"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["reason"] == "--max-requests"),
        "{result}"
    );
    let start = Instant::now();
    let mut usual = harness.command([
        "verify",
        "--site",
        &server.url(),
        "--max-requests",
        "3",
        "access.log",
    ]);
    assert_eq!(finish(usual.env("no_proxy", "*")).code, 3);
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "a request a second"
    );
}

#[test]
fn a_redirect_is_reported_and_not_followed() {
    if !has_curl("redirects") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env", "/.git/config", "/backup.sql"]));
    let other = Server::start(|_, stream| respond(stream, 200, "", b"APP_KEY=x\n"));
    let target = other.url();
    let server = Server::start(move |path, stream| {
        let location = match path {
            "/.env" => format!(
                "Location: {target}/.env\r\nRefresh: 0; url={target}/\r\nAlt-Svc: h2=\"{target}\"\r\n"
            ),
            "/.git/config" => "Location: file:///etc/passwd\r\n".to_owned(),
            "/backup.sql" => "Location: /login?next=/backup.sql&token=hunter2\r\n".to_owned(),
            _ => "Location: /\r\n".to_owned(),
        };
        respond(stream, 302, &location, b"APP_KEY=x\n");
    });
    let run = verify(&harness, &server.url(), &["-f", "json", "access.log"]);
    let result = verified(&run);
    assert_eq!(
        (run.code, other.paths().len(), server.paths().len()),
        (3, 0, 9),
        "{}",
        run.stderr
    );
    assert_eq!(result["totals"]["redirected"], 3);
    assert_eq!(
        (
            &row(&result, "/backup.sql")["location"],
            &row(&result, "/backup.sql")["other_host"]
        ),
        (&"/login".into(), &Value::Null)
    );
    // Another port is the same host, and the same path there is not known.
    let elsewhere = row(&result, "/.env");
    let reason = format!("the same path elsewhere: --site {}", other.url());
    assert_eq!(
        (&elsewhere["other_host"], &elsewhere["reason"]),
        (&Value::Null, &reason.into())
    );
    assert_eq!(
        row(&result, "/.git/config")["location"],
        "file:///etc/passwd"
    );
}

/// Control bytes, long and many headers, an endless body, one of a false length, an answer that is
/// no HTTP.
#[test]
fn a_hostile_answer_shows_nothing_and_ends() {
    if !has_curl("hostile answers") {
        return;
    }
    let harness = Harness::new();
    let paths = [
        "/.env",
        "/.git/config",
        "/backup.sql",
        "/dump.sql",
        "/id_rsa",
        "/.aws/credentials",
        "/.htpasswd",
        "/phpinfo.php",
        "/.DS_Store",
    ];
    harness.file("access.log", log(&paths));
    let server = Server::start(|path, stream| match path {
        "/.env" => {
            respond(
                stream,
                200,
                "X: \u{1b}[2J\u{202e}\r\nContent-Length: 99999999999999999999\r\n",
                b"APP_KEY=\x1b]0;x\x07SECRET\n",
            );
        }
        "/.git/config" => {
            respond(
                stream,
                301,
                "Location: http://\u{1b}[31mevil.example/\u{7}\u{202e}\u{9b}x\r\n",
                b"",
            );
        }
        // It sends until the client is gone.
        "/backup.sql" => {
            respond(stream, 200, "", b"-- MySQL dump 10.13\n");
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        }
        "/dump.sql" => {
            respond(
                stream,
                200,
                "Content-Length: 5000000000\r\n",
                b"CREATE TABLE a (b int);\n",
            );
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        }
        "/id_rsa" => respond(
            stream,
            200,
            &format!("X: {}\r\n", "a".repeat(300_000)),
            b"x",
        ),
        "/.aws/credentials" => respond(stream, 200, &"X: y\r\n".repeat(20_000), b"x"),
        "/.htpasswd" => drop(stream.write_all(b"\x1b[2Jhello\r\n\r\n")),
        "/phpinfo.php" => {}
        "/.DS_Store" => {
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n<html>too short"));
        }
        _ => respond(stream, 404, "Server: \u{1b}[2J\r\n", b"\x1b[2Jgone"),
    });
    for format in ["table", "json"] {
        let start = Instant::now();
        // The run is checked for control bytes.
        let run = verify(
            &harness,
            &server.url(),
            &["-o", "-", "-f", format, "access.log"],
        );
        assert!(start.elapsed() < Duration::from_secs(60));
        assert_eq!(run.code, 1, "{}{}", run.text(), run.stderr);
        for hidden in [
            "SECRET",
            "MySQL dump 10",
            "CREATE TABLE",
            "hello",
            "too short",
        ] {
            assert!(
                !run.text().contains(hidden) && !run.stderr.contains(hidden),
                "{hidden}: {}",
                run.text()
            );
        }
        if format == "table" {
            assert!(run.text().contains("at least 65,536"), "{}", run.text());
            continue;
        }
        let result = verified(&run);
        let of = |path: &str, key: &str| row(&result, path)[key].clone();
        assert_eq!(
            (of("/.env", "verdict"), of("/.env", "kind")),
            ("still_given".into(), "dotenv".into()),
            "{result}"
        );
        assert_eq!(
            (
                of("/backup.sql", "bytes"),
                of("/backup.sql", "at_least"),
                of("/backup.sql", "kind")
            ),
            (65_536.into(), true.into(), "sql_dump".into())
        );
        assert_eq!(
            (of("/dump.sql", "bytes"), of("/dump.sql", "at_least")),
            (5_000_000_000_u64.into(), false.into())
        );
        assert_eq!(of("/.git/config", "verdict"), "redirected");
        assert!(
            of("/.git/config", "other_host")
                .as_str()
                .unwrap()
                .contains("evil.example"),
            "{result}"
        );
        for path in [
            "/id_rsa",
            "/.aws/credentials",
            "/.htpasswd",
            "/phpinfo.php",
            "/.DS_Store",
        ] {
            assert_eq!(of(path, "verdict"), "no_answer", "{path}: {result}");
        }
        assert_eq!(of("/.DS_Store", "reason"), "the answer ends too early");
    }
}

/// curl gives up after 20 seconds: what came until then shows whether it is a leak.
#[test]
fn a_slow_and_a_hanging_answer_end() {
    if !has_curl("slow answers") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.git/config", "/.git/HEAD"]));
    let server = Server::start(|path, stream| match path {
        "/.git/config" => {
            respond(stream, 200, "Content-Length: 4000\r\n", b"[core]\n");
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        }
        "/.git/HEAD" => thread::sleep(Duration::from_secs(60)),
        _ => respond(stream, 404, "", b""),
    });
    let run = verify(&harness, &server.url(), &["-f", "json", "access.log"]);
    let result = verified(&run);
    assert_eq!(
        (run.code, &row(&result, "/.git/config")["verdict"]),
        (1, &"still_given".into()),
        "{result}"
    );
    let hanging = row(&result, "/.git/HEAD");
    assert_eq!(
        (&hanging["verdict"], &hanging["reason"]),
        (&"no_answer".into(), &"no whole answer within 20 s".into())
    );
}

#[test]
fn without_an_answer_nothing_is_called_fixed() {
    if !has_curl("no answers") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env"]));
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let busy = Server::start(|_, stream| respond(stream, 503, "", b"busy"));
    for (url, reason) in [
        (format!("http://127.0.0.1:{closed}"), "no connection"),
        (
            "http://nowhere.invalid".to_owned(),
            "the host is not known by name",
        ),
        (busy.url(), "status 503"),
        (
            busy.url().replace("http:", "https:"),
            "no trusted TLS connection",
        ),
    ] {
        let run = verify(&harness, &url, &["-f", "json", "access.log"]);
        assert_eq!(
            (run.code, row(&verified(&run), "/.env")["reason"].as_str()),
            (3, Some(reason)),
            "{}",
            run.text()
        );
    }
}

#[test]
fn curl_and_good_arguments_are_needed() {
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env"]));
    fs::create_dir(harness.path("empty")).unwrap();
    let run = finish(
        command(&harness, "http://127.0.0.1:9", &["access.log"]).env("PATH", harness.path("empty")),
    );
    assert_eq!((run.code, run.stdout.len()), (2, 0));
    assert!(
        run.stderr
            .contains("cannot run curl: no program of that name is in PATH"),
        "{}",
        run.stderr
    );
    let dry = finish(
        command(&harness, "http://127.0.0.1:9", &["--dry-run", "access.log"])
            .env("PATH", harness.path("empty")),
    );
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    for (args, part) in [
        (&["verify", "access.log"][..], "--site"),
        (
            &["verify", "--site", "shop.example", "access.log"],
            "type scheme and host",
        ),
        (
            &["verify", "--site", "https://shop.example/x", "access.log"],
            "type scheme and host",
        ),
        (
            &[
                "verify",
                "--site",
                "https://shop.example",
                "--pause",
                "0s",
                "access.log",
            ],
            "type 1ms or more",
        ),
        (
            &[
                "verify",
                "--site",
                "https://shop.example",
                "--max-requests",
                "0",
                "access.log",
            ],
            "type 1 or more",
        ),
        (
            &[
                "verify",
                "--site",
                "https://shop.example",
                "-f",
                "csv",
                "access.log",
            ],
            "table",
        ),
    ] {
        let run = harness.run(args);
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    let run = verify(
        &harness,
        "https://127.0.0.1:9",
        &["--cacert", "gone.pem", "access.log"],
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("--cacert gone.pem: no such file"),
        "{}",
        run.stderr
    );
    let missing = verify(&harness, "http://127.0.0.1:9", &["--dry-run", "gone.log"]);
    assert_eq!(missing.code, 3, "{}", missing.stderr);
}

#[test]
fn a_signal_ends_it_and_saves_nothing() {
    if !has_curl("signals") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", log(&["/.env"]));
    let server = Server::start(|_, stream| respond(stream, 404, "", b""));
    let child = spawn(&mut command(
        &harness,
        &server.url(),
        &["--pause", "1h", "-o", "saved.json", "access.log"],
    ));
    let start = Instant::now();
    while server.paths().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no request came");
        thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let run = wait(child);
    assert_eq!(
        (
            run.code,
            run.stdout.len(),
            harness.path("saved.json").exists()
        ),
        (130, 0, false),
        "{}",
        run.stderr
    );
}
