//! Tests that must all hold, as one rule of ours.

use super::pattern::SigmaPattern;
use crate::rules::builder::{ExampleRequest, RuleBuilder};
use crate::rules::path_list::encoded_but;

/// Texts that a rule may ask of one field at once: their orders are alternatives of a regex.
const MOST_TEXTS: usize = 3;

/// Statuses that servers send, for a rule that asks for all but some.
const STATUSES: [u16; 56] = [
    200, 201, 202, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409,
    410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 426, 428, 429, 431, 444, 451, 494, 499, 500, 501, 502, 503, 504, 505,
    507, 520,
];

/// The part of a request that a test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestPart {
    Target,
    Stem,
    Agent,
    Referer,
    Anywhere,
    Method,
    Status,
}

impl RequestPart {
    pub(super) fn of(name: &str) -> Option<Self> {
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

    /// Whether clients may disguise it.
    pub(super) fn is_sent(self) -> bool {
        !matches!(self, Self::Method | Self::Status)
    }

    fn fields(self, anchored: bool) -> Vec<&'static str> {
        match self {
            // What stands at the start of the query does not stand at the start of the target.
            Self::Target if anchored => vec!["target"],
            Self::Target => vec!["target", "query"],
            Self::Agent => vec!["user_agent"],
            Self::Referer => vec!["referer"],
            _ => vec!["target", "query", "referer", "user_agent"],
        }
    }
}

/// One of these values stands in a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SigmaTest {
    pub(super) part: RequestPart,
    pub(super) values: Vec<SigmaPattern>,
}

/// What a rule asks of one field.
#[derive(Default)]
struct SearchTerm<'t> {
    part: Option<RequestPart>,
    tests: Vec<&'t SigmaTest>,
}

/// The rule that these tests are; those with `true` must fail.
///
/// # Errors
///
/// What of them a rule of ours cannot say.
pub(super) fn draft(blank: &RuleBuilder, tests: &[(SigmaTest, bool)]) -> Result<RuleBuilder, String> {
    let mut draft = blank.clone();
    let mut sought = SearchTerm::default();
    for (test, _) in tests.iter().filter(|(_, negated)| !negated) {
        if test.values.is_empty() {
            return Err("nothing of a search is left".into());
        }
        must(&mut draft, &mut sought, test)?;
    }
    words_and_regex(&mut draft, &sought)?;
    let part = sought.part;
    for (test, _) in tests.iter().filter(|(_, negated)| *negated) {
        if test.values.iter().any(|value| value.useless.is_some()) {
            return Err("what it excuses is written with escapes, and our fields are decoded".into());
        }
        must_not(&mut draft, part, test)?;
    }
    let no_literal = draft.words.is_empty() && draft.agents.is_empty() && draft.globs.is_empty();
    let ordinary = |m: &String| matches!(m.as_str(), "GET" | "POST" | "HEAD");
    if no_literal && (draft.methods.is_empty() || draft.methods.iter().any(ordinary)) {
        return Err("it asks for nothing but a status or an ordinary method".into());
    }
    if !draft.agents.is_empty() && draft.words.is_empty() && draft.globs.is_empty() && draft.class == "exposure" {
        draft.class = "scanner-agent".into();
    }
    with_cases(&mut draft, &sought, tests);
    Ok(draft)
}

