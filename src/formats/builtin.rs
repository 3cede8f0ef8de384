//! The known formats: the built-in ones, which are data, and those given by the user.
//!
//! Defines the formats and the order in which they are tried. Lines are parsed elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::{FieldKind, FormatError, FormatLineParser, Frame, JsonLineParser, LogFormat};
use crate::log::client::ClientIpSource;

/// The index of a format; the first three are [`LogFormat::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatId(pub u8);

/// JSON lines of any product.
pub const JSON: FormatId = FormatId(3);
/// W3C extended logs.
pub(crate) const W3C: FormatId = FormatId(4);

/// Layouts that are discovered.
pub(crate) const DISCOVERED: FormatId = FormatId(5);

/// A known format.
#[derive(Debug, Clone)]
pub struct FormatDefinition {
    /// The name, as in `aws_alb`.
    pub name: Arc<str>,
    /// A short description.
    pub title: String,
    /// Where the format is documented.
    pub source: Option<String>,
    /// The format string, if it has one.
    pub string: Option<String>,
    /// An example line, after header lines if the format has them.
    pub example: Option<String>,
    /// A text that only occurs in lines of this JSON format.
    pub(super) marker: Option<String>,
    /// How lines are parsed.
    pub(super) reader: FormatReader,
    /// Its lines can be read as the Common Log Format or one of its extensions.
    pub is_clf: bool,
}

/// How lines of a format are parsed.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FormatReader {
    /// By the engine.
    Clf,
    /// By one or several format strings.
    #[serde(skip)]
    Strings(Vec<FormatLineParser>),
    /// As JSON, by the names of its keys.
    Json,
    /// By the columns that the log declares.
    W3c,
    /// By layouts that are discovered in a log.
    Discovered,
}

/// The log format options of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatChoice {
    /// A name, or a format string of nginx or Apache; `None` to detect the format.
    pub requested: Option<String>,
    /// The meaning of JSON keys.
    pub fields: Vec<(FieldKind, String)>,
}

impl FormatChoice {
    /// The requested format, if the engine parses it itself. No other format is tried then.
    #[must_use]
    pub fn as_clf(&self) -> Option<LogFormat> {
        self.requested.as_deref()?.parse().ok()
    }
}

/// All known formats.
#[derive(Debug, Clone)]
pub struct Formats {
    all: Vec<FormatDefinition>,
    json: JsonLineParser,
    /// The formats that are tried first.
    requested: Vec<FormatId>,
    /// The formats that are tried first in a log, by its path.
    logs: Vec<(PathBuf, Vec<FormatId>)>,
    /// Whether a file is the log at a path, or a rotated sibling.
    is_log_or_rotated: fn(&Path, &Path) -> bool,
    /// The format strings that are tried for detection, in this order.
    detection_order: Vec<FormatId>,
    /// The source of the client IP behind a reverse proxy.
    origin: Option<ClientIpSource>,
    /// Formats that the engine can parse, but without the field for the forwarded client.
    proxied: Vec<FormatId>,
}

const BUILTIN: &str = include_str!("builtin.toml");
const PROGRAMS: &str = include_str!("programs.toml");

/// The programs whose lines are read without a flag, besides the known formats: names, and a line
/// of each, after header lines if it writes them.
#[expect(
    clippy::expect_used,
    reason = "a test reads each line of the built-in file"
)]
pub(crate) fn programs() -> BTreeMap<String, String> {
    toml::from_str(PROGRAMS).expect("the built-in file maps names to lines")
}

/// Why a format is not available.
#[derive(Debug, thiserror::Error)]
pub enum UnknownFormat {
    /// Neither the name of a format nor a format string.
    #[error(
        "no log format is called '{requested}'; there are {names}, or give the string of an nginx log_format or an Apache LogFormat"
    )]
    Name {
        /// The requested name.
        requested: String,
        /// The known names.
        names: String,
    },
    /// An invalid format string.
    #[error(transparent)]
    String(#[from] FormatError),
    /// The IDs are used up.
    #[error("more than 255 log formats")]
    TooMany,
    /// The built-in file is invalid.
    #[error("the built-in formats: {0}")]
    Builtin(String),
}

/// The file of built-in formats.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltinFormats {
    format: Vec<BuiltinEntry>,
}

/// A format in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltinEntry {
    name: String,
    title: String,
    source: Option<String>,
    /// How lines are parsed, if not by a format string.
    kind: Option<FormatReader>,
    string: Option<String>,
    /// Alternative format strings.
    #[serde(default)]
    also: Vec<String>,
    example: Option<String>,
    marker: Option<String>,
}

