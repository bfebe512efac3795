//! Everything that can be told of a file before anything of it runs.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::contract::{Contract, Lent};
use crate::digest::Digest;
use crate::gate::{counts, gate};
use crate::keys::PublicKey;
use crate::layout::Layout;
use crate::limit::LARGEST;
use crate::manifest::Manifest;
use crate::refusal::Refusal;
use crate::sections::{each_export, each_import};
use crate::signature::{Entry, Signatures};
use crate::text::shown;
use crate::time::UtcTime;
use crate::trust::Trust;

/// The most imports, and the most exports, that are told.
const MOST_NAMES: usize = 256;

/// The largest catalog summary that is parsed, in bytes.
const LARGEST_SUMMARY: usize = 256 * 1024;

/// The most lines that one thing of a catalog's summary takes, and the most things of it that are told.
const MOST_LINES: usize = 8;

/// How long such a line may be, in characters.
const WIDTH: usize = 100;

/// Everything that can be told of a file. What the file itself says is true only as far as `refusal` is none.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// Whether it would load here, now.
    pub loads: bool,
    /// Why it would not.
    #[serde(serialize_with = "as_text")]
    pub refusal: Option<Refusal>,
    /// SHA-256 of the whole file, as `sha256sum` prints it.
    pub file: Digest,
    /// The policy's digest, which is the same however it is signed; none where the file is no component.
    pub digest: Option<Digest>,
    /// The file's size in bytes.
    pub size: u64,
    /// What its makers say of it; none where there is no readable manifest.
    pub manifest: Option<Manifest>,
    /// The WIT world that it is built against, with its version: known where it exports a policy.
    pub world: Option<String>,
    /// Its signatures, in the order of the file.
    pub signers: Vec<Signer>,
    /// Its imports, in the order of the file; the first 256.
    pub imports: Vec<Import>,
    /// Its exports, in the order of the file; the first 256.
    pub exports: Vec<String>,
    /// What it says of its catalog, where it says something.
    pub catalog: Option<CatalogSummary>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signer {
    /// The id of the key that the signature says it is by.
    pub key: Option<String>,
    /// The id of the trusted key that it really is by.
    pub trusted: Option<String>,
    /// The first second at which that key counts.
    pub not_before: Option<UtcTime>,
    /// The last second at which that key counts.
    pub not_after: Option<UtcTime>,
    /// Whether the signature counts: right, of this file, and by a key that counts now.
    pub counts: bool,
}

/// One import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Its name, escaped and cut.
    pub name: String,
    /// What becomes of it here.
    pub lent: Lent,
}

/// What a policy says of its catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogSummary {
    /// SHA-256 of the summary.
    pub digest: Digest,
    /// The summary itself, where it is JSON of a sensible size.
    pub summary: Option<Value>,
}

/// Tells everything that can be told of a file, whatever is wrong with it, and asks [`gate()`] whether it would load.
pub fn inspect(bytes: &[u8], trust: &Trust, contract: &Contract<'_>, now: UtcTime) -> Inspection {
    let refusal = gate(bytes, trust, contract, now).err();
    let mut inspection = Inspection {
        loads: refusal.is_none(),
        refusal,
        file: Digest::of(bytes),
        digest: None,
        size: bytes.len() as u64,
        manifest: None,
        world: None,
        signers: Vec::new(),
        imports: Vec::new(),
        exports: Vec::new(),
        catalog: None,
    };
    if bytes.len() <= LARGEST
        && let Ok(layout) = Layout::of(bytes)
    {
        inspection.look_into(&layout, trust, contract, now);
    }
    inspection
}

impl Inspection {
    fn look_into(&mut self, layout: &Layout<'_>, trust: &Trust, contract: &Contract<'_>, now: UtcTime) {
        let digest = Digest::of(layout.signed);
        self.digest = Some(digest);
        self.manifest = layout.manifest().ok().flatten();
        if let Some(Ok(signatures)) = layout.signature.map(Signatures::read) {
            let signers = signatures.entries.iter();
            self.signers = signers
                .map(|entry| Signer::of(entry, &digest, trust, now))
                .collect();
        }
        self.catalog = layout.catalog.map(CatalogSummary::of);
        // What cannot be read any more is why the gate refuses; what was read until then is worth telling.
        let _ = each_import(layout.sections.clone(), |import| {
            if self.imports.len() < MOST_NAMES {
                let (name, lent) = (shown(import), contract.lends(import));
                self.imports.push(Import { name, lent });
            }
            Ok(())
        });
        let _ = each_export(layout.sections.clone(), |export| {
            if let Some(version) = contract.exported(export) {
                self.world = Some(format!("{}/{}@{version}", contract.package, contract.world));
            }
            if self.exports.len() < MOST_NAMES {
                self.exports.push(shown(export));
            }
            Ok(())
        });
    }
}

impl Signer {
    fn of(entry: &Entry<'_>, digest: &Digest, trust: &Trust, now: UtcTime) -> Self {
        let made_it = |key: &PublicKey| entry.may_be_of(key) && entry.is_of(key, digest.as_bytes());
        let mut by = trust
            .keys
            .iter()
            .filter(|key| made_it(&key.public))
            .collect::<Vec<_>>();
        by.sort_by_key(|key| counts(key, trust, now).is_err());
        let by = by.first();
        Self {
            key: entry.named(),
            trusted: by.map(|key| key.id.clone()),
            not_before: by.and_then(|key| key.not_before),
            not_after: by.and_then(|key| key.not_after),
            counts: by.is_some_and(|key| counts(key, trust, now).is_ok()),
        }
    }
}

