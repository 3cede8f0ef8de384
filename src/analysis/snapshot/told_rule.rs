//! A rule as a report tells of it, for whoever does not know it. Its words may come from anywhere, and are held to what a rule
//! file may say.

use super::rows::RuleRow;
use crate::redact::sanitize::escape;
use crate::rules::{Answer, By, Rule, Window, WithClient};

/// Bytes of a word: an id, a class, a CVE id, the name of an app.
const WORD: usize = 120;
/// Words in a list.
const WORDS: usize = 100;

/// Whether this can be the id of a rule.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    check(id.split_once('/').is_some_and(|(family, name)| is_word(family) && is_word(name)), "id", id)
}

/// The rule; it matches nothing.
pub(crate) fn rule(row: RuleRow<'_>) -> Result<Rule, String> {
    let RuleRow { id, title, class, severity, exposes, with_client, window: _, counts, unless_app, is_app_evidence, subject, cve } = row;
    check(is_word(&class), "class", &class)?;
    let words = |words: Vec<_>| -> Result<Vec<String>, String> {
        check(words.len() <= WORDS, "list", "of too many words")?;
        words.iter().try_for_each(|word: &std::borrow::Cow<'_, str>| check(is_word(word), "word", word))?;
        Ok(words.into_iter().map(std::borrow::Cow::into_owned).collect())
    };
    let with_client = with_client
        .map(|(distinct_paths, classes)| Ok::<_, String>(WithClient { distinct_paths, classes: words(classes)? }))
        .transpose()?;
    Ok(Rule {
        id: id.into_owned(),
        title: escape(title.as_bytes()).chars().take(WORD).collect(),
        class: class.into_owned(),
        severity,
        answer: if exposes { Answer::Exposes } else { Answer::Inconclusive },
        with_client,
        window: counts.map(window).transpose()?,
        unless_app: words(unless_app)?,
        is_app_evidence,
        subject,
        cve: words(cve)?,
        attack: Vec::new(),
        cwe: Vec::new(),
        references: Vec::new(),
        false_positives: Vec::new(),
        must_match: Vec::new(),
        must_not_match: Vec::new(),
    })
}

fn window((by, count, within): (By, u32, u32)) -> Result<Window, String> {
    let window = Window { by, count, within };
    if window.is_valid() { Ok(window) } else { Err(format!("{count} requests within {within} seconds is no window of a rule")) }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.len() <= WORD && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn check(holds: bool, what: &str, found: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("'{}' is no {what} of a rule", escape(found.as_bytes()))) }
}
