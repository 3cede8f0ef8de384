//! Sigma rules for web servers.
//!
//! `cs-uri-query` is read as the whole decoded target, as existing rules use it; `cs-uri-stem` is
//! the path. Values are texts with `*` and `?`, anchored or not, and regexes. Each alternative of a
//! condition becomes a rule of tests that must all hold. Unsupported conditions, such as texts in
//! two headers, are skipped with the reason.

use regex_syntax::hir::{Hir, HirKind};

use super::condition::{Expression, alternatives, decoded};
use super::yaml::YamlNode;
use super::{Import, SkippedItems, class, condition, cves, reference_urls, severity};
use crate::rules::builder::{ExampleRequest, RuleBuilder, slug};
use crate::rules::lint::is_common;
use crate::rules::path_list::percent_encoded;

pub(super) fn rules(stem: &str, documents: &[YamlNode]) -> Import {
    let mut import = Import::default();
    for document in documents {
        if let Err(why) = rule(stem, document, &mut import) {
            import
                .skipped
                .push(why, document.text_of("title").unwrap_or(stem));
        }
    }
    import
}

fn rule(stem: &str, document: &YamlNode, import: &mut Import) -> Result<(), String> {
    let category = document
        .get("logsource")
        .and_then(|source| source.text_of("category"))
        .unwrap_or("none");
    if category != "webserver" {
        return Err(format!(
            "its logs are of the category '{category}', not 'webserver'"
        ));
    }
    let detection = document.get("detection").ok_or("it has no `detection`")?;
    let searches = searches(detection)?;
    let find = |name: &str| -> Vec<Expression<SigmaTest>> {
        let pattern = if name == "them" {
            Some("")
        } else {
            name.strip_suffix('*')
        };
        let holds = |key: &str| {
            pattern.map_or(key == name, |start| {
                key.starts_with(start) && !key.starts_with('_')
            })
        };
        searches
            .iter()
            .filter(|(key, _)| holds(key))
            .map(|(_, search)| search.clone())
            .collect()
    };
    let metadata = metadata(stem, document);
    let title = metadata.title.clone();
    let conditions = detection
        .get("condition")
        .map(YamlNode::texts)
        .unwrap_or_default();
    if conditions.is_empty() {
        return Err("it has no condition".into());
    }
    for condition in conditions {
        let expression = condition::parse(condition, &find)
            .map_err(|why| format!("its condition '{condition}': {why}"))?;
        for mut tests in alternatives(&expression, false)? {
            drop_unusable(&mut tests, &title, &mut import.skipped);
            match build_rule(&metadata, &tests) {
                Ok(draft) => {
                    if tests
                        .iter()
                        .any(|(test, _)| test.values.iter().any(SigmaPattern::is_regex))
                    {
                        import.notes.push("its regex ignores case", title.clone());
                    }
                    import.drafts.push(draft);
                }
                Err(why) => import.skipped.push(why, title.clone()),
            }
        }
    }
    Ok(())
}

/// Drops values that cannot be searched: the rule still works with the other values of the list.
fn drop_unusable(tests: &mut [(SigmaTest, bool)], title: &str, skipped: &mut SkippedItems) {
    for (test, _) in tests.iter_mut().filter(|(_, negated)| !negated) {
        for value in test.values.extract_if(.., |value| value.unusable.is_some()) {
            skipped.push(
                value.unusable.unwrap_or_default(),
                format!("{title}: '{}'", value.example().unwrap_or_default()),
            );
        }
    }
}

/// The metadata of a rule.
fn metadata(stem: &str, document: &YamlNode) -> RuleBuilder {
    let texts = |key: &str| document.get(key).map(YamlNode::texts).unwrap_or_default();
    let title = document.text_of("title").unwrap_or(stem);
    let tags = texts("tags");
    let cve = cves(
        tags.iter()
            .filter(|tag| tag.starts_with("cve."))
            .map(|tag| &**tag),
    );
    let techniques = tags.iter().filter_map(|tag| tag.strip_prefix("attack.t"));
    let is_technique =
        |text: &&str| text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let about = format!("{title} {}", stem.replace('_', " "));
    let fallback = if cve.is_empty() { "exposure" } else { "cve" };
    let level = severity(document.text_of("level").unwrap_or_default());
    let mut draft = RuleBuilder::new(
        format!("sigma/{}", slug(stem, "rule")),
        title,
        class(&about, fallback),
        level,
    );
    draft.attack = techniques
        .filter(is_technique)
        .map(|text| format!("T{text}"))
        .collect();
    draft.cve = cve;
    draft.references = reference_urls(texts("references"));
    draft
}

