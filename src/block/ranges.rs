//! Ranges of addresses, and the files in which search engines publish those of their crawlers.
//!
//! A file of crawlers is JSON with a list `prefixes` of `ipv4Prefix` and `ipv6Prefix`, as Google
//! and Bing publish it, or text with one network a line. The user names it: none comes with the
//! program and none is fetched. A file with a mistake is refused as a whole, because a range that
//! is left out is a search engine that is blocked.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::log::client::{Width, network_width, parse_network};

/// Ranges that do not overlap, sorted. An IPv4 address counts as its mapped IPv6 address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AddressRanges {
    ranges: Vec<(u128, u128)>,
}

/// Why a file of ranges cannot be used.
#[derive(Debug, Error)]
#[error("{flag}: {}: {what}", path.display())]
pub(crate) struct RangesError {
    /// The flag that names the file.
    pub(super) flag: &'static str,
    /// The file.
    pub(super) path: PathBuf,
    /// What is wrong with it.
    pub(super) what: String,
}

impl AddressRanges {
    /// No range.
    pub(super) const NONE: Self = Self { ranges: Vec::new() };

    /// The ranges of search engines in all these files.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is in another format, or has no range.
    pub(crate) fn of_search_engines(paths: &[PathBuf]) -> Result<Self, RangesError> {
        let mut networks = Vec::new();
        for path in paths {
            let wrong = |what| RangesError {
                flag: "--verified-bots",
                path: path.clone(),
                what,
            };
            let text = read_text(path).map_err(wrong)?;
            let of_file = if is_json(&text) {
                parse_crawlers(&text)
            } else {
                parse_lines(&text)
            }
            .map_err(wrong)?;
            if of_file.is_empty() {
                return Err(wrong("has no range; give the JSON that a search engine publishes, or one network a line".to_owned()));
            }
            networks.extend(of_file);
        }
        Ok(Self::from_networks(&networks))
    }

    /// The ranges of these networks.
    #[must_use]
    pub(crate) fn from_networks(networks: &[IpNet]) -> Self {
        let mut bounds: Vec<_> = networks.iter().map(bounds).collect();
        bounds.sort_unstable();
        let mut ranges: Vec<(u128, u128)> = Vec::with_capacity(bounds.len());
        for (first, last) in bounds {
            match ranges.last_mut().filter(|previous| first <= previous.1) {
                Some(previous) => previous.1 = previous.1.max(last),
                None => ranges.push((first, last)),
            }
        }
        Self { ranges }
    }

    /// Whether a network has an address in one of the ranges.
    #[must_use]
    pub(crate) fn overlaps(&self, network: &IpNet) -> bool {
        let (first, last) = bounds(network);
        let next = self.ranges.partition_point(|range| range.1 < first);
        self.ranges.get(next).is_some_and(|range| range.0 <= last)
    }
}

/// The first and the last address of a network.
fn bounds(network: &IpNet) -> (u128, u128) {
    let number = |address: IpAddr| match address {
        IpAddr::V4(four) => four.to_ipv6_mapped().to_bits(),
        IpAddr::V6(six) => six.to_bits(),
    };
    (number(network.network()), number(network.broadcast()))
}

/// The text of a file of ranges.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path)
        .map_err(|error: io::Error| format!("cannot be read: {error}; name a file that exists"))
}

/// Whether a file of ranges is JSON; otherwise it has one network a line.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// A range in JSON.
pub(super) struct JsonRange(pub(super) IpNet);

