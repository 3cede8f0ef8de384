//! Requests of all clients in the last one to two days of the logs, so that no client is judged by
//! one run alone.
//!
//! A run of an hour may hold a scan and few visitors: then the scanner makes nearly all requests,
//! as a proxy in front of the site does. Or it holds a few probes of an address from which many
//! people visit at other hours.
//!
//! Time is that of the logs. It is counted in two windows: the current one takes requests for a
//! day, because traffic has the rhythm of a day, and then becomes the previous one. A window keeps
//! [`MAX_CLIENTS`] clients, which are at most [`MAX_BYTES`] in memory and 500 kB in a state; of
//! more, those with the most requests. A client that is not kept is counted from its next request
//! on: it is no proxy, and lost a few ordinary requests at most.

use std::cmp::Reverse;

use foldhash::HashMap;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::block_list::network_text;
use crate::judge::proxied::{MIN_VISITORS, is_nearly_all, makes_nearly_all};

/// The clients that a window keeps.
const MAX_CLIENTS: usize = 8_192;

/// The bytes of those of a window.
const MAX_BYTES: usize = MAX_CLIENTS * 40;
const _: () = assert!(
    MAX_CLIENTS * size_of::<ClientTraffic>() <= MAX_BYTES,
    "a client has another size"
);

/// The length of a window, in seconds.
const WINDOW: i64 = 24 * 60 * 60;

/// Requests of one address, or of an IPv6 network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RequestCounts {
    /// All.
    pub(super) requests: u64,
    /// Those that are no probe.
    pub(super) ordinary: u64,
}

impl RequestCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.ordinary += other.ordinary;
    }
}

/// Requests of the last one to two days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecentTraffic {
    /// When the current window began, in seconds since 1970.
    since: Option<i64>,
    current: TrafficWindow,
    previous: TrafficWindow,
}

/// Requests of a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrafficWindow {
    /// The requests of all clients.
    requests: u64,
    /// Sorted by network.
    clients: Vec<ClientTraffic>,
}

/// A client, all its requests and the ordinary ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ClientTraffic(#[serde(with = "network_text")] IpNet, u64, u64);

impl ClientTraffic {
    fn counts(&self) -> RequestCounts {
        RequestCounts {
            requests: self.1,
            ordinary: self.2,
        }
    }
}

impl RecentTraffic {
    /// Begins a new window if the current one is full at this time of the log, in seconds since 1970.
    pub(super) fn advance(&mut self, time: i64) {
        let since = *self.since.get_or_insert(time);
        if time.saturating_sub(since) >= WINDOW {
            self.previous = std::mem::take(&mut self.current);
            self.since = Some(time);
        }
    }

    /// Adds requests to the current window: those of all clients, and those of each client that
    /// could be listed.
    pub(super) fn add<'n>(
        &mut self,
        requests: u64,
        clients: impl IntoIterator<Item = (&'n IpNet, &'n RequestCounts)>,
    ) {
        let TrafficWindow {
            requests: sum,
            clients: known,
        } = &mut self.current;
        *sum += requests;
        let mut counts: HashMap<IpNet, RequestCounts> = known
            .iter()
            .map(|client| (client.0, client.counts()))
            .collect();
        clients
            .into_iter()
            .for_each(|(network, new)| counts.entry(*network).or_default().add(*new));
        *known = counts
            .into_iter()
            .map(|(network, counts)| ClientTraffic(network, counts.requests, counts.ordinary))
            .collect();
        if known.len() > MAX_CLIENTS {
            known.select_nth_unstable_by_key(MAX_CLIENTS, |client| (Reverse(client.1), client.0));
            known.truncate(MAX_CLIENTS);
            known.shrink_to_fit();
        }
        known.sort_unstable_by_key(|client| client.0);
    }

    /// The ordinary requests of a client.
    pub(super) fn ordinary(&self, network: &IpNet) -> u64 {
        self.current.counts(network).ordinary + self.previous.counts(network).ordinary
    }

    /// The client that makes nearly all requests. It may be a proxy, unless other clients made
    /// ordinary requests for a whole window: the visitors of a site with a proxy all have its
    /// address.
    pub(super) fn possible_proxy(&self) -> Option<IpNet> {
        let mut clients: HashMap<IpNet, RequestCounts> = HashMap::default();
        for client in self.current.clients.iter().chain(&self.previous.clients) {
            clients.entry(client.0).or_default().add(client.counts());
        }
        let (&network, most) = clients
            .iter()
            .max_by_key(|(network, counts)| (counts.requests, Reverse(**network)))?;
        if !makes_nearly_all(
            most.requests,
            self.current.requests + self.previous.requests,
        ) {
            return None;
        }
        let visitors = clients
            .iter()
            .filter(|(other, counts)| **other != network && counts.ordinary > 0);
        let (visitors, visits) = visitors.fold((0, 0), |(visitors, visits), (_, counts)| {
            (visitors + 1, visits + counts.ordinary)
        });
        let is_passed = self.previous.requests > 0
            && visitors >= MIN_VISITORS
            && is_nearly_all(visits, visits + most.ordinary);
        (!is_passed).then_some(network)
    }
}

