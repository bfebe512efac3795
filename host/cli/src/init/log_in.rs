//! The log-in, tried before anything is written.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdpoint_config::{self as config, Config, LoginKind};
use holdpoint_hook::{secret, zerto};
use holdpoint_runtime::sandbox::capabilities::in_words;
use holdpoint_setup::file::{Before, Copies, Transaction};
use holdpoint_zerto::{Error, Secret, Settings};

use super::certificate::PATIENCE;
use super::document::Document;
use super::questions::Questions;
use super::zvm::{self, Typed};
use super::{InitError, Report};
use crate::terminal::Progress;

/// What came of it.
enum Outcome {
    LoggedIn,
    /// Not tried: what the ZVM shows is not trusted.
    NotTried,
    /// The secret cannot be read yet.
    NoSecret(String),
    /// The ZVM says no.
    TurnedDown(String),
    /// No answer to go by.
    Failed(String),
}

/// Tries the log-in. At a terminal, what the ZVM turns down is asked for again, with what is known as the proposal; in a
/// script, and where a human leaves it as it is, it is said.
pub(super) fn settle(
    document: &mut Document,
    mut typed: Typed,
    is_trusted: bool,
    copies: &Copies,
    questions: &Questions,
    report: &mut Report,
) -> Result<Typed, InitError> {
    loop {
        let config = document.check()?;
        let outcome = attempt(
            &config,
            typed.as_ref().map(|(_, secret)| secret.as_str()),
            is_trusted,
        );
        let why = match &outcome {
            Outcome::TurnedDown(why) => format!("The ZVM turned this log-in down: {why}"),
            Outcome::NoSecret(why) if config.zerto.secret_env.is_none() => {
                format!("The secret cannot be read: {why}")
            }
            _ => {
                tell(&outcome, &config, report);
                return Ok(typed);
            }
        };
        if !questions.can_ask() {
            tell(&outcome, &config, report);
            return Ok(typed);
        }
        questions.tell(&format!(
            "{why}. Correct it, or press Enter to keep what is there."
        ))?;
        let changed = ask_again(document, &mut typed, &config, copies, questions)?;
        if !changed {
            tell(&outcome, &config, report);
            return Ok(typed);
        }
    }
}

/// Asks for the user and the secret again. Answers whether anything is different now.
fn ask_again(
    document: &mut Document,
    typed: &mut Typed,
    config: &Config,
    copies: &Copies,
    questions: &Questions,
) -> Result<bool, InitError> {
    let (key, what, option, question) = match config.zerto.login {
        LoginKind::ClientCredentials => (
            "client_id",
            "the Keycloak client",
            "--client-id",
            "The Keycloak client",
        ),
        LoginKind::Password | LoginKind::WindowsSession => {
            ("username", "the user", "--username", "The user at the ZVM")
        }
    };
    let known = document.get(key).map(str::to_owned);
    let said = questions.line(what, option, question, known.as_deref())?;
    let mut changed = Some(&said) != known.as_ref();
    document.set(key, said);
    match own_secret_file(typed, config, copies) {
        Some(file) => {
            let said = questions.secret("The secret, or Enter for the one that is there")?;
            if !said.is_empty() {
                changed = true;
                *typed = Some((file, said));
            }
        }
        None => {
            let question = "Is the secret elsewhere?";
            let choices = ["no, where it was", "yes"];
            if questions.choice("the secret's place", zvm::SECRET_OPTIONS, question, &choices)? == 1 {
                changed = true;
                *typed = zvm::ask_again_for_secret(document, questions)?;
            }
        }
    }
    Ok(changed)
}

/// The file with the secret, where it is typed in or came from `init`: what is typed now can go there.
fn own_secret_file(typed: &Typed, config: &Config, copies: &Copies) -> Option<PathBuf> {
    if let Some((file, _)) = typed {
        return Some(file.clone());
    }
    let file = config.zerto.secret_file.clone()?;
    let is_ours = |file: &Path| {
        let mut files = Transaction::new();
        let target = files.target(file)?;
        copies.before(&mut files, &target)
    };
    is_ours(&file)
        .is_ok_and(|before| before == Some(Before::Absent))
        .then_some(file)
}

fn attempt(config: &Config, typed: Option<&str>, is_trusted: bool) -> Outcome {
    let secret = match typed {
        Some(typed) => Secret::new(typed),
        None => match secret::read(&config.zerto, Instant::now() + Duration::from_secs(31)) {
            Ok(secret) => secret,
            Err(error) => return Outcome::NoSecret(in_words(&error)),
        },
    };
    if !is_trusted {
        return Outcome::NotTried;
    }
    match zerto::settings_with(&config.zerto, Instant::now() + PATIENCE, || Ok(secret)) {
        Ok(settings) => log_in(&config.zerto, settings),
        Err(error) => Outcome::Failed(in_words(&error)),
    }
}

fn log_in(config: &config::Zerto, settings: Settings) -> Outcome {
    let _progress = Progress::begin("logging in at the ZVM");
    let failed = |error: &dyn std::fmt::Display| Outcome::Failed(error.to_string());
    let zvm = match holdpoint_zerto::Zvm::new(zerto::by_hand(config, settings)) {
        Ok(zvm) => zvm,
        Err(error) => return failed(&error),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let answered = runtime.block_on(zvm.log_in());
    // A look-up of a name that hangs in a thread is not waited for.
    runtime.shutdown_background();
    match answered {
        Ok(_) => Outcome::LoggedIn,
        Err(error @ Error::Unauthorized(_)) => Outcome::TurnedDown(error.to_string()),
        Err(error) => failed(&error),
    }
}

fn tell(outcome: &Outcome, config: &Config, report: &mut Report) {
    if let Some(name) = &config.zerto.secret_env {
        report.remark(format!(
            "Claude Code has to be started with {name} in its environment."
        ));
    }
    match outcome {
        Outcome::LoggedIn => report.done("The ZVM takes the log-in.".into()),
        Outcome::NotTried => {}
        Outcome::NoSecret(why) => report.remark(format!(
            "The secret cannot be read yet, and every change is denied until it can: {why}"
        )),
        Outcome::TurnedDown(why) => report.remark(format!(
            "The ZVM turned this log-in down, and every change is denied until it takes it: {why}"
        )),
        Outcome::Failed(why) => report.remark(format!(
            "The log-in could not be tried, and every change is denied until it works: {why}"
        )),
    }
}
