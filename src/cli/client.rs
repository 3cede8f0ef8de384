//! The flags on whom a line is of, and on how much of that is told.
//!
//! Nothing is decided here: lists of proxies and keys are named, and read by others.

#![expect(clippy::doc_markdown, reason = "comments on flags are the help, and a terminal shows backticks as they are")]

use clap::{ArgAction, Args};
use serde::Deserialize;

use crate::config::value::{Anonymity, Field, PrefixBits, Proxies};

/// Who asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "Clients")]
#[serde(default, rename_all = "kebab-case")]
pub struct ClientArgs {
    /// Where a proxy wrote who asked: x-forwarded-for, x-real-ip, cf-connecting-ip, forwarded, ...
    ///
    /// The log must have that field. Only what a proxy of --trusted-proxy wrote is believed: of a list the last address that
    /// is none of them.
    #[arg(long, value_name = "FIELD")]
    pub client_from: Option<Field>,

    /// Addresses of your own proxies (repeatable, or a,b)
    ///
    /// As 192.0.2.7 or 2001:db8::/48; @FILE reads them from a file, one a line, with # before comments. They are believed in
    /// --client-from, and in a report never named to block.
    #[arg(long, value_name = "CIDR|@FILE", value_delimiter = ',')]
    pub trusted_proxy: Vec<Proxies>,

    /// Count the IPv6 addresses of a prefix as one client: 64
    ///
    /// Shown as 2001:db8::/64. IPv4 stays as it is; 128 takes back what a variable or the file says.
    #[arg(long, value_name = "BITS")]
    pub ipv6_prefix: Option<PrefixBits>,

    /// What is told of a client, and of any address in a text.
    #[command(flatten)]
    #[serde(flatten)]
    pub privacy: PrivacyArgs,
}

/// The same for who is told of no client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Clients")]
pub struct LearnClientArgs {
    /// Where a proxy wrote who asked: x-forwarded-for, x-real-ip, cf-connecting-ip, forwarded, ...
    ///
    /// As for a scan: only what a proxy of --trusted-proxy wrote is believed.
    #[arg(long, value_name = "FIELD")]
    pub client_from: Option<Field>,

    /// Addresses of your own proxies (repeatable, or a,b)
    ///
    /// As 192.0.2.7 or 2001:db8::/48; @FILE reads them from a file, one a line, with # before comments.
    #[arg(long, value_name = "CIDR|@FILE", value_delimiter = ',')]
    pub trusted_proxy: Vec<Proxies>,

    /// Count the IPv6 addresses of a prefix as one client: 64
    ///
    /// 128 takes back what a variable or the file says.
    #[arg(long, value_name = "BITS")]
    pub ipv6_prefix: Option<PrefixBits>,
}

impl LearnClientArgs {
    pub(super) fn shared(self) -> ClientArgs {
        let Self { client_from, trusted_proxy, ipv6_prefix } = self;
        ClientArgs { client_from, trusted_proxy, ipv6_prefix, privacy: PrivacyArgs::default() }
    }
}

/// How much is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "Clients")]
#[serde(default, rename_all = "kebab-case")]
pub struct PrivacyArgs {
    /// Hide who asked: truncate, key:FILE [default: off; without a word: truncate]
    ///
    /// truncate tells networks, 192.0.2.0/24 and 2001:db8:1::/48, and no names. key:FILE tells pseudonyms that stay the same
    /// as long as the key does, and that nobody can undo without it. Other public addresses in paths, agents and the like
    /// are hidden too. All is decided before, from the real addresses; such a report cannot be merged, and names nobody to
    /// block.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "truncate")]
    pub anonymize: Option<Anonymity>,

    /// Show passwords, tokens and sessions in targets as they were logged
    ///
    /// They are *** otherwise. The part of a report that can be merged has none in any case.
    #[arg(long, action = ArgAction::SetTrue)]
    pub no_redact: Option<bool>,
}

/// The same for who has only what a report tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Output")]
pub struct MergePrivacyArgs {
    /// Hide who asked: truncate, key:FILE [default: off; without a word: truncate]
    ///
    /// As for a scan. The reports that are merged must have all addresses.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "truncate")]
    pub anonymize: Option<Anonymity>,
}

impl ClientArgs {
    /// These, and what `below` says where they say nothing. A list replaces a list.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            client_from: self.client_from.or(below.client_from),
            trusted_proxy: if self.trusted_proxy.is_empty() { below.trusted_proxy } else { self.trusted_proxy },
            ipv6_prefix: self.ipv6_prefix.or(below.ipv6_prefix),
            privacy: PrivacyArgs {
                anonymize: self.privacy.anonymize.or(below.privacy.anonymize),
                no_redact: self.privacy.no_redact.or(below.privacy.no_redact),
            },
        }
    }

    /// Forgets the switches that are off: see [`ScanArgs::as_given`](super::scan::ScanArgs::as_given).
    pub(super) fn forget_off(&mut self) {
        self.privacy.no_redact.take_if(|on| !*on);
    }
}
