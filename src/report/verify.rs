//! What `verify` asks a site and what follows from the answers: the paths of a report that may be
//! requested again, two control paths beside each, and the verdict on each path.
//!
//! Sends nothing: the caller requests the paths. A path is requested only if a GET got an answer to
//! a rule on paths, and only if it is plain: no query, no payload, no disguise, no secret, and
//! nothing that may change the site. Of an answer, its status, its size and its kind are kept,
//! never its content.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

use foldhash::{HashMap, HashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::rows::{RowItem, sample};
use crate::judge::report_input::ReportInput;
use crate::judge::rule_status::LogAnalysis;
use crate::log::finding::{RuleId, Severity};
use crate::log::time::{self, LogTime};
use crate::rules::{Class, Rule};
use crate::soft_404::{Answer, MethodClass};
use crate::tally::Site;
use crate::text::number::grouped;
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// The name of the file in the folder of a report.
pub(crate) const VERIFIED_FILE: &str = "verified.json";

/// The version of the document.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The most bytes of a body that are read.
pub(crate) const BODY_BYTES: usize = 64 << 10;

/// The most bytes of a path that is requested: browsers and servers take longer ones, but no file
/// of a site has such a name.
const MAX_PATH: usize = 1_024;

/// The most bytes of a redirect's target that are shown.
const MAX_LOCATION: usize = 200;

/// A site that may be asked: `https://example.com`, with a port where it is not the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Scheme, host and port, without a slash at the end.
    url: String,
    /// The host in lower case, without the port.
    host: String,
}

impl Origin {
    /// Scheme, host and port, as in `https://example.com`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether a host of a log is this one, with any port.
    fn is_host(&self, logged: &[u8]) -> bool {
        let rest = logged.strip_prefix(self.host.as_bytes());
        rest.is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix(b":")
                    .is_some_and(|port| port.iter().all(u8::is_ascii_digit))
        })
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "{what}; type scheme and host, such as https://example.com or http://127.0.0.1:8080"
            )
        };
        let url = text.strip_suffix('/').unwrap_or(text).to_ascii_lowercase();
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"))
            .ok_or_else(|| wrong("neither http:// nor https://"))?;
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (rest, None),
        };
        let is_address = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .is_some_and(|address| {
                address.contains(':')
                    && address
                        .bytes()
                        .all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
            });
        let is_name = !host.is_empty()
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
        if !is_address && !is_name {
            return Err(wrong(
                "not a site, but a path, a user or another host's name is in it, or it is not ASCII",
            ));
        }
        if port.is_some_and(|port| {
            port.parse::<u16>().is_err() || !port.bytes().all(|b| b.is_ascii_digit())
        }) {
            return Err(wrong("not a port"));
        }
        Ok(Self {
            host: host.to_owned(),
            url,
        })
    }
}

/// What came of one path of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The site still gives it: a 2xx with content unlike that of paths that do not exist.
    StillGiven,
    /// The site gives it and paths that do not exist the same.
    #[serde(rename = "soft_404")]
    Soft404,
    /// The site refuses it (4xx), or gives no content.
    Refused,
    /// The site redirects it. The redirect was not followed.
    Redirected,
    /// No answer came, or one that shows nothing: 407, 429 or 5xx.
    NoAnswer,
    /// It was not requested.
    NotRequested,
}

impl Verdict {
    /// Every verdict, in the order of reports.
    pub(crate) const ALL: [Self; 6] = [
        Self::StillGiven,
        Self::Soft404,
        Self::Refused,
        Self::Redirected,
        Self::NoAnswer,
        Self::NotRequested,
    ];
}

/// What a body is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BodyKind {
    /// The configuration of a Git repository.
    GitConfig,
    /// The `HEAD` of a Git repository.
    GitHead,
    /// A file of environment variables.
    Dotenv,
    /// A dump of a database.
    SqlDump,
    /// A private key in PEM form.
    PrivateKey,
    /// An archive or a compressed file.
    Archive,
    /// A page.
    Html,
    /// Anything else.
    Other,
}

/// How archives and compressed files begin: zip, gzip, bzip2, xz, zstd, 7z and rar.
const ARCHIVES: [&[u8]; 8] = [
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
];
/// What the header of the first member of a tar archive has at byte 257.
const USTAR: &[u8] = b"ustar";
const USTAR_AT: usize = 257;
/// How the statements of dumps begin, in upper case.
const SQL: [&[u8]; 8] = [
    b"CREATE TABLE",
    b"CREATE DATABASE",
    b"INSERT INTO",
    b"DROP TABLE",
    b"SET SQL_MODE",
    b"SET NAMES",
    b"PRAGMA FOREIGN_KEYS",
    b"BEGIN TRANSACTION",
];
/// The most lines that are looked at.
const HEAD_LINES: usize = 20;

impl BodyKind {
    /// The kind of a body.
    pub(crate) fn of(body: &[u8]) -> Self {
        let is_tar = body
            .get(USTAR_AT..)
            .is_some_and(|rest| rest.starts_with(USTAR));
        if is_tar || ARCHIVES.iter().any(|magic| body.starts_with(magic)) {
            return Self::Archive;
        }
        let text = body
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(body)
            .trim_ascii_start();
        let starts_with = |word: &[u8]| {
            text.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        if starts_with(b"<!doctype html")
            || starts_with(b"<html")
            || starts_with(b"<head")
            || starts_with(b"<body")
        {
            return Self::Html;
        }
        if text.starts_with(b"[core]") {
            return Self::GitConfig;
        }
        if text.starts_with(b"ref: refs/") {
            return Self::GitHead;
        }
        if text.starts_with(b"-----BEGIN ")
            && memchr::memmem::find(&text[..text.len().min(64)], b"PRIVATE KEY-----").is_some()
        {
            return Self::PrivateKey;
        }
        let mut lines = text
            .split(|&b| b == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .take(HEAD_LINES)
            .peekable();
        if lines.peek().is_some_and(|line| {
            line.starts_with(b"-- ") || line.starts_with(b"/*") || *line == b"--"
        }) || is_statement(text)
        {
            let is_dump = |line: &[u8]| {
                line.starts_with(b"--")
                    && memchr::memmem::find(&line.to_ascii_lowercase(), b" dump").is_some()
            };
            return if lines.any(|line| is_dump(line) || is_statement(line)) {
                Self::SqlDump
            } else {
                Self::Other
            };
        }
        // The last line may be cut.
        let mut settings = lines
            .filter(|line| !line.starts_with(b"#"))
            .take(3)
            .peekable();
        if settings.peek().is_some() && settings.all(is_variable) {
            Self::Dotenv
        } else {
            Self::Other
        }
    }

    /// Whether nothing but a leak has this form.
    pub(crate) fn is_leak(self) -> bool {
        !matches!(self, Self::Html | Self::Other)
    }

    /// The kind in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::GitConfig => "Git config",
            Self::GitHead => "Git HEAD",
            Self::Dotenv => "dotenv",
            Self::SqlDump => "SQL dump",
            Self::PrivateKey => "private key",
            Self::Archive => "archive",
            Self::Html => "HTML",
            Self::Other => "other",
        }
    }
}

