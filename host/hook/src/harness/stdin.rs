//! Reads one JSON object from a stream that may never end: some harnesses do not close the pipe.

use std::io::{ErrorKind, Read};

use holdpoint_runtime::verdict::{Fault, FaultKind};
use memchr::memchr2;

/// The largest event that is read, in bytes. The largest argument seen in use is a file of some megabytes.
pub const LARGEST_EVENT: usize = 64 * 1024 * 1024;

/// Reads until one JSON object is complete. What follows it is left alone.
///
/// `too_late` is asked whenever a signal interrupts the read, and before each further one: bytes that dribble in do not
/// keep the reader from looking at the time.
///
/// # Errors
///
/// A fault where the stream ends, fails, is too large or does not begin with an object, or where it became too late.
pub fn read(mut stream: impl Read, too_late: impl Fn() -> bool) -> Result<Vec<u8>, Fault> {
    let mut event = Vec::new();
    let mut object = Object::default();
    let mut chunk = [0; 16 * 1024];
    loop {
        let count = match stream.read(&mut chunk) {
            Ok(0) if event.is_empty() => {
                return Err(fault("standard input is empty; a hook gets its event there"));
            }
            Ok(0) => return Err(fault("standard input ended in the middle of the event")),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted && !too_late() => continue,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(late()),
            Err(error) => return Err(fault(&format!("standard input cannot be read ({error})"))),
        };
        let end = object.end(&chunk[..count]).map_err(fault)?;
        event.extend_from_slice(&chunk[..end.unwrap_or(count)]);
        if end.is_some() {
            return Ok(event);
        }
        if event.len() > LARGEST_EVENT {
            return Err(fault(&format!(
                "the event is larger than {} MiB",
                LARGEST_EVENT / 1024 / 1024
            )));
        }
        if too_late() {
            return Err(late());
        }
    }
}

fn late() -> Fault {
    Fault::new(
        FaultKind::Deadline,
        "no complete event came on standard input in time",
    )
}

fn fault(cause: &str) -> Fault {
    Fault::new(FaultKind::Event, cause)
}

/// Follows the bytes of an object only as far as is needed to see its end; whether it is JSON is the parser's matter.
#[derive(Default)]
struct Object {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Object {
    /// Where the object ends in these bytes, if it does.
    fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let mut next = 0;
        while let Some(&byte) = bytes.get(next) {
            let position = next;
            next += 1;
            if self.escaped {
                self.escaped = false;
                continue;
            }
            if self.in_string {
                // Nearly all of a large event is one text.
                let Some(skipped) = memchr2(b'"', b'\\', &bytes[position..]) else {
                    return Ok(None);
                };
                self.escaped = bytes[position + skipped] == b'\\';
                self.in_string = self.escaped;
                next += skipped;
                continue;
            }
            match byte {
                b'{' | b'[' if self.depth > 0 || byte == b'{' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Ok(Some(position + 1));
                    }
                }
                b'"' if self.depth > 0 => self.in_string = true,
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ if self.depth > 0 => {}
                _ => return Err("standard input does not begin with a JSON object"),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Hands out its pieces one by one, then blocks for ever as far as the reader can tell, and the time passes.
    struct Open<'a> {
        pieces: std::slice::Iter<'a, &'static [u8]>,
        late: &'a Cell<bool>,
    }

    impl Read for Open<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some(piece) = self.pieces.next() else {
                self.late.set(true);
                return Err(ErrorKind::Interrupted.into());
            };
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn from(pieces: &[&'static [u8]]) -> Result<String, Fault> {
        let late = Cell::new(false);
        let stream = Open {
            pieces: pieces.iter(),
            late: &late,
        };
        read(stream, || late.get()).map(|event| String::from_utf8(event).unwrap())
    }

    #[test]
    fn the_object_is_enough() {
        assert_eq!(
            from(&[br#" {"a":"}\"","#, br#""b":[{}]} {"next":1}"#]).unwrap(),
            r#" {"a":"}\"","b":[{}]}"#
        );
    }

    #[test]
    fn what_never_becomes_an_object_is_a_fault() {
        assert_eq!(from(&[b"[1]"]).unwrap_err().kind, FaultKind::Event);
        assert_eq!(from(&[b"hello"]).unwrap_err().kind, FaultKind::Event);
        assert_eq!(from(&[b"{\"a\":1"]).unwrap_err().kind, FaultKind::Deadline);
        assert_eq!(read(&b""[..], || false).unwrap_err().kind, FaultKind::Event);
        assert_eq!(read(&b"{\"a\""[..], || false).unwrap_err().kind, FaultKind::Event);
    }

    #[test]
    fn bytes_that_dribble_in_do_not_keep_it_from_looking_at_the_time() {
        let asked = Cell::new(0);
        let late = || asked.replace(asked.get() + 1) == 2;
        assert_eq!(
            read(std::io::repeat(b' '), late).unwrap_err().kind,
            FaultKind::Deadline
        );
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn an_endless_event_is_cut_off() {
        let endless = b"{\"a\":\"".chain(std::io::repeat(b'x'));
        assert!(read(endless, || false).unwrap_err().cause.contains("larger"));
    }
}
