//! Looks up the country, city and autonomous system of addresses in databases in MaxMind's format (MMDB).
//!
//! The user names the files: none comes with the program and none is fetched. A file is read whole. A field that a record
//! lacks, or that has another type, is absent; it is no error.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use maxminddb::{LookupResult, PathElement, Reader};
use serde::Deserialize;
use thiserror::Error;

/// What GeoIP databases have about an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeoInfo {
    /// The country, as two letters of ISO 3166-1.
    pub country: Option<Arc<str>>,
    /// The city, in English.
    pub city: Option<Arc<str>>,
    /// The number of the autonomous system.
    pub asn: Option<u32>,
    /// The name of the autonomous system.
    pub as_name: Option<Arc<str>>,
}

impl GeoInfo {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These fields, and those of `other` where they are absent.
    fn or(self, other: Self) -> Self {
        Self {
            country: self.country.or(other.country),
            city: self.city.or(other.city),
            asn: self.asn.or(other.asn),
            as_name: self.as_name.or(other.as_name),
        }
    }
}

/// Why a database cannot be used.
#[derive(Debug, Error)]
pub enum GeoIpError {
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
pub struct GeoDatabases {
    files: Vec<GeoDatabase>,
}

/// A database in memory.
#[derive(Debug)]
struct GeoDatabase {
    path: PathBuf,
    /// The file that was read.
    stamp: FileStamp,
    /// A replacement that was seen once. It is read when it is the same at the next check: until then it may be incomplete.
    seen: Option<Result<FileStamp, io::ErrorKind>>,
    /// The replacement that was seen is unusable, and that was reported.
    is_rejected: bool,
    content: DatabaseContent,
}

/// The content of a file, and the records that were decoded.
#[derive(Debug)]
struct DatabaseContent {
    reader: Reader<Vec<u8>>,
    /// Decoded records by their offset. Many networks share one.
    records: HashMap<usize, GeoInfo>,
    names: HashSet<Arc<str>>,
}

/// Decoded records that are kept. Above it they are dropped, to bound memory.
const MAX_RECORDS: usize = 1 << 17;

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
        Self { device: meta.dev(), inode: meta.ino(), len: meta.len(), modified: (meta.mtime(), meta.mtime_nsec()) }
    }
}

impl GeoDatabases {
    /// Reads these files.
    ///
    /// # Errors
    ///
    /// A file is missing or is no database.
    pub fn open(paths: &[PathBuf]) -> Result<Self, GeoIpError> {
        let files = paths.iter().map(|path| GeoDatabase::open(path)).collect::<Result<_, _>>()?;
        Ok(Self { files })
    }

    /// Whether there is no database.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What the databases have about an address: each field from the first database that has it.
    pub fn lookup(&mut self, address: IpAddr) -> Option<GeoInfo> {
        let found = self.files.iter_mut().filter_map(|file| file.content.lookup(address)).reduce(GeoInfo::or);
        found.filter(|info| !info.is_empty())
    }

    /// Reads the files again that were replaced, once they no longer change. If a replacement cannot be used, the old database
    /// is kept. Returns notices.
    pub fn reload_changed(&mut self) -> Vec<String> {
        self.files.iter_mut().filter_map(GeoDatabase::reload_changed).collect()
    }
}

impl GeoDatabase {
    fn open(path: &Path) -> Result<Self, GeoIpError> {
        let (stamp, content) = read(path)?;
        Ok(Self { path: path.to_owned(), stamp, seen: None, is_rejected: false, content })
    }

    /// Reads the file again if it was replaced. Returns a notice.
    fn reload_changed(&mut self) -> Option<String> {
        let now = std::fs::metadata(&self.path).map(|meta| FileStamp::new(&meta)).map_err(|error| error.kind());
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
            Ok((stamp, content)) => {
                (self.stamp, self.content, self.seen) = (stamp, content, None);
                Some(format!("--geoip: {} was replaced, and is read again", self.path.display()))
            }
            Err(error) => {
                self.is_rejected = true;
                Some(format!("{error}; the old one is kept"))
            }
        }
    }
}

