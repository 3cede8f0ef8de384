//! Values with the same syntax in flags, variables and the configuration file.
//!
//! An error message says what is wrong and what to type; the caller adds the name of the flag,
//! variable or key.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use ipnet::IpNet;
use jiff::SpanRelativeTo;
use jiff::fmt::friendly::SpanParser;

use crate::block;
use crate::commands::Anonymize;
use crate::commands::message::sanitized;
use crate::formats::{FieldKind, FormatChoice, Formats};
use crate::input::ByteRange;
use crate::log::client::Ipv6Prefix;
use crate::log::finding::Severity;

/// A number of threads or rows, at least 1.
pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse().map(NonZeroUsize::get).map_err(|_| match text {
        "0" => "0 is too few; type 1 or more".to_owned(),
        _ => "not a whole number; type 1 or more".to_owned(),
    })
}

/// A number of requests, which may be 0.
pub(super) fn cost(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "not a whole number; type 0 or more".to_owned())
}

/// A line is held in memory, so its length has a limit.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// The length of a line in bytes, from 1 to 1 GiB: `1048576`, `512K`, `1M`.
pub(super) fn line_length(text: &str) -> Result<usize, String> {
    let wrong = "not a size; type a number of bytes, or one with K, M or G: 65536, 512K, 1M";
    let (digits, shift) = digits_and_unit(text, 3).ok_or(wrong)?;
    match bytes(digits, shift) {
        Some(0) => Err("0 is too small; type a number of bytes, such as 1M".to_owned()),
        Some(bytes @ 1..=MAX_LINE_BYTES) => Ok(bytes as usize),
        _ => Err("too large; type 1G or less".to_owned()),
    }
}

/// A range of bytes of a file: `0-1048576`, `64M-128M`, and `128M-` to the end.
pub(super) fn byte_range(text: &str) -> Result<ByteRange, String> {
    let offset = |text| digits_and_unit(text, 4).and_then(|(digits, shift)| bytes(digits, shift));
    let ends = text.split_once('-').and_then(|(from, to)| {
        let to = if to.is_empty() { u64::MAX } else { offset(to)? };
        Some((offset(from)?, to))
    });
    match ends {
        Some((from, to)) if from <= to => Ok(ByteRange { from, to }),
        Some(_) => Err("its end is before its start; type the smaller number first".to_owned()),
        None => Err("not a range; type the first byte and the byte after the last one: 0-1048576, 64M-128M, 128M-".to_owned()),
    }
}

/// Splits `512K` into its digits and the power of two of its unit, one of the first `units` of K,
/// M, G and T.
fn digits_and_unit(text: &str, units: usize) -> Option<(&str, usize)> {
    let unit = "kmgt"[..units].find(|unit| text.to_ascii_lowercase().ends_with(unit));
    let digits = &text[..text.len() - usize::from(unit.is_some())];
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some((digits, unit.map_or(0, |unit| 10 * (unit + 1))))
}

/// `None` if there are too many.
fn bytes(digits: &str, shift: usize) -> Option<u64> {
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A length of time: `250ms`, `5s`, `1h30m`, `1d`, `2w`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const MAX_DURATION: Duration = Duration::from_secs(36_500 * 86_400);
    match parse_duration(text) {
        Some(duration) if duration < Duration::from_millis(1) => {
            Err("too short; type 1ms or more".to_owned())
        }
        Some(duration) if duration > MAX_DURATION => {
            Err("too long; type 36500d or less".to_owned())
        }
        Some(duration) => Ok(duration),
        None => Err(
            "not a length of time; type numbers with ms, s, m, h, d or w: 250ms, 10m, 1h30m, 90d"
                .to_owned(),
        ),
    }
}

/// Parses a length of time with units up to weeks, in jiff's friendly format. A day is 24 hours.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    static PARSER: SpanParser = SpanParser::new();
    let span = PARSER.parse_span(text).ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours())
        .ok()?
        .try_into()
        .ok()
}

/// Permissions of a file, in octal: `0600`, `640`.
pub(super) fn file_mode(text: &str) -> Result<u32, String> {
    let bits = u32::from_str_radix(text, 8)
        .ok()
        .filter(|_| text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit()));
    match bits {
        Some(bits) if bits & !0o777 != 0 => Err(
            "only permissions to read, write and execute can be set; type 0600, 0640 or 0644"
                .to_owned(),
        ),
        Some(bits) if bits & 0o600 != 0o600 => {
            Err("the owner could not read and write the file; type 0600, 0640 or 0644".to_owned())
        }
        Some(bits) => Ok(bits),
        None => Err("not permissions in octal; type 0600, 0640 or 0644".to_owned()),
    }
}

