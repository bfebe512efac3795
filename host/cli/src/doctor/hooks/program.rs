//! What a hook entry starts: whether it is there, can be started by those whom the entry is for, and by whom it could be
//! replaced. Nothing is started for that.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use holdpoint_common::{access, read};
use holdpoint_setup::Start;
use holdpoint_setup::reading::Level;

use super::reach;

/// How many links are followed, as the operating system does.
const MOST_LINKS: usize = 40;
/// The first bytes of a program of Linux's, up to the machine that it is for.
const HEADER: usize = 20;

/// What a hook entry's program turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::doctor) enum Program {
    /// This very program.
    This,
    /// Another file, of other contents.
    Another,
    /// There is no such file.
    Missing,
    /// Its path does not begin at the root, so where the agent works, or its PATH, decides what it is.
    Relative,
    /// It cannot be started, for this reason.
    Unusable(String),
    /// This user can start it, and others whom the entry is for cannot.
    OutOfReach(String),
    /// As above, but for the members of a group.
    ForAGroup(String),
}

impl Program {
    /// Whether starting it tells anything.
    pub(in crate::doctor) const fn can_be_started(&self) -> bool {
        !matches!(self, Self::Missing | Self::Unusable(_))
    }
}

/// The program's path with its variables replaced, where these are known.
pub(in crate::doctor) fn path(start: &Start, is_in_shell: bool, variables: &[(&str, PathBuf)]) -> PathBuf {
    let mut text = start.program.clone();
    if is_in_shell
        && let Some(rest) = text.strip_prefix("~/")
        && let Some((_, home)) = variables.iter().find(|(name, _)| *name == "HOME")
    {
        text = home.join(rest).display().to_string();
    }
    for (name, value) in variables {
        let value = value.display().to_string();
        text = text.replace(&format!("${{{name}}}"), &value);
        if is_in_shell {
            text = text.replace(&format!("${name}/"), &format!("{value}/"));
        }
    }
    text.into()
}

/// Looks at the program of an entry of that level.
pub(in crate::doctor) fn look(path: &Path, level: Level) -> Program {
    if !path.is_absolute() {
        return Program::Relative;
    }
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Program::Unusable("which cannot be reached: permission denied".into());
        }
        Err(_) => return Program::Missing,
    };
    // PowerShell reads its scripts.
    let is_read = path.extension().is_some_and(|extension| extension == "ps1");
    if !metadata.is_file() || !(is_read || access::is_executable(&metadata)) {
        return Program::Unusable("which cannot be executed".into());
    }
    if reach::is_not_executed_from(path) {
        return Program::Unusable("which lies on a file system that is mounted noexec".into());
    }
    if let Some(why) = other_kind(path) {
        return Program::Unusable(why);
    }
    if level.is_managed()
        && let Some(program) = out_of_reach(path)
    {
        return program;
    }
    let is_this = std::env::current_exe().is_ok_and(|this| is_same(&this, path));
    if is_this { Program::This } else { Program::Another }
}

/// Whether both are one file, or two of the same bytes.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    if real(one).is_some_and(|path| Some(path) == real(other)) {
        return true;
    }
    let length = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    let whole = |path: &Path| read::read(path, length(one)?).ok();
    length(one) == length(other) && whole(one).is_some_and(|bytes| Some(bytes) == whole(other))
}

/// Why a file is no program that this machine can run, as far as its beginning tells.
fn other_kind(path: &Path) -> Option<String> {
    // What cannot be read can be executed all the same.
    let beginning = beginning(path)?;
    if beginning.is_empty() {
        return Some("which is empty".into());
    }
    if let Some(line) = beginning.strip_prefix(b"#!") {
        let line = String::from_utf8_lossy(line).into_owned();
        let interpreter = line.split_whitespace().next().unwrap_or_default();
        let is_there = Path::new(interpreter).exists() || line.len() + 2 >= SCRIPT_LINE;
        return (!is_there).then(|| format!("a script for {interpreter}, which is not there"));
    }
    let ours = beginning_of_this()?;
    let is_elf = |bytes: &[u8]| bytes.starts_with(b"\x7fELF");
    if !is_elf(&ours) || !is_elf(&beginning) {
        return None;
    }
    let kind = |bytes: &[u8]| {
        Some((
            *bytes.get(4)?,
            *bytes.get(5)?,
            u16::from_le_bytes([*bytes.get(18)?, *bytes.get(19)?]),
        ))
    };
    match (kind(&beginning), kind(&ours)) {
        (None, _) => Some("which is cut short".into()),
        // A kernel for 64 bits runs programs for 32 bits of the same family.
        (Some((_, _, 3)), Some((_, _, 62))) => None,
        (Some(theirs), Some(ours)) if theirs != ours => Some(format!("a program for {}", machine(theirs.2))),
        _ => None,
    }
}

/// As much of a script's first line as is looked at.
const SCRIPT_LINE: usize = 256;

fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (file, _) = read::open(path).ok()?;
    file.take(SCRIPT_LINE as u64).read_to_end(&mut bytes).ok()?;
    if bytes.starts_with(b"#!") {
        bytes.truncate(
            bytes
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(bytes.len()),
        );
    } else {
        bytes.truncate(HEADER);
    }
    Some(bytes)
}

fn beginning_of_this() -> Option<Vec<u8>> {
    beginning(&std::env::current_exe().ok()?)
}

/// The machine that a program of Linux's is for, by the number in it.
fn machine(number: u16) -> String {
    match number {
        3 => "x86".into(),
        20 => "PowerPC".into(),
        21 => "PowerPC, 64 bits".into(),
        22 => "IBM Z".into(),
        40 => "ARM, 32 bits".into(),
        62 => "x86-64".into(),
        183 => "ARM, 64 bits (aarch64)".into(),
        243 => "RISC-V".into(),
        other => format!("another machine (number {other})"),
    }
}

/// Every path that is looked at on the way to a file: each link's own, and where it leads.
pub(in crate::doctor) fn steps(path: &Path) -> Vec<PathBuf> {
    let mut steps = vec![path.to_owned()];
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&at) else { break };
        at = at.parent().unwrap_or_else(|| Path::new("/")).join(target);
        steps.push(at.clone());
    }
    steps.extend(fs::canonicalize(path));
    steps
}

/// The folders above a file, on every way to it, each once and from the root on.
pub(in crate::doctor) fn folders(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for step in steps(path) {
        let mut above: Vec<&Path> = step
            .ancestors()
            .skip(1)
            .filter(|folder| folder.is_absolute())
            .collect();
        above.reverse();
        for folder in above {
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
    }
    folders
}

/// Whether other users of the machine cannot start it, and why.
fn out_of_reach(path: &Path) -> Option<Program> {
    let is_script = beginning(path).is_some_and(|bytes| bytes.starts_with(b"#!"));
    let mut closed = folders(path);
    closed.retain(|folder| !reach::may_be_entered_by_all(folder));
    let why = match closed.first() {
        Some(folder) => format!("below {}, which other users may not enter", folder.display()),
        None if reach::may_be_executed_by_all(path, is_script) => return None,
        None => "which other users may not execute".into(),
    };
    if closed.is_empty() {
        closed.push(path.to_owned());
    }
    let is_for_a_group = closed.iter().all(|closed| reach::is_open_to_a_group(closed));
    Some(if is_for_a_group {
        Program::ForAGroup(why)
    } else {
        Program::OutOfReach(why)
    })
}

/// What keeps other users of the machine from reading a file: itself, or a folder above it.
pub(in crate::doctor) fn unreadable_for_others(path: &Path) -> Option<PathBuf> {
    let closed = folders(path)
        .into_iter()
        .find(|folder| !reach::may_be_entered_by_all(folder));
    closed.or_else(|| (!reach::may_be_read_by_all(path)).then(|| path.to_owned()))
}

/// A file or folder through which somebody who should not could replace the program.
pub(in crate::doctor) fn replaceable(path: &Path, level: Level) -> Option<PathBuf> {
    let only_root = level.is_managed();
    let all = folders(path).into_iter().chain(steps(path));
    all.filter(|place| place.exists())
        .find(|place| reach::may_be_changed_by_others(place, only_root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16) -> Vec<u8> {
        let mut bytes = beginning_of_this().unwrap();
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_for_another_machine_is_told_by_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("holdpoint");
        let told = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            other_kind(&path)
        };
        assert_eq!(told(&beginning_of_this().unwrap()), None);
        assert_eq!(told(&elf(243)).as_deref(), Some("a program for RISC-V"));
        assert_eq!(told(&elf(183)[..12]).as_deref(), Some("which is cut short"));
        assert_eq!(told(b"").as_deref(), Some("which is empty"));
        assert_eq!(told(b"#!/bin/sh\nexit 0\n"), None);
        assert_eq!(
            told(b"#!/nonexistent/sh -e\nexit 0\n").as_deref(),
            Some("a script for /nonexistent/sh, which is not there")
        );
    }

    #[test]
    fn variables_in_a_path_are_replaced_as_the_shell_and_the_harness_do() {
        let variables = [
            ("HOME", PathBuf::from("/home/u")),
            ("CLAUDE_PLUGIN_ROOT", PathBuf::from("/p")),
        ];
        let path = |program: &str, is_in_shell| {
            let start = Start {
                program: program.into(),
                ..Start::default()
            };
            path(&start, is_in_shell, &variables).display().to_string()
        };
        assert_eq!(path("~/bin/holdpoint", true), "/home/u/bin/holdpoint");
        assert_eq!(path("$HOME/bin/holdpoint", true), "/home/u/bin/holdpoint");
        assert_eq!(path("${CLAUDE_PLUGIN_ROOT}/holdpoint", false), "/p/holdpoint");
        assert_eq!(path("~/bin/holdpoint", false), "~/bin/holdpoint");
    }
}
