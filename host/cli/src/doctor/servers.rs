//! The MCP servers whose calls have to be judged: those of the catalogs, and those that are configured here.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use holdpoint_setup::json::{self, Limits, Wrong};
use serde_json::Value;

use super::finding::Finding;

/// The keys of the servers that the shipped policy's catalogs know, one a line; made from `catalogs/`.
const IN_CATALOGS: &str = include_str!("servers.txt");

/// A server that the harness is configured to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    /// Its key.
    pub(super) name: String,
    /// The file that says so.
    pub(super) file: PathBuf,
}

/// The keys in the catalogs.
pub(super) fn in_catalogs() -> impl Iterator<Item = &'static str> {
    IN_CATALOGS.lines()
}

/// A server's key as it stands in a tool's name.
pub(super) fn normalise(key: &str) -> String {
    holdpoint_guest::name::normalise_key(key)
}

/// The files that name servers for a client that is started in the project: a `.mcp.json` in it and in every folder above.
pub(super) fn files(project: &Path) -> Vec<PathBuf> {
    let shared = project.ancestors().map(|folder| folder.join(".mcp.json"));
    let managed = holdpoint_setup::reading::managed_directory().join("managed-mcp.json");
    shared.chain([managed]).chain(user_file()).collect()
}

/// What is configured for a client that is started in the project. Servers of plugins and of an organisation's are not seen.
pub(super) fn configured(project: &Path) -> Vec<Server> {
    let mut found = Vec::new();
    for path in files(project) {
        let Ok(Some(file)) = read(&path) else { continue };
        add(&mut found, &path, file.get("mcpServers"));
        if Some(&path) == user_file().as_ref() {
            let key = local_scope(project).display().to_string();
            let local = file.get("projects").and_then(|projects| projects.get(&key));
            add(&mut found, &path, local.and_then(|local| local.get("mcpServers")));
        }
    }
    found
}

/// Reads such a file as the client does; none where it is not there.
///
/// # Errors
///
/// Why it cannot be read: words that follow the file's name.
pub(super) fn read(path: &Path) -> Result<Option<Value>, String> {
    let bytes = match holdpoint_common::read::read(path, holdpoint_common::read::limit::SETTINGS) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    let text = json::decode_utf8(&bytes);
    match json::parse(&text, Limits::FILE) {
        Ok(parsed) => Ok(Some(parsed.value)),
        Err(Wrong::Syntax(at)) => {
            let (line, column) = json::line_and_column(&text, at);
            Err(format!("is not JSON (line {line}, column {column})"))
        }
        Err(Wrong::TooMuch) => Err("holds too much".into()),
    }
}

/// The folder by which the client keeps servers that are one user's in one project: the root of the repository that the
/// project is in, for a worktree that of the main one; else the project itself.
fn local_scope(project: &Path) -> PathBuf {
    let Some(root) = project.ancestors().find(|folder| folder.join(".git").exists()) else {
        return project.to_owned();
    };
    let main = || {
        let text = holdpoint_common::read::read_text(&root.join(".git"), 4096).ok()?;
        let folder = root.join(text.strip_prefix("gitdir:")?.trim());
        let common = folder.parent().filter(|folder| folder.ends_with("worktrees"))?;
        let root = common.parent().filter(|git| git.ends_with(".git"))?.parent()?;
        fs::canonicalize(root).ok()
    };
    main().unwrap_or_else(|| root.to_owned())
}

fn add(found: &mut Vec<Server>, path: &Path, servers: Option<&Value>) {
    for name in servers
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|servers| servers.keys())
    {
        if found.iter().all(|server| server.name != *name) {
            found.push(Server {
                name: name.clone(),
                file: path.to_owned(),
            });
        }
    }
}

/// `.claude.json`, which lies in the home directory and not in the folder of the harness, unless that was moved. Where an old
/// client left a `.config.json` in that folder, it counts alone.
fn user_file() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let moved = set("CLAUDE_CONFIG_DIR");
    let folder = moved.clone().or_else(|| Some(set("HOME")?.join(".claude")))?;
    let old = folder.join(".config.json");
    if old.exists() {
        return Some(old);
    }
    Some(moved.or_else(|| set("HOME"))?.join(".claude.json"))
}

/// Which of the configured servers no catalog knows; `settings` are the policy's.
pub(super) fn judge(servers: &[Server], settings: &Value) -> Vec<Finding> {
    let own = |name: &str| {
        let catalogs = settings["catalogs"].as_array().into_iter().flatten();
        let mut aliases =
            catalogs.flat_map(|catalog| catalog["server"]["aliases"].as_array().into_iter().flatten());
        aliases.any(|alias| {
            alias
                .as_str()
                .is_some_and(|alias| normalise(alias) == normalise(name))
        }) || settings["servers"].as_object().is_some_and(|servers| {
            let mut alike = servers
                .iter()
                .filter(|(key, _)| normalise(key) == normalise(name));
            alike.any(|(_, server)| server["catalog"].is_string())
        })
    };
    let known = |name: &str| in_catalogs().any(|alias| alias == normalise(name)) || own(name);
    let unknown = servers.iter().filter(|server| !known(&server.name));
    let verdict = settings["unknown_tool"].as_str().unwrap_or("ask");
    unknown
        .map(|server| {
            Finding::notice(
                "servers.unknown",
                format!("no catalog knows the server {} of {}", server.name, server.file.display()),
                format!("every call of its tools comes to policy.unknown_tool: {verdict}"),
            )
            .mended_by(format!(
                "set policy.servers.{}.catalog where it is a known server under another name; else see docs/catalogs.md",
                server.name
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_list_of_servers_is_that_of_the_catalogs() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
        let mut aliases: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
            .map(|text| text.parse::<toml::Table>().unwrap())
            .filter(|catalog| catalog["server"].get("builtin").is_none())
            .flat_map(|catalog| catalog["server"]["aliases"].as_array().unwrap().clone())
            .map(|alias| normalise(alias.as_str().unwrap()))
            .collect();
        aliases.sort();
        aliases.dedup();
        let text: String = aliases.iter().map(|alias| format!("{alias}\n")).collect();
        if std::env::var_os("UPDATE").is_some() {
            fs::write(
                Path::new(env!("CARGO_MANIFEST_DIR")).join("src/doctor/servers.txt"),
                &text,
            )
            .unwrap();
        }
        assert_eq!(
            IN_CATALOGS, text,
            "UPDATE=1 cargo test --release --lib list_of_servers"
        );
    }

    #[test]
    fn a_server_is_known_by_a_catalog_or_by_the_operators_word() {
        let server = |name: &str| Server {
            name: name.into(),
            file: "/p/.mcp.json".into(),
        };
        let servers = ["esxi", "my server", "jumphost", "other"].map(server);
        let settings = json!({
            "servers": { "jumphost": { "catalog": "ssh-manager" } },
            "catalogs": [{ "server": { "aliases": ["my.server"] } }]
        });
        let found = judge(&servers, &settings);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].found.contains("other"), "{found:?}");
    }
}
