//! A temporary folder with the command, and the checks that apply to every run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The command under test.
pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_probewatch");

/// A working folder, removed when the test ends.
pub(crate) struct Harness {
    folder: TempDir,
}

/// The result of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A folder in `parent`, for another file system.
    pub(crate) fn within(parent: &Path) -> Self {
        Self {
            folder: tempfile::tempdir_in(parent).unwrap(),
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The command, in the folder, with a clean environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.program(EXE);
        command.args(args);
        command
    }

    /// A program that runs the command: for example `prlimit --nofile=64`, followed by the command
    /// and its arguments.
    pub(crate) fn under<S: AsRef<OsStr>>(
        &self,
        program: &[&str],
        args: impl IntoIterator<Item = S>,
    ) -> Command {
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

    /// Any program, in the folder, with a clean environment.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PROBEWATCH_"))
        {
            command.env_remove(name);
        }
        command
            .env_remove("COLUMNS")
            .env_remove("LINES")
            .env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        finish(&mut self.command(args))
    }

    /// Runs with this standard input.
    pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> Run {
        let mut child = spawn(self.command(args).stdin(Stdio::piped()));
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The command may stop reading early.
            scope.spawn(move || drop(pipe.write_all(stdin)));
            Run::of(child.wait_with_output().unwrap())
        })
    }

    /// `scan -f json` of these arguments, parsed and checked.
    pub(crate) fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> (Run, Value) {
        let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let run = self.run(
            [OsStr::new("scan"), OsStr::new("-f"), OsStr::new("json")]
                .into_iter()
                .chain(args.iter().map(OsString::as_os_str)),
        );
        let report = run.json();
        (run, report)
    }
}

/// Runs a command to its end and makes the general checks.
pub(crate) fn finish(command: &mut Command) -> Run {
    Run::of(command.output().unwrap())
}

/// Starts a command with captured output, for [`wait`].
pub(crate) fn spawn(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a command to end, and makes the general checks.
pub(crate) fn wait(child: Child) -> Run {
    Run::of(child.wait_with_output().unwrap())
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.signal(), None, "killed by a signal: {stderr}");
        let code = output.status.code().unwrap();
        assert!(
            ![101, 134, 135, 139, 153].contains(&code),
            "exit {code}: {stderr}"
        );
        assert_clean(&output.stdout);
        assert_clean(&output.stderr);
        Self {
            code,
            stdout: output.stdout,
            stderr,
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// The JSON report, with its sums checked.
    pub(crate) fn json(&self) -> Value {
        let report: Value = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", self.text(), self.stderr));
        assert_conserved(&report);
        report
    }

    /// The objects of an NDJSON report.
    pub(crate) fn objects(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Whether a program is installed.
pub(crate) fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Prints that a test or part of it was skipped, and why: written directly, because the test
/// harness hides output of tests that pass.
///
/// # Panics
///
/// The variable `PROBEWATCH_REQUIRE` names the program that is missing: `nginx,apache`.
pub(crate) fn skip(what: &str, why: &str) {
    let required = std::env::var("PROBEWATCH_REQUIRE").unwrap_or_default();
    let is_missing = |program: &&str| {
        !program.is_empty() && why.to_lowercase().contains(&format!("{program} is not "))
    };
    assert_eq!(
        required.split(',').find(is_missing),
        None,
        "{what} may not be skipped: {why}"
    );
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
}

/// Every line of every input is accounted for, and the rows contain all hits.
pub(crate) fn assert_conserved(report: &Value) {
    for sums in report["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .chain([&report["totals"]])
    {
        let of = |name: &str| sums[name].as_u64().unwrap();
        assert_eq!(
            of("lines"),
            of("parsed") + of("unparsed") + of("oversized") + of("skipped") + of("pending"),
            "{sums}"
        );
    }
    let pairs: u64 = report["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["hits"].as_u64().unwrap())
        .sum();
    let rest = report["approximate"]["rest_hits"].as_u64().unwrap_or(0);
    assert_eq!(pairs + rest, report["totals"]["hits"].as_u64().unwrap());
}

/// Fails on control characters other than newline, on C1 and bidirectional controls, and on
/// invisible characters.
pub(crate) fn assert_clean(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("output is UTF-8");
    let bad = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(bad), None, "{text:?}");
}

/// A combined line. Each page has its own size, because equal sizes count as one page.
pub(crate) fn line(client: &str, request: &str, status: u16) -> String {
    let target = request.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let bytes = match status {
        200..=299 => {
            path.bytes()
                .fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 900_001)
                + 512
        }
        _ => 512,
    };
    format!(
        "{client} - - [02/Nov/2026:08:01:00 +0000] \"{request}\" {status} {bytes} \"-\" \"Mozilla/5.0\"\n"
    )
}

/// The same line with this response size.
pub(crate) fn sized(line: &str, bytes: u64) -> String {
    let size = Regex::new(r#"(" [0-9]{3} )[0-9]+ "#).unwrap();
    size.replace(line, format!("${{1}}{bytes} ")).into_owned()
}

/// Normal lines, with a probe in every tenth.
pub(crate) fn log(lines: usize) -> String {
    (0..lines)
        .map(|n| {
            let request = if n % 10 == 3 {
                "GET /.git/config HTTP/1.1".to_owned()
            } else {
                format!("GET /page/{n} HTTP/1.1")
            };
            line(
                &format!("192.0.2.{}", n % 200),
                &request,
                if n % 10 == 3 { 404 } else { 200 },
            )
        })
        .collect()
}

/// A deterministic random number generator (xorshift).
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

    /// A content size unlike any other: spread over more orders of magnitude than files are, so
    /// that no page counts as a soft 404.
    pub(crate) fn size(&mut self) -> u64 {
        let octave = 1 << (10 + self.below(40));
        octave + self.below(octave)
    }
}

/// A JSON report with the rows of its evidence as lists of plain JSON, by kind, where they are a
/// zstd frame in Base64. Other texts are unchanged.
pub(crate) fn with_plain_evidence(report: &str) -> String {
    let Some((before, packed, after)) = packed_evidence(report) else {
        return report.to_owned();
    };
    let mut lists: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in packed.lines() {
        let row: BTreeMap<String, Value> = serde_json::from_str(row).unwrap();
        for (kind, row) in row {
            lists.entry(kind).or_default().push(row);
        }
    }
    let lists = serde_json::to_string(&lists).unwrap();
    format!(
        "{before}{}{after}",
        lists
            .strip_prefix('{')
            .and_then(|lists| lists.strip_suffix('}'))
            .unwrap()
    )
}

/// A JSON report with changed rows of its evidence, compressed again.
pub(crate) fn with_changed_evidence(report: &str, change: impl Fn(&str) -> String) -> String {
    let (before, rows, after) = packed_evidence(report).unwrap();
    let mut frame = Vec::with_capacity(1 << 20);
    zstd_safe::compress(&mut frame, change(&rows).as_bytes(), 1).unwrap();
    format!("{before}\"packed\":\"{}\"{after}", STANDARD.encode(frame))
}

/// The text of a report before and after its packed evidence, and the rows between them.
fn packed_evidence(report: &str) -> Option<(&str, String, &str)> {
    let (before, packed) = report.split_once("\"packed\":\"")?;
    let (packed, after) = packed.split_once('"')?;
    let mut rows = Vec::with_capacity(1 << 24);
    zstd_safe::decompress(&mut rows, &STANDARD.decode(packed).unwrap()).unwrap();
    Some((before, String::from_utf8(rows).unwrap(), after))
}