/// Whether a line of a dump begins a statement; `/*!40101 SET NAMES utf8 */` is one too.
fn is_statement(line: &[u8]) -> bool {
    let start = line[..line.len().min(64)].to_ascii_uppercase();
    SQL.iter().any(|word| start.starts_with(word)) || start.starts_with(b"/*!4")
}

/// Whether a line sets an environment variable: `APP_KEY=...`.
fn is_variable(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"export ").unwrap_or(line);
    let name = line
        .iter()
        .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_')
        .count();
    name > 1 && line.get(name) == Some(&b'=')
}

/// An answer of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<Vec<u8>>,
    /// The first bytes of the body, at most [`BODY_BYTES`].
    pub body: Vec<u8>,
    /// The `Content-Length` header.
    pub length: Option<u64>,
    /// The body is encoded, so that its first bytes show nothing.
    pub is_encoded: bool,
    /// The body is longer than what was read.
    pub is_cut: bool,
}

impl HttpAnswer {
    /// The kind of the body.
    pub(crate) fn kind(&self) -> BodyKind {
        if self.is_encoded {
            BodyKind::Other
        } else {
            BodyKind::of(&self.body)
        }
    }

    /// The bytes of the body, and whether these are only the least.
    fn size(&self) -> (u64, bool) {
        self.length
            .map_or((self.body.len() as u64, self.is_cut), |length| {
                (length, false)
            })
    }
}

/// What came of a request: an answer, or why there is none.
pub(crate) type Reply = Result<HttpAnswer, String>;

/// A path of a report, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "VerifiedPathObject")]
pub(crate) struct VerifiedPath {
    /// Path as it was requested, below `site`; of one with a secret, which is not requested, the
    /// masked form.
    pub path: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Severity of its answer in the report.
    pub severity: Severity,
    /// IDs of the rules that it matched, sorted.
    pub rules: Vec<String>,
    /// Grade of its answer in the report: `distinct` or `uncertain`.
    pub answer: &'static str,
    /// Status code of that answer; null where none is logged.
    pub logged_status: Option<u16>,
    /// Size of that answer in bytes; null where none is logged.
    pub logged_bytes: Option<u64>,
    /// Time of the latest request in the report, RFC 3339; null where none is logged.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "Option<String>")]
    pub last_time: Option<LogTime>,
    /// Status code now; null without an answer.
    pub status: Option<u16>,
    /// Size of the body now in bytes; null without an answer.
    pub bytes: Option<u64>,
    /// Whether the body may have more bytes than `bytes`: it has no length, and at most 65,536
    /// bytes are read.
    pub at_least: bool,
    /// What the body is by its first bytes; null without an answer or a body.
    pub kind: Option<BodyKind>,
    /// Target of the redirect without its query; null where there is none.
    pub location: Option<String>,
    /// Host of that target, if it is another host; null otherwise.
    pub other_host: Option<String>,
    /// Status codes of the two control paths, which do not exist; without those that got no answer.
    pub control_statuses: Vec<u16>,
    /// Why it is unknown whether the site still gives it: no answer, not requested, or a redirect
    /// to the same path; null otherwise.
    pub reason: Option<String>,
}

/// Why a path of a report is not requested. Of several reasons the least counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SkipReason {
    /// Its spelling is a payload or a disguise.
    Payload,
    /// An installer, or a page that ends a session or a program.
    Name,
    /// A web shell, code execution, a login, or a payload.
    Class,
    /// It was not requested with GET.
    Method,
    /// It is of another host.
    OtherHost,
}

impl SkipReason {
    /// The reason in words, after a number of paths.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Payload => "written as a payload or a disguise",
            Self::Name => "named like an installer, or like a page that ends something",
            Self::Class => "of rules on web shells, code execution, logins or payloads",
            Self::Method => "answered to another method than GET",
            Self::OtherHost => "of another host",
        }
    }
}

/// Paths of a report that are not requested.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "SkippedPathsObject")]
pub(crate) struct SkippedPaths {
    /// Why they are not requested.
    pub reason: SkipReason,
    /// Number of paths.
    pub paths: u64,
}

/// The paths of a report.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Those to request, the most important first, and those that would be requested but for a
    /// masked secret.
    pub paths: Vec<VerifiedPath>,
    /// The others.
    pub skipped: Vec<SkippedPaths>,
}

/// Why a masked path is not requested.
const MASKED: &str = "its secret is masked";
/// Why a path beyond the limit is not requested.
const LIMIT: &str = "--max-requests";

