//! Writes a block list for a firewall, a web server, CrowdSec, fail2ban or an abuse desk.
//!
//! The analysis has decided who is listed. Entries are in the order of the list, one a line, and
//! the header has the time of the logs and not that of the run, so that two lists of the same logs
//! are equal. An empty list is a file that clears the set.
//!
//! Text of a log is only in comments and reasons. There each byte that is not plain is
//! percent-encoded, so that no text can end a line, a comment or a string of any format, nor
//! continue one on the next line.

mod abuse;
mod program;

pub(crate) use self::abuse::{ABUSE_DAYS, ABUSE_HEADER, Unaccepted, abuse_files, unaccepted};
pub(crate) use self::program::CSV_COLUMNS;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use clap::ValueEnum;
use ipnet::IpNet;

use crate::geoip::GeoInfo;
use crate::report::block_list::{BlockEntry, BlockList};
use crate::text::number::{counted, grouped};

/// The format of a block list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[expect(
    clippy::doc_markdown,
    reason = "the comments are the help of the values"
)]
pub(crate) enum BlockFormat {
    /// An address or network a line.
    #[default]
    Plain,
    /// Sets for nft -f.
    Nft,
    /// Sets for ipset restore.
    Ipset,
    /// deny lines for nginx.
    Nginx,
    /// A geo block for nginx.
    NginxGeo,
    /// A RequireAll block for Apache.
    Apache,
    /// CSV for cscli decisions import.
    Crowdsec,
    /// A log for a jail of fail2ban.
    Fail2ban,
    /// CSV for the bulk report of AbuseIPDB.
    Abuseipdb,
    /// Text for a mail to each network.
    AbuseMail,
    /// One CSV table.
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
/// Errors of `out`.
pub(crate) fn write<W: Write>(
    page: &BlockPage<'_>,
    format: BlockFormat,
    out: &mut W,
) -> io::Result<()> {
    let text = match format {
        BlockFormat::Plain => program::plain(page),
        BlockFormat::Nft => program::nft(page),
        BlockFormat::Ipset => program::ipset(page),
        BlockFormat::Nginx => program::nginx(page),
        BlockFormat::NginxGeo => program::nginx_geo(page),
        BlockFormat::Apache => program::apache(page),
        BlockFormat::Crowdsec => program::crowdsec(page),
        BlockFormat::Fail2ban => program::fail2ban(page),
        BlockFormat::Csv => program::csv(page),
        BlockFormat::AbuseMail => abuse::mail(page),
        BlockFormat::Abuseipdb => return out.write_all(&abuse_files(page).concat()),
    };
    out.write_all(text.as_bytes())
}

/// An address, or a network.
fn address_text(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() {
        network.addr().to_string()
    } else {
        network.to_string()
    }
}

/// Names of inputs in a header.
const SOURCES: usize = 3;

/// The lines of a header, without the marks of a comment.
fn header(page: &BlockPage<'_>) -> [String; 3] {
    let BlockList {
        entries,
        until,
        ttl,
        left_out,
        ..
    } = page.list;
    let names: Vec<_> = page
        .sources
        .iter()
        .take(SOURCES)
        .map(|name| plain_text(name, 200))
        .collect();
    let more = match page.sources.len().saturating_sub(SOURCES) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    let until = until.map_or_else(
        || "no line has a time".to_owned(),
        |until| format!("last line {}", until.rfc3339_utc()),
    );
    let left_out = match left_out {
        0 => String::new(),
        n => format!("; {} more are left out", grouped(*n as u64)),
    };
    [
        format!(
            "probewatch {}: {} to block{left_out}",
            env!("CARGO_PKG_VERSION"),
            counted(entries.len() as u64, "entry", "entries")
        ),
        format!("from {}{more}; {until}", names.join(", ")),
        format!(
            "an entry leaves the list {} after its last probe",
            duration(ttl.as_secs())
        ),
    ]
}

/// A length of time in the largest whole unit.
#[must_use]
pub(crate) fn duration(seconds: u64) -> String {
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
    text.push_str(&entry.last.rfc3339_utc());
    if entry.ordinary > 0 {
        text.push_str("; would also have blocked ");
        text.push_str(&counted(
            entry.ordinary,
            "ordinary request",
            "ordinary requests",
        ));
    }
    text
}

/// What an entry did: `12 probes of 5 paths by 2 addresses`.
fn activity(entry: &BlockEntry) -> String {
    let by = match entry.addresses {
        0 | 1 => String::new(),
        many => format!(" by {} addresses", grouped(many)),
    };
    format!(
        "{} of {}{by}",
        counted(entry.hits, "probe", "probes"),
        counted(entry.paths, "path", "paths")
    )
}

/// The paths that are shown of an entry.
fn samples(entry: &BlockEntry) -> String {
    if entry.samples.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = entry
        .samples
        .iter()
        .map(|sample| encode_word(sample.as_bytes(), 80))
        .collect();
    let more = if entry.paths > shown.len() as u64 {
        ", ..."
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

/// A text without spaces, of at most about `max` bytes: what is not plain is percent-encoded.
fn encode_word(text: &[u8], max: usize) -> String {
    encoded(text, max, |byte| {
        byte.is_ascii_alphanumeric() || b"/.-_~+*:@=&?!,%".contains(&byte)
    })
}

/// A text in a comment: printable ASCII with spaces, the rest percent-encoded.
fn plain_text(text: &[u8], max: usize) -> String {
    encoded(text, max, |byte| {
        byte.is_ascii_alphanumeric() || b" /.-_~+*:@=&?!,()".contains(&byte)
    })
}

fn encoded(text: &[u8], max: usize, is_plain: fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len().min(max) + 8);
    for &byte in text {
        if out.len() >= max {
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
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;
    use crate::log::time::LogTime;

    /// 2026-11-02T08:01:00Z.
    const TIME: i64 = 1_793_606_460;
    const TTL: Duration = Duration::from_secs(86_400);

    const FORMATS: [BlockFormat; 11] = [
        BlockFormat::Plain,
        BlockFormat::Nft,
        BlockFormat::Ipset,
        BlockFormat::Nginx,
        BlockFormat::NginxGeo,
        BlockFormat::Apache,
        BlockFormat::Crowdsec,
        BlockFormat::Fail2ban,
        BlockFormat::Abuseipdb,
        BlockFormat::AbuseMail,
        BlockFormat::Csv,
    ];

    fn time(minute: i64) -> LogTime {
        LogTime {
            utc: TIME + minute * 60,
            offset: 60,
        }
    }

    fn entry(network: &str, hits: u64, samples: &[&str], classes: &[&str]) -> BlockEntry {
        BlockEntry::for_test(
            network.parse().unwrap(),
            hits,
            samples,
            classes,
            (time(0), time(hits.min(500).cast_signed())),
        )
    }

    fn list(entries: Vec<BlockEntry>) -> BlockList {
        BlockList {
            entries,
            until: Some(time(600)),
            costly: 0,
            expired: 0,
            possible_proxy: None,
            left_out: 0,
            never: BTreeMap::new(),
            now: TIME + 40_000,
            ttl: TTL,
        }
    }

    fn small() -> BlockList {
        let mut shared = entry(
            "203.0.113.0/24",
            30,
            &["/.env", "/wp-login.php", "/.git/config"],
            &["config-exposure", "wordpress"],
        );
        (shared.addresses, shared.ordinary, shared.paths) = (4, 2, 9);
        list(vec![
            entry("198.51.100.7/32", 1, &["/setup.cgi"], &["iot", "rce"]),
            shared,
            entry("2001:db8:1:2::/64", 3, &["/a b\"#\\"], &["sqli"]),
        ])
    }

    fn written(
        list: &BlockList,
        format: BlockFormat,
        sources: &[Vec<u8>],
        geo: &[Option<Arc<GeoInfo>>],
    ) -> String {
        let mut out = Vec::new();
        write(&BlockPage { list, sources, geo }, format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_format() {
        for format in FORMATS {
            let text = written(&small(), format, &[b"access.log".to_vec()], &[]);
            // The version is in the header only.
            assert_snapshot!(
                format!("{format:?}").to_lowercase(),
                text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
            );
        }
    }

    #[test]
    fn an_empty_list_is_a_whole_file() {
        for format in FORMATS {
            let text = written(&list(Vec::new()), format, &[], &[]);
            match format {
                BlockFormat::Fail2ban | BlockFormat::AbuseMail => assert_eq!(text, ""),
                BlockFormat::Nft => assert!(
                    text.contains("flush set inet probewatch block4\n")
                        && !text.contains("add element"),
                    "{text}"
                ),
                BlockFormat::Ipset => assert!(
                    text.contains("flush probewatch6-new\nswap probewatch6 probewatch6-new\n"),
                    "{text}"
                ),
                _ => assert!(text.ends_with('\n') && !text.is_empty(), "{format:?}"),
            }
        }
    }

    #[test]
    fn files_of_abuseipdb_keep_below_its_limits() {
        let address = |n: u32| format!("{}/32", std::net::Ipv4Addr::from_bits(0xcb00_7100 + n));
        let path = "/".to_owned() + &"x".repeat(190);
        let all = list(
            (0..25_000)
                .map(|n| entry(&address(n), 2, &[&path, "/.env", "/b"], &["sqli"]))
                .collect(),
        );
        let files = abuse_files(&BlockPage {
            list: &all,
            sources: &[],
            geo: &[],
        });
        assert!(files.len() >= 3);
        let mut lines = 0;
        for file in &files {
            let text = std::str::from_utf8(file).unwrap();
            assert!(file.len() < 2_000_000 && text.lines().count() < 10_000);
            assert!(text.starts_with(ABUSE_HEADER));
            assert!(text.lines().all(|line| line.len() < 1_024));
            lines += text.lines().count() - 1;
        }
        assert_eq!(lines, 25_000);
        // Old attacks are not accepted.
        let old = BlockList {
            now: TIME + 61 * 86_400,
            ..small()
        };
        assert_eq!(
            abuse_files(&BlockPage {
                list: &old,
                sources: &[],
                geo: &[]
            }),
            [ABUSE_HEADER.as_bytes()]
        );
    }

    #[test]
    fn mails_are_grouped_by_system() {
        let geo = |asn, name: &str| {
            Some(Arc::new(GeoInfo {
                asn: Some(asn),
                as_name: Some(name.into()),
                ..GeoInfo::default()
            }))
        };
        let all = small();
        let text = written(
            &all,
            BlockFormat::AbuseMail,
            &[],
            &[geo(64_500, "Example"), None, geo(64_500, "Example")],
        );
        let to: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("To: "))
            .collect();
        assert_eq!(
            to,
            [
                "To: the abuse contact of AS64500 Example",
                "To: the abuse contact of 203.0.113.0/24"
            ]
        );
    }

    /// The addresses that a program reads from a file of this format.
    fn parsed(text: &str, format: BlockFormat) -> Vec<String> {
        let code = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
        let lines = || text.lines().map(code).filter(|line| !line.is_empty());
        let between = |line: &str, start: &str, end: &str| {
            line.strip_prefix(start)
                .and_then(|rest| rest.strip_suffix(end))
                .map(str::to_owned)
        };
        match format {
            BlockFormat::Plain => lines().collect(),
            BlockFormat::Nft => {
                let code: String = lines().collect();
                let elements = code.split("add element inet probewatch block").skip(1);
                let addresses = elements.flat_map(|set| {
                    set[1..]
                        .trim()
                        .strip_prefix('{')
                        .unwrap()
                        .split('}')
                        .next()
                        .unwrap()
                        .split(',')
                });
                addresses.map(|address| address.trim().to_owned()).collect()
            }
            BlockFormat::Ipset => lines()
                .filter_map(|line| {
                    line.strip_prefix("add ")?
                        .split(' ')
                        .nth(1)
                        .map(str::to_owned)
                })
                .collect(),
            BlockFormat::Nginx => lines()
                .map(|line| between(&line, "deny ", ";").unwrap())
                .collect(),
            BlockFormat::NginxGeo => {
                let all: Vec<_> = lines().collect();
                assert_eq!(
                    (&*all[0], &*all[1], all.last().unwrap().as_str()),
                    ("geo $probewatch_block {", "default 0;", "}")
                );
                all[2..all.len() - 1]
                    .iter()
                    .map(|line| between(line, "", " 1;").unwrap())
                    .collect()
            }
            BlockFormat::Apache => {
                assert!(text.lines().all(|line| !line.ends_with('\\')));
                let all: Vec<_> = lines().collect();
                assert_eq!(
                    (&*all[0], &*all[1], all.last().unwrap().as_str()),
                    ("<RequireAll>", "Require all granted", "</RequireAll>")
                );
                all[2..all.len() - 1]
                    .iter()
                    .map(|line| between(line, "Require not ip ", "").unwrap())
                    .collect()
            }
            BlockFormat::Crowdsec => cells(text, 5)
                .into_iter()
                .map(|row| row[4].clone())
                .collect(),
            BlockFormat::Csv => cells(text, 11)
                .into_iter()
                .map(|row| row[0].clone())
                .collect(),
            BlockFormat::Abuseipdb => {
                let rows = cells(text, 4);
                assert!(
                    rows.iter()
                        .all(|row| !row[3].contains(['"', '\\']) && row[3].len() <= 1_024)
                );
                rows.into_iter().map(|row| row[0].clone()).collect()
            }
            BlockFormat::Fail2ban => {
                let blocked = |line: &str| {
                    line.split_once(" probewatch: block ")
                        .unwrap()
                        .1
                        .split(' ')
                        .next()
                        .unwrap()
                        .to_owned()
                };
                assert!(
                    text.lines()
                        .all(|line| line.matches("probewatch: block").count() == 1)
                );
                text.lines().map(blocked).collect()
            }
            BlockFormat::AbuseMail => text
                .lines()
                .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
                .map(|line| line.trim().to_owned())
                .collect(),
        }
    }

    /// The rows after the header, each with this many cells.
    fn cells(text: &str, count: usize) -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), count);
        reader
            .records()
            .map(|row| row.unwrap().iter().map(str::to_owned).collect())
            .collect()
    }

    /// Text that could end a line, a comment, a block or a string.
    fn hostile() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "\n",
            "\r",
            "\\",
            "\\\n",
            "\"",
            "'",
            "#",
            ";",
            "}",
            "{",
            "*/",
            "deny 9.9.9.9;",
            "add element",
            ",",
            "<",
            ">",
            "$(x)",
            "`",
            "\0",
            "\u{2028}",
            "probewatch: block 8.8.8.8",
            "=1+1",
            "/",
            " ",
            "%0a",
            "\u{1b}[2J",
            "x",
            "</RequireAll>",
            "swap a b",
            "é",
        ]);
        prop_oneof![
            prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat()),
            ".{0,40}"
        ]
    }

    proptest! {
        #[test]
        fn hostile_text_ends_no_line_comment_or_string(
            samples in prop::collection::vec(hostile(), 0..4),
            class in hostile(),
            source in prop::collection::vec(any::<u8>(), 0..60),
            name in hostile(),
        ) {
            let samples: Vec<_> = samples.iter().map(String::as_str).collect();
            let networks = ["198.51.100.7/32", "203.0.113.0/24", "2001:db8:1:2::/64"];
            let all = list(networks.iter().map(|network| entry(network, 3, &samples, &[&class])).collect());
            let mut expected: Vec<_> = all.entries.iter().map(|entry| address_text(&entry.network)).collect();
            let geo = vec![Some(Arc::new(GeoInfo { asn: Some(1), as_name: Some(name.as_str().into()), ..GeoInfo::default() })); 3];
            for format in FORMATS {
                let text = written(&all, format, std::slice::from_ref(&source), &geo);
                prop_assert!(text.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)), "{format:?}: {text:?}");
                if format == BlockFormat::Abuseipdb {
                    expected = all.entries.iter().map(|entry| entry.address.to_string()).collect();
                }
                prop_assert_eq!(parsed(&text, format), expected.clone(), "{:?}: {}", format, text);
                expected = all.entries.iter().map(|entry| address_text(&entry.network)).collect();
            }
        }
    }
}
