//! The keys of a rule file, as documented in `rules/README.md`, the test cases of a rule, and how
//! the text of a file becomes its rules.
//!
//! Only types are checked here; `compile` validates rules. A case is data; the engine matches it
//! like a line of a log.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use memchr::memmem;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::error::RuleError;
use super::guess::Guess;
use super::lines::RuleLines;
use super::literal_table::{FIELD_NAMES, LiteralKeys};
use super::literals::bit;
use super::window::Window;
use crate::log::finding::Severity;
use crate::log::log_entry::LogEntry;
use crate::soft_404::RuleSubject;

/// What the rules of a class have in common: a table of `rules/classes.toml`.
#[derive(Debug)]
pub(crate) struct Class {
    /// Its name in rules.
    pub id: &'static str,
    /// What a request of the class is after: a sentence.
    pub wants: &'static str,
    /// What to do if it was answered: a sentence.
    pub remedy: &'static str,
    /// The text itself is the attack, whatever path it is sent to.
    pub payload: bool,
    /// Its rules show what a client looks for, so `learn` proposes paths for it.
    pub learn: bool,
    /// The categories of AbuseIPDB; none for an attack on a web application.
    pub abuse: &'static [u8],
}

/// The classes a rule may have, sorted.
pub(crate) const CLASSES: &[Class] = include!(concat!(env!("OUT_DIR"), "/classes.rs"));

impl Class {
    /// The class with this id; `None` if an earlier report has it, from another version.
    #[must_use]
    pub(crate) fn find(id: &str) -> Option<&'static Self> {
        CLASSES.iter().find(|class| class.id == id)
    }

    /// Whether this is the id of a class of payloads.
    #[must_use]
    pub(crate) fn is_payload(id: &str) -> bool {
        Self::find(id).is_some_and(|class| class.payload)
    }

    /// The ids of all classes.
    pub(crate) fn ids() -> impl Iterator<Item = &'static str> + Clone {
        CLASSES.iter().map(|class| class.id)
    }
}

/// The JSON Schema of a rule file.
#[must_use]
pub(crate) fn schema() -> Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<RuleFile>()
}

/// A rule file.
#[derive(Debug, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    /// Version of the rules, by `rules export`.
    #[serde(default)]
    #[expect(dead_code, reason = "describes the file")]
    pub(super) version: Option<String>,
    /// Oldest version of the program that reads the file.
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "read before the rest, which an older program may not know"
    )]
    pub(super) requires: Option<String>,
    /// Prefix of every rule ID of the file.
    #[serde(default)]
    pub(super) family: String,
    /// What the family is about.
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "describes the file; reports use only the ids and titles of rules"
    )]
    pub(super) title: String,
    /// What the rules of the file look for.
    #[serde(default)]
    pub(super) subject: RuleSubject,
    /// Rules.
    #[expect(
        clippy::vec_box,
        reason = "a list of large values that grows touches many more pages of memory"
    )]
    #[serde(default)]
    pub(super) rule: Vec<Box<Definition>>,
    /// Applications that a site shows by what its pages load.
    #[serde(default)]
    pub(super) app: Vec<AppDefinition>,
}

