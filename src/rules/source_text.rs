//! The source text of a rule, for people to read and copy.

use super::RuleChoice;
use super::builtin::{BUILTIN, BuiltinFile};
use super::load::{files, read};
use super::path_list;

/// The table of a rule in its rule file. A user's files come first, as in loading.
#[must_use]
pub(crate) fn source_text(choice: &RuleChoice, id: &str) -> Option<String> {
    let own = choice.paths.iter().filter_map(|path| files(path).ok()).flatten();
    let own = own.filter(|file| !path_list::is_list(file)).filter_map(|file| read(&file).ok());
    let builtin = BUILTIN.iter().filter(|_| !choice.no_builtin).map(BuiltinFile::text);
    own.chain(builtin).find_map(|text| table(&text, id))
}

/// The table of a rule or an app, by its id.
fn table(text: &str, id: &str) -> Option<String> {
    let (heading, key) = id.strip_prefix("apps/").map_or(("[[rule]]", id), |app| ("[[app]]", app));
    let mut found = None;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().chain(["[["]) {
        if line.starts_with("[[") {
            if found == Some(true) {
                return Some(lines.join("\n").trim_end().to_owned());
            }
            lines.clear();
            found = (line.trim_end() == heading).then_some(false);
        }
        let value = line.strip_prefix("id").map(str::trim_start).and_then(|rest| rest.strip_prefix('='));
        if found.is_some() && value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == key) {
            found = Some(true);
        }
        lines.push(line);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_text_of_a_rule_is_found() {
        let text =
            "family = 'x'\n\n[[rule]]\nid = \"x/a\"\npaths = [\n  \"/a\",\n]\n\n[[app]]\nid='b'\n\n[[rule]]\nid = 'x/b' \nwords = ['y']";
        assert_eq!(table(text, "x/a").as_deref(), Some("[[rule]]\nid = \"x/a\"\npaths = [\n  \"/a\",\n]"));
        assert_eq!(table(text, "x/b").as_deref(), Some("[[rule]]\nid = 'x/b' \nwords = ['y']"));
        assert_eq!(table(text, "apps/b").as_deref(), Some("[[app]]\nid='b'"));
        assert_eq!(table(text, "x/c"), None);
    }

    #[test]
    fn every_built_in_rule_has_its_table() {
        let choice = RuleChoice::default();
        let rules = super::super::load(&choice).expect("rules");
        for rule in rules.rules() {
            assert!(source_text(&choice, &rule.id).is_some_and(|text| text.contains("must_match = ")), "{}", rule.id);
        }
    }
}
