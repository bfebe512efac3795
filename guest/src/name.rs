//! From a tool's name, as a harness spells it, to the servers and tools that it may mean.

pub use crate::catalog::check::normalise;
use crate::model::Call;
use crate::text::quoted;

/// The longest name that is read, in bytes. Harnesses leave out tools whose names have more than 128 characters; the
/// number of ways to split a name grows with its length.
const LONGEST: usize = 512;

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
    let key = normalise(&server.name);
    let tool = match prefixed {
        Some(rest) => match rest.strip_prefix(&key).and_then(|rest| rest.strip_prefix("__")) {
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
    match server
        .name
        .strip_prefix("plugin:")
        .and_then(|rest| rest.split_once(':'))
    {
        Some((_, own)) => servers.push(normalise(own)),
        None => servers.extend(server.name.strip_prefix("claude.ai ").map(normalise)),
    }
    Named::Mcp(vec![Candidate {
        servers,
        tool: normalise(tool),
    }])
}

fn splits(rest: &str) -> Vec<Candidate> {
    let border = |at: usize| rest[at..].starts_with("__") && at > 0 && at + 2 < rest.len();
    let borders = rest.char_indices().map(|(at, _)| at).filter(|at| border(*at));
    borders
        .map(|at| Candidate {
            servers: servers(&rest[..at]),
            tool: normalise(&rest[at + 2..]),
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
    servers.extend(
        part.strip_prefix("claude_ai_")
            .filter(|own| !own.is_empty())
            .map(normalise),
    );
    servers
}
