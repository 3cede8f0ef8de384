//! Ranges from which content delivery networks connect to the sites of their customers.
//!
//! In a log that has the address of the connection, such an address stands for all visitors of the
//! site, and to block it blocks them. Only ranges that an operator publishes as those of its edges
//! count: an AS, a cloud, a VPN or an egress range has clients too. Those of Cloudflare and Fastly
//! are in `rules/proxies.tsv`. The user may add files in the formats of the operators; none is
//! fetched. A file with a mistake is refused as a whole, because a range that is left out is a site
//! that is cut off from its visitors.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::Deserialize;

use super::ranges::{
    AddressRanges, JsonRange, RangesError, is_json, parse_lines, parse_range, read_text,
};
use crate::text::number::grouped;

/// Lines of a range, its operator, where it is published and the date of that; the first line names
/// the columns.
const BUILTIN: &str = include_str!("../../rules/proxies.tsv");

/// Who runs proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProxyOperator {
    /// Cloudflare.
    Cloudflare,
    /// Fastly.
    Fastly,
    /// `CloudFront` of Amazon Web Services.
    CloudFront,
    /// That of a list without a name.
    Unnamed,
}

/// Ranges of proxies, by operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProxyRanges {
    /// The ranges of all operators.
    all: AddressRanges,
    each: Vec<(ProxyOperator, AddressRanges)>,
}

/// The value of `--proxy-ranges` without the ranges that come with the program. A file of that name
/// is `./none`.
pub(crate) const NO_BUILTIN_RANGES: &str = "none";

impl ProxyOperator {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [
        Self::Cloudflare,
        Self::Fastly,
        Self::CloudFront,
        Self::Unnamed,
    ];

    /// The name.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cloudflare => "Cloudflare",
            Self::Fastly => "Fastly",
            Self::CloudFront => "CloudFront",
            Self::Unnamed => "--proxy-ranges",
        }
    }

    /// Its proxies, with this word for them.
    #[must_use]
    pub(crate) fn its(self, proxies: &str) -> String {
        match self {
            Self::Unnamed => format!("{proxies} of {}", self.name()),
            named => format!("{}'s {proxies}", named.name()),
        }
    }

    /// How many of its edges a list left out.
    #[must_use]
    pub(crate) fn left_out(self, edges: usize) -> String {
        format!(
            "{} of {} left out",
            grouped(edges as u64),
            self.its("edges")
        )
    }

    /// The header in which it sends the address of the client.
    #[must_use]
    pub(crate) fn client_header(self) -> &'static str {
        match self {
            Self::Cloudflare => "CF-Connecting-IP",
            Self::Fastly => "Fastly-Client-IP",
            Self::CloudFront | Self::Unnamed => "X-Forwarded-For",
        }
    }
}

impl ProxyRanges {
    /// No range.
    pub(crate) const NONE: &'static Self = &Self {
        all: AddressRanges::NONE,
        each: Vec::new(),
    };

    /// The ranges that come with the program, unless a value is [`NO_BUILTIN_RANGES`], and those in
    /// the files that the others name.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is in another format, or has no range of a proxy.
    pub(crate) fn read(values: &[PathBuf]) -> Result<Self, RangesError> {
        let known = builtin();
        let is_none = |value: &&PathBuf| value.as_os_str() == NO_BUILTIN_RANGES;
        let mut ranges = Vec::new();
        for path in values.iter().filter(|value| !is_none(value)) {
            let of_file = read_file(path, &known);
            ranges.extend(of_file.map_err(|what| RangesError {
                flag: "--proxy-ranges",
                path: path.clone(),
                what,
            })?);
        }
        if !values.iter().any(|value| is_none(&value)) {
            ranges.extend(known);
        }
        Ok(Self::from_networks(&ranges))
    }

    fn from_networks(ranges: &[(ProxyOperator, IpNet)]) -> Self {
        let of = |is_wanted: &dyn Fn(ProxyOperator) -> bool| {
            let networks = ranges
                .iter()
                .filter(|(operator, _)| is_wanted(*operator))
                .map(|(_, network)| *network);
            AddressRanges::from_networks(&networks.collect::<Vec<_>>())
        };
        Self {
            all: of(&|_| true),
            each: ProxyOperator::ALL
                .map(|operator| (operator, of(&|other| other == operator)))
                .into(),
        }
    }

    /// The operator with an address in this network.
    #[must_use]
    pub(crate) fn operator(&self, network: &IpNet) -> Option<ProxyOperator> {
        // Nearly all networks have none.
        if !self.all.overlaps(network) {
            return None;
        }
        self.each
            .iter()
            .find(|(_, ranges)| ranges.overlaps(network))
            .map(|(operator, _)| *operator)
    }

    /// The operator of an address.
    #[must_use]
    pub(crate) fn operator_of(&self, address: IpAddr) -> Option<ProxyOperator> {
        self.operator(&address.into())
    }
}