/// Reads a file whole.
fn read(path: &Path) -> Result<(FileStamp, DatabaseContent), GeoIpError> {
    let unreadable = |source| GeoIpError::Unreadable { path: path.to_owned(), source };
    // Checked first: opening a FIFO would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let stamp = FileStamp::new(&file.metadata().map_err(unreadable)?);
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.len).unwrap_or_default());
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let (found, advice) = describe(&bytes);
    let foreign = |error: maxminddb::MaxMindDbError| {
        let found = found.map_or_else(|| error.to_string(), ToOwned::to_owned);
        GeoIpError::Foreign { path: path.to_owned(), found, advice }
    };
    let reader = Reader::from_source(bytes).map_err(foreign)?;
    Ok((stamp, DatabaseContent { reader, records: HashMap::default(), names: HashSet::default() }))
}

/// Before the metadata, which is at the end of a file.
const METADATA_MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// What a file that is no database seems to be, and what to do about it.
fn describe(bytes: &[u8]) -> (Option<&'static str>, &'static str) {
    const AGAIN: &str = "download it again";
    let is_tar = bytes.get(257..262) == Some(b"ustar");
    let has_metadata = memchr::memmem::rfind(bytes, METADATA_MARKER).is_some();
    match bytes {
        [] => (Some("it is empty"), AGAIN),
        _ if has_metadata => (None, AGAIN),
        [0x1f, 0x8b, ..] => (Some("it is compressed with gzip"), "unpack it, with gunzip or tar -xzf, and name the .mmdb file"),
        [b'P', b'K', 3, 4, ..] => (Some("it is a ZIP archive"), "unpack it and name the .mmdb file"),
        _ if is_tar => (Some("it is a tar archive"), "unpack it with tar -xf and name the .mmdb file"),
        _ if is_text(bytes) => (Some("it is text"), "name the binary edition, whose name ends in .mmdb"),
        _ => (Some("it has no metadata at its end, as if it were cut off or in another format"), AGAIN),
    }
}

/// Whether the first bytes are text, as of a CSV edition or an error page.
fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    head.iter().all(|byte| *byte >= b' ' && *byte != 0x7f || matches!(byte, b'\t' | b'\n' | b'\r')) && head.is_ascii()
}

impl DatabaseContent {
    fn lookup(&mut self, address: IpAddr) -> Option<GeoInfo> {
        // An error is damage, or an IPv6 address in a database of IPv4.
        let result = self.reader.lookup(address).ok()?;
        let offset = result.offset()?;
        if let Some(known) = self.records.get(&offset) {
            return Some(known.clone());
        }
        let mut name = |text: &str| match self.names.get(text) {
            Some(known) => known.clone(),
            None => {
                let name: Arc<str> = text.into();
                self.names.insert(name.clone());
                name
            }
        };
        let fields = RecordFields::new(&result);
        let info = GeoInfo {
            country: fields.country.as_deref().map(&mut name),
            city: fields.city.map(&mut name),
            asn: fields.asn,
            as_name: fields.as_name.map(&mut name),
        };
        if self.records.len() >= MAX_RECORDS {
            self.records.clear();
            self.names.clear();
        }
        self.records.insert(offset, info.clone());
        Some(info)
    }
}

/// A record.
type Record<'d> = LookupResult<'d, Vec<u8>>;

/// The fields of a record.
struct RecordFields<'d> {
    country: Option<String>,
    city: Option<&'d str>,
    asn: Option<u32>,
    as_name: Option<&'d str>,
}

impl<'d> RecordFields<'d> {
    /// Reads the fields under the names that MaxMind and DB-IP give them, then under those of IPinfo. IPinfo's `country` is a
    /// code in some databases, and a name beside a `country_code` in others.
    fn new(record: &Record<'d>) -> Self {
        let code = |path: &[&'static str]| {
            text(record, path).filter(|code| code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_alphabetic()))
        };
        let country = code(&["country", "iso_code"]).or_else(|| code(&["country_code"])).or_else(|| code(&["country"]));
        let asn = asn(record);
        let of_ipinfo = || text(record, &["as_name"]).or_else(|| text(record, &["name"])).filter(|_| asn.is_some());
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

/// The number of the autonomous system: a number of any size, or a text such as `AS13335`.
fn asn(record: &Record<'_>) -> Option<u32> {
    let number = |key| {
        let path: &[&'static str] = &[key];
        let small = || value::<u16>(record, path).map(u32::from);
        let large = || value::<u64>(record, path).and_then(|number| u32::try_from(number).ok());
        let in_text = || text(record, path)?.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse().ok();
        value::<u32>(record, path).or_else(small).or_else(large).or_else(in_text)
    };
    number("autonomous_system_number").or_else(|| number("asn")).filter(|number| *number > 0)
}
