//! Plugins that are enabled, and the hooks that they bring.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_common::read::{self, limit};
use serde_json::{Value, json};

use super::places::{Content, Level, Source};
use crate::json::{self, Limits};

/// The hooks of a plugin that lies in a folder: those of `hooks/hooks.json`, and what its manifest says beside them.
pub(super) fn hooks_of(folder: &Path, level: Level) -> Vec<Source> {
    let mut sources = vec![Source::read(level, folder.join("hooks/hooks.json"))];
    let manifest = folder.join(".claude-plugin/plugin.json");
    let said = json_of(&manifest).and_then(|mut manifest| Some(manifest.get_mut("hooks")?.take()));
    let said = match said {
        Some(Value::Array(all)) => all,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    for hooks in said {
        match hooks {
            Value::String(path) => sources.push(Source::read(level, folder.join(path))),
            Value::Object(hooks) => {
                let hooks = if hooks.contains_key("hooks") {
                    Value::Object(hooks)
                } else {
                    json!({ "hooks": hooks })
                };
                sources.push(Source {
                    level,
                    path: manifest.clone(),
                    content: Content::Bytes(hooks.to_string().into_bytes()),
                });
            }
            _ => {}
        }
    }
    let mut seen: Vec<PathBuf> = Vec::new();
    sources.retain(|source| {
        let path = fs::canonicalize(&source.path).unwrap_or_else(|_| source.path.clone());
        let is_new = !seen.contains(&path) && source.content != Content::Absent;
        seen.push(path);
        is_new
    });
    sources
}

/// The folder of an enabled plugin, by what the client wrote down when it installed it: `name@marketplace`.
pub(super) fn folder(directory: &Path, id: &str, project: &Path) -> Option<PathBuf> {
    let plugins = directory.join("plugins");
    let registered = json_of(&plugins.join("installed_plugins.json"))
        .and_then(|registry| in_registry(registry.get("plugins")?.get(id)?, project));
    registered
        .or_else(|| in_cache(&plugins.join("cache"), id))
        .filter(|folder| folder.is_dir())
}

/// One installation of the plugin, or a list of them: those for another project do not count.
fn in_registry(entry: &Value, project: &Path) -> Option<PathBuf> {
    let all = match entry {
        Value::Array(all) => all.iter().collect(),
        one => vec![one],
    };
    let is_here = |entry: &&Value| {
        let at = entry.get("projectPath").and_then(Value::as_str);
        at.is_none_or(|at| Path::new(at) == project)
    };
    // One for this project counts before the user's.
    let mut here: Vec<&Value> = all.into_iter().filter(is_here).collect();
    here.sort_by_key(|entry| entry.get("projectPath").is_none());
    here.iter()
        .find_map(|entry| Some(PathBuf::from(entry.get("installPath")?.as_str()?)))
}

/// `cache/MARKETPLACE/NAME/VERSION`, the newest by its time.
fn in_cache(cache: &Path, id: &str) -> Option<PathBuf> {
    let (name, marketplace) = id.split_once('@')?;
    let versions = fs::read_dir(cache.join(marketplace).join(name)).ok()?;
    let dated = versions.flatten().filter_map(|entry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
        Some((modified, entry.path()))
    });
    dated.max().map(|(_, path)| path)
}

/// Which plugins are on: the last file that says something of one decides. `true` beside it where managed settings switch
/// it on, which `allowManagedHooksOnly` leaves alone.
pub(super) fn enabled(settings: &[(Level, BTreeMap<String, bool>)]) -> Vec<(String, bool)> {
    let mut all: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for (level, plugins) in settings {
        for (id, is_on) in plugins {
            let is_managed = level.is_managed();
            all.insert(id.clone(), (*is_on, is_managed && *is_on));
        }
    }
    all.into_iter()
        .filter(|(_, (is_on, _))| *is_on)
        .map(|(id, (_, is_managed))| (id, is_managed))
        .collect()
}

fn json_of(path: &Path) -> Option<Value> {
    let bytes = read::read(path, limit::SETTINGS).ok()?;
    let parsed = json::parse(&json::decode(&bytes), Limits::FILE).ok()?;
    Some(parsed.value)
}