/// The paths with a distinct or an uncertain answer of the site `origin`, those of logs without
/// hosts included.
pub(crate) fn select<'a>(analysis: &'a LogAnalysis<'a>, origin: &Origin) -> Selection {
    let items = analysis
        .cells_with_path()
        .filter(|(_, decision)| decision.reported)
        .map(|(view, decision)| RowItem::new(analysis, view, decision));
    let is_asked =
        |item: &RowItem<'_>| item.has_grade(Answer::Distinct) || item.has_grade(Answer::Uncertain);
    let mut paths: BTreeMap<String, VerifiedPath> = BTreeMap::new();
    let (mut selected, mut skipped) = (HashSet::default(), HashMap::default());
    for item in items.filter(is_asked) {
        let key = item.view.path;
        match path_of(&analysis.input, &item, origin) {
            Ok(path) => {
                selected.insert(key);
                paths
                    .entry(path.path.clone())
                    .and_modify(|known| known.add(&path))
                    .or_insert(path);
            }
            Err(reason) => {
                let known = skipped.entry(key).or_insert(reason);
                *known = reason.min(*known);
            }
        }
    }
    let mut counts: BTreeMap<SkipReason, u64> = BTreeMap::new();
    for (_, reason) in skipped
        .into_iter()
        .filter(|(key, _)| !selected.contains(key))
    {
        *counts.entry(reason).or_default() += 1;
    }
    let mut paths: Vec<_> = paths.into_values().collect();
    paths.sort_by(|a, b| (b.severity, a.answer, &a.path).cmp(&(a.severity, b.answer, &b.path)));
    Selection {
        paths,
        skipped: counts
            .into_iter()
            .map(|(reason, paths)| SkippedPaths { reason, paths })
            .collect(),
    }
}

impl VerifiedPath {
    /// Adds other answers to the same path. What was logged is of the latest.
    fn add(&mut self, other: &Self) {
        if other.last_time > self.last_time {
            (self.last_time, self.logged_status, self.logged_bytes) =
                (other.last_time, other.logged_status, other.logged_bytes);
        }
        self.severity = self.severity.max(other.severity);
        self.answer = self.answer.min(other.answer);
        self.rules.extend(other.rules.iter().cloned());
        self.rules.sort_unstable();
        self.rules.dedup();
    }
}

/// The path of these hits, if it may be requested.
fn path_of(
    report_input: &ReportInput<'_>,
    item: &RowItem<'_>,
    origin: &Origin,
) -> Result<VerifiedPath, SkipReason> {
    let view = &item.view;
    if matches!(view.site, Site::Host(host) if !origin.is_host(host)) {
        return Err(SkipReason::OtherHost);
    }
    if view.method != MethodClass::Get {
        return Err(SkipReason::Method);
    }
    let of = |rules: &[RuleId]| {
        rules
            .iter()
            .map(|&rule| report_input.rules.rule(rule))
            .collect::<Vec<_>>()
    };
    if of(report_input.tally.rule_list(view.rules))
        .into_iter()
        .any(is_never_asked)
    {
        return Err(SkipReason::Class);
    }
    let target = sample(report_input, view.sample()).target.redacted();
    let normalized = LogText::new(report_input.tally.path(view.path)).redacted();
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let is_masked = path.contains("***");
    if !is_masked && !is_plain(path, &normalized) {
        return Err(SkipReason::Payload);
    }
    if changes_something(path) {
        return Err(SkipReason::Name);
    }
    let answer = if item.answered {
        Answer::Distinct
    } else {
        Answer::Uncertain
    };
    Ok(VerifiedPath {
        path: path.to_owned(),
        verdict: Verdict::NotRequested,
        severity: item.severity,
        rules: of(item.rules)
            .into_iter()
            .map(|rule| rule.id.clone())
            .collect(),
        answer: answer.as_str(),
        logged_status: view.status,
        logged_bytes: view.bytes,
        last_time: view.cell.times().map(|(_, last)| last),
        status: None,
        bytes: None,
        at_least: false,
        kind: None,
        location: None,
        other_host: None,
        control_statuses: Vec::new(),
        reason: is_masked.then(|| MASKED.to_owned()),
    })
}

/// Whether a path is never requested because a rule matches it. Some of these rules look at more
/// than the path, but a request that they match is an attack.
fn is_never_asked(rule: &Rule) -> bool {
    matches!(rule.class.as_str(), "webshell" | "rce" | "default-login")
        || rule.id.starts_with("login/")
        || Class::is_payload(&rule.class)
}

/// Parts of the names of installers, and of pages that end a session or a program.
const CHANGING: [&str; 9] = [
    "install", "setup", "logout", "logoff", "signout", "signoff", "shutdown", "reboot", "restart",
];

fn changes_something(path: &str) -> bool {
    let name: String = path
        .chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    CHANGING.iter().any(|part| name.contains(part))
}

/// Whether a path is written as a client writes the name of a file: of plain characters, with only
/// blanks and letters beyond ASCII encoded, once. `normalized` is the path as rules see it.
fn is_plain(path: &str, normalized: &str) -> bool {
    let is_plain_byte = |b: u8| b.is_ascii_alphanumeric() || b"-._~/@+,:=".contains(&b);
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => match (
                char::from(*high).to_digit(16),
                char::from(*low).to_digit(16),
            ) {
                (Some(high), Some(low)) => ((high * 16 + low) as u8, after),
                _ => return false,
            },
            (first, after) if is_plain_byte(first) => (first, after),
            _ => return false,
        };
        if first == b'%' && byte != b' ' && byte.is_ascii() {
            return false;
        }
        decoded.push(byte);
        rest = after;
    }
    let is_dots = |segment: &str| !segment.is_empty() && segment.bytes().all(|b| b == b'.');
    let is_name = path.starts_with('/')
        && path.bytes().any(|b| b != b'/')
        && path.len() <= MAX_PATH
        && !path.split('/').any(is_dots);
    // What decodes to more than this is a disguise.
    is_name && (decoded.len() == path.len() || *escape(&decoded) == *normalized)
}

/// What stands before and after the name in paths of one shape: `/.git/config` is `/.git/` and
/// nothing, `/a/.env.old` is `/a/.` and `.old`, and `/backup/` is `/` and `/`.
type Shape<'p> = (&'p str, &'p str);

fn shape(path: &str) -> Shape<'_> {
    let end = path.trim_end_matches('/').len();
    let folder = path[..end].rfind('/').map_or(0, |slash| slash + 1);
    let start = end - path[folder..end].trim_start_matches('.').len();
    let after = path[start..end].rfind('.').map_or(end, |dot| start + dot);
    (&path[..start], &path[after..])
}

