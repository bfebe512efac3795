//! The documents: links that lead somewhere, a book with every page in it, and plain words.
//!
//! These tests read the repository and build nothing of the host, so they take seconds.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod help;
mod links;
mod page;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without documents of ours: what is built or fetched, and what other programs wrote.
const PASSED_OVER: [&str; 6] = [".git", "target", "book", "node_modules", "fixtures", "corpus"];

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = here.ancestors();
    folders
        .find(|folder| folder.join("Cargo.lock").is_file())
        .unwrap()
        .to_owned()
}

/// All files below a folder whose names end so, relative to the repository, in order.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                if !PASSED_OVER.iter().any(|name| entry.file_name() == *name) {
                    walk(&path, extension, found);
                }
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    let repository = repository();
    let mut found = Vec::new();
    walk(&repository.join(folder), extension, &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| path.strip_prefix(&repository).unwrap().to_owned())
        .collect()
}

fn read(file: &Path) -> String {
    fs::read_to_string(repository().join(file)).unwrap()
}
