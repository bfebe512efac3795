//! Where copies of files lie that `init` changes, and who may read what it makes.

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_config::own_state_directory;
use holdpoint_setup::file::{Copies, Readers};

use super::install::Target;

/// Where an administrator's copies lie: not in `/etc`, which some keep under version control.
const MACHINE: &str = "/var/lib/holdpoint";

/// The copies of the machine's files.
pub(super) fn machine_copies() -> Copies {
    Copies::at(Path::new(MACHINE).join("before"))
}

/// The copies of a user's files.
pub(super) fn user_copies() -> Copies {
    let state = own_state_directory().unwrap_or_else(|_| PathBuf::from(MACHINE));
    Copies::at(state.join("before"))
}

/// The copies of the files of a level.
pub(super) fn copies(target: &Target) -> Copies {
    match target {
        Target::Managed => machine_copies(),
        _ => user_copies(),
    }
}

/// The copies of a settings file, whose level is told by where it lies.
pub(crate) fn copies_of(settings: &Path) -> Copies {
    if settings.starts_with(holdpoint_setup::reading::managed_directory()) {
        return machine_copies();
    }
    user_copies()
}

/// Who may read the files of a level where they are new.
pub(super) fn readers(target: &Target) -> Readers {
    match target {
        Target::Managed | Target::Project | Target::Plugin(_) => Readers::Everybody,
        Target::User | Target::Local => Readers::Owner,
    }
}

/// What an administrator made for a user below the user's home becomes that user's.
pub(super) fn hand_over(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let home = env::var_os("HOME").map(PathBuf::from);
        let owner = home.as_deref().and_then(|home| home.metadata().ok());
        let (Some(home), Some(owner)) = (home, owner) else {
            return;
        };
        if !rustix::process::geteuid().is_root() || owner.uid() == 0 || !folder.starts_with(&home) {
            return;
        }
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        // The folder and those above it that root made on the way.
        paths.extend(
            folder
                .ancestors()
                .take_while(|above| *above != home)
                .map(Path::to_owned),
        );
        for path in paths {
            if path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == 0) {
                let _ = std::os::unix::fs::lchown(&path, Some(owner.uid()), Some(owner.gid()));
            }
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
}
