//! Whether the clients of the logs are those of the site, or proxies in front of it.
//!
//! Behind a proxy, a server logs the address of the proxy unless it is configured otherwise. Then
//! no client is known, and none can be blocked. Addresses alone decide: published ranges of
//! proxies, and private addresses, which no client on the internet has.

use std::net::IpAddr;

use crate::block::{ProxyOperator, ProxyRanges};
use crate::log::client::is_private;
use crate::tally::Tally;
use crate::text::number::{counted, grouped};

/// Clients in the ranges of one operator are worth a sentence if they are more than one in this
/// many. Where the real clients are logged, a few of them are programs of the operator's customers.
const PROXIED_DIVISOR: u64 = 10;

/// A proxy is assumed if one client makes this share of at least this many requests. On a site
/// without a proxy, only a flood has such a share.
const PROXIED: u64 = 100;
const PROXY_SHARE: (u64, u64) = (19, 20);

/// This many other clients with ordinary requests are visitors; one or two may be checks of the
/// server's health.
pub(crate) const MIN_VISITORS: u64 = 3;

/// Whether a client may be a proxy, by its share of the requests.
pub(crate) fn makes_nearly_all(most: u64, requests: u64) -> bool {
    requests >= PROXIED && is_nearly_all(most, requests)
}

/// Whether a part is such a share of all as a proxy makes.
pub(crate) fn is_nearly_all(part: u64, all: u64) -> bool {
    part.saturating_mul(PROXY_SHARE.1) >= all.saturating_mul(PROXY_SHARE.0)
}

/// What the addresses of the clients show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxiedClients {
    /// Many are edges of a content delivery network.
    Edges {
        /// The network.
        operator: ProxyOperator,
        /// The clients in its ranges.
        clients: u64,
        /// All clients with an address.
        of: u64,
    },
    /// One address makes nearly all requests, and the lines have a field of forwarded addresses.
    Forwarding {
        /// The address.
        address: IpAddr,
        /// Its requests.
        requests: u64,
        /// All requests of clients with an address.
        of: u64,
    },
    /// One private address makes nearly all requests.
    Gateway {
        /// The address.
        address: IpAddr,
        /// Its requests.
        requests: u64,
        /// All requests of clients with an address.
        of: u64,
    },
    /// Private addresses make nearly all requests, and none of them alone.
    Private {
        /// The private clients.
        clients: u64,
        /// All clients with an address.
        of: u64,
    },
}

impl ProxiedClients {
    /// What the addresses of the clients of a log show, if it is anything. `has_forwarded` says
    /// that most lines have a field of forwarded addresses which is not read.
    #[must_use]
    pub(crate) fn find(tally: &Tally, ranges: &ProxyRanges, has_forwarded: bool) -> Option<Self> {
        let mut edges = ProxyOperator::ALL.map(|operator| (operator, 0));
        let (mut clients, mut requests) = (0, 0);
        let (mut private_clients, mut private_requests) = (0, 0);
        let mut busiest: Option<(u64, IpAddr)> = None;
        let mut busiest_private: Option<(u64, IpAddr)> = None;
        for (number, count) in (0..)
            .zip(tally.client_counts())
            .filter(|(_, count)| count.requests > 0)
        {
            let Some(address) = tally.client(number).first_address() else {
                continue;
            };
            clients += 1;
            requests += count.requests;
            busiest = busiest.max(Some((count.requests, address)));
            if let Some(operator) = ranges.operator_of(address) {
                edges
                    .iter_mut()
                    .filter(|(known, _)| *known == operator)
                    .for_each(|(_, clients)| *clients += 1);
            } else if is_private(address) {
                private_clients += 1;
                private_requests += count.requests;
                busiest_private = busiest_private.max(Some((count.requests, address)));
            }
        }
        if let Some((most, address)) =
            busiest.filter(|(most, _)| has_forwarded && makes_nearly_all(*most, requests))
        {
            return Some(Self::Forwarding {
                address,
                requests: most,
                of: requests,
            });
        }
        if let Some((operator, most)) = edges
            .into_iter()
            .find(|(_, most)| most * PROXIED_DIVISOR > clients)
        {
            return Some(Self::Edges {
                operator,
                clients: most,
                of: clients,
            });
        }
        // Where visitors have other addresses, a private one is that of a check of the server's
        // health.
        let has_visitors =
            clients - private_clients >= MIN_VISITORS && !is_nearly_all(private_clients, clients);
        let (most, address) = busiest_private
            .filter(|_| is_nearly_all(private_requests, requests) && !has_visitors)?;
        Some(if is_nearly_all(most, requests) {
            Self::Gateway {
                address,
                requests: most,
                of: requests,
            }
        } else {
            Self::Private {
                clients: private_clients,
                of: clients,
            }
        })
    }

