//! Where a call came from: the system's user, the machine, and what the harness says of session and agent.

use std::fs::File;
use std::io::Read as _;

use holdpoint_receipts::Environment;

use crate::event::Origin;
use crate::text::clean_line;

/// The longest name, in characters.
const LONGEST_NAME: usize = 200;
/// The longest path, in characters.
const LONGEST_PATH: usize = 1_000;
/// The most bytes that are read of a file of the system's.
const MOST_READ: u64 = 1024 * 1024;

/// What is known of where a call came from, safe to show and cut.
pub(crate) fn of(origin: &Origin) -> Environment {
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

/// The user by the system's own word: a project can set `USER`. A user that only a directory service knows has a number.
#[cfg(unix)]
fn user() -> Option<String> {
    let id = rustix::process::getuid().as_raw();
    let users = read("/etc/passwd").unwrap_or_default();
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
pub(crate) fn host_name() -> Option<String> {
    let names = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let name = names.into_iter().find_map(read);
    let name = name.or_else(|| std::env::var("COMPUTERNAME").ok())?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MOST_READ).read_to_string(&mut text).ok()?;
    Some(text)
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
