//! Calls of other harnesses to servers, which are not judged yet and must not pass for tools of the harness itself.
//!
//! They spell a server's tool `mcp_esxi_powerOff`, `esxi-powerOff`, `esxi__powerOff` or `esxi/powerOff`.

use crate::catalog::{Source, all_shipped};
use crate::model::Call;
use crate::name::{Named, normalise};
use crate::settings::Settings;

/// The harness whose calls are judged.
const SERVED: &str = "claude-code";

/// What separates a server from its tool in other harnesses' spellings, and no words of one name.
const BORDERS: [char; 4] = ['-', '/', ':', '.'];

/// The server that a call of another harness seems to go to; none where it is one of the harness that is served, or one of
/// an editor's own tools.
pub fn server(call: &Call, named: &Named, settings: &Settings) -> Option<String> {
    let is_foreign = call.harness != SERVED;
    match named {
        Named::Builtin => in_name(&call.tool, is_foreign, settings),
        _ if !is_foreign => None,
        _ => Some(call.server.as_ref().map_or_else(
            || first_part(call.tool.trim_start_matches("mcp__")).to_owned(),
            |server| server.name.clone(),
        )),
    }
}

fn in_name(tool: &str, is_foreign: bool, settings: &Settings) -> Option<String> {
    // The harness's own tools are named in one word each, and cost nothing more.
    if tool.bytes().all(|byte| byte.is_ascii_alphanumeric()) || is_listed(tool, settings) {
        return None;
    }
    let word = canonical(tool);
    if let Some(rest) = word.strip_prefix("mcp_") {
        return Some(key_in(rest, true, settings).unwrap_or_else(|| first_part(&tool[4..]).to_owned()));
    }
    if let Some(key) = key_in(&word, is_foreign, settings) {
        return Some(key);
    }
    // No editor's own tool that is known has one of these in its name.
    let is_split = is_foreign && (tool.contains("__") || tool.contains(BORDERS));
    let tail = tails(tool).find(|(_, tail)| is_servers_tool(tail, settings));
    match tail {
        Some((server, _)) => Some(server.to_owned()),
        None => is_split.then(|| first_part(tool).to_owned()),
    }
}

/// The key of a server that stands at the beginning of a name, or between borders anywhere in it.
fn key_in(word: &str, anywhere: bool, settings: &Settings) -> Option<String> {
    let keys = catalogs(settings)
        .filter(|catalog| !catalog.builtin())
        .flat_map(Source::aliases)
        .chain(settings.servers.keys().cloned());
    let mut keys = keys.map(|key| canonical(&key)).filter(|key| !key.is_empty());
    keys.find(|key| {
        let begins = |word: &str| {
            word.strip_prefix(key.as_str())
                .is_some_and(|rest| rest.starts_with('_'))
        };
        begins(word) || anywhere && word.match_indices('_').any(|(at, _)| begins(&word[at + 1..]))
    })
}

/// Whether an operator says that a tool with this name is one of the harness.
fn is_listed(tool: &str, settings: &Settings) -> bool {
    let tool = normalise(tool);
    catalogs(settings).any(|catalog| catalog.builtin() && catalog.entry(&tool).is_some())
}

/// Whether a catalog lists a tool of this name.
fn is_servers_tool(tool: &str, settings: &Settings) -> bool {
    let tool = normalise(tool);
    catalogs(settings).any(|catalog| !catalog.builtin() && catalog.entry(&tool).is_some())
}

fn catalogs<'a>(settings: &'a Settings) -> impl Iterator<Item = Source<'a>> {
    // Not an identity: the shipped ones live longer than the settings.
    #[expect(
        clippy::map_identity,
        reason = "it shortens the lifetime of the shipped catalogs"
    )]
    let shipped = all_shipped().map(|catalog| -> Source<'a> { catalog });
    shipped.chain(settings.catalogs.iter().map(Source::Operator))
}

/// Each way to take a name apart into a server and a tool.
fn tails(tool: &str) -> impl Iterator<Item = (&str, &str)> {
    let single = tool
        .match_indices(BORDERS)
        .map(|(at, border)| (&tool[..at], &tool[at + border.len()..]));
    let double = tool
        .match_indices("__")
        .map(|(at, border)| (&tool[..at], &tool[at + border.len()..]));
    single
        .chain(double)
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

fn first_part(name: &str) -> &str {
    let name = name.trim_start_matches(['_', '-', '/', ':', '.']);
    let end = name
        .find("__")
        .or_else(|| name.find(BORDERS))
        .unwrap_or(name.len());
    &name[..end]
}

/// A name in which neither case nor what stands between words tells anything apart.
fn canonical(name: &str) -> String {
    name.chars()
        .map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
            _ => '_',
        })
        .collect()
}
