//! Reads a pipe as a live log: `docker logs -f web 2>&1 | probewatch follow -`.
//!
//! A thread reads; lines are passed on as soon as their newline has arrived, and the last one at
//! the end of the pipe. A pipe cannot be read again, so there is no checkpoint. It is read as text:
//! what is compressed belongs through a program that decompresses it.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SendError, SyncSender, TryRecvError, sync_channel};
use std::thread;

use memchr::{memchr, memchr_iter, memrchr};

use super::find::InputOrigin;
use super::line_blocks::{Body, LineBlock, SkippedText};
use super::sparse::leading_nuls;
use super::tail::LineChunk;

/// The path that stands for standard input.
pub(crate) const STDIN: &str = "-";
/// Bytes of one read: the capacity of a pipe on Linux.
const READ: usize = 64 << 10;
/// Blocks that wait to be scanned. Then the reader waits, and with it the writer of the pipe.
const WAITING: usize = 16;

/// A pipe that is read in the background.
#[derive(Debug)]
pub(crate) struct Pipe {
    blocks: Receiver<io::Result<LineBlock>>,
    lines: u64,
    end: Option<Result<(), io::Error>>,
}

impl Pipe {
    /// Starts to read. `wake` is called when there is something to [`read`](Self::read).
    pub(crate) fn open(
        source: impl Read + Send + 'static,
        max_line: usize,
        wake: impl Fn() + Send + 'static,
    ) -> Self {
        let (sender, blocks) = sync_channel(WAITING);
        thread::spawn(move || {
            let mut splitter = LineSplitter {
                max_line,
                rest: Vec::new(),
                offset: 0,
                dropped: SkippedText::default(),
                sender,
                wake,
            };
            // Fails if the run has ended.
            let _ = splitter.read_all(source);
            drop(splitter.sender);
            (splitter.wake)();
        });
        Self {
            blocks,
            lines: 0,
            end: None,
        }
    }

