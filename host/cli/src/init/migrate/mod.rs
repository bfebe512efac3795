//! From the original hook: what its configuration and its settings entry become, and what will be different.

pub(super) mod asqav;
mod entries;
mod lists;

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_common::access;
use holdpoint_common::read::{self, limit};
use holdpoint_config::{ConfigError, Original};
use holdpoint_setup::file::{self, Copies, Readers, Transaction};
use holdpoint_setup::reading::{Installation, Places};
use serde_json::Value;

pub(super) use self::entries::{Entry, is_original};
use self::lists::Lists;
use super::document::Document;
use super::questions::Questions;
use super::zvm::{SecretSource, Zvm, usual_secret_file};
use super::{InitError, Report, address};

/// Its deadline where nothing is set, in seconds.
const USUAL_DEADLINE: f64 = 330.0;

/// What is known of the original hook here.
pub(super) struct Migration {
    path: PathBuf,
    original: Original,
    lists: Lists,
    deadline: Option<f64>,
    unknown: Option<String>,
    log: Option<String>,
}

/// The original's entries in the settings here.
pub(super) fn find_entries(places: &Places) -> Vec<Entry> {
    entries::find(&Installation::judge(places.read()))
}

/// Reads the original's configuration, the named one or the one that its entry names, and the variables that it is set by:
/// on its command line, here, and in the settings that set them for it.
pub(super) fn read(named: Option<&Path>, entries: &[Entry], places: &Places) -> Result<Migration, InitError> {
    let installation = Installation::judge(places.read());
    let variable = |name: &str| {
        let in_front = || {
            entries
                .iter()
                .find_map(|entry| entry.variables.get(name).cloned())
        };
        let here = || env::var(name).ok().filter(|value| !value.is_empty());
        let in_settings = || {
            let mut files = installation.files.iter().rev();
            files.find_map(|file| file.settings.environment.get(name).cloned())
        };
        in_front().or_else(here).or_else(in_settings)
    };
    let path = named.map(Path::to_owned);
    let path = path.or_else(|| variable("ZERTO_REWIND_CONFIG").map(PathBuf::from));
    let path = path.ok_or_else(|| {
        InitError::Missing(vec![(
            "the original hook's configuration, which ZERTO_REWIND_CONFIG does not name either",
            "--from-zerto-rewind CONFIG.json",
        )])
    })?;
    let original = Original::read(&path)?;
    if let Some(url) = &original.zerto_url {
        address::check_named(&format!("zerto_url in {}", path.display()), url)?;
    }
    let deadline = variable("ZERTO_HOOK_GUARD_TIMEOUT")
        .map(|text| {
            let seconds = text.trim().parse().ok();
            seconds
                .filter(|seconds| (1.0..=3600.0).contains(seconds))
                .ok_or_else(|| {
                    let cause = format!("is '{text}', and has to be a number of seconds from 1 to 3600");
                    ConfigError::value("ZERTO_HOOK_GUARD_TIMEOUT", cause)
                })
        })
        .transpose()?;
    Ok(Migration {
        lists: read_lists(&original, &path),
        path,
        original,
        deadline,
        unknown: variable("ZERTO_HOOK_UNKNOWN"),
        log: variable("ZERTO_HOOK_LOG"),
    })
}

/// The lists in the configuration itself, in its `catalog`, or in the file that this names.
fn read_lists(original: &Original, path: &Path) -> Lists {
    let named = |key: &str| original.rest.get(key);
    let inner = named("catalog").cloned().unwrap_or_default();
    let file = ["catalog", "catalog_path", "catalog_file"];
    let file = file.into_iter().find_map(|key| named(key)?.as_str());
    let mut unread = None;
    let of_file = file.map(|file| {
        let file = path.parent().unwrap_or_else(|| Path::new("/")).join(file);
        let text = read::read_text(&file, limit::CONFIGURATION).map_err(|error| error.to_string());
        let value = text.and_then(|text| {
            let text = text.trim_start_matches('\u{feff}');
            serde_json::from_str::<Value>(text).map_err(|_| "it is not JSON".to_owned())
        });
        value.unwrap_or_else(|why| {
            unread = Some(format!("{}: {why}", file.display()));
            Value::Null
        })
    });
    let whole = Value::Object(original.rest.clone());
    let mut lists = Lists::read(&[&whole, &inner, &of_file.unwrap_or_default()]);
    lists.not_taken.extend(unread);
    lists
}

