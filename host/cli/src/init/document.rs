//! The configuration file as it is written: with comments, and without losing what an operator wrote into it.

use std::path::{Path, PathBuf};

use holdpoint_config::{self as config, Config};
use holdpoint_setup::file::{self, Before, Copies, Readers, Transaction};
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

use super::form::Form;
use super::{InitError, place};

/// What a new file begins as. The values are set afterwards; a key behind `#` is an example.
const TEMPLATE: &str = "\
# Holdpoint's configuration. Every key there is: holdpoint's docs/configuration.md.
# No secret belongs in here: the keys zerto.secret_… say where it is.

# How long one decision may take, in seconds. The timeout of the hook entries has to be above it.
deadline_seconds = 330

# The Zerto Virtual Manager that is asked for checkpoints.
[zerto]

[policy]
# A tool that no catalog knows: \"ask\", \"deny\" or \"pass\".
unknown_tool = \"ask\"
# Domains of this site: web01.corp.example is then also looked up as web01.
# domains = [\"corp.example\"]

# From ids and aliases that tools use (sensor ids, SSH profiles) to VM names in Zerto.
# [policy.machines]
# prod-bastion = \"bastion01\"

# Where things are kept is written out in each table, so that no variable of the environment decides it: a project's
# settings can set HOME and XDG_STATE_HOME for the hook.

# The decision log.
[log]

# The failed calls of a session.
[session]

# Records of decisions, where record.enabled is true: see docs/replay.md.
[record]

# Signed receipts of what was decided and seen: \"off\", \"audit\", or \"gate\" (no receipt, no call).
[receipts]

# Permission modes of the harness in which an ask becomes a deny, because nobody is there to answer it.
# [ask]
# deny_in_modes = [\"bypassPermissions\", \"dontAsk\"]
";

/// What is said of a key of `[zerto]` in a new file.
const COMMENTS: [(&str, &str); 10] = [
    ("url", "With a port where it is not 443 (9669 on Windows)."),
    (
        "login",
        "\"password\" or \"client-credentials\" (Linux appliance), or \"windows-session\".",
    ),
    ("client_id", "The Keycloak client."),
    (
        "username",
        "A user that may insert checkpoints, and nothing else.",
    ),
    ("secret_env", "The environment variable that holds the secret."),
    (
        "secret_file",
        "The file that holds the secret and nothing else; only its owner may read it.",
    ),
    (
        "secret_command",
        "The program that prints the secret, and its arguments.",
    ),
    (
        "secret_keyring",
        "The account of the keyring's item, of the service holdpoint.",
    ),
    ("ca_file", "The only certificates that are trusted."),
    (
        "pin",
        "The only certificate that is trusted, by its SHA-256. It changes when the ZVM's does.",
    ),
];

/// The policy store of a machine: nobody but root can write it.
const MACHINE_STORE: &str = "/var/lib/holdpoint/policies";

/// The keys of `[zerto]` that say where the secret is.
const SECRETS: [&str; 4] = ["secret_env", "secret_file", "secret_command", "secret_keyring"];
/// The keys of `[zerto]` that say what is trusted.
const TRUSTS: [&str; 3] = ["ca_file", "pin", "verify"];

/// A configuration file, read and not yet written.
pub(super) struct Document {
    path: PathBuf,
    /// How the file that is there now is written; none where there is no file.
    before: Option<Form>,
    /// The text before any change.
    unchanged: String,
    document: DocumentMut,
}

