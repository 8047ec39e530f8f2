//! Lines of bounded length from a stream of bytes.
//!
//! Contract: one line a call, without its line feed; a last line needs none; a byte order mark
//! before the first line is dropped. A line of more than [`LINE_BYTES_MAX`] bytes is read to its
//! end without being held and reported as [`Line::TooLong`], so the next line works. However the
//! bytes are cut into reads, the lines are the same.
//!
//! Absent: decoding. A carriage return before the line feed is JSON white space and stays.
//! `tests/mcp.rs` guards it through a real pipe, the tests below at every cut.

use std::io::{BufRead, BufReader, ErrorKind, Read, Result};

/// The longest line that is taken, in bytes without its line feed: 16 MiB.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Memory that a line once needed is given back above this, in bytes.
const LINE_BYTES_KEPT: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What stood up to a line feed or to the end of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The bytes, without the line feed.
    Held(&'a [u8]),
    /// More than [`LINE_BYTES_MAX`] bytes: gone.
    TooLong,
}

/// Cuts a stream into lines.
pub(super) struct LineReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    is_first: bool,
}

impl<R: Read> LineReader<R> {
    pub(super) fn new(input: R) -> Self {
        LineReader {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            is_first: true,
        }
    }

    /// The next line; nothing at the end of the stream.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(LINE_BYTES_KEPT);
        let Some(is_held) = self.fill()? else {
            return Ok(None);
        };
        let was_first = std::mem::take(&mut self.is_first);
        if !is_held {
            return Ok(Some(Line::TooLong));
        }
        let line = match self.line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if was_first => rest,
            _ => &self.line,
        };
        Ok(Some(Line::Held(line)))
    }

    /// Reads up to the next line feed. Says whether the line is held, or nothing at the end.
    fn fill(&mut self) -> Result<Option<bool>> {
        let mut is_held = true;
        let mut is_begun = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok(is_begun.then_some(is_held));
            }
            is_begun = true;
            let mut pieces = bytes.splitn(2, |byte| *byte == b'\n');
            let piece = pieces.next().unwrap_or_default();
            let is_ended = pieces.next().is_some();
            if piece.len() > LINE_BYTES_MAX - self.line.len() {
                is_held = false;
                self.line = Vec::new();
            }
            if is_held {
                self.line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(is_ended);
            self.input.consume(used);
            if is_ended {
                return Ok(Some(is_held));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives one byte less or more a time, and is interrupted in between.
    struct Cut<'a> {
        bytes: &'a [u8],
        size: usize,
        is_interrupted: bool,
    }

    impl Read for Cut<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            self.is_interrupted = !self.is_interrupted;
            if self.is_interrupted {
                return Err(ErrorKind::Interrupted.into());
            }
            let size = self.size.min(self.bytes.len()).min(buffer.len());
            let (now, later) = self.bytes.split_at(size);
            buffer[..size].copy_from_slice(now);
            self.bytes = later;
            Ok(size)
        }
    }

    fn lines(input: impl Read) -> Vec<Option<Vec<u8>>> {
        let mut reader = LineReader::new(input);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().unwrap() {
            lines.push(match line {
                Line::Held(bytes) => Some(bytes.to_vec()),
                Line::TooLong => None,
            });
        }
        lines
    }

    #[test]
    fn lines_are_the_same_however_the_stream_is_cut() {
        let bytes = b"\xEF\xBB\xBFone\r\n\n\xEF\xBB\xBFtwo\nthree";
        let expected: Vec<Option<Vec<u8>>> = [&b"one\r"[..], b"", b"\xEF\xBB\xBFtwo", b"three"]
            .map(|line| Some(line.to_vec()))
            .into();
        for size in 1..=bytes.len() {
            assert_eq!(lines(Cut { bytes, size, is_interrupted: false }), expected, "{size}");
        }
    }

    #[test]
    fn a_line_at_the_limit_is_held_and_one_byte_more_is_drained() {
        for (length, is_held) in [(LINE_BYTES_MAX, true), (LINE_BYTES_MAX + 1, false)] {
            let mut bytes = vec![b'x'; length];
            bytes.extend_from_slice(b"\nnext\n");
            let lines = lines(bytes.as_slice());
            assert_eq!(lines.len(), 2);
            assert_eq!(lines[0].as_ref().map(Vec::len), is_held.then_some(length));
            assert_eq!(lines[1].as_deref(), Some(&b"next"[..]));
        }
    }

    #[test]
    fn a_drained_line_is_not_held() {
        let mut reader = LineReader::new(std::io::repeat(b'x').take(5 * LINE_BYTES_MAX as u64));
        assert_eq!(reader.next().unwrap(), Some(Line::TooLong));
        assert!(reader.line.capacity() <= LINE_BYTES_MAX, "{}", reader.line.capacity());
        assert_eq!(reader.next().unwrap(), None);
    }

    #[test]
    fn an_empty_stream_has_no_line() {
        assert_eq!(lines(&b""[..]), Vec::<Option<Vec<u8>>>::new());
    }
}
