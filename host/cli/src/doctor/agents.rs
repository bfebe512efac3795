//! Other agents on this machine. They run calls of MCP servers too, and Holdpoint stands before Claude Code's only.

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_common::read;

use super::finding::Finding;
use super::servers;

/// An agent, its program, and the files below the home directory in which MCP servers are configured, with the key there.
struct Agent {
    name: &'static str,
    programs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// What it does with a hook of Holdpoint's.
    hooks: &'static str,
}

const AGENTS: [Agent; 10] = [
    Agent {
        name: "Codex",
        programs: &["codex"],
        files: &[(".codex/config.toml", "mcp_servers")],
        hooks: "without a hook, or with one that is not trusted there, it runs calls silently",
    },
    Agent {
        name: "Cursor",
        programs: &["cursor", "cursor-agent"],
        files: &[(".cursor/mcp.json", "mcpServers")],
        hooks: "where it imports Claude Code's hooks, Holdpoint blocks its calls; else they run unjudged",
    },
    Agent {
        name: "Gemini CLI",
        programs: &["gemini"],
        files: &[(".gemini/settings.json", "mcpServers")],
        hooks: "it starts no hook of Claude Code's",
    },
    Agent {
        name: "Copilot CLI",
        programs: &["copilot"],
        files: &[(".copilot/mcp-config.json", "mcpServers")],
        hooks: "where it reads a project's Claude Code settings, Holdpoint blocks its calls; else they run unjudged",
    },
    Agent {
        name: "Qwen Code",
        programs: &["qwen"],
        files: &[(".qwen/settings.json", "mcpServers")],
        hooks: "it starts no hook of Claude Code's",
    },
    Agent {
        name: "OpenCode",
        programs: &["opencode"],
        files: &[
            (".config/opencode/opencode.json", "mcp"),
            (".config/opencode/opencode.jsonc", "mcp"),
        ],
        hooks: "it starts no hooks, only plugins",
    },
    Agent {
        name: "Cline",
        programs: &["cline"],
        files: &[(".cline/data/settings/cline_mcp_settings.json", "mcpServers")],
        hooks: "it starts no hook of Claude Code's",
    },
    Agent {
        name: "Continue",
        programs: &["cn"],
        files: &[(".continue/config.yaml", "mcpServers")],
        hooks: "it starts no hooks",
    },
    Agent {
        name: "Windsurf",
        programs: &["windsurf"],
        files: &[(".codeium/windsurf/mcp_config.json", "mcpServers")],
        hooks: "it starts no hook of Claude Code's",
    },
    Agent {
        name: "Claude Desktop",
        programs: &["claude-desktop"],
        files: &[
            (".config/Claude/claude_desktop_config.json", "mcpServers"),
            (
                "Library/Application Support/Claude/claude_desktop_config.json",
                "mcpServers",
            ),
        ],
        hooks: "it starts no hooks",
    },
];
/// As much of a configuration as is read.
const LONGEST: u64 = 4 * 1024 * 1024;

/// An agent that is here.
pub(super) struct Found {
    agent: &'static Agent,
    /// Its program, or the file that shows that it is used.
    by: PathBuf,
    /// The file in which MCP servers are configured for it, and those of them that a catalog knows.
    servers: Option<(PathBuf, Vec<String>)>,
}

/// Looks for them on the PATH and in the home directory. Nothing is started.
pub(super) fn gather() -> Vec<Found> {
    let home = env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .collect();
    AGENTS
        .iter()
        .filter_map(|agent| find(agent, &home, &folders))
        .collect()
}

fn find(agent: &'static Agent, home: &Path, folders: &[PathBuf]) -> Option<Found> {
    let program = agent.programs.iter().find_map(|program| {
        let at = folders
            .iter()
            .map(|folder| folder.join(format!("{program}{}", env::consts::EXE_SUFFIX)));
        at.into_iter().find(|path| path.is_file())
    });
    let servers = agent.files.iter().find_map(|(file, key)| {
        let path = home.join(file);
        let names = servers_in(&path, key)?;
        Some((path, names))
    });
    let by = program.or_else(|| Some(servers.as_ref()?.0.clone()))?;
    Some(Found { agent, by, servers })
}

/// The servers under the key that a catalog knows; none where there is no server at all. Of a file that is neither JSON
/// nor TOML, only whether it has the key is read.
fn servers_in(path: &Path, key: &str) -> Option<Vec<String>> {
    let bytes = read::read(path, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let names: Vec<String> = if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
        value[key].as_object()?.keys().cloned().collect()
    } else if let Ok(table) = text.parse::<toml::Table>() {
        table.get(key)?.as_table()?.keys().cloned().collect()
    } else {
        let has_key = text
            .lines()
            .any(|line| !line.trim_start().starts_with(['#', '/']) && line.contains(key));
        return has_key.then(Vec::new);
    };
    let is_known = |name: &String| servers::in_catalogs().any(|alias| alias == servers::normalise(name));
    (!names.is_empty()).then(|| names.into_iter().filter(is_known).collect())
}

/// Judges what was found.
pub(super) fn judge(found: &[Found]) -> Vec<Finding> {
    let judge = |found: &Found| {
        let Found { agent, by, servers } = found;
        let name = agent.name;
        match servers {
            Some((file, known)) if !known.is_empty() => Finding::caution(
                "agents",
                format!(
                    "{name} has MCP servers that change machines, and is not guarded: {} in {}",
                    known.join(", "),
                    file.display()
                ),
                format!("Holdpoint judges Claude Code's calls only; {}", agent.hooks),
            )
            .mended_by(format!("take these servers out of {}", file.display())),
            _ => Finding::notice(
                "agents",
                format!("{name} is on this machine ({}), and is not guarded", by.display()),
                format!("Holdpoint judges Claude Code's calls only; {}", agent.hooks),
            )
            .mended_by(format!("give {name} no MCP server that changes machines")),
        }
    };
    found.iter().map(judge).collect()
}
