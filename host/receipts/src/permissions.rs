//! Files that are made for their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::LogError;

/// Creates a file that was not there, for its owner only.
pub(crate) fn create(path: &Path) -> Result<File, LogError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options)
        .open(path)
        .map_err(LogError::file(path, "created"))
}

/// Creates a file in the place of what is there: to be read by its owner, or by everybody.
pub(crate) fn replace(path: &Path, public: bool) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if !public {
        private(&mut options);
    }
    options.open(path)
}

/// Lets files be made for their owner only.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Not blocking: a pipe of this name must not hold a hook up.
        let flags = rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options
}
