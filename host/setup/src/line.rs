//! A command line as a harness starts it: where our program stands in it, and what is put around it.
//!
//! People put other programs in front of a hook (`env`, `nice`, `sudo`, `timeout`) and shell operators behind it. Such an
//! entry is still ours: whether it guards is judged by running it, and what stands around our program is read here. Only
//! what is needed for that is read of a shell's language; a construct that is not known is passed over.

use crate::words::commands;

/// Programs and words of a shell that start the program that is named after them.
const STARTERS: [&str; 47] = [
    "!",
    "ash",
    "bash",
    "builtin",
    "busybox",
    "chroot",
    "chrt",
    "cmd",
    "command",
    "dash",
    "do",
    "doas",
    "else",
    "env",
    "eval",
    "exec",
    "firejail",
    "fish",
    "flock",
    "if",
    "ionice",
    "ksh",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "pkexec",
    "powershell",
    "pwsh",
    "run0",
    "runuser",
    "script",
    "setsid",
    "sh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "then",
    "time",
    "timeout",
    "unshare",
    "wsl",
    "zsh",
    "{",
];
/// What PowerShell's names of environment variables begin with.
const POWERSHELL_VARIABLE: &str = "$env:";
/// Programs that are told our program's name, as the last of their words, to speak of it and not to start it.
const ASKERS: [&str; 18] = [
    "cat",
    "echo",
    "file",
    "grep",
    "journalctl",
    "killall",
    "logger",
    "ls",
    "pgrep",
    "pidof",
    "pkill",
    "printf",
    "service",
    "stat",
    "systemctl",
    "tail",
    "type",
    "which",
];
/// How deep a line may stand in another: `sh -c "sh -c '…'"`.
const DEEPEST: usize = 4;

/// Our program in a command line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Start {
    /// The word that names it, without quotes; variables in it are not replaced.
    pub program: String,
    /// The words after it, up to the end of the command.
    pub args: Vec<String>,
    /// The variables that are set for it in the line.
    pub environment: Vec<(String, String)>,
    /// After this many seconds a `timeout` in front of it ends it.
    pub limit: Option<f64>,
    /// Whether anything else stands in the line.
    pub is_wrapped: bool,
}

/// Our program, started as a hook by this line of a shell's.
pub(crate) fn in_line(line: &str) -> Option<Start> {
    within(line, 0)
}

/// Our program, started as a hook by these words.
pub(crate) fn in_words(words: &[String]) -> Option<Start> {
    in_command(words, 0)
}

fn within(line: &str, depth: usize) -> Option<Start> {
    let (commands, is_redirected) = commands(line);
    let (position, mut found) = commands
        .iter()
        .enumerate()
        .find_map(|(position, words)| Some((position, in_command(words, depth)?)))?;
    let exported = commands[..position].iter().flat_map(|words| exported(words));
    found.environment = exported.chain(found.environment).collect();
    found.is_wrapped |= is_redirected || commands.len() > 1 || ends_in_background(line);
    Some(found)
}

/// The variables that a command sets for those after it: `export A=b`, `set A=b` of `cmd`, `$env:A = 'b'` of PowerShell.
fn exported(words: &[String]) -> Vec<(String, String)> {
    let sets = |word: &String| ["export", "set"].contains(&word.to_ascii_lowercase().as_str());
    // `cmd /c set` stands in front of it in one line.
    if let Some(position) = words.iter().position(sets) {
        return words[position + 1..]
            .iter()
            .filter_map(|word| assignment(word))
            .collect();
    }
    let line = words.concat();
    let is_powershells = line
        .get(..POWERSHELL_VARIABLE.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(POWERSHELL_VARIABLE));
    let set = is_powershells.then(|| assignment(&line[POWERSHELL_VARIABLE.len()..]));
    set.flatten().into_iter().collect()
}

fn ends_in_background(line: &str) -> bool {
    line.trim_end().ends_with('&')
}

fn in_command(words: &[String], depth: usize) -> Option<Start> {
    let first = words.iter().position(|word| assignment(word).is_none())?;
    let starter = starter(&words[first]);
    let is_asked_about = |position: usize| {
        words[first..position]
            .iter()
            .any(|word| ASKERS.contains(&name(word)))
    };
    let is_started = |position: usize| {
        position == first || (STARTERS.contains(&starter.as_str()) && !is_asked_about(position))
    };
    let is_powershell = ["powershell", "pwsh"].contains(&starter.as_str());
    for (position, word) in words.iter().enumerate().skip(first) {
        let is_script = is_powershell && is_named_as_file(words, position) && is_our_script(word);
        let next = words.get(position + 1);
        // A line for a shell may end in a path that ends in our name: `sh -c 'cat /var/log/holdpoint'`.
        let is_line =
            position > first && word.contains(char::is_whitespace) && next.is_none_or(|next| next != "hook");
        let is_program =
            is_script || (!is_line && is_our_program(word)) || substituted(word).is_some_and(is_our_program);
        let is_hook = match next {
            None => is_started(position),
            Some(next) => next == "hook" || (next.starts_with('-') && is_started(position)),
        };
        if is_program && is_hook {
            return Some(Start {
                program: substituted(word).unwrap_or(word).to_owned(),
                args: words[position + 1..].to_vec(),
                environment: words[..position]
                    .iter()
                    .filter_map(|word| assignment(word))
                    .collect(),
                limit: limit(&words[..position]),
                is_wrapped: position > 0,
            });
        }
        let holds_a_line =
            position > first && is_started(position) && word.contains("holdpoint") && !is_program;
        if holds_a_line
            && depth < DEEPEST
            && let Some(mut found) = within(word, depth + 1)
        {
            found
                .environment
                .extend(words[..position].iter().filter_map(|word| assignment(word)));
            found.limit = found.limit.or_else(|| limit(&words[..position]));
            found.is_wrapped = true;
            return Some(found);
        }
    }
    None
}

