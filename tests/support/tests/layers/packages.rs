//! Which packages use which, by their manifests.

use std::fs;
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

/// The tables of a manifest whose packages end up in what is built from it, or build it.
const TABLES: [&str; 2] = ["dependencies", "build-dependencies"];

/// The dependencies of a package that lie in this folder of the repository, but for those of its tests.
pub(crate) fn used_from(part: &str, package: &Path, repository: &Path) -> Vec<String> {
    let workspace = manifest(repository);
    let shared = workspace["workspace"]
        .get("dependencies")
        .and_then(Value::as_table);
    let manifest = manifest(package);
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let mut used = Vec::new();
    for table in [&manifest].into_iter().chain(targets) {
        let dependencies = TABLES.iter().filter_map(|name| table.get(*name)?.as_table());
        for (name, dependency) in dependencies.flatten() {
            let is_shared = dependency
                .get("workspace")
                .is_some_and(|shared| shared.as_bool() == Some(true));
            let from = if is_shared {
                shared.and_then(|shared| Some((repository, shared.get(name)?)))
            } else {
                Some((package, dependency))
            };
            let (folder, dependency) =
                from.unwrap_or_else(|| panic!("the workspace has no dependency {name}"));
            let path = dependency.get("path").and_then(Value::as_str);
            if path.is_some_and(|path| plain(&folder.join(path)).starts_with(repository.join(part))) {
                used.push(name.clone());
            }
        }
    }
    used
}

fn manifest(package: &Path) -> Table {
    let file = package.join("Cargo.toml");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A path without `.` and `..`, whether or not it is there.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            _ => plain.push(component),
        }
    }
    plain
}
