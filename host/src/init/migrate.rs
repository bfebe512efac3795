//! From the original hook: what its configuration and its settings entry become, and what will be different.

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_setup::reading::{Installation, Places};
use holdpoint_setup::{Event, Handler};

use super::document::Document;
use super::zvm::{SecretSource, Zvm, usual_secret_file};
use super::{InitError, Report};
use crate::config::{ConfigError, Original};

/// What the original's program is called.
const PROGRAM: &str = "zerto_guard_hook";
/// Its deadline where nothing is set, in seconds.
const USUAL_DEADLINE: f64 = 330.0;

/// What is known of the original hook here.
pub(super) struct Migration {
    path: PathBuf,
    original: Original,
    /// Where its entries stand, with their timeouts.
    entries: Vec<Entry>,
    deadline: Option<f64>,
    unknown: Option<String>,
    log: Option<String>,
}

struct Entry {
    file: PathBuf,
    at: String,
    timeout: Option<f64>,
}

/// Reads the original's configuration, looks for its entries, and for the variables that it is set by: here, and in the
/// settings that set them for it.
pub(super) fn read(path: &Path, places: &Places) -> Result<Migration, InitError> {
    let original = Original::read(path)?;
    let installation = Installation::judge(places.read());
    let entries = installation
        .entries(Event::PreToolUse)
        .filter_map(|(file, entry)| match &entry.handler {
            Handler::Command(command) => {
                let words = command.args.iter().flatten().chain([&command.command]);
                words
                    .into_iter()
                    .any(|word| word.contains(PROGRAM))
                    .then(|| Entry {
                        file: file.path.clone(),
                        at: entry.at(),
                        timeout: command.timeout,
                    })
            }
            Handler::McpTool { .. } | Handler::Other(_) => None,
        })
        .collect();
    let variable = |name: &str| {
        let in_settings = installation.files.iter().rev();
        let mut in_settings = in_settings.filter_map(|file| file.settings.environment.get(name).cloned());
        env::var(name)
            .ok()
            .filter(|value| !value.is_empty())
            .or_else(|| in_settings.next())
    };
    let deadline = variable("ZERTO_HOOK_GUARD_TIMEOUT")
        .map(|text| {
            text.trim().parse().map_err(|_| {
                let cause = format!("is '{text}', and has to be a number of seconds");
                ConfigError::value("ZERTO_HOOK_GUARD_TIMEOUT", cause)
            })
        })
        .transpose()?;
    Ok(Migration {
        path: path.to_owned(),
        original,
        entries,
        deadline,
        unknown: variable("ZERTO_HOOK_UNKNOWN"),
        log: variable("ZERTO_HOOK_LOG"),
    })
}

impl Migration {
    /// What the command line leaves open, the original's configuration says.
    pub(super) fn fill(&self, zvm: &mut Zvm, config: &Path) {
        let original = &self.original;
        zvm.url = zvm.url.take().or_else(|| original.zerto_url.clone());
        zvm.username = zvm.username.take().or_else(|| original.username.clone());
        zvm.client_id = zvm.client_id.take().or_else(|| original.client_id.clone());
        if zvm.secret.is_none() && original.password.is_some() {
            zvm.secret = Some(SecretSource::File(usual_secret_file(config)));
        }
    }

    /// The password that goes into the file that the document names, where that is the one that [`Self::fill`] chose.
    pub(super) fn secret(&self, document: &Document) -> Option<(PathBuf, String)> {
        let file = usual_secret_file(document.path());
        let is_named = document.get("secret_file") == file.to_str();
        self.original
            .password
            .clone()
            .filter(|_| is_named)
            .map(|password| (file, password))
    }

    /// What its variables said becomes keys.
    pub(super) fn settings(&self, document: &mut Document, report: &mut Report) {
        if let Some(seconds) = self.deadline {
            document.set_elsewhere(None, "deadline_seconds", seconds);
        }
        match self.unknown.as_deref() {
            None => {}
            Some("prompt" | "ask") => document.set_elsewhere(Some("policy"), "unknown_tool", "ask"),
            Some("deny") => document.set_elsewhere(Some("policy"), "unknown_tool", "deny"),
            Some("allow" | "pass") => document.set_elsewhere(Some("policy"), "unknown_tool", "pass"),
            Some(other) => report.remark(format!(
                "ZERTO_HOOK_UNKNOWN is '{other}', which is neither prompt, deny nor allow: policy.unknown_tool stays as it is."
            )),
        }
        if let Some(path) = self.log.as_deref().filter(|path| Path::new(path).is_absolute()) {
            document.set_elsewhere(Some("log"), "path", path);
        }
    }

    /// What becomes different.
    pub(super) fn differences(&self, report: &mut Report) {
        let path = self.path.display();
        report.done(format!(
            "From {path} came the ZVM, the user and the client. The file stays as it is."
        ));
        if self.original.password.is_some() {
            report.remark(format!(
                "The password still stands in {path} too: remove that file when the original hook is gone."
            ));
        }
        if self.original.verify_tls != Some(true) {
            report.remark(
                "The original did not verify the ZVM's certificate unless verify_tls was true. Holdpoint always does.",
            );
        }
        report.remark(
            "Where the original asked, it said \"prompt\", which Claude Code does not know: those calls ran. Holdpoint says \
             \"ask\", and they wait for a human.",
        );
        report.remark("Calls of a broken hook or a broken catalog ran. Holdpoint denies them, and says why.");
        report.remark(
            "The original's own catalog is not read: see which tools are known with holdpoint explain, and add others by \
             policy.catalogs.",
        );
        if self.deadline.is_none() {
            report.remark(format!(
                "The deadline is {USUAL_DEADLINE} seconds, as the original's was."
            ));
        }
        for entry in &self.entries {
            let (file, at) = (entry.file.display(), &entry.at);
            let timeout = entry.timeout.map_or_else(String::new, |seconds| {
                format!(", with a timeout of {seconds} seconds")
            });
            report.remark(format!(
                "The original's entry is still in {file} at {at}{timeout}. Both hooks run, and each takes a checkpoint: take \
                 it out when holdpoint doctor is content."
            ));
        }
        if self.entries.is_empty() {
            report.remark("No settings file here has an entry of the original's.");
        }
    }
}