/// The name of a program in front of ours, as [`STARTERS`] has it: Windows looks at no case, and adds the ending itself.
fn starter(word: &str) -> String {
    let name = name(word).to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

/// Whether a word is what PowerShell's `-File` names. It takes the first letters of an option for the option.
fn is_named_as_file(words: &[String], position: usize) -> bool {
    let before = position
        .checked_sub(1)
        .map(|before| words[before].to_ascii_lowercase());
    before.is_some_and(|option| option.len() > 1 && "-file".starts_with(&option))
}

/// Whether a path is that of a script for PowerShell with our program's name, which somebody wrote to start it.
fn is_our_script(path: &str) -> bool {
    let name = name(path).to_ascii_lowercase();
    name.strip_suffix(".ps1")
        .is_some_and(|stem| stem == "holdpoint" || stem.starts_with("holdpoint-"))
}

/// What a command substitution would print, where it looks our program up: `$(command -v holdpoint)`.
fn substituted(word: &str) -> Option<&str> {
    let inner = word.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or_else(|| word.strip_prefix('`')?.strip_suffix('`'))?;
    inner.split_whitespace().last()
}

/// Whether a path ends in the name of our program.
pub fn is_our_program(path: &str) -> bool {
    let name = name(path);
    let is_program_of_windows = name.len() > 4 && name.is_char_boundary(name.len() - 4) && {
        let (stem, extension) = name.split_at(name.len() - 4);
        stem == "holdpoint" && extension.eq_ignore_ascii_case(".exe")
    };
    name == "holdpoint" || is_program_of_windows
}

/// The last part of a path. Both separators count: a settings file may be of another system than this one.
fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `NAME=VALUE`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = |(position, letter): (usize, char)| {
        letter == '_' || letter.is_ascii_alphabetic() || (position > 0 && letter.is_ascii_digit())
    };
    let named = !name.is_empty() && name.chars().enumerate().all(is_name);
    named.then(|| (name.to_owned(), value.to_owned()))
}

/// How long a `timeout` among these words gives what follows them, in seconds.
fn limit(words: &[String]) -> Option<f64> {
    let at = words.iter().position(|word| name(word) == "timeout")?;
    let mut rest = words[at + 1..].iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-k" | "--kill-after" | "-s" | "--signal" => drop(rest.next()),
            option if option.starts_with('-') => {}
            duration => return seconds(duration),
        }
    }
    None
}