    /// A sentence on it, which names no address if they are hidden.
    #[must_use]
    pub(crate) fn sentence(&self, is_hidden: bool) -> String {
        match *self {
            Self::Edges {
                operator,
                clients,
                of,
            } => {
                let header = operator.client_header();
                format!(
                    "{} % of clients are {}: log the real client (nginx: real_ip_header {header} and set_real_ip_from for \
                     its ranges; Apache: mod_remoteip with RemoteIPHeader {header} and RemoteIPTrustedProxy for its ranges, and %a in LogFormat)",
                    percent(clients, of),
                    operator.its("proxies")
                )
            }
            Self::Forwarding {
                address,
                requests,
                of,
            } => {
                let address = if is_hidden {
                    "ADDRESS".to_owned()
                } else {
                    address.to_string()
                };
                format!(
                    "one client makes {} of {} requests, and the log has a field of forwarded addresses: if it is your proxy, type \
                     --client-from x-forwarded-for --trusted-proxy {address}",
                    grouped(requests),
                    grouped(of)
                )
            }
            Self::Gateway {
                address,
                requests,
                of,
            } => {
                let (name, address) = if is_hidden {
                    ("a private address".to_owned(), "ADDRESS".to_owned())
                } else {
                    (
                        format!("{address}, a private address,"),
                        address.to_string(),
                    )
                };
                format!(
                    "{name} makes {} % of requests, as a proxy or the gateway of a container network does: log the real client (nginx: \
                     real_ip_header X-Forwarded-For and set_real_ip_from {address}; Apache: mod_remoteip with RemoteIPHeader \
                     X-Forwarded-For and RemoteIPInternalProxy {address}, and %a in LogFormat; Docker without a proxy: the network mode host)",
                    percent(requests, of)
                )
            }
            Self::Private { clients, of } => {
                let clients = if clients == of {
                    format!("all {} clients", grouped(clients))
                } else {
                    format!(
                        "{} of {}",
                        grouped(clients),
                        counted(of, "client", "clients")
                    )
                };
                format!(
                    "{clients} have private addresses, which are never listed: right for an intranet; if they are proxies, log the real \
                     client (nginx: real_ip_header X-Forwarded-For and set_real_ip_from; Apache: mod_remoteip, and %a in LogFormat)"
                )
            }
        }
    }
}

