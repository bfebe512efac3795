//! What only the whole chain can tell: links, numbers, keys that follow one another, and what is missing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use holdpoint_artifact::{Digest, PublicKey};

use super::as_decided::AsDecided;
use super::workers::{Checked, SignatureCheck};
use super::{Findings, Report, Trust};
use crate::body::{Body, Event};
use crate::envelope::{self, GENESIS, Receipt};
use crate::error::ReceiptError;
use crate::keyset::{Key, KeySet, KeyStatus};
use crate::moment::Moment;

/// How far a receipt's time may lie outside its key's dates: clocks are set.
const SKEW: Duration = Duration::from_secs(300);

/// The chain so far.
pub(super) struct Chain<'a> {
    trust: &'a Trust,
    own: Option<&'a KeySet>,
    /// Every key that is known, from wherever.
    keys: HashMap<String, PublicKey>,
    /// The ids of those that are trusted.
    trusted: HashSet<String>,
    lines: u64,
    before: Option<Before>,
    /// Whether the last line had no end.
    unfinished: bool,
    has_head: bool,
    set_aside: BTreeSet<String>,
    clock_set_back: u64,
    integrity: Findings,
    signers: Findings,
    missing: Findings,
    as_decided: AsDecided,
    bases: Bases,
    counts: Counts,
}

/// Where the receipts begin, and the bases that are there to begin at.
#[derive(Default)]
struct Bases {
    /// The first receipt's number and what it names before it, where it is not the first of all.
    begins: Option<(u64, Digest)>,
    /// What was archived: up to which receipt, its digest, and in which file.
    archived: Vec<(u64, Digest, String)>,
}

#[derive(Default)]
struct Counts {
    receipts: u64,
    decisions: u64,
    observations: u64,
    first: Option<u64>,
}

/// The receipt before.
struct Before {
    seq: u64,
    digest: Digest,
    issued_at: Moment,
    issuer: String,
    /// The id of the key that has to sign next.
    next_key: String,
    /// Whether there was something in between that could not be read.
    gap: bool,
}

impl<'a> Chain<'a> {
    pub(super) fn new(own: Option<&'a KeySet>, trust: &'a Trust) -> Self {
        let sets = trust.keys.iter().chain(own);
        let keys = sets.flat_map(|set| set.keys.iter().map(|key| (key.id(), key.public)));
        let trusted = trust.keys.iter().flat_map(|set| set.keys.iter().map(Key::id));
        Self {
            trust,
            own,
            keys: keys.collect(),
            trusted: trusted.collect(),
            lines: 0,
            before: None,
            unfinished: false,
            has_head: false,
            set_aside: BTreeSet::new(),
            clock_set_back: 0,
            integrity: Findings::default(),
            signers: Findings::default(),
            missing: Findings::default(),
            as_decided: AsDecided::default(),
            bases: Bases::default(),
            counts: Counts::default(),
        }
    }

    pub(super) fn known_keys(&self) -> HashMap<String, PublicKey> {
        self.keys.clone()
    }

    /// Takes the next line.
    pub(super) fn take(&mut self, line: Checked) {
        if self.unfinished {
            let line = self.lines;
            self.integrity
                .fail(format!("line {line}: has no end, and another one follows"));
        }
        self.lines += 1;
        self.unfinished = !line.ended;
        if self.unfinished {
            // Whether that is bad depends on whether it is the last one.
            return;
        }
        match line.receipt {
            Ok(receipt) => self.receipt(&receipt, &line.signature),
            Err(error) => {
                let finding = format!("line {}: {error}", self.lines);
                match error {
                    ReceiptError::Newer(_) => self.integrity.unchecked(finding),
                    _ => self.integrity.fail(finding),
                }
                if let Some(before) = &mut self.before {
                    before.gap = true;
                }
            }
        }
    }

