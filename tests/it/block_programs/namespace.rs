//! Two network namespaces that a pair of interfaces connects: one with a server, one with the
//! addresses of its clients. Both end with the test, and neither can reach another network.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{has_programs, output_of, program};
use crate::harness::skip;

/// The timeout on a busy host.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// How long a client waits for an answer that must not come, in seconds.
const DROPPED: &str = "2";

/// A process of a test, stopped by its process ID, also if the test fails.
pub(super) struct Process(Child);

impl Process {
    pub(super) fn start(command: &mut Command) -> Self {
        use std::os::unix::process::CommandExt as _;
        // Apache signals its whole process group when it ends.
        Self(
            command
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    /// Waits until the condition is true while the process runs.
    pub(super) fn wait_until(&mut self, what: &str, mut is_true: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_true() {
            assert!(
                self.0.try_wait().unwrap().is_none(),
                "the process ended: {what}"
            );
            assert!(start.elapsed() < DEADLINE, "{what}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

/// A network namespace, which exists as long as its process.
pub(super) struct Namespace {
    holder: Process,
}

impl Namespace {
    /// `None`, with a message, if this user or this kernel cannot make one.
    pub(super) fn new(test: &str) -> Option<Self> {
        if !has_programs(test, &["unshare", "nsenter", "ip"]) {
            return None;
        }
        let trial = program("unshare")
            .args(["--net", "ip", "link", "set", "lo", "up"])
            .output()
            .unwrap();
        if !trial.status.success() {
            skip(
                test,
                &format!(
                    "no network namespace: {}",
                    String::from_utf8_lossy(&trial.stderr).trim()
                ),
            );
            return None;
        }
        let mut holder = Process::start(program("unshare").args(["--net", "sleep", "3600"]));
        let (own, its) = (
            fs::read_link("/proc/self/ns/net").unwrap(),
            namespace_of(&holder),
        );
        holder.wait_until("a network namespace", || {
            fs::read_link(&its).is_ok_and(|link| link != own)
        });
        let namespace = Self { holder };
        namespace.set_up("ip link set lo up");
        Some(namespace)
    }

    /// A program in this namespace.
    pub(super) fn program(&self, name: impl AsRef<Path>) -> Command {
        let mut command = program("nsenter");
        command
            .arg(format!("--net={}", namespace_of(&self.holder).display()))
            .arg(name.as_ref());
        command
    }

    /// Runs words in this namespace, which must succeed.
    fn set_up(&self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        output_of(self.program(words[0]).args(&words[1..]));
    }
}

fn namespace_of(process: &Process) -> PathBuf {
    format!("/proc/{}/ns/net", process.0.id()).into()
}

/// A server and its clients.
pub(super) struct Network {
    pub(super) server: Namespace,
    client: Namespace,
    sources: Vec<&'static str>,
}

impl Network {
    /// Each of the `sources` is an address of the client. `None`, with a message, if this user or
    /// this kernel cannot do that.
    pub(super) fn new(test: &str, sources: &[&'static str]) -> Option<Self> {
        let network = Self {
            server: Namespace::new(test)?,
            client: Namespace::new(test)?,
            sources: sources.to_vec(),
        };
        let pair = format!(
            "link add server type veth peer name client netns {}",
            network.client.holder.0.id()
        );
        let made = network
            .server
            .program("ip")
            .args(pair.split(' '))
            .output()
            .unwrap();
        if !made.status.success() {
            skip(
                test,
                &format!(
                    "no pair of interfaces: {}",
                    String::from_utf8_lossy(&made.stderr).trim()
                ),
            );
            return None;
        }
        network.server.set_up("ip link set server up");
        network.client.set_up("ip link set client up");
        for (number, source) in sources.iter().enumerate() {
            network.connect(source, &destination(number, source));
        }
        Some(network)
    }

    /// Connections of the client to this destination have this source.
    fn connect(&self, source: &str, destination: &str) {
        let (length, nodad) = if source.contains(':') {
            (128, "nodad")
        } else {
            (32, "")
        };
        self.client
            .set_up(&format!("ip addr add {source}/{length} dev client {nodad}"));
        self.server.set_up(&format!(
            "ip addr add {destination}/{length} dev server {nodad}"
        ));
        self.client.set_up(&format!(
            "ip route add {destination}/{length} dev client src {source}"
        ));
        self.server
            .set_up(&format!("ip route add {source}/{length} dev server"));
    }

    /// Starts a server with `command` and waits until it listens on this port.
    pub(super) fn serve(&self, command: &mut Command, port: u16) -> Process {
        let mut process = Process::start(command);
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        process.wait_until("the server listens", || {
            self.server
                .program("bash")
                .args(["-c", &script])
                .output()
                .is_ok_and(|output| output.status.success())
        });
        process
    }

    /// The status of the answer to a request for this path from this source.
    pub(super) fn status(&self, source: &str, port: u16, path: &str) -> u16 {
        let answer = self.get(source, port, path, "60");
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("{source} gets no answer: {answer:?}"))
    }

    /// Waits until a request from this source gets this status: a server reloads in the background.
    pub(super) fn wait_for(&self, source: &str, port: u16, status: u16) {
        let start = Instant::now();
        loop {
            let found = self.status(source, port, "/");
            if found == status {
                break;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "{source} gets {found}, not {status}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether a request from this source has no answer.
    pub(super) fn has_no_answer(&self, source: &str, port: u16) -> bool {
        self.get(source, port, "/", DROPPED).is_empty()
    }

    /// What a request from this source gets within `seconds`.
    fn get(&self, source: &str, port: u16, path: &str, seconds: &str) -> String {
        let number = self
            .sources
            .iter()
            .position(|known| *known == source)
            .unwrap();
        let to = destination(number, source);
        let script = format!(
            "exec 3<>/dev/tcp/{to}/{port} && printf 'GET {path} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3"
        );
        let output = self
            .client
            .program("timeout")
            .args([seconds, "bash", "-c", &script])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The address of the server for the source with this number.
fn destination(number: usize, source: &str) -> String {
    match source.parse().unwrap() {
        IpAddr::V4(_) => format!("10.77.0.{}", number + 1),
        IpAddr::V6(_) => format!("fd77::{:x}", number + 1),
    }
}
