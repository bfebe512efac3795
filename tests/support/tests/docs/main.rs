//! The documents: links that lead somewhere, a book with every page in it, and plain words.
//!
//! These tests read the repository and build nothing of the host, so they take seconds.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod help;
mod links;
mod page;
mod words;

use std::fs;
use std::path::Path;

use test_support::{files, repository};

fn read(file: &Path) -> String {
    fs::read_to_string(repository().join(file)).unwrap()
}
