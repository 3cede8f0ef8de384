//! Adds what GeoIP databases have to a report: the country and network of each client, and the hits
//! of each network.
//!
//! It runs before a report is redacted, because it needs the addresses. Nothing of it is stored: a
//! merged report is looked up anew.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::anonymize::Privacy;
use super::model::{ClientHits, NetworkRow, ReportModel};
use crate::geoip::{GeoDatabases, GeoInfo};

/// Adds the country and network of clients, and the list of networks. Without databases it does
/// nothing.
pub(crate) fn add_geo(report: &mut ReportModel<'_>, databases: &GeoDatabases, privacy: &Privacy) {
    if databases.is_empty() {
        return;
    }
    let addresses: Vec<_> = report
        .clients
        .iter()
        .map(|row| privacy.geo_address(row.key.client()?))
        .collect();
    for (row, geo) in report
        .clients
        .iter_mut()
        .zip(databases.lookup_all(&addresses))
    {
        row.geo = geo;
    }
    let mut networks = NetworkCounts::default();
    let others = std::mem::take(&mut report.client_hits);
    if others.is_empty() {
        for row in &report.clients {
            networks.add(row.geo.as_deref(), row.hits, row.answered);
        }
    }
    let addresses: Vec<_> = others
        .iter()
        .map(|other| privacy.geo_address(other.client))
        .collect();
    for (ClientHits { hits, answered, .. }, geo) in
        others.iter().zip(databases.lookup_all(&addresses))
    {
        networks.add(geo.as_deref(), *hits, *answered);
    }
    report.networks = networks.into_rows(report.totals.sum.hits);
}

/// Hits by autonomous system.
#[derive(Debug, Default)]
struct NetworkCounts {
    rows: HashMap<Option<u32>, NetworkRow>,
}

impl NetworkCounts {
    /// Adds a client.
    fn add(&mut self, geo: Option<&GeoInfo>, hits: u64, answered: u64) {
        let asn = geo.and_then(|geo| geo.asn);
        let row = self.rows.entry(asn).or_insert_with(|| NetworkRow {
            asn,
            ..NetworkRow::default()
        });
        row.clients += 1;
        row.hits += hits;
        row.answered += answered;
        if let Some(country) = geo.and_then(|geo| geo.country.as_ref())
            && let Err(at) = row.countries.binary_search(country)
        {
            row.countries.insert(at, country.clone());
        }
        // Networks of one system may have several names; which one is taken must not depend on the
        // order.
        let name = geo
            .and_then(|geo| geo.as_name.as_ref())
            .filter(|_| asn.is_some());
        if let Some(name) =
            name.filter(|name| row.as_name.as_ref().is_none_or(|known| *name < known))
        {
            row.as_name = Some(name.clone());
        }
    }

    /// The rows, most hits first. Hits that no client has are in the row of the unknown network, so
    /// that the rows sum to all hits.
    fn into_rows(mut self, hits: u64) -> Vec<NetworkRow> {
        let counted: u64 = self.rows.values().map(|row| row.hits).sum();
        if let rest @ 1.. = hits.saturating_sub(counted) {
            self.rows.entry(None).or_default().hits += rest;
        }
        let mut rows: Vec<_> = self.rows.into_values().collect();
        rows.sort_by_key(|row| (Reverse(row.hits), row.asn.is_none(), row.asn));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geo(country: &str, asn: u32, name: &str) -> GeoInfo {
        GeoInfo {
            country: Some(country.into()),
            city: None,
            asn: Some(asn),
            as_name: Some(name.into()),
        }
    }

    #[test]
    fn networks_are_sorted_by_hits_and_sum_to_all_hits() {
        let mut counts = NetworkCounts::default();
        counts.add(Some(&geo("DE", 64_500, "Beta")), 3, 1);
        counts.add(Some(&geo("AT", 64_500, "Alpha")), 4, 0);
        counts.add(Some(&geo("US", 64_501, "Other")), 7, 0);
        counts.add(
            Some(&GeoInfo {
                country: Some("FR".into()),
                ..GeoInfo::default()
            }),
            2,
            0,
        );
        counts.add(None, 1, 0);
        let rows = counts.into_rows(20);
        let short = |row: &NetworkRow| {
            (
                row.asn,
                row.as_name.as_deref().map(str::to_owned),
                row.countries.join(" "),
                row.clients,
                row.hits,
            )
        };
        let expected = [
            (
                Some(64_500),
                Some("Alpha".to_owned()),
                "AT DE".to_owned(),
                2,
                7,
            ),
            (
                Some(64_501),
                Some("Other".to_owned()),
                "US".to_owned(),
                1,
                7,
            ),
            (None, None, "FR".to_owned(), 2, 6),
        ];
        assert_eq!(rows.iter().map(short).collect::<Vec<_>>(), expected);
        assert_eq!(rows[0].answered, 1);
    }
}