/// A path of a shape that surely does not exist, one of two. Its name is made of the shape, so that
/// `--dry-run` prints what is sent.
fn control((before, after): Shape<'_>, number: u8) -> String {
    let name = xxh3_64(format!("{before}\n{after}\n{number}").as_bytes());
    format!("{before}{name:016x}{after}")
}

/// The number of requests that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RequestCounts {
    /// All of them.
    pub all: usize,
    /// Those for control paths.
    pub controls: usize,
}

/// Requests paths, at most `most` times in all, and judges the answers. Two control paths are
/// requested before the first path of each shape.
///
/// # Errors
///
/// Errors of `get`, which requests a path.
pub(crate) fn ask<E>(
    paths: &mut [VerifiedPath],
    origin: &Origin,
    most: usize,
    mut get: impl FnMut(&str) -> Result<Reply, E>,
) -> Result<RequestCounts, E> {
    let mut controls: HashMap<(String, String), [Reply; 2]> = HashMap::default();
    let mut counts = RequestCounts::default();
    for path in paths.iter_mut().filter(|path| path.reason.is_none()) {
        let (before, after) = shape(&path.path);
        let key = (before.to_owned(), after.to_owned());
        let has_controls = controls.contains_key(&key);
        let cost = if has_controls { 1 } else { 3 };
        if counts.all + cost > most {
            path.reason = Some(LIMIT.to_owned());
            continue;
        }
        counts.all += cost;
        counts.controls += cost - 1;
        if !has_controls {
            let replies = [
                shown(get(&control((before, after), 0))?),
                shown(get(&control((before, after), 1))?),
            ];
            controls.insert(key.clone(), replies);
        }
        let reply = shown(get(&path.path)?);
        let names = [control((before, after), 0), control((before, after), 1)];
        path.judge(&reply, &names, &controls[&key], origin);
    }
    Ok(counts)
}

/// A reply that shows something about the path: an answer that sends the client away, or of a proxy
/// that wants a login, is none.
fn shown(reply: Reply) -> Reply {
    reply.and_then(|answer| match answer.status {
        ..200 | 407 | 429 | 500.. => Err(format!("status {}", answer.status)),
        _ => Ok(answer),
    })
}

impl VerifiedPath {
    fn judge(
        &mut self,
        reply: &Reply,
        names: &[String; 2],
        controls: &[Reply; 2],
        origin: &Origin,
    ) {
        self.control_statuses = controls
            .iter()
            .flatten()
            .map(|control| control.status)
            .collect();
        let answer = match reply {
            Ok(answer) => answer,
            Err(reason) => {
                (self.verdict, self.reason) = (Verdict::NoAnswer, Some(reason.clone()));
                return;
            }
        };
        let (bytes, at_least) = answer.size();
        (self.status, self.bytes, self.at_least) = (Some(answer.status), Some(bytes), at_least);
        self.kind = (!answer.body.is_empty()).then(|| answer.kind());
        if answer.status >= 300 {
            self.verdict = if answer.status < 400 {
                Verdict::Redirected
            } else {
                Verdict::Refused
            };
            if let Some(location) = answer
                .location
                .as_deref()
                .filter(|_| self.verdict == Verdict::Redirected)
            {
                let redirect = Redirect::new(location, origin);
                self.reason = redirect.same_path(&self.path, origin);
                (self.location, self.other_host) = (Some(redirect.shown), redirect.other_host);
            }
            return;
        }
        let known: Vec<(&str, &HttpAnswer)> = names
            .iter()
            .zip(controls)
            .filter_map(|(name, reply)| Some((name.as_str(), reply.as_ref().ok()?)))
            .collect();
        let bar = match known[..] {
            [one, two] => likeness(one, two).clamp(LEAST_LIKENESS, USUAL_LIKENESS),
            _ => USUAL_LIKENESS,
        };
        let is_like = |control: &(&str, &HttpAnswer)| {
            // A page for all that does not exist may have any status.
            let is_comparable = control.1.kind() == answer.kind()
                && (control.1.status < 300 || answer.kind() == BodyKind::Html);
            is_comparable && likeness((&self.path, answer), *control) >= bar
        };
        self.verdict = match &known[..] {
            _ if answer.body.is_empty() => Verdict::Refused,
            known if known.iter().any(is_like) => Verdict::Soft404,
            [] if !answer.kind().is_leak() => {
                let reason = controls[0].as_ref().err().map_or("", String::as_str);
                self.reason = Some(format!("nothing to compare it with: {reason}"));
                Verdict::NoAnswer
            }
            _ => Verdict::StillGiven,
        };
    }
}

/// In per cent: two pages for names that do not exist differ in the name, a token and a time.
const USUAL_LIKENESS: usize = 90;
/// If the site's own pages for such names differ more than that, the bar is what they have in
/// common, and this at least: pages of one site share their frame.
const LEAST_LIKENESS: usize = 60;

/// How alike the bodies of two answers are, in per cent: twice the words that both have, of the
/// words of both. Words of the requested paths do not count, because many pages print them.
fn likeness(
    (path, answer): (&str, &HttpAnswer),
    (other_path, other): (&str, &HttpAnswer),
) -> usize {
    if answer.body == other.body {
        return 100;
    }
    let (ours, theirs) = (words(&answer.body, path), words(&other.body, other_path));
    let (mut common, mut at) = (0_usize, 0);
    for word in &ours {
        at += theirs[at..]
            .iter()
            .take_while(|other| *other < word)
            .count();
        if theirs.get(at) == Some(word) {
            (common, at) = (common + 1, at + 1);
        }
    }
    (common * 200)
        .checked_div(ours.len() + theirs.len())
        .unwrap_or(0)
}

/// The words of a body without those of a path, sorted.
fn words<'b>(body: &'b [u8], path: &str) -> Vec<&'b [u8]> {
    fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
        text.split(|b| b.is_ascii() && !b.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
    }
    let mut words: Vec<&[u8]> = split(body)
        .filter(|word| !split(path.as_bytes()).any(|part| part == *word))
        .collect();
    words.sort_unstable();
    words
}

