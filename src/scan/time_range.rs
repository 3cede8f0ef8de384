//! Decides which logs are entirely outside `--since` and `--until` and need not be read.
//!
//! When in doubt, a log is read, which only costs time. A log is skipped
//!
//! * before `--since`: if its file was last modified more than [`CLOCK_TOLERANCE`] earlier. A
//!   server writes a line when its request is complete or later, so no line is later than the
//!   modification time; copying and compressing keep that time (gzip, logrotate) or increase it.
//! * after `--until`: if it belongs to a set of rotated files and starts more than [`MAX_DELAY`]
//!   later. Rotated files are in order of time except for slow requests: Apache logs the start of a
//!   request, and nginx with `buffer=` writes late. A single file may be a concatenation of logs
//!   and is read.
//!
//! A log is skipped only if the times at both of its ends agree. A log with lines later than its
//! modification time was written with another clock, and a log that cannot be read must be
//! reported.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::log::ScannedLog;
use super::w3c_headers;
use crate::engine::ScanOptions;
use crate::formats::reader::{LogReader, each};
use crate::formats::{Formats, Frame};
use crate::input::find::{InputOrigin, InputSource, SourceKind};
use crate::input::lines::{HeadTail, read_head_tail};
use crate::input::rotation::has_rotated_siblings;
use crate::log::time::{LogTime, TimeBound};
use crate::scan::input_summary::SkipReason;

/// The largest difference between the modification time of a file and the time of its lines, in
/// seconds: 14 hours for time zones, as times may lack an offset, and one hour for wrong clocks.
const CLOCK_TOLERANCE: i64 = 15 * 3_600;

/// How much earlier a line may be than the line before it, in seconds.
const MAX_DELAY: i64 = 24 * 3_600;

/// The year 1990. Reproducible archives and images set earlier modification times.
const EARLIEST_MTIME: i64 = 631_152_000;

/// The number of bytes that are read at each end of a log.
const SAMPLE_BYTES: usize = 64 << 10;

/// Decides which logs are skipped.
pub(super) struct TimeRangeFilter<'a> {
    scan_options: &'a ScanOptions,
    formats: &'a Formats,
    /// Whether each source has rotated siblings; empty if that is not needed.
    has_siblings: Vec<bool>,
}

impl<'a> TimeRangeFilter<'a> {
    pub(super) fn new(
        sources: &[InputSource],
        scan_options: &'a ScanOptions,
        formats: &'a Formats,
    ) -> Self {
        let has_siblings = if scan_options.until.is_some() {
            has_rotated_siblings(sources)
        } else {
            Vec::new()
        };
        Self {
            scan_options,
            formats,
            has_siblings,
        }
    }

    /// Whether the source with this number is skipped, and why.
    pub(super) fn skip_reason(&self, number: usize, source: &InputSource) -> Option<SkipReason> {
        if source.kind != SourceKind::File {
            return None;
        }
        let early = self
            .scan_options
            .since
            .filter(|since| is_old(*since, source));
        let late = self
            .scan_options
            .until
            .filter(|_| self.has_siblings.get(number) == Some(&true));
        if early.is_none() && late.is_none() {
            return None;
        }
        let times = self.times(&source.path, &read_head_tail(&source.path, SAMPLE_BYTES)?);
        if times.is_empty() {
            return None;
        }
        let latest = modified(source)?.saturating_add(CLOCK_TOLERANCE);
        if early.is_some_and(|since| {
            times
                .iter()
                .all(|time| since.is_after(*time) && time.utc <= latest)
        }) {
            return Some(SkipReason::BeforeSince);
        }
        let is_late = |until: TimeBound| {
            times.iter().all(|time| {
                !until.is_after(LogTime {
                    utc: time.utc - MAX_DELAY,
                    ..*time
                })
            })
        };
        late.is_some_and(is_late).then_some(SkipReason::AfterUntil)
    }

    /// The times of the lines at both ends.
    fn times(&self, path: &Path, read_head_tail: &HeadTail) -> Vec<LogTime> {
        let ScanOptions {
            format, max_line, ..
        } = *self.scan_options;
        let header = w3c_headers::header_at_start(0, &read_head_tail.first, max_line);
        let log = ScannedLog::new(
            path,
            InputOrigin::Name,
            &read_head_tail.first,
            self.formats,
            self.scan_options,
        );
        let context = log.context(self.formats, self.scan_options, header);
        let mut log_reader = LogReader::default();
        let mut times = Vec::new();
        for lines in [&read_head_tail.first, &read_head_tail.last] {
            let mut context = context.clone();
            for line in each(lines) {
                times.extend(match format {
                    Some(_) => Frame::locate(line, format)
                        .and_then(|frame| LogTime::parse_any_format(frame.time)),
                    None => log_reader
                        .line(line, &mut context)
                        .1
                        .and_then(|entry| entry.time),
                });
            }
        }
        times
    }
}

/// Whether a file was last modified so early that no line can be in range, whatever its offset.
fn is_old(since: TimeBound, source: &InputSource) -> bool {
    let (TimeBound::Local(since) | TimeBound::Instant(since)) = since;
    modified(source).is_some_and(|modified| {
        modified >= EARLIEST_MTIME && modified.saturating_add(CLOCK_TOLERANCE) < since
    })
}

