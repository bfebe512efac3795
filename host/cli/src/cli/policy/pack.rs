//! `holdpoint policy pack`: other catalogs for the shipped policy, without building anything.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_artifact::{Digest, put_data, with_catalog};
use holdpoint_common::read::{self, limit};
use holdpoint_guest::catalog::{check, format::Catalog, pack, place};
use serde_json::json;

use super::author::replace;
use super::{Done, about, print, read_named};

/// The component that the host carries compiled.
pub(super) const SHIPPED: &[u8] = holdpoint_runtime::policy::SHIPPED_COMPONENT;

/// Puts all catalogs of a folder into the policy, in the stead of those that it has.
pub(super) fn pack(base: &Path, folder: &Path, out: &Path) -> Done {
    let base_bytes = read_named(base)?;
    let (files, catalogs): (Vec<_>, Vec<_>) = catalogs(folder)?.into_iter().unzip();
    let table = pack::table(&catalogs);
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
    let out = out.display();
    let mut told = format!(
        "{out}: {} servers, {count} tools, not signed yet\n",
        servers.len()
    );
    for note in twice(&files, &catalogs) {
        told.push_str(&format!("note: {note}\n"));
    }
    told.push_str(&format!(
        "test it: holdpoint test {out} cases\n\
         sign it: holdpoint policy sign {out} --key KEY.pem --name NAME --version 1.0.0 --out NAME-1.0.0.wasm\n"
    ));
    print(&told)
}

/// Which tools two files know under the same alias: no mistake by itself, since a server can have two names and a name
/// two servers, and worth knowing, since not the file that was written last counts.
fn twice(files: &[PathBuf], catalogs: &[Catalog]) -> Vec<String> {
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut pairs: BTreeMap<(usize, usize), (String, usize)> = BTreeMap::new();
    for (index, catalog) in catalogs.iter().enumerate() {
        for alias in catalog.server.aliases.iter() {
            for tool in catalog.tools.iter().flat_map(|group| group.names.iter()) {
                let first = *known.entry((alias.as_ref(), tool.as_ref())).or_insert(index);
                if first != index {
                    let named = || (format!("{alias}/{tool}"), 0);
                    pairs.entry((first, index)).or_insert_with(named).1 += 1;
                }
            }
        }
    }
    let name = |index: usize| files[index].file_name().unwrap_or_default().display();
    let told = pairs.iter().map(|((first, second), (tool, count))| {
        let more = match count - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{tool}{more}: in {} and in {}; the stricter entry counts",
            name(*first),
            name(*second)
        )
    });
    told.collect()
}

/// The catalogs in a folder, each checked, in the order of their files' names.
fn catalogs(folder: &Path) -> Result<Vec<(PathBuf, Catalog)>, Box<dyn std::error::Error>> {
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
        let text = read::read_text(file, limit::CATALOG).map_err(|error| about(file, error))?;
        let catalog = toml::from_str(&text).map_err(|error| about(file, error))?;
        let catalog = check::prepare(catalog).map_err(|error| about(file, error))?;
        Ok((file.clone(), catalog))
    };
    files.iter().map(read).collect()
}
