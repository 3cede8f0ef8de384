//! Looks up the country, city and autonomous system of addresses in databases in MaxMind's format
//! (MMDB).
//!
//! The user names the files: none comes with the program and none is fetched. A file is read whole.
//! A field that a record lacks, or that has another type, is absent; it is no error.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use maxminddb::{LookupResult, PathElement, Reader};
use rayon::prelude::*;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// What GeoIP databases have about the client. Rows of `clients`.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, Serialize)]
#[schemars(rename = "GeoObject")]
pub struct GeoInfo {
    /// Country of the client, two letters of ISO 3166-1; absent without a GeoIP database that has
    /// it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::text::redact::serialize_name"
    )]
    #[schemars(with = "Option<String>")]
    pub country: Option<Arc<str>>,
    /// City of the client, in English; absent without a GeoIP database that has it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::text::redact::serialize_name"
    )]
    #[schemars(with = "Option<String>")]
    pub city: Option<Arc<str>>,
    /// Number of the autonomous system of the client; absent without a GeoIP database that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asn: Option<u32>,
    /// Name of that autonomous system; absent without a GeoIP database that has it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::text::redact::serialize_name"
    )]
    #[schemars(with = "Option<String>")]
    pub as_name: Option<Arc<str>>,
}

impl GeoInfo {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These fields, and those of `other` where they are absent.
    fn or(&self, other: &Self) -> Self {
        Self {
            country: self.country.as_ref().or(other.country.as_ref()).cloned(),
            city: self.city.as_ref().or(other.city.as_ref()).cloned(),
            asn: self.asn.or(other.asn),
            as_name: self.as_name.as_ref().or(other.as_name.as_ref()).cloned(),
        }
    }
}

/// Why a database cannot be used.
#[derive(Debug, Error)]
pub(crate) enum GeoIpError {
    /// The file cannot be read.
    #[error("--geoip: {} cannot be read: {source}; name a database that exists, such as --geoip GeoLite2-City.mmdb", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else, or is damaged.
    #[error("--geoip: {} is no GeoIP database: {found}; {advice}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is in it.
        found: String,
        /// What to do.
        advice: &'static str,
    },
}

/// Databases, in the order in which they are asked.
#[derive(Debug, Default)]
pub(crate) struct GeoDatabases {
    files: Vec<GeoDatabase>,
    with_city: bool,
    decoded: DecodedRecords,
}

/// The records that were decoded so far.
#[derive(Debug, Default)]
pub(crate) struct DecodedRecords {
    /// By database and offset. Many networks share a record.
    records: HashMap<(usize, usize), Arc<GeoInfo>>,
    names: HashSet<Arc<str>>,
    /// The networks of the last address, one per database.
    networks: Vec<Option<FoundNetwork>>,
    /// The offsets of the records of an address, one per database.
    offsets: Vec<Option<usize>>,
    /// The offsets of the address before it, and what is known of that one.
    last: (Vec<Option<usize>>, Option<Arc<GeoInfo>>),
}

/// A network of a database, whose addresses need not be searched for.
#[derive(Debug, Clone, Copy)]
struct FoundNetwork {
    first: IpAddr,
    last: IpAddr,
    /// Where its record is.
    offset: Option<usize>,
}

/// A database in memory.
#[derive(Debug)]
struct GeoDatabase {
    path: PathBuf,
    /// The file that was read.
    stamp: FileStamp,
    /// A replacement that was seen once. It is read when it is the same at the next check: until
    /// then it may be incomplete.
    seen: Option<Result<FileStamp, io::ErrorKind>>,
    /// The replacement that was seen is unusable, and that was reported.
    is_rejected: bool,
    reader: Reader<Vec<u8>>,
}

/// Decoded records that are kept. Above it they are dropped, to bound memory.
const MAX_RECORDS: usize = 1 << 18;

/// Addresses that are looked up by one thread at least.
const MIN_CHUNK: usize = 1 << 14;

/// Identifies the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl FileStamp {
    fn new(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }
}

