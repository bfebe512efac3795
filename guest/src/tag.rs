//! The tag under which a checkpoint is found again: who, what and why.

/// The most characters of a tag; Zerto's own bound is not documented, and 100 is known to be taken.
const LONGEST: usize = 99;

/// The parts of a tag.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The agent, for example `claude-code`.
    pub agent: &'a str,
    /// The harness's id of the session; its first 8 characters are used.
    pub session_id: &'a str,
    /// The harness's id of the call; its last 8 characters are used.
    pub call_id: &'a str,
    /// The host's nonce; at most 32 characters of it are used, which is four times what the contract promises.
    pub nonce: &'a str,
    /// The server's key.
    pub server: &'a str,
    /// The tool's name.
    pub tool: &'a str,
    /// The first VM's name.
    pub vm: &'a str,
    /// How many further VMs there are.
    pub more: usize,
}

/// Makes the tag `<agent> <session>-<call> <nonce> <server>/<tool> on <vm>[ +N]`: printable ASCII, at most 99
/// characters. What is too long is cut from the server first, then from the tool and the VM; never from the nonce.
pub fn make(parts: &Parts<'_>) -> String {
    let session = plain(parts.session_id.chars().take(8));
    let skip = parts.call_id.chars().count().saturating_sub(8);
    let call = plain(parts.call_id.chars().skip(skip));
    let agent = plain(parts.agent.chars().take(16));
    let nonce = plain(parts.nonce.chars().take(32));
    let head = format!("{agent} {session}-{call} {nonce} ");
    let more = if parts.more == 0 {
        String::new()
    } else {
        format!(" +{}", parts.more)
    };

    let room = LONGEST.saturating_sub(head.len() + "/".len() + " on ".len() + more.len());
    let vm = plain(parts.vm.chars().take((room / 3).max(room.saturating_sub(30))));
    let tool = plain(parts.tool.chars().take(room.saturating_sub(vm.len()).min(28)));
    let server = plain(
        parts
            .server
            .chars()
            .take(room.saturating_sub(vm.len() + tool.len())),
    );
    format!("{head}{server}/{tool} on {vm}{more}")
}

/// Printable ASCII as it is, everything else as `_`.
fn plain(characters: impl Iterator<Item = char>) -> String {
    characters
        .map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '_' })
        .collect()
}