/// Takes the original's entries out where a human wants that. Copies are kept.
pub(super) fn offer_removal(
    entries: &[Entry],
    copies: impl Fn(&Path) -> Copies,
    questions: &Questions,
    files: &mut Transaction,
    report: &mut Report,
) -> Result<(), InitError> {
    if entries.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| format!("  {} in {}", entry.at, entry.file.display()))
        .collect();
    let question = format!(
        "The original hook's entry is still there, and both hooks would take a checkpoint for each call:\n{}\nTake it out? A \
         copy of the file is kept.",
        shown.join("\n")
    );
    let choices = ["yes, take it out", "no, it stays until I take it out myself"];
    if questions.can_ask() && questions.decision(&question, &choices)? == 0 {
        for entry in entries {
            if let Some(copy) = file::plan_take_out(&entry.file, is_original, &copies(&entry.file), files)? {
                let (file, copy) = (entry.file.display(), copy.display());
                report.done(format!(
                    "The original's entry is out of {file}; what the file was before is in {copy}."
                ));
            }
        }
        return Ok(());
    }
    for entry in entries {
        let (file, at) = (entry.file.display(), &entry.at);
        let timeout = entry.timeout.map_or_else(String::new, |seconds| {
            format!(", with a timeout of {seconds} seconds")
        });
        report.remark(format!(
            "The original's entry is still in {file} at {at}{timeout}. Both hooks run, and each takes a checkpoint: take it \
             out when holdpoint doctor is content, by hand or by running init at a terminal."
        ));
    }
    Ok(())
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
        match self.log.as_deref() {
            None => {}
            Some(path) if Path::new(path).is_absolute() => {
                document.set_elsewhere(Some("log"), "path", path);
            }
            Some(path) => report.remark(format!(
                "ZERTO_HOOK_LOG is '{path}', which does not begin with '/', and is not taken: the log goes where it usually does."
            )),
        }
    }

    /// Plans the original's tool lists into catalog files beside the configuration, and names them there.
    pub(super) fn catalogs(
        &self,
        document: &mut Document,
        readers: Readers,
        copies: &Copies,
        files: &mut Transaction,
        report: &mut Report,
    ) -> Result<(), InitError> {
        if !self.lists.not_taken.is_empty() {
            let words = self.lists.not_taken.join("; ");
            report.remark(format!("Not taken from the original's tool lists: {words}."));
        }
        let folder = document.path().with_file_name("catalogs");
        let catalogs = self.lists.catalogs(&self.path.display().to_string());
        let mut paths = Vec::new();
        for (name, text) in catalogs {
            let path = folder.join(name);
            file::plan_write(&path, text.into_bytes(), readers, copies, files)?;
            report.done(format!("The original's tool lists are in {}.", path.display()));
            paths.push(super::zvm::absolute(&path)?);
        }
        document.add_catalogs(&paths);
        Ok(())
    }

    /// What becomes different.
    pub(super) fn differences(&self, report: &mut Report) {
        let path = self.path.display();
        report.done(format!(
            "From {path} came the ZVM, the user and the client. The file stays as it is."
        ));
        if self.original.password.is_some() {
            let is_open =
                std::fs::metadata(&self.path).is_ok_and(|metadata| access::readable_by_others(&metadata));
            let advice = if is_open {
                format!("others can read it: chmod 600 {path}")
            } else {
                "only you can read it, which is right".to_owned()
            };
            report.remark(format!(
                "The password stands in {path} too, which the zerto-rewind server reads as well, so keep the file; {advice}."
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
        report.remark(if self.lists.is_empty() {
            "The original's configuration has no tool lists of its own: see which tools are known with holdpoint explain, and add others by policy.catalogs."
        } else {
            "Where Holdpoint knows a tool of those lists more strictly, its own entry counts, and the answer says so: see holdpoint explain."
        });
        if self.deadline.is_none() {
            report.remark(format!(
                "The deadline is {USUAL_DEADLINE} seconds, as the original's was."
            ));
        }
    }

    /// What stands on the original's command line and is not taken.
    pub(super) fn tell_not_taken(entries: &[Entry], report: &mut Report) {
        for entry in entries.iter().filter(|entry| !entry.not_taken.is_empty()) {
            report.remark(format!(
                "Not taken from the original's command line at {} in {}: {}.",
                entry.at,
                entry.file.display(),
                entry.not_taken.join(", ")
            ));
        }
        if entries.is_empty() {
            report.remark("No settings file here has an entry of the original's.");
        }
    }
}
