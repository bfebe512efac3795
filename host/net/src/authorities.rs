//! Reads the certificates of a CA file in the forms in which people have them: PEM, also as Windows writes it (a byte order
//! mark, UTF-16), and DER.

use std::io;
use std::path::Path;

use holdpoint_common::read::limit;
use holdpoint_common::{read, text};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// What a DER certificate begins with, and no PEM file does.
const SEQUENCE: u8 = 0x30;

/// Why a CA file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesError {
    /// It cannot be read.
    #[error("it cannot be read ({0})")]
    Io(#[from] io::Error),
    /// It holds none.
    #[error("it holds no certificate (expected PEM, `-----BEGIN CERTIFICATE-----`, or DER)")]
    Empty,
    /// One of them cannot be read. Holds its number.
    #[error("its certificate number {0} is damaged")]
    Damaged(usize),
}

/// All certificates in a file; at least one.
///
/// # Errors
///
/// Where the file cannot be read, or holds none or a damaged one.
pub fn load(path: &Path) -> Result<Vec<CertificateDer<'static>>, AuthoritiesError> {
    certificates(&read::read(path, limit::CERTIFICATES)?)
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
