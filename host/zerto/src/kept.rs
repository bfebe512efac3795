//! A log-in that outlives its process: what is written of it, and when it still counts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zeroize::Zeroizing;

/// The form in which log-ins are written.
const FORM: u64 = 1;

/// Keeps a log-in for the next process. Nothing it does is an error: whoever finds nothing kept logs in.
///
/// What is kept lets its reader in until it ends, so it has to lie where nobody but this user can read or write.
pub trait Keeper: fmt::Debug + Send + Sync {
    /// What was stored last under this name, and how long ago that was by a clock that nobody sets; none where there is
    /// nothing that can be relied on.
    fn load(&self, name: &str) -> Option<(Zeroizing<Vec<u8>>, Duration)>;

    /// Stores this in place of whatever was there.
    fn store(&self, name: &str, bytes: &[u8]);

    /// Takes away what was stored.
    fn discard(&self, name: &str);
}

/// What is kept under one binding.
#[derive(Debug)]
pub(crate) struct Shelf {
    keeper: Option<Arc<dyn Keeper>>,
    binding: String,
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
    pub(crate) fn new(keeper: Option<Arc<dyn Keeper>>, binding: String) -> Self {
        Self { keeper, binding }
    }

    /// The log-in that was kept, if it is good for these settings and has not ended.
    pub(crate) fn load(&self) -> Option<Kept> {
        let (bytes, age) = self.keeper.as_ref()?.load(&self.name())?;
        let kept = read(&bytes, &self.binding)?;
        let life = kept.life.checked_sub(age).filter(|life| !life.is_zero())?;
        Some(Kept { life, ..kept })
    }

    pub(crate) fn store(&self, kept: &Kept) {
        if let Some(keeper) = &self.keeper {
            keeper.store(&self.name(), &written(kept, &self.binding));
        }
    }

    pub(crate) fn discard(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.discard(&self.name());
        }
    }

    fn name(&self) -> String {
        format!("{:.32}.login", self.binding)
    }
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