impl GeoDatabases {
    /// Reads these files. Cities are looked up only `with_city`.
    ///
    /// # Errors
    ///
    /// A file is missing or is no database.
    pub(crate) fn open(paths: &[PathBuf], with_city: bool) -> Result<Self, GeoIpError> {
        let files = paths
            .iter()
            .map(|path| GeoDatabase::open(path))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            files,
            with_city,
            ..Self::default()
        })
    }

    /// Whether there is no database.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What the databases have about an address: each field from the first database that has it.
    pub(crate) fn lookup(&mut self, address: IpAddr) -> Option<Arc<GeoInfo>> {
        self.decoded.lookup(&self.files, self.with_city, address)
    }

    /// [`lookup`](Self::lookup) with records of the caller, of which each thread has its own.
    pub(crate) fn lookup_with(
        &self,
        address: IpAddr,
        decoded: &mut DecodedRecords,
    ) -> Option<Arc<GeoInfo>> {
        decoded.lookup(&self.files, self.with_city, address)
    }

    /// [`lookup`](Self::lookup) of many addresses in parallel, from low to high: neighbours share
    /// nodes and records, so that most of them are in the processor's cache.
    #[must_use]
    pub(crate) fn lookup_all(&self, addresses: &[Option<IpAddr>]) -> Vec<Option<Arc<GeoInfo>>> {
        let number = |address| match address {
            IpAddr::V4(address) => address.to_bits().into(),
            IpAddr::V6(address) => address.to_bits(),
        };
        let known = (0_u32..)
            .zip(addresses)
            .filter_map(|(index, address)| Some((number((*address)?), index)));
        let mut sorted: Vec<(u128, u32)> = known.collect();
        sorted.sort_unstable();
        let of_chunk = |chunk: &[(u128, u32)]| {
            let mut decoded = DecodedRecords::default();
            let mut lookup = |&(_, index): &(u128, u32)| {
                Some((
                    index,
                    decoded.lookup(&self.files, self.with_city, addresses[index as usize]?)?,
                ))
            };
            chunk.iter().filter_map(&mut lookup).collect::<Vec<_>>()
        };
        let found: Vec<Vec<(u32, Arc<GeoInfo>)>> = match sorted.len() {
            // A thread pool is started only where it is worth it.
            ..=MIN_CHUNK => vec![of_chunk(&sorted)],
            len => sorted
                .par_chunks(len.div_ceil(rayon::current_num_threads()).max(MIN_CHUNK))
                .map(of_chunk)
                .collect(),
        };
        let mut all = vec![None; addresses.len()];
        for (index, info) in found.into_iter().flatten() {
            all[index as usize] = Some(info);
        }
        all
    }

    /// Reads the files again that were replaced, once they no longer change. If a replacement
    /// cannot be used, the old database is kept. Returns notices.
    pub(crate) fn reload_changed(&mut self) -> Vec<String> {
        let notices: Vec<_> = self
            .files
            .iter_mut()
            .filter_map(GeoDatabase::reload_changed)
            .collect();
        if !notices.is_empty() {
            self.decoded = DecodedRecords::default();
        }
        notices
    }
}

impl GeoDatabase {
    fn open(path: &Path) -> Result<Self, GeoIpError> {
        let (stamp, reader) = read(path)?;
        Ok(Self {
            path: path.to_owned(),
            stamp,
            seen: None,
            is_rejected: false,
            reader,
        })
    }

    /// Reads the file again if it was replaced. Returns a notice.
    fn reload_changed(&mut self) -> Option<String> {
        let now = std::fs::metadata(&self.path)
            .map(|meta| FileStamp::new(&meta))
            .map_err(|error| error.kind());
        if now == Ok(self.stamp) {
            (self.seen, self.is_rejected) = (None, false);
            return None;
        }
        if self.seen != Some(now) {
            (self.seen, self.is_rejected) = (Some(now), false);
            return None;
        }
        if self.is_rejected {
            return None;
        }
        match read(&self.path) {
            Ok((stamp, reader)) => {
                (self.stamp, self.reader, self.seen) = (stamp, reader, None);
                Some(format!(
                    "--geoip: {} was replaced, and is read again",
                    self.path.display()
                ))
            }
            Err(error) => {
                self.is_rejected = true;
                Some(format!("{error}; the old one is kept"))
            }
        }
    }

