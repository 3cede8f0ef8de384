//! What a rule file says, field by field, as `rules/README.md` documents it.
//!
//! Only the shape is checked here; whether a rule makes sense is `compile`'s question.

use serde::Deserialize;

use super::case::Case;
use super::window::Window;
use crate::finding::Severity;
use crate::soft_404::Subject;

/// The classes a rule may have.
pub const CLASSES: [&str; 37] = [
    "auth-bypass",
    "backup",
    "cloud",
    "cms",
    "config-exposure",
    "crlf",
    "cve",
    "db-admin",
    "debug",
    "default-login",
    "exposure",
    "iot",
    "java",
    "ldap",
    "lfi",
    "log-exposure",
    "log4shell",
    "method",
    "misconfig",
    "non-http",
    "nosqli",
    "panel",
    "php-eval",
    "phpinfo",
    "proxy",
    "rce",
    "redirect",
    "scanner-agent",
    "sqli",
    "ssrf",
    "ssti",
    "vcs-exposure",
    "vpn",
    "webshell",
    "wordpress",
    "xss",
    "xxe",
];

/// Those of requests that carry a payload: what they say is the attack, wherever they send it.
pub(crate) const PAYLOADS: [&str; 13] =
    ["crlf", "ldap", "lfi", "log4shell", "nosqli", "php-eval", "rce", "redirect", "sqli", "ssrf", "ssti", "xss", "xxe"];

/// A rule file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    #[serde(default)]
    pub(super) family: String,
    #[serde(default)]
    #[expect(dead_code, reason = "says what the file is about; a rule's id and title are what reports need")]
    pub(super) title: String,
    /// What the rules of the file look for.
    #[serde(default)]
    pub(super) subject: Subject,
    #[serde(default)]
    pub(super) rule: Vec<Definition>,
    #[serde(default)]
    pub(super) app: Vec<AppDefinition>,
}

/// One rule as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) class: String,
    pub(super) severity: Severity,
    pub(super) answer: Option<Answer>,
    #[serde(default)]
    pub(super) cve: Vec<String>,
    #[serde(default)]
    pub(super) attack: Vec<String>,
    #[serde(default)]
    pub(super) cwe: Vec<u32>,
    #[serde(default)]
    pub(super) references: Vec<String>,
    #[serde(default)]
    pub(super) false_positives: Vec<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    #[serde(default)]
    pub(super) suffixes: Vec<String>,
    #[serde(default)]
    pub(super) path_glob: OneOrMany,
    pub(super) at: Option<At>,
    #[serde(default)]
    pub(super) words: Vec<String>,
    pub(super) regex: Option<String>,
    pub(super) fields: Option<Vec<Field>>,
    #[serde(default)]
    pub(super) agents: Vec<String>,
    #[serde(default)]
    pub(super) raw_prefixes: Vec<String>,
    #[serde(default)]
    pub(super) methods: Vec<String>,
    #[serde(default)]
    pub(super) statuses: Vec<u16>,
    pub(super) shape: Option<super::Shape>,
    pub(super) unless: Option<Unless>,
    #[serde(default)]
    pub(super) unless_app: OneOrMany,
    pub(super) with_client: Option<WithClient>,
    pub(super) window: Option<Window>,
    #[serde(default)]
    pub(super) must_match: Vec<Case>,
    #[serde(default)]
    pub(super) must_not_match: Vec<Case>,
    /// It is the sign of an app, and no rule.
    #[serde(skip)]
    pub(super) is_app_evidence: bool,
    /// What the rule looks for, as its file says.
    #[serde(skip)]
    pub(super) subject: Subject,
}

/// How a site shows an app, as written: what its pages load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AppDefinition {
    id: String,
    title: String,
    #[serde(default)]
    references: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    suffixes: Vec<String>,
    #[serde(default)]
    path_glob: OneOrMany,
    at: Option<At>,
    #[serde(default)]
    words: Vec<String>,
    regex: Option<String>,
    fields: Option<Vec<Field>>,
    unless: Option<Unless>,
    #[serde(default)]
    must_match: Vec<Case>,
    #[serde(default)]
    must_not_match: Vec<Case>,
}

/// The class of signs of apps, and the family of their ids.
pub(super) const APP_CLASS: &str = "app";
pub(super) const APP_FAMILY: &str = "apps";

impl From<AppDefinition> for Definition {
    /// A sign is looked for like a rule; it is `apps/wordpress` where rules say `wordpress`.
    fn from(app: AppDefinition) -> Self {
        Self {
            id: format!("{APP_FAMILY}/{}", app.id),
            title: app.title,
            class: APP_CLASS.to_owned(),
            severity: Severity::Info,
            answer: Some(Answer::Inconclusive),
            cve: Vec::new(),
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
            unless: app.unless,
            unless_app: OneOrMany::default(),
            with_client: None,
            window: None,
            must_match: app.must_match,
            must_not_match: app.must_not_match,
            is_app_evidence: true,
            subject: Subject::default(),
        }
    }
}

/// A rule's request is a probe only where its client asked for so many other probe paths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithClient {
    /// Distinct paths it must have asked for ...
    pub distinct_paths: u32,
    /// ... that rules of these classes name; of any class where empty.
    #[serde(default)]
    pub classes: Vec<String>,
}

impl Definition {
    /// The fields `words` and `regex` look at.
    pub(super) fn fields(&self) -> &[Field] {
        self.fields.as_deref().unwrap_or(&[Field::Path, Field::Query])
    }

    /// What a 2xx tells, where the rule does not say.
    pub(super) fn answer(&self) -> Answer {
        let on_path = !(self.paths.is_empty() && self.suffixes.is_empty() && self.path_glob.0.is_empty());
        let no_text = self.words.is_empty() && self.regex.is_none();
        let shows = self.window.is_none() && on_path && (no_text || self.fields() == [Field::Path]);
        let default = if shows { Answer::Exposes } else { Answer::Inconclusive };
        self.answer.unwrap_or(default)
    }
}

/// What a rule must not meet.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unless {
    #[serde(default)]
    pub(super) words: Vec<String>,
    pub(super) regex: Option<String>,
    pub(super) referer: Option<String>,
    #[serde(default)]
    pub(super) agents: Vec<String>,
}

/// A text or a list of texts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "OneOrManyText")]
pub(super) struct OneOrMany(pub(super) Vec<String>);

#[derive(Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum At {
    /// Only at its start.
    Root,
}

/// What a 2xx to a probe tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// What was asked for is there.
    Exposes,
    /// Nothing.
    Inconclusive,
}

/// A view of a request that `words` and `regex` look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Field {
    /// The decoded path, `..` unresolved.
    Path,
    /// The decoded query.
    Query,
    /// The decoded target, untidied.
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
    pub const ALL: [Self; 7] = [Self::Path, Self::Query, Self::Target, Self::Referer, Self::UserAgent, Self::Method, Self::Raw];

    /// What rule files call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Target => "target",
            Self::Referer => "referer",
            Self::UserAgent => "user_agent",
            Self::Method => "method",
            Self::Raw => "raw",
        }
    }
}
