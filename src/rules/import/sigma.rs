//! Sigma rules for web servers.
//!
//! `cs-uri-query` is read as the whole target, as the rules that are written mean it, decoded; `cs-uri-stem` is the path.
//! Each alternative of a condition is a rule of ours. What ours cannot say, a rule that looks for two texts in two
//! headers, say, is left out with the reason.

mod build;
mod pattern;

use self::build::{RequestPart, SigmaTest, draft};
use self::pattern::{MatchMode, SigmaPattern};
use super::class::{class, cves, pages, severity};
use super::condition::{self, Expression, alternatives};
use super::yaml::YamlNode;
use super::{Import, SkippedItems};
use crate::rules::builder::{RuleBuilder, slug};

pub(super) fn rules(stem: &str, documents: &[YamlNode]) -> Import {
    let mut import = Import::default();
    for document in documents {
        if let Err(why) = rule(stem, document, &mut import) {
            import.left_out.push(why, document.text_of("title").unwrap_or(stem));
        }
    }
    import
}

fn rule(stem: &str, document: &YamlNode, import: &mut Import) -> Result<(), String> {
    let category = document.get("logsource").and_then(|source| source.text_of("category")).unwrap_or("none");
    if category != "webserver" {
        return Err(format!("its logs are of the category '{category}', not 'webserver'"));
    }
    let detection = document.get("detection").ok_or("it has no `detection`")?;
    let searches = searches(detection)?;
    let find = |name: &str| -> Vec<Expression<SigmaTest>> {
        let pattern = if name == "them" { Some("") } else { name.strip_suffix('*') };
        let holds = |key: &str| pattern.map_or(key == name, |start| key.starts_with(start) && !key.starts_with('_'));
        searches.iter().filter(|(key, _)| holds(key)).map(|(_, search)| search.clone()).collect()
    };
    let blank = blank(stem, document);
    let title = blank.title.clone();
    let conditions = detection.get("condition").map(YamlNode::texts).unwrap_or_default();
    if conditions.is_empty() {
        return Err("it has no condition".into());
    }
    for condition in conditions {
        let expression = condition::parse(condition, &find).map_err(|why| format!("its condition '{condition}': {why}"))?;
        for mut tests in alternatives(&expression, false)? {
            drop_useless(&mut tests, &title, &mut import.left_out);
            match draft(&blank, &tests) {
                Ok(draft) => {
                    if tests.iter().any(|(test, _)| test.values.iter().any(SigmaPattern::is_regex)) {
                        import.notes.push("its regex is tried without regard to case", title.clone());
                    }
                    import.drafts.push(draft);
                }
                Err(why) => import.left_out.push(why, title.clone()),
            }
        }
    }
    Ok(())
}

/// Leaves out values of which others stand beside: a rule that looks for fewer texts finds less.
fn drop_useless(tests: &mut [(SigmaTest, bool)], title: &str, left_out: &mut SkippedItems) {
    for (test, _) in tests.iter_mut().filter(|(_, negated)| !negated) {
        for value in test.values.extract_if(.., |value| value.useless.is_some()) {
            left_out.push(value.useless.unwrap_or_default(), format!("{title}: '{}'", value.example().unwrap_or_default()));
        }
    }
}

/// What a rule says of itself.
fn blank(stem: &str, document: &YamlNode) -> RuleBuilder {
    let texts = |key: &str| document.get(key).map(YamlNode::texts).unwrap_or_default();
    let title = document.text_of("title").unwrap_or(stem);
    let tags = texts("tags");
    let cve = cves(tags.iter().filter(|tag| tag.starts_with("cve.")).map(|tag| &**tag));
    let techniques = tags.iter().filter_map(|tag| tag.strip_prefix("attack.t"));
    let is_technique = |text: &&str| text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let about = format!("{title} {}", stem.replace('_', " "));
    let fallback = if cve.is_empty() { "exposure" } else { "cve" };
    let level = severity(document.text_of("level").unwrap_or_default());
    let mut draft = RuleBuilder::new(format!("sigma/{}", slug(stem, "rule")), title, class(&about, fallback), level);
    draft.attack = techniques.filter(is_technique).map(|text| format!("T{text}")).collect();
    draft.cve = cve;
    draft.references = pages(texts("references"));
    draft
}

/// The searches of a detection, by name.
fn searches(detection: &YamlNode) -> Result<Vec<(String, Expression<SigmaTest>)>, String> {
    let named = detection.entries().iter().filter(|(name, _)| name != "condition" && name != "timeframe");
    named.map(|(name, node)| Ok((name.clone(), search(node)?))).collect()
}

/// A search: a map whose keys must all hold, a list of such maps, or words anywhere in the line.
fn search(node: &YamlNode) -> Result<Expression<SigmaTest>, String> {
    match node {
        YamlNode::Map(entries) => entries.iter().map(|(key, value)| field(key, value)).collect::<Result<_, _>>().map(Expression::All),
        YamlNode::List(items) if items.iter().any(|item| matches!(item, YamlNode::Map(_))) => {
            items.iter().map(search).collect::<Result<_, _>>().map(Expression::Any)
        }
        words => field("", words),
    }
}

/// A key with its modifiers, and its values.
fn field(key: &str, value: &YamlNode) -> Result<Expression<SigmaTest>, String> {
    let mut parts = key.split('|');
    let name = parts.next().unwrap_or_default();
    let part = RequestPart::of(name).ok_or_else(|| format!("it asks for '{name}', which a rule of ours does not know"))?;
    let mut how = if part == RequestPart::Anywhere { MatchMode::Contains } else { MatchMode::Exact };
    let mut all = false;
    for modifier in parts {
        match modifier {
            "contains" => how = MatchMode::Contains,
            "startswith" => how = MatchMode::StartsWith,
            "endswith" => how = MatchMode::EndsWith,
            "re" => how = MatchMode::Regex,
            "all" => all = true,
            other => return Err(format!("the modifier '{other}' is not known to rules of ours")),
        }
    }
    let values = value.texts();
    if values.is_empty() || values.len() != value.items().len() || values.iter().any(|v| v.is_empty() || *v == "null" || *v == "~") {
        return Err(format!("the value of '{key}' is empty or no text"));
    }
    let patterns = values.iter().map(|value| SigmaPattern::of(value, how, part.is_sent())).collect::<Result<Vec<_>, _>>()?;
    Ok(if all {
        Expression::All(patterns.into_iter().map(|pattern| Expression::Is(SigmaTest { part, values: vec![pattern] })).collect())
    } else {
        Expression::Is(SigmaTest { part, values: patterns })
    })
}
