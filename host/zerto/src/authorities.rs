//! Reads the certificates of a CA file in the forms in which people have them: PEM, also as Windows writes it (a byte order
//! mark, UTF-16), and DER.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::text;

/// No CA file is longer, in bytes: a whole system's authorities take a quarter of this.
const LONGEST: u64 = 1 << 20;
/// What a DER certificate begins with, and no PEM file does.
const SEQUENCE: u8 = 0x30;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthoritiesError {
    #[error("it cannot be read ({0})")]
    Io(#[from] io::Error),
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is longer than {} MiB, which no CA file is", LONGEST >> 20)]
    TooLong,
    #[error("it holds no certificate (expected PEM, `-----BEGIN CERTIFICATE-----`, or DER)")]
    Empty,
    #[error("its certificate number {0} is damaged")]
    Damaged(usize),
}

/// All certificates in a file; at least one.
pub(crate) fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, AuthoritiesError> {
    certificates(&bytes(path)?)
}

fn bytes(path: &Path) -> Result<Vec<u8>, AuthoritiesError> {
    // Looked at before it is opened: opening a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(AuthoritiesError::NotAFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(AuthoritiesError::TooLong);
    }
    Ok(bytes)
}

fn certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, AuthoritiesError> {
    if bytes.first() == Some(&SEQUENCE) {
        return Ok(vec![CertificateDer::from(bytes.to_vec())]);
    }
    let text = text::decoded(bytes).ok_or(AuthoritiesError::Empty)?;
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        found.push(certificate.map_err(|_| AuthoritiesError::Damaged(found.len() + 1))?);
    }
    if found.is_empty() {
        return Err(AuthoritiesError::Empty);
    }
    Ok(found)
}
