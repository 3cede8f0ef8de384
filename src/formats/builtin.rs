//! The formats that are known in a run: the built-in ones, which are data, and those that the user gave.
//!
//! Says which formats there are and in which detection_order a line is tried; takes no line apart itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::{FieldKind, FormatError, FormatLineParser, Frame, JsonLineParser, LogFormat};
use crate::client::ClientIpSource;

/// The place of a format in its list; the first three are [`LogFormat::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatId(pub u8);

/// What is read of JSON lines whatever product wrote them.
pub const JSON: FormatId = FormatId(3);
/// W3C extended logs.
pub const W3C: FormatId = FormatId(4);

/// A format that is known.
#[derive(Debug, Clone)]
pub struct FormatDefinition {
    /// What people type: `aws_alb`.
    pub name: Arc<str>,
    /// What it is.
    pub title: String,
    /// Where that is written down.
    pub source: Option<String>,
    /// The string that defines it, where one does.
    pub string: Option<String>,
    /// A line of it, with lines of the log's own before it where it has some.
    pub example: Option<String>,
    /// A text that lines of others do not have, where it is one of several of a kind.
    pub(super) sign: Option<String>,
    /// How its lines are read.
    pub(super) reader: FormatReader,
    /// Its lines can be read as the Common Log FormatDefinition or a child of it.
    pub is_clf: bool,
}

/// How lines of a format are read.
#[derive(Debug, Clone)]
pub(super) enum FormatReader {
    /// By the engine itself.
    Clf,
    /// By a format string, or by one of several.
    Strings(Vec<FormatLineParser>),
    /// As JSON, by the kind of its keys.
    Json,
    /// By the columns that the log names.
    W3c,
}

/// What the user said of the formats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatChoice {
    /// A name, or a format string of nginx or Apache; `None` finds out.
    pub requested: Option<String>,
    /// What keys of JSON lines mean.
    pub fields: Vec<(FieldKind, String)>,
}

impl FormatChoice {
    /// The format of the engine's own that was requested for, where it is one: then there is no other.
    #[must_use]
    pub fn as_clf(&self) -> Option<LogFormat> {
        self.requested.as_deref()?.parse().ok()
    }
}

/// All formats that are known in a run.
#[derive(Debug, Clone)]
pub struct Formats {
    all: Vec<FormatDefinition>,
    json: JsonLineParser,
    /// What is tried first.
    requested: Vec<FormatId>,
    /// What is tried first in a log, by its path.
    logs: Vec<(PathBuf, Vec<FormatId>)>,
    /// Whether a file is the log at a path, or was rotated from there.
    is_log_or_rotated: fn(&Path, &Path) -> bool,
    /// What is tried of all plans, in this detection_order.
    detection_order: Vec<FormatId>,
    /// Who requested, where a proxy stands in front of the server.
    origin: Option<ClientIpSource>,
    /// Formats that the engine would read as well, and miss the field in which a proxy wrote who requested.
    proxied: Vec<FormatId>,
}

const BUILTIN: &str = include_str!("builtin.toml");

/// Why a format cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum UnknownFormat {
    /// No format has this name, and no format string looks like that.
    #[error("no log format is called '{requested}'; there are {names}, or give the string of an nginx log_format or an Apache LogFormat")]
    Name {
        /// What was requested for.
        requested: String,
        /// What there is.
        names: String,
    },
    /// A string that defines none.
    #[error(transparent)]
    String(#[from] FormatError),
    /// More than there are numbers for.
    #[error("more than 255 log formats")]
    TooMany,
    /// The built-in ones are not what they should be.
    #[error("the built-in formats: {0}")]
    Builtin(String),
}

/// The file of built-in formats.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltinFile {
    format: Vec<BuiltinEntry>,
}

/// A format of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltinEntry {
    name: String,
    title: String,
    source: Option<String>,
    kind: Option<BuiltinKind>,
    string: Option<String>,
    /// Other strings that its lines may have.
    #[serde(default)]
    also: Vec<String>,
    example: Option<String>,
    sign: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BuiltinKind {
    Clf,
    Json,
    W3c,
}

