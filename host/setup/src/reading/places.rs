//! Where Claude Code keeps its settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holdpoint_common::read::{self, limit};

/// Whose settings a file holds. A later one wins over an earlier one where both set a switch; hooks of all of them run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A plugin's `hooks/hooks.json`.
    Plugin,
    /// The same of a plugin that managed settings enable.
    ManagedPlugin,
    /// The user's, in every project.
    User,
    /// The project's, shared with everybody who works on it.
    Project,
    /// The user's in one project.
    Local,
    /// The machine's, written by an administrator.
    Managed,
    /// A further file of the machine's; these count in the order of their names, after [`Self::Managed`].
    DropIn,
}

impl Level {
    /// Whether a plugin brings it.
    pub const fn is_of_a_plugin(self) -> bool {
        matches!(self, Self::Plugin | Self::ManagedPlugin)
    }

    /// Whether only an administrator can have written it.
    pub const fn is_managed(self) -> bool {
        matches!(self, Self::Managed | Self::DropIn)
    }

    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plugin | Self::ManagedPlugin => "plugin",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Managed | Self::DropIn => "managed",
        }
    }
}

/// A settings file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Whose it is.
    pub level: Level,
    /// Where it lies.
    pub path: PathBuf,
    /// What was read.
    pub content: Content,
}

impl Source {
    /// Reads a file, also one that is not there. The client would wait for the writer of a pipe; this does not.
    pub fn read(level: Level, path: PathBuf) -> Self {
        let content = match read::read(&path, limit::SETTINGS) {
            Ok(bytes) => Content::Bytes(bytes),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Content::Absent
            }
            Err(error) => Content::Unreadable(error.to_string()),
        };
        Self { level, path, content }
    }
}

/// What reading a file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// There is no such file.
    Absent,
    /// There is one that cannot be read, for the operating system's reason.
    Unreadable(String),
    /// Its bytes.
    Bytes(Vec<u8>),
}

/// Where the settings files lie for a client that is started in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The user's `settings.json`.
    pub user: PathBuf,
    /// The project's, in the directory itself: the client does not look above it.
    pub project: PathBuf,
    /// The user's for the project.
    pub local: PathBuf,
    /// The folder of managed settings.
    pub managed: PathBuf,
}

impl Places {
    /// The places for a client that is started in `directory`. `config_dir` is what `CLAUDE_CONFIG_DIR` says, and moves the
    /// user's file. Looks on the disk for the repository that the directory is in: from below its root, the local file in
    /// the root counts, and the project's does not.
    pub fn find(home: &Path, config_dir: Option<&Path>, directory: &Path) -> Self {
        let user = config_dir.map_or_else(|| home.join(".claude"), Path::to_owned);
        let settings = directory.join(".claude");
        let local = settings.join("settings.local.json");
        let in_root = directory
            .ancestors()
            .find(|ancestor| ancestor.join(".git").exists())
            .map(|root| root.join(".claude/settings.local.json"))
            .filter(|_| !local.exists());
        Self {
            user: user.join("settings.json"),
            project: settings.join("settings.json"),
            local: in_root.unwrap_or(local),
            managed: managed_directory().to_owned(),
        }
    }

    /// The main file of managed settings.
    pub fn managed_settings(&self) -> PathBuf {
        self.managed.join("managed-settings.json")
    }

    /// Reads all of them, also those that are not there, in the order in which they count.
    pub fn read(&self) -> Vec<Source> {
        let mut sources = vec![
            Source::read(Level::User, self.user.clone()),
            Source::read(Level::Project, self.project.clone()),
            Source::read(Level::Local, self.local.clone()),
            Source::read(Level::Managed, self.managed_settings()),
        ];
        // From the home directory, the user's file and the project's are one.
        if self.user == self.project {
            sources.remove(1);
        }
        sources.extend(self.dropped_in());
        sources
    }

    /// The further files of the machine's, in the order of their names; the folder itself where it cannot be listed, since
    /// whatever is in it may count. The client reads no folder in it.
    fn dropped_in(&self) -> Vec<Source> {
        let folder = self.managed.join("managed-settings.d");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Vec::new();
            }
            Err(error) => {
                return vec![Source {
                    level: Level::DropIn,
                    path: folder,
                    content: Content::Unreadable(error.to_string()),
                }];
            }
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let is_hidden = path
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with('.'));
                let is_json = path.extension().is_some_and(|extension| extension == "json");
                is_json && !is_hidden && !path.is_dir()
            })
            .collect();
        paths.sort();
        paths
            .into_iter()
            .map(|path| Source::read(Level::DropIn, path))
            .collect()
    }
}

/// The folder in which this system's administrator puts settings.
pub fn managed_directory() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        r"C:\Program Files\ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}