/// A network, or a file of networks: `192.0.2.7`, `2001:db8::/48`, `@proxies.txt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProxySource {
    /// A network; an address is a network with one member. Never all addresses.
    Network(IpNet),
    /// A file with one network per line.
    File(PathBuf),
}

impl FromStr for ProxySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some("") => Err(
                "the name of the file is missing; type @ and the name, such as @proxies.txt"
                    .to_owned(),
            ),
            Some(path) => Ok(Self::File(path.into())),
            None => block::parse_trusted_proxy(text)
                .map(|(net, _)| Self::Network(net))
                .map_err(|error| error.to_string()),
        }
    }
}

/// The name of a field of a log, as in a header, in lower case: `x-forwarded-for`.
pub(super) fn field_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_graphic() && !b"\"'\\,;=".contains(&b));
    if is_name {
        return Ok(text.to_ascii_lowercase());
    }
    Err("not the name of a field; type x-forwarded-for, x-real-ip, cf-connecting-ip, forwarded or the name in the log".to_owned())
}

/// How many bits of an IPv6 address identify a client, from 32 to 128: `64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefixBits(Option<Ipv6Prefix>);

impl PrefixBits {
    /// The prefix; `None` for 128, where each address is a client.
    #[must_use]
    pub(crate) fn prefix(self) -> Option<Ipv6Prefix> {
        self.0
    }
}

impl FromStr for PrefixBits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('/').unwrap_or(text).parse() {
            Ok(128) => Ok(Self(None)),
            bits => match bits.ok().and_then(Ipv6Prefix::new) {
                None => Err("not a prefix length; type 64, which most customers get, or a number from 32 to 128".to_owned()),
                prefix => Ok(Self(prefix)),
            },
        }
    }
}

/// How clients are hidden: `truncate`, `key:FILE`, or `off`, which undoes a lower layer.
pub(super) fn anonymize(text: &str) -> Result<Anonymize, String> {
    match (text, text.strip_prefix("key:")) {
        ("off", _) => Ok(Anonymize::Off),
        ("truncate", _) => Ok(Anonymize::Truncate),
        (_, Some(path)) if !path.is_empty() => Ok(Anonymize::Key(path.into())),
        _ => {
            Err("not a way to hide clients; type truncate, key:FILE (make one with: head -c 32 /dev/urandom > FILE) or off".to_owned())
        }
    }
}

/// `ID=LEVEL`: a rule and its new severity.
pub(super) fn severity_override(text: &str) -> Result<(String, Severity), String> {
    let (id, level) = text
        .split_once('=')
        .filter(|(id, _)| !id.is_empty())
        .ok_or("not a rule and its level; type ID=LEVEL, such as dotfiles/env=critical")?;
    let level = level.parse().map_err(|_: String| {
        "not a level; type info, low, medium, high or critical after '='".to_owned()
    })?;
    Ok((id.to_owned(), level))
}

/// A log format: `auto`, a name, or the string of an nginx `log_format` or an Apache `LogFormat`.
pub(super) fn log_format(text: &str) -> Result<String, String> {
    let choice = FormatChoice {
        requested: Some(text.to_owned()),
        fields: Vec::new(),
    };
    Formats::new(&choice)
        .map(|_| text.to_owned())
        .map_err(|error| sanitized(&error.to_string()))
}

/// `MEANING=KEY`: what a key of JSON lines means; `request.uri` is the key `uri` of the map
/// `request`.
pub(super) fn field_key(text: &str) -> Result<(FieldKind, String), String> {
    let (meaning, key) = text
        .split_once('=')
        .filter(|(meaning, key)| !meaning.is_empty() && !key.is_empty())
        .ok_or("not a meaning and its key; type MEANING=KEY, such as client=ip")?;
    Ok((meaning.parse()?, key.to_owned()))
}

/// A severity, or `never`: the only way to undo a level that a variable or the file sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LevelOrNever(pub Option<Severity>);

impl ValueEnum for LevelOrNever {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(None),
                Self(Some(Severity::Info)),
                Self(Some(Severity::Low)),
                Self(Some(Severity::Medium)),
                Self(Some(Severity::High)),
                Self(Some(Severity::Critical)),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.map_or("never", Severity::as_str)))
    }
}

