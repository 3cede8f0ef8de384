//! Reads logs and makes a report of them.
//!
//! Finds the inputs and scans them. Decides nothing about hits: the report does that from all of
//! them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::Error;
use super::report::Report;
use crate::block::parse_trusted_proxy;
use crate::engine::ScanOptions;
use crate::formats::builtin::UnknownFormat;
use crate::formats::{FormatChoice, Formats};
use crate::input::Mmap;
use crate::input::exclude::exclude_compressed_copies;
use crate::input::find::{FoundInputs, find};
use crate::input::rotation::sort_by_age;
use crate::log::client::ClientIpSource;
use crate::log::finding::Severity;
use crate::log::time::TimeBound;
use crate::rules::RuleSet;
use crate::scan::input_summary::InputSummary;
use crate::scan::{self, BatchOptions, ScanJob, ScanResult, input_summaries, notices};

/// Scans logs for requests that match a set of rules.
///
/// A scanner has the settings of a scan and can be used for many. By default it detects the format
/// of each line, reads lines of any time, takes the client from where the log has it, and reports
/// findings from [`Severity::Low`] on.
///
/// Lines are matched in parallel on the current [rayon] thread pool: the global one, or the one
/// whose `install` runs the call.
///
/// # Examples
///
/// The probes of the last day on a site with a proxy in front of it:
///
/// ```no_run
/// use std::time::{Duration, SystemTime};
///
/// use probewatch::{RuleSet, Scanner, Severity};
///
/// let scanner = Scanner::new(RuleSet::builtin()?)
///     .since(SystemTime::now() - Duration::from_secs(86_400))
///     .client_from("x-forwarded-for", ["10.0.0.0/8"])?
///     .min_severity(Severity::High);
/// for client in scanner.scan_path("/var/log/nginx")?.clients() {
///     println!("{} {} {}", client.severity, client.client, client.hits);
/// }
/// # Ok::<(), probewatch::Error>(())
/// ```
///
/// [rayon]: https://docs.rs/rayon
#[derive(Debug, Clone)]
pub struct Scanner {
    rules: Arc<RuleSet>,
    options: ScanOptions,
    formats: FormatChoice,
    client_from: Option<ClientIpSource>,
    min_severity: Severity,
}

impl Scanner {
    /// A scanner with the default settings. Scanners can share a set of rules in an [`Arc`].
    #[must_use]
    pub fn new(rules: impl Into<Arc<RuleSet>>) -> Self {
        Self {
            rules: rules.into(),
            options: ScanOptions {
                windows: true,
                ..ScanOptions::default()
            },
            formats: FormatChoice::default(),
            client_from: None,
            min_severity: Severity::DEFAULT_MIN,
        }
    }

    /// Leaves out findings below this severity. A rule whose request got a distinct answer counts
    /// one level higher.
    #[must_use]
    pub fn min_severity(mut self, severity: Severity) -> Self {
        self.min_severity = severity;
        self
    }

    /// Skips lines before this time, rounded down to a second. Lines without a time are kept. A
    /// file that was last written to more than 15 hours before is not read.
    #[must_use]
    pub fn since(mut self, time: SystemTime) -> Self {
        self.options.since = Some(bound(time));
        self
    }

    /// Skips lines from this time on, rounded down to a second. Lines without a time are kept. A
    /// rotated file that begins more than a day after is not read.
    #[must_use]
    pub fn until(mut self, time: SystemTime) -> Self {
        self.options.until = Some(bound(time));
        self
    }

    /// Reads lines in this format before any other: a name that `probewatch formats` lists, such as
    /// `combined`, or the string of an nginx `log_format` or an Apache `LogFormat`. With
    /// `combined`, `common` or `vhost_combined`, no other format is read.
    ///
    /// # Errors
    ///
    /// [`Error::Format`].
    pub fn log_format(mut self, format: &str) -> Result<Self, Error> {
        self.formats.requested = Some(format.to_owned());
        self.options.format = self.formats.as_clf();
        self.known_formats().map(|_| self)
    }