/// A rule. All conditions that it names must hold.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    /// `family/name`: lower case, digits and `-`.
    pub(super) id: String,
    /// What the rule finds, in a few words.
    pub(super) title: String,
    /// Class of the attack.
    pub(super) class: String,
    /// How bad it would be if the server gave what was requested.
    pub(super) severity: Severity,
    /// What a 2xx means: `exposes` or `inconclusive`.
    pub(super) answer: Option<AnswerMeaning>,
    /// What such a request is after, in place of the sentence of the class.
    pub(super) wants: Option<String>,
    /// What to do if it was answered, in place of the sentence of the class.
    pub(super) remedy: Option<String>,
    /// CVE IDs.
    #[serde(default)]
    pub(super) cve: Vec<String>,
    /// Which of them, and which product, which path or text of the rule stands for: a request has
    /// those of the entries that it contains, and no others. Without `of` it has all CVE IDs and no
    /// product.
    pub(super) of: Option<Vec<Attribution>>,
    /// MITRE ATT&CK techniques.
    #[serde(default)]
    pub(super) attack: Vec<String>,
    /// CWE numbers.
    #[serde(default)]
    pub(super) cwe: Vec<u32>,
    /// Pages to read.
    #[serde(default)]
    pub(super) references: Vec<String>,
    /// Ordinary requests that may look like this.
    #[serde(default)]
    pub(super) false_positives: Vec<String>,
    /// One of these occurs in the path as whole segments.
    #[serde(default)]
    pub(super) paths: Vec<String>,
    /// The path ends in one of these.
    #[serde(default)]
    pub(super) suffixes: Vec<String>,
    /// The path matches this pattern, or one of a list.
    #[serde(default)]
    pub(super) path_glob: OneOrMany,
    /// `root`: `paths`, `suffixes` and `path_glob` hold only at the start of the path.
    pub(super) at: Option<PathAnchor>,
    /// One of these texts occurs in one of the `fields`.
    #[serde(default)]
    pub(super) words: Vec<String>,
    /// Regular expression that matches the same field, in the syntax of the Rust crate `regex`.
    pub(super) regex: Option<String>,
    /// Where `words` and `regex` look; the default is path and query.
    pub(super) fields: Option<Vec<Field>>,
    /// One of these texts occurs in the user agent.
    #[serde(default)]
    pub(super) agents: Vec<String>,
    /// The request begins with one of these bytes.
    #[serde(default)]
    pub(super) raw_prefixes: Vec<String>,
    /// The method is one of these, exactly as written.
    #[serde(default)]
    pub(super) methods: Vec<String>,
    /// The status code is one of these.
    #[serde(default)]
    pub(super) statuses: Vec<u16>,
    /// Shape of the request as a whole.
    pub(super) shape: Option<RequestShape>,
    /// No other rule matches the request by its line alone, and the site refused or redirected it.
    #[serde(default)]
    pub(super) unknown: bool,
    /// Exceptions: requests that the rule does not match.
    pub(super) unless: Option<Unless>,
    /// Applications on whose sites the rule does not count.
    #[serde(default)]
    pub(super) unless_app: OneOrMany,
    /// Other requests that the client must have sent.
    pub(super) with_client: Option<WithClient>,
    /// Requests within a span of time that make a flood.
    pub(super) window: Option<Window>,
    /// Each request is an attempt to log in; many by clients that send little else are guesses.
    pub(super) guess: Option<Guess>,
    /// Requests that the rule must match.
    #[serde(default)]
    pub(super) must_match: Vec<Case>,
    /// Requests that the rule must not match.
    #[serde(default)]
    pub(super) must_not_match: Vec<Case>,
    /// It is app evidence and no rule.
    #[serde(skip)]
    pub(super) is_app_evidence: bool,
    /// What the rule looks for, set for the whole file.
    #[serde(skip)]
    pub(super) subject: RuleSubject,
}

/// What is known of what a rule finds. A scan reads it for rules with hits only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RuleNotes {
    /// CVE ids.
    pub cve: Vec<String>,
    /// Which of them, and which product, which path or text stands for.
    pub of: Option<Vec<Attribution>>,
    /// MITRE ATT&CK techniques.
    pub attack: Vec<String>,
    /// CWE numbers.
    pub cwe: Vec<u32>,
    /// URLs of references.
    pub references: Vec<String>,
}

/// What a path or a text of a rule stands for.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attribution {
    /// CVE IDs, which the rule has too.
    #[serde(default)]
    pub cve: Vec<String>,
    /// The product that these paths or texts are of.
    pub product: Option<String>,
    /// One of these occurs in the path as whole segments.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Or one of these texts occurs in the path or the target.
    #[serde(default)]
    pub words: Vec<String>,
}

impl Attribution {
    /// Whether a text in lower case, of paths and targets, contains one of its paths or words.
    #[must_use]
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        let is_segment = |path: &String| {
            let ends = memmem::find_iter(text, path.as_bytes()).map(|at| text.get(at + path.len()));
            path.ends_with('/')
                || ends
                    .into_iter()
                    .any(|next| next.is_none_or(|next| b"/?;#&\n".contains(next)))
        };
        let is_there =
            |text_of_rule: &&String| memmem::find(text, text_of_rule.as_bytes()).is_some();
        self.paths.iter().filter(is_there).any(is_segment)
            || self.words.iter().any(|word| is_there(&word))
    }
}

/// An application: what its pages load.
#[derive(Debug, Clone, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AppDefinition {
    /// Name of the application, as `unless_app` has it.
    id: String,
    /// Name of the application, for people.
    title: String,
    /// Pages to read.
    #[serde(default)]
    references: Vec<String>,
    /// One of these occurs in the path as whole segments.
    #[serde(default)]
    paths: Vec<String>,
    /// The path ends in one of these.
    #[serde(default)]
    suffixes: Vec<String>,
    /// The path matches this pattern, or one of a list.
    #[serde(default)]
    path_glob: OneOrMany,
    /// `root`: `paths`, `suffixes` and `path_glob` hold only at the start of the path.
    at: Option<PathAnchor>,
    /// One of these texts occurs in one of the `fields`.
    #[serde(default)]
    words: Vec<String>,
    /// Regular expression that matches the same field.
    regex: Option<String>,
    /// Where `words` and `regex` look; the default is path and query.
    fields: Option<Vec<Field>>,
    /// Exceptions: requests that are not evidence of the application.
    unless: Option<Unless>,
    /// Requests that must be evidence of the application.
    #[serde(default)]
    must_match: Vec<Case>,
    /// Requests that must not be.
    #[serde(default)]
    must_not_match: Vec<Case>,
}

