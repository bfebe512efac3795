//! The repository's own files, for tests that read sources and documents.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without anything of ours: what is built or fetched, and what other programs wrote.
const PASSED_OVER: [&str; 6] = [".git", "target", "book", "node_modules", "fixtures", "corpus"];

/// The repository's folder.
///
/// # Panics
///
/// Outside of the repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = here.ancestors();
    let found = folders.find(|folder| folder.join("Cargo.lock").is_file());
    found.expect("the repository").to_owned()
}

/// All files below a folder whose names end so, relative to the repository, in order.
///
/// # Panics
///
/// Where a folder cannot be read.
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let repository = repository();
    let mut found = Vec::new();
    walk(&repository.join(folder), extension, &mut found);
    found.sort();
    let relative = |path: &PathBuf| path.strip_prefix(&repository).expect("it is below").to_owned();
    found.iter().map(relative).collect()
}

fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of ours") {
        let entry = entry.expect("an entry");
        let path = entry.path();
        if entry.file_type().expect("a type").is_dir() {
            if !PASSED_OVER.iter().any(|name| entry.file_name() == *name) {
                walk(&path, extension, found);
            }
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}
