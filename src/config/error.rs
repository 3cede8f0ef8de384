//! What can be wrong with the settings, and what to type instead.
//!
//! Text from arguments and files is escaped before it gets here.

use std::io;

use super::ClientError;

/// Why a run was not started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No path, and standard input is not piped.
    #[error("nothing to read: no path is given, and standard input is a terminal or a device")]
    NothingToRead,
    /// No line can be between the two.
    #[error("no line is between --since {since} and --until {until}: the first is not before the second")]
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
    /// The configuration of a server is wrong or missing. Holds the message, escaped.
    #[error("{0}")]
    Server(String),
    /// The configuration file is wrong.
    #[error("{path}: {message}")]
    File {
        /// The file, escaped.
        path: String,
        /// What is wrong, with the line and a mark under it.
        message: String,
    },
    /// NDJSON has no rows.
    #[error("--by applies to table and csv; ndjson prints hits, not rows")]
    ByNdjson,
    /// A page has all sections.
    #[error("--by applies to table and csv; a page has all sections")]
    ByHtml,
    /// No path to follow, or standard input.
    #[error("nothing to follow: name logs, folders or globs; standard input cannot be followed")]
    NothingToFollow,
    /// `follow` never ends, so a document would never be complete.
    #[error("follow prints only table or ndjson: csv, json and html need a complete log")]
    OnlyLive,
    /// No path to report on, or standard input.
    #[error("nothing to report on: name logs, folders or globs; standard input cannot be used")]
    NothingToReport,
    /// `report` without a state.
    #[error("report needs a folder for its state: --state is missing")]
    NoState,
    /// `report` without a folder for reports.
    #[error("report needs a folder for its reports: --out is missing")]
    NoOut,
    /// A time zone without periods.
    #[error("--timezone applies to --daily and --hourly, and neither is given")]
    NoPeriod,
    /// No such time zone. Holds the message.
    #[error("--timezone: {0}")]
    Zone(String),
    /// `learn` prints proposals, not hits.
    #[error("learn does not print ndjson")]
    NoNdjson,
    /// A page is of one report.
    #[error("{0} does not print html")]
    NoHtml(&'static str),
    /// A report has counts, not hits.
    #[error("{0} does not print ndjson: a report contains no single hits")]
    NoHits(&'static str),
    /// The settings on clients are wrong.
    #[error(transparent)]
    Clients(#[from] ClientError),
    /// The report and the rules would overwrite each other.
    #[error("the report and --emit-rules would both go to {output}")]
    SameOutput {
        /// The file, escaped, or standard output.
        output: String,
    },
}

impl Error {
    /// What to type instead, where the message does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingToRead => Some("name a log or a folder of logs, such as: probewatch scan /var/log/nginx/"),
            Self::NoTime { .. } => Some("--until is exclusive: for the first day of November type --since 2026-11-01 --until 2026-11-02"),
            Self::Unreadable { .. } => Some("name an existing file with --config or PROBEWATCH_CONFIG, or use neither"),
            Self::NothingToFollow => Some("type: probewatch follow /var/log/nginx/access.log, or for a pipe: probewatch scan -"),
            Self::NothingToReport => {
                Some("type: probewatch report --state DIR --out DIR /var/log/nginx/, or for a pipe: probewatch scan -")
            }
            Self::NoState => {
                Some("type: probewatch report --state /var/lib/probewatch --out DIR PATH, or for a single run: probewatch scan PATH")
            }
            Self::NoOut => Some("type: probewatch report --out /srv/reports --state DIR PATH, or add --dry-run to write nothing"),
            Self::NoPeriod => Some("add --daily or --hourly, or remove --timezone"),
            Self::ByNdjson | Self::ByHtml => Some("type -f csv with --by, or remove --by"),
            Self::OnlyLive => Some("type -f ndjson, or remove -f; 'probewatch scan' prints CSV, JSON and pages"),
            Self::NoNdjson | Self::NoHits(_) | Self::NoHtml(_) => Some("type -f table, -f csv or -f json"),
            Self::SameOutput { .. } => Some("name two files, or remove --output to print the report on standard output"),
            Self::Clients(error) => error.hint(),
            Self::Zone(_) | Self::Server(_) | Self::File { .. } => None,
        }
    }
}
