//! The rule files that come with the binary, as they are written and as JSON, which is read in a tenth of the time.
//!
//! Nothing is decided here: a short form says what its file says, or is not used.

use serde::Deserialize;

use super::definition::RuleFile;
use super::error::RuleError;
use super::lines::RuleLines;
use super::load::{LocatedRule, located, parse};

/// The rule files that were in `rules/` when this was built.
pub(super) const BUILTIN: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/builtin_rules.rs"));

/// A rule file that comes with the binary.
#[derive(Debug)]
pub(super) struct BuiltinFile {
    name: &'static str,
    /// The file as written.
    pub(super) text: &'static str,
    /// The same as JSON, a [`ParsedRuleFile`]; empty where it is no TOML.
    short: &'static str,
}

/// A rule file that was taken apart when the program was built.
#[derive(Deserialize)]
struct ParsedRuleFile {
    lines: RuleLines,
    file: RuleFile,
}

impl BuiltinFile {
    /// Its rules. Where the short form will not do, something is wrong with the file, which can say what and where.
    pub(super) fn rules(&self) -> Result<Vec<LocatedRule>, RuleError> {
        let name = self.display_name();
        match serde_json::from_str(self.short) {
            Ok(ParsedRuleFile { lines, file }) => Ok(located(&name, file, lines, true)),
            Err(_) => parse(&name, self.text, true),
        }
    }

    /// What messages call it.
    fn display_name(&self) -> String {
        format!("built-in {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parsed_form_equals_its_file() {
        for file in BUILTIN {
            let written = parse(&file.display_name(), file.text, true).unwrap();
            assert!(serde_json::from_str::<ParsedRuleFile>(file.short).is_ok(), "{}", file.name);
            assert_eq!(format!("{:?}", file.rules().unwrap()), format!("{written:?}"), "{}", file.name);
        }
    }

    #[test]
    fn an_error_names_its_line() {
        let told = |text, short| BuiltinFile { name: "x.toml", text, short }.rules().unwrap_err().to_string();
        let wrong_key = "[[rule]]\nid = 'x/a'\ntitel = 'A'\n";
        for short in ["", r#"{"lines":{"rule":[2],"app":[]},"file":{"rule":[{"id":"x/a","titel":"A"}]}}"#] {
            let told = told(wrong_key, short);
            assert!(told.contains("built-in x.toml") && told.contains("line 3") && told.contains("titel"), "{told}");
        }
        assert!(told("[[rule]\n", "").contains("line 1"), "{}", told("[[rule]\n", ""));
    }
}