/// The modification time, in seconds since 1970-01-01T00:00:00Z.
fn modified(source: &InputSource) -> Option<i64> {
    source.path.metadata().ok().map(|metadata| metadata.mtime())
}

#[cfg(test)]
mod tests {
    use crate::input::find::find;
    use crate::scan::time_range::*;
    use jiff::{Timestamp, tz::Offset};
    use proptest::prelude::*;
    use std::fs::{self, File};
    use std::io::Write;
    use std::time::{Duration, UNIX_EPOCH};
    use tempfile::TempDir;

    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;
    /// 2026-11-02T00:00:00Z.
    const MIDNIGHT: i64 = 1_793_577_600;

    fn line(utc: i64, offset: i64) -> String {
        let local = Offset::from_seconds((offset * 60) as i32)
            .unwrap()
            .to_datetime(Timestamp::from_second(utc).unwrap());
        let (sign, minutes) = if offset < 0 {
            ('-', -offset)
        } else {
            ('+', offset)
        };
        let time = format!(
            "{} {sign}{:02}{:02}",
            local.strftime("%d/%b/%Y:%H:%M:%S"),
            minutes / 60,
            minutes % 60
        );
        format!("192.0.2.1 - - [{time}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n")
    }

    /// Writes a log with this modification time, in seconds since 1970.
    fn write(folder: &TempDir, name: &str, text: &str, modified: i64) {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        File::open(&path)
            .unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_secs(modified.unsigned_abs()))
            .unwrap();
    }

    fn skipped(
        folder: &TempDir,
        since: Option<TimeBound>,
        until: Option<TimeBound>,
    ) -> Vec<Option<SkipReason>> {
        let scan_options = ScanOptions {
            since,
            until,
            ..ScanOptions::default()
        };
        let sources = find(&[folder.path().to_owned()]).sources;
        let formats = Formats::builtin().unwrap();
        let time_range = TimeRangeFilter::new(&sources, &scan_options, &formats);
        sources
            .iter()
            .enumerate()
            .map(|(number, source)| time_range.skip_reason(number, source))
            .collect()
    }

    /// Whether a log that was modified at midnight and has lines at these times is skipped with
    /// `--since` this many seconds after midnight.
    fn before(times: &[i64], since: i64) -> bool {
        let folder = TempDir::new().unwrap();
        write(
            &folder,
            "access.log",
            &times
                .iter()
                .map(|time| line(MIDNIGHT + time, 0))
                .collect::<String>(),
            MIDNIGHT,
        );
        let instant = skipped(&folder, Some(TimeBound::Instant(MIDNIGHT + since)), None);
        assert_eq!(
            instant,
            skipped(&folder, Some(TimeBound::Local(MIDNIGHT + since)), None)
        );
        instant == [Some(SkipReason::BeforeSince)]
    }

    #[test]
    fn a_log_last_modified_long_before_is_skipped() {
        assert!(before(&[-DAY, -HOUR, 0], CLOCK_TOLERANCE + 1));
        assert!(!before(&[-DAY, -HOUR, 0], CLOCK_TOLERANCE));
        assert!(!before(&[-DAY, -HOUR, 0], -HOUR));
    }

    #[test]
    fn a_log_with_lines_later_than_its_mtime_is_read() {
        assert!(!before(&[0, 9 * DAY], DAY));
        assert!(!before(&[9 * DAY], 10 * DAY));
        assert!(before(&[HOUR], DAY));
    }

    #[test]
    fn times_of_any_format_are_compared() {
        let folder = TempDir::new().unwrap();
        let json = r#"{"time":"2026-11-02T00:00:00Z","remote_addr":"192.0.2.1","request":"GET / HTTP/1.1","status":200}"#;
        let w3c = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n2026-11-02 00:00:00 192.0.2.1 GET / 200";
        for (name, text) in [("1.log", json), ("2.log", w3c)] {
            write(&folder, name, &format!("{text}\n"), MIDNIGHT);
        }
        assert_eq!(
            skipped(&folder, Some(TimeBound::Instant(MIDNIGHT + DAY)), None),
            [Some(SkipReason::BeforeSince); 2]
        );
        assert_eq!(
            skipped(&folder, Some(TimeBound::Instant(MIDNIGHT)), None),
            [None; 2]
        );
    }

    #[test]
    fn a_file_that_is_no_log_or_has_a_fixed_mtime_is_read() {
        let folder = TempDir::new().unwrap();
        write(&folder, "1970.log", &line(MIDNIGHT - 90 * DAY, 0), 1);
        write(&folder, "empty.log", "", MIDNIGHT - 90 * DAY);
        write(
            &folder,
            "error.log",
            "2026/11/02 08:01:00 [error] 1#1: no\n",
            MIDNIGHT - 90 * DAY,
        );
        write(
            &folder,
            "long.log",
            &"x".repeat(SAMPLE_BYTES + 1),
            MIDNIGHT - 90 * DAY,
        );
        assert_eq!(
            skipped(&folder, Some(TimeBound::Instant(MIDNIGHT)), None),
            [None; 4]
        );
    }

    #[test]
    fn a_rotated_log_that_starts_long_after_is_skipped() {
        let folder = TempDir::new().unwrap();
        write(
            &folder,
            "access.log",
            &line(MIDNIGHT + DAY, 0),
            MIDNIGHT + DAY,
        );
        write(
            &folder,
            "access.log.1",
            &(line(MIDNIGHT + DAY, 0) + &line(MIDNIGHT + DAY - 1, 0)),
            MIDNIGHT + DAY,
        );
        write(
            &folder,
            "other.log",
            &line(MIDNIGHT + 9 * DAY, 0),
            MIDNIGHT + 9 * DAY,
        );
        let until = |bound| skipped(&folder, None, Some(bound));
        assert_eq!(
            until(TimeBound::Instant(MIDNIGHT)),
            [Some(SkipReason::AfterUntil), None, None]
        );
        assert_eq!(
            until(TimeBound::Local(MIDNIGHT - 1)),
            [
                Some(SkipReason::AfterUntil),
                Some(SkipReason::AfterUntil),
                None
            ]
        );
        assert_eq!(until(TimeBound::Instant(MIDNIGHT + 1)), [None; 3]);
    }

    #[test]
    fn the_end_of_a_long_log_is_checked() {
        let folder = TempDir::new().unwrap();
        let many = |time| line(time, 0).repeat(SAMPLE_BYTES / 60);
        for (name, text) in [
            ("a.log", many(MIDNIGHT + 9 * DAY) + &line(MIDNIGHT, 0)),
            (
                "a.log.1",
                many(MIDNIGHT - 9 * DAY) + &line(MIDNIGHT + 9 * DAY, 0),
            ),
        ] {
            assert!(text.len() > SAMPLE_BYTES);
            write(&folder, name, &text, MIDNIGHT - 9 * DAY);
        }
        assert_eq!(
            skipped(&folder, None, Some(TimeBound::Instant(MIDNIGHT + DAY))),
            [None; 2]
        );
        assert_eq!(
            skipped(&folder, Some(TimeBound::Instant(MIDNIGHT)), None),
            [None; 2]
        );
    }

    fn bound() -> impl Strategy<Value = TimeBound> {
        (-6 * DAY..6 * DAY, any::<bool>()).prop_map(|(at, local)| {
            if local {
                TimeBound::Local(MIDNIGHT + at)
            } else {
                TimeBound::Instant(MIDNIGHT + at)
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A server writes lines in order, late by less than a day, in any time zone; files may be
        /// copied later.
        #[test]
        fn no_line_in_range_is_in_a_skipped_log(
            steps in prop::collection::vec((0..9 * HOUR, 0..DAY, -12 * 60..=14 * 60_i64), 1..40),
            rotations in prop::collection::vec(0_usize..40, 0..4),
            copied in prop::collection::vec(0..3 * DAY, 5),
            (since, until) in (prop::option::of(bound()), prop::option::of(bound())),
        ) {
            let folder = TempDir::new().unwrap();
            let mut written = MIDNIGHT - 5 * DAY;
            let mut logs: Vec<(Vec<LogTime>, String, i64)> = vec![(Vec::new(), String::new(), written)];
            for (number, (step, late, offset)) in steps.into_iter().enumerate() {
                written += step;
                if rotations.contains(&number) {
                    logs.push((Vec::new(), String::new(), written));
                }
                // A late request started less than a day before the first line of its file.
                let time = LogTime { utc: written - late, offset: offset as i16 };
                let (times, text, modified) = logs.last_mut().unwrap();
                let time = if times.is_empty() { LogTime { utc: written, ..time } } else { time };
                text.push_str(&line(time.utc, offset));
                times.push(time);
                *modified = written;
            }
            for (age, (_, text, modified)) in logs.iter().rev().enumerate() {
                let name = if age == 0 { "a.log".to_owned() } else { format!("a.log.{age}") };
                write(&folder, &name, text, modified + copied[age]);
            }
            let is_asked_for =
                |time: LogTime| since.is_none_or(|since| !since.is_after(time)) && until.is_none_or(|until| until.is_after(time));
            for ((times, ..), skipped) in logs.iter().rev().zip(skipped(&folder, since, until)) {
                prop_assert!(skipped.is_none() || !times.iter().any(|time| is_asked_for(*time)), "{:?} {:?}", times, skipped);
            }
        }
    }

    #[test]
    fn the_start_of_a_compressed_log_is_checked() {
        let folder = TempDir::new().unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed
            .write_all(line(MIDNIGHT, 0).repeat(9).as_bytes())
            .unwrap();
        let packed = packed.finish().unwrap();
        let path = folder.path().join("access.log.2.gz");
        fs::write(&path, packed).unwrap();
        File::open(&path)
            .unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_secs(MIDNIGHT.unsigned_abs()))
            .unwrap();
        assert_eq!(
            skipped(&folder, Some(TimeBound::Instant(MIDNIGHT + DAY)), None),
            [Some(SkipReason::BeforeSince)]
        );
    }
}