    fn receipt(&mut self, receipt: &Receipt, signature: &SignatureCheck) {
        self.counts.receipts += 1;
        self.counts.first.get_or_insert(receipt.seq);
        match receipt.body {
            Body::Decision(..) => self.counts.decisions += 1,
            Body::Observation(..) => self.counts.observations += 1,
            Body::Event(_) => {}
        }
        self.link(receipt);
        let signed = self.signature(receipt, signature);
        self.signer(receipt, signed);
        let mut next_key = receipt.signature.kid.clone();
        match &receipt.body {
            Body::Event(Event::KeyChanged { public_key }) => {
                next_key = public_key.id().to_string();
                if signed {
                    self.keys.insert(next_key.clone(), *public_key);
                    if self.trusted.contains(&receipt.signature.kid) {
                        self.trusted.insert(next_key.clone());
                    }
                }
            }
            Body::Event(Event::LineSetAside { file, .. }) => {
                self.set_aside.insert(file.clone());
            }
            Body::Event(Event::Archived {
                through,
                digest,
                file,
            }) => {
                self.bases.archived.push((*through, *digest, file.clone()));
            }
            _ => {}
        }
        self.as_decided.take(receipt);
        self.has_head |= self.trust.head == Some(receipt.digest);
        self.before = Some(Before {
            seq: receipt.seq,
            digest: receipt.digest,
            issued_at: receipt.issued_at,
            issuer: receipt.issuer.clone(),
            next_key,
            gap: false,
        });
    }

    /// Whether it follows the one before.
    fn link(&mut self, receipt: &Receipt) {
        let seq = receipt.seq;
        let Some(before) = &self.before else {
            if seq > 1 {
                // Whether there is a base to begin at may stand further on.
                self.bases.begins = Some((seq, receipt.previous));
            } else if receipt.previous != GENESIS {
                self.integrity.fail(format!(
                    "receipt {seq} is the first by its number, and names one before it"
                ));
            }
            return;
        };
        let known = !before.gap;
        if known && receipt.previous != before.digest {
            self.integrity.fail(format!(
                "receipt {seq} does not continue {}, which stands before it: its link names another one",
                before.seq
            ));
        }
        if seq > before.seq + 1 {
            let (from, to) = (before.seq + 1, seq - 1);
            let finding = if from == to {
                format!("receipt {from} is missing")
            } else {
                format!("receipts {from} to {to} are missing")
            };
            self.missing.fail(finding);
        } else if seq <= before.seq {
            self.integrity
                .fail(format!("receipt {seq} stands after {}", before.seq));
        }
        if receipt.issuer != before.issuer {
            self.integrity
                .fail(format!("receipt {seq} claims another issuer than {}", before.seq));
        }
        if receipt.issued_at < before.issued_at {
            self.clock_set_back += 1;
        }
    }

    fn signature(&mut self, receipt: &Receipt, signature: &SignatureCheck) -> bool {
        let (seq, kid) = (receipt.seq, &receipt.signature.kid);
        let good = match signature {
            SignatureCheck::Good => true,
            SignatureCheck::Bad => false,
            SignatureCheck::UnknownKey(payload) => match self.keys.get(kid) {
                Some(key) => envelope::is_signed(payload, &receipt.signature, key),
                None => {
                    self.integrity.unchecked(format!(
                        "receipt {seq}: the key {kid}, which signed it, is not known"
                    ));
                    return false;
                }
            },
        };
        if !good {
            self.integrity.fail(format!(
                "receipt {seq}: its signature is not the one that the key {kid} makes of it"
            ));
        }
        good
    }

    /// Whether this key may sign, and did when it might.
    fn signer(&mut self, receipt: &Receipt, signed: bool) {
        let (seq, kid) = (receipt.seq, &receipt.signature.kid);
        if let Some(before) = &self.before
            && before.next_key != *kid
            && !before.gap
        {
            self.signers.fail(format!(
                "receipt {seq} is signed by {kid}, and no receipt before it says that {} was changed for that",
                before.next_key
            ));
        }
        if self.trust.keys.is_some() {
            if !self.trusted.contains(kid) {
                self.signers.fail(format!(
                    "receipt {seq}: no trusted key vouches for {kid}, which it names"
                ));
            } else if !signed {
                self.signers
                    .fail(format!("receipt {seq}: {kid}, which it names, did not sign it"));
            }
        }
        let sets = self.trust.keys.as_ref().into_iter().chain(self.own);
        let Some(key) = sets.into_iter().find_map(|set| set.find(kid)) else {
            return;
        };
        let at = receipt.issued_at;
        if key.issuer != receipt.issuer {
            self.signers.fail(format!(
                "receipt {seq} claims an issuer that {kid} is not the key of"
            ));
        }
        if key.not_before.is_some_and(|from| at.plus(SKEW) < from)
            || key.not_after.is_some_and(|to| to.plus(SKEW) < at)
        {
            self.signers.fail(format!(
                "receipt {seq} is of {at}, outside the dates of the key {kid}"
            ));
        }
        match key.status {
            KeyStatus::Active => {}
            KeyStatus::Revoked(Some(from)) if at < from => self.signers.unchecked(format!(
                "receipt {seq}: the key {kid} was revoked at {from}, later than the receipt says of itself, which whoever \
                 has the key can have made up"
            )),
            KeyStatus::Revoked(_) => self
                .signers
                .fail(format!("receipt {seq} is signed by {kid}, which is revoked")),
        }
    }