/// The target of a redirect.
struct Redirect<'l> {
    /// Without its query, as outputs show it.
    shown: String,
    /// Its host, if that is another one, as outputs show it.
    other_host: Option<String>,
    /// Its scheme and host; empty where it has none.
    origin: &'l [u8],
    path: &'l [u8],
}

impl<'l> Redirect<'l> {
    fn new(location: &'l [u8], site: &Origin) -> Self {
        let target = location
            .split(|b| matches!(b, b'?' | b'#'))
            .next()
            .unwrap_or_default();
        let is_scheme = |at: &usize| target[..*at].iter().all(u8::is_ascii_alphanumeric);
        let scheme = memchr::memmem::find(target, b"://")
            .filter(is_scheme)
            .map(|at| at + 3);
        // Browsers read a backslash as a slash.
        let authority =
            scheme.or_else(|| matches!(target, [b'/' | b'\\', b'/' | b'\\', ..]).then_some(2));
        let end = authority.map(|start| {
            let slash = target[start..]
                .iter()
                .position(|b| matches!(b, b'/' | b'\\'));
            (start, slash.map_or(target.len(), |slash| start + slash))
        });
        let host = end.map(|(start, end)| {
            let host = &target[start..end];
            host.iter()
                .rposition(|&b| b == b'@')
                .map_or(host, |at| &host[at + 1..])
                .to_ascii_lowercase()
        });
        let (origin, path) = target.split_at(end.map_or(0, |(_, end)| end));
        Self {
            shown: LogText::new(&target[..target.len().min(MAX_LOCATION)])
                .redacted()
                .into_owned(),
            other_host: host
                .filter(|host| !site.is_host(host))
                .map(|host| escape(&host[..host.len().min(MAX_LOCATION)]).into_owned()),
            origin,
            path,
        }
    }

    /// Why a redirect to the same path, on another host or with another scheme or with a slash at
    /// the end, shows nothing.
    fn same_path(&self, path: &str, site: &Origin) -> Option<String> {
        if self.path.strip_suffix(b"/").unwrap_or(self.path)
            != path.strip_suffix('/').unwrap_or(path).as_bytes()
        {
            return None;
        }
        let elsewhere = std::str::from_utf8(self.origin)
            .ok()
            .and_then(|origin| origin.parse::<Origin>().ok())
            .filter(|other| other != site);
        Some(elsewhere.map_or_else(
            || "the same path again".to_owned(),
            |other| format!("the same path elsewhere: --site {}", other.url),
        ))
    }
}

/// A result of `verify`, as it is saved and printed.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(title = "probewatch verified")]
pub(crate) struct Verification {
    /// Version of this document. It rises when a key is added, renamed or removed.
    pub schema_version: u32,
    /// Program and version that wrote the document.
    pub generated_by: &'static str,
    /// Site that was asked: scheme, host and port.
    pub site: String,
    /// Time of the first request, RFC 3339 in UTC.
    pub time: String,
    /// Requests that were sent, those for control paths included.
    pub requests: usize,
    /// Requests for control paths, which do not exist.
    pub controls: usize,
    /// Paths by verdict.
    pub totals: VerdictCounts,
    /// Paths of the report, the worst verdict first.
    pub paths: Vec<VerifiedPath>,
    /// Paths with a distinct or an uncertain answer in the report that are never requested, by
    /// reason.
    pub skipped: Vec<SkippedPaths>,
}

/// Numbers of paths by [`Verdict`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "VerdictCountsObject")]
pub(crate) struct VerdictCounts {
    /// Paths that the site still gives.
    pub still_given: u64,
    /// Paths that get what the site gives to paths that do not exist.
    pub soft_404: u64,
    /// Paths that are refused, or get no content.
    pub refused: u64,
    /// Paths that are redirected.
    pub redirected: u64,
    /// Paths without an answer that shows something.
    pub no_answer: u64,
    /// Paths that could not be requested: their secret is masked, or the limit was reached.
    pub not_requested: u64,
}

impl VerdictCounts {
    /// Counts the paths.
    pub(crate) fn new(paths: &[VerifiedPath]) -> Self {
        let [
            still_given,
            soft_404,
            refused,
            redirected,
            no_answer,
            not_requested,
        ] = Verdict::ALL
            .map(|verdict| paths.iter().filter(|path| path.verdict == verdict).count() as u64);
        Self {
            still_given,
            soft_404,
            refused,
            redirected,
            no_answer,
            not_requested,
        }
    }

