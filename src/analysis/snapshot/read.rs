//! Reads a report back, row by row: what people are shown is passed over, evidence goes straight into a tally.

use std::fmt;
use std::io::{BufReader, Read};
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::READS_SCHEMA;
use super::guarded::LimitedReader;
use super::rebuild::SnapshotDecoder;
use super::rows::{
    AllowedRow, AppEvidenceRow, CellRow, ClientErrorRow, ClientRow, HomePageRow, InputRow, MinuteRow, PathErrorRow, RuleRow, SitePathRow,
};
use super::sums::{self, DocumentTotals};
use super::write::{BOUNDS, LISTS};
use super::{ReportSnapshot, SnapshotError};
use crate::client::Ipv6Prefix;
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;

/// Bytes read at a time.
const BUFFER: usize = 64 * 1024;

/// Reads the evidence of a report in JSON; rules are those of `rules` where they have the same id.
///
/// # Errors
///
/// It cannot be read, is no report, has no evidence, or is damaged. Nothing that stands in it makes it panic, or hold much more
/// than it has bytes.
pub fn read(input: impl Read, rules: &RuleSet) -> Result<ReportSnapshot, SnapshotError> {
    let mut document = ReportDocument { rebuild: Some(SnapshotDecoder::new(rules)), ..ReportDocument::default() };
    let mut parser = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER, LimitedReader::new(input)));
    let parsed = (&mut document).deserialize(&mut parser).and_then(|()| parser.end());
    if let Some(refused) = document.refused {
        return Err(refused);
    }
    parsed.map_err(|error| document.broken(error))?;
    match document.evidence {
        Some(evidence) => {
            sums::check(document.totals.as_ref(), &evidence).map_err(SnapshotError::Damaged)?;
            Ok(ReportSnapshot { log_host: document.log_host, period: document.period, prefix: document.prefix, ..evidence })
        }
        None if document.is_hidden => Err(SnapshotError::Hidden),
        None if document.is_cut => Err(SnapshotError::Cut),
        None => Err(SnapshotError::Foreign("it has no evidence, and no word of it".into())),
    }
}

/// What is known of the document so far.
#[derive(Default)]
struct ReportDocument<'r> {
    version: Option<u32>,
    is_ours: bool,
    totals: Option<DocumentTotals>,
    log_host: Option<String>,
    period: Option<String>,
    prefix: Option<Ipv6Prefix>,
    /// Its clients are hidden.
    is_hidden: bool,
    rebuild: Option<SnapshotDecoder<'r>>,
    evidence: Option<ReportSnapshot>,
    /// It says that it has none.
    is_cut: bool,
    /// Why it is not read on, where that is not the parser's business.
    refused: Option<SnapshotError>,
}

impl ReportDocument<'_> {
    /// What an error of the parser means: before it was known to be a report, it may be anything.
    fn broken(&self, error: serde_json::Error) -> SnapshotError {
        let message = escape(error.to_string().as_bytes()).into_owned();
        match error.classify() {
            serde_json::error::Category::Io if error.io_error_kind() != Some(std::io::ErrorKind::InvalidData) => {
                SnapshotError::Io(error.into())
            }
            _ if self.is_ours && self.version.is_some() => SnapshotError::Damaged(message),
            _ => SnapshotError::Foreign(message),
        }
    }

    /// Whether to read on after the version.
    fn check_version(&mut self, version: u32) -> bool {
        self.version = Some(version);
        self.refused = match version {
            READS_SCHEMA => None,
            newer if newer > READS_SCHEMA => Some(SnapshotError::Newer(newer)),
            older => Some(SnapshotError::Older(older)),
        };
        self.refused.is_none()
    }
}