    /// The network of an address. An error is damage, or an IPv6 address in a database of IPv4.
    fn network(&self, address: IpAddr) -> Option<FoundNetwork> {
        let found = self.reader.lookup(address).ok()?;
        let network = found.network().ok()?;
        Some(FoundNetwork {
            first: network.network(),
            last: network.broadcast(),
            offset: found.offset(),
        })
    }
}

impl DecodedRecords {
    fn lookup(
        &mut self,
        files: &[GeoDatabase],
        with_city: bool,
        address: IpAddr,
    ) -> Option<Arc<GeoInfo>> {
        let mut offsets = std::mem::take(&mut self.offsets);
        offsets.clear();
        self.networks.resize(files.len(), None);
        for (file, network) in files.iter().zip(&mut self.networks) {
            // Addresses of a batch are sorted, and neighbours are often in one network.
            if network.is_none_or(|network| !(network.first..=network.last).contains(&address)) {
                *network = file.network(address);
            }
            offsets.push(network.and_then(|network| network.offset));
        }
        if offsets != self.last.0 {
            let mut found: Option<Arc<GeoInfo>> = None;
            for (number, file) in files.iter().enumerate() {
                let Some(offset) = offsets[number] else {
                    continue;
                };
                let next = self.record((number, offset), file, with_city, address);
                found = Some(found.map_or_else(|| next.clone(), |first| Arc::new(first.or(&next))));
            }
            self.last.1 = found.filter(|info| !info.is_empty());
            std::mem::swap(&mut offsets, &mut self.last.0);
        }
        self.offsets = offsets;
        self.last.1.clone()
    }

    /// The fields of the record of an address, whose database and offset are `location`.
    fn record(
        &mut self,
        location: (usize, usize),
        file: &GeoDatabase,
        with_city: bool,
        address: IpAddr,
    ) -> Arc<GeoInfo> {
        if let Some(known) = self.records.get(&location) {
            return known.clone();
        }
        if self.records.len() >= MAX_RECORDS {
            self.records.clear();
            self.names.clear();
        }
        let fields = file
            .reader
            .lookup(address)
            .map(|record| RecordFields::new(&record))
            .unwrap_or_default();
        let info = Arc::new(GeoInfo {
            country: fields.country.map(|country| self.name(&country)),
            city: fields
                .city
                .filter(|_| with_city)
                .map(|city| self.name(city)),
            asn: fields.asn,
            as_name: fields.as_name.map(|name| self.name(name)),
        });
        self.records.insert(location, info.clone());
        info
    }

    /// The text, shared by all records that have it.
    fn name(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.names.get(text) {
            return known.clone();
        }
        let name: Arc<str> = text.into();
        self.names.insert(name.clone());
        name
    }
}

/// The format addresses its content with 32 bits. A larger file would only fill the memory.
const MAX_LEN: u64 = u32::MAX as u64;

/// The advice for a file that is damaged.
const AGAIN: &str = "download it again";

/// Reads a file whole, if its end is that of a database.
fn read(path: &Path) -> Result<(FileStamp, Reader<Vec<u8>>), GeoIpError> {
    let unreadable = |source| GeoIpError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let foreign = |(found, advice): (String, &'static str)| GeoIpError::Foreign {
        path: path.to_owned(),
        found,
        advice,
    };
    // Checked first: opening a FIFO would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let stamp = FileStamp::new(&file.metadata().map_err(unreadable)?);
    if let Some(found) = describe_foreign(&file, stamp.len).map_err(unreadable)? {
        return Err(foreign(found));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.len).unwrap_or_default());
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let reader = Reader::from_source(bytes).map_err(|error| foreign((error.to_string(), AGAIN)))?;
    Ok((stamp, reader))
}

/// Before the metadata, which is at the end of a file.
const METADATA_MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// The metadata begins within this many bytes of the end.
const METADATA_LEN: u64 = 128 << 10;

