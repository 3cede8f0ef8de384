//! Rules of other tools, as ours: word lists, CRS data files, Sigma rules, nuclei templates.
//!
//! What ours can say is carried over, and what it cannot say is named with the reason; nothing becomes a rule that finds
//! more than the one it came from. Nothing is read from disk and nothing judged here: texts go in, drafts come out.

mod class;
mod condition;
mod crs;
mod nuclei;
mod sigma;
mod wordlist;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::builder::RuleBuilder;
use super::{error::RuleError, load::check};

/// Where rules come from.
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

/// What a text came to.
#[derive(Debug, Default)]
pub struct Import {
    /// Rules, not yet numbered and not yet tried.
    pub drafts: Vec<RuleBuilder>,
    /// What was not carried over, by the reason.
    pub left_out: SkippedItems,
    /// What was, and is worth a look.
    pub notes: SkippedItems,
}

/// What was not carried over: the reason, and each thing it holds for.
#[derive(Debug, Default)]
pub struct SkippedItems(pub BTreeMap<String, Vec<String>>);

impl SkippedItems {
    fn push(&mut self, why: impl Into<String>, what: impl Into<String>) {
        self.0.entry(why.into()).or_default().push(what.into());
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether everything was carried over.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a file of a folder may hold rules to import, by its name.
#[must_use]
pub fn is_known(file: &Path) -> bool {
    matches!(extension(file).as_str(), "txt" | "lst" | "data" | "yml" | "yaml")
}

/// Makes rules of a text. `origin` is found out where it is not given.
///
/// # Errors
///
/// When the text as a whole is nothing of the kind.
pub fn import(file: &Path, text: &str, origin: Option<ImportFormat>) -> Result<Import, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_yaml = matches!(extension(file).as_str(), "yml" | "yaml");
    let origin =
        origin.or_else(|| (!is_yaml).then(|| if extension(file) == "data" { ImportFormat::CrsData } else { ImportFormat::Wordlist }));
    match origin {
        Some(ImportFormat::Wordlist) => Ok(wordlist::rules(&stem, text)),
        Some(ImportFormat::CrsData) => Ok(crs::rules(&stem, text)),
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

/// Gives each rule an id of its own: a second one of a name gets a number. Rules the loader refuses are left out, by what
/// it says.
pub fn make_ids_unique(import: &mut Import, taken: &mut BTreeSet<String>) {
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
        import.left_out.push(why, what);
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

/// Whether ordinary clients ask for a path, so that it proves nothing by itself.
fn is_ordinary(path: &str) -> bool {
    super::lint::is_ordinary(path)
}

/// A text as a client sends it in a query: every byte that could mean something is escaped.
fn in_query(text: &str) -> String {
    super::path_list::encoded_but(text, b"/-._~")
}

#[cfg(test)]
mod tests;