/// The ranges that come with the program.
#[expect(
    clippy::expect_used,
    reason = "a test reads all lines of the file, which is a part of the program"
)]
fn builtin() -> Vec<(ProxyOperator, IpNet)> {
    let parse = |line: &str| {
        let mut columns = line.split('\t');
        let network = columns.next().and_then(|range| parse_range(range).ok())?;
        let name = columns.next()?;
        Some((
            ProxyOperator::ALL
                .into_iter()
                .find(|operator| operator.name() == name)?,
            network,
        ))
    };
    BUILTIN
        .lines()
        .skip(1)
        .map(|line| parse(line).expect("a range and its operator"))
        .collect()
}

/// What to give instead of a file that cannot be used.
const FORMATS: &str = "give Cloudflare's ips-v4, Fastly's public-ip-list, ip-ranges.json of AWS, or one network a line";

fn read_file(
    path: &Path,
    known: &[(ProxyOperator, IpNet)],
) -> Result<Vec<(ProxyOperator, IpNet)>, String> {
    let text = read_text(path)?;
    if is_json(&text) {
        return parse_json(&text);
    }
    let networks = parse_lines(&text)?;
    if networks.is_empty() {
        return Err(format!("has no range; {FORMATS}"));
    }
    // A list has no name: one with a known range is a later list of the same operator.
    let operator = known
        .iter()
        .find(|(_, network)| networks.contains(network))
        .map_or(ProxyOperator::Unnamed, |(operator, _)| *operator);
    Ok(networks
        .into_iter()
        .map(|network| (operator, network))
        .collect())
}

/// The JSON of Fastly (`addresses`), of AWS (`prefixes`) and of Cloudflare's API (`result`). Other
/// keys are ignored.
#[derive(Deserialize)]
struct PublishedEdges {
    addresses: Option<Vec<JsonRange>>,
    #[serde(default)]
    ipv6_addresses: Vec<JsonRange>,
    prefixes: Option<Vec<AwsPrefix>>,
    #[serde(default)]
    ipv6_prefixes: Vec<AwsPrefix>,
    result: Option<CloudflareRanges>,
}

#[derive(Deserialize)]
struct AwsPrefix {
    ip_prefix: Option<JsonRange>,
    ipv6_prefix: Option<JsonRange>,
    #[serde(default)]
    service: String,
}

#[derive(Deserialize)]
struct CloudflareRanges {
    ipv4_cidrs: Vec<JsonRange>,
    ipv6_cidrs: Vec<JsonRange>,
}

/// The services of AWS that connect to origins; all others are machines of its customers.
const AWS_EDGES: [&str; 2] = ["CLOUDFRONT", "CLOUDFRONT_ORIGIN_FACING"];