impl Formats {
    /// The built-in formats.
    ///
    /// # Errors
    ///
    /// None; a test parses the built-in file.
    #[cfg(any(test, feature = "internals"))]
    pub fn builtin() -> Result<Self, UnknownFormat> {
        Self::new(&FormatChoice::default())
    }

    /// The built-in formats and those of the user.
    ///
    /// # Errors
    ///
    /// An unknown name or an invalid format string.
    pub fn new(choice: &FormatChoice) -> Result<Self, UnknownFormat> {
        let builtin: BuiltinFormats =
            toml::from_str(BUILTIN).map_err(|error| UnknownFormat::Builtin(error.to_string()))?;
        let all = builtin
            .format
            .into_iter()
            .map(FormatDefinition::from_entry)
            .collect::<Result<Vec<_>, _>>()?;
        let mut formats = Self {
            all,
            json: JsonLineParser::with_fields(&choice.fields),
            requested: Vec::new(),
            logs: Vec::new(),
            is_log_or_rotated: |log, file| log == file,
            detection_order: Vec::new(),
            origin: None,
            proxied: Vec::new(),
        };
        let mut detection_order: Vec<FormatId> =
            formats.ids().filter(|id| formats.is_tried(*id)).collect();
        // First those that a byte of the line refuses: the others need a field or two.
        detection_order.sort_by_key(|id| match &formats.format(*id).reader {
            FormatReader::Strings(parsers) => {
                parsers.iter().any(|parser| !parser.starts_with_literal())
            }
            _ => true,
        });
        formats.detection_order = detection_order;
        formats.requested = match choice.requested.as_deref() {
            None | Some("auto" | "discovered") => None,
            Some(_) if choice.as_clf().is_some() => None,
            // The engine parses these itself.
            Some(requested) => Some(formats.named_or_written(requested)?)
                .filter(|id| !matches!(formats.format(*id).reader, FormatReader::Clf)),
        }
        .into_iter()
        .collect();
        Ok(formats)
    }

    /// Adds the formats that servers' configurations define for their logs, which are tried first
    /// there. `is_log_or_rotated` returns whether a file is a log or one of its rotated siblings. A
    /// parser of `None` is a format that the engine parses.
    ///
    /// # Errors
    ///
    /// More formats than IDs.
    pub fn with_logs(
        mut self,
        logs: impl IntoIterator<Item = (PathBuf, String, Option<FormatLineParser>)>,
        is_log_or_rotated: fn(&Path, &Path) -> bool,
    ) -> Result<Self, UnknownFormat> {
        self.is_log_or_rotated = is_log_or_rotated;
        for (path, string, parser) in logs {
            let Some(parser) = parser else { continue };
            let id = self.add("configured", string, parser)?;
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

    /// The format with this name or format string.
    fn named_or_written(&mut self, requested: &str) -> Result<FormatId, UnknownFormat> {
        match self.get(requested) {
            Some(id) => Ok(id),
            None if requested.contains(['$', '%']) => {
                let parser = FormatLineParser::parse(requested)?;
                self.add("custom", requested.to_owned(), parser)
            }
            None => Err(UnknownFormat::Name {
                requested: requested.to_owned(),
                names: self.names(),
            }),
        }
    }

    /// Adds a format, unless its string is already known.
    fn add(
        &mut self,
        name: &str,
        string: String,
        parser: FormatLineParser,
    ) -> Result<FormatId, UnknownFormat> {
        if let Some(id) = self
            .ids()
            .find(|id| self.format(*id).string.as_ref() == Some(&string))
        {
            return Ok(id);
        }
        let number = u8::try_from(self.all.len()).map_err(|_| UnknownFormat::TooMany)?;
        let title = "As it was given".to_owned();
        let reader = FormatReader::Strings(vec![parser]);
        self.all.push(FormatDefinition {
            name: name.into(),
            title,
            source: None,
            string: Some(string),
            example: None,
            marker: None,
            reader,
            is_clf: false,
        });
        Ok(FormatId(number))
    }

    /// Reads the client from the field that a proxy writes, in all formats that have it.
    #[must_use]
    pub fn with_client_ip_source(mut self, origin: ClientIpSource) -> Self {
        let header = FieldKind::Header(origin.field().to_owned());
        for format in &mut self.all {
            if let FormatReader::Strings(parsers) = &mut format.reader {
                *parsers = std::mem::take(parsers)
                    .into_iter()
                    .map(|parser| parser.with_forwarded(&header))
                    .collect();
            }
        }
        self.json = self.json.with_forwarded(&header);
        let has_field = |format: &FormatDefinition| matches!(&format.reader, FormatReader::Strings(parsers) if parsers.iter().any(FormatLineParser::has_forwarded));
        self.proxied = self
            .ids()
            .filter(|id| self.format(*id).is_clf && has_field(self.format(*id)))
            .collect();
        self.origin = Some(origin);
        self
    }

    /// The source of the client IP behind a reverse proxy.
    #[must_use]
    pub fn client_ip_source(&self) -> Option<&ClientIpSource> {
        self.origin.as_ref()
    }

    /// The header in the place of the client in one of these formats, if any client can send it.
    pub(crate) fn client_header(&self, ids: &[FormatId]) -> Option<&str> {
        ids.iter().find_map(|id| match &self.format(*id).reader {
            FormatReader::Strings(parsers) => {
                parsers.iter().find_map(FormatLineParser::client_header)
            }
            FormatReader::Clf
            | FormatReader::Json
            | FormatReader::W3c
            | FormatReader::Discovered => None,
        })
    }

    /// Formats that are tried before the engine, for the field of the forwarded client.
    pub(super) fn proxied(&self) -> &[FormatId] {
        &self.proxied
    }

    /// Whether the format is tried for detection; the engine parses CLF formats itself.
    fn is_tried(&self, id: FormatId) -> bool {
        let format = self.format(id);
        matches!(format.reader, FormatReader::Strings(_)) && !format.is_clf
    }

    /// The IDs of all formats.
    pub fn ids(&self) -> impl Iterator<Item = FormatId> + use<> {
        (0..self.all.len()).map(|n| FormatId(n as u8))
    }

    /// All formats.
    pub fn all(&self) -> impl Iterator<Item = &FormatDefinition> {
        self.all.iter()
    }

    /// The format with this ID, which is one of these [`ids`](Self::ids).
    #[must_use]
    pub fn format(&self, id: FormatId) -> &FormatDefinition {
        &self.all[usize::from(id.0)]
    }

    /// The name of a format.
    #[must_use]
    pub fn name(&self, id: FormatId) -> &Arc<str> {
        &self.format(id).name
    }

    /// The format with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<FormatId> {
        self.ids().find(|id| &**self.name(*id) == name)
    }

    /// All names, for messages.
    #[must_use]
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.all.iter().map(|format| &*format.name).collect();
        names.join(", ")
    }

