//! What a check comes to.

use std::fmt;
use std::path::{Path, PathBuf};

use holdpoint_common::access;
use holdpoint_config::Unnamed;
use serde::Serialize;

use crate::terminal::Tone;

/// How bad a finding is; the worst one decides how `doctor` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Worth knowing; nothing has to be done.
    Notice,
    /// It works, and less well than it should, or not for long.
    Caution,
    /// Calls get past the guard, or every change is denied.
    Broken,
}

impl Severity {
    /// The word for it in a report.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Notice => "note",
            Self::Caution => "caution",
            Self::Broken => "BROKEN",
        }
    }
}

/// Whatever is broken of these lets calls run unjudged.
const LETS_PAST: [&str; 4] = ["hook.", "settings.", "client.", "liveness"];

/// One finding of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which check it is, a stable name such as `hook.timeout`.
    pub check: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// Why that matters. Empty where all is well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub matters: String,
    /// The command, or the change, that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// What `--fix` would do.
    #[serde(
        rename = "fix",
        serialize_with = "in_words",
        skip_serializing_if = "Option::is_none"
    )]
    pub repair: Option<Repair>,
    /// Whether calls run unjudged because of it; else they are judged, or all denied.
    #[serde(skip)]
    pub(crate) lets_past: bool,
}

impl Finding {
    /// All is well.
    pub fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(Severity::Good, check, found, "")
    }

    /// Something to know.
    pub fn notice(check: &'static str, found: impl Into<String>, matters: impl Into<String>) -> Self {
        Self::new(Severity::Notice, check, found, matters)
    }

    /// Something to look at.
    pub fn caution(check: &'static str, found: impl Into<String>, matters: impl Into<String>) -> Self {
        Self::new(Severity::Caution, check, found, matters)
    }

    /// Something that has to be mended.
    pub fn broken(check: &'static str, found: impl Into<String>, matters: impl Into<String>) -> Self {
        Self::new(Severity::Broken, check, found, matters)
    }

    /// The tone that a report paints it in.
    pub const fn tone(&self) -> Tone {
        match self.severity {
            Severity::Good => Tone::Good,
            Severity::Notice => Tone::Quiet,
            Severity::Caution => Tone::Caution,
            Severity::Broken => Tone::Bad,
        }
    }

    /// A finding as bad as it is.
    pub fn new(
        severity: Severity,
        check: &'static str,
        found: impl Into<String>,
        matters: impl Into<String>,
    ) -> Self {
        Self {
            check,
            severity,
            found: found.into(),
            matters: matters.into(),
            mend: None,
            repair: None,
            lets_past: severity == Severity::Broken
                && LETS_PAST.iter().any(|matter| check.starts_with(matter)),
        }
    }

    /// Whether calls run unjudged because of it, where the check alone does not say so.
    #[must_use]
    pub(super) const fn letting_past(mut self, lets_past: bool) -> Self {
        self.lets_past = lets_past;
        self
    }

    /// With what a human does about it.
    #[must_use]
    pub fn mended_by(mut self, command: impl Into<String>) -> Self {
        self.mend = Some(command.into());
        self
    }

    /// With a file that only its owner may change, or read: its mode where that is wrong, which `--fix` sets. A wrong owner
    /// is a person's to correct. `only_root` is whether it is part of the machine's installation.
    #[must_use]
    pub(super) fn fixed_by_mode(self, path: &Path, taken: u32, only_root: bool) -> Self {
        let shown = path.display();
        let mode = access::mode(path).unwrap_or(0o600);
        let chmod = match taken {
            0o022 => format!("chmod go-w {shown}"),
            _ => format!("chmod {:o} {shown}", mode & !taken & 0o777),
        };
        if !std::fs::metadata(path).is_ok_and(|found| access::is_anothers(&found, only_root)) {
            return self.mended_by(chmod).repaired_by(Repair::Mode {
                path: path.to_owned(),
                mode: mode & !taken,
            });
        }
        let owner = if only_root { "root" } else { "\"$(id -un)\"" };
        let chown = format!("as root: chown {owner} {shown}");
        self.mended_by(if mode & taken == 0 {
            chown
        } else {
            format!("{chown}, and {chmod}")
        })
    }

    /// With what `--fix` does about it.
    #[must_use]
    pub fn repaired_by(mut self, repair: Repair) -> Self {
        self.mend.get_or_insert_with(|| "holdpoint doctor --fix".into());
        self.repair = Some(repair);
        self
    }
}

/// What can be mended without asking: it takes nothing away that anybody could want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Takes rights from others, by a file's mode.
    Mode {
        /// The file.
        path: PathBuf,
        /// The mode that it gets.
        mode: u32,
    },
    /// Puts our hook entries in order, in the settings file that has them.
    Hooks(PathBuf),
    /// Ends the last line of the decision log, which a crash left open.
    EndLine(PathBuf),
    /// Compiles the installed policy anew.
    Compile(PathBuf),
    /// Writes out in a configuration file where things are kept, as it is now.
    Places(PathBuf, Vec<Unnamed>),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode { path, mode } => write!(f, "sets the mode of {} to {mode:o}", path.display()),
            Self::Hooks(path) => write!(f, "puts the hook entries in {} in order", path.display()),
            Self::EndLine(path) => write!(f, "ends the torn last line of {}", path.display()),
            Self::Compile(path) => write!(f, "compiles {} anew", path.display()),
            Self::Places(path, places) => {
                let keys: Vec<String> = places.iter().map(Unnamed::whole_key).collect();
                write!(
                    f,
                    "sets {} in {} to where they are now",
                    keys.join(", "),
                    path.display()
                )
            }
        }
    }
}

fn in_words<S: serde::Serializer>(repair: &Option<Repair>, serializer: S) -> Result<S::Ok, S::Error> {
    match repair {
        Some(repair) => serializer.collect_str(repair),
        None => serializer.serialize_none(),
    }
}

/// The worst of these; good where there is none.
pub fn worst(findings: &[Finding]) -> Severity {
    findings
        .iter()
        .map(|finding| finding.severity)
        .max()
        .unwrap_or(Severity::Good)
}