/// What a file that is no database seems to be, and what to do about it. Reads its first and last
/// bytes, so that a large file is not read in vain.
fn describe_foreign(file: &File, len: u64) -> io::Result<Option<(String, &'static str)>> {
    let mut tail = vec![0; usize::try_from(len.min(METADATA_LEN)).unwrap_or_default()];
    file.read_exact_at(&mut tail, len.saturating_sub(METADATA_LEN))?;
    if len > MAX_LEN {
        return Ok(Some((
            format!("it has {len} bytes, more than the format allows"),
            AGAIN,
        )));
    }
    if memchr::memmem::rfind(&tail, METADATA_MARKER).is_some() {
        return Ok(None);
    }
    let mut head = vec![0; usize::try_from(len.min(512)).unwrap_or_default()];
    file.read_exact_at(&mut head, 0)?;
    let (found, advice) = match &*head {
        [] => ("it is empty", AGAIN),
        [0x1f, 0x8b, ..] => (
            "it is compressed with gzip",
            "unpack it, with gunzip or tar -xzf, and name the .mmdb file",
        ),
        [b'P', b'K', 3, 4, ..] => ("it is a ZIP archive", "unpack it and name the .mmdb file"),
        _ if head.get(257..262) == Some(b"ustar") => (
            "it is a tar archive",
            "unpack it with tar -xf and name the .mmdb file",
        ),
        _ if is_text(&head) => (
            "it is text",
            "name the binary edition, whose name ends in .mmdb",
        ),
        _ => (
            "it has no metadata at its end, as if it were cut off or in another format",
            AGAIN,
        ),
    };
    Ok(Some((found.to_owned(), advice)))
}

/// Whether the first bytes are text, as of a CSV edition or an error page.
fn is_text(head: &[u8]) -> bool {
    head.iter()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r'))
}

/// A record.
type Record<'d> = LookupResult<'d, Vec<u8>>;

/// The fields of a record.
#[derive(Default)]
struct RecordFields<'d> {
    country: Option<String>,
    city: Option<&'d str>,
    asn: Option<u32>,
    as_name: Option<&'d str>,
}

impl<'d> RecordFields<'d> {
    /// Reads the fields under the names that MaxMind and DB-IP give them, then under those of
    /// IPinfo. IPinfo's `country` is a code in some databases, and a name beside a `country_code`
    /// in others.
    fn new(record: &Record<'d>) -> Self {
        let code = |path: &[&'static str]| {
            text(record, path).filter(|code| {
                code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_alphabetic())
            })
        };
        let country = code(&["country", "iso_code"])
            .or_else(|| code(&["country_code"]))
            .or_else(|| code(&["country"]));
        let asn = asn(record);
        let of_ipinfo = || {
            text(record, &["as_name"])
                .or_else(|| text(record, &["name"]))
                .filter(|_| asn.is_some())
        };
        Self {
            country: country.map(str::to_ascii_uppercase),
            city: text(record, &["city", "names", "en"]).or_else(|| text(record, &["city"])),
            asn,
            as_name: text(record, &["autonomous_system_organization"]).or_else(of_ipinfo),
        }
    }
}

/// A value at these keys; `None` if it is absent, damaged or of another type.
fn value<'d, T: Deserialize<'d>>(record: &Record<'d>, path: &[&'static str]) -> Option<T> {
    let path: Vec<_> = path.iter().map(|name| PathElement::Key(name)).collect();
    record.decode_path(&path).ok().flatten()
}

fn text<'d>(record: &Record<'d>, path: &[&'static str]) -> Option<&'d str> {
    value(record, path).filter(|text: &&str| !text.is_empty())
}

fn asn(record: &Record<'_>) -> Option<u32> {
    let number = |key| value::<AsNumber>(record, &[key]).and_then(|AsNumber(number)| number);
    number("autonomous_system_number").or_else(|| number("asn"))
}

/// The number of an autonomous system: a number of any size, or a text such as `AS13335`; `None`
/// where it is out of range.
struct AsNumber(Option<u32>);

impl<'d> Deserialize<'d> for AsNumber {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        // One call for every type: each search for a key reads the whole record.
        deserializer.deserialize_any(AsNumberVisitor)
    }
}

struct AsNumberVisitor;

impl Visitor<'_> for AsNumberVisitor {
    type Value = AsNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of an autonomous system")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<AsNumber, E> {
        Ok(AsNumber(
            u32::try_from(number).ok().filter(|number| *number > 0),
        ))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<AsNumber, E> {
        let digits = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        Ok(AsNumber(digits.parse().ok().filter(|number| *number > 0)))
    }
}
