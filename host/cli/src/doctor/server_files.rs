//! Whether the files that name MCP servers can be read at all.

use std::path::Path;

use serde_json::Value;

use super::finding::Finding;
use super::servers;

/// What is wrong with each file that is there and names no servers because of it.
pub(super) fn judge(project: &Path) -> Vec<Finding> {
    let files = servers::files(project).into_iter();
    files
        .filter_map(|path| Some(finding(&path, &why(&path)?)))
        .collect()
}

fn finding(path: &Path, why: &str) -> Finding {
    let shown = path.display();
    Finding::caution(
        "servers.unreadable",
        format!("{shown} {why}"),
        "which servers the harness starts from it, and whether the hook runs for their tools, cannot be told",
    )
    .mended_by(format!("edit {shown}, or remove it"))
}

/// Why a file names no servers; none where it is not there, or does.
fn why(path: &Path) -> Option<String> {
    match servers::read(path) {
        Ok(None) => None,
        Ok(Some(Value::Object(file))) => match file.get("mcpServers") {
            None | Some(Value::Object(_)) => None,
            Some(_) => Some("has an mcpServers that is not an object".into()),
        },
        Ok(Some(_)) => Some("is not a JSON object".into()),
        Err(why) => Some(why),
    }
}