fn parse_json(text: &str) -> Result<Vec<(ProxyOperator, IpNet)>, String> {
    let published: PublishedEdges = serde_json::from_str(text)
        .map_err(|error| format!("is no list of proxies: {error}; {FORMATS}"))?;
    let (operator, ranges): (_, Vec<JsonRange>) = match published {
        PublishedEdges {
            addresses: Some(four),
            ipv6_addresses: six,
            ..
        } => (ProxyOperator::Fastly, four.into_iter().chain(six).collect()),
        PublishedEdges {
            prefixes: Some(four),
            ipv6_prefixes: six,
            ..
        } => {
            let edges = four
                .into_iter()
                .chain(six)
                .filter(|prefix| AWS_EDGES.contains(&&*prefix.service));
            (
                ProxyOperator::CloudFront,
                edges
                    .flat_map(|prefix| [prefix.ip_prefix, prefix.ipv6_prefix])
                    .flatten()
                    .collect(),
            )
        }
        PublishedEdges {
            result:
                Some(CloudflareRanges {
                    ipv4_cidrs: four,
                    ipv6_cidrs: six,
                }),
            ..
        } => (
            ProxyOperator::Cloudflare,
            four.into_iter().chain(six).collect(),
        ),
        _ => {
            return Err(format!(
                "has neither 'addresses' nor 'prefixes' nor 'result'; {FORMATS}"
            ));
        }
    };
    if ranges.is_empty() {
        let why = if operator == ProxyOperator::CloudFront {
            " of CLOUDFRONT: clouds and search engines are no proxies"
        } else {
            ""
        };
        return Err(format!("has no range{why}; {FORMATS}"));
    }
    Ok(ranges
        .into_iter()
        .map(|JsonRange(network)| (operator, network))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<ProxyRanges, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("edges");
        fs::write(&file, text).unwrap();
        ProxyRanges::read(&[NO_BUILTIN_RANGES.into(), file]).map_err(|error| error.to_string())
    }

    fn operator(ranges: &ProxyRanges, address: &str) -> Option<ProxyOperator> {
        ranges.operator_of(address.parse().unwrap())
    }

    #[test]
    fn the_ranges_that_come_with_the_program() {
        let ranges = ProxyRanges::read(&[]).unwrap();
        for (address, expected) in [
            ("162.158.90.201", Some(ProxyOperator::Cloudflare)),
            ("172.71.1.2", Some(ProxyOperator::Cloudflare)),
            ("2a06:98c0:3600::103", Some(ProxyOperator::Cloudflare)),
            ("::ffff:104.16.0.1", Some(ProxyOperator::Cloudflare)),
            ("151.101.1.2", Some(ProxyOperator::Fastly)),
            ("2a04:4e42::1", Some(ProxyOperator::Fastly)),
            // Cloudflare's, but of clients: its resolver, and the egress of its VPN.
            ("1.1.1.1", None),
            ("104.28.0.1", None),
            ("203.0.113.9", None),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(
                ranges.operator_of(address.to_canonical()),
                expected,
                "{address}"
            );
        }
        assert_eq!(
            BUILTIN.lines().next(),
            Some("range\toperator\tsource\tas_of")
        );
        assert!(
            BUILTIN.lines().all(|line| line
                .split('\t')
                .filter(|column| !column.is_empty())
                .count()
                == 4)
        );
        let none = ProxyRanges::read(&[NO_BUILTIN_RANGES.into()]).unwrap();
        assert_eq!(operator(&none, "162.158.90.201"), None);
    }

    #[test]
    fn reads_the_formats_of_the_operators() {
        let cloudflare_text = "173.245.48.0/20\n103.21.244.0/22\n198.51.100.0/24\n";
        let cloudflare_json = r#"{"result": {"ipv4_cidrs": ["198.51.100.0/24"], "ipv6_cidrs": ["2001:db8::/32"]}, "success": true}"#;
        let fastly = r#"{"addresses": ["198.51.100.0/24"], "ipv6_addresses": ["2001:db8::/32"]}"#;
        let aws = r#"{"syncToken": "1", "prefixes": [
            {"ip_prefix": "198.51.100.0/24", "region": "GLOBAL", "service": "CLOUDFRONT_ORIGIN_FACING"},
            {"ip_prefix": "203.0.113.0/24", "region": "eu-west-1", "service": "EC2"},
            {"ip_prefix": "192.0.2.0/24", "region": "GLOBAL", "service": "AMAZON"}],
            "ipv6_prefixes": [{"ipv6_prefix": "2001:db8::/32", "region": "GLOBAL", "service": "CLOUDFRONT"}]}"#;
        for (text, expected) in [
            (cloudflare_text, ProxyOperator::Cloudflare),
            (cloudflare_json, ProxyOperator::Cloudflare),
            (fastly, ProxyOperator::Fastly),
            (aws, ProxyOperator::CloudFront),
            ("# ours\n198.51.100.0/24", ProxyOperator::Unnamed),
        ] {
            let ranges = read(text).unwrap();
            assert_eq!(operator(&ranges, "198.51.100.7"), Some(expected), "{text}");
            assert_eq!(
                operator(&ranges, "2001:db8::1"),
                text.contains("2001:db8").then_some(expected),
                "{text}"
            );
            assert_eq!(
                (
                    operator(&ranges, "203.0.113.7"),
                    operator(&ranges, "192.0.2.7")
                ),
                (None, None),
                "{text}"
            );
            assert_eq!(
                ranges.operator(&"198.51.0.0/16".parse().unwrap()),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn a_file_with_a_mistake_is_refused() {
        let google = r#"{"prefixes": [{"ipv4Prefix": "34.0.0.0/15", "service": "Google Cloud"}]}"#;
        for (text, parts) in [
            ("", ["has no range", "ips-v4"]),
            (
                "198.51.100.0/24\nfastly",
                ["line 2: 'fastly' is no network", "write 192.0.2.0/24"],
            ),
            ("0.0.0.0/0", ["line 1", "every address"]),
            ("{", ["line 1", "ip-ranges.json"]),
            (
                "{\"addresses\": [\n\"x\"]}",
                ["'x' is no network", "line 2"],
            ),
            ("{\"addresses\": []}", ["has no range", "public-ip-list"]),
            (
                "{\"networks\": []}",
                ["neither 'addresses' nor 'prefixes'", "public-ip-list"],
            ),
            (
                google,
                [
                    "has no range of CLOUDFRONT",
                    "clouds and search engines are no proxies",
                ],
            ),
        ] {
            let message = read(text).unwrap_err();
            assert!(
                parts.iter().all(|part| message.contains(part))
                    && message.starts_with("--proxy-ranges: /"),
                "{text}: {message}"
            );
        }
        assert!(ProxyRanges::read(&["/nowhere".into()]).is_err());
    }
}
