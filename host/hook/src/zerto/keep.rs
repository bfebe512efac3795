//! Log-ins that are kept between calls: one file each, of the form `<machine> <milliseconds since its start>`, a line
//! break, and the log-in.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdpoint_rendezvous::{Directory, Error, machine, since_boot};
use holdpoint_zerto::Keeper;
use zeroize::Zeroizing;

use crate::record::Record;

/// Log-ins in a directory. What goes wrong with them is told in the log.
#[derive(Debug)]
pub(super) struct LogIns {
    directory: Arc<Directory>,
    record: Arc<Mutex<Record>>,
}

impl LogIns {
    pub(super) fn new(directory: Arc<Directory>, record: Arc<Mutex<Record>>) -> Self {
        Self { directory, record }
    }

    fn tell(&self, error: &Error) {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.trouble(&format!("the log-in is not kept: {error}"));
    }
}

/// A lock whose file goes with it: nothing is left behind by a log-in. Whoever opened the file before that finds it without
/// a name, and tries again.
struct Turn {
    directory: Arc<Directory>,
    name: String,
    _lock: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // What stays is swept one day.
        let _ = self.directory.remove(&self.name);
    }
}

impl Keeper for LogIns {
    fn load(&self, name: &str) -> Option<(Zeroizing<Vec<u8>>, Duration)> {
        let bytes = match self.directory.read(name) {
            Ok(bytes) => Zeroizing::new(bytes?),
            Err(error) => {
                self.tell(&error);
                return None;
            }
        };
        let (log_in, age) = dated(&bytes, &machine(), since_boot())?;
        Some((Zeroizing::new(log_in.to_vec()), age))
    }

    fn store(&self, name: &str, bytes: &[u8]) {
        let head = format!("{} {}\n", machine(), since_boot().as_millis());
        let mut file = Zeroizing::new(Vec::with_capacity(head.len() + bytes.len()));
        file.extend_from_slice(head.as_bytes());
        file.extend_from_slice(bytes);
        if let Err(error) = self.directory.replace(name, &file) {
            self.tell(&error);
        }
    }

    fn discard(&self, name: &str) {
        if let Err(error) = self.directory.remove(name) {
            self.tell(&error);
        }
    }

    fn try_lock(&self, name: &str) -> Option<Box<dyn Send>> {
        match self.directory.try_lock(name) {
            Ok(lock) => Some(Box::new(Turn {
                directory: Arc::clone(&self.directory),
                name: name.to_owned(),
                _lock: lock?,
            })),
            Err(error) => {
                self.tell(&error);
                None
            }
        }
    }
}

/// The log-in in a file, and how old it is; none where the file is of another machine, of another run of this one, or
/// from a time to come.
fn dated<'b>(file: &'b [u8], machine: &str, now: Duration) -> Option<(&'b [u8], Duration)> {
    let end = file.iter().position(|&byte| byte == b'\n')?;
    let (head, log_in) = (&file[..end], &file[end + 1..]);
    let (written_on, at) = std::str::from_utf8(head).ok()?.rsplit_once(' ')?;
    let age = now.checked_sub(Duration::from_millis(at.parse().ok()?))?;
    (written_on == machine).then_some((log_in, age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_is_as_old_as_this_run_of_this_machine_says() {
        let age = |file: &str, machine: &str, now| {
            let now = Duration::from_millis(now);
            dated(file.as_bytes(), machine, now).map(|(log_in, age)| (log_in.to_vec(), age.as_millis()))
        };
        assert_eq!(age("m 100\nx\ny", "m", 130), Some((b"x\ny".to_vec(), 30)));
        assert_eq!(age("m 100\nx", "other", 130), None);
        assert_eq!(
            age("m 100\nx", "m", 99),
            None,
            "from before the machine was started"
        );
        for nonsense in ["", "m 100", "m\nx", "m x\nx", "m -1\nx", "\u{ff}"] {
            assert_eq!(age(nonsense, "m", 130), None, "{nonsense}");
        }
    }
}