impl<'de> Deserialize<'de> for JsonRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_range(&String::deserialize(deserializer)?)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// The JSON of Google and Bing. Other keys are ignored.
#[derive(Deserialize)]
struct Crawlers {
    prefixes: Vec<CrawlerRange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CrawlerRange {
    ipv4_prefix: Option<JsonRange>,
    ipv6_prefix: Option<JsonRange>,
}

fn parse_crawlers(text: &str) -> Result<Vec<IpNet>, String> {
    let crawlers: Crawlers = serde_json::from_str(text)
        .map_err(|error| format!("is no list of ranges: {error}; it needs a list 'prefixes'"))?;
    let mut networks = Vec::new();
    for (number, range) in (1..).zip(crawlers.prefixes) {
        let before = networks.len();
        networks.extend(
            [range.ipv4_prefix, range.ipv6_prefix]
                .into_iter()
                .flatten()
                .map(|JsonRange(network)| network),
        );
        if networks.len() == before {
            return Err(format!(
                "prefix {number} has neither ipv4Prefix nor ipv6Prefix"
            ));
        }
    }
    Ok(networks)
}

/// One network a line; `#` starts a comment.
pub(super) fn parse_lines(text: &str) -> Result<Vec<IpNet>, String> {
    let lines = (1..).zip(
        text.lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim()),
    );
    let ranges = lines.filter(|(_, line)| !line.is_empty());
    ranges
        .map(|(number, line)| parse_range(line).map_err(|what| format!("line {number}: {what}")))
        .collect()
}

pub(super) fn parse_range(text: &str) -> Result<IpNet, String> {
    let network = parse_network(text)
        .ok_or_else(|| format!("'{text}' is no network; write 192.0.2.0/24 or 2001:db8::/32"))?;
    match network_width(&network) {
        Width::Everything => Err(format!("'{text}' is every address there is")),
        _ => Ok(network.trunc()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<AddressRanges, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bots");
        fs::write(&file, text).unwrap();
        AddressRanges::of_search_engines(&[file]).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_json_and_lines() {
        let json = r#"{"creationTime": "2026", "prefixes": [{"ipv4Prefix": "66.249.64.0/27"}, {"ipv6Prefix": "2001:4860:4801::/48"}]}"#;
        let lines = "# crawlers\n66.249.64.0/27 # one\n\n2001:4860:4801::/48\r\n";
        for text in [json, lines] {
            let ranges = read(text).unwrap();
            let contains = |text: &str| ranges.overlaps(&text.parse::<IpAddr>().unwrap().into());
            assert!(
                contains("66.249.64.0")
                    && contains("66.249.64.31")
                    && contains("2001:4860:4801::9"),
                "{text}"
            );
            assert!(
                !contains("66.249.64.32")
                    && !contains("66.249.63.255")
                    && !contains("2001:4860:4802::"),
                "{text}"
            );
            assert!(
                ranges.overlaps(&"66.249.64.0/24".parse().unwrap())
                    && !ranges.overlaps(&"66.249.65.0/24".parse().unwrap())
            );
        }
    }

    #[test]
    fn a_file_with_a_mistake_is_refused() {
        for (text, part) in [
            ("", "has no range"),
            ("{\"prefixes\": []}", "has no range"),
            ("{}", "missing field `prefixes`"),
            ("{\"prefixes\": [{}]}", "prefix 1 has neither"),
            (
                "{\"prefixes\": [{\"ipv4Prefix\": \"x\"}]}",
                "'x' is no network; write 192.0.2.0/24 or 2001:db8::/32 at line 1",
            ),
            ("192.0.2.0/24\ngooglebot.com", "line 2: 'googlebot.com'"),
            ("0.0.0.0/0", "every address"),
        ] {
            let message = read(text).unwrap_err();
            assert!(
                message.contains(part) && message.contains("--verified-bots"),
                "{message}"
            );
        }
        assert!(AddressRanges::of_search_engines(&["/nowhere".into()]).is_err());
    }

    proptest! {
        #[test]
        fn agrees_with_each_network(networks in prop::collection::vec((any::<u32>(), 4_u8..=32), 0..20), probes: Vec<(u32, u8)>) {
            let net = |(bits, length): &(u32, u8)| IpNet::new(IpAddr::V4((*bits).into()), *length).unwrap().trunc();
            let networks: Vec<_> = networks.iter().map(net).collect();
            let ranges = AddressRanges::from_networks(&networks);
            for (bits, length) in probes {
                let probe = net(&(bits, length % 33));
                let expected = networks.iter().any(|network| network.contains(&probe) || probe.contains(network));
                prop_assert_eq!(ranges.overlaps(&probe), expected);
            }
        }
    }
}
