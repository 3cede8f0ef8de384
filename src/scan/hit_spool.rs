//! Spools the lines that matched until the scan is complete: in memory while they are few, then in an unnamed temporary
//! file.
//!
//! Lines are added by any thread in any order and read back in the order of inputs and offsets.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

use rayon::prelude::*;
use tempfile::SpooledTempFile;

use super::worker::lock;
use crate::analysis::hit::StoredLine;
use crate::finding::{Findings, RuleId};
use crate::intern::SymbolTables;
use crate::tally::LinePosition;

/// The number of bytes that are kept in memory.
const IN_MEMORY: usize = 16 << 20;

/// Chunks for each thread that are rendered at one time: a thread whose chunks have few hits takes those of another. Only their
/// text is in memory.
const SLOTS_PER_THREAD: usize = 2;

/// Lines that matched.
#[derive(Debug)]
pub(crate) struct HitSpool {
    state: Mutex<SpoolState>,
}

#[derive(Debug)]
struct SpoolState {
    file: SpooledTempFile,
    end: u64,
    blocks: Vec<SpoolBlock>,
    failed: Option<io::Error>,
}

/// The lines of one chunk, stored contiguously.
#[derive(Debug, Clone, Copy)]
struct SpoolBlock {
    place: LinePosition,
    start: u64,
    length: usize,
}

impl Default for HitSpool {
    fn default() -> Self {
        let file = tempfile::spooled_tempfile(IN_MEMORY);
        Self { state: Mutex::new(SpoolState { file, end: 0, blocks: Vec::new(), failed: None }) }
    }
}

impl HitSpool {
    /// Adds the hits of a chunk. An error is kept and returned by [`HitSpool::check`].
    pub(super) fn push(&self, findings: &Findings, names: &SymbolTables, place: LinePosition) {
        if findings.hits.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        for hit in &findings.hits {
            let (rules, text) = (names.rules.resolve(hit.rules), findings.text(hit));
            bytes.extend_from_slice(&hit.offset.to_le_bytes());
            bytes.extend_from_slice(&hit.line.to_le_bytes());
            bytes.push(u8::from(hit.parsed));
            bytes.extend_from_slice(&(rules.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            rules.iter().for_each(|rule| bytes.extend_from_slice(&rule.0.to_le_bytes()));
            bytes.extend_from_slice(text);
        }
        let mut state = lock(&self.state);
        let block = SpoolBlock { place, start: state.end, length: bytes.len() };
        match state.file.write_all(&bytes) {
            Ok(()) => {
                state.end += bytes.len() as u64;
                state.blocks.push(block);
            }
            Err(error) => state.failed = state.failed.take().or(Some(error)),
        }
    }

    /// Whether all lines were written.
    ///
    /// # Errors
    ///
    /// The first error.
    pub(crate) fn check(&self) -> io::Result<()> {
        lock(&self.state).failed.take().map_or(Ok(()), Err)
    }

    /// Renders all lines on the current rayon pool, and writes the result to `out` in the order of inputs and offsets. `render`
    /// gets a line, a state of its own, and a buffer to add to.
    ///
    /// # Errors
    ///
    /// The spool cannot be read, `render` failed, or one of `out`.
    pub(crate) fn render<S: Default + Send>(
        self,
        out: &mut impl Write,
        render: impl Fn(&StoredLine<'_>, &mut S, &mut Vec<u8>) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        let SpoolState { mut file, mut blocks, .. } = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        blocks.sort_unstable_by_key(|block| block.place);
        let mut slots: Vec<_> = (0..SLOTS_PER_THREAD * rayon::current_num_threads()).map(|_| RenderSlot::<S>::default()).collect();
        for blocks in blocks.chunks(slots.len()) {
            for (block, slot) in blocks.iter().zip(&mut slots) {
                slot.spooled.resize(block.length, 0);
                file.seek(SeekFrom::Start(block.start))?;
                file.read_exact(&mut slot.spooled)?;
            }
            let slots = &mut slots[..blocks.len()];
            slots.par_iter_mut().zip(blocks).with_max_len(1).try_for_each(|(slot, block)| slot.render(block, &render))?;
            slots.iter().try_for_each(|slot| out.write_all(&slot.rendered))?;
        }
        Ok(())
    }
}

/// The lines of a chunk that are rendered at one time, with the buffers for them.
#[derive(Default)]
struct RenderSlot<S> {
    spooled: Vec<u8>,
    rules: Vec<RuleId>,
    state: S,
    rendered: Vec<u8>,
}

impl<S> RenderSlot<S> {
    fn render(&mut self, block: &SpoolBlock, render: &impl Fn(&StoredLine<'_>, &mut S, &mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        self.rendered.clear();
        let mut rest = self.spooled.as_slice();
        while !rest.is_empty() {
            let line;
            (line, rest) = entry(rest, block.place, &mut self.rules).ok_or(io::ErrorKind::UnexpectedEof)?;
            render(&line, &mut self.state, &mut self.rendered)?;
        }
        Ok(())
    }
}

/// Decodes the first line of `bytes`; returns it and the rest.
fn entry<'r, 'b: 'r>(bytes: &'b [u8], place: LinePosition, rules: &'r mut Vec<RuleId>) -> Option<(StoredLine<'r>, &'b [u8])> {
    let (offset, rest) = bytes.split_first_chunk()?;
    let (line, rest) = rest.split_first_chunk()?;
    let (parsed, rest) = rest.split_first()?;
    let (count, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (ids, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * 2)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    rules.clear();
    rules.extend(ids.chunks_exact(2).map(|id| RuleId(u16::from_le_bytes([id[0], id[1]]))));
    let place = LinePosition { offset: u64::from_le_bytes(*offset), line: u64::from(u32::from_le_bytes(*line)), ..place };
    Some((StoredLine { position: place, text, parsed: *parsed == 1, rules }, rest))
}