    /// The formats that are tried first in the log at a path.
    #[must_use]
    pub fn preferred_for(&self, path: &Path) -> &[FormatId] {
        let configured = self
            .logs
            .iter()
            .find(|(log, _)| (self.is_log_or_rotated)(log, path));
        configured.map_or(&self.requested, |(_, formats)| formats)
    }

    /// The formats requested for all logs.
    #[must_use]
    pub fn requested(&self) -> &[FormatId] {
        &self.requested
    }

    pub(super) fn json(&self) -> &JsonLineParser {
        &self.json
    }

    /// The parsers of the formats that are tried for detection, in this order.
    pub(super) fn tried(&self) -> impl Iterator<Item = (FormatId, &FormatLineParser)> {
        self.detection_order.iter().flat_map(|id| {
            let parsers = if let FormatReader::Strings(parsers) = &self.format(*id).reader {
                &parsers[..]
            } else {
                &[]
            };
            parsers.iter().map(|parser| (*id, parser))
        })
    }
}

impl FormatDefinition {
    fn from_entry(entry: BuiltinEntry) -> Result<Self, UnknownFormat> {
        let BuiltinEntry {
            name,
            title,
            source,
            kind,
            string,
            also,
            example,
            marker,
        } = entry;
        let reader = match kind {
            Some(reader) => reader,
            None => FormatReader::Strings(
                string
                    .iter()
                    .chain(&also)
                    .map(|string| FormatLineParser::parse(string))
                    .collect::<Result<_, _>>()?,
            ),
        };
        let is_clf = example
            .as_deref()
            .is_some_and(|line| Frame::locate(line.as_bytes(), None).is_some());
        Ok(Self {
            name: name.into(),
            title,
            source,
            string,
            example,
            marker,
            reader,
            is_clf,
        })
    }

    /// The parsers of its lines, to show fields to users. For formats that the engine parses, they
    /// are compiled on demand.
    pub(super) fn parsers(&self) -> Vec<FormatLineParser> {
        match &self.reader {
            FormatReader::Strings(parsers) => parsers.clone(),
            _ => self
                .string
                .iter()
                .filter_map(|string| FormatLineParser::parse(string).ok())
                .collect(),
        }
    }
}
