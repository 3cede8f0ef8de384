//! The formats that programs load: firewalls, web servers, CrowdSec, fail2ban, and a table for any
//! other.
//!
//! Each writes the whole set: loading it replaces the entries of an earlier list.

use std::fmt::Write as _;

use ipnet::IpNet;

use super::{BlockPage, address_text, encode_word, header, reason};
use crate::report::block_list::BlockEntry;

/// The most members of an ipset. The set of an earlier list must have been created with the same
/// number.
const IPSET_MEMBERS: u32 = 1 << 20;

/// The header as comments that begin with `#`.
fn comments(page: &BlockPage<'_>) -> String {
    header(page).map(|line| format!("# {line}\n")).concat()
}

/// What `line` makes of each entry and its address, and a newline.
fn lines<'e>(
    entries: impl IntoIterator<Item = &'e BlockEntry>,
    line: impl Fn(&BlockEntry, &str) -> String,
) -> String {
    entries
        .into_iter()
        .map(|entry| line(entry, &address_text(&entry.network)) + "\n")
        .collect()
}

pub(super) fn plain(page: &BlockPage<'_>) -> String {
    let addresses = lines(&page.list.entries, |_, address| address.to_owned());
    format!("{}{addresses}", comments(page))
}

/// The entries of IPv4, then those of IPv6.
fn families<'a>(page: &BlockPage<'a>) -> [Vec<&'a BlockEntry>; 2] {
    let (four, six) = page
        .list
        .entries
        .iter()
        .partition(|entry| matches!(entry.network, IpNet::V4(_)));
    [four, six]
}

/// `nft -f` runs a file as one transaction: the old set stays if a line is refused.
pub(super) fn nft(page: &BlockPage<'_>) -> String {
    let sets = [("block4", "ipv4_addr"), ("block6", "ipv6_addr")];
    let mut text = comments(page) + "add table inet probewatch\n";
    for (set, kind) in sets {
        // Writing to a `String` does not fail.
        let _ = writeln!(
            text,
            "add set inet probewatch {set} {{ type {kind}; flags interval; auto-merge; }}"
        );
    }
    for (set, _) in sets {
        let _ = writeln!(text, "flush set inet probewatch {set}");
    }
    for ((set, _), entries) in sets.iter().zip(families(page)) {
        let Some((last, rest)) = entries.split_last() else {
            continue;
        };
        let element = |comma: &'static str| {
            move |entry: &BlockEntry, address: &str| {
                format!("  {address}{comma} # {}", reason(entry))
            }
        };
        let _ = write!(
            text,
            "add element inet probewatch {set} {{\n{}{}}}\n",
            lines(rest.iter().copied(), element(",")),
            lines([*last], element(""))
        );
    }
    text
}

/// The members go into a new set, which then takes the place of the old one.
pub(super) fn ipset(page: &BlockPage<'_>) -> String {
    let mut text = comments(page);
    for ((set, family), entries) in [("probewatch4", "inet"), ("probewatch6", "inet6")]
        .iter()
        .zip(families(page))
    {
        for name in [(*set).to_owned(), format!("{set}-new")] {
            let _ = writeln!(
                text,
                "create {name} hash:net family {family} maxelem {IPSET_MEMBERS} -exist"
            );
        }
        let members = lines(entries, |_, address| format!("add {set}-new {address}"));
        let _ = write!(
            text,
            "flush {set}-new\n{members}swap {set} {set}-new\ndestroy {set}-new\n"
        );
    }
    text
}

pub(super) fn nginx(page: &BlockPage<'_>) -> String {
    let denied = lines(&page.list.entries, |entry, address| {
        format!("deny {address};  # {}", reason(entry))
    });
    format!("{}{denied}", comments(page))
}

pub(super) fn nginx_geo(page: &BlockPage<'_>) -> String {
    let marked = lines(&page.list.entries, |entry, address| {
        format!("  {address} 1;  # {}", reason(entry))
    });
    let comments = comments(page);
    format!("{comments}geo $probewatch_block {{\n  default 0;\n{marked}}}\n")
}

/// Apache has no comments after a directive.
pub(super) fn apache(page: &BlockPage<'_>) -> String {
    let refused = lines(&page.list.entries, |entry, address| {
        format!("  # {}\n  Require not ip {address}", reason(entry))
    });
    let comments = comments(page);
    format!("{comments}<RequireAll>\n  Require all granted\n{refused}</RequireAll>\n")
}

/// The first line names the columns, so there is no header.
pub(super) fn crowdsec(page: &BlockPage<'_>) -> String {
    let bans = lines(&page.list.entries, |entry, address| {
        let is_address = entry.network.prefix_len() == entry.network.max_prefix_len();
        let scope = if is_address { "ip" } else { "range" };
        let (left, reason) = (seconds_left(page, entry), reason(entry));
        format!("{left}s,\"{reason}\",{scope},ban,{address}")
    });
    format!("duration,reason,scope,type,value\n{bans}")
}

/// How long an entry stays on the list, at least a second.
fn seconds_left(page: &BlockPage<'_>, entry: &BlockEntry) -> u64 {
    let ttl = page.list.ttl.as_secs();
    // A server whose clock is ahead must not make it longer.
    let age = u64::try_from(page.list.now.saturating_sub(entry.last.utc)).unwrap_or(0);
    ttl.saturating_sub(age).max(1)
}

/// In the order of time, as in any log. The time is that of the log's own clock, without an offset:
/// fail2ban reads it in the time zone of the host.
pub(super) fn fail2ban(page: &BlockPage<'_>) -> String {
    let mut entries: Vec<_> = page.list.entries.iter().collect();
    entries.sort_by_key(|entry| (entry.last, entry.network));
    lines(entries, |entry, address| {
        let time = entry.last.rfc3339();
        let (date, clock) = (
            time.get(..10).unwrap_or_default(),
            time.get(11..19).unwrap_or_default(),
        );
        let reason = reason(entry);
        format!("{date} {clock} probewatch: block {address} {reason}")
    })
}

/// The columns of the table.
pub(crate) const CSV_COLUMNS: [&str; 11] = [
    "address",
    "severity",
    "classes",
    "hits",
    "paths",
    "addresses",
    "other_requests",
    "first_time",
    "last_time",
    "sample_paths",
    "block_reason",
];

pub(super) fn csv(page: &BlockPage<'_>) -> String {
    let encoded = |words: &[String], most| {
        let words = words.iter().map(|word| encode_word(word.as_bytes(), most));
        words.collect::<Vec<_>>().join(";")
    };
    let rows = lines(&page.list.entries, |entry, address| {
        format!(
            "{address},{},\"{}\",{},{},{},{},{},{},\"{}\",\"{}\"",
            entry.severity.as_str(),
            encoded(&entry.classes, 60),
            entry.hits,
            entry.paths,
            entry.addresses,
            entry.ordinary,
            entry.first.rfc3339(),
            entry.last.rfc3339(),
            encoded(&entry.samples, 200),
            reason(entry)
        )
    });
    format!("{}\n{rows}", CSV_COLUMNS.join(","))
}