/// The searches of a detection, by name.
fn searches(detection: &YamlNode) -> Result<Vec<(String, Expression<SigmaTest>)>, String> {
    let named = detection
        .entries()
        .iter()
        .filter(|(name, _)| name != "condition" && name != "timeframe");
    named
        .map(|(name, node)| Ok((name.clone(), search(node)?)))
        .collect()
}

/// A search: a map whose keys must all hold, a list of such maps, or words anywhere in the line.
fn search(node: &YamlNode) -> Result<Expression<SigmaTest>, String> {
    match node {
        YamlNode::Map(entries) => entries
            .iter()
            .map(|(key, value)| field(key, value))
            .collect::<Result<_, _>>()
            .map(Expression::All),
        YamlNode::List(items) if items.iter().any(|item| matches!(item, YamlNode::Map(_))) => items
            .iter()
            .map(search)
            .collect::<Result<_, _>>()
            .map(Expression::Any),
        words => field("", words),
    }
}

/// A key with its modifiers, and its values.
fn field(key: &str, value: &YamlNode) -> Result<Expression<SigmaTest>, String> {
    let mut parts = key.split('|');
    let name = parts.next().unwrap_or_default();
    let part = RequestPart::from_name(name)
        .ok_or_else(|| format!("it asks for '{name}', which our rules do not support"))?;
    let mut mode = if part == RequestPart::Anywhere {
        MatchMode::Contains
    } else {
        MatchMode::Exact
    };
    let mut all = false;
    for modifier in parts {
        match modifier {
            "contains" => mode = MatchMode::Contains,
            "startswith" => mode = MatchMode::StartsWith,
            "endswith" => mode = MatchMode::EndsWith,
            "re" => mode = MatchMode::Regex,
            "all" => all = true,
            other => {
                return Err(format!(
                    "the modifier '{other}' is not supported by our rules"
                ));
            }
        }
    }
    let values = value.texts();
    if values.is_empty()
        || values.len() != value.items().len()
        || values
            .iter()
            .any(|v| v.is_empty() || *v == "null" || *v == "~")
    {
        return Err(format!("the value of '{key}' is empty or no text"));
    }
    let patterns = values
        .iter()
        .map(|value| SigmaPattern::new(value, mode, part.is_sent()))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(if all {
        Expression::All(
            patterns
                .into_iter()
                .map(|pattern| {
                    Expression::Is(SigmaTest {
                        part,
                        values: vec![pattern],
                    })
                })
                .collect(),
        )
    } else {
        Expression::Is(SigmaTest {
            part,
            values: patterns,
        })
    })
}

/// The most texts in one field at once: each order of them is an alternative of a regex.
const MAX_TEXTS: usize = 3;

/// All common statuses, for rules that exclude some.
const STATUSES: [u16; 56] = [
    200, 201, 202, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401,
    402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422,
    423, 424, 426, 428, 429, 431, 444, 451, 494, 499, 500, 501, 502, 503, 504, 505, 507, 520,
];

/// The part of a request that a test checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestPart {
    Target,
    Stem,
    Agent,
    Referer,
    Anywhere,
    Method,
    Status,
}

impl RequestPart {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "" => Self::Anywhere,
            "cs-uri-query" | "c-uri" | "cs-uri" | "c-uri-query" => Self::Target,
            "cs-uri-stem" | "c-uri-stem" => Self::Stem,
            "cs-user-agent" | "c-useragent" | "cs-useragent" => Self::Agent,
            "cs-referer" | "cs-referrer" | "c-referer" => Self::Referer,
            "cs-method" => Self::Method,
            "sc-status" => Self::Status,
            _ => return None,
        })
    }

    /// Whether clients may encode it.
    fn is_sent(self) -> bool {
        !matches!(self, Self::Method | Self::Status)
    }

    fn fields(self, anchored: bool) -> Vec<&'static str> {
        match self {
            // The start of the query is not the start of the target.
            Self::Target if anchored => vec!["target"],
            Self::Target => vec!["target", "query"],
            Self::Agent => vec!["user_agent"],
            Self::Referer => vec!["referer"],
            _ => vec!["target", "query", "referer", "user_agent"],
        }
    }
}

