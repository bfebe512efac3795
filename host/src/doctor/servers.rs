//! The MCP servers whose calls have to be judged: those of the catalogs, and those that are configured here.

use std::fs;
use std::path::{Path, PathBuf};

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

/// A name as it stands in a tool's name.
pub(super) fn normalise(name: &str) -> String {
    let keep = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars()
        .map(|letter| if keep(letter) { letter } else { '_' })
        .collect()
}

/// What is configured for a client that is started in the project. Servers of plugins and of an organisation's are not seen.
pub(super) fn configured(project: &Path) -> Vec<Server> {
    let mut found = Vec::new();
    let own = project.join(".mcp.json");
    add(&mut found, &own, |file| file.get("mcpServers"));
    let managed = holdpoint_setup::reading::managed_directory().join("managed-mcp.json");
    add(&mut found, &managed, |file| file.get("mcpServers"));
    if let Some(user) = user_file() {
        add(&mut found, &user, |file| file.get("mcpServers"));
        let key = project.display().to_string();
        add(&mut found, &user, |file| {
            file.get("projects")?.get(&key)?.get("mcpServers")
        });
    }
    found
}

fn add(found: &mut Vec<Server>, path: &Path, place: impl Fn(&Value) -> Option<&Value>) {
    let Some(file) = fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
    else {
        return;
    };
    for name in place(&file)
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

/// `.claude.json`, which lies in the home directory and not in the folder of the harness, unless that was moved.
fn user_file() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    Some(
        set("CLAUDE_CONFIG_DIR")
            .or_else(|| set("HOME"))?
            .join(".claude.json"),
    )
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
        }) || settings["servers"][name]["catalog"].is_string()
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
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalogs");
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
