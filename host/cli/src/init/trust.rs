//! What makes the ZVM's certificate trusted, and what the ZVM shows. Nothing secret is asked for before that is settled.

use std::path::PathBuf;

use holdpoint_hook::zerto;
use holdpoint_runtime::sandbox::capabilities::in_words;
use holdpoint_zerto::{Certificate, Trust};

use super::certificate::{Handshake, in_two_words, shake_hands, with_colons};
use super::document::Document;
use super::questions::Questions;
use super::zvm::{Trusted, absolute};
use super::{InitError, Report};

/// Says in the document what is trusted, and answers whether what the ZVM shows now is.
pub(super) fn complete(
    wanted: Option<Trusted>,
    url: &str,
    document: &mut Document,
    questions: &Questions,
    report: &mut Report,
) -> Result<bool, InitError> {
    match wanted {
        Some(Trusted::CaFile(path)) => {
            let path = absolute(&path)?;
            let is_trusted = match shake_hands(url, Trust::CaFile(path.clone().into())) {
                Handshake::Trusted => {
                    report.done(vouched_for(url, &path));
                    true
                }
                Handshake::Distrusted(seen) => {
                    return Err(InitError::Other(not_vouched_for(url, &path, &seen)));
                }
                Handshake::Nobody(why) => {
                    report.remark(not_reached(url, &why));
                    false
                }
            };
            document.set_trust("ca_file", path);
            Ok(is_trusted)
        }
        Some(Trusted::Pin(pin)) => {
            document.set_trust("pin", pin.as_str());
            let bytes = document.check()?.zerto.fingerprint();
            match shake_hands(url, Trust::Pin(bytes.unwrap_or_default())) {
                Handshake::Trusted => {
                    report.done(format!("{url} shows the pinned certificate."));
                    Ok(true)
                }
                Handshake::Distrusted(seen) if Some(seen.sha256.as_str()) == hex(bytes).as_deref() => {
                    Err(InitError::Other(format!(
                        "{url} shows the pinned certificate, and yet {}",
                        problem(&seen)
                    )))
                }
                Handshake::Distrusted(seen) => Err(InitError::Other(format!(
                    "{url} shows another certificate than the pinned one, with the SHA-256 {}",
                    in_two_words(&seen.sha256)
                ))),
                Handshake::Nobody(why) => {
                    report.remark(not_reached(url, &why));
                    Ok(false)
                }
            }
        }
        None if document.has_trust() => look_again(url, document, report),
        Some(Trusted::FirstSeen) => pin_first_seen(url, document, report),
        None => trust_what_is_seen(url, document, questions, report),
    }
}

/// What the configuration trusts already stays. Whether it still fits is said.
fn look_again(url: &str, document: &Document, report: &mut Report) -> Result<bool, InitError> {
    let denied = "Every change is denied until it is trusted";
    let handshake = match zerto::trust(&document.check()?.zerto) {
        Ok(trust) => shake_hands(url, trust),
        Err(error) => Handshake::Nobody(in_words(&error)),
    };
    match handshake {
        Handshake::Trusted => return Ok(true),
        Handshake::Distrusted(seen) => report.remark(format!(
            "{url} shows a certificate that the configuration does not trust ({}), with the SHA-256 {}. {denied}: compare it at \
             the ZVM, then run init again with --pin sha256:{} or with --ca-file.",
            problem(&seen),
            in_two_words(&seen.sha256),
            seen.sha256
        )),
        Handshake::Nobody(why) => report.remark(not_reached(url, &why)),
    }
    Ok(false)
}

/// Pins whatever is shown now.
fn pin_first_seen(url: &str, document: &mut Document, report: &mut Report) -> Result<bool, InitError> {
    // Trusting nothing, so that it is seen in every case.
    match shake_hands(url, Trust::Pin([0; 32])) {
        Handshake::Distrusted(seen) => {
            pin(&seen, document, report);
            Ok(true)
        }
        Handshake::Nobody(why) => Err(InitError::Other(format!("{url} shows no certificate now: {why}"))),
        Handshake::Trusted => Err(InitError::Other(format!(
            "{url} shows no certificate now; try again"
        ))),
    }
}