/// The word of a choice, as it is typed.
#[must_use]
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    choice
        .to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let range = |text: &str| byte_range(text).map(|range| (range.from, range.to)).ok();
        assert_eq!(
            ["0-0", "1K-2k", "64M-", "0-1T"].map(range),
            [
                Some((0, 0)),
                Some((1024, 2048)),
                Some((64 << 20, u64::MAX)),
                Some((0, 1 << 40))
            ]
        );
        for text in [
            "",
            "-",
            "-5",
            "7",
            "5-4",
            "1-2-3",
            "+1-2",
            "1 - 2",
            "1x-2x",
            "K-",
            "99999999999999999999-",
            "20000000T-",
        ] {
            assert_eq!(range(text), None, "{text}");
        }
        let size = line_length;
        assert_eq!(size("1048576"), Ok(1_048_576));
        assert_eq!(size("512K"), Ok(524_288));
        assert_eq!(size("1m"), Ok(1_048_576));
        assert_eq!(size("1G"), Ok(MAX_LINE_BYTES as usize));
        for wrong in [
            "",
            "K",
            "0",
            "0K",
            "1Q",
            "-1",
            "+1",
            "1.5M",
            "2G",
            "99999999999999999999",
            "18014398509481984K",
            "1é",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn modes_and_networks() {
        let mode = file_mode;
        assert_eq!((mode("0640"), mode("600")), (Ok(0o640), Ok(0o600)));
        for wrong in ["", "0400", "1777", "0777777", "rw", "0800", "+600", "-1"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
        let net = |text: &str| match text.parse()? {
            ProxySource::Network(network) => Ok(network.to_string()),
            ProxySource::File(path) => Err(format!("the file {}", path.display())),
        };
        assert_eq!(
            (net("192.0.2.7"), net("2001:db8::/48")),
            (Ok("192.0.2.7/32".into()), Ok("2001:db8::/48".into()))
        );
        for wrong in ["", "192.0.2.0/33", "proxy.example", "192.0.2", "0.0.0.0/0"] {
            assert!(net(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn how_clients_are_counted_and_hidden() {
        let bits = |text: &str| {
            text.parse()
                .map(|bits: PrefixBits| bits.prefix().map(Ipv6Prefix::bits))
        };
        assert_eq!(
            (bits("64"), bits("/48"), bits("128")),
            (Ok(Some(64)), Ok(Some(48)), Ok(None))
        );
        for wrong in ["", "0", "31", "129", "-64", "/", "64/"] {
            assert!(bits(wrong).is_err_and(|why| why.contains("64")), "{wrong}");
        }
        assert_eq!("@a b.txt".parse(), Ok(ProxySource::File("a b.txt".into())));
        assert!("@".parse::<ProxySource>().is_err());
        let how = anonymize;
        assert_eq!(
            (how("truncate"), how("off")),
            (Ok(Anonymize::Truncate), Ok(Anonymize::Off))
        );
        assert_eq!(how("key:a"), Ok(Anonymize::Key("a".into())));
        for wrong in ["", "key:", "hash", "Truncate"] {
            assert!(
                how(wrong).is_err_and(|why| why.contains("key:FILE")),
                "{wrong}"
            );
        }
        assert_eq!(field_name("X-Forwarded-For"), Ok("x-forwarded-for".into()));
        for wrong in ["", "a b", "a,b", "\u{1b}", "a=b"] {
            assert!(field_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans() {
        let span = duration;
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(span("366d"), Ok(Duration::from_secs(366 * 86_400)));
        assert_eq!(span("12w"), Ok(Duration::from_secs(84 * 86_400)));
        assert_eq!(span("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(span("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(span("5 s"), Ok(Duration::from_secs(5)));
        let wrong = [
            "",
            "5",
            "s",
            "0s",
            "1us",
            "-1s",
            "1s ago",
            "1y",
            "1mo",
            "36501d",
            "99999999999999999999s",
            "18446744073709551615d",
            "1é",
        ];
        for wrong in wrong {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_start_at_one() {
        assert_eq!(count("8"), Ok(8));
        for wrong in ["", "0", "00", "-1", "x", "1.0", "99999999999999999999"] {
            let message = count(wrong).expect_err("wrong");
            assert!(message.ends_with("type 1 or more"), "{message}");
        }
    }

    #[test]
    fn overrides() {
        assert_eq!(
            severity_override("a/b=high"),
            Ok(("a/b".to_owned(), Severity::High))
        );
        for wrong in ["", "a/b", "=high", "a/b=", "a/b=High", "a/b=high=low"] {
            assert!(severity_override(wrong).is_err(), "{wrong}");
        }
    }
}
