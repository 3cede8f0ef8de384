//! Writes evidence row by row; nothing of it is held in memory as a document.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::tell::SnapshotEncoder;
use crate::analysis::model::Report;

/// The names of the lists, in the order they are told and expected.
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
    "signs",
    "homes",
    "sites",
    "allowed",
    "without_time",
];

/// What follows where something was let go: by how much what is told may be too low.
pub(crate) const BOUNDS: [&str; 3] = ["floor", "client_errors", "path_errors"];

/// A report's evidence as JSON has it; `null` where there is none.
pub(crate) struct SnapshotJson<'a>(Option<SnapshotEncoder<'a>>);

impl<'a> SnapshotJson<'a> {
    /// The evidence of a whole report; a part of one has none.
    pub(crate) fn new(report: &'a Report<'a>, is_whole: bool) -> Self {
        Self(is_whole.then(|| SnapshotEncoder::new(report)).flatten())
    }
}

impl JsonSchema for SnapshotJson<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Evidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "null"] })
    }
}

impl Serialize for SnapshotJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(teller) = &self.0 else { return serializer.serialize_none() };
        let bounds = if teller.is_exact() { &[][..] } else { &BOUNDS };
        let mut lists = serializer.serialize_map(Some(LISTS.len() + bounds.len()))?;
        for &name in LISTS.iter().chain(bounds) {
            match name {
                "rules" => lists.serialize_entry(name, &LazyRows(|| teller.rules()))?,
                "inputs" => lists.serialize_entry(name, teller.inputs())?,
                "hosts" => lists.serialize_entry(name, &LazyRows(|| teller.hosts()))?,
                "clients" => lists.serialize_entry(name, &LazyRows(|| teller.clients()))?,
                "paths" => lists.serialize_entry(name, &LazyRows(|| teller.paths()))?,
                "lists" => lists.serialize_entry(name, &LazyRows(|| teller.lists()))?,
                "cells" => lists.serialize_entry(name, &LazyRows(|| teller.cells()))?,
                "minutes" => lists.serialize_entry(name, &teller.minutes())?,
                "uncounted" => lists.serialize_entry(name, &teller.uncounted())?,
                "signs" => lists.serialize_entry(name, &teller.app_evidence())?,
                "homes" => lists.serialize_entry(name, &teller.homes())?,
                "sites" => lists.serialize_entry(name, &teller.site_paths())?,
                "allowed" => lists.serialize_entry(name, &LazyRows(|| teller.allowed()))?,
                "floor" => lists.serialize_entry(name, &teller.floor())?,
                "client_errors" => lists.serialize_entry(name, &LazyRows(|| teller.client_errors()))?,
                "path_errors" => lists.serialize_entry(name, &LazyRows(|| teller.path_errors()))?,
                _ => lists.serialize_entry(name, &teller.without_time)?,
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