/// A test: one of these values is in a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SigmaTest {
    part: RequestPart,
    values: Vec<SigmaPattern>,
}

/// The tests of one field.
#[derive(Default)]
struct SearchTerm<'t> {
    part: Option<RequestPart>,
    tests: Vec<&'t SigmaTest>,
}

/// The rule for these tests; those with `true` are negated.
///
/// # Errors
///
/// The test that is not supported.
fn build_rule(metadata: &RuleBuilder, tests: &[(SigmaTest, bool)]) -> Result<RuleBuilder, String> {
    let mut draft = metadata.clone();
    let mut term = SearchTerm::default();
    for (test, _) in tests.iter().filter(|(_, negated)| !negated) {
        if test.values.is_empty() {
            return Err("nothing of a search is left".into());
        }
        add_test(&mut draft, &mut term, test)?;
    }
    words_and_regex(&mut draft, &term)?;
    let part = term.part;
    for (test, _) in tests.iter().filter(|(_, negated)| *negated) {
        if test.values.iter().any(|value| value.unusable.is_some()) {
            return Err("its filter is written with escapes, and our fields are decoded".into());
        }
        add_exception(&mut draft, part, test)?;
    }
    let no_literal = draft.words.is_empty() && draft.agents.is_empty() && draft.globs.is_empty();
    let ordinary = |m: &String| matches!(m.as_str(), "GET" | "POST" | "HEAD");
    if no_literal && (draft.methods.is_empty() || draft.methods.iter().any(ordinary)) {
        return Err("it checks only a status or an ordinary method".into());
    }
    if !draft.agents.is_empty()
        && draft.words.is_empty()
        && draft.globs.is_empty()
        && draft.class == "exposure"
    {
        draft.class = "scanner-agent".into();
    }
    add_cases(&mut draft, &term, tests);
    Ok(draft)
}

fn add_test<'t>(
    draft: &mut RuleBuilder,
    term: &mut SearchTerm<'t>,
    test: &'t SigmaTest,
) -> Result<(), String> {
    match test.part {
        RequestPart::Method => {
            let methods = exact(test, "a method")?;
            draft.methods = if draft.methods.is_empty() {
                methods
            } else {
                intersection(&draft.methods, &methods)?
            };
        }
        RequestPart::Status => {
            let statuses = statuses(test)?;
            draft.statuses = if draft.statuses.is_empty() {
                statuses
            } else {
                intersection(&draft.statuses, &statuses)?
            };
        }
        RequestPart::Stem if draft.globs.is_empty() => {
            let globs = test
                .values
                .iter()
                .map(SigmaPattern::globs)
                .collect::<Option<Vec<_>>>();
            draft.globs = globs.ok_or("its path pattern is not supported")?.concat();
        }
        RequestPart::Stem => return Err("it has two conditions on the path".into()),
        RequestPart::Agent
            if draft.agents.is_empty() && test.values.iter().all(|v| v.word().is_some()) =>
        {
            draft.agents = words(test);
        }
        part => {
            if term.part.is_some_and(|other| other != part) {
                return Err("it looks for texts in two fields; our rules support one".into());
            }
            term.part = Some(part);
            term.tests.push(test);
        }
    }
    Ok(())
}

