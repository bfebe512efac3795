//! How the client holds a matcher against a tool's name.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use regress::Regex;

/// Whether a hook runs for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fires {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It cannot be told from here: versions of the client differ, the expression takes too long, or a condition narrows it.
    Unknown,
}

/// An expression that is not done by then is one that backtracks without end; the client would hang in it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a matcher lets a name through: a tool's, or, for events of no tool, what set them off.
///
/// Blanks at its ends do not count. None, an empty one and `*` let everything through. One of letters, digits, `_`, `-`, spaces, commas and bars is a list
/// of whole names; anything else is a regular expression of JavaScript's, unanchored and case-sensitive, and one that is
/// wrong matches nothing.
pub fn matches(matcher: Option<&str>, name: &str) -> Fires {
    let matcher = match matcher.map(str::trim) {
        None | Some("" | "*") => return Fires::Yes,
        Some(matcher) => matcher,
    };
    let found = if is_list(matcher) {
        matcher.split([',', '|']).any(|listed| listed.trim() == name)
    } else if is_read_differently(matcher) {
        return Fires::Unknown;
    } else {
        match Regex::new(matcher).map(|expression| is_found(expression, is_quick(matcher), name)) {
            Ok(Some(found)) => found,
            Ok(None) => return Fires::Unknown,
            Err(_) => false,
        }
    };
    if found { Fires::Yes } else { Fires::No }
}

/// Why a matcher is no regular expression of JavaScript's, where it has to be one.
///
/// # Errors
///
/// The parser's words. The client then runs calls without the hook.
pub fn check(matcher: &str) -> Result<(), String> {
    let matcher = matcher.trim();
    if matcher.is_empty() || matcher == "*" || is_list(matcher) || is_read_differently(matcher) {
        return Ok(());
    }
    Regex::new(matcher).map(drop).map_err(|error| error.text)
}

fn is_list(matcher: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_- ,|".contains(letter);
    matcher.chars().all(is_plain)
}

/// What the engine here takes and engines of JavaScript take in newer versions only, or read in another way: flags for a
/// part (`(?i:…)`), one name for two groups, `\u{…}`.
fn is_read_differently(matcher: &str) -> bool {
    let has_flags = matcher.match_indices("(?").any(|(position, _)| {
        let rest = &matcher[position + 2..];
        let flags = rest.trim_start_matches(['i', 'm', 's', '-']);
        flags.len() < rest.len() && flags.starts_with(':')
    });
    let mut groups = matcher
        .match_indices("(?<")
        .filter_map(|(position, _)| matcher[position + 3..].split_once('>'))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with(['=', '!']))
        .collect::<Vec<_>>();
    groups.sort_unstable();
    let has_twins = groups.windows(2).any(|pair| pair[0] == pair[1]);
    has_flags || has_twins || matcher.contains("\\u{")
}

/// Whether an expression cannot backtrack for long: nothing is repeated within what is repeated.
fn is_quick(matcher: &str) -> bool {
    let repeats = matcher.matches(['*', '+', '{', '?']).count();
    repeats <= 1 || (repeats <= 3 && !matcher.contains('('))
}

/// Whether an expression is found; none where that takes too long.
fn is_found(expression: Regex, is_quick: bool, name: &str) -> Option<bool> {
    if is_quick {
        return Some(expression.find(name).is_some());
    }
    let (sender, receiver) = mpsc::channel();
    let name = name.to_owned();
    // A thread cannot be ended; the process soon is.
    thread::spawn(move || sender.send(expression.find(&name).is_some()));
    receiver.recv_timeout(PATIENCE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the client did with the source of a session's start; where we cannot tell, that is no wrong answer.
    #[test]
    fn matchers_are_read_as_the_client_reads_them() {
        for matcher in [
            "*",
            "",
            "startup",
            "start.*",
            "startup|resume",
            "resume|startup",
            "resume, startup",
            "resume,startup",
            " startup ",
            "start.* ",
            "\tstar?\n",
            " * ",
            "startup |x",
            ".*",
            "star?",
            "start\\w+",
            "^startup$",
            "tartu.",
            "resume|.*tart",
            "(?<x>s)tartup",
            "startup,",
            "|startup",
            ".+",
        ] {
            assert_eq!(matches(Some(matcher), "startup"), Fires::Yes, "{matcher}");
        }
        for matcher in [
            "Startup",
            "start",
            "^start$",
            "x startup",
            "start|up",
            "startup-",
            "startup.",
        ] {
            assert_eq!(matches(Some(matcher), "startup"), Fires::No, "{matcher}");
        }
        for matcher in [
            "[",
            "(",
            "**",
            "*startup",
            "(?i)STARTUP",
            "start)",
            "a{2,1}",
            "start.*+",
            "(?P<x>s)",
        ] {
            assert_eq!(matches(Some(matcher), "startup"), Fires::No, "{matcher}");
            assert!(check(matcher).is_err(), "{matcher}");
        }
    }

    /// As `new RegExp(…).test("mcp__esxi__powerOff")` answers in Node 20, also where another language reads it otherwise.
    #[test]
    fn expressions_are_those_of_javascript() {
        for (matcher, fires) in [
            ("mcp__(?!esxi).*", Fires::No),
            ("mcp__(?=esxi).*", Fires::Yes),
            ("(?<=mcp__)esxi", Fires::Yes),
            ("[[:alpha:]]cp", Fires::No),
            ("[m&&x]cp", Fires::Yes),
            ("\\Amcp", Fires::No),
            ("\\u006dcp", Fires::Yes),
            ("\\x6dcp", Fires::Yes),
            ("(?<x>m)\\k<x>", Fires::No),
            ("(m)\\1", Fires::No),
            ("[]", Fires::No),
            ("[^]", Fires::Yes),
            ("mcp__{", Fires::No),
            ("mcp_{2}", Fires::Yes),
            ("mcp__\\S+", Fires::Yes),
            ("mcp_.*", Fires::Yes),
            ("^mcp$", Fires::No),
            ("/mcp__.*/", Fires::No),
            ("mcp__.*__(power|shutdown).*", Fires::Yes),
            ("(?i:MCP)", Fires::Unknown),
            ("(?<a>m)|(?<a>n)", Fires::Unknown),
            ("\\u{6d}cp", Fires::Unknown),
        ] {
            assert_eq!(matches(Some(matcher), "mcp__esxi__powerOff"), fires, "{matcher}");
            assert_eq!(check(matcher), Ok(()), "{matcher}");
        }
        assert!(check("mcp__(.*").is_err());
        let endless = matches(Some("(([a-z]+)+)+[0-9]"), &"a".repeat(64));
        assert_eq!(endless, Fires::Unknown);
    }

    #[test]
    fn a_server_alone_is_a_whole_name_and_matches_no_tool_of_it() {
        assert_eq!(matches(Some("mcp__esxi"), "mcp__esxi__powerOff"), Fires::No);
        assert_eq!(matches(Some("mcp__.*"), "mcp__esxi__powerOff"), Fires::Yes);
        assert_eq!(matches(Some("mcp__*"), "mcp__esxi__powerOff"), Fires::Yes);
        assert_eq!(matches(None, "mcp__esxi__powerOff"), Fires::Yes);
        assert_eq!(matches(Some("MCP__.*"), "mcp__esxi__powerOff"), Fires::No);
    }
}
