//! Test cases of rules: requests that a rule must match, or must not match.
//!
//! A case is data; the engine matches it like a line of a log.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::log_entry::LogEntry;

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
            ..LogEntry::default()
        }
    }

    /// A case with a request line alone; a missing protocol is added.
    #[must_use]
    pub(crate) fn from_request(line: &str) -> Self {
        let protocol = if line.contains(" HTTP/") { "" } else { " HTTP/1.1" };
        Self::from_raw(format!("{line}{protocol}"))
    }

    fn from_raw(request: String) -> Self {
        Self { request, status: 404, user_agent: None, referer: None }
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
}

impl<'de> Visitor<'de> for CaseVisitor {
    type Value = Case;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a request line like "GET /.env", or a table { request = "..", status = 200, user_agent = "..", referer = ".." } or { raw = '..' }"#)
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
        Ok(Case { status: table.status.unwrap_or(case.status), user_agent: table.user_agent, referer: table.referer, ..case })
    }
}