    /// Takes the client from a field that reverse proxies write, such as `x-forwarded-for`. The
    /// field is read only where the logged client is in one of the `trusted` networks, written as
    /// `10.0.0.0/8`; the client is its last address that is not.
    ///
    /// # Errors
    ///
    /// [`Error::TrustedProxy`].
    pub fn client_from<T: AsRef<str>>(
        mut self,
        field: &str,
        trusted: impl IntoIterator<Item = T>,
    ) -> Result<Self, Error> {
        let network = |text: T| parse_trusted_proxy(text.as_ref()).map(|(network, _)| network);
        let trusted = trusted
            .into_iter()
            .map(network)
            .collect::<Result<Vec<_>, _>>();
        self.client_from = Some(ClientIpSource::new(
            field,
            &trusted.map_err(|error| Error::TrustedProxy(Box::new(error)))?,
        ));
        Ok(self)
    }

    /// Scans a log, or all logs in a folder. See [`scan_paths`](Self::scan_paths).
    ///
    /// # Errors
    ///
    /// [`Error::NoMatch`] or [`Error::Unreadable`].
    pub fn scan_path(&self, path: impl AsRef<Path>) -> Result<Report, Error> {
        self.scan_paths([path])
    }

    /// Scans several logs and merges them into one report.
    ///
    /// A path is a file, a named pipe, a folder, a glob, or `-` for standard input. Folders are
    /// read with their subfolders; files in them that are not access logs are left out, which is a
    /// notice. Text and files compressed with gzip, zstd, bzip2 or xz are recognized by content.
    /// Each file is read once.
    ///
    /// # Errors
    ///
    /// [`Error::NoMatch`] or [`Error::Unreadable`].
    pub fn scan_paths<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Report, Error> {
        let started = Instant::now();
        let paths: Vec<PathBuf> = paths
            .into_iter()
            .map(|path| path.as_ref().to_owned())
            .collect();
        let mut found = find(&paths);
        if let Some(pattern) = found.no_match.first() {
            return Err(Error::NoMatch(pattern.clone()));
        }
        exclude_compressed_copies(&mut found);
        sort_by_age(&mut found.sources);
        let scan = self.with_job(|job, options| scan::scan(&found.sources, job, options))?;
        self.report(scan, &found, started)
    }

    /// Scans the lines of a reader: bytes in memory, a socket, a decrypting reader. They may be
    /// compressed. `name` is the path of the input in the report; no file is opened.
    ///
    /// The call returns at the end of the reader. It reads in a thread of the pool.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`].
    pub fn scan_reader(
        &self,
        name: impl AsRef<Path>,
        reader: impl Read + Send,
    ) -> Result<Report, Error> {
        let started = Instant::now();
        let scan = self.with_job(|job, options| {
            scan::scan_reader(name.as_ref().to_owned(), reader, job, options)
        })?;
        self.report(scan, &FoundInputs::default(), started)
    }

    /// The formats to read, those of the user first.
    fn known_formats(&self) -> Result<Formats, Error> {
        let formats = Formats::new(&self.formats)
            .map_err(|error: UnknownFormat| Error::Format(Box::new(error)))?;
        Ok(match &self.client_from {
            Some(source) => formats.with_client_ip_source(source.clone()),
            None => formats,
        })
    }

    fn with_job<T>(
        &self,
        scan: impl FnOnce(&ScanJob<'_>, &BatchOptions<'_>) -> T,
    ) -> Result<T, Error> {
        let job = ScanJob {
            rules: &self.rules,
            scan_options: &self.options,
            formats: &self.known_formats()?,
            prefix: None,
        };
        let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
        Ok(scan(
            &job,
            &BatchOptions {
                mmap: Mmap::default(),
                stop: &stop,
                progress: &progress,
                keep_lines: false,
                range: None,
            },
        ))
    }

    fn report(
        &self,
        mut scan: ScanResult,
        found: &FoundInputs,
        started: Instant,
    ) -> Result<Report, Error> {
        let inputs = input_summaries(std::mem::take(&mut scan.inputs), found);
        let is_read = |input: &InputSummary| input.problem.is_none() || input.counts.bytes > 0;
        if let Some((input, problem)) = inputs
            .first()
            .and_then(|input| Some((input, input.problem.clone()?)))
            && !inputs.iter().any(is_read)
        {
            return Err(Error::Unreadable {
                path: PathBuf::from(String::from_utf8_lossy(&input.path).into_owned()),
                problem,
            });
        }
        let notices = notices(&inputs, &scan, found);
        Ok(Report::new(
            Arc::clone(&self.rules),
            scan,
            inputs,
            notices,
            self.min_severity,
            started.elapsed(),
        ))
    }
}

/// A time as a bound of lines. Times of logs have no fractions of a second.
fn bound(time: SystemTime) -> TimeBound {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds)
        }
    };
    TimeBound::Instant(seconds)
}
