//! Writes a snapshot as JSON, row by row, so that its text is never in memory: as lists in a partial report; in a JSON report all but
//! the first list compressed.

use std::borrow::Cow;
use std::io;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, Value, to_raw_value, to_value};
use xxhash_rust::xxh3::Xxh3;

use super::encode::SnapshotEncoder;
use super::frame::packed;
use crate::analysis::model::ReportModel;
use crate::client::Ipv6Prefix;
use crate::redact::sanitize::escape;

/// The names of the lists, in their order.
pub(crate) const LISTS: [&str; 14] = [
    "rules",
    "inputs",
    "hosts",
    "clients",
    "paths",
    "lists",
    "cells",
    "minutes",
    "uncounted",
    "app_evidence",
    "home_pages",
    "site_paths",
    "allowed",
    "without_time",
];

/// How many of them a JSON report has as lists: the rules, because a reader may want to know which of them mean that an answer exposes
/// something. The others are compressed in its [`PACKED`] text.
pub(super) const PLAIN_LISTS: usize = 1;

/// The key of the compressed lists.
pub(super) const PACKED: &str = "packed";

/// The key of the checksum in them. Reports of other versions may not have it.
pub(super) const CHECKSUM: &str = "checksum";

/// The checksum of what a merge reads of a JSON report besides its compressed lists, which have one of their own. Neither the order
/// of keys nor white space changes it.
#[derive(Default)]
pub(super) struct PlainChecksum(Xxh3);

impl PlainChecksum {
    /// Adds a rule.
    pub(super) fn rule(&mut self, row: &Value) {
        self.0.update(row.to_string().as_bytes());
    }

    /// Adds the host, the period and the prefix of clients.
    pub(super) fn finish(mut self, log_host: Option<&str>, period: Option<&str>, prefix: Option<Ipv6Prefix>) -> u64 {
        let log_host = log_host.map(|host| escape(host.as_bytes()));
        self.0.update(Value::from_iter([log_host.as_deref(), period]).to_string().as_bytes());
        self.0.update(&[prefix.map_or(0, Ipv6Prefix::bits)]);
        self.0.digest()
    }
}

/// The times between the first and the last of a cell, before the cells. Reports of other versions may not have them.
pub(crate) const TIMES: [&str; 2] = ["time_unit", "times"];

/// What clients got for requests that no rule matched, after the clients. Reports of other versions may not have it.
pub(crate) const UNMATCHED: &str = "unmatched_answers";

/// The error bounds, which follow if the tally is not exact.
pub(crate) const BOUNDS: [&str; 3] = ["floor", "client_errors", "path_errors"];

/// The snapshot as JSON; `null` if there is none.
pub(crate) struct SnapshotJson<'a>(Option<SnapshotEncoder<'a>>);

impl<'a> SnapshotJson<'a> {
    /// The snapshot of a complete report; a truncated report has none.
    pub(crate) fn new(report: &'a ReportModel<'a>, is_whole: bool) -> Self {
        Self(is_whole.then(|| SnapshotEncoder::new(report)).flatten())
    }
}

/// The snapshot in a JSON report: its rules, and the other lists compressed; `null` if there is none.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct PackedSnapshot(Option<PackedLists>);

#[derive(Debug, Serialize)]
struct PackedLists {
    rules: Box<RawValue>,
    packed: String,
}

impl PackedSnapshot {
    /// Compresses the snapshot of a complete report; a truncated report has none.
    ///
    /// # Errors
    ///
    /// Those of the compressor.
    pub(crate) fn new(report: &ReportModel<'_>, is_whole: bool) -> io::Result<Self> {
        let Some(encoder) = &SnapshotJson::new(report, is_whole).0 else { return Ok(Self(None)) };
        let rules = to_raw_value(&LazyRows(|| encoder.rules()))?;
        let mut checksum = PlainChecksum::default();
        for row in encoder.rules() {
            checksum.rule(&to_value(row)?);
        }
        let checksum = checksum.finish(report.log_host.as_deref(), report.period.as_deref(), report.prefix);
        let packed = packed(&Lists { encoder, names: &LISTS[PLAIN_LISTS..], checksum: Some(checksum) })?;
        Ok(Self(Some(PackedLists { rules, packed })))
    }
}

impl JsonSchema for PackedSnapshot {
    fn schema_name() -> Cow<'static, str> {
        "Evidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "null"],
            "properties": {
                "rules": {
                    "type": "array",
                    "items": { "type": "object" },
                    "description": "Rules of the counts: `id`, `title`, `class`, `severity`, and whether an answer `exposes` something."
                },
                "packed": {
                    "type": "string",
                    "contentEncoding": "base64",
                    "contentMediaType": "application/zstd",
                    "description": "Counts, as compressed JSON."
                }
            },
            "required": ["rules", "packed"],
            "additionalProperties": false
        })
    }
}

impl Serialize for SnapshotJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(encoder) => Lists { encoder, names: &LISTS, checksum: None }.serialize(serializer),
            None => serializer.serialize_none(),
        }
    }
}

/// Some of the lists, and the error bounds.
struct Lists<'e, 'a> {
    encoder: &'e SnapshotEncoder<'a>,
    names: &'static [&'static str],
    checksum: Option<u64>,
}

impl Serialize for Lists<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { encoder, names, checksum } = self;
        let bounds = if encoder.is_exact() { &[][..] } else { &BOUNDS };
        let mut lists = serializer.serialize_map(Some(names.len() + TIMES.len() + 1 + bounds.len() + usize::from(checksum.is_some())))?;
        if let Some(checksum) = checksum {
            lists.serialize_entry(CHECKSUM, checksum)?;
        }
        for &name in names.iter().chain(bounds) {
            match name {
                "rules" => lists.serialize_entry(name, &LazyRows(|| encoder.rules()))?,
                "inputs" => lists.serialize_entry(name, encoder.inputs())?,
                "hosts" => lists.serialize_entry(name, &LazyRows(|| encoder.hosts()))?,
                "clients" => {
                    lists.serialize_entry(name, &LazyRows(|| encoder.clients()))?;
                    lists.serialize_entry(UNMATCHED, &LazyRows(|| encoder.unmatched_answers()))?;
                }
                "paths" => lists.serialize_entry(name, &LazyRows(|| encoder.paths()))?,
                "lists" => lists.serialize_entry(name, &LazyRows(|| encoder.lists()))?,
                "cells" => {
                    lists.serialize_entry(TIMES[0], &encoder.time_unit())?;
                    lists.serialize_entry(TIMES[1], &LazyRows(|| encoder.times()))?;
                    lists.serialize_entry(name, &LazyRows(|| encoder.cells()))?;
                }
                "minutes" => lists.serialize_entry(name, &encoder.minutes())?,
                "uncounted" => lists.serialize_entry(name, &encoder.uncounted())?,
                "app_evidence" => lists.serialize_entry(name, &encoder.app_evidence())?,
                "home_pages" => lists.serialize_entry(name, &encoder.home_pages())?,
                "site_paths" => lists.serialize_entry(name, &encoder.site_paths())?,
                "allowed" => lists.serialize_entry(name, &LazyRows(|| encoder.allowed()))?,
                "floor" => lists.serialize_entry(name, &encoder.floor())?,
                "client_errors" => lists.serialize_entry(name, &LazyRows(|| encoder.client_errors()))?,
                "path_errors" => lists.serialize_entry(name, &LazyRows(|| encoder.path_errors()))?,
                _ => lists.serialize_entry(name, &encoder.without_time)?,
            }
        }
        lists.end()
    }
}

/// A list whose rows are made when they are written.
struct LazyRows<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for LazyRows<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
