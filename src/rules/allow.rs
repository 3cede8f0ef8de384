//! Allow lists: clients, paths and user agents to leave out of reports, each with a reason.
//!
//! An allow list removes requests from a report and counts them; it changes no rule and no verdict.
//! Only files that were named are read.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use ipnet::{IpNet, Ipv6Net};
use serde::Deserialize;
use toml::Spanned;

use super::error::RuleError;
use crate::log::client::{self, Client, Ipv6Prefix, Width, network_width, parse_network};

/// The entries of all allow lists.
#[derive(Debug, Clone, Default)]
pub struct AllowList {
    entries: Vec<AllowEntry>,
}

/// One `[[allow]]` table: it applies to a request that matches each of its lists.
#[derive(Debug, Clone)]
pub struct AllowEntry {
    /// Why it is allowed.
    pub reason: String,
    /// The file.
    pub file: String,
    /// The line it begins at, from 1.
    pub line: usize,
    clients: Vec<IpNet>,
    names: Vec<String>,
    paths: Vec<String>,
    agents: Vec<String>,
    /// It comes from an earlier report and allows nothing.
    is_reported: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowFile {
    #[serde(default)]
    allow: Vec<Spanned<AllowFileEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowFileEntry {
    reason: String,
    #[serde(default)]
    clients: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    agents: Vec<String>,
}

/// The most entries: their ids have 16 bits.
const MAX_ENTRIES: usize = u16::MAX as usize;

impl AllowList {
    /// Reads allow lists.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or has an invalid entry.
    pub fn load(files: &[PathBuf]) -> Result<Self, RuleError> {
        let mut entries = Vec::new();
        for file in files {
            entries.extend(read(file)?);
        }
        if entries.len() > MAX_ENTRIES {
            let message = format!(
                "{} entries are too many for allow lists; {MAX_ENTRIES} are the most",
                entries.len()
            );
            return Err(RuleError::Syntax {
                file: files[0].display().to_string(),
                message,
            });
        }
        Ok(Self { entries })
    }

    /// Entries of an earlier report, by file, line and reason. They are listed, but allow nothing.
    #[must_use]
    pub fn from_report(entries: impl IntoIterator<Item = (String, usize, String)>) -> Self {
        let entry = |(file, line, reason)| AllowEntry {
            reason,
            file,
            line,
            clients: Vec::new(),
            names: Vec::new(),
            paths: Vec::new(),
            agents: Vec::new(),
            is_reported: true,
        };
        Self {
            entries: entries.into_iter().map(entry).collect(),
        }
    }

    /// The index of the first entry that allows a request; `path` is normalised, `agent` is as
    /// logged.
    #[must_use]
    pub fn entry_for(&self, client: Client<'_>, path: &[u8], agent: Option<&[u8]>) -> Option<u16> {
        self.entries
            .iter()
            .position(|entry| entry.allows(client, path, agent))
            .map(|number| number as u16)
    }

    /// Whether an entry names an address in a network.
    #[must_use]
    pub fn overlaps(&self, network: &IpNet) -> bool {
        self.entries
            .iter()
            .flat_map(|entry| &entry.clients)
            .any(|named| named.contains(network) || network.contains(named))
    }

    /// Warnings for probable mistakes, one per entry: networks wider than a /8, or than a /16 of
    /// IPv6.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let wide_network = |entry: &AllowEntry| {
            let network = entry
                .clients
                .iter()
                .find(|network| network_width(network) == Width::Wide)?;
            Some(format!(
                "{}:{}: {network} is a large part of the internet; check that it is intended",
                entry.file, entry.line
            ))
        };
        self.entries.iter().filter_map(wide_network).collect()
    }

    /// Warnings for entries that allow nothing, because all addresses of an IPv6 prefix count as
    /// one client and they name a smaller network.
    #[must_use]
    pub fn warnings_for(&self, prefix: Ipv6Prefix) -> Vec<String> {
        let small_network = |entry: &AllowEntry| {
            let network = entry.clients.iter().find(
                |network| matches!(network, IpNet::V6(six) if six.prefix_len() > prefix.bits()),
            )?;
            let group = Ipv6Net::new(network_v6(network)?, prefix.bits())
                .ok()?
                .trunc();
            Some(format!(
                "{}:{}: {network} is less than --ipv6-prefix counts as one client, and allows nothing; type {group}",
                entry.file, entry.line
            ))
        };
        self.entries.iter().filter_map(small_network).collect()
    }

    /// All entries, by number.
    #[must_use]
    pub fn entries(&self) -> &[AllowEntry] {
        &self.entries
    }
}