impl Formats {
    /// The built-in ones.
    ///
    /// # Errors
    ///
    /// None, as a test holds the built-in file to it.
    pub fn builtin() -> Result<Self, UnknownFormat> {
        Self::new(&FormatChoice::default())
    }

    /// The built-in ones, and what the user said.
    ///
    /// # Errors
    ///
    /// A name that no format has, or a string that is none.
    pub fn new(choice: &FormatChoice) -> Result<Self, UnknownFormat> {
        let builtin: BuiltinFile = toml::from_str(BUILTIN).map_err(|error| UnknownFormat::Builtin(error.to_string()))?;
        let all = builtin.format.into_iter().map(FormatDefinition::from_entry).collect::<Result<Vec<_>, _>>()?;
        let json = if choice.fields.is_empty() { JsonLineParser::by_meaning() } else { JsonLineParser::with_fields(&choice.fields) };
        let mut formats = Self {
            all,
            json,
            requested: Vec::new(),
            logs: Vec::new(),
            is_log_or_rotated: |log, file| log == file,
            detection_order: Vec::new(),
            origin: None,
            proxied: Vec::new(),
        };
        formats.detection_order = formats.ids().filter(|id| formats.is_tried(*id)).collect();
        formats.requested = match choice.requested.as_deref() {
            None | Some("auto") => None,
            Some(_) if choice.as_clf().is_some() => None,
            // What the engine reads is read by it.
            Some(requested) => {
                Some(formats.named_or_written(requested)?).filter(|id| !matches!(formats.format(*id).reader, FormatReader::Clf))
            }
        }
        .into_iter()
        .collect();
        Ok(formats)
    }

    /// The same, with what servers' configurations say of their logs, which is tried first there; `is_log_or_rotated` says whether a file
    /// is a log, or was rotated from it. A plan of `None` is one that the engine reads.
    ///
    /// # Errors
    ///
    /// More formats than there are numbers for.
    pub fn with_logs(
        mut self,
        logs: impl IntoIterator<Item = (PathBuf, String, Option<FormatLineParser>)>,
        is_log_or_rotated: fn(&Path, &Path) -> bool,
    ) -> Result<Self, UnknownFormat> {
        self.is_log_or_rotated = is_log_or_rotated;
        for (path, string, plan) in logs {
            let Some(plan) = plan else { continue };
            let id = self.add("configured", string, plan)?;
            if matches!(self.format(id).reader, FormatReader::Clf) {
                continue;
            }
            match self.logs.iter_mut().find(|(log, _)| *log == path) {
                Some((_, formats)) => formats.push(id),
                None => self.logs.push((path, vec![id])),
            }
        }
        Ok(self)
    }

    /// The format of this name, or the one that this string defines.
    fn named_or_written(&mut self, requested: &str) -> Result<FormatId, UnknownFormat> {
        match self.get(requested) {
            Some(id) => Ok(id),
            None if requested.contains(['$', '%']) => {
                let plan = FormatLineParser::parse(requested)?;
                self.add("custom", requested.to_owned(), plan)
            }
            None => Err(UnknownFormat::Name { requested: requested.to_owned(), names: self.names() }),
        }
    }

    /// Adds a format, unless its string is known.
    fn add(&mut self, name: &str, string: String, plan: FormatLineParser) -> Result<FormatId, UnknownFormat> {
        if let Some(known) = self.ids().find(|id| self.format(*id).string.as_ref() == Some(&string)) {
            return Ok(known);
        }
        let number = u8::try_from(self.all.len()).map_err(|_| UnknownFormat::TooMany)?;
        let title = "As it was given".to_owned();
        let reader = FormatReader::Strings(vec![plan]);
        self.all.push(FormatDefinition {
            name: name.into(),
            title,
            source: None,
            string: Some(string),
            example: None,
            sign: None,
            reader,
            is_clf: false,
        });
        Ok(FormatId(number))
    }