impl CatalogSummary {
    fn of(contents: &[u8]) -> Self {
        let small = contents.len() <= LARGEST_SUMMARY;
        Self {
            digest: Digest::of(contents),
            summary: small.then(|| serde_json::from_slice(contents).ok()).flatten(),
        }
    }
}

fn as_text<S: serde::Serializer>(refusal: &Option<Refusal>, serializer: S) -> Result<S::Ok, S::Error> {
    refusal.as_ref().map(ToString::to_string).serialize(serializer)
}

/// A line for each fact, for a person to read; ends without a line break.
impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(manifest) = &self.manifest {
            line(
                f,
                "policy",
                format_args!("{} {}", manifest.name, manifest.version),
            )?;
        }
        if let Some(digest) = &self.digest {
            line(f, "digest", digest)?;
        }
        line(f, "file", format_args!("{}, {} bytes", self.file, self.size))?;
        if let Some(world) = &self.world {
            line(f, "built for", world)?;
        }
        if let Some(manifest) = &self.manifest {
            line(f, "made", manifest.made)?;
            line(f, "use until", or(manifest.not_after, "no end"))?;
        }
        if self.signers.is_empty() {
            line(f, "signed by", "nobody")?;
        }
        for signer in &self.signers {
            line(f, "signed by", signer)?;
        }
        for import in &self.imports {
            line(f, "imports", import)?;
        }
        for export in &self.exports {
            line(f, "exports", export)?;
        }
        if let Some(catalog) = &self.catalog {
            line(f, "catalog", catalog)?;
        }
        match &self.refusal {
            None => write!(f, "{:<12}yes", "loads"),
            Some(refusal) => write!(f, "{:<12}no: {refusal}", "loads"),
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.key.as_deref().unwrap_or("(unnamed)");
        let Some(trusted) = &self.trusted else {
            return write!(f, "key {named}, not trusted here");
        };
        f.write_str(trusted)?;
        if trusted != named {
            write!(f, ", key {named}")?;
        }
        if let Some(from) = self.not_before {
            write!(f, ", from {from}")?;
        }
        if let Some(until) = self.not_after {
            write!(f, ", until {until}")?;
        }
        f.write_str(if self.counts { "" } else { ", does not count" })
    }
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lent = match self.lent {
            Lent::Granted => "granted",
            Lent::Types => "types only",
            Lent::Empty => "empty",
            Lent::NotGranted => "NOT GRANTED",
            Lent::OtherVersion => "ANOTHER VERSION",
            Lent::Unknown => "UNKNOWN",
        };
        write!(f, "{} ({lent})", self.name)
    }
}

/// A line or more for the digest and for each thing that the summary says. What a policy's makers wrote is bounded and
/// escaped: this is printed before anybody trusts it.
impl fmt::Display for CatalogSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.digest)?;
        match &self.summary {
            Some(Value::Object(said)) => {
                for (key, value) in said.iter().take(MOST_LINES) {
                    write!(f, "\n{:<12}", shown(key))?;
                    wrapped(f, &words(value))?;
                }
                Ok(())
            }
            Some(summary) => write!(f, " {}", shown(&summary.to_string())),
            None => Ok(()),
        }
    }
}

/// A list with how many it has, a table as its keys with their values; each part fit to be printed.
fn words(value: &Value) -> Vec<String> {
    let plain = |value: &Value| match value {
        Value::String(text) => shown(text),
        other => shown(&other.to_string()),
    };
    let with_commas = |mut words: Vec<String>| {
        let last = words.len().saturating_sub(1);
        words[..last].iter_mut().for_each(|word| word.push(','));
        words
    };
    match value {
        Value::Array(items) => {
            let mut words = with_commas(items.iter().map(plain).collect());
            words.insert(0, format!("{}:", items.len()));
            words
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{} {}", shown(key), plain(value));
            with_commas(entries.iter().map(entry).collect())
        }
        other => vec![plain(other)],
    }
}

/// Words on lines that end where others begin, indented as the first.
fn wrapped(f: &mut fmt::Formatter<'_>, words: &[String]) -> fmt::Result {
    let (mut width, mut lines) = (12, 1);
    for (at, word) in words.iter().enumerate() {
        let length = word.chars().count() + 1;
        if at > 0 && width + length > WIDTH {
            if lines == MOST_LINES {
                return write!(f, " … and {} more", words.len() - at);
            }
            write!(f, "\n{:12}", "")?;
            (width, lines) = (12, lines + 1);
        } else if at > 0 {
            f.write_str(" ")?;
        }
        f.write_str(word)?;
        width += length;
    }
    Ok(())
}

fn line(f: &mut fmt::Formatter<'_>, what: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{what:<12}{value}")
}

fn or(value: Option<impl fmt::Display>, otherwise: &str) -> String {
    value.map_or_else(|| otherwise.into(), |value| value.to_string())
}
