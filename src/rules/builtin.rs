//! The rule files that come with the binary, as they are written and as JSON, which is read in a tenth of the time.
//!
//! Nothing is decided here: a short form says what its file says, or is not used.

use serde::Deserialize;

use super::definition::RuleFile;
use super::error::RuleError;
use super::lines::Lines;
use super::load::{Located, located, parse};

/// The rule files that were in `rules/` when this was built.
pub(super) const BUILTIN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/builtin_rules.rs"));

/// A rule file that comes with the binary.
#[derive(Debug)]
pub(super) struct BuiltIn {
    name: &'static str,
    /// The file as written.
    pub(super) text: &'static str,
    /// The same as JSON, a [`Short`]; empty where it is no TOML.
    short: &'static str,
}

/// A rule file that was taken apart when the program was built.
#[derive(Deserialize)]
struct Short {
    lines: Lines,
    file: RuleFile,
}

impl BuiltIn {
    /// Its rules. Where the short form will not do, something is wrong with the file, which can say what and where.
    pub(super) fn rules(&self) -> Result<Vec<Located>, RuleError> {
        let name = self.shown();
        match serde_json::from_str(self.short) {
            Ok(Short { lines, file }) => Ok(located(&name, file, lines, true)),
            Err(_) => parse(&name, self.text, true),
        }
    }

    /// What messages call it.
    fn shown(&self) -> String {
        format!("built-in {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_form_says_what_its_file_says() {
        for file in BUILTIN {
            let written = parse(&file.shown(), file.text, true).unwrap();
            assert!(serde_json::from_str::<Short>(file.short).is_ok(), "{}", file.name);
            assert_eq!(format!("{:?}", file.rules().unwrap()), format!("{written:?}"), "{}", file.name);
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let told = |text, short| BuiltIn { name: "x.toml", text, short }.rules().unwrap_err().to_string();
        let wrong_key = "[[rule]]\nid = 'x/a'\ntitel = 'A'\n";
        for short in ["", r#"{"lines":{"rule":[2],"app":[]},"file":{"rule":[{"id":"x/a","titel":"A"}]}}"#] {
            let told = told(wrong_key, short);
            assert!(told.contains("built-in x.toml") && told.contains("line 3") && told.contains("titel"), "{told}");
        }
        assert!(told("[[rule]\n", "").contains("line 1"), "{}", told("[[rule]\n", ""));
    }
}
