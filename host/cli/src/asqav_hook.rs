//! The `asqav` package's own hooks in a harness's settings: Holdpoint's remote signer does their work.

use holdpoint_setup::Command;

/// One of the package's hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// `asqav hook pretool`: no call without a receipt that allows it.
    Pretool,
    /// `asqav hook posttool`: a receipt after each call, where one can be had.
    Posttool,
}

impl Own {
    /// Which of them a command starts.
    pub(crate) fn started_by(command: &Command) -> Option<Self> {
        let text = command.text();
        let words: Vec<&str> = text
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '\'']))
            .collect();
        words.windows(3).find_map(|words| match words {
            [program, "hook", "pretool"] if is_package(program) => Some(Self::Pretool),
            [program, "hook", "posttool"] if is_package(program) => Some(Self::Posttool),
            _ => None,
        })
    }

    /// As it stands on a command line.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Pretool => "asqav hook pretool",
            Self::Posttool => "asqav hook posttool",
        }
    }
}

/// Whether a word is the package's program, or its module after `python -m`.
fn is_package(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(name, "asqav" | "asqav.exe" | "asqav.cli")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_hooks_are_known_however_they_are_started() {
        let of = |line: &str| {
            Own::started_by(&Command {
                command: line.to_owned(),
                ..Command::default()
            })
        };
        for line in [
            "asqav hook pretool",
            "/opt/venv/bin/asqav hook pretool --clear-context",
            "\"/opt/my venv/bin/asqav\" hook pretool",
            "C:\\venv\\Scripts\\asqav.exe hook pretool",
            "ASQAV_AGENT_ID=a uvx --from 'asqav[cli]' asqav hook pretool",
            "python3 -m asqav hook pretool",
            "python3 -m asqav.cli hook pretool",
        ] {
            assert_eq!(of(line), Some(Own::Pretool), "{line}");
        }
        assert_eq!(of("asqav hook posttool"), Some(Own::Posttool));
        let parts = Command {
            command: "/opt/venv/bin/asqav".into(),
            args: Some(vec!["hook".into(), "posttool".into()]),
            ..Command::default()
        };
        assert_eq!(Own::started_by(&parts), Some(Own::Posttool));
        for line in [
            "asqav hook code-authorship",
            "asqav verify",
            "notasqav hook pretool",
            "holdpoint hook",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
