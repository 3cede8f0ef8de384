//! What can be wrong with what was asked for, and what to type instead.
//!
//! Sentences only: nothing is decided here, and texts that come from files are escaped before they get here.

use std::io;

use super::ClientError;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No path, and nothing is piped in.
    #[error("nothing to read: no path was given, and standard input is a terminal or a device")]
    NothingToRead,
    /// No line can lie between the two.
    #[error("no line lies between --since {since} and --until {until}: the first is not before the second")]
    NoTime {
        /// `--since` as it was typed.
        since: String,
        /// `--until` as it was typed.
        until: String,
    },
    /// The configuration file cannot be read.
    #[error("cannot read the configuration file '{path}': {source}")]
    Unreadable {
        /// The file, escaped.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The configuration of a server is wrong, or is not there. Holds the sentence, escaped.
    #[error("{0}")]
    Server(String),
    /// The configuration file is wrong.
    #[error("{path}: {message}")]
    File {
        /// The file, escaped.
        path: String,
        /// What is wrong, with the line and a mark under the place.
        message: String,
    },
    /// Hits one by one have no rows to choose from.
    #[error("--by chooses the rows of csv and table, and ndjson prints hits, not rows")]
    ByNdjson,
    /// No path to follow, or standard input.
    #[error("nothing to follow: name logs, folders or globs; standard input is none of them")]
    NothingToFollow,
    /// `follow` has no end at which a document could be complete.
    #[error("follow prints table or ndjson: a live log has no last line")]
    OnlyLive,
    /// No path to report on, or standard input.
    #[error("nothing to report on: name logs, folders or globs; standard input is none of them")]
    NothingToReport,
    /// `report` without a state.
    #[error("report needs a folder to note in how far it read: --state is missing")]
    NoState,
    /// `report` without a place for reports.
    #[error("report needs a folder to write to: --out is missing")]
    NoOut,
    /// A time zone without periods.
    #[error("--timezone says where days or hours begin, and neither --daily nor --hourly is given")]
    NoPeriod,
    /// No such time zone. Holds the sentence.
    #[error("--timezone: {0}")]
    Zone(String),
    /// `learn` has no hits to print one by one.
    #[error("learn does not print ndjson")]
    NoNdjson,
    /// A report has counts, not lines.
    #[error("{0} does not print ndjson: a report holds no lines")]
    NoLines(&'static str),
    /// What was asked of clients cannot be had.
    #[error(transparent)]
    Clients(#[from] ClientError),
    /// The report and the rules would be written over each other.
    #[error("the report and --emit-rules would both go to {place}")]
    OnePlace {
        /// The file, escaped, or standard output.
        place: String,
    },
    /// An environment variable is wrong.
    #[error(transparent)]
    Variable(clap::Error),
}

impl Error {
    /// What to type instead, where the message does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingToRead => Some("name a log or a folder of logs, such as: probewatch scan /var/log/nginx/"),
            Self::NoTime { .. } => Some("--until is excluded: for the first day of November type --since 2026-11-01 --until 2026-11-02"),
            Self::Unreadable { .. } => Some("name a file that exists with --config or PROBEWATCH_CONFIG, or neither"),
            Self::NothingToFollow => Some("type: probewatch follow /var/log/nginx/access.log, or read a pipe with: probewatch scan -"),
            Self::NothingToReport => {
                Some("type: probewatch report --state DIR --out DIR /var/log/nginx/, or read a pipe with: probewatch scan -")
            }
            Self::NoState => Some("type: probewatch report --state /var/lib/probewatch --out DIR PATH, or 'probewatch scan' for a one-off"),
            Self::NoOut => Some("type: probewatch report --out /srv/reports --state DIR PATH, or --dry-run to write nothing"),
            Self::NoPeriod => Some("type --daily or --hourly too, or leave --timezone out"),
            Self::ByNdjson => Some("type -f csv with --by, or leave --by out"),
            Self::OnlyLive => Some("type -f ndjson, or leave -f out; 'probewatch scan' prints CSV and JSON"),
            Self::NoNdjson | Self::NoLines(_) => Some("type -f table, -f csv or -f json"),
            Self::OnePlace { .. } => Some("name two files, or leave --output out to have the report on standard output"),
            Self::Clients(error) => error.hint(),
            Self::Zone(_) | Self::Server(_) | Self::File { .. } | Self::Variable(_) => None,
        }
    }
}
