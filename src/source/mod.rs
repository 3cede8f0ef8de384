//! Inputs as locations refer to them: name, generation, and where lines start.

mod checkpoint;
mod escaped;

pub use checkpoint::{Checkpoint, Fingerprint, HEAD, TAIL};
pub use escaped::decode as unescaped;

/// One input, as far as locations in it need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// The path as given or found; may contain any byte.
    pub path: Vec<u8>,
    /// Identifies the generation of the log: a hash of its first bytes.
    pub generation: u64,
    /// The host of the log, if given: two hosts may have logs of the same name.
    pub machine: Option<Box<str>>,
    /// For each run of lines, in order: its byte offset, and the number of lines before it.
    runs: Vec<(u64, u64)>,
}

impl SourceInfo {
    /// Creates an input whose runs of lines start at these offsets and have this many lines, in any order.
    #[must_use]
    pub fn new(path: Vec<u8>, generation: u64, mut runs: Vec<(u64, u64)>) -> Self {
        runs.sort_unstable();
        let mut before = 0;
        for (_, lines) in &mut runs {
            before += std::mem::replace(lines, before);
        }
        Self { path, generation, machine: None, runs }
    }

    /// The same input, on a host.
    #[must_use]
    pub fn with_host(self, machine: Option<&str>) -> Self {
        Self { machine: machine.map(Box::from), ..self }
    }

    /// The number of a line, from 1: line `line` (from 0) of the run that starts at offset `run`.
    #[must_use]
    pub fn line_number(&self, run: u64, line: u64) -> u64 {
        let at = self.runs.partition_point(|(start, _)| *start < run);
        self.runs.get(at).map_or(0, |(_, before)| *before) + line + 1
    }

    /// Identifies the log of a site and its rotated siblings: the host and the [family](Self::family) of the name.
    #[must_use]
    pub fn family_key(&self) -> (Option<&str>, &[u8]) {
        (self.machine.as_deref(), self.family())
    }

    /// The common part of the names of a log and its rotated siblings: `access.log` for `access.log.2.gz` and
    /// `access.log-20261101`.
    #[must_use]
    pub fn family(&self) -> &[u8] {
        let mut name = self.path.as_slice();
        for ending in [&b".gz"[..], b".bz2", b".xz", b".zst"] {
            name = name.strip_suffix(ending).unwrap_or(name);
        }
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        match name[..name.len() - digits].split_last() {
            // A number or a date after a name.
            Some((b'.' | b'-', stem)) if digits > 0 && stem.last().is_some_and(|b| !matches!(b, b'/' | b'-' | b'.')) => stem,
            _ => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_logs_are_one_family() {
        let family = |path: &str| String::from_utf8(SourceInfo::new(path.into(), 0, Vec::new()).family().to_vec()).unwrap();
        for path in ["access.log", "access.log.1", "access.log.2.gz", "access.log-20261101", "access.log-20261101.gz", "access.log.gz"] {
            assert_eq!(family(path), "access.log", "{path}");
        }
        for path in ["other.log", "/var/log/access_log", "2026", "logs/1", "a/.1", "-"] {
            assert_eq!(family(path), path);
        }
    }

    #[test]
    fn line_numbers_continue_across_runs() {
        let text = SourceInfo::new(b"a.log".to_vec(), 7, vec![(100, 3), (0, 10), (900, 1)]);
        assert_eq!([(0, 0), (0, 9), (100, 0), (900, 0)].map(|(run, line)| text.line_number(run, line)), [1, 10, 11, 14]);
    }
}