/// The class of app evidence, and the family of its ids.
pub(super) const APP_CLASS: &str = "app";
pub(super) const APP_FAMILY: &str = "apps";

impl From<AppDefinition> for Definition {
    /// App evidence is matched like a rule; its id is `apps/wordpress` where rules refer to
    /// `wordpress`.
    fn from(app: AppDefinition) -> Self {
        Self {
            id: format!("{APP_FAMILY}/{}", app.id),
            title: app.title,
            class: APP_CLASS.to_owned(),
            severity: Severity::Info,
            answer: Some(AnswerMeaning::Inconclusive),
            wants: None,
            remedy: None,
            cve: Vec::new(),
            of: None,
            attack: Vec::new(),
            cwe: Vec::new(),
            references: app.references,
            false_positives: Vec::new(),
            paths: app.paths,
            suffixes: app.suffixes,
            path_glob: app.path_glob,
            at: app.at,
            words: app.words,
            regex: app.regex,
            fields: app.fields,
            agents: Vec::new(),
            raw_prefixes: Vec::new(),
            methods: Vec::new(),
            statuses: Vec::new(),
            shape: None,
            unknown: false,
            unless: app.unless,
            unless_app: OneOrMany::default(),
            with_client: None,
            window: None,
            guess: None,
            must_match: app.must_match,
            must_not_match: app.must_not_match,
            is_app_evidence: true,
            subject: RuleSubject::default(),
        }
    }
}

/// Other requests that the client must have sent. At least half of its requests must be for such
/// paths, or for names that the site does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithClient {
    /// Distinct paths it must have requested.
    pub distinct_paths: u32,
    /// Classes of the rules that name these paths; any class where empty.
    #[serde(default)]
    pub classes: Vec<String>,
    /// A request that was answered or redirected counts only if that many of these paths got the
    /// same answer.
    #[serde(default)]
    pub same_answer: bool,
}

impl Definition {
    /// The fields that `words` and `regex` check.
    pub(super) fn fields(&self) -> &[Field] {
        self.fields
            .as_deref()
            .unwrap_or(&[Field::Path, Field::Query])
    }

    /// The fields as a mask of their bits.
    pub(super) fn field_mask(&self) -> u16 {
        self.fields()
            .iter()
            .fold(0, |mask, &field| mask | bit::of_field(field))
    }

    /// The keys that contain literals.
    pub(super) fn literal_keys(&self) -> LiteralKeys<'_> {
        LiteralKeys {
            paths: &self.paths,
            suffixes: &self.suffixes,
            path_glob: &self.path_glob.0,
            agents: &self.agents,
            raw_prefixes: &self.raw_prefixes,
            words: &self.words,
            fields: self.field_mask(),
            excepted_agents: self.unless.as_ref().map_or(&[], |unless| &unless.agents),
            root: self.at == Some(PathAnchor::Root),
        }
    }

    /// Whether no single request is a finding.
    pub(super) fn counts_requests(&self) -> bool {
        self.window.is_some() || self.guess.is_some()
    }

    /// What a 2xx means; derived if the rule does not set it.
    pub(super) fn answer(&self) -> AnswerMeaning {
        let on_path =
            !(self.paths.is_empty() && self.suffixes.is_empty() && self.path_glob.0.is_empty());
        let no_text = self.words.is_empty() && self.regex.is_none();
        let exposes =
            !self.counts_requests() && on_path && (no_text || self.fields() == [Field::Path]);
        let default = if exposes {
            AnswerMeaning::Exposes
        } else {
            AnswerMeaning::Inconclusive
        };
        self.answer.unwrap_or(default)
    }
}

/// Exceptions of a rule.
#[derive(Debug, Clone, Default, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unless {
    /// Names of exceptions that rules have in common: `forge-file`, `synced-file`. Each is a
    /// regular expression like `regex`.
    #[serde(default)]
    pub(super) known: Vec<String>,
    /// One of these texts occurs in one of the `fields`.
    #[serde(default)]
    pub(super) words: Vec<String>,
    /// Regular expression that matches one of the `fields`.
    pub(super) regex: Option<String>,
    /// Regular expression that matches the referer.
    pub(super) referer: Option<String>,
    /// One of these texts occurs in the user agent.
    #[serde(default)]
    pub(super) agents: Vec<String>,
}

