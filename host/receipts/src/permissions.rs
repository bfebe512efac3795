//! Files and directories for their owner only, and who else may use what is there.

use std::fs::{self, File, Metadata, OpenOptions};
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

/// Makes the directories up to this one, for their owner only.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
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

/// Whether anybody but this user and the system's can read the file.
#[cfg(unix)]
pub(crate) fn readable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 != 0 || is_anothers(metadata)
}

/// Whether anybody but this user and the system's can write the file.
#[cfg(unix)]
pub(crate) fn writable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o022 != 0 || is_anothers(metadata)
}

#[cfg(unix)]
fn is_anothers(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.uid() != 0 && metadata.uid() != rustix::process::geteuid().as_raw()
}

/// Kept in access control lists there, which are not read yet.
#[cfg(not(unix))]
pub(crate) fn readable_by_others(_: &Metadata) -> bool {
    false
}

/// As above.
#[cfg(not(unix))]
pub(crate) fn writable_by_others(_: &Metadata) -> bool {
    false
}
