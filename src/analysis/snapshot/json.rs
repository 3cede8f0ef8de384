//! Writes a snapshot as JSON, row by row, so that its text is never in memory: plain in a partial report, compressed in a JSON report.

use std::borrow::Cow;
use std::io;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::encode::SnapshotEncoder;
use super::partial::packed;
use crate::analysis::model::Report;

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

/// The times between the first and the last of a cell, before the cells. Reports of other versions may not have them.
pub(crate) const TIMES: [&str; 2] = ["time_unit", "times"];

/// The error bounds, which follow if the tally is not exact.
pub(crate) const BOUNDS: [&str; 3] = ["floor", "client_errors", "path_errors"];

/// The snapshot as JSON; `null` if there is none.
pub(crate) struct SnapshotJson<'a>(Option<SnapshotEncoder<'a>>);

impl<'a> SnapshotJson<'a> {
    /// The snapshot of a complete report; a truncated report has none.
    pub(crate) fn new(report: &'a Report<'a>, is_whole: bool) -> Self {
        Self(is_whole.then(|| SnapshotEncoder::new(report)).flatten())
    }
}

/// The snapshot in a JSON report: compressed, as a string; `null` if there is none.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct PackedSnapshot(Option<String>);

impl PackedSnapshot {
    /// Compresses the snapshot of a complete report; a truncated report has none.
    ///
    /// # Errors
    ///
    /// Those of the compressor.
    pub(crate) fn new(report: &Report<'_>, is_whole: bool) -> io::Result<Self> {
        let snapshot = SnapshotJson::new(report, is_whole);
        Ok(Self(snapshot.0.is_some().then(|| packed(&snapshot)).transpose()?))
    }
}

impl JsonSchema for PackedSnapshot {
    fn schema_name() -> Cow<'static, str> {
        "Evidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "null"], "contentEncoding": "base64", "contentMediaType": "application/zstd" })
    }
}

impl Serialize for SnapshotJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(encoder) = &self.0 else { return serializer.serialize_none() };
        let bounds = if encoder.is_exact() { &[][..] } else { &BOUNDS };
        let mut lists = serializer.serialize_map(Some(LISTS.len() + TIMES.len() + bounds.len()))?;
        for &name in LISTS.iter().chain(bounds) {
            match name {
                "rules" => lists.serialize_entry(name, &LazyRows(|| encoder.rules()))?,
                "inputs" => lists.serialize_entry(name, encoder.inputs())?,
                "hosts" => lists.serialize_entry(name, &LazyRows(|| encoder.hosts()))?,
                "clients" => lists.serialize_entry(name, &LazyRows(|| encoder.clients()))?,
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
