//! A temporary folder and the command, and what every run must keep whatever it is given.

use regex::Regex;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The command under test.
pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_probewatch");

/// A folder to work in, gone when the test ends.
pub(crate) struct Harness {
    folder: TempDir,
}

/// What a run left.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// In a folder under `parent`, for another file system.
    pub(crate) fn within(parent: &Path) -> Self {
        Self { folder: tempfile::tempdir_in(parent).unwrap() }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The command, in the folder, with nothing of ours in its environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.program(EXE);
        command.args(args);
        command
    }

    /// Another program that is to run the command: `prlimit --nofile=64`, say, with the command and its arguments behind.
    pub(crate) fn under<S: AsRef<OsStr>>(&self, program: &[&str], args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.program(program[0]);
        command.args(&program[1..]).arg(EXE).args(args);
        command
    }

    /// A line of shell in the folder. `$0` is the command.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = self.program("sh");
        command.args(["-c", line, EXE]);
        command
    }

    /// Any program, in the folder, with nothing of ours in its environment.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PROBEWATCH_")) {
            command.env_remove(name);
        }
        command.env_remove("COLUMNS").env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        finish(&mut self.command(args))
    }

    /// Runs with something on standard input.
    pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, stdin: &[u8]) -> Run {
        let mut child = spawn(self.command(args).stdin(Stdio::piped()));
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A reader that leaves early is not this test's business.
            scope.spawn(move || drop(pipe.write_all(stdin)));
            Run::of(child.wait_with_output().unwrap())
        })
    }

    /// `scan -f json` of these arguments, parsed and checked.
    pub(crate) fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> (Run, Value) {
        let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let run =
            self.run([OsStr::new("scan"), OsStr::new("-f"), OsStr::new("json")].into_iter().chain(args.iter().map(OsString::as_os_str)));
        let report = run.json();
        (run, report)
    }
}

/// Runs a command to its end and checks what must always hold.
pub(crate) fn finish(command: &mut Command) -> Run {
    Run::of(command.output().unwrap())
}

/// Starts a command whose streams are kept for [`wait`].
pub(crate) fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a command to end, and checks what must always hold.
pub(crate) fn wait(child: Child) -> Run {
    Run::of(child.wait_with_output().unwrap())
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.signal(), None, "killed by a signal: {stderr}");
        let code = output.status.code().unwrap();
        assert!(![101, 134, 135, 139, 153].contains(&code), "exit {code}: {stderr}");
        assert_clean(&output.stdout);
        assert_clean(&output.stderr);
        Self { code, stdout: output.stdout, stderr }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// The JSON report, with its sums checked.
    pub(crate) fn json(&self) -> Value {
        let report: Value = serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", self.text(), self.stderr));
        assert_conserved(&report);
        report
    }

    /// The objects of an NDJSON report.
    pub(crate) fn objects(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Whether a program is there.
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// Says that a test, or a part of it, was left out, and why: past the test harness, which keeps quiet about what passes.
pub(crate) fn skip(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
}

/// Every line of every input went somewhere, and no hit is missing in the rows.
pub(crate) fn assert_conserved(report: &Value) {
    for sums in report["inputs"].as_array().unwrap().iter().chain([&report["totals"]]) {
        let of = |name: &str| sums[name].as_u64().unwrap();
        assert_eq!(of("lines"), of("parsed") + of("unparsed") + of("oversized") + of("skipped") + of("pending"), "{sums}");
    }
    let pairs: u64 = report["pairs"].as_array().unwrap().iter().map(|row| row["hits"].as_u64().unwrap()).sum();
    let rest = report["approximate"]["rest_hits"].as_u64().unwrap_or(0);
    assert_eq!(pairs + rest, report["totals"]["hits"].as_u64().unwrap());
}

/// No control byte but the newline, no C1, nothing that turns the direction of writing, nothing invisible.
pub(crate) fn assert_clean(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("output is UTF-8");
    let bad = |c: &char| {
        (c.is_control() && *c != '\n') || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(bad), None, "{text:?}");
}

/// A combined line. Each page has a size of its own, as content has: what has one size is taken for one page.
pub(crate) fn line(client: &str, request: &str, status: u16) -> String {
    let target = request.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let bytes = match status {
        200..=299 => path.bytes().fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 900_001) + 512,
        _ => 512,
    };
    format!("{client} - - [02/Nov/2026:08:01:00 +0000] \"{request}\" {status} {bytes} \"-\" \"Mozilla/5.0\"\n")
}

/// The same line with an answer of so many bytes.
pub(crate) fn sized(line: &str, bytes: u64) -> String {
    let size = Regex::new(r#"(" [0-9]{3} )[0-9]+ "#).unwrap();
    size.replace(line, format!("${{1}}{bytes} ")).into_owned()
}

/// So many ordinary lines, with a probe in each tenth.
pub(crate) fn log(lines: usize) -> String {
    (0..lines)
        .map(|n| {
            let request = if n % 10 == 3 { "GET /.git/config HTTP/1.1".to_owned() } else { format!("GET /page/{n} HTTP/1.1") };
            line(&format!("192.0.2.{}", n % 200), &request, if n % 10 == 3 { 404 } else { 200 })
        })
        .collect()
}

/// Numbers that look random and are the same in every run (xorshift).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// A size of content like no other: spread over more decades than files are, so that no page shows for everything.
    pub(crate) fn size(&mut self) -> u64 {
        let octave = 1 << (10 + self.below(40));
        octave + self.below(octave)
    }
}
