//! The incident of the guide: each of its steps is run as it is written there, against nginx, and
//! prints what the guide says.

use std::fs;
use std::path::Path;

use crate::harness::{EXE, Harness, finish, is_installed, skip};
use crate::servers::daemon::Daemon;
use crate::verify::{NGINX, start_nginx};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/guide.md");

/// The names of the guide.
const SITE: &str = "https://shop.example";
const LOG: &str = "/var/log/nginx/access.log";

const LINES: &str = r#"192.0.2.10 - - [02/Nov/2026:08:00:12 +0000] "GET / HTTP/1.1" 200 5120 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
192.0.2.10 - - [02/Nov/2026:08:00:13 +0000] "GET /style.css HTTP/1.1" 200 912 "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
203.0.113.66 - - [02/Nov/2026:08:07:01 +0000] "GET /.env HTTP/1.1" 404 153 "-" "curl/8.5.0"
203.0.113.66 - - [02/Nov/2026:08:07:02 +0000] "GET /.git/config HTTP/1.1" 200 92 "-" "curl/8.5.0"
203.0.113.66 - - [02/Nov/2026:08:07:03 +0000] "GET /.git/HEAD HTTP/1.1" 200 21 "-" "curl/8.5.0"
203.0.113.66 - - [02/Nov/2026:08:07:04 +0000] "GET /backup.zip HTTP/1.1" 404 153 "-" "curl/8.5.0"
198.51.100.23 - - [02/Nov/2026:08:30:44 +0000] "POST /wp-login.php HTTP/1.1" 404 153 "-" "Mozilla/5.0"
192.0.2.44 - - [02/Nov/2026:08:41:09 +0000] "GET /cart HTTP/1.1" 200 2210 "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
"#;

/// The blocks of the incident in the guide, each with its language.
fn steps() -> Vec<(String, String)> {
    let guide = fs::read_to_string(GUIDE).unwrap();
    let (_, incident) = guide.split_once("## An incident, step by step\n").unwrap();
    let (incident, _) = incident.split_once("\n## ").unwrap();
    let fences = incident.split("```").skip(1).step_by(2);
    fences
        .map(|block| block.split_once('\n').unwrap())
        .map(|(language, text)| (language.to_owned(), text.to_owned()))
        .collect()
}

/// A folder with the shop's site, its log, and `probewatch` among its programs.
fn shop() -> Harness {
    let shop = Harness::new();
    for folder in ["site/.git", "tmp", "bin"] {
        fs::create_dir_all(shop.path(folder)).unwrap();
    }
    shop.file("access.log", LINES);
    shop.file("site/.git/HEAD", "ref: refs/heads/main\n");
    let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";
    shop.file("site/.git/config", config);
    for folder in ["", "site", "site/.git"] {
        fs::set_permissions(
            shop.path(folder),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    }
    std::os::unix::fs::symlink(EXE, shop.path("bin/probewatch")).unwrap();
    shop
}

/// Runs a command of the guide for the real site and log. What it prints names those of the guide.
fn run(command: &str, shop: &Harness, server: &Daemon) -> (String, i32) {
    let url = format!("http://127.0.0.1:{}", server.port());
    let log = shop.path("access.log").display().to_string();
    let path = format!(
        "{}:{}",
        shop.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let mut shell = shop.program("sh");
    shell.args(["-c", &command.replace(SITE, &url).replace(LOG, &log)]);
    let ran = finish(
        shell
            .env("PATH", path)
            .env("COLUMNS", "100")
            .env("LINES", "60")
            .env("no_proxy", "*"),
    );
    (ran.text().replace(&url, SITE).replace(&log, LOG), ran.code)
}

#[test]
fn the_incident_of_the_guide_ends_well() {
    let Some(program) = NGINX.into_iter().find(|place| Path::new(place).exists()) else {
        return skip("the incident", "nginx is not installed");
    };
    if !is_installed("curl") {
        return skip("the incident", "curl is not installed");
    }
    let shop = shop();
    let mut server = start_nginx(&shop, program, "", "");
    let (mut printed, mut codes) = (String::new(), Vec::new());
    for (language, text) in steps() {
        match language.as_str() {
            "sh" => {
                let (text, code) = run(&text, &shop, &server);
                printed = text;
                codes.push(code);
            }
            "text" => {
                for line in text.lines() {
                    assert!(
                        printed.lines().any(|other| other == line),
                        "{line:?} is not in\n{printed}"
                    );
                }
            }
            "nginx" => {
                drop(server);
                server = start_nginx(&shop, program, "", &text);
            }
            other => panic!("a block of {other}"),
        }
    }
    assert_eq!(
        codes,
        [0, 0, 1, 0, 0],
        "only the first verify finds something"
    );
}
