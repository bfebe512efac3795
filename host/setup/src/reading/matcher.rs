//! How the client holds a matcher against a tool's name.

use regex_lite::Regex;

/// Whether a hook runs for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fires {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It cannot be told from here: the matcher is a regular expression of a kind that is read by JavaScript only, or a
    /// condition narrows it.
    Unknown,
}

/// Whether a matcher lets a name through: a tool's, or, for events of no tool, what set them off.
///
/// None, an empty one and `*` let everything through. One of letters, digits, `_`, `-`, spaces, commas and bars is a list
/// of whole names; anything else is a regular expression of JavaScript's, unanchored and case-sensitive, and one that is
/// wrong matches nothing.
pub fn matches(matcher: Option<&str>, name: &str) -> Fires {
    let matcher = match matcher {
        None | Some("" | "*") => return Fires::Yes,
        Some(matcher) => matcher,
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_- ,|".contains(letter);
    let found = if matcher.chars().all(is_plain) {
        matcher.split([',', '|']).any(|listed| listed.trim() == name)
    } else {
        match as_javascript_reads(matcher) {
            Some(expression) => expression.is_match(name),
            None => return Fires::Unknown,
        }
    };
    if found { Fires::Yes } else { Fires::No }
}

/// None where the two languages differ, or the expression is wrong in ours.
fn as_javascript_reads(matcher: &str) -> Option<Regex> {
    // Look-around and flags are not the same in both, and escaped letters are few in ours.
    let differs = matcher.match_indices("(?").any(|(position, _)| {
        let rest = &matcher[position + 2..];
        let is_lookbehind = rest.starts_with("<=") || rest.starts_with("<!");
        is_lookbehind || !rest.starts_with([':', '<'])
    });
    let has_other_escapes = matcher
        .match_indices('\\')
        .any(|(position, _)| matcher[position + 1..].starts_with(['A', 'z', 'a', 'x', 'u', 'U', '<', '>']));
    if differs || has_other_escapes {
        return None;
    }
    Regex::new(matcher).ok()
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
        for (matcher, seen) in [
            ("[", false),
            ("(", false),
            ("**", false),
            ("*startup", false),
            ("(?i)STARTUP", false),
            ("sta(?=rt)", true),
        ] {
            let told = matches(Some(matcher), "startup");
            assert_eq!(told, Fires::Unknown, "{matcher}, which the client found {seen}");
        }
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
