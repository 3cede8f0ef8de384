//! Writes a block list for a firewall, a web server, CrowdSec, fail2ban or an abuse desk.
//!
//! The analysis has decided who is listed. Entries are in the order of the list, one a line, and the header has the time of the
//! logs and not that of the run, so that two lists of the same logs are equal. An empty list is a file that clears the set.
//!
//! Text of a log is only in comments and reasons. There each byte that is not plain is percent-encoded, so that no text can end a
//! line, a comment or a string of any format, nor continue one on the next line.

mod abuse;
mod program;

pub(crate) use self::abuse::ABUSE_HEADER;
pub(crate) use self::program::CSV_COLUMNS;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use ipnet::IpNet;

use crate::analysis::block_list::{BlockEntry, BlockList};
use crate::geoip::GeoInfo;
use crate::number::{counted, grouped};

/// The format of a block list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BlockFormat {
    /// An address or network a line.
    #[default]
    Plain,
    /// A file for `nft -f`.
    Nft,
    /// A file for `ipset restore`.
    Ipset,
    /// `deny` lines for nginx.
    Nginx,
    /// A `geo` block for nginx.
    NginxGeo,
    /// A `RequireAll` block for Apache.
    Apache,
    /// CSV for `cscli decisions import`.
    Crowdsec,
    /// A log for a jail of fail2ban.
    Fail2ban,
    /// CSV for the bulk report of AbuseIPDB.
    Abuseipdb,
    /// Text for a mail to each network.
    AbuseMail,
    /// A table.
    Csv,
}

impl BlockFormat {
    /// Whether it is a report to others, which is sent once, and not a list that is replaced.
    #[must_use]
    pub(crate) fn is_abuse_report(self) -> bool {
        matches!(self, Self::Abuseipdb | Self::AbuseMail)
    }
}

/// A block list with what its header needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPage<'a> {
    /// The list.
    pub list: &'a BlockList,
    /// What it was made from, as the user named it.
    pub sources: &'a [Vec<u8>],
    /// What GeoIP databases have about the entries; empty without a database.
    pub geo: &'a [Option<Arc<GeoInfo>>],
}

/// Writes a list.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write<W: Write>(page: &BlockPage<'_>, format: BlockFormat, out: &mut W) -> io::Result<()> {
    match format {
        BlockFormat::Plain => program::plain(page, out),
        BlockFormat::Nft => program::nft(page, out),
        BlockFormat::Ipset => program::ipset(page, out),
        BlockFormat::Nginx => program::nginx(page, out),
        BlockFormat::NginxGeo => program::nginx_geo(page, out),
        BlockFormat::Apache => program::apache(page, out),
        BlockFormat::Crowdsec => program::crowdsec(page, out),
        BlockFormat::Fail2ban => program::fail2ban(page, out),
        BlockFormat::Csv => program::csv(page, out),
        BlockFormat::Abuseipdb => abuse::files(page).iter().try_for_each(|file| out.write_all(file)),
        BlockFormat::AbuseMail => abuse::mail(page, out),
    }
}

/// The files of a list: one, except for a format that limits their size.
#[must_use]
pub(crate) fn abuse_files(page: &BlockPage<'_>) -> Vec<Vec<u8>> {
    abuse::files(page)
}

/// An address, or a network.
fn who(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() { network.addr().to_string() } else { network.to_string() }
}

/// Names of inputs in a header.
const SOURCES: usize = 3;

/// The lines of a header, without the marks of a comment.
fn header(page: &BlockPage<'_>) -> [String; 3] {
    let BlockList { entries, until, ttl, left_out, .. } = page.list;
    let names: Vec<_> = page.sources.iter().take(SOURCES).map(|name| plain_text(name, 200)).collect();
    let more = match page.sources.len().saturating_sub(SOURCES) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    let until = until.map_or_else(|| "no line has a time".to_owned(), |until| format!("last line {}", until.rfc3339_utc()));
    let left_out = match left_out {
        0 => String::new(),
        n => format!("; {} more are left out", grouped(*n as u64)),
    };
    [
        format!("probewatch {}: {} to block{left_out}", env!("CARGO_PKG_VERSION"), counted(entries.len() as u64, "entry", "entries")),
        format!("from {}{more}; {until}", names.join(", ")),
        format!("an entry leaves the list {} after its last probe", duration(ttl.as_secs())),
    ]
}

/// A length of time in the largest whole unit.
fn duration(seconds: u64) -> String {
    match seconds {
        s if s > 0 && s.is_multiple_of(3_600) => format!("{}h", s / 3_600),
        s if s > 0 && s.is_multiple_of(60) => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

/// The reason for an entry: plain text of one line.
fn reason(entry: &BlockEntry) -> String {
    let mut text = activity(entry);
    if !entry.samples.is_empty() {
        text.push_str(": ");
        text.push_str(&samples(entry));
    }
    text.push_str("; last ");
    text.push_str(&entry.last_time().rfc3339_utc());
    if entry.ordinary > 0 {
        text.push_str("; would also have blocked ");
        text.push_str(&counted(entry.ordinary, "ordinary request", "ordinary requests"));
    }
    text
}

/// What an entry did: `12 probes of 5 paths by 2 addresses`.
fn activity(entry: &BlockEntry) -> String {
    let by = match entry.addresses {
        0 | 1 => String::new(),
        many => format!(" by {} addresses", grouped(many)),
    };
    format!("{} of {}{by}", counted(entry.hits, "probe", "probes"), counted(entry.paths, "path", "paths"))
}

/// The paths that are shown of an entry.
fn samples(entry: &BlockEntry) -> String {
    if entry.samples.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = entry.samples.iter().map(|sample| word(sample.as_bytes(), 80)).collect();
    let more = if entry.paths > shown.len() as u64 { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A text without spaces, of at most about `most` bytes: what is not plain is percent-encoded.
fn word(text: &[u8], most: usize) -> String {
    encoded(text, most, |byte| byte.is_ascii_alphanumeric() || b"/.-_~+*:@=&?!,%".contains(&byte))
}

/// The same with spaces.
fn plain_text(text: &[u8], most: usize) -> String {
    encoded(text, most, |byte| byte.is_ascii_alphanumeric() || b" /.-_~+*:@=&?!,()".contains(&byte))
}

fn encoded(text: &[u8], most: usize, is_plain: fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len().min(most) + 8);
    for &byte in text {
        if out.len() >= most {
            out.push_str("...");
            break;
        }
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            // A string takes any text.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