    /// The counts in words, those of nothing left out.
    pub(crate) fn sentence(&self) -> String {
        let parts = [
            (self.still_given, "still given"),
            (self.soft_404, "answered like any path"),
            (self.refused, "refused"),
            (self.redirected, "redirected"),
            (self.no_answer, "without an answer"),
            (self.not_requested, "not requested"),
        ];
        let mut text = String::new();
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a `String` does not fail.
            let _ = write!(text, "{separator}{} {what}", grouped(count));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn origin() -> Origin {
        "https://Example.com:8443/".parse().unwrap()
    }

    fn path(path: &str) -> VerifiedPath {
        VerifiedPath {
            path: path.to_owned(),
            verdict: Verdict::NotRequested,
            severity: Severity::High,
            rules: vec!["dotfiles/env".to_owned()],
            answer: Answer::Distinct.as_str(),
            logged_status: Some(200),
            logged_bytes: Some(412),
            last_time: None,
            status: None,
            bytes: None,
            at_least: false,
            kind: None,
            location: None,
            other_host: None,
            control_statuses: Vec::new(),
            reason: None,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "a site gives replies")]
    fn answer(status: u16, body: &str) -> Reply {
        Ok(HttpAnswer {
            status,
            location: None,
            body: body.as_bytes().to_vec(),
            length: None,
            is_encoded: false,
            is_cut: false,
        })
    }

    /// Asks for these paths of a site that gives `site` for each path. Returns the requests too.
    fn asked(
        paths: &[&str],
        most: usize,
        site: impl Fn(&str) -> Reply,
    ) -> (Vec<VerifiedPath>, Vec<String>) {
        let mut paths: Vec<_> = paths.iter().map(|text| path(text)).collect();
        let mut requests = Vec::new();
        let get = |path: &str| {
            requests.push(path.to_owned());
            Ok::<_, Infallible>(site(path))
        };
        let counts = ask(&mut paths, &origin(), most, get).unwrap();
        assert_eq!(
            (counts.all, counts.controls),
            (
                requests.len(),
                requests
                    .iter()
                    .filter(|r| !paths.iter().any(|p| p.path == **r))
                    .count()
            )
        );
        (paths, requests)
    }

    fn verdict(site: impl Fn(&str) -> Reply) -> (Verdict, Option<String>) {
        let (mut paths, _) = asked(&["/a/.env.old"], 3, site);
        let path = paths.remove(0);
        (path.verdict, path.reason)
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert_eq!(
            (origin().url(), &*origin().host),
            ("https://example.com:8443", "example.com")
        );
        for (url, host) in [
            ("http://a.example", "a.example"),
            ("http://[::1]:80", "[::1]"),
            ("http://[2001:db8::1]/", "[2001:db8::1]"),
        ] {
            assert_eq!(url.parse::<Origin>().unwrap().host, host);
        }
        for wrong in [
            "",
            "example.com",
            "ftp://example.com",
            "https://",
            "https://a.example/x",
            "https://a.example?x",
            "https://a.example#x",
            "https://user@a.example",
            "https://a.example:",
            "https://a.example:+80",
            "https://a.example:65536",
            "https://a.example:8o",
            "https://a b",
            "https://ä.example",
            "https://a.example\\@b.example",
            "https://a.example\r\nX: y",
            "https://[::1",
            "https://[x]",
            "https://{a,b}.example",
            "-oout https://a.example",
        ] {
            let error = wrong.parse::<Origin>().unwrap_err();
            assert!(error.contains("type scheme and host"), "{wrong}: {error}");
        }
        for (logged, is_host) in [
            ("example.com", true),
            ("example.com:443", true),
            ("www.example.com", false),
            ("example.com.evil", false),
            ("example.com:x", false),
        ] {
            assert_eq!(origin().is_host(logged.as_bytes()), is_host, "{logged}");
        }
    }

    #[test]
    fn only_plain_paths_are_requested() {
        for plain in [
            "/.env",
            "/.git/config",
            "/a/b~",
            "/backup/",
            "//.env",
            "/a@b,c+d:e=f",
            "/wp-config.php.bak",
        ] {
            assert!(is_plain(plain, plain), "{plain}");
        }
        for (path, normalized) in [
            ("/my%20backup.zip", "/my backup.zip"),
            ("/gr%C3%B6%c3%9fe.sql", "/größe.sql"),
        ] {
            assert!(is_plain(path, normalized), "{path}");
        }
        let long = format!("/{}", "a".repeat(MAX_PATH));
        for path in [
            "",
            "/",
            "//",
            "*",
            "a",
            "http://a/.env",
            "/a/../b",
            "/..",
            "/.",
            "/.../x",
            "/a;b",
            "/a'b",
            "/a\"b",
            "/a<b",
            "/a{b",
            "/a(b)",
            "/a$b",
            "/a|b",
            "/a`b",
            "/a\\b",
            "/a b",
            "/%2eenv",
            "/%252eenv",
            "/a%2fb",
            "/a%00",
            "/a%0d%0ab",
            "/a%",
            "/a%2",
            "/a%zz",
            "/a%+1",
            "/ä",
            "/a%c0%ae",
            "/a&b",
            &long,
        ] {
            assert!(!is_plain(path, path), "{path}");
        }
        assert!(!is_plain("/%ef%bc%8fx", "/x"), "a full-width slash");
    }

    #[test]
    fn what_changes_a_site_is_not_requested() {
        for path in [
            "/install.php",
            "/wp-admin/setup-config.php",
            "/user/Log-Out",
            "/sign_off.do",
            "/actuator/shutdown",
            "/a/reboot/",
        ] {
            assert!(changes_something(path), "{path}");
        }
        for path in [
            "/.env",
            "/login.bak",
            "/.git/logs/HEAD",
            "/inst/all.sql",
            "/out.log",
        ] {
            assert!(!changes_something(path), "{path}");
        }
    }

    #[test]
    fn a_control_has_the_shape_of_its_path() {
        for (path, expected) in [
            ("/.env", ("/.", "")),
            ("/a/.env.old", ("/a/.", ".old")),
            ("/.git/config", ("/.git/", "")),
            ("/backup/", ("/", "/")),
            ("/a.b/c.tar.gz", ("/a.b/", ".gz")),
            ("//x", ("//", "")),
            ("/..a", ("/..", "")),
        ] {
            assert_eq!(shape(path), expected, "{path}");
        }
        let names = [control(("/.", ".old"), 0), control(("/.", ".old"), 1)];
        assert!(
            names[0] != names[1]
                && names
                    .iter()
                    .all(|name| shape(name) == ("/.", ".old") && is_plain(name, name)),
            "{names:?}"
        );
    }

    #[test]
    fn controls_are_shared_by_shape_and_count() {
        let all = ["/a.sql", "/.env", "/b.sql", "/c/d.sql"];
        let (_, requests) = asked(&all, 200, |_| answer(404, ""));
        let controls = |at: &[usize]| {
            at.iter()
                .map(|at| shape(&requests[*at]))
                .collect::<Vec<_>>()
        };
        assert_eq!(controls(&[0, 1, 2]), [("/", ".sql"); 3]);
        assert_eq!(
            (requests.len(), &*requests[2], &*requests[5], &*requests[6]),
            (10, "/a.sql", "/.env", "/b.sql")
        );
        // The second needs three requests, the third one.
        let (paths, requests) = asked(&all, 5, |_| answer(404, ""));
        assert_eq!(requests.len(), 4);
        let limited = |path: &VerifiedPath| {
            path.verdict == Verdict::NotRequested && path.reason.as_deref() == Some(LIMIT)
        };
        assert_eq!(
            paths.iter().map(limited).collect::<Vec<_>>(),
            [false, true, false, true]
        );
    }

    #[test]
    fn a_status_has_a_verdict() {
        let page = "<html><title>Not here</title>";
        for (status, expected) in [
            (200, Verdict::StillGiven),
            (206, Verdict::StillGiven),
            (301, Verdict::Redirected),
            (304, Verdict::Redirected),
            (400, Verdict::Refused),
            (401, Verdict::Refused),
            (404, Verdict::Refused),
            (451, Verdict::Refused),
            (429, Verdict::NoAnswer),
            (500, Verdict::NoAnswer),
            (503, Verdict::NoAnswer),
            (999, Verdict::NoAnswer),
            (0, Verdict::NoAnswer),
        ] {
            let site = |path: &str| {
                if path == "/a/.env.old" {
                    answer(status, "APP_KEY=x\n")
                } else {
                    answer(404, page)
                }
            };
            assert_eq!(verdict(site).0, expected, "{status}");
        }
        let empty = |path: &str| {
            if path == "/a/.env.old" {
                answer(200, "")
            } else {
                answer(404, page)
            }
        };
        assert_eq!(verdict(empty).0, Verdict::Refused);
    }

    #[test]
    fn the_answer_to_anything_is_recognized() {
        let frame = "<html><body>home news about contact imprint products cart account search help terms privacy languages careers press blog";
        let words = |path: &str| {
            path.bytes()
                .map(u64::from)
                .fold(7, |sum, b| sum * 31 % 1_000_003 + b)
        };
        // With the name of the path, a token, and both.
        for site in [
            &(|_: &str| answer(200, frame)) as &dyn Fn(&str) -> Reply,
            &|path| answer(200, &format!("{frame} {path} was not found")),
            &|path| answer(200, &format!("{frame} token {}", words(path))),
            &|path| answer(200, &format!("{frame} {path} {}", words(path))),
            // A page of the same content with the status 404.
            &|path| {
                answer(
                    if path == "/a/.env.old" { 200 } else { 404 },
                    &format!("{frame} {path}"),
                )
            },
            &|path| {
                answer(
                    200,
                    &format!("{{\"error\":\"no such thing\",\"path\":\"{path}\"}}"),
                )
            },
            &|_| answer(200, "APP_KEY=x\nAPP_ENV=trap\n"),
        ] {
            assert_eq!(verdict(site), (Verdict::Soft404, None));
        }
        // A real page of the same site, a leak beside a soft 404, and a short text beside another.
        for (body, other) in [
            (
                format!(
                    "{frame} phpinfo PHP Version 8.2.7 System Linux web1 Build Date Server API FPM Virtual Directory disabled Loaded Modules"
                ),
                frame,
            ),
            ("[core]\n\tbare = false\n".to_owned(), frame),
            ("DB=1".to_owned(), "not found"),
            ("APP_KEY=x\n".to_owned(), "APP_ENV=trap\nA=1\n"),
        ] {
            let site = |path: &str| answer(200, if path == "/a/.env.old" { &body } else { other });
            assert_eq!(verdict(site), (Verdict::StillGiven, None), "{body}");
        }
    }

    /// A site whose pages for names that do not exist differ much: the bar is what they have in
    /// common.
    #[test]
    fn pages_that_differ_lower_the_bar_to_a_limit() {
        let number = |path: &str, salt: u64| xxh3_64(format!("{path}{salt}").as_bytes());
        let page = |path: &str, noise: u64| {
            let frame = (0..40)
                .map(|n| format!(" frame{n}"))
                .collect::<Vec<_>>()
                .concat();
            format!(
                "<html>{frame}{}",
                (0..noise)
                    .map(|n| format!(" w{}", number(path, n)))
                    .collect::<Vec<_>>()
                    .concat()
            )
        };
        assert_eq!(
            verdict(|path| answer(200, &page(path, 15))).0,
            Verdict::Soft404
        );
        assert_eq!(
            verdict(|path| answer(200, &page(path, 400))).0,
            Verdict::StillGiven,
            "it may be a page of its own"
        );
    }

    #[test]
    fn nothing_is_judged_without_an_answer() {
        let none = || Err("no connection".to_owned());
        assert_eq!(
            verdict(|_| none()),
            (Verdict::NoAnswer, Some("no connection".to_owned()))
        );
        assert_eq!(
            verdict(|_| answer(503, "busy")),
            (Verdict::NoAnswer, Some("status 503".to_owned()))
        );
        let without_controls = |body: &'static str| {
            verdict(move |path| {
                if path == "/a/.env.old" {
                    answer(200, body)
                } else {
                    answer(429, "")
                }
            })
        };
        assert_eq!(
            without_controls("<html>"),
            (
                Verdict::NoAnswer,
                Some("nothing to compare it with: status 429".to_owned())
            )
        );
        assert_eq!(
            without_controls("APP_KEY=x\n").0,
            Verdict::StillGiven,
            "whatever the site gives to anything"
        );
        let one = |path: &str| match path {
            "/a/.env.old" => answer(200, "<html>x"),
            path if path == control(("/a/.", ".old"), 0) => none(),
            _ => answer(404, "<html>gone"),
        };
        assert_eq!(verdict(one).0, Verdict::StillGiven);
    }

