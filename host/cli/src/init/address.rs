//! Where the ZVM is: tried before anything secret is asked for.

use super::certificate::{Handshake, shake_hands, stranger};
use super::questions::Questions;
use super::{InitError, Report};
use holdpoint_config::{self as config, ConfigError};
use holdpoint_hook::zerto;
use holdpoint_zerto::Trust;

/// Whether it can be an address at all.
pub(super) fn check(url: &str) -> Result<(), InitError> {
    check_named("zerto.url", url)
}

/// As [`check`], for one that stands under another name.
pub(super) fn check_named(name: &str, url: &str) -> Result<(), InitError> {
    // The address itself is not repeated: some write a password into it.
    let checked = holdpoint_zerto::check_address(url);
    checked.map_err(|why| ConfigError::value(name, format!("cannot be used: {why}")).into())
}

/// The address. At a terminal, one where nobody answers, or something else than a ZVM, is asked for again; the same one,
/// given again, is kept. A script's is kept in any case: the ZVM may be down, or reachable from elsewhere only.
pub(super) fn settle(known: Option<String>, questions: &Questions) -> Result<String, InitError> {
    let mut url = match known {
        Some(url) => {
            check(&url)?;
            url
        }
        None => ask(questions, None)?,
    };
    while questions.can_ask() {
        let Some(problem) = problem(&url) else { break };
        questions.tell(&format!(
            "{url}: {problem}. Type another address, or press Enter to keep this one all the same."
        ))?;
        let again = ask(questions, Some(&url))?;
        if again == url {
            break;
        }
        url = again;
    }
    Ok(url)
}

/// What speaks against an address; none where a ZVM may be there.
fn problem(url: &str) -> Option<String> {
    match shake_hands(url, Trust::System) {
        Handshake::Nobody(why) => Some(format!("nothing answers there ({why})")),
        Handshake::Trusted => stranger(url, Trust::System),
        // This very certificate is enough to ask who is there.
        Handshake::Distrusted(seen) => {
            let trust = config::fingerprint(&seen.sha256).map_or(Trust::System, Trust::Pin);
            stranger(url, trust)
        }
    }
}

/// Says so where a script's address leads to something else than a ZVM.
pub(super) fn tell_stranger(url: &str, zerto: &config::Zerto, report: &mut Report) {
    let Ok(trust) = zerto::trust(zerto) else { return };
    if let Some(why) = stranger(url, trust) {
        report.remark(format!("{url} does not seem to be a ZVM: {why}. Check --url."));
    }
}

fn ask(questions: &Questions, default: Option<&str>) -> Result<String, InitError> {
    loop {
        let url = questions.line("the ZVM", "--url", "The ZVM (https://…)", default)?;
        match check(&url) {
            Ok(()) => return Ok(url),
            Err(error) => questions.tell(&error.to_string())?,
        }
    }
}
