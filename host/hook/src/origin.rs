//! Where a call came from: the system's user, the machine, and what the harness says of session and agent.

use holdpoint_common::safe_text::clean_line;
use holdpoint_receipts::Environment;

use crate::event::Origin;

/// The longest name, in characters.
const LONGEST_NAME: usize = 200;
/// The longest path, in characters.
const LONGEST_PATH: usize = 1_000;
/// The largest file of users that is read, in bytes.
const MOST_READ: u64 = 1024 * 1024;

/// What is known of where a call came from, safe to show and cut.
pub fn of(origin: &Origin) -> Environment {
    let cut = |text: &Option<String>, longest| {
        let text = text.as_deref().map(|text| clean_line(text, longest));
        text.filter(|text| !text.is_empty())
    };
    Environment {
        user: cut(&user(), LONGEST_NAME),
        host_name: cut(&host_name(), LONGEST_NAME),
        cwd: cut(&origin.cwd, LONGEST_PATH),
        transcript: cut(&origin.transcript, LONGEST_PATH),
        agent_id: cut(&origin.agent_id, LONGEST_NAME),
        agent_type: cut(&origin.agent_type, LONGEST_NAME),
    }
}

/// The user by the system's own word: a project can set `USER`. Read from the file and not asked of the C library, which
/// loads other libraries for that, in every call. A user that only a directory service knows has a number.
#[cfg(unix)]
fn user() -> Option<String> {
    let id = rustix::process::getuid().as_raw();
    let users = holdpoint_common::read::read_text("/etc/passwd".as_ref(), MOST_READ).unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then_some(name)
    });
    Some(name.map_or_else(|| id.to_string(), |name| format!("{name} ({id})")))
}

#[cfg(not(unix))]
fn user() -> Option<String> {
    std::env::var("USERNAME").ok()
}

/// The machine's name.
#[cfg(unix)]
pub fn host_name() -> Option<String> {
    // The first is the kernel's own, and holds 64 bytes at most.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| holdpoint_common::read::read_text("/etc/hostname".as_ref(), MOST_READ))
        .ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The machine's name.
#[cfg(not(unix))]
pub fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_made_visible_and_cut() {
        let origin = Origin {
            cwd: Some(format!("/\u{1b}[31m\u{202e}{}", "x".repeat(1 << 20))),
            agent_type: Some(String::new()),
            ..Origin::default()
        };
        let environment = of(&origin);
        let cwd = environment.cwd.unwrap();
        assert!(
            cwd.starts_with("/\\u{1b}[31m\\u{202e}x") && cwd.len() < 1_010,
            "{}",
            cwd.len()
        );
        assert_eq!(environment.agent_type, None);
        assert!(environment.user.is_some());
    }
}
