//! `probewatch rules`: lists, tests, checks, adds and imports rules.

mod add;
mod check;
mod cover;
mod import;
mod show;

pub use add::{AddOptions, FILE, add};
pub use check::{lint, test};
pub use cover::cover;
pub use import::{ImportOptions, import};
pub use show::{list, show};

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Exit, message};
use crate::engine::{Matcher, WorkerState};
use crate::finding::RuleId;
use crate::rules::{Case, RuleChoice, RuleSet, load};

/// The rule with this ID; otherwise prints an error with a similar ID.
pub(super) fn named(rules: &RuleSet, id: &str) -> Result<RuleId, Exit> {
    let number = rules.rules().iter().position(|rule| rule.id == id);
    number.map(|number| RuleId(number as u16)).ok_or_else(|| {
        let meant = rules.nearest(id).map(|id| format!(" (did you mean '{id}'?)")).unwrap_or_default();
        message::usage_error(&format!("no rule is called '{id}'{meant}; `probewatch rules list` shows them all"))
    })
}

fn with_rules(choice: &RuleChoice, then: impl FnOnce(&RuleSet) -> Exit) -> Exit {
    match load(choice) {
        Ok(rules) => {
            message::warnings(rules.warnings());
            then(&rules)
        }
        Err(error) => message::usage_error(&error.to_string()),
    }
}

/// Matches cases against rules.
struct CaseRunner<'r> {
    matcher: Matcher<'r>,
    scratch: WorkerState,
}

impl<'r> CaseRunner<'r> {
    fn new(rules: &'r RuleSet) -> Self {
        Self { matcher: Matcher::new(rules), scratch: WorkerState::default() }
    }

    /// The rules that match a case.
    fn matched(&mut self, case: &Case) -> Vec<RuleId> {
        let verdict = self.matcher.match_uncached(&case.log_entry(), &mut self.scratch);
        self.scratch.rules(verdict).to_vec()
    }
}

/// `1 rule`, `2 rules`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The text of a rule file; `None` if it does not exist.
///
/// # Errors
///
/// It exists and cannot be read.
fn read_rule_file(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates or replaces a rule file atomically, and prints an error if that fails. An existing file keeps its mode.
fn replace_rule_file(path: &Path, text: &str) -> Result<(), Exit> {
    write_rule_file(path, text).map_err(|error| {
        let name = message::sanitized(&path.display().to_string());
        message::error(&format!("cannot write {name}: {error}; choose another file with --file"));
        Exit::Output
    })
}

fn write_rule_file(path: &Path, text: &str) -> io::Result<()> {
    // A link is kept, and its target is replaced.
    let path: PathBuf = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut staged =
        tempfile::Builder::new().prefix(".probewatch-").suffix(".tmp").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    match fs::metadata(&path) {
        Ok(there) if there.is_file() => staged.as_file().set_permissions(there.permissions())?,
        Ok(_) => return Err(io::Error::other("it is no file")),
        Err(_) => {}
    }
    staged.write_all(text.as_bytes())?;
    staged.as_file().sync_all()?;
    staged.persist(&path)?;
    Ok(())
}
