//! What `merge` and `diff` do alike: load rules, read reports back, and say which rules only those know.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::message;
use super::run::Failure;
use super::settings::RetoldSettings;
use crate::analysis::merge::{MergedReport, ReportMerger};
use crate::analysis::snapshot::{self, SnapshotError};
use crate::render::sink::Sink;
use crate::rules::{Rule, RuleChoice, RuleSet, load};

/// What a report is called in a folder of them.
const REPORT: &str = "report.json";

/// The file that is meant: a folder holds its report under a known name.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(REPORT) } else { path.to_owned() }
}

/// The files of reports, each once, with a note for those that were named again.
pub(super) fn files(paths: &[PathBuf], quiet: bool) -> Vec<PathBuf> {
    let mut known = Vec::new();
    let mut files = Vec::new();
    for file in paths.iter().map(|path| file_of(path)) {
        let id = id(&file);
        if id.is_some() && known.contains(&id) {
            if !quiet {
                message::notice(&format!("{}: named twice; it is read once", message::shown(&file.to_string_lossy())));
            }
            continue;
        }
        known.push(id);
        files.push(file);
    }
    files
}

fn id(file: &Path) -> Option<(u64, u64)> {
    fs::metadata(file).ok().map(|there| (there.dev(), there.ino()))
}

/// Where the result goes, which may be none of the reports.
pub(super) fn output(path: Option<&Path>, files: &[PathBuf]) -> Result<Sink, Failure> {
    let sink = path.map_or_else(|| Ok(Sink::stdout()), Sink::file)?;
    let overwritten = |file: &&PathBuf| id(file).is_some_and(|(dev, ino)| sink.is_same_file(dev, ino));
    match files.iter().find(overwritten) {
        Some(path) => Err(Failure::OutputIsInput { path: path.clone(), flag: "--output" }),
        None => Ok(sink),
    }
}

/// Reads these reports and adds them up.
pub(super) fn whole(files: &[PathBuf], rules: &RuleSet, settings: &RetoldSettings) -> Result<MergedReport, Failure> {
    let mut merged = ReportMerger::new(rules);
    for file in files {
        merged.add(read(file, rules).map_err(|source| Failure::Unreadable { path: file.clone(), source })?)?;
    }
    let left_out = LeftOut::of(&settings.rules)?;
    let whole = merged.finish(|rule| left_out.holds(rule))?;
    if !settings.quiet && !whole.unknown_rules.is_empty() {
        message::warning(&unknown(&whole.unknown_rules));
    }
    Ok(whole)
}

fn read(file: &Path, rules: &RuleSet) -> Result<snapshot::ReportSnapshot, SnapshotError> {
    if file.as_os_str() == "-" { snapshot::read(io::stdin().lock(), rules) } else { snapshot::read(File::open(file)?, rules) }
}

fn unknown(ids: &[String]) -> String {
    const NAMED: usize = 5;
    let named = ids[..NAMED.min(ids.len())].join(", ");
    let more = ids.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("no rule here is called {named}{rest}; told as the reports have it (--rules reads the file it came from)")
}

/// The rules that `--disable`, `--only` and `--no-builtin` take away: that they are not known is no news then.
struct LeftOut {
    /// All that there would be; `None` where none is taken away.
    all: Option<RuleSet>,
    only: Vec<String>,
}

impl LeftOut {
    fn of(choice: &RuleChoice) -> Result<Self, Failure> {
        let takes_away = choice.no_builtin || !choice.disable.is_empty() || !choice.only.is_empty();
        let all = RuleChoice { no_builtin: false, disable: Vec::new(), only: Vec::new(), ..choice.clone() };
        Ok(Self { all: takes_away.then(|| load(&all)).transpose()?, only: choice.only.clone() })
    }

    fn holds(&self, rule: &Rule) -> bool {
        let Some(all) = &self.all else { return false };
        let is_asked = self.only.is_empty() || self.only.iter().any(|name| *name == rule.id || *name == rule.class);
        all.number_of(&rule.id).is_some() || !is_asked
    }
}
