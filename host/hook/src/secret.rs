//! Where the password or the client's secret comes from. It is read as late as possible, and shown nowhere.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use holdpoint_common::read::{self, limit};
use holdpoint_common::text::decoded;
use holdpoint_common::{access, way};
use holdpoint_config as config;
use holdpoint_runtime::sandbox::capabilities::{Error, in_words};
use holdpoint_store::child::{self, ChildError};
use holdpoint_zerto::Secret;
use zeroize::Zeroizing;

/// How long a program has to tell the secret, where the deadline is not before: a human may have to unlock something.
const PATIENCE: Duration = Duration::from_secs(30);
/// What has to be left of the deadline after that, for the ZVM.
const REST: Duration = Duration::from_secs(1);
/// The service that items in a keyring belong to.
const KEYRING_SERVICE: &str = "holdpoint";

/// Reads the secret from where the configuration says that it is.
///
/// # Errors
///
/// Unauthorized, where it is not there or may be read by others.
pub fn read(config: &config::Zerto, deadline: Instant) -> Result<Secret, Error> {
    if let Some(name) = &config.secret_env {
        let value = holdpoint_common::environment::var(name).filter(|value| !value.is_empty());
        return value.map(Secret::new).ok_or_else(|| {
            Error::Unauthorized(format!(
                "the environment variable {name}, which zerto.secret_env names, is not set"
            ))
        });
    }
    if let Some(path) = &config.secret_file {
        return from_file(path);
    }
    if let Some(command) = &config.secret_command {
        return from_program("zerto.secret_command", command, deadline);
    }
    if let Some(name) = &config.secret_keyring {
        let program = keyring(name).ok_or_else(|| {
            let text = "zerto.secret_keyring is set, and there is no program here that reads a keyring";
            Error::Unauthorized(text.into())
        })?;
        return from_program("zerto.secret_keyring", &program, deadline);
    }
    if let Some(password) = &config.legacy_password {
        return Ok(Secret::new(password.0.clone()));
    }
    if config.is_original() {
        return Err(Error::Unauthorized(format!(
            "{} is not configured",
            config.named("secret")
        )));
    }
    Err(Error::Unauthorized(
        "none of zerto.secret_env, secret_file, secret_command and secret_keyring is configured".into(),
    ))
}

fn from_file(path: &Path) -> Result<Secret, Error> {
    let unreadable = |cause: std::io::Error| {
        Error::Unauthorized(format!(
            "zerto.secret_file {} cannot be read ({cause})",
            path.display()
        ))
    };
    let (file, metadata) = read::open(path).map_err(unreadable)?;
    if access::readable_by_others(&metadata) {
        let path = path.display();
        let text = format!("zerto.secret_file may be read by others; mend it with: chmod 600 {path}");
        return Err(Error::Unauthorized(text));
    }
    way::check(path)
        .map_err(|problem| Error::Unauthorized(format!("zerto.secret_file {} {problem}", path.display())))?;
    let bytes = read::read_opened(&file, &metadata, limit::SECRET).map(Zeroizing::new);
    // PowerShell 5.1 and Notepad begin a file with a byte order mark, which is no part of the secret.
    let text = decoded(&bytes.map_err(unreadable)?)
        .map(Zeroizing::new)
        .ok_or_else(|| {
            Error::Unauthorized(format!(
                "zerto.secret_file {} is not a text in UTF-8 or UTF-16; save it as UTF-8",
                path.display()
            ))
        })?;
    if text.trim().is_empty() {
        return Err(Error::Unauthorized(format!(
            "zerto.secret_file {} is empty",
            path.display()
        )));
    }
    Ok(without_line_end(&text))
}

/// Where the secret is missing, and what to do, as far as that can be told without starting anything.
pub fn check(config: &config::Zerto) -> Result<(), (String, String)> {
    if let Some(command) = &config.secret_command {
        return check_program("zerto.secret_command", command);
    }
    if let Some(program) = config.secret_keyring.as_deref().and_then(keyring) {
        return check_program("zerto.secret_keyring", &program);
    }
    // Nothing is started any more, so that no time passes.
    read(config, Instant::now()).map(drop).map_err(|error| {
        let fix = match (&config.secret_env, &config.secret_file) {
            (Some(name), _) => {
                format!("set {name} where the harness is started, or set zerto.secret_file to a file that holds the secret")
            }
            (None, Some(path)) => file_fix(path),
            (None, None) => "holdpoint init, or set zerto.secret_file to a file that holds the secret".into(),
        };
        (text_of(error), fix)
    })
}

