//! Spools the lines that matched until the scan is complete: the first ones in memory, those that
//! do not fit there in an unnamed temporary file.
//!
//! Lines are added by any thread in any order and read back in the order of inputs and offsets.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::collections::intern::SymbolTables;
use crate::log::finding::{Findings, RuleId};
use crate::os::system::lock;
use crate::tally::LinePosition;
use crate::text::short_bytes::append;

/// The number of bytes that are kept in memory.
const MAX_IN_MEMORY: usize = 16 << 20;

/// Bytes of an entry before its rules and its text.
const ENTRY_START: usize = 19;

/// Chunks for each thread that are rendered at one time: a thread whose chunks have few hits takes
/// those of another. Only their text is in memory.
const SLOTS_PER_THREAD: usize = 2;

/// A stored line that matched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredLine<'a> {
    /// Its position.
    pub position: LinePosition,
    /// The line.
    pub text: &'a [u8],
    /// Whether a log format matches it.
    pub parsed: bool,
    /// The rules it matched, sorted.
    pub rules: &'a [RuleId],
}

/// Lines that matched.
#[derive(Debug, Default)]
pub(crate) struct HitSpool {
    state: Mutex<SpoolState>,
}

#[derive(Debug, Default)]
struct SpoolState {
    /// Bytes of the lines in memory.
    in_memory: usize,
    /// Made for the first line that does not fit there.
    file: Option<File>,
    /// The length of the file.
    end: u64,
    blocks: Vec<SpoolBlock>,
    error: Option<io::Error>,
}

/// The lines of one chunk.
#[derive(Debug)]
struct SpoolBlock {
    position: LinePosition,
    lines: SpooledLines,
}

/// Lines, stored contiguously.
#[derive(Debug)]
enum SpooledLines {
    Memory(Vec<u8>),
    File { start: u64, length: usize },
}

impl SpoolState {
    fn store(&mut self, lines: Vec<u8>) -> io::Result<SpooledLines> {
        if self.in_memory + lines.len() <= MAX_IN_MEMORY {
            self.in_memory += lines.len();
            return Ok(SpooledLines::Memory(lines));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let stored = SpooledLines::File {
            start: self.end,
            length: lines.len(),
        };
        file.write_all(&lines)?;
        self.end += lines.len() as u64;
        Ok(stored)
    }
}

impl HitSpool {
    /// Adds the hits of a chunk. An error is kept and returned by [`HitSpool::check`].
    pub(super) fn push(&self, findings: &Findings, names: &SymbolTables, position: LinePosition) {
        if findings.hits.is_empty() {
            return;
        }
        let entries = findings
            .hits
            .iter()
            .map(|hit| (hit, names.rules.resolve(hit.rules), findings.text(hit)));
        let mut bytes = Vec::with_capacity(
            entries
                .clone()
                .map(|(_, rules, text)| ENTRY_START + 2 * rules.len() + text.len())
                .sum(),
        );
        for (hit, rules, text) in entries {
            bytes.extend_from_slice(&hit.offset.to_le_bytes());
            bytes.extend_from_slice(&hit.line.to_le_bytes());
            bytes.push(u8::from(hit.parsed));
            bytes.extend_from_slice(&(rules.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            rules
                .iter()
                .for_each(|rule| bytes.extend_from_slice(&rule.0.to_le_bytes()));
            append(&mut bytes, text);
        }
        let mut state = lock(&self.state);
        match state.store(bytes) {
            Ok(lines) => state.blocks.push(SpoolBlock { position, lines }),
            Err(error) => state.error = state.error.take().or(Some(error)),
        }
    }

    /// Whether all lines were written.
    ///
    /// # Errors
    ///
    /// The first error.
    pub(crate) fn check(&self) -> io::Result<()> {
        lock(&self.state).error.take().map_or(Ok(()), Err)
    }

    /// Renders all lines on the current rayon pool, and writes the result to `out` in the order of
    /// inputs and offsets. `render` gets a line, a state of its own, and a buffer to add to.
    ///
    /// # Errors
    ///
    /// The spool cannot be read, `render` failed, or one of `out`.
    pub(crate) fn render<S: Default + Send>(
        self,
        out: &mut impl Write,
        render: impl Fn(&StoredLine<'_>, &mut S, &mut Vec<u8>) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        let SpoolState {
            file, mut blocks, ..
        } = std::mem::take(&mut *lock(&self.state));
        blocks.sort_unstable_by_key(|block| block.position);
        let threads = rayon::current_num_threads();
        // A thread takes only its own state, so none waits.
        let states: Vec<_> = (0..threads).map(|_| Mutex::new(S::default())).collect();
        let mut slots: Vec<_> = (0..SLOTS_PER_THREAD * threads)
            .map(|_| RenderSlot::default())
            .collect();
        for blocks in blocks.chunks_mut(slots.len()) {
            let slots = &mut slots[..blocks.len()];
            slots
                .par_iter_mut()
                .zip(blocks)
                .with_max_len(1)
                .try_for_each(|(slot, block)| {
                    let state = &mut *lock(
                        &states[rayon::current_thread_index().unwrap_or_default() % threads],
                    );
                    slot.render(block, file.as_ref(), |line, out| render(line, state, out))
                })?;
            slots
                .iter()
                .try_for_each(|slot| out.write_all(&slot.rendered))?;
        }
        Ok(())
    }
}

/// The lines of a chunk that are rendered at one time, with the buffers for them.
#[derive(Default)]
struct RenderSlot {
    read: Vec<u8>,
    rules: Vec<RuleId>,
    rendered: Vec<u8>,
}

impl RenderSlot {
    /// Renders the lines of a block, and frees their memory.
    fn render(
        &mut self,
        block: &mut SpoolBlock,
        file: Option<&File>,
        mut render: impl FnMut(&StoredLine<'_>, &mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.rendered.clear();
        match &mut block.lines {
            SpooledLines::Memory(lines) => self.read = std::mem::take(lines),
            SpooledLines::File { start, length } => {
                self.read.resize(*length, 0);
                file.ok_or(io::ErrorKind::NotFound)?
                    .read_exact_at(&mut self.read, *start)?;
            }
        }
        let mut rest = self.read.as_slice();
        while !rest.is_empty() {
            let line;
            (line, rest) =
                entry(rest, block.position, &mut self.rules).ok_or(io::ErrorKind::UnexpectedEof)?;
            render(&line, &mut self.rendered)?;
        }
        Ok(())
    }
}

/// Decodes the first line of `bytes`; returns it and the rest.
fn entry<'r, 'b: 'r>(
    bytes: &'b [u8],
    position: LinePosition,
    rules: &'r mut Vec<RuleId>,
) -> Option<(StoredLine<'r>, &'b [u8])> {
    let (offset, rest) = bytes.split_first_chunk()?;
    let (line, rest) = rest.split_first_chunk()?;
    let (parsed, rest) = rest.split_first()?;
    let (count, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (ids, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * 2)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    rules.clear();
    rules.extend(
        ids.chunks_exact(2)
            .map(|id| RuleId(u16::from_le_bytes([id[0], id[1]]))),
    );
    let position = LinePosition {
        offset: u64::from_le_bytes(*offset),
        line: u64::from(u32::from_le_bytes(*line)),
        ..position
    };
    Some((
        StoredLine {
            position,
            text,
            parsed: *parsed == 1,
            rules,
        },
        rest,
    ))
}
