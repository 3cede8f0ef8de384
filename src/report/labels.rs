//! Texts for rows and hits that several output formats share.
//!
//! Returns text that is safe to print; counts nothing.

use std::borrow::Cow;
use std::sync::Arc;

use super::model::{ReportedHit, Row, RowKey};
use crate::geoip::GeoInfo;
use crate::log::client::Client;
use crate::log::finding::RuleId;
use crate::log::log_entry::Outcome;
use crate::rules::{Rule, RuleSet};
use crate::text::number::counted;
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// A name of a GeoIP database.
pub(crate) fn geo_name(name: Option<&Arc<str>>) -> Option<Cow<'_, str>> {
    name.map(|name| escape(name.as_bytes()))
}

/// The country of a client; empty where it is unknown.
pub(crate) fn country(geo: Option<&GeoInfo>) -> Cow<'_, str> {
    geo.and_then(|geo| geo_name(geo.country.as_ref()))
        .unwrap_or_default()
}

/// The network of a client: the name of its autonomous system, or the number. Empty where it is
/// unknown.
pub(crate) fn network(geo: Option<&GeoInfo>) -> Cow<'_, str> {
    let as_number = |geo: &'_ GeoInfo| geo.asn.map(|asn| Cow::Owned(format!("AS{asn}")));
    geo.and_then(|geo| geo_name(geo.as_name.as_ref()).or_else(|| as_number(geo)))
        .unwrap_or_default()
}

/// The network and the country of a client: `Example Hosting, DE`.
pub(crate) fn network_and_country(geo: Option<&GeoInfo>) -> String {
    [network(geo), country(geo)]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The ids of rules, in the given order.
pub(crate) fn rule_ids<'r>(set: &'r RuleSet, rules: &[RuleId]) -> Vec<&'r str> {
    rules
        .iter()
        .map(|&rule| set.rule(rule).id.as_str())
        .collect()
}

/// The ids of the rules that need many requests.
pub(crate) fn flood_ids<'a>(set: &'a RuleSet, rules: &[RuleId]) -> Vec<&'a str> {
    rules
        .iter()
        .map(|&rule| set.rule(rule))
        .filter(|rule| rule.counts_requests())
        .map(|rule| rule.id.as_str())
        .collect()
}

/// The most severe rule; the first of several, because rules are sorted.
pub(crate) fn worst<'r>(set: &'r RuleSet, rules: &[RuleId]) -> Option<&'r Rule> {
    rules
        .iter()
        .map(|&rule| set.rule(rule))
        .rev()
        .max_by_key(|rule| rule.severity)
}

/// The id of the most severe rule and the number of others: `dotfiles/env +1`.
pub(crate) fn worst_rule<'r>(set: &'r RuleSet, rules: &[RuleId]) -> Cow<'r, str> {
    match (worst(set, rules), rules.len()) {
        (None, _) => Cow::Borrowed(""),
        (Some(rule), 1) => Cow::Borrowed(&rule.id),
        (Some(rule), n) => Cow::Owned(format!(
            "{} +{}",
            rule.id,
            counted(n as u64 - 1, "rule", "rules")
        )),
    }
}

/// The classes of rules, sorted.
pub(crate) fn classes<'r>(set: &'r RuleSet, rules: &[RuleId]) -> Vec<&'r str> {
    sorted(rules.iter().map(|&rule| set.rule(rule).class.as_str()))
}

/// Whether the CVE ids and products of rules depend on the request.
pub(crate) fn depend_on_request(set: &RuleSet, rules: &[RuleId]) -> bool {
    rules
        .iter()
        .any(|&rule| set.rule(rule).notes().of.is_some())
}

/// What rules say of requests by their paths and targets, each sorted.
#[derive(Debug, Clone, Default)]
pub struct Attributed<'r> {
    /// CVE ids.
    pub cves: Vec<&'r str>,
    /// Products, such as `Ivanti Connect Secure`.
    pub products: Vec<&'r str>,
}

impl<'r> Attributed<'r> {
    /// Of a request that matched these rules. `texts` are its path and its target.
    pub(crate) fn new(set: &'r RuleSet, rules: &[RuleId], texts: &[&[u8]]) -> Self {
        let text = if depend_on_request(set, rules) {
            texts.join(&b'\n').to_ascii_lowercase()
        } else {
            Vec::new()
        };
        let rules = || rules.iter().map(|&rule| set.rule(rule));
        let products = sorted(rules().flat_map(|rule| rule.products_of(&text)));
        Self {
            cves: sorted(rules().flat_map(|rule| rule.cves_of(&text))),
            products,
        }
    }

    /// Of a hit.
    pub(crate) fn of_hit(set: &'r RuleSet, hit: &ReportedHit<'_>) -> Self {
        Self::new(
            set,
            hit.rules,
            &[
                hit.path.raw(),
                hit.target.raw(),
                hit.decoded.unwrap_or_default().raw(),
            ],
        )
    }

    /// Of several requests.
    pub(crate) fn union(all: &[Self]) -> Self {
        let union = |of: fn(&Self) -> &Vec<&'r str>| sorted(all.iter().flat_map(of).copied());
        Self {
            cves: union(|one| &one.cves),
            products: union(|one| &one.products),
        }
    }
}

pub(crate) fn sorted<'r>(words: impl Iterator<Item = &'r str>) -> Vec<&'r str> {
    let mut words: Vec<_> = words.collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Texts with a blank between each two.
pub(crate) fn joined(texts: &[LogText<'_>]) -> String {
    texts
        .iter()
        .map(LogText::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The first `top` rows; all where `None`.
pub(crate) fn first<T>(rows: &[T], top: Option<usize>) -> &[T] {
    &rows[..top.unwrap_or(rows.len()).min(rows.len())]
}

impl<'a> RowKey<'a> {
    /// The client of the row, if it has one.
    pub(crate) fn client(self) -> Option<Client<'a>> {
        match self {
            Self::Pair(client, ..) | Self::Client(client) => Some(client),
            Self::Path(_) | Self::Rule(_) | Self::Answer(..) => None,
        }
    }

    /// The path of the row, if it has one.
    pub(crate) fn path(self) -> Option<LogText<'a>> {
        match self {
            Self::Pair(_, path, _) | Self::Path(path) | Self::Answer(_, path, _) => Some(path),
            Self::Client(_) | Self::Rule(_) => None,
        }
    }

    /// The display name of the site that answered.
    pub(crate) fn site(self) -> Option<LogText<'a>> {
        match self {
            Self::Answer(.., site) => Some(site),
            _ => None,
        }
    }

    /// The rule of the row, if it has one.
    pub(crate) fn rule(self) -> Option<RuleId> {
        match self {
            Self::Rule(rule) => Some(rule),
            _ => None,
        }
    }

    /// The outcome of the row, if it has one.
    pub(crate) fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Pair(.., outcome) => Some(outcome),
            _ => None,
        }
    }
}

impl<'a> Row<'a> {
    /// The path, or the target of a request without one.
    pub(crate) fn path_or_target(&self) -> LogText<'a> {
        self.key
            .path()
            .filter(|path| !path.is_empty())
            .unwrap_or(self.sample.target)
    }

    /// The target as requested, if outputs do not show the path alike.
    pub(crate) fn target_beside_path(&self) -> Option<LogText<'a>> {
        let target = self.sample.target;
        Some(target).filter(|target| {
            self.key
                .path()
                .is_none_or(|path| !path.is_empty() && path.redacted() != target.redacted())
        })
    }
}