    #[test]
    fn a_body_is_known_by_its_first_bytes() {
        let mut tar = vec![b'a'; 600];
        tar[USTAR_AT..USTAR_AT + USTAR.len()].copy_from_slice(USTAR);
        assert_eq!(BodyKind::of(&tar), BodyKind::Archive);
        for (body, kind) in [
            (
                &b"[core]\n\trepositoryformatversion = 0\n"[..],
                BodyKind::GitConfig,
            ),
            (b"\n[core]", BodyKind::GitConfig),
            (b"ref: refs/heads/main\n", BodyKind::GitHead),
            (
                b"APP_NAME=Shop\nAPP_KEY=base64:x\n\n# c\nDB_HOST=",
                BodyKind::Dotenv,
            ),
            (b"# settings\n\nexport DB_PASSWORD='x'", BodyKind::Dotenv),
            (b"\xef\xbb\xbfKEY=1", BodyKind::Dotenv),
            (b"-- MySQL dump 10.13\n--\n", BodyKind::SqlDump),
            (b"--\n-- PostgreSQL database dump\n--\n", BodyKind::SqlDump),
            (b"/*!40101 SET NAMES utf8 */;\n", BodyKind::SqlDump),
            (b"create table users (id int);", BodyKind::SqlDump),
            (
                b"-- by hand\nINSERT INTO users VALUES (1);",
                BodyKind::SqlDump,
            ),
            (
                b"-----BEGIN OPENSSH PRIVATE KEY-----\n",
                BodyKind::PrivateKey,
            ),
            (b"PK\x03\x04\x14\0", BodyKind::Archive),
            (b"\x1f\x8b\x08", BodyKind::Archive),
            (b"  <!DOCTYPE html>", BodyKind::Html),
            (b"<HTML lang=en>", BodyKind::Html),
            (b"", BodyKind::Other),
            (b"{\"a\": 1}", BodyKind::Other),
            (b"-----BEGIN CERTIFICATE-----\n", BodyKind::Other),
            (b"-- \nnothing", BodyKind::Other),
            (b"User-agent: *\nDisallow: /\n", BodyKind::Other),
            (b"id=1&x=2", BodyKind::Other),
            (b"KEY=1\nsome text\n", BodyKind::Other),
        ] {
            assert_eq!(
                BodyKind::of(body),
                kind,
                "{}",
                String::from_utf8_lossy(body)
            );
        }
    }