impl<'de> DeserializeSeed<'de> for &mut ReportDocument<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut ReportDocument<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON report of probewatch")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "schema_version" if self.version.is_none() => {
                    let version = map.next_value()?;
                    if !self.check_version(version) {
                        return Err(A::Error::custom("another version"));
                    }
                }
                "generated_by" => {
                    self.is_ours = map.next_value::<String>()?.starts_with("probewatch ");
                    if !self.is_ours {
                        return Err(A::Error::custom("another program wrote it"));
                    }
                }
                "totals" => self.totals = Some(map.next_value()?),
                "log_host" => self.log_host = map.next_value::<Option<String>>()?.map(|name| escape(name.as_bytes()).into_owned()),
                "period" => self.period = map.next_value::<Option<String>>()?.map(|name| escape(name.as_bytes()).into_owned()),
                "ipv6_prefix" => {
                    let bits = map.next_value::<Option<u8>>()?;
                    self.prefix =
                        bits.map(|bits| Ipv6Prefix::new(bits).ok_or_else(|| A::Error::custom("no such ipv6_prefix"))).transpose()?;
                }
                "anonymized" => self.is_hidden = map.next_value::<Option<String>>()?.is_some(),
                "evidence" => {
                    let (true, true, Some(rebuild)) = (self.is_ours, self.version.is_some(), self.rebuild.take()) else {
                        return Err(A::Error::custom("evidence stands twice, or before who wrote it"));
                    };
                    self.evidence = map.next_value_seed(SnapshotLists(rebuild))?;
                    self.is_cut = self.evidence.is_none();
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The lists of the evidence, `None` where there is none.
struct SnapshotLists<'r>(SnapshotDecoder<'r>);

impl<'de> DeserializeSeed<'de> for SnapshotLists<'_> {
    type Value = Option<ReportSnapshot>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for SnapshotLists<'_> {
    type Value = Option<ReportSnapshot>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lists of the evidence, or null")
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut rebuild = self.0;
        let mut told = 0;
        while let Some(key) = map.next_key::<String>()? {
            // Rows speak of rows of the lists before them.
            match LISTS.iter().chain(&BOUNDS).position(|name| *name == key) {
                Some(number) if number == told => told += 1,
                Some(_) => return Err(A::Error::custom(format!("the list '{key}' stands in the wrong place"))),
                None => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            }
            match key.as_str() {
                "rules" => map.next_value_seed(RowsInto::new(|row: RuleRow<'static>| rebuild.rule(row)))?,
                "inputs" => map.next_value_seed(RowsInto::new(|row: InputRow<'static>| rebuild.input(&row)))?,
                "hosts" => map.next_value_seed(RowsInto::new(|row: String| rebuild.host(&row)))?,
                "clients" => map.next_value_seed(RowsInto::new(|row: ClientRow<'static>| rebuild.client(&row)))?,
                "paths" => map.next_value_seed(RowsInto::new(|row: String| rebuild.path(&row)))?,
                "lists" => map.next_value_seed(RowsInto::new(|row: Vec<u32>| rebuild.list(&row)))?,
                "cells" => map.next_value_seed(RowsInto::new(|row: CellRow<'static>| rebuild.cell(row)))?,
                "minutes" => map.next_value_seed(RowsInto::new(|row: MinuteRow| rebuild.minute(row)))?,
                "uncounted" => rebuild.uncounted(map.next_value()?).map_err(A::Error::custom)?,
                "signs" => map.next_value_seed(RowsInto::new(|row: AppEvidenceRow| rebuild.app_evidence(&row)))?,
                "homes" => map.next_value_seed(RowsInto::new(|row: HomePageRow| rebuild.home(&row)))?,
                "sites" => map.next_value_seed(RowsInto::new(|row: SitePathRow| rebuild.site_path(row)))?,
                "allowed" => map.next_value_seed(RowsInto::new(|row: AllowedRow<'static>| rebuild.allowed(row)))?,
                "floor" => rebuild.floor(&map.next_value()?).map_err(A::Error::custom)?,
                "client_errors" => map.next_value_seed(RowsInto::new(|row: ClientErrorRow| rebuild.client_error(&row)))?,
                "path_errors" => map.next_value_seed(RowsInto::new(|row: PathErrorRow| rebuild.path_error(&row)))?,
                _ => rebuild.without_time(map.next_value()?).map_err(A::Error::custom)?,
            }
        }
        // Bounds are told where something was let go, and then all of them.
        let is_whole = told == LISTS.len();
        match LISTS.iter().chain(&BOUNDS).nth(told).filter(|_| !is_whole) {
            Some(missing) => Err(A::Error::custom(format!("the list '{missing}' is missing"))),
            None => Ok(Some(rebuild.finish())),
        }
    }
}

/// A list whose rows are taken as they come.
struct RowsInto<T, F> {
    take: F,
    row: PhantomData<T>,
}

impl<T, F: FnMut(T) -> Result<(), String>> RowsInto<T, F> {
    fn new(take: F) -> Self {
        Self { take, row: PhantomData }
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> Result<(), String>> DeserializeSeed<'de> for RowsInto<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for RowsInto<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element::<T>()? {
            (self.take)(row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
