//! Runs every command in the README and in the guide as it is written there, in a temporary folder
//! that has its files and paths. Commands that need a build, a terminal, a service or this host's
//! own configuration are on a list, each with its reason. Does not compare what is printed.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::harness::{EXE, Harness, line};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// How commands that are not run begin, and why they are not.
const NOT_RUN: [(&str, &str); 8] = [
    (
        "apt install ",
        "needs the package: samples/debian/test.sh builds it and installs it in a Debian root",
    ),
    (
        "cargo install ",
        "builds the program again, and writes to the folder of the user's programs",
    ),
    (
        "cargo run --release -- scan samples/",
        "builds the program again: tests/it/samples.rs runs it",
    ),
    ("cargo test", "this is that command"),
    (
        "probewatch follow --exec ",
        "its --syslog needs a log daemon at /dev/log: tests/it/follow runs it with a socket",
    ),
    (
        "probewatch follow --tui ",
        "needs a terminal: tests/it/live_view.rs runs it in one",
    ),
    (
        "probewatch scan --from-nginx",
        "reads this host's own configuration: tests/it/servers names one",
    ),
    (
        "samples/debian/build.sh",
        "builds the program again, and needs cargo-deb: samples/debian/test.sh runs it",
    ),
];

/// Programs that the pages name as examples, as shell scripts.
const STAND_INS: [(&str, &str); 5] = [
    ("bin/ssh", "shift; exec \"$@\""),
    ("bin/your-shipper", "exec cat"),
    ("bin/nft", "test -s \"$2\""),
    ("bin/docker", "exec cat access.log"),
    // `verify` must reach no real site.
    ("bin/curl", "printf 'HTTP/1.1 404 Not Found\\r\\n\\r\\n'"),
];

const SIGMA_RULE: &str = "title: A secret\nid: 5ac1f1d2-6a8f-4f0e-9f57-5d9f2e9f1b11\nstatus: test\nlogsource:\n  category: webserver\n\
    detection:\n  selection:\n    cs-uri-query|contains: /etc/odd-secret\n  condition: selection\nlevel: high\n";

/// The README and the guide.
fn pages() -> String {
    ["README.md", "samples/guide.md"]
        .map(|page| fs::read_to_string(Path::new(ROOT).join(page)).unwrap())
        .concat()
}

/// The blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fences: Vec<_> = page.split("```").collect();
    fences
        .into_iter()
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

/// The commands in the pages, in order, each once.
fn commands(page: &str) -> Vec<String> {
    let text = blocks(page, "sh").concat().replace("\\\n", " ");
    let mut seen = HashSet::new();
    let lines = text
        .lines()
        .map(|line| line.split("  #").next().unwrap_or_default().trim());
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#') && seen.insert(*line))
        .map(str::to_owned)
        .collect()
}

fn is_run(command: &str) -> bool {
    !NOT_RUN.iter().any(|(start, _)| command.starts_with(start))
}

/// Whether a command runs until it is stopped.
fn runs_on(command: &str) -> bool {
    command.starts_with("probewatch follow ")
}

/// Lines of four probers in different networks, with a path that no rule knows.
fn probes() -> String {
    let paths = [
        "/.env",
        "/.git/config",
        "/wp-login.php",
        "/backup.sql",
        "/boxes/keyring.asp",
    ];
    let clients = ["192.0.2.7", "198.51.100.7", "203.0.113.7", "192.31.196.7"];
    let requests = clients
        .iter()
        .flat_map(|client| paths.iter().map(move |path| (client, path)));
    requests
        .map(|(client, path)| line(client, &format!("GET {path} HTTP/1.1"), 404))
        .collect()
}

