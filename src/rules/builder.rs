//! Builds a rule and writes it as TOML.
//!
//! It does not validate the rule: the loader does when it reads the result.

use std::fmt::Write as _;

use crate::log::finding::Severity;

/// Columns of a list that is written on one line.
const MAX_LINE_WIDTH: usize = 140;

/// A rule to write. Texts are unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleBuilder {
    /// `family/name`.
    pub id: String,
    /// What it finds.
    pub title: String,
    /// Its class.
    pub class: String,
    /// How bad a hit would be.
    pub severity: Severity,
    /// CVE ids.
    pub cve: Vec<String>,
    /// MITRE ATT&CK techniques.
    pub attack: Vec<String>,
    /// CWE numbers.
    pub cwe: Vec<u32>,
    /// URLs of references.
    pub references: Vec<String>,
    /// Whole segments of the path.
    pub paths: Vec<String>,
    /// Patterns of the path, from its start.
    pub globs: Vec<String>,
    /// Words, one of which must occur in a field.
    pub words: Vec<String>,
    /// What must match that field as well.
    pub regex: Option<String>,
    /// The fields, by the names rule files use; empty for the default.
    pub fields: Vec<&'static str>,
    /// Texts of the user agent.
    pub agents: Vec<String>,
    /// Methods.
    pub methods: Vec<String>,
    /// Statuses.
    pub statuses: Vec<u16>,
    /// `unless.words`.
    pub unless_words: Vec<String>,
    /// `unless.regex`.
    pub unless_regex: Option<String>,
    /// `unless.agents`.
    pub unless_agents: Vec<String>,
    /// Requests it must match.
    pub must_match: Vec<ExampleRequest>,
    /// Requests it must not match.
    pub must_not_match: Vec<ExampleRequest>,
}

/// A test case of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExampleRequest {
    /// Method and target.
    pub request: String,
    /// The status, if it matters.
    pub status: Option<u16>,
    /// The user agent, if it matters.
    pub user_agent: Option<String>,
    /// The referer, if it matters.
    pub referer: Option<String>,
}

impl ExampleRequest {
    /// A case with a request alone.
    #[must_use]
    pub fn new(request: String) -> Self {
        Self {
            request,
            ..Self::default()
        }
    }

    fn to_toml(&self) -> String {
        if *self == Self::new(self.request.clone()) {
            return quoted(&self.request);
        }
        let mut table = format!("{{ request = {}", quoted(&self.request));
        if let Some(status) = self.status {
            let _ = write!(table, ", status = {status}");
        }
        for (key, value) in [("user_agent", &self.user_agent), ("referer", &self.referer)] {
            if let Some(value) = value {
                let _ = write!(table, ", {key} = {}", quoted(value));
            }
        }
        table + " }"
    }
}

impl RuleBuilder {
    /// A rule without conditions.
    #[must_use]
    pub fn new(id: String, title: &str, class: &str, severity: Severity) -> Self {
        Self {
            id,
            title: tidy_title(title),
            class: class.to_owned(),
            severity,
            cve: Vec::new(),
            attack: Vec::new(),
            cwe: Vec::new(),
            references: Vec::new(),
            paths: Vec::new(),
            globs: Vec::new(),
            words: Vec::new(),
            regex: None,
            fields: Vec::new(),
            agents: Vec::new(),
            methods: Vec::new(),
            statuses: Vec::new(),
            unless_words: Vec::new(),
            unless_regex: None,
            unless_agents: Vec::new(),
            must_match: Vec::new(),
            must_not_match: Vec::new(),
        }
    }

    /// The rule as a `[[rule]]` table.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::from("[[rule]]\n");
        for (key, value) in [
            ("id", &self.id),
            ("title", &self.title),
            ("class", &self.class),
            ("severity", &self.severity.as_str().to_owned()),
        ] {
            let _ = writeln!(out, "{key} = {}", quoted(value));
        }
        let numbers = |list: &[u16]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        write_texts(&mut out, "cve", &self.cve);
        write_texts(&mut out, "attack", &self.attack);
        write_list(
            &mut out,
            "cwe",
            &self.cwe.iter().map(ToString::to_string).collect::<Vec<_>>(),
        );
        write_texts(&mut out, "references", &self.references);
        write_texts(&mut out, "paths", &self.paths);
        write_texts(&mut out, "path_glob", &self.globs);
        if !self.globs.is_empty() {
            out.push_str("at = \"root\"\n");
        }
        write_list(
            &mut out,
            "fields",
            &self.fields.iter().map(|f| quoted(f)).collect::<Vec<_>>(),
        );
        write_texts(&mut out, "words", &self.words);
        write_text(&mut out, "regex", self.regex.as_ref());
        write_texts(&mut out, "agents", &self.agents);
        write_texts(&mut out, "methods", &self.methods);
        write_list(&mut out, "statuses", &numbers(&self.statuses));
        write_texts(&mut out, "unless.words", &self.unless_words);
        write_text(&mut out, "unless.regex", self.unless_regex.as_ref());
        write_texts(&mut out, "unless.agents", &self.unless_agents);
        write_list(
            &mut out,
            "must_match",
            &self
                .must_match
                .iter()
                .map(ExampleRequest::to_toml)
                .collect::<Vec<_>>(),
        );
        write_list(
            &mut out,
            "must_not_match",
            &self
                .must_not_match
                .iter()
                .map(ExampleRequest::to_toml)
                .collect::<Vec<_>>(),
        );
        out
    }
}