    #[test]
    fn another_host_of_a_redirect_is_named() {
        for (location, shown, other) in [
            ("/new?token=abc", "/new", None),
            ("https://example.com/new#x", "https://example.com/new", None),
            (
                "https://EXAMPLE.com:8443/new",
                "https://EXAMPLE.com:8443/new",
                None,
            ),
            (
                "https://www.example.com/",
                "https://www.example.com/",
                Some("www.example.com"),
            ),
            ("//evil.example/x", "//evil.example/x", Some("evil.example")),
            (
                "/\\evil.example/x",
                "/\\evil.example/x",
                Some("evil.example"),
            ),
            (
                "https://example.com@evil.example/",
                "https://example.com@evil.example/",
                Some("evil.example"),
            ),
            (
                "https://example.com.evil.example\\x",
                "https://example.com.evil.example\\x",
                Some("example.com.evil.example"),
            ),
            (
                "/go/https://evil.example/",
                "/go/https://evil.example/",
                None,
            ),
            (
                "http://a\u{1b}[2Jb/\u{202e}",
                "http://a\\x1b[2Jb/\\u{202e}",
                Some("a\\x1b[2jb"),
            ),
        ] {
            let found = Redirect::new(location.as_bytes(), &origin());
            assert_eq!(
                (&*found.shown, found.other_host.as_deref()),
                (shown, other),
                "{location}"
            );
        }
        assert_eq!(
            Redirect::new("/x".repeat(9_000).as_bytes(), &origin())
                .shown
                .len(),
            MAX_LOCATION
        );
    }

    #[test]
    fn a_redirect_to_the_same_path_shows_nothing() {
        for (location, reason) in [
            (
                "https://www.example.com/a/.env.old?x",
                Some("the same path elsewhere: --site https://www.example.com"),
            ),
            (
                "http://example.com/a/.env.old",
                Some("the same path elsewhere: --site http://example.com"),
            ),
            (
                "https://example.com:8443/a/.env.old",
                Some("the same path again"),
            ),
            ("//www.example.com/a/.env.old", Some("the same path again")),
            ("/a/.env.old/", Some("the same path again")),
            ("/a/.env.ol", None),
            ("/", None),
            ("", None),
        ] {
            let site = |path: &str| {
                let status = if path == "/a/.env.old" { 301 } else { 404 };
                answer(status, "").map(|answer| HttpAnswer {
                    location: Some(location.into()),
                    ..answer
                })
            };
            assert_eq!(
                verdict(site),
                (Verdict::Redirected, reason.map(str::to_owned)),
                "{location}"
            );
        }
    }

    proptest! {
        /// Whatever a log has in the place of a path, a URL that is made of it names the host of
        /// the site and nothing else.
        #[test]
        fn a_plain_path_stays_a_path(path in "(/|%[0-9a-fA-F]{2}|[ -~]|\\.\\.|[a-z]|é|@|:){0,20}", normalized in "(/|[a-z.]){0,9}") {
            if is_plain(&path, &normalized) {
                prop_assert!(path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic()));
                let is_special = path.bytes().any(|b| br"?#\{[&;".contains(&b));
                prop_assert!(!is_special, "{}", path);
                prop_assert!(path.split('/').all(|segment| segment != "." && segment != ".."));
                let (before, after) = shape(&path);
                prop_assert!(path.starts_with(before) && path.ends_with(after) && before.len() + after.len() <= path.len());
                let name = control((before, after), 0);
                prop_assert_eq!(shape(&name), (before, after));
            }
        }

        /// Any body has a kind, and is like itself.
        #[test]
        fn any_body_has_a_kind(body: Vec<u8>, text in "([A-Z]+=|--|/\\*|\n|<|\\[core\\]| ){0,9}") {
            let body = [text.as_bytes(), &body].concat();
            BodyKind::of(&body);
            let answer = HttpAnswer { status: 200, location: None, body, length: None, is_encoded: false, is_cut: false };
            prop_assert_eq!(likeness(("/x", &answer), ("/x", &answer)), 100);
            Redirect::new(&answer.body, &origin());
        }

        #[test]
        fn likeness_is_symmetric_and_at_most_100(one in "[ab c]{0,30}", other in "[ab c]{0,30}") {
            let [one, other] = [one, other].map(|body| HttpAnswer {
                status: 200, location: None, body: body.into_bytes(), length: None, is_encoded: false, is_cut: false,
            });
            let alike = likeness(("/c", &one), ("/c", &other));
            prop_assert!(alike <= 100);
            prop_assert_eq!(alike, likeness(("/c", &other), ("/c", &one)));
        }
    }
}