fn text_of(error: Error) -> String {
    match error {
        Error::Unauthorized(text) => text,
        other => in_words(&other),
    }
}

/// What makes a secret's file one that is used.
fn file_fix(path: &Path) -> String {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            format!("set zerto.secret_file to the file that holds the secret: {shown} is a folder")
        }
        Ok(_) if access::first_closed(path).is_some() => {
            format!("make {shown} readable for this user alone, or set zerto.secret_file to another file")
        }
        _ => format!("write the password or the client's secret into {shown}, and chmod 600 {shown}"),
    }
}

/// A program that is not there. What a configuration names so may be the secret itself, and is not shown.
fn shown<'a>(key: &str, program: &'a str) -> &'a str {
    match key {
        "zerto.secret_command" => "the program",
        _ => program,
    }
}

fn check_program(key: &str, command: &[String]) -> Result<(), (String, String)> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let problem = |what: String, fix: String| Err((format!("{program}, which {key} starts, {what}"), fix));
    match std::fs::metadata(program) {
        Err(cause) => {
            let named = shown(key, program);
            Err((
                format!("{named}, which {key} starts, is not there ({cause})"),
                format!("install {named}, or write its whole path into {key}"),
            ))
        }
        Ok(found) if !found.is_file() || !access::is_executable(&found) => problem(
            "is not a program that can be started".into(),
            format!("chmod a+x {program}, or correct {key}"),
        ),
        Ok(found) if access::writable_by_others(&found) => {
            problem("may be written by others".into(), format!("chmod go-w {program}"))
        }
        Ok(_) => Ok(()),
    }
}

/// Editors and programs end with a line break, which is no part of the secret.
fn without_line_end(text: &str) -> Secret {
    Secret::new(text.trim_end_matches(['\r', '\n']))
}

/// The system's own program that prints an item of the keyring. By its whole path: a project may set `PATH` for hooks.
fn keyring(name: &str) -> Option<Vec<String>> {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &[
            "/usr/bin/security",
            "find-generic-password",
            "-s",
            KEYRING_SERVICE,
            "-a",
            name,
            "-w",
        ]
    } else if cfg!(unix) {
        &[
            "/usr/bin/secret-tool",
            "lookup",
            "service",
            KEYRING_SERVICE,
            "account",
            name,
        ]
    } else {
        return None;
    };
    Some(words.iter().map(|&word| word.to_owned()).collect())
}

/// What a program prints. What it says of a failure is not passed on: it may hold what it should not.
fn from_program(key: &str, command: &[String], deadline: Instant) -> Result<Secret, Error> {
    let (program, arguments) = command.split_first().expect("the configuration was checked");
    let failed = |why: &str| {
        Error::Unauthorized(format!(
            "{program}, which {key} starts, {why}; run it by hand, as this user, to see what is wrong"
        ))
    };
    let metadata = std::fs::metadata(program).map_err(|cause| {
        let named = shown(key, program);
        Error::Unauthorized(format!(
            "{named}, which {key} starts, is not there ({cause}); put its whole path there, and run it by hand, as this \
             user"
        ))
    })?;
    if access::writable_by_others(&metadata) {
        let text = format!(
            "{program}, which {key} starts, may be written by others; mend it with: chmod go-w {program}"
        );
        return Err(Error::Unauthorized(text));
    }
    way::check(Path::new(program))
        .map_err(|problem| Error::Unauthorized(format!("{program}, which {key} starts, {problem}")))?;
    let left = deadline
        .saturating_duration_since(Instant::now())
        .saturating_sub(REST);
    let printed = child::run(Command::new(program).args(arguments), &[], left.min(PATIENCE));
    let printed = printed.map_err(|error| match error {
        ChildError::Late(_) => failed("was not done in time and was ended"),
        ChildError::Failed { status, .. } => failed(&format!("failed ({status})")),
        other => failed(&other.to_string()),
    })?;
    let text = decoded(&printed).ok_or_else(|| failed("printed something that is not text"))?;
    if text.trim().is_empty() {
        return Err(failed("printed nothing"));
    }
    Ok(without_line_end(&text))
}
