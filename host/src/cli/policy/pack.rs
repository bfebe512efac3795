//! `holdpoint policy pack`: other catalogs for the shipped policy, without building anything.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_artifact::{Digest, put_data, with_catalog};
use holdpoint_guest::catalog::{check, format::Catalog, pack, place};
use serde_json::json;

use super::author::replace;
use super::{Done, about, print, read};

/// The component that the host carries compiled.
const SHIPPED: &[u8] = include_bytes!(env!("HOLDPOINT_COMPONENT"));

/// Puts all catalogs of a folder into the policy, in the stead of those that it has.
pub(super) fn pack(base: &Path, folder: &Path, out: &Path) -> Done {
    let catalogs = catalogs(folder)?;
    let table = pack::table(&catalogs);
    let base_bytes = if base == Path::new("shipped") {
        SHIPPED.to_vec()
    } else {
        read(base)?
    };
    let packed = put_data(&base_bytes, &place::MARK, &table).map_err(|error| about(base, error))?;
    let mut tools = BTreeMap::new();
    for group in catalogs.iter().flat_map(|catalog| catalog.tools.iter()) {
        *tools
            .entry(format!("{:?}", group.class).to_lowercase())
            .or_insert(0) += group.names.len();
    }
    let servers: Vec<_> = catalogs
        .iter()
        .filter_map(|catalog| catalog.server.aliases.first())
        .collect();
    let summary = json!({ "servers": servers, "tools": tools, "table": Digest::of(&table) });
    let packed = with_catalog(&packed, summary.to_string().as_bytes()).map_err(|error| about(base, error))?;
    replace(out, &packed)?;
    let count: usize = tools.values().sum();
    print(&format!(
        "{}: {} servers, {count} tools, not signed yet; sign it with: holdpoint policy sign {}\n",
        out.display(),
        servers.len(),
        out.display()
    ))
}

/// The catalogs in a folder, each checked, in the order of their files' names.
fn catalogs(folder: &Path) -> Result<Vec<Catalog>, Box<dyn std::error::Error>> {
    let entries = fs::read_dir(folder).map_err(|error| about(folder, error))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| about(folder, error))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    if files.is_empty() {
        return Err(about(folder, "holds no catalog (*.toml)"));
    }
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).map_err(|error| about(file, error))?;
        let catalog = toml::from_str(&text).map_err(|error| about(file, error))?;
        check::prepare(catalog).map_err(|error| about(file, error))
    };
    files.iter().map(read).collect()
}