/// A folder with all that the commands name: `home`, in which they run, and the paths of a server.
fn stage() -> Harness {
    let stage = Harness::new();
    for folder in [
        "bin",
        "var/lib/prometheus/node-exporter",
        "var/log/nginx",
        "var/log/apache2",
        "etc/httpd/conf",
        "srv/reports/2026-11-01",
        "srv/reports/2026-11-02",
        "home/sigma/rules/web/webserver_generic",
    ] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    symlink(EXE, stage.path("bin/probewatch")).unwrap();
    symlink(Path::new(ROOT).join("samples"), stage.path("home/samples")).unwrap();
    for (name, script) in STAND_INS {
        let path = stage.file(name, format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    add_logs(&stage);
    add_configuration(&stage);
    for name in [
        "home/yesterday.json",
        "home/today.json",
        "srv/reports/2026-11-01/report.json",
        "srv/reports/2026-11-02/report.json",
    ] {
        let (run, _) = stage.json(["-q", "home/access.log"]);
        stage.file(name, run.stdout);
    }
    stage
}

fn add_logs(stage: &Harness) {
    let zstd = |text: &str| {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
        zstd_safe::compress(&mut packed, text.as_bytes(), 3).unwrap();
        packed
    };
    stage.file("home/access.log", probes());
    stage.file("var/log/nginx/access.log", probes());
    stage.file(
        "var/log/nginx/access.log.2.gz",
        crate::invariants::gzip(probes().as_bytes()),
    );
    stage.file("var/log/apache2/access.log.1.zst", zstd(&probes()));
    stage.file(
        "home/odd.log",
        "203.0.113.66 [02/Nov/2026:08:07:09 +0000] example.org \"GET /.env HTTP/1.1\" 404 0.01\n",
    );
    stage.file("home/app.json", "{\"ip\":\"203.0.113.66\",\"uri\":\"/.env\",\"status\":404,\"time\":\"2026-11-02T08:07:09Z\"}\n");
}

fn add_configuration(stage: &Harness) {
    let log = stage
        .path("var/log/apache2/access_log")
        .display()
        .to_string();
    stage.file(&log, probes());
    let conf = format!(
        "ServerRoot \"/\"\nLogFormat \"%h %l %u %t \\\"%r\\\" %>s %b\" common\nCustomLog {log} common\n"
    );
    stage.file("etc/httpd/conf/httpd.conf", conf);
    stage.file("home/GeoLite2-City.mmdb", crate::geoip::cities());
    stage.file("home/GeoLite2-ASN.mmdb", crate::geoip::systems());
    stage.file(
        "home/googlebot.json",
        "{\"prefixes\":[{\"ipv4Prefix\":\"192.0.2.128/27\"}]}",
    );
    stage.file("home/old-pages.txt", "/old-admin\n");
    stage.file(
        "home/sigma/rules/web/webserver_generic/secret.yml",
        SIGMA_RULE,
    );
    let page = pages();
    let allow: String = blocks(&page, "toml")
        .into_iter()
        .filter(|block| block.contains("[[allow]]"))
        .collect();
    stage.file("home/allow.toml", allow);
}

/// The shell that runs a command in `home`, with the paths of a server moved to the stage.
fn shell(stage: &Harness, command: &str) -> Command {
    let root = stage.path("").display().to_string();
    let moved = Regex::new(r#"(^|[\s'"=])/(etc|srv|usr|var)/"#)
        .unwrap()
        .replace_all(command, format!("${{1}}{root}${{2}}/"));
    let mut shell = stage.program("sh");
    let path = format!("{root}bin:{}", std::env::var("PATH").unwrap());
    shell
        .args(["-c", &moved])
        .current_dir(stage.path("home"))
        .env("PATH", path)
        .env("HOME", stage.path("home"));
    shell
}

#[test]
fn every_reason_for_not_running_a_command_is_needed() {
    let commands = commands(&pages());
    for (start, why) in NOT_RUN {
        assert!(
            commands.iter().any(|command| command.starts_with(start)),
            "no command starts with {start:?} ({why})"
        );
    }
    assert!(
        commands.iter().filter(|command| is_run(command)).count() > 30,
        "{commands:#?}"
    );
}

#[test]
fn commands_that_end_succeed() {
    let stage = stage();
    for command in commands(&pages())
        .iter()
        .filter(|command| is_run(command) && !runs_on(command))
    {
        let output = shell(&stage, command).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command}\n{}\n{errors}",
            output.status
        );
        assert!(!errors.contains("error:"), "{command}\n{errors}");
    }
}

#[test]
fn commands_that_follow_print_a_new_probe() {
    for command in commands(&pages())
        .iter()
        .filter(|command| is_run(command) && runs_on(command))
    {
        let stage = stage();
        let printed = stage.file("printed", "");
        let mut shell = shell(&stage, command);
        shell
            .stdin(Stdio::null())
            .process_group(0)
            .stdout(fs::File::create(&printed).unwrap());
        let mut child = shell
            .stderr(fs::File::create(stage.path("errors")).unwrap())
            .spawn()
            .unwrap();
        let reported = reports_a_probe(&stage, &mut child);
        // It may have ended, with an error.
        let _ = kill_process_group(Pid::from_child(&child), Signal::INT);
        child.wait().unwrap();
        let errors = fs::read_to_string(stage.path("errors")).unwrap();
        assert!(
            reported && !errors.contains("error:"),
            "{command}\n{}\n{errors}",
            fs::read_to_string(&printed).unwrap()
        );
    }
}

/// Adds probes to the log until one is printed. The limit only ends a test that would hang.
fn reports_a_probe(stage: &Harness, follower: &mut Child) -> bool {
    let begin = Instant::now();
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(stage.path("var/log/nginx/access.log"))
        .unwrap();
    while begin.elapsed() < Duration::from_secs(90) && follower.try_wait().unwrap().is_none() {
        log.write_all(line("203.0.113.77", "GET /.env HTTP/1.1", 200).as_bytes())
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        if fs::read_to_string(stage.path("printed"))
            .unwrap()
            .contains("203.0.113.77")
        {
            return true;
        }
    }
    false
}

#[test]
fn the_tests_of_the_threat_model_exist() {
    fn sources(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    for folder in ["src", "tests"] {
        sources(&root.join(folder), &mut code);
    }
    let guide = fs::read_to_string(root.join("samples/guide.md")).unwrap();
    let (_, model) = guide.rsplit_once("## What an attacker can do").unwrap();
    let is_test = |name: &str| {
        name.len() > 20
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte))
    };
    let names: Vec<_> = model
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| is_test(name))
        .chain(["kills_at_any_moment"])
        .collect();
    assert!(names.len() >= 20, "{names:?}");
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !code.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