fn must<'t>(draft: &mut RuleBuilder, sought: &mut SearchTerm<'t>, test: &'t SigmaTest) -> Result<(), String> {
    match test.part {
        RequestPart::Method => {
            let methods = exact(test, "a method")?;
            draft.methods = if draft.methods.is_empty() { methods } else { common(&draft.methods, &methods)? };
        }
        RequestPart::Status => {
            let statuses = statuses(test)?;
            draft.statuses = if draft.statuses.is_empty() { statuses } else { common(&draft.statuses, &statuses)? };
        }
        RequestPart::Stem if draft.globs.is_empty() => {
            let globs = test.values.iter().map(SigmaPattern::globs).collect::<Option<Vec<_>>>();
            draft.globs = globs.ok_or("its pattern of a path is none of ours")?.concat();
        }
        RequestPart::Stem => return Err("it asks two things of the path".into()),
        RequestPart::Agent if draft.agents.is_empty() && test.values.iter().all(|v| v.word().is_some()) => {
            draft.agents = words(test);
        }
        part => {
            if sought.part.is_some_and(|other| other != part) {
                return Err("it looks for texts in two fields; a rule of ours does in one".into());
            }
            sought.part = Some(part);
            sought.tests.push(test);
        }
    }
    Ok(())
}

/// Words and regex.
fn words_and_regex(draft: &mut RuleBuilder, sought: &SearchTerm<'_>) -> Result<(), String> {
    let (Some(part), tests) = (sought.part, &sought.tests) else { return Ok(()) };
    if tests.len() > MOST_TEXTS {
        return Err(format!("it looks for more than {MOST_TEXTS} texts at once"));
    }
    let anchored = tests.iter().any(|t| t.values.iter().any(|v| v.at_start || v.at_end));
    draft.fields = part.fields(anchored);
    if let [test] = tests[..]
        && test.values.iter().all(|v| v.word().is_some())
    {
        draft.words = words(test);
        return Ok(());
    }
    let literals = |test: &&SigmaTest| test.values.iter().map(|v| v.literal().map(str::to_owned)).collect::<Option<Vec<_>>>();
    draft.words = tests.iter().find_map(literals).ok_or("no text of three letters in it must stand there")?;
    draft.words.sort();
    draft.words.dedup();
    let each: Vec<String> =
        tests.iter().map(|t| format!("(?:{})", t.values.iter().map(SigmaPattern::regex).collect::<Vec<_>>().join("|"))).collect();
    draft.regex = Some(orders(&each).iter().map(|order| order.join(".*")).collect::<Vec<_>>().join("|"));
    Ok(())
}

/// The orders in which texts can stand behind one another.
fn orders(texts: &[String]) -> Vec<Vec<String>> {
    if texts.len() < 2 {
        return vec![texts.to_vec()];
    }
    let mut all = Vec::new();
    for first in 0..texts.len() {
        let mut rest = texts.to_vec();
        let first = rest.remove(first);
        all.extend(orders(&rest).into_iter().map(|order| [vec![first.clone()], order].concat()));
    }
    all
}

fn must_not(draft: &mut RuleBuilder, part: Option<RequestPart>, test: &SigmaTest) -> Result<(), String> {
    let all_words = test.values.iter().all(|v| v.word().is_some());
    match test.part {
        RequestPart::Status => {
            let excused = statuses(test)?;
            let from = if draft.statuses.is_empty() { &STATUSES[..] } else { &draft.statuses[..] };
            draft.statuses = from.iter().copied().filter(|s| !excused.contains(s)).collect();
        }
        RequestPart::Agent if part != Some(RequestPart::Agent) && all_words => draft.unless_agents.extend(words(test)),
        RequestPart::Target | RequestPart::Agent | RequestPart::Referer | RequestPart::Anywhere
            if part.unwrap_or(RequestPart::Target) == test.part =>
        {
            let anchored = test.values.iter().any(|v| v.at_start || v.at_end);
            if draft.fields.is_empty() {
                draft.fields = test.part.fields(anchored);
            } else if anchored && draft.fields.len() > 1 {
                return Err("what it excuses stands at the start or the end of one of several fields".into());
            }
            if all_words {
                draft.unless_words.extend(words(test));
            } else if draft.unless_regex.is_none() {
                draft.unless_regex = Some(test.values.iter().map(SigmaPattern::regex).collect::<Vec<_>>().join("|"));
            } else {
                return Err("it excuses by two patterns".into());
            }
        }
        _ => return Err("it excuses by a field that `unless` does not look at".into()),
    }
    Ok(())
}