/// A duration as `timeout` takes it; 0 is none.
fn seconds(duration: &str) -> Option<f64> {
    let (number, unit) = match duration.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &duration[number.len()..]),
        None => (duration, "s"),
    };
    let factor = match unit {
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => 1.0,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    (seconds > 0.0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_program_is_found_whatever_stands_around_it() {
        for (line, program, wrapped) in [
            ("/opt/holdpoint hook", "/opt/holdpoint", false),
            ("holdpoint", "holdpoint", false),
            (
                "'/opt/my tools/holdpoint' hook --config '/a b'",
                "/opt/my tools/holdpoint",
                false,
            ),
            (r"C:\tools\holdpoint.EXE hook", r"C:\tools\holdpoint.EXE", false),
            (
                "$HOME/.cargo/bin/holdpoint hook",
                "$HOME/.cargo/bin/holdpoint",
                false,
            ),
            ("HOLDPOINT_CONFIG=/x /opt/holdpoint hook", "/opt/holdpoint", true),
            ("env A=b /opt/holdpoint hook", "/opt/holdpoint", true),
            ("nice -n 5 /opt/holdpoint", "/opt/holdpoint", true),
            ("sudo -u guard /opt/holdpoint hook", "/opt/holdpoint", true),
            ("timeout -k 1 5 /opt/holdpoint hook", "/opt/holdpoint", true),
            ("/usr/local/bin/trace /opt/holdpoint hook", "/opt/holdpoint", true),
            ("sh -c '/opt/holdpoint hook || true'", "/opt/holdpoint", true),
            (
                r#"bash -lc "sh -c '/opt/holdpoint hook'""#,
                "/opt/holdpoint",
                true,
            ),
            ("cd /tmp && exec /opt/holdpoint hook", "/opt/holdpoint", true),
            ("/opt/holdpoint hook || true", "/opt/holdpoint", true),
            ("/opt/holdpoint hook; exit 0", "/opt/holdpoint", true),
            ("/opt/holdpoint hook | cat", "/opt/holdpoint", true),
            ("/opt/holdpoint hook &", "/opt/holdpoint", true),
            ("/opt/holdpoint hook >/dev/null 2>&1", "/opt/holdpoint", true),
            ("/opt/holdpoint hook 2> /tmp/log", "/opt/holdpoint", true),
            ("if true; then /opt/holdpoint hook; fi", "/opt/holdpoint", true),
            ("{ /opt/holdpoint hook; }", "/opt/holdpoint", true),
            ("(/opt/holdpoint hook)", "/opt/holdpoint", false),
            ("$(command -v holdpoint) hook", "holdpoint", false),
            ("cat | /opt/holdpoint", "/opt/holdpoint", true),
            ("sudo holdpoint hook", "holdpoint", true),
            ("sudo -n /opt/holdpoint hook", "/opt/holdpoint", true),
            ("sudo -n -- /opt/holdpoint", "/opt/holdpoint", true),
            ("sudo --user=guard sh -c 'holdpoint hook'", "holdpoint", true),
            (r#"pwsh -c "holdpoint hook""#, "holdpoint", true),
            ("pwsh -c holdpoint hook", "holdpoint", true),
            (
                "sudo '/opt/my tools/holdpoint' hook",
                "/opt/my tools/holdpoint",
                true,
            ),
            (
                r#"powershell.exe -NoProfile -Command "& 'C:\Program Files\holdpoint\holdpoint.exe' hook""#,
                r"C:\Program Files\holdpoint\holdpoint.exe",
                true,
            ),
            (
                r"C:\Windows\System32\WindowsPowerShell\v1.0\PowerShell.EXE -File C:\hooks\holdpoint.ps1",
                r"C:\hooks\holdpoint.ps1",
                true,
            ),
            (
                "pwsh -NoProfile -f /opt/holdpoint-hook.ps1 hook --config /c",
                "/opt/holdpoint-hook.ps1",
                true,
            ),
            (
                r#"cmd.exe /c "C:\tools\holdpoint.exe hook""#,
                r"C:\tools\holdpoint.exe",
                true,
            ),
            ("wsl.exe -e sh -c 'holdpoint hook'", "holdpoint", true),
        ] {
            let found = in_line(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                (found.program.as_str(), found.is_wrapped),
                (program, wrapped),
                "{line}"
            );
        }
    }

    #[test]
    fn talk_of_our_program_does_not_start_it() {
        for line in [
            "",
            "echo holdpoint",
            "logger -t holdpoint started",
            "systemctl status holdpoint",
            "sudo systemctl status holdpoint",
            "sudo -n /usr/bin/systemctl restart holdpoint",
            "nice journalctl -u holdpoint",
            "sh -c 'which holdpoint'",
            "if pgrep holdpoint; then true; fi",
            "/opt/holdpoint status",
            "/opt/holdpoint session record",
            "/opt/holdpointer hook",
            "cat /var/log/holdpoint",
            "true # /opt/holdpoint hook",
            "true > /opt/holdpoint",
            "env A=/opt/holdpoint true",
            "pwsh -c 'Get-Content /var/log/holdpoint'",
            "sh -c 'cat /var/log/holdpoint' -x",
            "pwsh -c 'holdpoint status'",
            "pwsh -File /opt/guard.ps1 -Log holdpoint.ps1",
            "cat -f /opt/holdpoint.ps1",
        ] {
            assert_eq!(in_line(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_set_for_it_and_how_long_it_has_is_read() {
        let found =
            in_line("HOLDPOINT_CONFIG='/a b' timeout -s KILL 2m env X=1 /opt/holdpoint hook --config /c")
                .unwrap();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found.environment,
            [set("HOLDPOINT_CONFIG", "/a b"), set("X", "1")]
        );
        assert_eq!(
            (found.limit, found.args.as_slice()),
            (Some(120.0), &["hook", "--config", "/c"].map(str::to_owned)[..])
        );
        assert_eq!(in_line("timeout 0 holdpoint").unwrap().limit, None);
        for line in [
            "export HOLDPOINT_CONFIG='/a b'; holdpoint hook",
            r#"cmd /c set "HOLDPOINT_CONFIG=/a b" && holdpoint hook"#,
            r#"pwsh -c "$env:HOLDPOINT_CONFIG='/a b'; holdpoint hook""#,
            r#"pwsh -c "$Env:HOLDPOINT_CONFIG = '/a b'; & holdpoint hook""#,
        ] {
            let found = in_line(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found.environment, [set("HOLDPOINT_CONFIG", "/a b")], "{line}");
            assert!(found.is_wrapped, "{line}");
        }
        let words = ["/usr/bin/timeout", "5", "sh", "-c", "A=b holdpoint hook"].map(str::to_owned);
        let found = in_words(&words).unwrap();
        assert_eq!((found.limit, found.environment), (Some(5.0), vec![set("A", "b")]));
    }
}