/// Nothing was named: where the system does not vouch for the certificate, a human has to.
fn trust_what_is_seen(
    url: &str,
    document: &mut Document,
    questions: &Questions,
    report: &mut Report,
) -> Result<bool, InitError> {
    match shake_hands(url, Trust::System) {
        Handshake::Trusted => {
            report.done(format!(
                "{url} shows a certificate that this system's authorities vouch for."
            ));
            Ok(true)
        }
        Handshake::Nobody(why) => {
            report.remark(not_reached(url, &why));
            report.remark("Only certificates that this system's authorities vouch for are trusted. For a self-signed one, run init again with --pin or --ca-file.");
            Ok(false)
        }
        Handshake::Distrusted(seen) if questions.can_ask() => {
            ask(&seen, url, document, questions, report)?;
            Ok(true)
        }
        Handshake::Distrusted(seen) => Err(InitError::Other(format!(
            "this system does not vouch for the certificate of {url}, SHA-256 {}: compare it at the ZVM and say --pin \
             sha256:{}, or name its authority by --ca-file, or trust what is shown now by --trust-on-first-use",
            in_two_words(&seen.sha256),
            seen.sha256
        ))),
    }
}

/// Lets a human pin what is seen, name its authority, or stop.
fn ask(
    seen: &Certificate,
    url: &str,
    document: &mut Document,
    questions: &Questions,
    report: &mut Report,
) -> Result<(), InitError> {
    let [first, second] = with_colons(&seen.sha256);
    let question = format!(
        "This system does not vouch for the certificate of {url}. Its SHA-256 is\n  {first}\n  {second}\nWhoever stands in \
         between can show one of their own: compare it at the ZVM itself."
    );
    let choices = [
        "it is the right one: pin it",
        "name the file of its authority's certificate (CA, PEM)",
        "stop, nothing is written",
    ];
    loop {
        match questions.decision(&question, &choices)? {
            0 => {
                pin(seen, document, report);
                return Ok(());
            }
            1 => {
                let path = questions.line("the authority", "--ca-file", "The CA file", None)?;
                let path = absolute(&PathBuf::from(path))?;
                match shake_hands(url, Trust::CaFile(path.clone().into())) {
                    Handshake::Trusted => {
                        report.done(vouched_for(url, &path));
                        document.set_trust("ca_file", path);
                        return Ok(());
                    }
                    Handshake::Distrusted(seen) => {
                        questions.tell(&not_vouched_for(url, &path, &seen))?;
                    }
                    Handshake::Nobody(why) => questions.tell(&not_reached(url, &why))?,
                }
            }
            _ => return Err(InitError::Declined),
        }
    }
}

fn pin(seen: &Certificate, document: &mut Document, report: &mut Report) {
    document.set_trust("pin", format!("sha256:{}", seen.sha256));
    report.done(format!(
        "The certificate with the SHA-256 {} is pinned.",
        in_two_words(&seen.sha256)
    ));
}

fn vouched_for(url: &str, path: &str) -> String {
    format!("{url} shows a certificate that {path} vouches for.")
}

fn not_vouched_for(url: &str, path: &str, seen: &Certificate) -> String {
    format!(
        "{path} does not vouch for the certificate that {url} shows, SHA-256 {}: {}",
        in_two_words(&seen.sha256),
        problem(seen)
    )
}

/// Why a certificate was refused.
fn problem(seen: &Certificate) -> &str {
    seen.problem.as_deref().unwrap_or("it is not trusted")
}

fn hex(pin: Option<[u8; 32]>) -> Option<String> {
    Some(pin?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn not_reached(url: &str, why: &str) -> String {
    format!("{url} could not be asked for its certificate now: {why}")
}
