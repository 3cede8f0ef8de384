//! What a line's place is counted from: one input's name, its generation, and where its lines begin.

mod checkpoint;
mod escaped;

pub use checkpoint::{Checkpoint, Fingerprint, HEAD, TAIL};
pub use escaped::decode as unescaped;

/// The text of one input, as far as places in it need to know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// The path as named or found; may hold any byte.
    pub path: Vec<u8>,
    /// Names the generation of the log: a hash of its first bytes.
    pub generation: u64,
    /// The machine it lies on, where that was said: two machines have logs of the same name.
    pub machine: Option<Box<str>>,
    /// For each run of lines, in order: where it begins in bytes, and how many lines stand before it.
    runs: Vec<(u64, u64)>,
}

impl SourceInfo {
    /// The text of an input whose runs of lines begin at these offsets and have these many lines, in any order.
    #[must_use]
    pub fn new(path: Vec<u8>, generation: u64, mut runs: Vec<(u64, u64)>) -> Self {
        runs.sort_unstable();
        let mut before = 0;
        for (_, lines) in &mut runs {
            before += std::mem::replace(lines, before);
        }
        Self { path, generation, machine: None, runs }
    }

    /// The same text, on a machine.
    #[must_use]
    pub fn with_host(self, machine: Option<&str>) -> Self {
        Self { machine: machine.map(Box::from), ..self }
    }

    /// The number, from 1, of a line: the `line`th, from 0, of the run that begins at `run`.
    #[must_use]
    pub fn line_number(&self, run: u64, line: u64) -> u64 {
        let at = self.runs.partition_point(|(start, _)| *start < run);
        self.runs.get(at).map_or(0, |(_, before)| *before) + line + 1
    }

    /// The log of a site whatever its rotated siblings are called: the machine, and the [family](Self::family) of its name.
    #[must_use]
    pub fn family_key(&self) -> (Option<&str>, &[u8]) {
        (self.machine.as_deref(), self.family())
    }

    /// What the names of a log and of its rotated siblings have in common: `access.log` of `access.log.2.gz` and of
    /// `access.log-20261101`.
    #[must_use]
    pub fn family(&self) -> &[u8] {
        let mut name = self.path.as_slice();
        for ending in [&b".gz"[..], b".bz2", b".xz", b".zst"] {
            name = name.strip_suffix(ending).unwrap_or(name);
        }
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        match name[..name.len() - digits].split_last() {
            // A number, or a date, behind something that has a name.
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
    fn numbers_lines_through_runs() {
        let text = SourceInfo::new(b"a.log".to_vec(), 7, vec![(100, 3), (0, 10), (900, 1)]);
        assert_eq!([(0, 0), (0, 9), (100, 0), (900, 0)].map(|(run, line)| text.line_number(run, line)), [1, 10, 11, 14]);
    }
}
