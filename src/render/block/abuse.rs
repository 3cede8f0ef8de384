//! Reports to others: the bulk CSV of AbuseIPDB, and text to paste into a mail to each network.
//!
//! They name what was requested and how often, and nothing about the own site: no host name, no
//! referer, no user of the site.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{BlockPage, activity, address_text, plain_text, samples};
use crate::geoip::GeoInfo;
use crate::report::block_list::BlockEntry;
use crate::report::labels;
use crate::rules::Class;
use crate::text::number::counted;

/// The first line of each file.
pub(crate) const ABUSE_HEADER: &str = "IP,Categories,ReportDate,Comment\n";

/// The most lines of a file, below the limit of 10,000.
const MAX_LINES: usize = 9_990;

/// The most bytes of a file, below the lower of the documented limits, 2 MB.
const MAX_BYTES: usize = 1_990_000;

/// The age of the oldest attack that AbuseIPDB accepts, in days.
pub(crate) const ABUSE_DAYS: i64 = 60;

/// Entries that are in no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unaccepted {
    /// Those whose last attack is too old.
    pub old: usize,
    /// The others without an address: of clients that were counted by prefix, no single one is
    /// known.
    pub networks: usize,
}

fn is_old(page: &BlockPage<'_>, entry: &BlockEntry) -> bool {
    page.list.now.saturating_sub(entry.last.utc) >= ABUSE_DAYS * 24 * 60 * 60
}

fn has_address(entry: &BlockEntry) -> bool {
    matches!(entry.network, IpNet::V4(_)) || entry.address != entry.network.network()
}

/// The entries that are in no file.
pub(crate) fn unaccepted(page: &BlockPage<'_>) -> Unaccepted {
    let (old, new): (Vec<_>, Vec<_>) = page
        .list
        .entries
        .iter()
        .partition(|entry| is_old(page, entry));
    Unaccepted {
        old: old.len(),
        networks: new.into_iter().filter(|entry| !has_address(entry)).count(),
    }
}

/// Files for the bulk report, at least one.
pub(crate) fn abuse_files(page: &BlockPage<'_>) -> Vec<Vec<u8>> {
    let mut files = vec![ABUSE_HEADER.as_bytes().to_vec()];
    let mut lines = 1;
    for entry in page
        .list
        .entries
        .iter()
        .filter(|entry| !is_old(page, entry) && has_address(entry))
    {
        let line = bulk_line(entry);
        if let Some(file) = files.last_mut()
            && lines < MAX_LINES
            && file.len() + line.len() < MAX_BYTES
        {
            file.extend_from_slice(line.as_bytes());
            lines += 1;
        } else {
            files.push([ABUSE_HEADER.as_bytes(), line.as_bytes()].concat());
            lines = 2;
        }
    }
    files
}

fn bulk_line(entry: &BlockEntry) -> String {
    let categories: Vec<String> = categories(&entry.classes)
        .iter()
        .map(u8::to_string)
        .collect();
    let mut comment = activity(entry);
    if !entry.samples.is_empty() {
        comment.push_str(": ");
        comment.push_str(&samples(entry));
    }
    comment.extend([
        "; ",
        &entry.first.rfc3339_utc(),
        " to ",
        &entry.last.rfc3339_utc(),
    ]);
    format!(
        "{},\"{}\",{},\"{comment}\"\n",
        entry.address,
        categories.join(","),
        entry.last.rfc3339()
    )
}

/// The category of an attack on a web application.
const WEB_APP_ATTACK: u8 = 21;

/// The categories of AbuseIPDB for classes of rules, sorted.
fn categories(classes: &[String]) -> Vec<u8> {
    let mut found: Vec<u8> = classes
        .iter()
        .flat_map(|class| categories_of(class))
        .copied()
        .collect();
    if found.is_empty() {
        found.push(WEB_APP_ATTACK);
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn categories_of(class: &str) -> &'static [u8] {
    match Class::find(class) {
        Some(Class { abuse: [], .. }) | None => &[WEB_APP_ATTACK],
        Some(class) => class.abuse,
    }
}

/// The party that a mail goes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Recipient {
    /// An autonomous system: its number and name.
    System(u32, String),
    /// A /24 or an IPv6 network whose system is unknown.
    Network(IpNet),
}

impl Recipient {
    fn new(entry: &BlockEntry, geo: Option<&GeoInfo>) -> Self {
        match geo.and_then(|geo| {
            Some((
                geo.asn?,
                labels::geo_name(geo.as_name.as_ref()).unwrap_or_default(),
            ))
        }) {
            Some((asn, name)) => Self::System(asn, plain_text(name.as_bytes(), 80)),
            None => Self::Network(match (entry.network, entry.address) {
                (IpNet::V4(_), IpAddr::V4(address)) => {
                    IpNet::new(address.into(), 24).map_or(entry.network, |network| network.trunc())
                }
                _ => entry.network,
            }),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::System(asn, name) if name.is_empty() => format!("AS{asn}"),
            Self::System(asn, name) => format!("AS{asn} {name}"),
            Self::Network(network) => network.to_string(),
        }
    }
}

/// A text for each network, in the order of their numbers.
pub(super) fn mail(page: &BlockPage<'_>) -> String {
    let mut texts: BTreeMap<Recipient, Vec<&BlockEntry>> = BTreeMap::new();
    for (number, entry) in page.list.entries.iter().enumerate() {
        let geo = page.geo.get(number).and_then(|geo| geo.as_deref());
        texts
            .entry(Recipient::new(entry, geo))
            .or_default()
            .push(entry);
    }
    let texts = texts
        .iter()
        .map(|(recipient, entries)| mail_to(recipient, entries));
    texts
        .collect::<Vec<_>>()
        .join("\n----------------------------------------------------------------\n\n")
}

fn mail_to(recipient: &Recipient, entries: &[&BlockEntry]) -> String {
    let hosts = counted(entries.len() as u64, "address", "addresses");
    let recipient = recipient.text();
    let mut text = format!(
        "To: the abuse contact of {recipient}\n\
         Subject: Probes for vulnerable web applications from {hosts} of {recipient}\n\n\
         Hello,\n\n\
         we received requests from {hosts} of your network that look for vulnerable software or exposed\n\
         files on a web server. Hosts that send them are often compromised. Times are in UTC.\n\n"
    );
    for entry in entries {
        // Writing to a `String` does not fail.
        let _ = write!(
            text,
            "  {}\n    {}, {} to {}\n",
            address_text(&entry.network),
            activity(entry),
            entry.first.rfc3339_utc(),
            entry.last.rfc3339_utc()
        );
        if !entry.samples.is_empty() {
            let _ = writeln!(text, "    {}", samples(entry));
        }
    }
    text + "\nPlease look into it.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_a_category() {
        let of = |classes: &[&str]| {
            categories(&classes.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), [21]);
        assert_eq!(of(&["vcs-exposure"]), [21]);
        assert_eq!(of(&["iot", "sqli", "vcs-exposure"]), [16, 21, 23]);
        assert_eq!(of(&["non-http"]), [14]);
    }
}
