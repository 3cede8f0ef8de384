//! Reads one source line by line on the current thread, for commands that look at single lines.
//!
//! Returns the same lines with the same numbers as [`read`](super::read::read), whether compressed or not, without
//! holes.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use memchr::memchr;

use super::decompress::Decompressor;
use super::line_blocks::{BlockLimits, LineBlockReader};
use super::magic::{self, HEAD};
use super::read::{Body, OpenError};
use super::readers::PeekReader;
use super::sparse::leading_nuls;

/// Bytes per read.
const BLOCK: usize = 64 << 10;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputLine<'a> {
    /// Its text, without the line ending.
    Text(&'a [u8]),
    /// A line over the limit; its length in bytes as far as it is known.
    Oversized(u64),
}

/// The result of reading lines in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesSummary {
    /// Lines that were returned.
    pub lines: u64,
    /// What went wrong after them, as a sentence.
    pub damage: Option<String>,
}

/// Calls `take` with each line of the file at `path`, or of standard input for `-`, and its number from 1, until
/// `take` breaks.
///
/// # Errors
///
/// The source cannot be read at all.
pub fn for_each_line(
    path: &Path,
    max_line: usize,
    take: impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> Result<LinesSummary, OpenError> {
    if path.as_os_str() == "-" {
        return decompress(io::stdin().lock(), max_line, take);
    }
    decompress(File::open(path)?, max_line, take)
}

fn decompress<R: Read>(
    source: R,
    max_line: usize,
    take: impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> Result<LinesSummary, OpenError> {
    let mut source = PeekReader::new(source, HEAD);
    if let Some(error) = source.take_initial_error() {
        return Err(error.into());
    }
    match magic::detect(source.head())? {
        None => Ok(read_lines(source, max_line, take)?.0),
        Some(compression) => {
            let (mut summary, source) = read_lines(Decompressor::new(BufReader::new(source), compression), max_line, take)?;
            if let Some(damage) = source.rest().damage() {
                summary.damage.get_or_insert_with(|| damage.to_owned());
            }
            Ok(summary)
        }
    }
}

fn read_lines<R: Read>(
    source: R,
    max_line: usize,
    mut take: impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> Result<(LinesSummary, PeekReader<R>), OpenError> {
    let mut source = PeekReader::new(source, HEAD);
    let bom = magic::bom_len(source.head())?;
    source.skip(bom);
    let mut lines = LineBlockReader::new(source, bom as u64, BlockLimits { block: BLOCK, max_line });
    let mut summary = LinesSummary::default();
    loop {
        let block = match lines.next() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(error) => {
                summary.damage = Some(error.to_string());
                break;
            }
        };
        let flow = match block.chunk().body {
            Body::Oversized { bytes } => emit(InputLine::Oversized(bytes), &mut summary, &mut take),
            Body::Lines(text) => split_block(text, max_line, &mut summary, &mut take),
        };
        if flow.is_break() {
            break;
        }
        lines.recycle(block.into_buffer());
    }
    Ok((summary, lines.into_source()))
}

/// Splits a block into lines, in the same way as the scan does.
fn split_block(
    mut text: &[u8],
    max_line: usize,
    summary: &mut LinesSummary,
    take: &mut impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    while !text.is_empty() {
        let newline = memchr(b'\n', text);
        let (line, rest) = text.split_at(newline.unwrap_or(text.len()));
        let line = &line[leading_nuls(line)..];
        text = rest.get(1..).unwrap_or_default();
        if line.is_empty() && newline.is_none() {
            break;
        }
        let line = match line.len() {
            length if length > max_line => InputLine::Oversized(length as u64),
            _ => InputLine::Text(line.strip_suffix(b"\r").unwrap_or(line)),
        };
        emit(line, summary, take)?;
    }
    ControlFlow::Continue(())
}

fn emit(line: InputLine<'_>, summary: &mut LinesSummary, take: &mut impl FnMut(u64, InputLine<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    summary.lines += 1;
    take(summary.lines, line)
}
