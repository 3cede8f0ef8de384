//! Imports rules of other tools: word lists, CRS data files, Sigma rules, nuclei templates.
//!
//! Unsupported parts are skipped with the reason; an imported rule never matches more than its source. Words of other tools are
//! mapped to a class and a severity. Nothing is read from disk: texts go in, rule builders come out.

mod condition;
mod nuclei;
mod sigma;
mod word_lists;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::builder::RuleBuilder;
use super::error::RuleError;
use super::load::check;
use crate::finding::Severity;

/// The format of rules to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// Paths, one a line.
    Wordlist,
    /// Words of the OWASP core rule set, one a line.
    CrsData,
    /// Sigma rules for web servers.
    Sigma,
    /// nuclei templates.
    Nuclei,
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct Import {
    /// Rules, before [`finalize`].
    pub drafts: Vec<RuleBuilder>,
    /// Skipped items, by reason.
    pub skipped: SkippedItems,
    /// Imported items to check, by reason.
    pub notes: SkippedItems,
}

/// Items by reason.
#[derive(Debug, Default)]
pub struct SkippedItems(pub BTreeMap<String, Vec<String>>);

impl SkippedItems {
    fn push(&mut self, why: impl Into<String>, what: impl Into<String>) {
        self.0.entry(why.into()).or_default().push(what.into());
    }

    /// The number of items.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a file may hold rules to import, by its extension.
#[must_use]
pub(crate) fn is_known(file: &Path) -> bool {
    matches!(extension(file).as_str(), "txt" | "lst" | "data" | "yml" | "yaml")
}

/// Imports the rules of a text. The format is detected if `origin` is `None`.
///
/// # Errors
///
/// The text is not in a supported format.
pub fn import(file: &Path, text: &str, origin: Option<ImportFormat>) -> Result<Import, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_yaml = matches!(extension(file).as_str(), "yml" | "yaml");
    let origin =
        origin.or_else(|| (!is_yaml).then(|| if extension(file) == "data" { ImportFormat::CrsData } else { ImportFormat::Wordlist }));
    match origin {
        Some(ImportFormat::Wordlist) => Ok(word_lists::path_rules(&stem, text)),
        Some(ImportFormat::CrsData) => Ok(word_lists::crs_rules(&stem, text)),
        Some(ImportFormat::Sigma) => Ok(sigma::rules(&stem, &yaml::documents(text)?)),
        Some(ImportFormat::Nuclei) => Ok(nuclei::rules(&stem, &yaml::documents(text)?)),
        None => {
            let documents = yaml::documents(text)?;
            let has = |key: &str| documents.iter().any(|document| document.get(key).is_some());
            if has("detection") {
                Ok(sigma::rules(&stem, &documents))
            } else if has("info") {
                Ok(nuclei::rules(&stem, &documents))
            } else {
                Err("neither a Sigma rule (with `detection`) nor a nuclei template (with `info`)".into())
            }
        }
    }
}

/// Makes the ids of rules unique by adding numbers, and skips rules that the loader rejects, with its message as the reason.
pub fn finalize(import: &mut Import, taken: &mut BTreeSet<String>) {
    let mut refused = Vec::new();
    import.drafts.retain_mut(|draft| {
        if let Err(error) = check(Path::new(""), &draft.to_toml()) {
            refused.push((reason(&error), draft.id.clone()));
            return false;
        }
        let mut n = 2;
        let id = draft.id.clone();
        while !taken.insert(draft.id.clone()) {
            draft.id = format!("{id}-{n}");
            n += 1;
        }
        true
    });
    for (why, what) in refused {
        import.skipped.push(why, what);
    }
}

fn reason(error: &RuleError) -> String {
    match error {
        RuleError::Rule { message, .. } => message.lines().next_back().unwrap_or_default().to_owned(),
        error => error.to_string().lines().next_back().unwrap_or_default().to_owned(),
    }
}

fn extension(file: &Path) -> String {
    file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

/// Whether ordinary clients request a path, so that it is no probe alone.
fn is_ordinary(path: &str) -> bool {
    super::lint::is_ordinary(path)
}

/// A text as a client sends it in a query, percent-encoded.
fn in_query(text: &str) -> String {
    super::path_list::encoded_but(text, b"/-._~")
}

/// Words of titles and tags, and their class; the first match counts.
const WORDS: [(&str, &str); 46] = [
    ("sqli", "sqli"),
    ("sql injection", "sqli"),
    ("nosql", "nosqli"),
    ("xss", "xss"),
    ("cross-site scripting", "xss"),
    ("cross site scripting", "xss"),
    ("log4j", "log4shell"),
    ("jndi", "log4shell"),
    ("ssti", "ssti"),
    ("template injection", "ssti"),
    ("ssrf", "ssrf"),
    ("xxe", "xxe"),
    ("crlf", "crlf"),
    ("open redirect", "redirect"),
    ("redirect", "redirect"),
    ("webshell", "webshell"),
    ("web shell", "webshell"),
    ("backdoor", "webshell"),
    ("lfi", "lfi"),
    ("traversal", "lfi"),
    ("file inclusion", "lfi"),
    ("file read", "lfi"),
    ("rce", "rce"),
    ("remote code", "rce"),
    ("command injection", "rce"),
    ("code execution", "rce"),
    ("default-login", "default-login"),
    ("default login", "default-login"),
    ("auth-bypass", "auth-bypass"),
    ("authentication bypass", "auth-bypass"),
    ("phpinfo", "phpinfo"),
    ("wordpress", "wordpress"),
    ("wp-plugin", "wordpress"),
    ("git", "vcs-exposure"),
    ("svn", "vcs-exposure"),
    ("backup", "backup"),
    ("config", "config-exposure"),
    ("logs", "log-exposure"),
    ("panel", "panel"),
    ("router", "iot"),
    ("iot", "iot"),
    ("aws", "cloud"),
    ("debug", "debug"),
    ("misconfig", "misconfig"),
    ("joomla", "cms"),
    ("drupal", "cms"),
];

/// The class that titles and tags name; `fallback` if they name none.
fn class(text: &str, fallback: &'static str) -> &'static str {
    let text = text.to_ascii_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let stands = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
            // A short word must be a whole word: `git` is not in `digital` or `github`.
            !is_letter(before) && (word.len() > 4 || !is_letter(after))
        })
    };
    WORDS.iter().find(|(word, _)| stands(word)).map_or(fallback, |(_, class)| class)
}

/// The severity for a word of another tool.
fn severity(word: &str) -> Severity {
    match word.to_ascii_lowercase().as_str() {
        "critical" => Severity::Critical,
        "high" => Severity::High,
        "low" => Severity::Low,
        "info" | "informational" => Severity::Info,
        _ => Severity::Medium,
    }
}

/// The CVE ids in a text, in capitals.
fn cves<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let ids = texts.into_iter().filter_map(|text| {
        let text = text.trim().to_ascii_uppercase().replace('.', "-");
        let (year, number) = text.strip_prefix("CVE-")?.split_once('-')?;
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        (year.len() == 4 && (4..=7).contains(&number.len()) && digits(year) && digits(number)).then_some(text)
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The first URLs of a list of references.
fn pages(texts: Vec<&str>) -> Vec<String> {
    let is_page = |text: &&str| text.starts_with("http") && text.len() > 12 && !text.contains(char::is_whitespace);
    texts.into_iter().map(str::trim).filter(is_page).take(3).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
