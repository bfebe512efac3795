//! Which tally: a session in a workspace, as a hash from which neither can be told.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::json::is_blank;

/// What the hash begins with; the original's, so that both mean the same scope.
const DOMAIN: &[u8] = b"pua-runtime-v1";
/// How many symbolic links are followed on the way to a workspace, as on Linux.
const MOST_LINKS: usize = 40;

/// A session in a workspace: 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope(String);

/// A call's id, as 64 hexadecimal digits of its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallId(String);

impl Scope {
    /// The scope of a session in the workspace `cwd`, or none where either is blank or the path cannot be one.
    pub fn new(session: &str, cwd: &str) -> Option<Self> {
        Self::of_bytes(session.as_bytes(), cwd)
    }

    pub(crate) fn of_bytes(session: &[u8], cwd: &str) -> Option<Self> {
        if is_blank(session) || is_blank(cwd.as_bytes()) || cwd.contains('\0') {
            return None;
        }
        let workspace = real_path(Path::new(cwd))?;
        let mut hash = Sha256::new();
        for part in [DOMAIN, b"\0", session, b"\0"] {
            hash.update(part);
        }
        hash.update(python_text(&workspace));
        Some(Self(hexadecimal(&hash.finalize())))
    }

    /// The scope that a state file's name says, without its ending.
    pub(crate) fn named(name: &str) -> Option<Self> {
        is_hash(name).then(|| Self(name.to_owned()))
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, which is how a scope is shown.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.short())
    }
}

impl CallId {
    /// The hash of a call's id, or none where that is blank.
    pub fn new(call: &str) -> Option<Self> {
        Self::of_bytes(call.as_bytes())
    }

    pub(crate) fn of_bytes(call: &[u8]) -> Option<Self> {
        (!is_blank(call)).then(|| Self(hexadecimal(&Sha256::digest(call))))
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// Whether a text is a SHA-256 as both this program and the original write it.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The path without symbolic links, by the original's rules: `..` is taken away from the text before any link is looked
/// at, and what does not exist is kept as it is written.
fn real_path(path: &Path) -> Option<PathBuf> {
    let absolute = if path.is_absolute() {
        path.to_owned()
    } else {
        std::env::current_dir().ok()?.join(path)
    };
    let mut written = PathBuf::new();
    for component in absolute.components() {
        step(&mut written, component);
    }
    Some(follow(&written))
}

/// Resolves every link of an absolute path.
fn follow(path: &Path) -> PathBuf {
    let owned = |component: Component<'_>| component.as_os_str().to_owned();
    let mut left: VecDeque<OsString> = path.components().map(owned).collect();
    let mut real = PathBuf::new();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let next = real.join(&name);
        match std::fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                for component in target.components().rev() {
                    left.push_front(owned(component));
                }
            }
            _ => {
                for component in Path::new(&name).components() {
                    step(&mut real, component);
                }
            }
        }
    }
    real
}

fn step(path: &mut PathBuf, component: Component<'_>) {
    match component {
        Component::ParentDir => {
            path.pop();
        }
        Component::CurDir => {}
        other => path.push(other),
    }
}

/// The bytes that the original hashes. Python keeps a path's bytes that are no UTF-8 as surrogates, and encodes those.
#[cfg(unix)]
fn python_text(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut text = Vec::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            // U+DC00 plus the byte, in three bytes.
            text.extend_from_slice(&[0xed, 0xb0 | (byte >> 6), 0x80 | (byte & 0x3f)]);
        }
    }
    text
}

#[cfg(not(unix))]
fn python_text(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_into_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("real/deep", root.join("link")).unwrap();
        symlink("../nowhere/x", root.join("real/dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, real) in [
            ("link", "real/deep"),
            ("link/", "real/deep"),
            ("link/new/./er", "real/deep/new/er"),
            ("link/../other", "other"),
            ("real/dangling/y", "nowhere/x/y"),
            ("loop/z", "loop/z"),
            ("../..", "../.."),
        ] {
            let expected = root
                .join(real)
                .components()
                .fold(PathBuf::new(), |mut path, component| {
                    step(&mut path, component);
                    path
                });
            assert_eq!(real_path(&root.join(path)).unwrap(), expected, "{path}");
        }
        assert_eq!(real_path(Path::new("//tmp//..//")).unwrap(), Path::new("/"));
    }

    #[test]
    fn bytes_that_are_no_text_are_hashed_as_python_does() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/\xffa\xc3"));
        // '/\udcffa\udcc3'.encode('utf-8', 'surrogatepass')
        assert_eq!(python_text(path), b"/\xed\xb3\xbfa\xed\xb3\x83");
    }

    #[test]
    fn identities_are_never_guessed() {
        assert!(Scope::new("s", "/").is_some());
        for (session, cwd) in [("", "/"), (" \t", "/"), ("s", ""), ("s", "  "), ("s", "/a\0b")] {
            assert!(Scope::new(session, cwd).is_none(), "{session:?} {cwd:?}");
        }
        assert!(CallId::new(" ").is_none());
    }
}