impl AllowEntry {
    fn new(file: &str, line: usize, entry: AllowFileEntry) -> Result<Self, String> {
        let AllowFileEntry {
            reason,
            clients,
            paths,
            agents,
        } = entry;
        if reason.trim().is_empty() {
            return Err(
                "reason: it is empty; explain why this is allowed, for later readers of the report"
                    .into(),
            );
        }
        if clients.is_empty() && paths.is_empty() && agents.is_empty() {
            return Err("it would allow everything; give it clients, paths or agents".into());
        }
        for (name, list) in [
            ("clients", &clients),
            ("paths", &paths),
            ("agents", &agents),
        ] {
            if list.iter().any(String::is_empty) {
                return Err(format!("{name}: an empty text would allow every request"));
            }
        }
        if let Some(path) = paths.iter().find(|path| !path.starts_with('/')) {
            return Err(format!("paths: '{path}' must begin with '/'"));
        }
        let mut allowed = Self {
            reason,
            file: file.to_owned(),
            line,
            clients: Vec::new(),
            names: Vec::new(),
            paths,
            agents,
            is_reported: false,
        };
        for client in clients {
            match parse_network(&client) {
                Some(network) if network_width(&network) == Width::Everything => {
                    return Err(format!(
                        "clients: '{client}' is every address there is; leave clients out and name paths or agents"
                    ));
                }
                Some(network) => allowed.clients.push(network),
                None if is_name(&client) => allowed.names.push(client),
                None => {
                    return Err(format!(
                        "clients: '{client}' is no address, network or host name; type 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or a name as it is in the log"
                    ));
                }
            }
        }
        Ok(allowed)
    }

    fn allows(&self, client: Client<'_>, path: &[u8], agent: Option<&[u8]>) -> bool {
        if self.is_reported {
            return false;
        }
        let any_client = self.clients.is_empty() && self.names.is_empty();
        (any_client || self.names_client(client))
            && (self.paths.is_empty()
                || self
                    .paths
                    .iter()
                    .any(|allowed| is_at_or_below(path, allowed.as_bytes())))
            && (self.agents.is_empty()
                || agent.is_some_and(|agent| {
                    self.agents
                        .iter()
                        .any(|part| contains_ignore_case(agent, part.as_bytes()))
                }))
    }

    fn names_client(&self, client: Client<'_>) -> bool {
        let address: IpAddr = match client {
            Client::V4(bits) => Ipv4Addr::from(bits).into(),
            Client::V6(bits) => Ipv6Addr::from(bits).into(),
            Client::Text(text) => return self.names_text(text),
        };
        self.clients
            .iter()
            .any(|network| network.contains(&address))
    }

    /// A group of addresses that counts as one client must be named completely.
    fn names_text(&self, text: &[u8]) -> bool {
        match client::parse_prefix(text) {
            Some((first, bits)) => {
                let group = Ipv6Net::new(first.into(), bits.bits()).map(IpNet::from);
                group.is_ok_and(|group| self.clients.iter().any(|network| network.contains(&group)))
            }
            None => self
                .names
                .iter()
                .any(|name| name.as_bytes().eq_ignore_ascii_case(text)),
        }
    }
}

fn read(path: &Path) -> Result<Vec<AllowEntry>, RuleError> {
    let file = path.display().to_string();
    let unreadable = |source: std::io::Error| RuleError::Syntax {
        file: file.clone(),
        message: format!("cannot read the allow list: {source}"),
    };
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let parsed: AllowFile = toml::from_str(&text).map_err(|error| RuleError::Syntax {
        file: file.clone(),
        message: error.to_string(),
    })?;
    parsed
        .allow
        .into_iter()
        .map(|entry| {
            let line =
                memchr::memchr_iter(b'\n', &text.as_bytes()[..entry.span().start]).count() + 1;
            let invalid = |message| RuleError::Syntax {
                file: format!("{file}:{line}"),
                message,
            };
            AllowEntry::new(&file, line, entry.into_inner()).map_err(invalid)
        })
        .collect()
}

