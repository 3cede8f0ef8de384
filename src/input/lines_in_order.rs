//! Reads one source from its start, a line after the other, on this thread: for a person who asks about a line, not for
//! a scan.
//!
//! Sees the same lines under the same numbers as [`read`](super::read::read) does: packed or not, holes left out.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use memchr::memchr;

use super::chunk::Body;
use super::decompress::Unpack;
use super::line_blocks::{Limits, Lines};
use super::magic::{self, HEAD};
use super::peek::Peeked;
use super::read::Unread;
use super::sparse::leading_nuls;

/// Bytes read in one go.
const BLOCK: usize = 64 << 10;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its text, without the end of the line.
    Text(&'a [u8]),
    /// It is over the limit; so many bytes of it are known.
    Oversized(u64),
}

/// How a sequence ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// Lines that were handed out.
    pub lines: u64,
    /// What went wrong behind them, in a sentence.
    pub damage: Option<String>,
}

/// Hands out the lines of the file at `path`, of standard input for `-`, with their numbers from 1, until `take` breaks.
///
/// # Errors
///
/// The source cannot be read at all.
pub fn each_line(path: &Path, max_line: usize, take: impl FnMut(u64, Line<'_>) -> ControlFlow<()>) -> Result<End, Unread> {
    if path.as_os_str() == "-" {
        return unpack(io::stdin().lock(), max_line, take);
    }
    unpack(File::open(path)?, max_line, take)
}

fn unpack<R: Read>(source: R, max_line: usize, take: impl FnMut(u64, Line<'_>) -> ControlFlow<()>) -> Result<End, Unread> {
    let mut source = Peeked::new(source, HEAD);
    if let Some(error) = source.take_refusal() {
        return Err(error.into());
    }
    match magic::packing(source.head())? {
        None => Ok(walk(source, max_line, take)?.0),
        Some(packing) => {
            let (mut end, source) = walk(Unpack::new(BufReader::new(source), packing), max_line, take)?;
            if let Some(damage) = source.rest().damage() {
                end.damage.get_or_insert_with(|| damage.to_owned());
            }
            Ok(end)
        }
    }
}

fn walk<R: Read>(source: R, max_line: usize, mut take: impl FnMut(u64, Line<'_>) -> ControlFlow<()>) -> Result<(End, Peeked<R>), Unread> {
    let mut source = Peeked::new(source, HEAD);
    let bom = magic::bom(source.head())?;
    source.pass(bom);
    let mut lines = Lines::of_text(source, bom as u64, Limits { block: BLOCK, max_line });
    let mut end = End::default();
    loop {
        let block = match lines.next() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(error) => {
                end.damage = Some(error.to_string());
                break;
            }
        };
        let flow = match block.chunk().body {
            Body::Oversized { bytes } => hand_out(Line::Oversized(bytes), &mut end, &mut take),
            Body::Lines(text) => each_of(text, max_line, &mut end, &mut take),
        };
        if flow.is_break() {
            break;
        }
        lines.recycle(block.into_buffer());
    }
    Ok((end, lines.into_source()))
}

/// Cuts a block into lines, as a judge of lines does.
fn each_of(mut text: &[u8], max_line: usize, end: &mut End, take: &mut impl FnMut(u64, Line<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    while !text.is_empty() {
        let newline = memchr(b'\n', text);
        let (line, rest) = text.split_at(newline.unwrap_or(text.len()));
        let line = &line[leading_nuls(line)..];
        text = rest.get(1..).unwrap_or_default();
        if line.is_empty() && newline.is_none() {
            break;
        }
        let line = match line.len() {
            length if length > max_line => Line::Oversized(length as u64),
            _ => Line::Text(line.strip_suffix(b"\r").unwrap_or(line)),
        };
        hand_out(line, end, take)?;
    }
    ControlFlow::Continue(())
}

fn hand_out(line: Line<'_>, end: &mut End, take: &mut impl FnMut(u64, Line<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    end.lines += 1;
    take(end.lines, line)
}