/// The exceptions that rules have in common, by name: the tables of `rules/exceptions.toml`.
pub(super) const EXCEPTIONS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/exceptions.rs"));

/// A text or a list of texts.
#[derive(Debug, Clone, Default, JsonSchema, Deserialize)]
#[serde(from = "OneOrManyText")]
pub(super) struct OneOrMany(pub(super) Vec<String>);

#[derive(JsonSchema, Deserialize)]
#[serde(untagged)]
enum OneOrManyText {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrManyText> for OneOrMany {
    fn from(text: OneOrManyText) -> Self {
        match text {
            OneOrManyText::One(one) => Self(vec![one]),
            OneOrManyText::Many(many) => Self(many),
        }
    }
}

/// Where in a path `paths`, `suffixes` and `path_glob` look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PathAnchor {
    /// Only at its start.
    Root,
}

/// What a 2xx response to a probe means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerMeaning {
    /// The requested resource exists.
    Exposes,
    /// Nothing.
    Inconclusive,
}

/// A view of a request that `words` and `regex` look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub(crate) enum Field {
    /// The decoded path, `..` unresolved.
    Path,
    /// The decoded query.
    Query,
    /// The decoded target, not normalised.
    Target,
    /// The `Referer` header.
    Referer,
    /// The `User-Agent` header.
    UserAgent,
    /// The method.
    Method,
    /// The request as it was sent.
    Raw,
}

impl Field {
    /// Every field.
    pub(crate) const ALL: [Self; 7] = [
        Self::Path,
        Self::Query,
        Self::Target,
        Self::Referer,
        Self::UserAgent,
        Self::Method,
        Self::Raw,
    ];

    /// Its name in rule files.
    pub(super) fn name(self) -> &'static str {
        FIELD_NAMES[self as usize]
    }
}

/// A request as a log would have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// The quoted request of the log line, with the log writer's escapes.
    pub request: String,
    /// The status code.
    pub status: u16,
    /// The `User-Agent` header.
    pub user_agent: Option<String>,
    /// The `Referer` header.
    pub referer: Option<String>,
    /// The user that the client sent.
    pub user: Option<String>,
}

impl Case {
    /// The case as a log entry.
    #[must_use]
    pub(crate) fn log_entry(&self) -> LogEntry<'_> {
        LogEntry {
            client: b"192.0.2.1",
            request: self.request.as_bytes(),
            status: Some(self.status),
            user_agent: self.user_agent.as_deref().map(str::as_bytes),
            referer: self.referer.as_deref().map(str::as_bytes),
            user: self.user.as_deref().map(str::as_bytes),
            ..LogEntry::default()
        }
    }

    /// A case with a request line alone; a missing protocol is added.
    #[must_use]
    pub(crate) fn from_request(line: &str) -> Self {
        let protocol = if line.contains(" HTTP/") {
            ""
        } else {
            " HTTP/1.1"
        };
        Self::from_raw(format!("{line}{protocol}"))
    }

    fn from_raw(request: String) -> Self {
        Self {
            request,
            status: 404,
            user_agent: None,
            referer: None,
            user: None,
        }
    }
}

impl JsonSchema for Case {
    fn schema_name() -> Cow<'static, str> {
        "Case".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<CaseTable>();
        json_schema!({ "anyOf": [{ "type": "string", "description": "Request line; ` HTTP/1.1` is added where the protocol is missing." }, table] })
    }
}

impl<'de> Deserialize<'de> for Case {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CaseVisitor)
    }
}

struct CaseVisitor;

/// A request with more than its request line.
#[derive(JsonSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseTable {
    /// Request line, `GET /.env`.
    request: Option<String>,
    /// Request as sent, with the escapes of the log.
    raw: Option<String>,
    /// Status code; 404 where it is left out.
    status: Option<u16>,
    /// User agent.
    user_agent: Option<String>,
    /// Referer.
    referer: Option<String>,
    /// User.
    user: Option<String>,
}