impl Document {
    /// Reads a file, or begins a new one.
    pub(super) fn open(path: &Path, files: &mut Transaction) -> Result<Self, InitError> {
        let text = match files.read(path)? {
            None => None,
            Some(bytes) => {
                let text = String::from_utf8(bytes.to_owned());
                Some(text.map_err(|_| {
                    InitError::Other(format!(
                        "{} is not UTF-8; save it as UTF-8, then run init again",
                        path.display()
                    ))
                })?)
            }
        };
        let (before, text) = match text.as_deref().map(Form::of) {
            Some((form, text)) => (Some(form), text),
            None => (None, TEMPLATE.to_owned()),
        };
        if before.is_some() {
            // What is wrong with it is said as the hook says it.
            config::parse(path, &text)?;
        }
        let mut document: DocumentMut = text
            .parse()
            .map_err(|_| InitError::Other(format!("{} is not TOML; correct it first", path.display())))?;
        if before.is_none() {
            write_places(&mut document, path == config::Places::find(None).machine);
        }
        Ok(Self {
            path: path.to_owned(),
            before,
            unchanged: document.to_string(),
            document,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn zerto(&self) -> Option<&dyn TableLike> {
        self.document.get("zerto").and_then(Item::as_table_like)
    }

    /// Whether there was no file before.
    pub(super) const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Whether a key of another table is set.
    pub(super) fn has_elsewhere(&self, table: &str, key: &str) -> bool {
        let table = self.document.get(table).and_then(Item::as_table_like);
        table.is_some_and(|table| table.contains_key(key))
    }

    /// A text of another table.
    pub(super) fn get_elsewhere(&self, table: &str, key: &str) -> Option<&str> {
        let table = self.document.get(table).and_then(Item::as_table_like)?;
        table.get(key)?.as_str()
    }

    /// Whether a key of `[zerto]` is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.zerto().is_some_and(|zerto| zerto.contains_key(key))
    }

    /// A text under `[zerto]`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.zerto()?.get(key)?.as_str()
    }

    /// Whether it is said where the secret is.
    pub(super) fn has_secret(&self) -> bool {
        SECRETS.iter().any(|key| self.has(key))
    }

    /// Whether it is said what is trusted.
    pub(super) fn has_trust(&self) -> bool {
        TRUSTS.iter().any(|key| self.has(key))
    }

    /// Sets a key of `[zerto]`, and leaves it where it says that already.
    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        let comment = if self.is_new() {
            COMMENTS.iter().find(|(of, _)| *of == key)
        } else {
            None
        };
        let value: Value = value.into();
        let table = self.document.entry("zerto").or_insert_with(toml_edit::table);
        let Some(table) = table.as_table_like_mut() else {
            return;
        };
        match table.get_mut(key) {
            Some(item) if says(item, &value) => {}
            Some(item) => {
                // A comment behind the value stays.
                let suffix = item.as_value().and_then(|old| old.decor().suffix().cloned());
                let mut value = value.decorated(" ", "");
                if let Some(suffix) = suffix {
                    value.decor_mut().set_suffix(suffix);
                }
                *item = Item::Value(value);
            }
            None => {
                table.insert(key, Item::Value(value));
                if let (Some((_, words)), Some(mut key)) = (comment, table.key_mut(key)) {
                    key.leaf_decor_mut().set_prefix(format!("# {words}\n"));
                }
            }
        }
    }

    /// Says where the secret is, by one key, in the place of whatever said so before.
    pub(super) fn set_secret(&mut self, key: &str, value: impl Into<Value>) {
        self.unset(&SECRETS, key);
        self.set(key, value);
    }

    /// Says what is trusted, in the place of whatever said so before.
    pub(super) fn set_trust(&mut self, key: &str, value: impl Into<Value>) {
        self.unset(&TRUSTS, key);
        self.set(key, value);
    }

    fn unset(&mut self, keys: &[&str], but: &str) {
        if let Some(zerto) = self.document.get_mut("zerto").and_then(Item::as_table_like_mut) {
            for key in keys.iter().filter(|key| **key != but) {
                zerto.remove(key);
            }
        }
    }

    /// Sets a key outside `[zerto]`: of a table, or of none.
    pub(super) fn set_elsewhere(&mut self, table: Option<&str>, key: &str, value: impl Into<Value>) {
        let value = value.into();
        let Some(table) = table else {
            self.document[key] = Item::Value(value);
            return;
        };
        let table = self.document.entry(table).or_insert_with(toml_edit::table);
        if let Some(table) = table.as_table_like_mut()
            && !table.get(key).is_some_and(|item| says(item, &value))
        {
            table.insert(key, Item::Value(value));
        }
    }

    /// Adds catalogs to those that are named already.
    pub(super) fn add_catalogs(&mut self, paths: &[String]) {
        let policy = self.document.get("policy").and_then(Item::as_table_like);
        let named = policy.and_then(|policy| policy.get("catalogs")?.as_array());
        let mut all: Vec<String> = named
            .into_iter()
            .flatten()
            .filter_map(|path| path.as_str().map(str::to_owned))
            .collect();
        let new: Vec<String> = paths.iter().filter(|path| !all.contains(path)).cloned().collect();
        if !new.is_empty() {
            all.extend(new);
            self.set_elsewhere(Some("policy"), "catalogs", list(&all));
        }
    }

    /// The configuration that it makes.
    pub(super) fn check(&self) -> Result<Config, InitError> {
        Ok(config::parse(&self.path, &self.document.to_string())?)
    }

