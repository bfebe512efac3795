//! A store in a folder of its own, and compilers that are none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdpoint_store::{Build, Change, ChangeError, Changed, Compiler, Revocation, Store, Target, read_code};
use tempfile::TempDir;

use crate::policies::Team;

pub(crate) const BUILD: Build<'static> = Build {
    engine: "engine 1",
    host: "host 1",
    cpu: "baseline",
    magic: b"hpcwasm1",
    hold: read_code,
};

pub(crate) const PLAIN: Change<'static> = Change {
    allow_downgrade: false,
    compile: None,
};

pub(crate) const DOWNGRADE: Change<'static> = Change {
    allow_downgrade: true,
    compile: None,
};

pub(crate) struct House {
    pub(crate) team: Team,
    pub(crate) store: Store,
    folder: TempDir,
}

impl House {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            team: Team::new(),
            store: Store::create(&folder.path().join("store")).unwrap(),
            folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Installs the version and gives its bytes.
    pub(crate) fn install(&self, version: &str) -> Vec<u8> {
        let policy = self.team.policy(version);
        self.put(&policy, PLAIN).unwrap();
        policy
    }

    pub(crate) fn put(&self, policy: &[u8], change: Change<'_>) -> Result<Changed, ChangeError> {
        self.store
            .install(policy, "a file", change, &self.team.admission())
    }

    /// The version that would decide now.
    pub(crate) fn in_force(&self) -> String {
        let loaded = self.store.load_active(&self.team.admission(), &BUILD).unwrap();
        loaded.facts.manifest.unwrap().version.to_string()
    }

    /// Revokes the team's key.
    pub(crate) fn revoke_key(&self) -> Revocation {
        let target = Target::Key {
            id: self.team.key.public().id(),
            name: Some("team".into()),
        };
        self.store
            .revoke(&target, "lost", &self.team.admission())
            .unwrap()
    }

    pub(crate) fn object(&self, policy: &[u8]) -> PathBuf {
        let digest = self.team.digest(policy).hex();
        self.store.root().join("objects").join(digest)
    }

    /// A program that writes what a compiler would, after running `before`. Each run leaves a line in `NAME.runs`.
    pub(crate) fn program(&self, name: &str, before: &str) -> PathBuf {
        let path = self.path(name);
        let script = format!(
            "#!/bin/bash\n\
             echo run >> {runs}\n\
             {before}\n\
             digest=$( {{ sha256sum \"$1\" || shasum -a 256 \"$1\"; }} 2>/dev/null | cut -c1-64)\n\
             {{ printf code; printf hpcwasm1; printf \"$(sed 's/../\\\\x&/g' <<< \"$digest\")\"; }} \
             > \"${{1%.wasm}}.cwasm\"\n",
            runs = self.path(&format!("{name}.runs")).display(),
        );
        fs::write(&path, script).unwrap();
        set_mode(&path, 0o700);
        path
    }

    pub(crate) fn runs(&self, name: &str) -> usize {
        let runs = fs::read_to_string(self.path(&format!("{name}.runs"))).unwrap_or_default();
        runs.lines().count()
    }
}

pub(crate) fn compiler(program: &Path) -> Compiler<'_> {
    Compiler {
        program,
        timeout: Duration::from_secs(60),
        memory: 1 << 30,
        loads: |_| Ok(()),
    }
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
