//! What a line's place is counted from: one input's name, its generation, and where its lines begin.

/// The text of one input, as far as places in it need to know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceText {
    /// The path as named or found; may hold any byte.
    pub path: Vec<u8>,
    /// Names the generation of the log: a hash of its first bytes.
    pub generation: u64,
    /// For each run of lines, in order: where it begins in bytes, and how many lines stand before it.
    runs: Vec<(u64, u64)>,
}

impl SourceText {
    /// The text of an input whose runs of lines begin at these offsets and have these many lines, in any order.
    #[must_use]
    pub fn new(path: Vec<u8>, generation: u64, mut runs: Vec<(u64, u64)>) -> Self {
        runs.sort_unstable();
        let mut before = 0;
        for (_, lines) in &mut runs {
            before += std::mem::replace(lines, before);
        }
        Self { path, generation, runs }
    }

    /// The number, from 1, of a line: the `line`th, from 0, of the run that begins at `run`.
    #[must_use]
    pub fn line_number(&self, run: u64, line: u64) -> u64 {
        let at = self.runs.partition_point(|(start, _)| *start < run);
        self.runs.get(at).map_or(0, |(_, before)| *before) + line + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lines_through_runs() {
        let text = SourceText::new(b"a.log".to_vec(), 7, vec![(100, 3), (0, 10), (900, 1)]);
        assert_eq!([(0, 0), (0, 9), (100, 0), (900, 0)].map(|(run, line)| text.line_number(run, line)), [1, 10, 11, 14]);
    }
}
