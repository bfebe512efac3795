//! The signature section: WebAssembly tool-conventions' embedded signature, read more strictly than it is specified.
//!
//! The section is a custom section named `signature`. What it contains, all numbers LEB128 and each *counted* thing
//! with its length before it:
//!
//! ```text
//! 01 01 01             version of the format, content type (a WebAssembly file), hash function (SHA-256)
//! 01                   number of hash sets: one, for nothing is signed in parts
//! counted:
//!   01 hash[32]        the hashes of the set: one, of everything after this section
//!   n                  number of signatures, 1 to 8
//!   counted, n times:
//!     counted key id   empty, or 12 bytes
//!     01               algorithm: Ed25519
//!     40 signature[64] of `wasmsig` 01 01 01 hash
//! ```

use crate::digest::hex;
use crate::keys::{KeyPair, PublicKey};
use crate::sections::{Cursor, Malformed, put_counted};

/// The name of the section with the signatures.
pub(crate) const NAME: &str = "signature";

/// The name of the sections with which the format divides a file into parts that are signed apart.
pub(crate) const DELIMITER: &str = "signature_delimiter";

/// Version of the format, content type and hash function.
const FORMAT: [u8; 3] = [1, 1, 1];

/// What every signed message begins with.
const DOMAIN: [u8; 7] = *b"wasmsig";

const ED25519: u8 = 1;

/// The most signatures of one file: each costs a verification with each key that may have made it.
pub(crate) const MOST_SIGNATURES: u32 = 8;

/// The longest key id that is read, in bytes.
const LONGEST_KEY_ID: usize = 64;

/// What stands in a signature section. Nothing of it has been verified.
pub(crate) struct Signatures<'b> {
    pub(crate) hash: &'b [u8; 32],
    pub(crate) entries: Vec<Entry<'b>>,
}

/// One signature.
pub(crate) struct Entry<'b> {
    /// Whose it says it is; empty where it doesn't say.
    pub(crate) key_id: &'b [u8],
    signature: &'b [u8; 64],
}

impl Entry<'_> {
    /// Whose it says it is, in hexadecimal digits.
    pub(crate) fn named(&self) -> Option<String> {
        (!self.key_id.is_empty()).then(|| hex(self.key_id))
    }

    /// Whether this may be the key's, by the id.
    pub(crate) fn may_be_of(&self, key: &PublicKey) -> bool {
        self.key_id.is_empty() || self.key_id == key.id().as_bytes()
    }

    pub(crate) fn is_of(&self, key: &PublicKey, hash: &[u8; 32]) -> bool {
        key.verifies(&message(hash), self.signature)
    }
}

impl<'b> Signatures<'b> {
    /// Reads a signature section's contents to their last byte.
    pub(crate) fn read(contents: &'b [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(contents);
        if cursor.array()? != &FORMAT {
            return Err(cursor.malformed("the format, content type or hash function is not 1, 1, 1"));
        }
        if cursor.short_number()? != 1 {
            return Err(cursor.malformed("there is not exactly one set of hashes"));
        }
        let set = cursor.counted()?;
        if !cursor.is_at_end() {
            return Err(cursor.malformed("there is something after the hashes"));
        }
        Self::read_set(set)
    }

    fn read_set(set: &'b [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(set);
        if cursor.short_number()? != 1 {
            return Err(cursor.malformed("there is not exactly one hash, so the file is signed in parts"));
        }
        let hash = cursor.array()?;
        let count = cursor.short_number()?;
        if !(1..=MOST_SIGNATURES).contains(&count) {
            return Err(cursor.malformed("there are not one to eight signatures"));
        }
        let entries = (0..count)
            .map(|_| Entry::read(cursor.counted()?))
            .collect::<Result<_, _>>()?;
        if !cursor.is_at_end() {
            return Err(cursor.malformed("there is something after the signatures"));
        }
        Ok(Self { hash, entries })
    }
}

impl<'b> Entry<'b> {
    fn read(entry: &'b [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(entry);
        let key_id = cursor.counted()?;
        if key_id.len() > LONGEST_KEY_ID {
            return Err(cursor.malformed("a key id has more than 64 bytes"));
        }
        if cursor.byte()? != ED25519 {
            return Err(cursor.malformed("a signature is not Ed25519"));
        }
        let signature = cursor.counted()?.try_into();
        let signature = signature.map_err(|_| cursor.malformed("a signature has not 64 bytes"))?;
        if !cursor.is_at_end() {
            return Err(cursor.malformed("there is something after a signature"));
        }
        Ok(Self { key_id, signature })
    }
}

/// What is signed: not the file itself but its hash, and what the hash is of.
fn message(hash: &[u8; 32]) -> [u8; DOMAIN.len() + FORMAT.len() + 32] {
    let mut message = [0; _];
    let (domain, rest) = message.split_at_mut(DOMAIN.len());
    let (format, end) = rest.split_at_mut(FORMAT.len());
    domain.copy_from_slice(&DOMAIN);
    format.copy_from_slice(&FORMAT);
    end.copy_from_slice(hash);
    message
}

/// The contents of a signature section with one signature.
pub(crate) fn write(hash: &[u8; 32], key: &KeyPair) -> Vec<u8> {
    let mut entry = Vec::new();
    put_counted(&mut entry, key.public().id().as_bytes());
    entry.push(ED25519);
    put_counted(&mut entry, &key.sign(&message(hash)));
    let mut set = vec![1];
    set.extend_from_slice(hash);
    set.push(1);
    put_counted(&mut set, &entry);
    let mut contents = FORMAT.to_vec();
    contents.push(1);
    put_counted(&mut contents, &set);
    contents
}