fn network_v6(network: &IpNet) -> Option<Ipv6Addr> {
    match network {
        IpNet::V6(six) => Some(six.addr()),
        IpNet::V4(_) => None,
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

/// Whether a path equals `allowed`, or is below it if it ends in `/`.
fn is_at_or_below(path: &[u8], allowed: &[u8]) -> bool {
    match path.get(..allowed.len()) {
        Some(start) => {
            start.eq_ignore_ascii_case(allowed)
                && (path.len() == allowed.len() || allowed.ends_with(b"/"))
        }
        None => false,
    }
}

fn contains_ignore_case(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len())
        .any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<AllowList, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("allow.toml");
        fs::write(&file, text).unwrap();
        AllowList::load(&[file]).map_err(|error| error.to_string())
    }

    #[test]
    fn every_list_of_an_entry_must_match() {
        let allowed = list(
            "[[allow]]\nreason = 'office'\nclients = ['192.0.2.0/28', '2001:db8::/32', '::ffff:198.51.100.7', 'scan.example.net']\n\
             [[allow]]\nreason = 'monitor'\npaths = ['/health', '/wp-login.php', '/old/']\nagents = ['UptimeRobot']\n",
        )
        .unwrap();
        let entry = |client: &str, path: &str, agent: &str| {
            allowed.entry_for(
                Client::parse(client.as_bytes()),
                path.as_bytes(),
                Some(agent.as_bytes()),
            )
        };
        for client in [
            "192.0.2.15",
            "2001:db8::1",
            "198.51.100.7",
            "Scan.example.net",
        ] {
            assert_eq!(entry(client, "/.env", "-"), Some(0), "{client}");
        }
        assert_eq!(entry("192.0.2.16", "/.env", "-"), None);
        let robot = "Mozilla/5.0 (compatible; uptimerobot/2.0)";
        for path in ["/wp-login.php", "/WP-login.php", "/old/.env", "/old/"] {
            assert_eq!(entry("203.0.113.1", path, robot), Some(1), "{path}");
        }
        for path in ["/wp-login.php5", "/blog/wp-login.php", "/old", "/health/x"] {
            assert_eq!(entry("203.0.113.1", path, robot), None, "{path}");
        }
        assert_eq!(entry("203.0.113.1", "/wp-login.php", "curl/8"), None);
    }

    #[test]
    fn an_entry_names_its_clients_for_any_path() {
        let allowed = list(
            "[[allow]]\nreason = 'office'\nclients = ['192.0.2.0/28', 'scan.example.net']\npaths = ['/health']\n\
             [[allow]]\nreason = 'robots'\nagents = ['Googlebot']\n",
        )
        .unwrap();
        let names = |client: &str| {
            let client = Client::parse(client.as_bytes());
            allowed
                .entries
                .iter()
                .any(|entry| entry.names_client(client))
        };
        assert!(names("192.0.2.3") && names("::ffff:192.0.2.3") && names("scan.example.net"));
        assert!(!names("192.0.2.16") && !names("203.0.113.1") && !names("-"));
        let overlaps = |text| allowed.overlaps(&parse_network(text).unwrap());
        assert!(overlaps("192.0.2.0/24") && overlaps("192.0.2.1/32") && !overlaps("192.0.3.0/24"));
    }

    #[test]
    fn a_group_must_be_named_completely() {
        let allowed =
            list("[[allow]]\nreason = 'x'\nclients = ['2001:db8:1::/48', '2001:db8:2::7']\n")
                .unwrap();
        let allows = |client: &str| {
            allowed
                .entry_for(Client::parse(client.as_bytes()), b"/", None)
                .is_some()
        };
        assert!(
            allows("2001:db8:1:2::/64") && allows("2001:db8:1::/48") && allows("2001:db8:2::7")
        );
        assert!(
            !allows("2001:db8:2::/64") && !allows("2001:db8:3::/64") && !allows("2001:db8::/32")
        );
        let warnings = allowed.warnings_for(Ipv6Prefix::new(64).unwrap());
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].contains("allow.toml:1: 2001:db8:2::7/128 is less")
                && warnings[0].ends_with("type 2001:db8:2::/64"),
            "{warnings:?}"
        );
        assert_eq!(allowed.warnings_for(Ipv6Prefix::new(127).unwrap()).len(), 1);
    }

    #[test]
    fn a_wide_network_is_a_warning() {
        let allowed =
            list("\n[[allow]]\nreason = 'x'\nclients = ['10.0.0.0/8', '64.0.0.0/2']\n").unwrap();
        let warnings = allowed.warnings();
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].ends_with("allow.toml:2: 64.0.0.0/2 is a large part of the internet; check that it is intended"),
            "{warnings:?}"
        );
    }

    #[test]
    fn an_error_names_file_line_and_a_fix() {
        for (text, part) in [
            ("[[allow]]\nclients = ['192.0.2.1']", "reason"),
            (
                "\n[[allow]]\nreason = 'x'",
                "allow.toml:2: it would allow everything",
            ),
            (
                "[[allow]]\nreason = 'x'\nclients = ['192.0.2.0/33']",
                "192.0.2.0/24",
            ),
            (
                "[[allow]]\nreason = 'x'\npaths = ['health']",
                "must begin with '/'",
            ),
            ("[[allow]]\nreason = 'x'\nagents = ['']", "every request"),
            (
                "[[allow]]\nreason = 'x'\nclients = ['0.0.0.0/0']",
                "every address",
            ),
            (
                "[[allow]]\nreason = 'x'\nclients = ['192.0.2.1', '::/0']",
                "every address",
            ),
            ("[[alow]]\nreason = 'x'", "unknown field `alow`"),
        ] {
            let error = list(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