fn words(test: &SigmaTest) -> Vec<String> {
    let mut words: Vec<String> = test.values.iter().filter_map(SigmaPattern::word).map(str::to_owned).collect();
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(word.to_ascii_lowercase()));
    words
}

fn exact(test: &SigmaTest, what: &str) -> Result<Vec<String>, String> {
    let values: Option<Vec<_>> = test.values.iter().map(|v| v.exact().map(str::to_owned)).collect();
    values.ok_or_else(|| format!("it asks for {what} by a pattern"))
}

fn statuses(test: &SigmaTest) -> Result<Vec<u16>, String> {
    exact(test, "a status")?.iter().map(|text| text.parse().map_err(|_| format!("'{text}' is no status"))).collect()
}

fn common<T: PartialEq + Clone>(left: &[T], right: &[T]) -> Result<Vec<T>, String> {
    let both: Vec<T> = left.iter().filter(|item| right.contains(item)).cloned().collect();
    if both.is_empty() { Err("it can never match".into()) } else { Ok(both) }
}

/// Two requests that it matches, where some can be made, and two ordinary ones.
fn with_cases(draft: &mut RuleBuilder, sought: &SearchTerm<'_>, tests: &[(SigmaTest, bool)]) {
    draft.must_match = (0..2).filter_map(|n| example(draft, sought, tests, n)).collect();
    draft.must_match.dedup();
    draft.must_not_match = ["/about", "/search?q=red+shoes"].map(|target| ExampleRequest::new(format!("GET {target}"))).into();
}

fn example(draft: &RuleBuilder, sought: &SearchTerm<'_>, tests: &[(SigmaTest, bool)], n: usize) -> Option<ExampleRequest> {
    let pick =
        |test: &SigmaTest| test.values.get(n).or(test.values.first()).and_then(|v| v.example().map(|text| (v.at_start, v.at_end, text)));
    let mut parts = sought.tests.iter().map(|test| pick(test)).collect::<Option<Vec<_>>>()?;
    parts.sort_by_key(|(at_start, at_end, _)| (!at_start, *at_end));
    let text = parts.iter().map(|(.., text)| text.as_str()).collect::<Vec<_>>().join(" ");
    let at_start = parts.first().is_some_and(|(at_start, ..)| *at_start);
    let at_end = parts.last().is_some_and(|(_, at_end, _)| *at_end);
    let stem = tests.iter().find(|(test, negated)| test.part == RequestPart::Stem && !negated).and_then(|(test, _)| pick(test));
    let path = stem.map_or_else(
        || if n == 0 { "/".into() } else { "/index".into() },
        |(.., text)| {
            if text.starts_with('/') { text } else { format!("/x{text}") }
        },
    );
    let header = |part: RequestPart| (sought.part == Some(part)).then(|| text.replace('\\', "\\\\"));
    let target = match sought.part {
        Some(RequestPart::Target) if at_start => encoded_but(&text, b"/-._~?=&"),
        Some(RequestPart::Target) if n == 1 && !at_end => format!("{}?x=1&q={}", encoded_but(&path, b"/-._~"), encoded_but(&text, b"/-._")),
        Some(RequestPart::Target | RequestPart::Anywhere) => format!("{}?q={}", encoded_but(&path, b"/-._~"), encoded_but(&text, b"/-._")),
        _ => encoded_but(&path, b"/-._~"),
    };
    let agent = draft.agents.get(n).or(draft.agents.first()).map(|agent| agent.replace('\\', "\\\\"));
    let method = draft.methods.first().map_or("GET", String::as_str);
    Some(ExampleRequest {
        request: format!("{method} {target}"),
        status: draft.statuses.first().copied(),
        user_agent: header(RequestPart::Agent).or(agent),
        referer: header(RequestPart::Referer),
    })
}
