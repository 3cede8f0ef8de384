//! The formats that programs load: firewalls, web servers, CrowdSec, fail2ban, and a table for any
//! other.
//!
//! Each writes the whole set: loading it replaces the entries of an earlier list.

use std::io::{self, Write};

use ipnet::IpNet;

use super::{BlockPage, address_text, encode_word, header, reason};
use crate::report::block_list::BlockEntry;

/// The most members of an ipset. The set of an earlier list must have been created with the same
/// number.
const IPSET_MEMBERS: u32 = 1 << 20;

/// The header as comments that begin with `#`.
fn comments<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    header(page)
        .iter()
        .try_for_each(|line| writeln!(out, "# {line}"))
}

pub(super) fn plain<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    comments(page, out)?;
    page.list
        .entries
        .iter()
        .try_for_each(|entry| writeln!(out, "{}", address_text(&entry.network)))
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
pub(super) fn nft<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    comments(page, out)?;
    let sets = [("block4", "ipv4_addr"), ("block6", "ipv6_addr")];
    writeln!(out, "add table inet probewatch")?;
    for (set, kind) in sets {
        writeln!(
            out,
            "add set inet probewatch {set} {{ type {kind}; flags interval; auto-merge; }}"
        )?;
    }
    for (set, _) in sets {
        writeln!(out, "flush set inet probewatch {set}")?;
    }
    for ((set, _), entries) in sets.iter().zip(families(page)) {
        let Some((last, rest)) = entries.split_last() else {
            continue;
        };
        writeln!(out, "add element inet probewatch {set} {{")?;
        for entry in rest {
            writeln!(
                out,
                "  {}, # {}",
                address_text(&entry.network),
                reason(entry)
            )?;
        }
        writeln!(
            out,
            "  {} # {}\n}}",
            address_text(&last.network),
            reason(last)
        )?;
    }
    Ok(())
}

/// The members go into a new set, which then takes the place of the old one.
pub(super) fn ipset<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    comments(page, out)?;
    for ((set, family), entries) in [("probewatch4", "inet"), ("probewatch6", "inet6")]
        .iter()
        .zip(families(page))
    {
        for name in [(*set).to_owned(), format!("{set}-new")] {
            writeln!(
                out,
                "create {name} hash:net family {family} maxelem {IPSET_MEMBERS} -exist"
            )?;
        }
        writeln!(out, "flush {set}-new")?;
        for entry in entries {
            writeln!(out, "add {set}-new {}", address_text(&entry.network))?;
        }
        writeln!(out, "swap {set} {set}-new\ndestroy {set}-new")?;
    }
    Ok(())
}

pub(super) fn nginx<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    comments(page, out)?;
    page.list.entries.iter().try_for_each(|entry| {
        writeln!(
            out,
            "deny {};  # {}",
            address_text(&entry.network),
            reason(entry)
        )
    })
}

pub(super) fn nginx_geo<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    comments(page, out)?;
    writeln!(out, "geo $probewatch_block {{\n  default 0;")?;
    for entry in &page.list.entries {
        writeln!(
            out,
            "  {} 1;  # {}",
            address_text(&entry.network),
            reason(entry)
        )?;
    }
    writeln!(out, "}}")
}

/// Apache has no comments after a directive.
pub(super) fn apache<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    comments(page, out)?;
    writeln!(out, "<RequireAll>\n  Require all granted")?;
    for entry in &page.list.entries {
        writeln!(
            out,
            "  # {}\n  Require not ip {}",
            reason(entry),
            address_text(&entry.network)
        )?;
    }
    writeln!(out, "</RequireAll>")
}

/// The first line names the columns, so there is no header.
pub(super) fn crowdsec<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    writeln!(out, "duration,reason,scope,type,value")?;
    for entry in &page.list.entries {
        let is_address = entry.network.prefix_len() == entry.network.max_prefix_len();
        let scope = if is_address { "ip" } else { "range" };
        writeln!(
            out,
            "{}s,\"{}\",{scope},ban,{}",
            seconds_left(page, entry),
            reason(entry),
            address_text(&entry.network)
        )?;
    }
    Ok(())
}

/// How long an entry stays on the list, at least a second.
fn seconds_left(page: &BlockPage<'_>, entry: &BlockEntry) -> u64 {
    let ttl = page.list.ttl.as_secs();
    // A server whose clock is ahead must not make it longer.
    let age = u64::try_from(page.list.now.saturating_sub(entry.last_time().utc)).unwrap_or(0);
    ttl.saturating_sub(age).max(1)
}

/// In the order of time, as in any log. The time is that of the log's own clock, without an offset:
/// fail2ban reads it in the time zone of the host.
pub(super) fn fail2ban<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    let mut entries: Vec<_> = page.list.entries.iter().collect();
    entries.sort_by_key(|entry| (entry.last_time(), entry.network));
    for entry in entries {
        let time = entry.last_time().rfc3339();
        let (date, clock) = (
            time.get(..10).unwrap_or_default(),
            time.get(11..19).unwrap_or_default(),
        );
        writeln!(
            out,
            "{date} {clock} probewatch: block {} {}",
            address_text(&entry.network),
            reason(entry)
        )?;
    }
    Ok(())
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

pub(super) fn csv<W: Write>(page: &BlockPage<'_>, out: &mut W) -> io::Result<()> {
    writeln!(out, "{}", CSV_COLUMNS.join(","))?;
    for entry in &page.list.entries {
        let classes: Vec<_> = entry
            .classes
            .iter()
            .map(|class| encode_word(class.as_bytes(), 60))
            .collect();
        let samples: Vec<_> = entry
            .samples
            .iter()
            .map(|sample| encode_word(sample.as_bytes(), 200))
            .collect();
        writeln!(
            out,
            "{},{},\"{}\",{},{},{},{},{},{},\"{}\",\"{}\"",
            address_text(&entry.network),
            entry.severity.as_str(),
            classes.join(";"),
            entry.hits,
            entry.paths,
            entry.addresses,
            entry.ordinary,
            entry.first_time().rfc3339(),
            entry.last_time().rfc3339(),
            samples.join(";"),
            reason(entry)
        )?;
    }
    Ok(())
}