impl TrafficWindow {
    fn counts(&self, network: &IpNet) -> RequestCounts {
        let found = self
            .clients
            .binary_search_by_key(network, |client| client.0);
        found.map_or_else(|_| RequestCounts::default(), |at| self.clients[at].counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u32) -> IpNet {
        std::net::IpAddr::from(std::net::Ipv4Addr::from_bits(0x5000_0000 + number)).into()
    }

    fn counts(requests: u64, ordinary: u64) -> RequestCounts {
        RequestCounts { requests, ordinary }
    }

    fn add(traffic: &mut RecentTraffic, time: i64, clients: &[(u32, u64, u64)]) {
        let clients: Vec<_> = clients
            .iter()
            .map(|&(number, all, ordinary)| (network(number), counts(all, ordinary)))
            .collect();
        traffic.advance(time);
        traffic.add(
            clients.iter().map(|(_, counts)| counts.requests).sum(),
            clients.iter().map(|(network, counts)| (network, counts)),
        );
    }

    #[test]
    fn requests_are_forgotten_after_one_to_two_windows() {
        let mut traffic = RecentTraffic::default();
        add(&mut traffic, 0, &[(1, 5, 3)]);
        add(&mut traffic, WINDOW - 1, &[(1, 1, 1)]);
        assert_eq!(
            (traffic.ordinary(&network(1)), traffic.ordinary(&network(2))),
            (4, 0)
        );
        add(&mut traffic, WINDOW, &[(1, 2, 2)]);
        assert_eq!(traffic.ordinary(&network(1)), 6);
        add(&mut traffic, 2 * WINDOW - 1, &[]);
        assert_eq!(traffic.ordinary(&network(1)), 6);
        traffic.advance(2 * WINDOW);
        assert_eq!(traffic.ordinary(&network(1)), 2);
        // A clock that is set back forgets nothing.
        add(&mut traffic, 0, &[]);
        assert_eq!(traffic.ordinary(&network(1)), 2);
        traffic.advance(3 * WINDOW);
        assert_eq!(traffic.ordinary(&network(1)), 0);
    }

    #[test]
    fn nineteen_of_twenty_among_a_hundred_requests_may_be_those_of_a_proxy() {
        let possible = |clients: &[(u32, u64, u64)]| {
            let mut traffic = RecentTraffic::default();
            add(&mut traffic, 0, clients);
            traffic.possible_proxy()
        };
        assert_eq!(possible(&[(1, 95, 0), (2, 5, 5)]), Some(network(1)));
        assert_eq!(possible(&[(1, 94, 0), (2, 5, 5)]), None, "99 requests");
        assert_eq!(possible(&[(1, 94, 0), (2, 6, 6)]), None, "94 of 100");
        assert_eq!(possible(&[]), None);
    }

    #[test]
    fn visitors_of_a_day_who_come_past_a_client_show_that_it_is_no_proxy() {
        let possible = |days: &[&[(u32, u64, u64)]]| {
            let mut traffic = RecentTraffic::default();
            (0..)
                .zip(days)
                .for_each(|(day, clients)| add(&mut traffic, day * WINDOW, clients));
            traffic.possible_proxy()
        };
        let (scan, visit): (&[_], &[_]) = (
            &[(1, 2_000, 0), (2, 9, 9), (3, 9, 9), (4, 2, 2)],
            &[(2, 1, 1)],
        );
        assert_eq!(possible(&[scan, visit]), None);
        assert_eq!(possible(&[scan]), Some(network(1)), "less than a day");
        assert_eq!(
            possible(&[&scan[..3], visit]),
            Some(network(1)),
            "two others"
        );
        // Of 21 and of 22 ordinary requests, it makes one and two.
        assert_eq!(possible(&[scan, &[(1, 1, 1)]]), None);
        assert_eq!(possible(&[scan, &[(1, 2, 2)]]), Some(network(1)));
    }

    #[test]
    fn the_clients_with_the_most_requests_are_kept_in_a_fixed_size() {
        let mut traffic = RecentTraffic::default();
        let most = MAX_CLIENTS as u32;
        add(
            &mut traffic,
            0,
            &(0..most).map(|number| (number, 2, 2)).collect::<Vec<_>>(),
        );
        add(
            &mut traffic,
            0,
            &(most..3 * most)
                .map(|number| (number, 1, 1))
                .collect::<Vec<_>>(),
        );
        assert_eq!(traffic.current.clients.len(), MAX_CLIENTS);
        assert_eq!(
            (
                traffic.ordinary(&network(most - 1)),
                traffic.ordinary(&network(most))
            ),
            (2, 0)
        );
        assert_eq!(traffic.current.requests, 4 * MAX_CLIENTS as u64);
        let mut traffic = RecentTraffic::default();
        let six = |number: u128| {
            ipnet::Ipv6Net::new((number | u128::MAX << 80 | 0xf << 64).into(), 64)
                .unwrap()
                .trunc()
                .into()
        };
        let clients: Vec<(IpNet, _)> = (0..MAX_CLIENTS as u128)
            .map(|number| (six(number << 64), counts(1 << 30, 1 << 30)))
            .collect();
        traffic.add(1, clients.iter().map(|(network, counts)| (network, counts)));
        let text = serde_json::to_string_pretty(&traffic).unwrap();
        assert!(text.len() < 700_000, "{}", text.len());
        assert_eq!(
            serde_json::from_str::<RecentTraffic>(&text).unwrap(),
            traffic
        );
    }
}
