//! Test cases as data: each `tests/cases/*.toml` contains logs, commands and the expected output.
//!
//! A case has the arguments and what is expected: always the exit code; `stdout` exactly, or parts
//! in `stdout_has` and `stdout_lacks`; `stderr` exactly, or parts in `stderr_has`. Without `stdin`,
//! standard input is the null device.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::harness::{Harness, Run, finish};

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    /// The files that each case can read: their lines by name.
    #[serde(default)]
    files: BTreeMap<String, Vec<String>>,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows.
    name: String,
    args: Vec<String>,
    /// Additional files.
    #[serde(default)]
    files: BTreeMap<String, Vec<String>>,
    stdin: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    exit: i32,
    stdout: Option<String>,
    #[serde(default)]
    stdout_has: Vec<String>,
    #[serde(default)]
    stdout_lacks: Vec<String>,
    stderr: Option<String>,
    #[serde(default)]
    stderr_has: Vec<String>,
}

fn lines(lines: &[String]) -> String {
    lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect()
}

impl Case {
    fn run(&self, common: &BTreeMap<String, Vec<String>>) -> Run {
        let harness = Harness::new();
        for (name, text) in common.iter().chain(&self.files) {
            harness.file(name, lines(text));
        }
        match &self.stdin {
            Some(text) => harness.run_with_stdin(&self.args, lines(text).as_bytes()),
            None => finish(
                harness
                    .command(&self.args)
                    .env("COLUMNS", "160")
                    .envs(&self.env),
            ),
        }
    }

    /// A list of what differs.
    fn complaints(&self, run: &Run) -> Vec<String> {
        let (stdout, stderr) = (run.text(), &run.stderr);
        let mut complaints = Vec::new();
        let mut check = |fine: bool, what: String| {
            if !fine {
                complaints.push(what);
            }
        };
        check(
            run.code == self.exit,
            format!("exit is {}, not {}", run.code, self.exit),
        );
        for (stream, exact, found) in [
            ("stdout", &self.stdout, &stdout),
            ("stderr", &self.stderr, stderr),
        ] {
            check(
                exact.as_ref().is_none_or(|text| text == found),
                format!("{stream} is not {exact:?}"),
            );
        }
        for part in &self.stdout_has {
            check(stdout.contains(part), format!("stdout has no {part:?}"));
        }
        for part in &self.stdout_lacks {
            check(!stdout.contains(part), format!("stdout has {part:?}"));
        }
        for part in &self.stderr_has {
            check(stderr.contains(part), format!("stderr has no {part:?}"));
        }
        complaints
    }
}

/// Runs all cases of a file. Returns their number and the failures.
fn check(path: &Path) -> (usize, Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let cases: Cases = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut wrong = Vec::new();
    for case in &cases.case {
        let run = case.run(&cases.files);
        let complaints = case.complaints(&run);
        if !complaints.is_empty() {
            let (file, output) = (
                path.file_name().unwrap().display(),
                run.text() + &run.stderr,
            );
            wrong.push(format!(
                "{file}: {}\n  {}\n{output}",
                case.name,
                complaints.join("\n  ")
            ));
        }
    }
    let names: BTreeSet<_> = cases.case.iter().map(|case| &case.name).collect();
    assert_eq!(
        names.len(),
        cases.case.len(),
        "{}: two cases of one name",
        path.display()
    );
    (cases.case.len(), wrong)
}

#[test]
fn every_case_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    paths.sort();
    let (cases, wrong): (Vec<_>, Vec<_>) = paths.iter().map(|path| check(path)).unzip();
    assert!(
        cases.iter().sum::<usize>() >= 25,
        "the cases are not here: {paths:?}"
    );
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
