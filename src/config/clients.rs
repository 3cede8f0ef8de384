//! Who asked, as it was asked for: lists of proxies are read here, keys are not.
//!
//! A list is a file that was named; nothing is fetched and no list comes with the program.

use std::path::Path;
use std::{fs, io};

use ipnet::IpNet;
use thiserror::Error;

use super::value::{Anonymity, Field, PrefixBits, Proxies};
use crate::block;
use crate::cli::client::ClientArgs;
use crate::client::ClientIpSource;
use crate::commands::message::sanitized;
use crate::commands::{Anonymize, ClientSettings};

/// Why clients cannot be told apart, or not be hidden, as was asked for. Texts are escaped.
#[derive(Debug, Error)]
pub enum ClientError {
    /// `--client-from` without a proxy. Holds the field.
    #[error("--client-from {0} believes proxies that are trusted, and --trusted-proxy names none: anyone could write any address there")]
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
    /// A list of proxies says nothing. Holds the file.
    #[error("{0}: names no proxy; write a network a line, as 192.0.2.0/24")]
    EmptyList(String),
    /// Folders that are added to later, of reports that cannot be.
    #[error("--anonymize leaves nothing to add later lines to, as --daily and --hourly do")]
    Periods,
}

impl ClientError {
    /// What to type instead, where the message does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoProxy(_) => Some("name your own proxies, such as: --trusted-proxy 10.0.0.0/8 or --trusted-proxy @proxies.txt"),
            Self::NoList { .. } => Some("name a file with a network a line after '@', or the networks themselves"),
            Self::Periods => Some("leave --daily and --hourly out: each run writes a folder of its own then"),
            Self::List { .. } | Self::EmptyList(_) => None,
        }
    }
}

/// Checks that clients may be hidden in folders by day or hour: they may not.
pub(super) fn check_periods(asked: &ClientArgs) -> Result<(), ClientError> {
    match asked.privacy.anonymize {
        None | Some(Anonymity::Off) => Ok(()),
        Some(_) => Err(ClientError::Periods),
    }
}

/// The settings on clients.
pub(super) fn settings(asked: ClientArgs) -> Result<ClientSettings, ClientError> {
    let ClientArgs { client_from, trusted_proxy, ipv6_prefix, privacy } = asked;
    let trusted = networks(&trusted_proxy)?;
    let origin = client_from.as_ref().map(|field| origin(field, &trusted)).transpose()?;
    Ok(ClientSettings {
        origin,
        trusted,
        prefix: ipv6_prefix.and_then(PrefixBits::prefix),
        anonymize: anonymize(privacy.anonymize),
        redact: !privacy.no_redact.unwrap_or(false),
    })
}

/// How clients are hidden.
pub(super) fn anonymize(asked: Option<Anonymity>) -> Option<Anonymize> {
    match asked? {
        Anonymity::Off => None,
        Anonymity::Truncate => Some(Anonymize::Truncate),
        Anonymity::Key(file) => Some(Anonymize::Key(file)),
    }
}

/// Without a proxy, whoever asks could write any address into the field himself.
fn origin(field: &Field, trusted: &[IpNet]) -> Result<ClientIpSource, ClientError> {
    if trusted.is_empty() {
        return Err(ClientError::NoProxy(sanitized(field.name())));
    }
    Ok(ClientIpSource::new(field.name(), trusted))
}

fn networks(given: &[Proxies]) -> Result<Vec<IpNet>, ClientError> {
    let mut networks = Vec::new();
    for one in given {
        match one {
            Proxies::Network(network) => networks.push(*network),
            Proxies::File(path) => read(path, &mut networks)?,
        }
    }
    Ok(networks)
}

/// Reads a list: a network a line, `#` before comments.
fn read(path: &Path, networks: &mut Vec<IpNet>) -> Result<(), ClientError> {
    let name = || sanitized(&path.to_string_lossy());
    let text = fs::read_to_string(path).map_err(|source| ClientError::NoList { path: name(), source })?;
    let before = networks.len();
    for (number, line) in (1..).zip(text.lines()) {
        let network = line.split('#').next().unwrap_or_default().trim();
        if network.is_empty() {
            continue;
        }
        let wrong =
            |error: block::TrustedProxyError| ClientError::List { path: name(), line: number, message: sanitized(&error.to_string()) };
        networks.push(block::parse_trusted_proxy(network).map_err(wrong)?.0);
    }
    if networks.len() == before { Err(ClientError::EmptyList(name())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(given: &[&str]) -> ClientArgs {
        let trusted_proxy = given.iter().map(|one| one.parse().expect("a proxy")).collect();
        ClientArgs { client_from: "X-Real-IP".parse().ok(), trusted_proxy, ..ClientArgs::default() }
    }

    #[test]
    fn a_list_is_read_and_its_mistakes_are_named_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = |text: &str| {
            let file = folder.path().join("proxies.txt");
            fs::write(&file, text).expect("written");
            settings(asked(&["192.0.2.7", &format!("@{}", file.display())]))
        };
        let read = list("# ours\n10.0.0.0/8 # inside\n\n  2001:db8::/32\r\n").expect("fine");
        assert_eq!(read.trusted.len(), 3);
        assert_eq!(read.origin.expect("asked for").resolve(b"2001:db8::1", b"203.0.113.5"), b"203.0.113.5");
        for (text, part) in [
            ("10.0.0.0/8\nproxy.example", "proxies.txt:2: 'proxy.example' is no address"),
            ("0.0.0.0/0", "proxies.txt:1: '0.0.0.0/0' is every address"),
            ("# nothing", "names no proxy"),
            ("\u{1b}", "\\x1b"),
        ] {
            let message = list(text).expect_err(text).to_string();
            assert!(message.contains(part), "{message}");
        }
        assert!(settings(asked(&["@/nowhere/at/all"])).is_err_and(|error| error.to_string().contains("/nowhere/at/all")));
    }

    #[test]
    fn a_field_without_a_proxy_is_refused() {
        let error = settings(asked(&[])).expect_err("nobody is believed");
        assert!(error.to_string().contains("--client-from x-real-ip"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--trusted-proxy")));
    }
}
