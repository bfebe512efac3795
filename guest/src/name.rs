//! From a tool's name, as a harness spells it, to the servers and tools that it may mean.

pub use crate::catalog::check::normalise;
pub use crate::catalog::without_runs;
use crate::model::Call;
use crate::text::quoted;

/// The longest name that is read, in bytes. Harnesses leave out tools whose names have more than 128 characters; the
/// number of ways to split a name grows with its length.
const LONGEST: usize = 512;

/// Spells a server's key as a harness does. In a key of claude.ai's connectors, which begins with `claude.ai `, it makes one
/// `_` of several that follow each other, and leaves out those at either end.
pub fn normalise_key(key: &str) -> String {
    let spelt = normalise(key);
    match key.starts_with(CONNECTOR) {
        true => without_runs(&spelt),
        false => spelt,
    }
}

/// How the key of a claude.ai connector begins.
pub const CONNECTOR: &str = "claude.ai ";

/// What a call's name says.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// No MCP tool, but one of the harness itself.
    Builtin,
    /// An MCP tool, read in every way that its spelling allows.
    Mcp(Vec<Candidate>),
    /// A name that cannot be trusted to say which tool it is, and why.
    Unclear(String),
}

/// One way to read a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The server's possible keys, normalised: the whole one first, then without what a plugin or a connector put
    /// before it.
    pub servers: Vec<String>,
    /// The last of them, where it is the own name of a claude.ai connector: the harness leaves runs of `_` out of it, so a key
    /// that has some may be meant.
    pub connector: Option<String>,
    /// The tool's name, normalised.
    pub tool: String,
}

/// Reads the name of a call's tool.
///
/// `mcp__<server>__<tool>` is ambiguous where a part holds `__` itself, so every split is a candidate. Where the
/// harness names the server apart, only that one is, and the tool's name has to begin with it.
pub fn read(call: &Call) -> Named {
    if call.tool.len() > LONGEST {
        return Named::Unclear("the tool's name is too long to be read".into());
    }
    let prefixed = call.tool.strip_prefix("mcp__");
    let bare = call.tool.trim_matches(|c: char| !c.is_ascii_graphic());
    let looks_prefixed = bare
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("mcp__"));
    if looks_prefixed && (prefixed.is_none() || bare != call.tool) {
        return Named::Unclear(
            "its name looks like an MCP tool's, but is spelt as no harness spells them".into(),
        );
    }
    let Some(server) = &call.server else {
        return prefixed.map_or(Named::Builtin, |rest| Named::Mcp(splits(rest)));
    };
    let mut key = normalise_key(&server.name);
    let tool = match prefixed {
        Some(rest) => match after_key(rest, &mut key, &server.name) {
            Some(tool) => tool,
            None => {
                return Named::Unclear(format!(
                    "the tool's name does not belong to the server {}, which the harness named beside it",
                    quoted(&server.name)
                ));
            }
        },
        // Servers inside a harness's SDK can be set up to leave the prefix out.
        None => &call.tool,
    };
    let mut servers = vec![key];
    let plugin = server.name.strip_prefix("plugin:");
    servers.extend(
        plugin
            .and_then(|rest| rest.split_once(':'))
            .map(|(_, own)| normalise(own)),
    );
    let connector = server
        .name
        .strip_prefix(CONNECTOR)
        .and_then(|own| own_name(&normalise(own)));
    servers.extend(connector.clone());
    Named::Mcp(vec![Candidate {
        servers,
        connector,
        tool: normalise(tool),
    }])
}

/// A connector's own name without runs of `_`, where something is left of it.
fn own_name(spelt: &str) -> Option<String> {
    Some(without_runs(spelt)).filter(|own| !own.is_empty())
}

/// What follows a server's key in a tool's name. Of a connector's key there are two spellings.
fn after_key<'a>(rest: &'a str, key: &mut String, name: &str) -> Option<&'a str> {
    let after = |key: &str| rest.strip_prefix(key)?.strip_prefix("__");
    after(key).or_else(|| {
        *key = normalise(name);
        after(key)
    })
}

fn splits(rest: &str) -> Vec<Candidate> {
    let border = |at: usize| rest[at..].starts_with("__") && at > 0 && at + 2 < rest.len();
    let borders = rest.char_indices().map(|(at, _)| at).filter(|at| border(*at));
    borders
        .map(|at| {
            let connector = rest[..at].strip_prefix("claude_ai_").and_then(own_name);
            let mut servers = servers(&rest[..at]);
            servers.extend(connector.clone());
            Candidate {
                servers,
                connector,
                tool: normalise(&rest[at + 2..]),
            }
        })
        .collect()
}

/// The keys that a server's part of a name may stand for. In `plugin_<plugin>_<server>` any `_` may be the border.
fn servers(part: &str) -> Vec<String> {
    let mut servers = vec![normalise(part)];
    if let Some(rest) = part.strip_prefix("plugin_") {
        let borders = rest.match_indices('_').map(|(at, _)| at).filter(|at| *at > 0);
        servers.extend(
            borders
                .map(|at| normalise(&rest[at + 1..]))
                .filter(|own| !own.is_empty()),
        );
    }
    servers
}
