//! Errors of rules: each names the file and line or the rule, what was found, and what was
//! expected.

use std::path::PathBuf;

use thiserror::Error;

/// Why rules were rejected.
#[derive(Debug, Error)]
pub enum RuleError {
    /// A rule file cannot be read.
    #[error("{}: cannot read rules: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A folder without rules.
    #[error("{}: no rule files here; expected files that end in .toml", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// A file that is no valid rule file.
    #[error("{file}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Line, column, caret and what was expected.
        message: String,
    },
    /// An invalid rule.
    #[error("{file}:{line}: rule '{id}': {message}")]
    Rule {
        /// The file.
        file: String,
        /// The line of its id, from 1.
        line: usize,
        /// Its id.
        id: String,
        /// What was found, and what was expected.
        message: String,
    },
    /// A line of a path list that is no path.
    #[error("{file}:{line}: {message}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What was found, and what was expected.
        message: String,
    },
    /// A flag that names no rule.
    #[error("{flag}: no rule {}is called '{name}'{}; `probewatch rules list` shows them all", if *or_class { "or class " } else { "" }, suggestion(nearest.as_deref()))]
    Unknown {
        /// The flag.
        flag: &'static str,
        /// Its value.
        name: String,
        /// Whether the flag takes classes as well.
        or_class: bool,
        /// A name that looks like it.
        nearest: Option<String>,
    },
    /// Files without a rule, and no others.
    #[error("{}: has no rules; a rule begins with [[rule]]", path.display())]
    WithoutRules {
        /// The first of them.
        path: PathBuf,
    },
    /// No rules are left.
    #[error(
        "no rules are left; drop one of --no-builtin, --only and --disable, or name rules with --rules"
    )]
    NoneLeft,
    /// More rules than a set can hold.
    #[error("{found} rules are too many; a set holds up to {most}")]
    TooMany {
        /// The number of rules.
        found: usize,
        /// The most rules.
        most: usize,
    },
    /// The literals are too many for an automaton.
    #[error("the rules' literals do not fit an automaton: {0}")]
    Literals(#[from] aho_corasick::BuildError),
    /// Several errors.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<RuleError>),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|n| format!(" (did you mean '{n}'?)"))
        .unwrap_or_default()
}

/// The name that is most similar to `name`, if one is similar.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    // `git` is a part of `vcs/git`.
    let distance = |n: &str| {
        if n.split('/').any(|part| part == name) {
            0
        } else {
            edit_distance(name, n)
        }
    };
    names
        .map(|n| (distance(n), n))
        .filter(|(distance, n)| *distance <= n.len().max(name.len()) / 3)
        .min()
        .map(|(_, n)| n.to_owned())
}

/// The Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            let best = change.min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_was_meant() {
        let ids = ["dotfiles/env", "vcs/git", "wordpress/login"];
        assert_eq!(
            nearest("dotfile/env", ids.into_iter()).as_deref(),
            Some("dotfiles/env")
        );
        assert_eq!(
            nearest("vsc/git", ids.into_iter()).as_deref(),
            Some("vcs/git")
        );
        assert_eq!(nearest("git", ids.into_iter()).as_deref(), Some("vcs/git"));
        assert_eq!(nearest("zzz", ids.into_iter()), None);
    }
}
