//! Whose addresses are trusted: reads lists of proxies.
//!
//! A list is a file that the user named; none comes with the program.

use std::fs;
use std::path::Path;

use ipnet::IpNet;

use super::Error;
use super::flags::Flags;
use super::value::ProxySource;
use crate::block;
use crate::commands::message::{sanitized, sanitized_path};
use crate::log::client::ClientIpSource;

/// The field with the client's address, and the networks of trusted proxies. The field needs one:
/// without it, any client could write any address into the field.
pub(super) fn origin_and_proxies(
    flags: &Flags,
) -> Result<(Option<ClientIpSource>, Vec<IpNet>), Error> {
    let trusted = networks(&flags.trusted_proxy)?;
    match &flags.client_from {
        Some(field) if trusted.is_empty() => Err(Error::new(
            format!(
                "--client-from {} needs --trusted-proxy: without trusted proxies, any client could write any address into the field",
                sanitized(field),
            ),
            "name your own proxies, such as --trusted-proxy 10.0.0.0/8 or --trusted-proxy @proxies.txt",
        )),
        field => {
            let origin = field
                .as_ref()
                .map(|field| ClientIpSource::new(field, &trusted));
            Ok((origin, trusted))
        }
    }
}

fn networks(sources: &[ProxySource]) -> Result<Vec<IpNet>, Error> {
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
fn read(path: &Path, networks: &mut Vec<IpNet>) -> Result<(), Error> {
    let name = || sanitized_path(path);
    let text = fs::read_to_string(path).map_err(|source| {
        Error::new(
            format!("cannot read the list of proxies '{}': {source}", name()),
            "after '@', name a file with one network per line; or name the networks themselves",
        )
    })?;
    let before = networks.len();
    for (number, line) in (1..).zip(text.lines()) {
        let network = line.split('#').next().unwrap_or_default().trim();
        if network.is_empty() {
            continue;
        }
        let wrong = |error: block::TrustedProxyError| {
            Error::without_hint(format!(
                "{}:{number}: {}",
                name(),
                sanitized(&error.to_string())
            ))
        };
        networks.push(block::parse_trusted_proxy(network).map_err(wrong)?.0);
    }
    if networks.len() == before {
        Err(Error::without_hint(format!(
            "{}: names no proxy; write one network per line, such as 192.0.2.0/24",
            name()
        )))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_proxies(proxies: &[&str]) -> Result<(Option<ClientIpSource>, Vec<IpNet>), Error> {
        let trusted_proxy = proxies
            .iter()
            .map(|proxy| proxy.parse().expect("a proxy"))
            .collect();
        origin_and_proxies(&Flags {
            client_from: Some("x-real-ip".to_owned()),
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
        let (origin, trusted) =
            list("# ours\n10.0.0.0/8 # inside\n\n  2001:db8::/32\r\n").expect("fine");
        assert_eq!(trusted.len(), 3);
        assert_eq!(
            origin
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
                .hint
                .is_some_and(|hint| hint.contains("--trusted-proxy"))
        );
    }
}
