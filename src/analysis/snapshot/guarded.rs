//! Reads JSON no further than it may go: a text longer than any line, or a list in a list in a list, ends it, so that nobody
//! makes a reader hold what it does not need.
//!
//! Knows strings and brackets only; whether it is JSON at all is the parser's question.

use std::io::{self, Read};

/// Bytes of a string: the longest line that is looked at is a megabyte unless somebody asks for more, and may be escaped.
const LONGEST: usize = 64 * 1024 * 1024;
/// Lists and objects in each other; a report has seven.
const DEEPEST: usize = 32;

/// A reader that refuses.
pub(crate) struct LimitedReader<R> {
    from: R,
    depth: usize,
    /// Bytes since a string began.
    string: Option<usize>,
    is_escaped: bool,
}

impl<R> LimitedReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, depth: 0, string: None, is_escaped: false }
    }

    fn look(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for &byte in bytes {
            let Some(length) = &mut self.string else {
                match byte {
                    b'"' => self.string = Some(0),
                    b'[' | b'{' => self.depth += 1,
                    b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                continue;
            };
            *length += 1;
            if *length > LONGEST {
                return Err("it holds a text longer than any line of a log");
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.string = None,
                _ => {}
            }
        }
        if self.depth > DEEPEST { Err("its lists lie too deep in each other") } else { Ok(()) }
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.look(&buffer[..n]).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::snapshot::guarded::*;

    fn read(text: &str) -> Result<String, String> {
        let mut out = String::new();
        LimitedReader::new(text.as_bytes()).read_to_string(&mut out).map(|_| out).map_err(|error| error.to_string())
    }

    #[test]
    fn refuses_what_no_report_holds() {
        for fine in ["", "{\"a\":[[[1]]]}", "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"", "\"\\\"[[\"", "no json at ] all }"] {
            assert_eq!(read(fine).as_deref(), Ok(fine));
        }
        assert!(read(&"[".repeat(40)).unwrap_err().contains("deep"));
        assert!(read(&format!("\"{}", "a".repeat(LONGEST + 1))).unwrap_err().contains("longer"));
        assert!(read(&format!("\"{}", "\\\"".repeat(LONGEST))).unwrap_err().contains("longer"));
    }
}