impl<'de> Visitor<'de> for CaseVisitor {
    type Value = Case;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a request line like "GET /.env", or a table { request = "..", status = 200, user_agent = "..", referer = "..", user = ".." } or { raw = '..' }"#)
    }

    fn visit_str<E: Error>(self, line: &str) -> Result<Case, E> {
        Ok(Case::from_request(line))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Case, A::Error> {
        let table = CaseTable::deserialize(MapAccessDeserializer::new(map))?;
        let case = match (table.request, table.raw) {
            (Some(line), None) => Case::from_request(&line),
            (None, Some(raw)) => Case::from_raw(raw),
            _ => return Err(A::Error::custom("a case has either `request` or `raw`")),
        };
        let CaseTable {
            status,
            user_agent,
            referer,
            user,
            ..
        } = table;
        Ok(Case {
            status: status.unwrap_or(case.status),
            user_agent,
            referer,
            user,
            ..case
        })
    }
}

/// A definition and its position.
#[derive(Debug, Clone)]
pub(super) struct LocatedRule {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
    /// It is built in, and so covered by tests.
    pub(super) is_builtin: bool,
    /// The family of its file; empty if the file names none.
    pub(super) family: Arc<str>,
    pub(super) definition: Box<Definition>,
}

impl LocatedRule {
    pub(super) fn error(&self, message: String) -> RuleError {
        RuleError::Rule {
            file: self.file.to_string(),
            line: self.line,
            id: self.id().to_owned(),
            message,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.definition.id
    }
}

/// What a request looks like as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RequestShape {
    /// The target names a scheme and a host.
    Absolute,
    /// The request does not begin with a method.
    NoMethod,
    /// As before, with bytes outside of printable ASCII.
    Binary,
    /// An unregistered method before an ordinary target.
    UnknownMethod,
    /// The client sent a user name, and the server answered 401. Only requests without another
    /// shape have it.
    RefusedLogin,
}

impl RequestShape {
    /// Whether a request of shape `actual` also has this shape.
    pub(super) fn includes(self, actual: Option<Self>) -> bool {
        actual == Some(self) || (self == Self::NoMethod && actual == Some(Self::Binary))
    }
}

/// A text of a request that rules check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TextView {
    /// A field of `words` and `regex`.
    Field(Field),
    /// The path with `..` resolved, for `paths`, `suffixes` and `path_glob`.
    Resolved,
}

/// The fields of a mask.
pub(super) fn fields(mask: u16) -> impl Iterator<Item = Field> {
    Field::ALL
        .into_iter()
        .filter(move |f| mask & bit::of_field(*f) != 0)
}

/// The rules of one file. Windows line ends and a byte order mark are accepted.
pub(super) fn parse(
    file: &str,
    text: &str,
    is_builtin: bool,
) -> Result<Vec<LocatedRule>, RuleError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let refusal = |message: String| RuleError::Syntax {
        file: file.to_owned(),
        message,
    };
    let syntax_error = |error: toml::de::Error| refusal(error.to_string());
    let own = env!("CARGO_PKG_VERSION");
    if let Some(least) = required_version(text).filter(|least| number_of(least) > number_of(own)) {
        return Err(refusal(format!(
            "these rules need probewatch {least} or later, and this is {own}"
        )));
    }
    // First, as it needs much memory for a moment. The rules report errors.
    let lines = RuleLines::parse(text);
    let rules = toml::from_str(text).map_err(syntax_error)?;
    Ok(locate(
        file,
        rules,
        lines.map_err(syntax_error)?,
        is_builtin,
    ))
}

/// The oldest program that reads a file, by what precedes its tables.
fn required_version(text: &str) -> Option<String> {
    let head = &text[..text.find("[[").unwrap_or(text.len())];
    Some(
        toml::from_str::<toml::Table>(head)
            .ok()?
            .get("requires")?
            .as_str()?
            .to_owned(),
    )
}

/// The numbers of a version, to compare.
fn number_of(version: &str) -> Vec<u64> {
    version
        .split('.')
        .map(|part| part.parse().unwrap_or(u64::MAX))
        .collect()
}

/// The rules of a file, in its order.
pub(super) fn locate(
    file: &str,
    rules: RuleFile,
    lines: RuleLines,
    is_builtin: bool,
) -> Vec<LocatedRule> {
    let RuleFile {
        family,
        subject,
        mut rule,
        app,
        ..
    } = rules;
    let (file, family) = (Arc::from(file), Arc::from(family));
    for definition in &mut rule {
        definition.subject = subject;
    }
    let of_apps = app.into_iter().map(|app| Box::new(Definition::from(app)));
    let of_rules = rule.into_iter().zip(lines.rule);
    let mut all: Vec<_> = of_rules
        .chain(of_apps.zip(lines.app))
        .map(|(definition, line)| LocatedRule {
            file: Arc::clone(&file),
            line,
            is_builtin,
            family: Arc::clone(&family),
            definition,
        })
        .collect();
    all.sort_by_key(|located| located.line);
    all
}
