//! The line numbers of rules in a rule file, for messages. The build script uses it for built-in
//! files.

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// The lines of the ids of a rule file, from 1, in the order of its tables.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RuleLines {
    /// The lines of its rules.
    pub(super) rule: Vec<usize>,
    /// The lines of its apps.
    pub(super) app: Vec<usize>,
}

#[derive(Deserialize)]
struct IdTables {
    #[serde(default)]
    rule: Vec<IdTable>,
    #[serde(default)]
    app: Vec<IdTable>,
}

#[derive(Deserialize)]
struct IdTable {
    id: Spanned<String>,
}

impl RuleLines {
    /// The lines of a rule file's text.
    ///
    /// # Errors
    ///
    /// It is no TOML, or a table has no id.
    pub(super) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let IdTables { rule, app } = toml::from_str(text)?;
        let [rule, app] = [rule, app].map(|tables| {
            let (mut offset, mut line) = (0, 1);
            let starts = tables.into_iter().map(|table| table.id.span().start);
            starts
                .map(|start| {
                    line += text[offset..start].matches('\n').count();
                    offset = start;
                    line
                })
                .collect()
        });
        Ok(Self { rule, app })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_has_its_line() {
        let text = "\n[[app]]\ntitle = 'b'\nid = 'b'\n\n[[rule]]\nid = 'x/a'\npaths = [\n'/a']\n[[rule]]\n\nid = 'x/b'\n[[app]]\nid = 'c'";
        assert_eq!(
            RuleLines::parse(text).unwrap(),
            RuleLines {
                rule: vec![7, 12],
                app: vec![4, 14]
            }
        );
        assert_eq!(
            RuleLines::parse("rule = [{id = 'a'}, {id = 'b'}]")
                .unwrap()
                .rule,
            [1, 1]
        );
        assert!(RuleLines::parse("[[rule]]\ntitle = 'x'").is_err());
    }
}