    /// Has the client read from where a proxy wrote it, by all formats that have the field.
    #[must_use]
    pub fn with_client_ip_source(mut self, origin: ClientIpSource) -> Self {
        let header = FieldKind::Header(origin.field().to_owned());
        for format in &mut self.all {
            if let FormatReader::Strings(plans) = &mut format.reader {
                *plans = std::mem::take(plans).into_iter().map(|plan| plan.with_forwarded(&header)).collect();
            }
        }
        self.json = self.json.with_forwarded(&header);
        let has_field = |format: &FormatDefinition| matches!(&format.reader, FormatReader::Strings(plans) if plans.iter().any(FormatLineParser::has_forwarded));
        self.proxied = self.ids().filter(|id| self.format(*id).is_clf && has_field(self.format(*id))).collect();
        self.origin = Some(origin);
        self
    }

    /// Who requested, where a proxy stands in front of the server.
    #[must_use]
    pub fn client_ip_source(&self) -> Option<&ClientIpSource> {
        self.origin.as_ref()
    }

    /// Formats that are tried before the engine's own, for the field in which a proxy wrote who requested.
    pub(super) fn proxied(&self) -> &[FormatId] {
        &self.proxied
    }

    /// Whether a line is tried as this format: the engine reads all that is CLF, and does so at once.
    fn is_tried(&self, id: FormatId) -> bool {
        let format = self.format(id);
        matches!(format.reader, FormatReader::Strings(_)) && !format.is_clf
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = FormatId> + use<> {
        (0..self.all.len()).map(|n| FormatId(n as u8))
    }

    /// All formats.
    pub fn all(&self) -> impl Iterator<Item = &FormatDefinition> {
        self.all.iter()
    }

    /// A format by its place.
    #[must_use]
    pub fn format(&self, id: FormatId) -> &FormatDefinition {
        &self.all[usize::from(id.0).min(self.all.len() - 1)]
    }

    /// The name of a format.
    #[must_use]
    pub fn name(&self, id: FormatId) -> &Arc<str> {
        &self.format(id).name
    }

    /// The format of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<FormatId> {
        self.ids().find(|id| &**self.name(*id) == name)
    }

    /// All names, for a message.
    #[must_use]
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.all.iter().map(|format| &*format.name).collect();
        names.join(", ")
    }

    /// What is tried first in the log at a path.
    #[must_use]
    pub fn preferred_for(&self, path: &Path) -> &[FormatId] {
        let named = self.logs.iter().find(|(log, _)| (self.is_log_or_rotated)(log, path));
        named.map_or(&self.requested, |(_, formats)| formats)
    }

    /// What was requested for, for every log.
    #[must_use]
    pub fn requested(&self) -> &[FormatId] {
        &self.requested
    }

    pub(super) fn json(&self) -> &JsonLineParser {
        &self.json
    }

    pub(super) fn detection_order(&self) -> &[FormatId] {
        &self.detection_order
    }
}

impl FormatDefinition {
    fn from_entry(entry: BuiltinEntry) -> Result<Self, UnknownFormat> {
        let BuiltinEntry { name, title, source, kind, string, also, example, sign } = entry;
        let reader = match kind {
            Some(BuiltinKind::Clf) => FormatReader::Clf,
            Some(BuiltinKind::Json) => FormatReader::Json,
            Some(BuiltinKind::W3c) => FormatReader::W3c,
            None => {
                FormatReader::Strings(string.iter().chain(&also).map(|string| FormatLineParser::parse(string)).collect::<Result<_, _>>()?)
            }
        };
        let is_clf = example.as_deref().is_some_and(|line| Frame::locate(line.as_bytes(), None).is_some());
        Ok(Self { name: name.into(), title, source, string, example, sign, reader, is_clf })
    }

    /// The plans that take its lines apart, for people: those of a format of the engine's own are made when they are requested for.
    pub(super) fn plans(&self) -> Vec<FormatLineParser> {
        match &self.reader {
            FormatReader::Strings(plans) => plans.clone(),
            _ => self.string.iter().filter_map(|string| FormatLineParser::parse(string).ok()).collect(),
        }
    }

    /// The format of the Common Log FormatDefinition's family that it is, where it is one.
    #[must_use]
    pub fn as_clf(&self) -> Option<LogFormat> {
        LogFormat::ALL.into_iter().find(|format| format.as_str() == &*self.name)
    }
}