/// Words and regex.
fn words_and_regex(draft: &mut RuleBuilder, term: &SearchTerm<'_>) -> Result<(), String> {
    let (Some(part), tests) = (term.part, &term.tests) else {
        return Ok(());
    };
    if tests.len() > MAX_TEXTS {
        return Err(format!("it looks for more than {MAX_TEXTS} texts at once"));
    }
    let anchored = tests
        .iter()
        .any(|t| t.values.iter().any(|v| v.at_start || v.at_end));
    draft.fields = part.fields(anchored);
    if let [test] = tests[..]
        && test.values.iter().all(|v| v.word().is_some())
    {
        draft.words = words(test);
        return Ok(());
    }
    let literals = |test: &&SigmaTest| {
        test.values
            .iter()
            .map(|v| v.literal().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    };
    draft.words = tests
        .iter()
        .find_map(literals)
        .ok_or("it requires no text of three letters")?;
    draft.words.sort();
    draft.words.dedup();
    let each: Vec<String> = tests
        .iter()
        .map(|t| {
            format!(
                "(?:{})",
                t.values
                    .iter()
                    .map(SigmaPattern::regex)
                    .collect::<Vec<_>>()
                    .join("|")
            )
        })
        .collect();
    draft.regex = Some(
        permutations(&each)
            .iter()
            .map(|order| order.join(".*"))
            .collect::<Vec<_>>()
            .join("|"),
    );
    Ok(())
}

/// All permutations of some texts.
fn permutations(texts: &[String]) -> Vec<Vec<String>> {
    if texts.len() < 2 {
        return vec![texts.to_vec()];
    }
    let mut all = Vec::new();
    for first in 0..texts.len() {
        let mut rest = texts.to_vec();
        let first = rest.remove(first);
        all.extend(
            permutations(&rest)
                .into_iter()
                .map(|order| [vec![first.clone()], order].concat()),
        );
    }
    all
}

fn add_exception(
    draft: &mut RuleBuilder,
    part: Option<RequestPart>,
    test: &SigmaTest,
) -> Result<(), String> {
    let all_words = test.values.iter().all(|v| v.word().is_some());
    match test.part {
        RequestPart::Status => {
            let excluded = statuses(test)?;
            let from = if draft.statuses.is_empty() {
                &STATUSES[..]
            } else {
                &draft.statuses[..]
            };
            draft.statuses = from
                .iter()
                .copied()
                .filter(|s| !excluded.contains(s))
                .collect();
        }
        RequestPart::Agent if part != Some(RequestPart::Agent) && all_words => {
            draft.unless_agents.extend(words(test));
        }
        RequestPart::Target | RequestPart::Agent | RequestPart::Referer | RequestPart::Anywhere
            if part.unwrap_or(RequestPart::Target) == test.part =>
        {
            let anchored = test.values.iter().any(|v| v.at_start || v.at_end);
            if draft.fields.is_empty() {
                draft.fields = test.part.fields(anchored);
            } else if anchored && draft.fields.len() > 1 {
                return Err("its filter is anchored in one of several fields".into());
            }
            if all_words {
                draft.unless_words.extend(words(test));
            } else if draft.unless_regex.is_none() {
                draft.unless_regex = Some(
                    test.values
                        .iter()
                        .map(SigmaPattern::regex)
                        .collect::<Vec<_>>()
                        .join("|"),
                );
            } else {
                return Err("its filter has two patterns".into());
            }
        }
        _ => return Err("its filter uses a field that `unless` does not support".into()),
    }
    Ok(())
}

fn words(test: &SigmaTest) -> Vec<String> {
    let mut words: Vec<String> = test
        .values
        .iter()
        .filter_map(SigmaPattern::word)
        .map(str::to_owned)
        .collect();
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(word.to_ascii_lowercase()));
    words
}

fn exact(test: &SigmaTest, what: &str) -> Result<Vec<String>, String> {
    let values: Option<Vec<_>> = test
        .values
        .iter()
        .map(|v| v.exact().map(str::to_owned))
        .collect();
    values.ok_or_else(|| format!("it matches {what} by a pattern"))
}

fn statuses(test: &SigmaTest) -> Result<Vec<u16>, String> {
    exact(test, "a status")?
        .iter()
        .map(|text| text.parse().map_err(|_| format!("'{text}' is no status")))
        .collect()
}

fn intersection<T: PartialEq + Clone>(left: &[T], right: &[T]) -> Result<Vec<T>, String> {
    let both: Vec<T> = left
        .iter()
        .filter(|item| right.contains(item))
        .cloned()
        .collect();
    if both.is_empty() {
        Err("it can never match".into())
    } else {
        Ok(both)
    }
}

/// Adds two requests that the rule matches, if they can be made, and two ordinary requests.
fn add_cases(draft: &mut RuleBuilder, term: &SearchTerm<'_>, tests: &[(SigmaTest, bool)]) {
    draft.must_match = (0..2)
        .filter_map(|n| example(draft, term, tests, n))
        .collect();
    draft.must_match.dedup();
    draft.must_not_match = ["/about", "/search?q=red+shoes"]
        .map(|target| ExampleRequest::new(format!("GET {target}")))
        .into();
}

