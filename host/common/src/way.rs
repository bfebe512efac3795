//! Who else could have written a file, or could put another one in its place.
//!
//! A file that only its owner may write is as safe as the folders on the way to it: whoever may write one of those can
//! rename what is in it. The way is walked as the kernel walks it, through links, so that it is checked where a link
//! leads and where the link itself lies.

use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with the way to a file.
#[derive(Debug)]
pub enum Problem {
    /// Others may write this folder, and replace what is in it.
    Exposed(PathBuf),
    /// This folder or link belongs to somebody who is neither this user nor root.
    Foreign(PathBuf),
    /// It cannot be looked at.
    Unreadable(PathBuf, io::Error),
}

/// As a sentence's end, after the name of the file: what is wrong, and what to do.
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exposed(folder) => {
                let folder = folder.display();
                write!(
                    f,
                    "lies below {folder}, which others may write, so that they could put another file in its place; fix \
                     it with: chmod go-w {folder}"
                )
            }
            Self::Foreign(path) => write!(
                f,
                "lies below {}, which belongs to another user, who could put another file in its place; move the file \
                 to a folder of your own, or change the owner with chown",
                path.display()
            ),
            Self::Unreadable(path, cause) => {
                write!(
                    f,
                    "lies below {}, which cannot be looked at ({cause})",
                    path.display()
                )
            }
        }
    }
}

/// The link on the way to a path that leads nowhere, where nothing is found at the path because of it. Whoever put the link
/// there meant something to be found: that is not the same as nothing being there.
pub fn dangling(path: &Path) -> Option<PathBuf> {
    for here in path.ancestors() {
        match std::fs::symlink_metadata(here) {
            Ok(found) if found.is_symlink() => {
                let leads_nowhere = std::fs::metadata(here).is_err();
                return leads_nowhere.then(|| here.to_owned());
            }
            Ok(_) => return None,
            // What lies above it says why.
            Err(_) => {}
        }
    }
    None
}

/// Checks every folder and link on the way to what lies at a path: each belongs to this user or root, and
/// nobody else may write it. A folder with the sticky bit, as `/tmp` has it, lets others add names and not take ours
/// away, so it is enough that the next step belongs to this user or root.
///
/// # Errors
///
/// The first problem from the root on.
#[cfg(unix)]
pub fn check(path: &Path) -> Result<(), Problem> {
    check_for(path, rustix::process::geteuid().as_raw())
}

/// The same for a file of the machine's: every folder and link on the way belongs to root, whoever this user is.
///
/// # Errors
///
/// As for [`check`].
#[cfg(unix)]
pub fn check_roots(path: &Path) -> Result<(), Problem> {
    check_for(path, 0)
}

#[cfg(unix)]
fn check_for(path: &Path, user: u32) -> Result<(), Problem> {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Component;

    /// As many as the kernel follows.
    const MOST_LINKS: usize = 40;

    let mut links = 0;
    let mut here = PathBuf::from("/");
    // The steps that are still to go, the next one last.
    let mut rest: Vec<PathBuf> = Vec::new();
    let steps = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().rev();
        parts.map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let absolute = std::path::absolute(path);
    let absolute = absolute.map_err(|error| Problem::Unreadable(path.to_owned(), error))?;
    rest.extend(steps(&absolute));
    while let Some(step) = rest.pop() {
        match step.components().next() {
            None | Some(Component::CurDir) => continue,
            Some(Component::RootDir | Component::Prefix(_)) => here = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                here.pop();
                continue;
            }
            Some(Component::Normal(name)) => here.push(name),
        }
        let found = match std::fs::symlink_metadata(&here) {
            // Nothing lies there, and only those who may write the folder, which was checked, can change that.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Problem::Unreadable(here, error)),
            Ok(found) => found,
        };
        // The file itself is for whoever opens it to check, by its descriptor.
        if rest.is_empty() && !found.is_symlink() {
            return Ok(());
        }
        if found.uid() != 0 && found.uid() != user {
            return Err(Problem::Foreign(here));
        }
        if found.is_symlink() {
            links += 1;
            let target = std::fs::read_link(&here);
            let target = target.map_err(|error| Problem::Unreadable(here.clone(), error))?;
            if links > MOST_LINKS {
                let cause = io::Error::other("too many links");
                return Err(Problem::Unreadable(here, cause));
            }
            here.pop();
            rest.extend(steps(&target));
        } else if found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0 {
            return Err(Problem::Exposed(here));
        }
    }
    Ok(())
}

/// Windows keeps this in access control lists, which are not read yet.
///
/// # Errors
///
/// None there.
#[cfg(not(unix))]
pub fn check(_: &Path) -> Result<(), Problem> {
    Ok(())
}

/// As above.
///
/// # Errors
///
/// None there.
#[cfg(not(unix))]
pub fn check_roots(_: &Path) -> Result<(), Problem> {
    Ok(())
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found_wherever_it_is_on_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        symlink(root.join("gone"), root.join("link")).unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        symlink(root.join("folder"), root.join("to-folder")).unwrap();
        for missing in ["link", "link/file", "link/deeper/file"] {
            assert_eq!(dangling(&root.join(missing)), Some(root.join("link")));
        }
        for absent in [
            "nothing",
            "nothing/file",
            "folder/file",
            "to-folder/file",
            "to-folder/a/b",
        ] {
            assert_eq!(dangling(&root.join(absent)), None, "{absent}");
        }
    }

    #[test]
    fn every_folder_on_the_way_counts() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b/c");
        fs::create_dir_all(&inner).unwrap();
        let file = inner.join("file");
        fs::write(&file, "").unwrap();
        check(&file).unwrap();
        check(&inner.join("nothing")).unwrap();
        check(&folder.path().join("nothing/at/all")).unwrap();
        for open in ["a", "a/b", "a/b/c"] {
            let open = folder.path().join(open);
            for mode in [0o777, 0o775, 0o722] {
                chmod(&open, mode);
                let problem = check(&file).unwrap_err().to_string();
                assert!(
                    problem.contains(&format!("chmod go-w {}", open.display())),
                    "{problem}"
                );
            }
            // As /tmp has it.
            chmod(&open, 0o1777);
            check(&file).unwrap();
            chmod(&open, 0o755);
        }
    }

    #[test]
    fn the_way_leads_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["open", "closed", "target"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("target/file"), "").unwrap();
        symlink("../target/file", at("open/link")).unwrap();
        symlink(at("target"), at("closed/link")).unwrap();
        chmod(&at("open"), 0o777);
        assert!(
            matches!(check(&at("open/link")), Err(Problem::Exposed(_))),
            "where the link lies"
        );
        check(&at("closed/link/file")).unwrap();
        chmod(&at("target"), 0o777);
        assert!(
            matches!(check(&at("closed/link/file")), Err(Problem::Exposed(_))),
            "where it leads"
        );
        assert!(matches!(
            check(&at("closed/../target/file")),
            Err(Problem::Exposed(_))
        ));
        symlink(at("round"), at("round")).unwrap();
        assert!(matches!(check(&at("round")), Err(Problem::Unreadable(..))));
    }
}