    /// How the ZVM is reached, where nothing else has to be known yet.
    pub(super) fn check_zerto(&self) -> Result<config::Zerto, InitError> {
        Ok(self.check()?.zerto)
    }

    /// Plans it into its file, in the form that the file has. Answers whether anything has to be written, and where the
    /// copy of what is there now will be.
    pub(super) fn plan(
        &self,
        readers: Readers,
        copies: &Copies,
        files: &mut Transaction,
    ) -> Result<Option<Option<PathBuf>>, InitError> {
        let mut document = self.document.clone();
        if self.is_new() && readers == Readers::Everybody {
            write_places(&mut document, true);
        }
        let text = document.to_string();
        let text = match &self.before {
            Some(_) if text == self.unchanged => return Ok(None),
            Some(form) => form.dress(&text),
            None => text,
        };
        let copy = file::plan_write(&self.path, text.into_bytes(), readers, copies, files)?;
        Ok(Some(copy))
    }
}

/// Whether an item is this value, whatever stands around it.
fn says(item: &Item, value: &Value) -> bool {
    let bare = |value: &Value| value.clone().decorated("", "").to_string();
    item.as_value().is_some_and(|old| bare(old) == bare(value))
}

/// Writes out where everything is kept, which variables of the environment would decide otherwise. In a configuration for
/// every user of the machine, the policies are root's, and all else is each user's own.
fn write_places(document: &mut DocumentMut, for_everybody: bool) {
    for place in config::custom_places() {
        let path = match place.table {
            "policy" if for_everybody => Some(MACHINE_STORE.to_owned()),
            _ => written(&place, for_everybody),
        };
        let Some(path) = path else { continue };
        let table = document.entry(place.table).or_insert_with(toml_edit::table);
        if let Some(table) = table.as_table_like_mut() {
            table.insert(place.key, Item::Value(path.into()));
        }
    }
}

/// A place as a configuration names it: where it is now; for every user of the machine, below the home folder that the user
/// database names.
fn written(place: &config::Unnamed, for_everybody: bool) -> Option<String> {
    if for_everybody {
        let below = if place.table == "policy" {
            ".local/share"
        } else {
            ".local/state"
        };
        return Some(format!("~/{below}/holdpoint/{}", place.name));
    }
    Some(place.now.as_ref().ok()?.to_str()?.to_owned())
}

/// Writes such places into a configuration file that is there already, each under its table and key.
///
/// # Errors
///
/// Where the file cannot be read, changed or written.
pub(crate) fn add_places(path: &Path, places: &[config::Unnamed]) -> Result<(), InitError> {
    let mut files = Transaction::new();
    let mut document = Document::open(path, &mut files)?;
    let for_everybody = path == config::Places::find(None).machine;
    for place in places {
        if let Some(written) = written(place, for_everybody) {
            document.set_elsewhere(Some(place.table), place.key, written);
        }
    }
    document.check()?;
    let (readers, copies) = if for_everybody {
        (Readers::Everybody, place::machine_copies())
    } else {
        (Readers::Owner, place::user_copies())
    };
    document.plan(readers, &copies, &mut files)?;
    Ok(files.apply()?)
}

/// A list of words.
pub(super) fn list(words: &[String]) -> Value {
    words.iter().map(String::as_str).collect::<Array>().into()
}

/// Plans a secret into a file that only its owner can read. One that is there already is left alone if it says the same;
/// another one is replaced where `init` made it, and is an error where it did not.
pub(super) fn plan_secret(
    path: &Path,
    secret: &str,
    copies: &Copies,
    files: &mut Transaction,
) -> Result<(), InitError> {
    let target = files.target(path)?;
    let there = files.read(path)?.map(<[u8]>::to_owned);
    let is_ours = copies.before(files, &target)? == Some(Before::Absent);
    let text = format!("{secret}\n").into_bytes();
    match there {
        Some(bytes) if bytes.trim_ascii_end() == secret.as_bytes() => Ok(()),
        Some(_) if !is_ours => {
            let path = path.display();
            Err(InitError::Other(format!(
                "{path} is there and holds something else; name another file by --secret-file, or remove it"
            )))
        }
        // No copy: nobody wants an older secret back, and it would be one more place to find it in.
        Some(_) => Ok(files.write(path, text, Readers::Owner)?),
        None => Ok(file::plan_write(path, text, Readers::Owner, copies, files).map(drop)?),
    }
}
