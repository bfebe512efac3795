//! A log-in that outlives its process: what is written of it, and when it still counts.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};
use zeroize::Zeroizing;

use crate::keeper::Keeper;
use crate::settings::{Secret, Settings};

/// The form in which log-ins are written.
const FORM: u64 = 1;

/// How long a refused log-in is not sent again. Accounts are locked after some three to ten failures within half an hour.
const REFUSED_PAUSE: Duration = Duration::from_secs(10 * 60);
/// How long to wait for another process that is logging in.
const LONGEST_TURN: Duration = Duration::from_secs(2);
const TURN_PAUSE: Duration = Duration::from_millis(10);

/// What is kept under one binding.
#[derive(Debug)]
pub(crate) struct Shelf {
    keeper: Option<Arc<dyn Keeper>>,
    binding: String,
    keeps_log_ins: bool,
}

/// A log-in as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The header that says who is asking.
    pub(crate) header: String,
    pub(crate) value: Zeroizing<String>,
    /// How long it is still used.
    pub(crate) life: Duration,
    /// The ZVM's answer to which site it is, where it was asked.
    pub(crate) site: Option<Option<String>>,
}

impl Shelf {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            keeper: settings.keeper.clone(),
            binding: settings.binding(),
            keeps_log_ins: settings.keep_log_in,
        }
    }

    /// The log-in that was kept, if it is good for these settings and has not ended.
    pub(crate) fn load(&self) -> Option<Kept> {
        let (bytes, age) = self.log_ins()?.load(&self.name("login"))?;
        let kept = read(&bytes, &self.binding)?;
        let life = kept.life.checked_sub(age).filter(|life| !life.is_zero())?;
        Some(Kept { life, ..kept })
    }

    pub(crate) fn store(&self, kept: &Kept) {
        if let Some(keeper) = self.log_ins() {
            keeper.store(&self.name("login"), &written(kept, &self.binding));
        }
    }

    pub(crate) fn discard(&self) {
        if let Some(keeper) = self.log_ins() {
            keeper.discard(&self.name("login"));
        }
    }

    fn log_ins(&self) -> Option<&Arc<dyn Keeper>> {
        self.keeper.as_ref().filter(|_| self.keeps_log_ins)
    }

    /// Why this log-in is not to be sent now: it was refused with the same secret a short while ago, and each further
    /// try brings the account nearer to being locked.
    pub(crate) fn refusal(&self, secret: &Secret) -> Option<String> {
        let (bytes, age) = self.keeper.as_ref()?.load(&self.name("refused"))?;
        let object: Value = serde_json::from_slice(&bytes).ok()?;
        let left = REFUSED_PAUSE.checked_sub(age).filter(|left| !left.is_zero())?;
        let salt = object["salt"].as_u64()?;
        let is_same = object["form"] == FORM
            && object["binding"] == self.binding.as_str()
            && object["mark"].as_u64() == Some(u64::from(mark(salt, secret)));
        is_same.then(|| {
            let minutes = |duration: Duration| duration.as_secs().div_ceil(60);
            format!(
                "{}, {} min ago; so that the account is not locked, the same log-in is not sent again for {} min; fix the \
                 secret, or try at once with: holdpoint doctor",
                object["why"].as_str().unwrap_or("log-in: refused"),
                minutes(age),
                minutes(left)
            )
        })
    }

    /// Remembers that the ZVM refused this log-in.
    pub(crate) fn refuse(&self, secret: &Secret, why: &str) {
        if let Some(keeper) = &self.keeper {
            // The standard library seeds its hashers from the operating system.
            let salt = RandomState::new().build_hasher().finish();
            let mark = mark(salt, secret);
            let object = json!({
                "form": FORM, "binding": self.binding, "salt": salt, "mark": mark, "why": why,
            });
            keeper.store(&self.name("refused"), object.to_string().as_bytes());
        }
    }

    /// Forgets a refusal: the ZVM took the log-in.
    pub(crate) fn forgive(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.discard(&self.name("refused"));
        }
    }

    /// Waits until no other process is logging in, so that of many that begin at once one alone sends a wrong secret.
    /// Whoever holds the lock for longer than a log-in takes is not waited for.
    pub(crate) async fn turn(&self) -> Option<Box<dyn Send>> {
        let keeper = self.keeper.as_ref()?;
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_TURN {
            if let Some(turn) = keeper.try_lock(&self.name("turn")) {
                return Some(turn);
            }
            sleep(TURN_PAUSE).await;
        }
        None
    }

    fn name(&self, kind: &str) -> String {
        format!("{:.32}.{kind}", self.binding)
    }
}

/// Tells a secret from the one before it, and no more: twelve bits of a digest are of no use to whoever reads the file.
fn mark(salt: u64, secret: &Secret) -> u16 {
    let mut digest = Sha256::new();
    digest.update(salt.to_le_bytes());
    digest.update(secret.expose());
    let digest = digest.finalize();
    u16::from_le_bytes([digest[0], digest[1]]) & 0x0fff
}

fn written(kept: &Kept, binding: &str) -> Zeroizing<Vec<u8>> {
    let life = u64::try_from(kept.life.as_millis()).unwrap_or(0);
    let site = kept.site.as_ref().map(|site| json!({ "identifier": site }));
    let object = json!({
        "form": FORM, "binding": binding, "header": kept.header, "value": *kept.value, "life_ms": life, "site": site,
    });
    Zeroizing::new(object.to_string().into_bytes())
}

fn read(bytes: &[u8], binding: &str) -> Option<Kept> {
    let object: Value = serde_json::from_slice(bytes).ok()?;
    if object["form"] != FORM || object["binding"] != binding {
        return None;
    }
    let site = object["site"].as_object();
    Some(Kept {
        header: object["header"].as_str()?.to_owned(),
        value: Zeroizing::new(object["value"].as_str()?.to_owned()),
        life: Duration::from_millis(object["life_ms"].as_u64()?),
        site: site.map(|site| site.get("identifier").and_then(Value::as_str).map(str::to_owned)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        Kept {
            header: "authorization".into(),
            value: Zeroizing::new("Bearer a.b.c".into()),
            life: Duration::from_millis(45_000),
            site: Some(Some("site".into())),
        }
    }

    #[test]
    fn what_is_written_is_read_again_under_the_same_binding_only() {
        for site in [None, Some(None), Some(Some("site".to_owned()))] {
            let kept = Kept { site, ..kept() };
            let bytes = written(&kept, "binding");
            assert!(read(&bytes, "binding") == Some(kept));
            assert!(read(&bytes, "another").is_none());
        }
    }

    #[test]
    fn nonsense_is_nothing() {
        let text = String::from_utf8(written(&kept(), "b").to_vec()).unwrap();
        for bad in [
            String::new(),
            "[]".into(),
            "null".into(),
            text[..text.len() - 1].to_owned(),
            text.replace("45000", "-1"),
            text.replace("\"form\":1", "\"form\":2"),
            text.replace("\"value\"", "\"valve\""),
        ] {
            assert!(read(bad.as_bytes(), "b").is_none(), "{bad}");
        }
    }
}