/// The share of a part in percent, rounded down so that only all of them are 100.
fn percent(part: u64, all: u64) -> u64 {
    part.saturating_mul(100) / all.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::client::{Client, ClientKey};
    use crate::tally::ClientCount;

    /// What these clients and their requests show.
    fn found(clients: &[(String, u64)]) -> Option<ProxiedClients> {
        let mut tally = Tally::default();
        for (client, requests) in clients {
            let key = ClientKey::from(&Client::parse(client.as_bytes()));
            tally.insert_client(
                key.client(),
                ClientCount {
                    requests: *requests,
                    ..ClientCount::default()
                },
            );
        }
        ProxiedClients::find(&tally, &ProxyRanges::read(&[]).unwrap(), false)
    }

    fn clients(many: std::ops::Range<u32>, prefix: &str, requests: u64) -> Vec<(String, u64)> {
        many.map(|n| (format!("{prefix}{n}"), requests)).collect()
    }

    #[test]
    fn more_than_a_tenth_of_clients_in_the_ranges_of_one_operator() {
        let edges = |operator, clients, of| {
            Some(ProxiedClients::Edges {
                operator,
                clients,
                of,
            })
        };
        let of = |edges: u32, others: u32| {
            [
                clients(0..edges, "162.158.90.", 9),
                clients(0..others, "203.0.113.", 1),
            ]
            .concat()
        };
        assert_eq!(found(&of(17, 3)), edges(ProxyOperator::Cloudflare, 17, 20));
        assert_eq!(
            found(&of(11, 89)),
            edges(ProxyOperator::Cloudflare, 11, 100)
        );
        assert_eq!(found(&of(10, 90)), None);
        assert_eq!(
            found(&clients(1..4, "2a04:4e42::", 1)),
            edges(ProxyOperator::Fastly, 3, 3)
        );
        let two = [
            clients(0..8, "162.158.90.", 1),
            clients(0..8, "151.101.7.", 1),
            clients(0..84, "203.0.113.", 1),
        ]
        .concat();
        assert_eq!(found(&two), None, "of no operator more than a tenth");
        let sentence = found(&of(17, 3)).unwrap().sentence(false);
        assert!(
            sentence.starts_with("85 % of clients are Cloudflare's proxies: log the real client (nginx: real_ip_header CF-Connecting-IP"),
            "{sentence}"
        );
    }

    #[test]
    fn one_private_address_is_a_gateway_and_many_are_an_intranet() {
        let gateway = |address: &str, requests, of| {
            Some(ProxiedClients::Gateway {
                address: address.parse().unwrap(),
                requests,
                of,
            })
        };
        let private = |clients, of| Some(ProxiedClients::Private { clients, of });
        let with = |more: &[(String, u64)], address: &str, requests| {
            [more, &[(address.to_owned(), requests)]].concat()
        };
        for address in [
            "172.17.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "::1",
            "fd00::1",
        ] {
            assert_eq!(found(&with(&[], address, 1)), gateway(address, 1, 1));
        }
        assert_eq!(
            found(&with(&clients(0..2, "203.0.113.", 1), "172.17.0.1", 38)),
            gateway("172.17.0.1", 38, 40)
        );
        assert_eq!(
            found(&with(&clients(0..2, "203.0.113.", 1), "172.17.0.1", 37)),
            None,
            "37 of 39 requests"
        );
        // Those of health checks, on a site with visitors.
        assert_eq!(
            found(&with(&clients(0..3, "203.0.113.", 1), "127.0.0.1", 1_000)),
            None
        );
        assert_eq!(found(&clients(1..21, "192.168.1.", 9)), private(20, 20));
        assert_eq!(
            found(
                &[
                    clients(1..96, "192.168.1.", 9),
                    clients(0..5, "203.0.113.", 9)
                ]
                .concat()
            ),
            private(95, 100)
        );
        assert_eq!(
            found(
                &[
                    clients(1..95, "192.168.1.", 9),
                    clients(0..5, "203.0.113.", 9)
                ]
                .concat()
            ),
            None,
            "94 of 99"
        );
        // An address of a pseudonym, of a carrier's customers and of an example is not private.
        for address in ["198.18.0.1", "100.64.0.1", "192.0.2.1", "-", "host.example"] {
            assert_eq!(found(&with(&[], address, 9)), None, "{address}");
        }
    }

    #[test]
    fn a_hidden_address_is_not_in_the_sentence() {
        let found = found(&[("172.17.0.1".to_owned(), 9)]).unwrap();
        assert!(
            found
                .sentence(false)
                .starts_with("172.17.0.1, a private address, makes 100 % of requests")
        );
        assert!(
            !found.sentence(true).contains("172.17")
                && found
                    .sentence(true)
                    .starts_with("a private address makes 100 %")
        );
        let intranet = ProxiedClients::Private {
            clients: 1_200,
            of: 1_200,
        };
        assert!(
            intranet
                .sentence(false)
                .starts_with("all 1,200 clients have private addresses")
        );
    }
}
