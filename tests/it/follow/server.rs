//! The real nginx on 127.0.0.1: its buffers, its escapes, and reopening its logs (E24, B15).

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::follower::{DEADLINE, MODES, follow};
use super::oracle::{exactly_once, on_disk};
use crate::harness::{Harness, skip};

const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// A user agent with each byte that an escape mode treats differently.
const AGENT: &str = "quoted \" and \\ and \u{1} and \u{e9}";

/// A server that answers 404 to everything.
struct Nginx {
    master: Child,
    port: u16,
    next: u64,
}

impl Nginx {
    /// Starts it with this `log_format` escape and these options of `access_log`; `None`, with a
    /// message, if it is not installed.
    fn start(test: &str, harness: &Harness, escape: &str, options: &str) -> Option<Self> {
        let Some(program) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
            skip(test, "nginx is not installed");
            return None;
        };
        fs::create_dir_all(harness.path("log")).unwrap();
        fs::create_dir_all(harness.path("tmp")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let user = if rustix::process::geteuid().is_root() {
            "user root;"
        } else {
            ""
        };
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path tmp/{name};"))
            .concat();
        let format = r#"'$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'"#;
        let conf = format!(
            "{user} daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
            events {{ worker_connections 64; }}
            http {{ {temporary} log_format test escape={escape} {format}; access_log log/access.log test {options};
            server {{ listen 127.0.0.1:{port}; location / {{ return 404; }} }} }}\n"
        );
        harness.file("nginx.conf", conf);
        let mut command = Command::new(program);
        command
            .args(["-e", "error.log", "-c", "nginx.conf", "-p"])
            .arg(harness.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut server = Self {
            master: command.stderr(Stdio::null()).spawn().unwrap(),
            port,
            next: 0,
        };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.master.try_wait().unwrap();
            let errors = fs::read_to_string(harness.path("error.log")).unwrap_or_default();
            assert!(
                ended.is_none() && start.elapsed() < DEADLINE,
                "nginx does not start: {errors}"
            );
            thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }

    /// Sends this many requests, each with the next number.
    fn request(&mut self, times: u64) {
        for _ in 0..times {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            let request = format!(
                "GET /.git/config?n={:07} HTTP/1.1\r\nHost: x\r\nUser-Agent: {AGENT}\r\nConnection: close\r\n\r\n",
                self.next
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert!(
                answer.starts_with(b"HTTP/1.1 40"),
                "{}",
                String::from_utf8_lossy(&answer)
            );
            self.next += 1;
        }
    }

    /// Moves the log away and signals the server.
    fn rotate(&self, harness: &Harness, round: u64) {
        let log = harness.path("log/access.log");
        fs::rename(&log, harness.path(format!("log/access.log.{round}"))).unwrap();
        self.signal(Signal::USR1);
        let start = Instant::now();
        while !log.exists() {
            assert!(
                start.elapsed() < DEADLINE,
                "nginx does not open its log anew"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.master), signal).unwrap();
    }

    /// Stops it cleanly, so that buffers are written.
    fn quit(mut self) {
        self.signal(Signal::QUIT);
        self.master.wait().unwrap();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end only with a clean stop.
        if self.master.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(Signal::TERM);
            let _ = self.master.wait();
        }
    }
}

/// E24. Nothing for a while, then everything at once; what was buffered when the log was moved is
/// in the old one.
#[test]
fn buffers_and_reopening() {
    for options in ["", "buffer=32k flush=60s", "buffer=1k flush=100ms"] {
        for mode in MODES {
            let harness = Harness::new();
            let Some(mut nginx) = Nginx::start("E24", &harness, "default", options) else {
                return;
            };
            let mut follower = follow(&harness, &[mode, &["log/access.log"]].concat());
            for round in 1..4 {
                nginx.request(20);
                nginx.rotate(&harness, round);
                follower.until_seen(0..nginx.next);
            }
            nginx.request(20);
            let all = nginx.next;
            nginx.quit();
            follower.until_seen(0..all);
            let output = follower.end();
            let disk = on_disk(&harness.path("log"));
            assert_eq!(disk.len() as u64, all);
            exactly_once(&disk, &[&output.hits])
                .unwrap_or_else(|e| panic!("{options}, {mode:?}: {e}"));
        }
    }
}

/// B15. With any user agent, each line is one hit with the client that the server saw.
#[test]
fn escape_forms() {
    for escape in ["default", "json", "none"] {
        let harness = Harness::new();
        let Some(mut nginx) = Nginx::start("B15", &harness, escape, "") else {
            return;
        };
        let mut follower = follow(&harness, &["log/access.log"]);
        nginx.request(5);
        follower.until_seen(0..5);
        let output = follower.end();
        exactly_once(&on_disk(&harness.path("log")), &[&output.hits])
            .unwrap_or_else(|e| panic!("{escape}: {e}"));
        for hit in &output.hits {
            let (client, status) = (hit.0["client"].as_str(), hit.0["status"].as_u64());
            assert_eq!(
                (client, status),
                (Some("127.0.0.1"), Some(404)),
                "{escape}: {}",
                hit.0
            );
        }
    }
}