    /// Passes on the lines that have arrived.
    pub(crate) fn read(&mut self, each: &mut impl FnMut(&LineChunk<'_>)) {
        while self.end.is_none() {
            let block = match self.blocks.try_recv() {
                Ok(Ok(block)) => block,
                Ok(Err(error)) => {
                    self.end = Some(Err(error));
                    return;
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.end = Some(Ok(()));
                    return;
                }
            };
            let chunk = block.chunk();
            each(&LineChunk {
                log: 0,
                generation: 0,
                path: Path::new(STDIN),
                origin: InputOrigin::Name,
                fresh: true,
                lines_before: self.lines,
                chunk,
            });
            self.lines += match chunk.body {
                Body::Lines(text) => memchr_iter(b'\n', text).count() as u64,
                Body::Skipped(skipped) => skipped.lines(),
            };
        }
    }

    /// How it ended, once all its lines were passed on.
    pub(crate) fn end(&self) -> Option<&Result<(), io::Error>> {
        self.end.as_ref()
    }
}

/// Splits what is read into blocks of whole lines. A pipe that cannot be read on ends in an error.
#[derive(Debug)]
struct LineSplitter<W> {
    max_line: usize,
    /// The start of a line whose newline has not arrived.
    rest: Vec<u8>,
    /// The offset of the rest.
    offset: u64,
    /// What was dropped of the current line, as it is too long.
    dropped: SkippedText,
    sender: SyncSender<io::Result<LineBlock>>,
    wake: W,
}

/// Fails if the receiver is gone.
type Sent = Result<(), SendError<io::Result<LineBlock>>>;

impl<W: Fn()> LineSplitter<W> {
    fn read_all(&mut self, mut source: impl Read) -> Sent {
        let mut buffer = vec![0; READ];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return self.finish(),
                Ok(length) => self.add(&buffer[..length])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.finish()?;
                    return self.send(Err(error));
                }
            }
        }
    }

    fn send(&self, block: io::Result<LineBlock>) -> Sent {
        self.sender.send(block)?;
        (self.wake)();
        Ok(())
    }

    fn add(&mut self, mut text: &[u8]) -> Sent {
        if self.dropped.bytes > 0 {
            let Some(newline) = memchr(b'\n', text) else {
                self.dropped.add(text);
                return Ok(());
            };
            self.dropped.add(&text[..newline]);
            self.finish()?;
            // The newline.
            self.offset += 1;
            text = &text[newline + 1..];
        }
        self.rest.extend_from_slice(text);
        if let Some(last) = memrchr(b'\n', &self.rest) {
            let next = self.rest.split_off(last + 1);
            self.send_rest()?;
            self.rest = next;
        }
        if self.rest.len() > self.max_line {
            let nuls = leading_nuls(&self.rest);
            if nuls > 0 {
                self.rest.drain(..nuls);
                return self.skip(SkippedText::nuls(nuls as u64));
            }
            self.dropped.add(&self.rest);
            self.rest.clear();
        }
        Ok(())
    }

    /// The last line, which may lack its newline.
    fn finish(&mut self) -> Sent {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped.bytes > 0 {
            self.skip(dropped)
        } else if self.rest.is_empty() {
            Ok(())
        } else {
            self.send_rest()
        }
    }

    fn skip(&mut self, skipped: SkippedText) -> Sent {
        let offset = self.offset;
        self.offset += skipped.bytes;
        self.send(Ok(LineBlock::of_skipped(offset, skipped)))
    }

    fn send_rest(&mut self) -> Sent {
        let lines = std::mem::take(&mut self.rest);
        let offset = self.offset;
        self.offset += lines.len() as u64;
        self.send(Ok(LineBlock::of_lines(offset, lines)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A source that gives its bytes in chunks.
    struct InPieces(Vec<Vec<u8>>);

    impl Read for InPieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let line_chunk = self.0.remove(0);
            buffer[..line_chunk.len()].copy_from_slice(&line_chunk);
            Ok(line_chunk.len())
        }
    }

    fn lines_of(pieces: Vec<Vec<u8>>, max_line: usize) -> Vec<(u64, u64, Option<Vec<u8>>)> {
        let mut pipe = Pipe::open(InPieces(pieces), max_line, || ());
        let mut lines = Vec::new();
        while pipe.end().is_none() {
            pipe.read(&mut |line_chunk| {
                assert!(
                    line_chunk.origin == InputOrigin::Name && line_chunk.path == Path::new("-")
                );
                match line_chunk.chunk.body {
                    Body::Skipped(_) => {
                        lines.push((line_chunk.chunk.offset, line_chunk.lines_before, None));
                    }
                    Body::Lines(text) => {
                        let mut offset = line_chunk.chunk.offset;
                        for (number, line) in (line_chunk.lines_before..)
                            .zip(text.split_inclusive(|&byte| byte == b'\n'))
                        {
                            lines.push((offset, number, Some(line.to_vec())));
                            offset += line.len() as u64;
                        }
                    }
                }
            });
            thread::yield_now();
        }
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn each_line_is_passed_on_once(
            text in "([a-z]{0,30}\n){0,6}[a-z]{0,30}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).chain([0, text.len()]).collect();
            bounds.sort_unstable();
            bounds.dedup();
            let pieces = bounds.windows(2).map(|ends| text.as_bytes()[ends[0]..ends[1]].to_vec()).collect();
            let mut offset = 0;
            let expected = (0..).zip(text.as_bytes().split_inclusive(|&byte| byte == b'\n')).map(|(number, line)| {
                offset += line.len() as u64;
                (offset - line.len() as u64, number, Some(line.to_vec()))
            });
            let found = lines_of(pieces, 20);
            // Whether a line over the limit is kept depends on what arrived with its newline.
            for ((at, number, line), (expected_at, expected_number, expected)) in found.iter().zip(expected.collect::<Vec<_>>()) {
                prop_assert_eq!((*at, *number), (expected_at, expected_number));
                let is_long = expected.as_ref().is_some_and(|line| line.len() > 20);
                prop_assert!(*line == expected || is_long && line.is_none(), "{:?} is {:?}", expected, line);
            }
            prop_assert_eq!(found.len(), text.as_bytes().split_inclusive(|&byte| byte == b'\n').count());
        }
    }

    #[test]
    fn nuls_before_a_line_are_skipped_as_they_arrive() {
        let pieces = vec![
            vec![0; 9],
            b"\0ab\n".to_vec(),
            vec![0; 9],
            vec![0; 4],
            b"cd\n".to_vec(),
        ];
        let mut pipe = Pipe::open(InPieces(pieces), 5, || ());
        let (mut text, mut skipped) = (Vec::new(), SkippedText::default());
        while pipe.end().is_none() {
            pipe.read(&mut |piece| match piece.chunk.body {
                Body::Lines(lines) => text.extend_from_slice(lines),
                Body::Skipped(nuls) => {
                    assert_eq!(nuls.lines(), 0);
                    skipped.bytes += nuls.bytes;
                }
            });
            thread::yield_now();
        }
        assert_eq!((&text[..], skipped.bytes), (&b"\0ab\n\0\0\0\0cd\n"[..], 18));
    }

    #[test]
    fn a_line_over_the_limit_is_dropped_as_it_arrives() {
        let pieces = vec![
            b"ab\ncd".to_vec(),
            b"efghijkl".to_vec(),
            b"mnop".to_vec(),
            b"qr\nst".to_vec(),
        ];
        let line = |text: &[u8]| Some(text.to_vec());
        assert_eq!(
            lines_of(pieces, 5),
            [(0, 0, line(b"ab\n")), (3, 1, None), (20, 2, line(b"st"))]
        );
    }
}