fn example(
    draft: &RuleBuilder,
    term: &SearchTerm<'_>,
    tests: &[(SigmaTest, bool)],
    n: usize,
) -> Option<ExampleRequest> {
    let pick = |test: &SigmaTest| {
        test.values
            .get(n)
            .or(test.values.first())
            .and_then(|v| v.example().map(|text| (v.at_start, v.at_end, text)))
    };
    let mut parts = term
        .tests
        .iter()
        .map(|test| pick(test))
        .collect::<Option<Vec<_>>>()?;
    parts.sort_by_key(|(at_start, at_end, _)| (!at_start, *at_end));
    let text = parts
        .iter()
        .map(|(.., text)| text.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    let at_start = parts.first().is_some_and(|(at_start, ..)| *at_start);
    let at_end = parts.last().is_some_and(|(_, at_end, _)| *at_end);
    let stem = tests
        .iter()
        .find(|(test, negated)| test.part == RequestPart::Stem && !negated)
        .and_then(|(test, _)| pick(test));
    let path = stem.map_or_else(
        || if n == 0 { "/".into() } else { "/index".into() },
        |(.., text)| {
            if text.starts_with('/') {
                text
            } else {
                format!("/x{text}")
            }
        },
    );
    let header = |part: RequestPart| (term.part == Some(part)).then(|| text.replace('\\', "\\\\"));
    let target = match term.part {
        Some(RequestPart::Target) if at_start => percent_encoded(&text, b"/-._~?=&"),
        Some(RequestPart::Target) if n == 1 && !at_end => {
            format!(
                "{}?x=1&q={}",
                percent_encoded(&path, b"/-._~"),
                percent_encoded(&text, b"/-._")
            )
        }
        Some(RequestPart::Target | RequestPart::Anywhere) => {
            format!(
                "{}?q={}",
                percent_encoded(&path, b"/-._~"),
                percent_encoded(&text, b"/-._")
            )
        }
        _ => percent_encoded(&path, b"/-._~"),
    };
    let agent = draft
        .agents
        .get(n)
        .or(draft.agents.first())
        .map(|agent| agent.replace('\\', "\\\\"));
    let method = draft.methods.first().map_or("GET", String::as_str);
    Some(ExampleRequest {
        request: format!("{method} {target}"),
        status: draft.statuses.first().copied(),
        user_agent: header(RequestPart::Agent).or(agent),
        referer: header(RequestPart::Referer),
    })
}

/// The fewest bytes of a text to search.
const MIN_LITERAL_LEN: usize = 3;

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchMode {
    Exact,
    Contains,
    StartsWith,
    EndsWith,
    Regex,
}

/// A value to search.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SigmaPattern {
    /// It is anchored at the start ...
    at_start: bool,
    /// ... or at the end.
    at_end: bool,
    /// Why it cannot be searched, if so.
    unusable: Option<&'static str>,
    pieces: Vec<PatternPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPiece {
    Text(String),
    /// `*`
    Any,
    /// `?`
    One,
    /// A regex, and the longest text that it requires.
    Regex(String, String),
}

impl SigmaPattern {
    /// Parses a value. `sent`: it is compared with an undecoded part of a request, which rules
    /// decode.
    fn new(value: &str, mode: MatchMode, sent: bool) -> Result<Self, String> {
        if mode == MatchMode::Regex {
            return Self::from_regex(value);
        }
        let mut pieces = pieces(value);
        let (mut at_start, mut at_end) = (
            matches!(mode, MatchMode::Exact | MatchMode::StartsWith),
            matches!(mode, MatchMode::Exact | MatchMode::EndsWith),
        );
        while pieces.first() == Some(&PatternPiece::Any) {
            at_start = false;
            pieces.remove(0);
        }
        while pieces.last() == Some(&PatternPiece::Any) {
            at_end = false;
            pieces.pop();
        }
        let mut unusable = None;
        for piece in &mut pieces {
            if let (PatternPiece::Text(text), true) = (piece, sent) {
                match decoded(text) {
                    Some(plain) if plain != *text && is_common(&plain) => {
                        unusable = Some("its plain form is ordinary, and our fields are decoded");
                    }
                    Some(plain) => *text = plain,
                    None => unusable = Some("it ends within an escape, and our fields are decoded"),
                }
            }
        }
        if pieces.is_empty() {
            Err(format!("'{value}' matches everything"))
        } else {
            Ok(Self {
                at_start,
                at_end,
                unusable,
                pieces,
            })
        }
    }

    fn from_regex(source: &str) -> Result<Self, String> {
        let source = source.strip_prefix("(?i)").unwrap_or(source);
        if source
            .as_bytes()
            .windows(3)
            .any(|w| w[0] == b'%' && w[1].is_ascii_hexdigit() && w[2].is_ascii_hexdigit())
        {
            return Err("its regex looks for escapes, and our fields are decoded".into());
        }
        let hir = regex_syntax::parse(source).map_err(|_| {
            "its regex is not supported: no look-around, no back-references".to_owned()
        })?;
        let mut longest = String::new();
        required_text(&hir, &mut longest);
        Ok(Self {
            at_start: false,
            at_end: false,
            unusable: None,
            pieces: vec![PatternPiece::Regex(source.to_owned(), longest)],
        })
    }

    fn is_regex(&self) -> bool {
        matches!(self.pieces[..], [PatternPiece::Regex(..)])
    }

    /// The text, if this is a text without anchors.
    fn word(&self) -> Option<&str> {
        match &self.pieces[..] {
            [PatternPiece::Text(text)] if !self.at_start && !self.at_end => Some(text),
            _ => None,
        }
    }

    /// The text, if this is a text anchored at both ends.
    fn exact(&self) -> Option<&str> {
        match &self.pieces[..] {
            [PatternPiece::Text(text)] if self.at_start && self.at_end => Some(text),
            _ => None,
        }
    }

    /// The longest text that every match contains; `None` if it is too short to search.
    fn literal(&self) -> Option<&str> {
        let texts = self.pieces.iter().map(|piece| match piece {
            PatternPiece::Text(text) | PatternPiece::Regex(_, text) => text.as_str(),
            PatternPiece::Any | PatternPiece::One => "",
        });
        texts
            .max_by_key(|text| text.len())
            .filter(|text| text.len() >= MIN_LITERAL_LEN)
    }

    /// The equivalent regex.
    fn regex(&self) -> String {
        let body: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                PatternPiece::Text(text) => regex::escape(text),
                PatternPiece::Any => ".*".into(),
                PatternPiece::One => ".".into(),
                PatternPiece::Regex(source, _) => format!("(?:{source})"),
            })
            .collect();
        format!(
            "{}{body}{}",
            if self.at_start { "^" } else { "" },
            if self.at_end { "$" } else { "" }
        )
    }

    /// The equivalent globs for a path, from its start.
    fn globs(&self) -> Option<Vec<String>> {
        let mut body = String::new();
        for piece in &self.pieces {
            match piece {
                PatternPiece::Text(text)
                    if text.contains(['*', '?'])
                        || (body.ends_with('*') && text.starts_with('/')) =>
                {
                    return None;
                }
                PatternPiece::Text(text) => body.push_str(text),
                PatternPiece::Any => body.push_str("**"),
                PatternPiece::One | PatternPiece::Regex(..) => return None,
            }
        }
        let end = if self.at_end { "" } else { "**" };
        Some(match (self.at_start, body.strip_prefix('/')) {
            (true, Some(_)) => vec![format!("{body}{end}")],
            (true, None) => return None,
            // `/**/x` begins with any number of folders, none at all included.
            (false, Some(rest)) => vec![format!("/**/{rest}{end}")],
            (false, None) => vec![format!("/**{body}{end}")],
        })
    }

    /// A text that this matches; `None` for a regex.
    fn example(&self) -> Option<String> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                PatternPiece::Text(text) => Some(text.as_str()),
                PatternPiece::Any => Some(""),
                PatternPiece::One => Some("x"),
                PatternPiece::Regex(..) => None,
            })
            .collect()
    }
}

/// Splits a value; `\*`, `\?` and `\\` are literal characters.
fn pieces(value: &str) -> Vec<PatternPiece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if matches!(rest.peek(), Some('*' | '?' | '\\')) => text.extend(rest.next()),
            '*' | '?' => {
                if !text.is_empty() {
                    pieces.push(PatternPiece::Text(std::mem::take(&mut text)));
                }
                pieces.push(if c == '*' {
                    PatternPiece::Any
                } else {
                    PatternPiece::One
                });
            }
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        pieces.push(PatternPiece::Text(text));
    }
    pieces
}

/// The longest text that a regex requires.
fn required_text(hir: &Hir, longest: &mut String) {
    match hir.kind() {
        HirKind::Literal(literal) => {
            if let Ok(text) = std::str::from_utf8(&literal.0)
                && text.len() > longest.len()
            {
                text.clone_into(longest);
            }
        }
        HirKind::Capture(capture) => required_text(&capture.sub, longest),
        HirKind::Concat(parts) => parts.iter().for_each(|part| required_text(part, longest)),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            required_text(&repetition.sub, longest);
        }
        _ => {}
    }
}