/// A part of an id (lower-case letters, digits and `-`) made of any text; `fallback` if nothing is
/// left.
#[must_use]
pub(crate) fn slug(text: &str, fallback: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(80);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        fallback.to_owned()
    } else {
        slug.to_owned()
    }
}

/// A TOML string. Invisible characters and those that change the text direction are escaped, as
/// people read rule files.
pub(super) fn quoted(text: &str) -> String {
    let is_invisible = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if !text.contains(is_invisible) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// A title of at most a hundred characters on one line, with a capital letter at the start and no
/// full stop at the end.
fn tidy_title(title: &str) -> String {
    let words: Vec<_> = title
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    let title: String = words.join(" ").chars().take(100).collect();
    let title = title.trim_end_matches('.');
    let first = title.split(' ').next().unwrap_or_default();
    if first.chars().any(char::is_uppercase) {
        return title.to_owned();
    }
    let mut chars = title.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn write_text(out: &mut String, key: &str, value: Option<&String>) {
    if let Some(value) = value {
        let _ = writeln!(out, "{key} = {}", quoted(value));
    }
}

fn write_texts(out: &mut String, key: &str, items: &[String]) {
    write_list(
        out,
        key,
        &items.iter().map(|i| quoted(i)).collect::<Vec<_>>(),
    );
}

/// Writes a list, on one line if it fits; nothing if it is empty.
fn write_list(out: &mut String, key: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let short = format!("{key} = [{}]", items.join(", "));
    if short.len() <= MAX_LINE_WIDTH {
        let _ = writeln!(out, "{short}");
        return;
    }
    let _ = writeln!(out, "{key} = [");
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && line.len() + item.len() + 4 > MAX_LINE_WIDTH {
            let _ = writeln!(out, " {line}");
            line.clear();
        }
        let _ = write!(line, " {item},");
    }
    let _ = writeln!(out, " {line}\n]");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_parts_of_ids() {
        for (text, expected) in [
            ("My List.old", "my-list-old"),
            ("--", "list"),
            ("CVE-2021-41773", "cve-2021-41773"),
            ("Größe", "gr-e"),
            ("", "list"),
        ] {
            assert_eq!(slug(text, "list"), expected);
        }
        assert!(slug(&"a-".repeat(100), "x").len() <= 80);
    }

    #[test]
    fn titles_begin_with_a_capital_and_are_no_sentence() {
        for (title, expected) in [
            ("old  admin\npage.", "Old admin page"),
            ("phpMyAdmin panel", "phpMyAdmin panel"),
            ("", ""),
            (".env file", ".env file"),
        ] {
            assert_eq!(tidy_title(title), expected);
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for text in [
            "a\u{202e}b\"\\\n\u{1}",
            "\u{feff}",
            "plain 'and' \"quoted\"",
            "\u{9b}",
        ] {
            let written = quoted(text);
            assert!(
                !written.contains(['\u{202e}', '\u{feff}', '\u{9b}']),
                "{written}"
            );
            let read: toml::Table = toml::from_str(&format!("a = {written}")).unwrap();
            assert_eq!(read["a"].as_str(), Some(text), "{written}");
        }
    }

    #[test]
    fn long_lists_are_broken() {
        let mut draft = RuleBuilder::new("own/x".into(), "x", "panel", Severity::Low);
        draft.paths = (0..60).map(|n| format!("/some/path/{n}")).collect();
        draft.must_match = vec![ExampleRequest {
            request: "GET /\"".into(),
            status: Some(200),
            ..ExampleRequest::default()
        }];
        let text = draft.to_toml();
        assert!(
            text.lines().all(|line| line.len() <= MAX_LINE_WIDTH + 2),
            "{text}"
        );
        assert!(toml::from_str::<toml::Table>(&text).is_ok(), "{text}");
    }
}
