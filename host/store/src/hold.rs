//! Bringing compiled code into memory that can run it.

use std::fs::File;
use std::io::{self, Read as _};

/// Brings the first bytes of a file, as many as are named, into memory, until the process ends.
pub type Hold = fn(&File, usize) -> io::Result<&'static [u8]>;

/// [`Hold`] for a host that cannot run code where it lies.
///
/// # Errors
///
/// The operating system's, or where the file is shorter.
pub fn read_code(mut file: &File, length: usize) -> io::Result<&'static [u8]> {
    let mut code = vec![0; length];
    file.read_exact(&mut code)?;
    Ok(code.leak())
}
