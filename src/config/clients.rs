//! The settings on clients. Lists of proxies are read here, keys are not.
//!
//! A list is a file that the user named; none comes with the program.

use std::path::Path;
use std::{fs, io};

use ipnet::IpNet;
use thiserror::Error;

use super::flags::Flags;
use super::value::{AnonymizeSpec, FieldName, PrefixBits, ProxySource};
use crate::block;
use crate::commands::message::sanitized;
use crate::commands::{Anonymize, ClientSettings};
use crate::log::client::ClientIpSource;

/// Why settings on clients cannot be used. Texts are escaped.
#[derive(Debug, Error)]
pub(crate) enum ClientError {
    /// `--client-from` without a proxy. Holds the field.
    #[error(
        "--client-from {0} needs --trusted-proxy: without trusted proxies, any client could write any address into the field"
    )]
    NoProxy(String),
    /// A list of proxies cannot be read.
    #[error("cannot read the list of proxies '{path}': {source}")]
    NoList {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line of a list of proxies is wrong.
    #[error("{path}:{line}: {message}")]
    List {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A list of proxies is empty. Holds the file.
    #[error("{0}: names no proxy; write one network per line, such as 192.0.2.0/24")]
    EmptyList(String),
    /// `--anonymize` with folders that later runs add lines to.
    #[error(
        "--anonymize cannot be combined with --daily or --hourly: they add later lines to a report, which needs the addresses"
    )]
    Periods,
}

impl ClientError {
    /// What to type instead, where the message does not contain it.
    #[must_use]
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoProxy(_) => Some(
                "name your own proxies, such as --trusted-proxy 10.0.0.0/8 or --trusted-proxy @proxies.txt",
            ),
            Self::NoList { .. } => Some(
                "after '@', name a file with one network per line; or name the networks themselves",
            ),
            Self::Periods => {
                Some("remove --daily and --hourly: each run then writes its own folder")
            }
            Self::List { .. } | Self::EmptyList(_) => None,
        }
    }
}

/// Refuses `--anonymize` for folders by day or hour.
pub(super) fn check_periods(flags: &Flags) -> Result<(), ClientError> {
    match flags.anonymize {
        None | Some(AnonymizeSpec::Off) => Ok(()),
        Some(_) => Err(ClientError::Periods),
    }
}

/// The settings on clients.
pub(super) fn settings(flags: &Flags) -> Result<ClientSettings, ClientError> {
    let trusted = networks(&flags.trusted_proxy)?;
    let origin = flags
        .client_from
        .as_ref()
        .map(|field| origin(field, &trusted))
        .transpose()?;
    Ok(ClientSettings {
        origin,
        trusted,
        proxy_ranges: flags.proxy_ranges.clone(),
        prefix: flags.ipv6_prefix.and_then(PrefixBits::prefix),
        anonymize: anonymize(flags.anonymize.as_ref()),
        redact: !flags.no_redact.unwrap_or(false),
        geoip: flags.geoip.clone(),
    })
}

/// How clients are hidden.
pub(super) fn anonymize(spec: Option<&AnonymizeSpec>) -> Option<Anonymize> {
    match spec? {
        AnonymizeSpec::Off => None,
        AnonymizeSpec::Truncate => Some(Anonymize::Truncate),
        AnonymizeSpec::Key(file) => Some(Anonymize::Key(file.clone())),
    }
}

/// Requires a trusted proxy: without one, a client could write any address into the field.
fn origin(field: &FieldName, trusted: &[IpNet]) -> Result<ClientIpSource, ClientError> {
    if trusted.is_empty() {
        return Err(ClientError::NoProxy(sanitized(field.name())));
    }
    Ok(ClientIpSource::new(field.name(), trusted))
}

fn networks(sources: &[ProxySource]) -> Result<Vec<IpNet>, ClientError> {
    let mut networks = Vec::new();
    for source in sources {
        match source {
            ProxySource::Network(network) => networks.push(*network),
            ProxySource::File(path) => read(path, &mut networks)?,
        }
    }
    Ok(networks)
}

/// Reads a list: one network per line, `#` starts a comment.
fn read(path: &Path, networks: &mut Vec<IpNet>) -> Result<(), ClientError> {
    let name = || sanitized(&path.to_string_lossy());
    let text = fs::read_to_string(path).map_err(|source| ClientError::NoList {
        path: name(),
        source,
    })?;
    let before = networks.len();
    for (number, line) in (1..).zip(text.lines()) {
        let network = line.split('#').next().unwrap_or_default().trim();
        if network.is_empty() {
            continue;
        }
        let wrong = |error: block::TrustedProxyError| ClientError::List {
            path: name(),
            line: number,
            message: sanitized(&error.to_string()),
        };
        networks.push(block::parse_trusted_proxy(network).map_err(wrong)?.0);
    }
    if networks.len() == before {
        Err(ClientError::EmptyList(name()))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_proxies(proxies: &[&str]) -> Result<ClientSettings, ClientError> {
        let trusted_proxy = proxies
            .iter()
            .map(|proxy| proxy.parse().expect("a proxy"))
            .collect();
        settings(&Flags {
            client_from: "X-Real-IP".parse().ok(),
            trusted_proxy,
            ..Flags::default()
        })
    }

    #[test]
    fn a_list_is_read_and_its_mistakes_are_named_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = |text: &str| {
            let file = folder.path().join("proxies.txt");
            fs::write(&file, text).expect("written");
            with_proxies(&["192.0.2.7", &format!("@{}", file.display())])
        };
        let read = list("# ours\n10.0.0.0/8 # inside\n\n  2001:db8::/32\r\n").expect("fine");
        assert_eq!(read.trusted.len(), 3);
        assert_eq!(
            read.origin
                .expect("an origin")
                .resolve(b"2001:db8::1", b"203.0.113.5"),
            b"203.0.113.5"
        );
        for (text, part) in [
            (
                "10.0.0.0/8\nproxy.example",
                "proxies.txt:2: 'proxy.example' is no address",
            ),
            ("0.0.0.0/0", "proxies.txt:1: '0.0.0.0/0' is every address"),
            ("# nothing", "names no proxy"),
            ("\u{1b}", "\\x1b"),
        ] {
            let message = list(text).expect_err(text).to_string();
            assert!(message.contains(part), "{message}");
        }
        assert!(
            with_proxies(&["@/nowhere/at/all"])
                .is_err_and(|error| error.to_string().contains("/nowhere/at/all"))
        );
    }

    #[test]
    fn a_field_without_a_proxy_is_refused() {
        let error = with_proxies(&[]).expect_err("no proxy");
        assert!(
            error.to_string().contains("--client-from x-real-ip"),
            "{error}"
        );
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("--trusted-proxy"))
        );
    }
}