    /// What came of it; `files` are those that were found set aside.
    pub(super) fn report(mut self, files: &BTreeSet<String>) -> Report {
        let notes = self.notes(files);
        self.beginning();
        let receipts = self.counts.receipts;
        let last = self.before.as_ref();
        if receipts == 0 {
            for part in [&mut self.integrity, &mut self.signers, &mut self.missing] {
                part.unchecked("there are no receipts".into());
            }
        } else {
            if self.trust.keys.is_none() {
                self.signers.unchecked(
                    "no trusted keys were given, and the key set beside the receipts can be replaced together with them"
                        .into(),
                );
            }
            match self.trust.head {
                None => self.missing.unchecked(
                    "no gap up to the last one here; whether others came after it is not to be told from here: give the \
                     digest of a later one, noted elsewhere"
                        .into(),
                ),
                Some(head) if !self.has_head => self
                    .missing
                    .fail(format!("the receipt {} is not there", head.hex())),
                Some(_) => {}
            }
        }
        let all =
            move || format!("{receipts} receipts, every one as it was signed, each following the one before");
        let keys =
            || "every one is signed by a trusted key or by one that a trusted key was changed for".to_owned();
        let none = || "none is missing from the first one to the one that was given".to_owned();
        Report {
            receipts,
            decisions: self.counts.decisions,
            observations: self.counts.observations,
            first: self.counts.first,
            last: last.map(|last| last.seq),
            last_issued_at: last.map(|last| last.issued_at),
            head: last.map(|last| last.digest),
            integrity: self.integrity.part(all),
            signer_trust: self.signers.part(keys),
            completeness: self.missing.part(none),
            as_decided: self.as_decided.part(),
            notes,
        }
    }

    /// Whether the receipts may begin where they do.
    fn beginning(&mut self) {
        let Some((first, previous)) = self.bases.begins else {
            return;
        };
        let fits = |(through, digest, _): &&(u64, Digest, String)| {
            *through + 1 > first || (*through + 1 == first && *digest == previous)
        };
        match self.bases.archived.iter().find(fits) {
            Some((through, _, file)) => self.missing.unchecked(format!(
                "it begins at a base: receipts 1 to {} are not here; those up to {through} were archived, in {file}: verify \
                 them together, with --archive",
                first - 1
            )),
            None => self.missing.fail(format!(
                "receipts 1 to {} are missing: the first one here is {first}",
                first - 1
            )),
        }
    }

    fn notes(&self, files: &BTreeSet<String>) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unfinished {
            notes.push(
                "the last line has no end: its writer was stopped, or is writing it now; the next one to write sets it \
                 aside"
                    .into(),
            );
        }
        for file in self.set_aside.union(files) {
            notes.push(match (self.set_aside.contains(file), files.contains(file)) {
                (true, true) => format!("{file} holds a line that was not finished, and was set aside"),
                (true, false) => {
                    format!("a line that was not finished was set aside as {file}, which is not here")
                }
                (false, _) => format!("{file} was set aside, and no receipt says so"),
            });
        }
        if self.clock_set_back > 0 {
            notes.push(format!(
                "the clock was set back: {} receipts are of an earlier time than the one before",
                self.clock_set_back
            ));
        }
        notes
    }
}
