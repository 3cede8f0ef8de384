//! Keeps the lines that matched until the whole is known: in memory while they are few, then in a file without a name.
//!
//! Lines come in from any thread in any order and go out in the order of inputs and offsets.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

use tempfile::SpooledTempFile;

use super::worker::own;
use crate::finding::{Findings, RuleId};
use crate::intern::SymbolTables;
use crate::report::hit::KeptLine;
use crate::tally::Place;

/// Bytes that stay in memory.
const IN_MEMORY: usize = 16 << 20;

/// Lines that matched.
#[derive(Debug)]
pub struct Spool {
    inside: Mutex<Inside>,
}

#[derive(Debug)]
struct Inside {
    file: SpooledTempFile,
    end: u64,
    runs: Vec<Run>,
    failed: Option<io::Error>,
}

/// The lines of one run, side by side in the file.
#[derive(Debug, Clone, Copy)]
struct Run {
    place: Place,
    start: u64,
    length: usize,
}

impl Default for Spool {
    fn default() -> Self {
        let file = tempfile::spooled_tempfile(IN_MEMORY);
        Self { inside: Mutex::new(Inside { file, end: 0, runs: Vec::new(), failed: None }) }
    }
}

impl Spool {
    /// Adds the hits of a run of lines. A failure is remembered, and told by [`Spool::check`].
    pub(super) fn push(&self, findings: &Findings, names: &SymbolTables, place: Place) {
        if findings.hits.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        for hit in &findings.hits {
            let (rules, text) = (names.rules.resolve(hit.rules), findings.text(hit));
            bytes.extend(hit.offset.to_le_bytes());
            bytes.extend(hit.line.to_le_bytes());
            bytes.push(u8::from(hit.parsed));
            bytes.extend((rules.len() as u16).to_le_bytes());
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(rules.iter().flat_map(|rule| rule.0.to_le_bytes()));
            bytes.extend(text);
        }
        let mut inside = own(&self.inside);
        let run = Run { place, start: inside.end, length: bytes.len() };
        match inside.file.write_all(&bytes) {
            Ok(()) => {
                inside.end += bytes.len() as u64;
                inside.runs.push(run);
            }
            Err(error) => inside.failed = inside.failed.take().or(Some(error)),
        }
    }

    /// The first failure, if there was one.
    pub(super) fn check(&self) -> io::Result<()> {
        own(&self.inside).failed.take().map_or(Ok(()), Err)
    }

    /// Hands out all lines in order.
    ///
    /// # Errors
    ///
    /// The spool cannot be read, or `each` failed.
    pub fn for_each<E: From<io::Error>>(self, mut each: impl FnMut(&KeptLine<'_>) -> Result<(), E>) -> Result<(), E> {
        let Inside { mut file, mut runs, .. } = self.inside.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        runs.sort_unstable_by_key(|run| run.place);
        let (mut bytes, mut rules) = (Vec::new(), Vec::new());
        for run in runs {
            bytes.resize(run.length, 0);
            file.seek(SeekFrom::Start(run.start))?;
            file.read_exact(&mut bytes)?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (line, behind) = entry(rest, run.place, &mut rules).ok_or(io::ErrorKind::UnexpectedEof).map_err(io::Error::from)?;
                each(&line)?;
                rest = behind;
            }
        }
        Ok(())
    }
}

/// The first line of `bytes`, and what follows it.
fn entry<'r, 'b: 'r>(bytes: &'b [u8], place: Place, rules: &'r mut Vec<RuleId>) -> Option<(KeptLine<'r>, &'b [u8])> {
    let (offset, rest) = bytes.split_first_chunk()?;
    let (line, rest) = rest.split_first_chunk()?;
    let (parsed, rest) = rest.split_first()?;
    let (count, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (ids, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * 2)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    rules.clear();
    rules.extend(ids.chunks_exact(2).map(|id| RuleId(u16::from_le_bytes([id[0], id[1]]))));
    let place = Place { offset: u64::from_le_bytes(*offset), line: u64::from(u32::from_le_bytes(*line)), ..place };
    Some((KeptLine { place, text, parsed: *parsed == 1, rules }, rest))
}
