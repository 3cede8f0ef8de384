//! How many requests of a rule make a flood:
//! `window = { by = "client", count = 20, within = "60s" }`.
//!
//! Plain data; other modules count. Times are those of the log.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The length of the longest window in seconds: a day.
const MAX_SECONDS: u32 = 86_400;

/// The highest count: this many times are kept of each key.
const MAX_COUNT: u32 = 1_000;

/// The units of a duration in seconds, the longest first.
const UNITS: [(&str, u32); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// How many requests make a flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Window {
    /// Whose requests are counted together: `client` or `path`.
    pub by: By,
    /// Least requests, from 2.
    pub count: u32,
    /// Span of the log's time, such as `60s` or `5m`, up to `1d`.
    #[serde(deserialize_with = "span")]
    #[schemars(with = "String")]
    pub within: u32,
    /// The most other requests of the client, in percent of those that match: a client with more is
    /// a user of the site. Only with `by = "client"`; any number where absent.
    #[serde(default)]
    pub others: Option<u32>,
}

/// Whose requests are counted together.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    /// The requests of one client.
    Client,
    /// The requests for one normalised path.
    Path,
}

impl Window {
    /// The number of fixed minutes that it covers: one more than its length, as it begins within
    /// one of them.
    #[must_use]
    pub(crate) fn minutes(self) -> u32 {
        self.within.div_ceil(60) + 1
    }

    /// Whether its values are valid.
    #[must_use]
    pub(crate) fn is_valid(self) -> bool {
        self.check().is_ok() && (1..=MAX_SECONDS).contains(&self.within)
    }

    /// Checks its numbers.
    pub(super) fn check(self) -> Result<(), String> {
        match self.count {
            0 | 1 => Err(format!(
                "window: count is {}, and one request is no flood; use at least 2, or remove the window to report each request",
                self.count
            )),
            2..=MAX_COUNT if self.by == By::Path && self.others.is_some() => {
                Err("window: others are the other requests of a client; use `by = \"client\"`, or remove `others`".into())
            }
            2..=MAX_COUNT => Ok(()),
            count => Err(format!("window: count is {count}; {MAX_COUNT} is the most; use a shorter `within`")),
        }
    }
}

impl fmt::Display for Window {
    /// `20 requests by one client within 60s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_one = match self.by {
            By::Client => "by one client",
            By::Path => "for one path",
        };
        write!(
            f,
            "{} requests {of_one} within {}",
            self.count,
            SpanText(self.within)
        )
    }
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    deserializer.deserialize_str(SpanVisitor)
}

struct SpanVisitor;

impl Visitor<'_> for SpanVisitor {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a span of time in quotes, such as "60s", "5m" or "1h""#)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
        text.parse()
            .map(|SpanText(seconds)| seconds)
            .map_err(E::custom)
    }
}

/// A duration in seconds, with text form.
#[derive(Debug, PartialEq, Eq)]
struct SpanText(u32);

impl FromStr for SpanText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let unit = UNITS
            .iter()
            .find(|(unit, _)| *unit == &text[digits.len()..]);
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let Some((_, seconds)) = unit.filter(|_| is_number) else {
            return Err(format!(
                "within: '{text}' is no span of time; write seconds, minutes or hours: \"60s\", \"5m\", \"1h\""
            ));
        };
        let span = digits
            .parse::<u32>()
            .ok()
            .and_then(|n| n.checked_mul(*seconds))
            .filter(|span| *span <= MAX_SECONDS);
        match span {
            Some(0) => Err(format!(
                "within: '{text}' is no time at all; the shortest span is \"1s\""
            )),
            Some(span) => Ok(Self(span)),
            None => Err(format!(
                "within: '{text}' is too long; a day, \"24h\", is the most"
            )),
        }
    }
}

impl fmt::Display for SpanText {
    /// In the longest unit that needs no fraction, but seconds up to two minutes: `90s`, `5m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, unit): &&(&str, u32)| {
            self.0.is_multiple_of(*unit) && (*unit != 60 || self.0 >= 120)
        };
        match UNITS.iter().find(fits) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}s", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        for (text, seconds, written) in [
            ("60s", 60, "60s"),
            ("1m", 60, "60s"),
            ("90s", 90, "90s"),
            ("120s", 120, "2m"),
            ("5m", 300, "5m"),
            ("1h", 3_600, "1h"),
            ("24h", 86_400, "1d"),
            ("1d", 86_400, "1d"),
        ] {
            assert_eq!(text.parse(), Ok(SpanText(seconds)), "{text}");
            assert_eq!(SpanText(seconds).to_string(), written);
        }
        for text in [
            "", "60", "s", "-1s", "1.5m", "60 s", "60S", "1w", "1h30m", "+5s", "é", "5é",
        ] {
            assert!(
                text.parse::<SpanText>()
                    .unwrap_err()
                    .contains("is no span of time"),
                "{text}"
            );
        }
        for text in ["2d", "25h", "86401s", "99999999999s", "4294967295d"] {
            assert!(
                text.parse::<SpanText>()
                    .unwrap_err()
                    .contains("is too long"),
                "{text}"
            );
        }
        assert!(
            "0s".parse::<SpanText>()
                .unwrap_err()
                .contains("no time at all")
        );
    }

    #[test]
    fn a_window_displays_what_it_counts() {
        let window: Window = toml::from_str("by = 'path'\ncount = 50\nwithin = '10m'").unwrap();
        assert_eq!(
            window,
            Window {
                by: By::Path,
                count: 50,
                within: 600,
                others: None
            }
        );
        assert_eq!(window.to_string(), "50 requests for one path within 10m");
        let error = |count| Window { count, ..window }.check().unwrap_err();
        assert!(error(1).contains("at least 2") && error(1_001).contains("1000 is the most"));
        assert!(
            toml::from_str::<Window>("by = 'path'\ncount = 50\nwithin = 60")
                .unwrap_err()
                .to_string()
                .contains("such as \"60s\"")
        );
        assert!(
            [2, 1_000]
                .into_iter()
                .all(|count| Window { count, ..window }.check().is_ok())
        );
        let by_path = Window {
            others: Some(25),
            ..window
        };
        assert!(by_path.check().unwrap_err().contains("by = \"client\""));
        assert!(
            Window {
                by: By::Client,
                ..by_path
            }
            .is_valid()
        );
    }
}
