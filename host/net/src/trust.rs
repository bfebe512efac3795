//! Whom a client trusts: the operating system's authorities or those of a file, and nobody that a variable names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::authorities::{self, AuthoritiesError};

/// Variables that name other authorities than the system's, for most programs.
pub const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Why nobody can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The operating system has no authorities.
    #[error("this machine has no trusted certificates")]
    NoSystem,
    /// A variable that cannot be ignored on this operating system is set.
    #[error("{0} is set, and would change which certificates are trusted; unset it")]
    Variable(&'static str),
    /// A CA file cannot be used.
    #[error("CA file {path}: {1}", path = .0.display())]
    File(PathBuf, AuthoritiesError),
    /// One of its certificates cannot be an authority's. Holds its number.
    #[error("CA file {path}: its certificate number {1} is damaged, or of a form that is not supported", path = .0.display())]
    Certificate(PathBuf, usize),
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(rustls::Error),
}

/// The configuration of a client that trusts the authorities of a file, or the system's where none is named.
///
/// # Errors
///
/// Where the file or the system has none, or one that cannot be used.
pub fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, TrustError> {
    let roots = match ca_file {
        Some(path) => of_file(path)?,
        None => of_system()?,
    };
    with(roots)
}

/// The configuration of a client that only talks in the clear: it trusts nobody.
///
/// # Errors
///
/// Where TLS cannot be set up.
pub fn nobody() -> Result<ClientConfig, TrustError> {
    with(RootCertStore::empty())
}

fn with(roots: RootCertStore) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// The operating system's authorities, whatever [`VARIABLES`] say.
///
/// # Errors
///
/// Where there are none; on macOS and Windows also where one of the variables is set.
pub fn of_system() -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(native()?);
    match roots.is_empty() {
        true => Err(TrustError::NoSystem),
        false => Ok(roots),
    }
}

fn of_file(path: &Path) -> Result<RootCertStore, TrustError> {
    let certificates = authorities::load(path).map_err(|error| TrustError::File(path.to_owned(), error))?;
    let mut roots = RootCertStore::empty();
    for (number, certificate) in certificates.into_iter().enumerate() {
        roots
            .add(certificate)
            .map_err(|_| TrustError::Certificate(path.to_owned(), number + 1))?;
    }
    Ok(roots)
}

/// Where systems keep their authorities in one file; the first that is there counts.
#[cfg(all(unix, not(target_os = "macos")))]
const FILES: [&str; 10] = [
    // Debian, Ubuntu, Gentoo, Arch, NixOS
    "/etc/ssl/certs/ca-certificates.crt",
    // RHEL 7 and later
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    // Fedora, RHEL 6
    "/etc/pki/tls/certs/ca-bundle.crt",
    // openSUSE
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    // Alpine, OpenBSD
    "/etc/ssl/cert.pem",
    "/etc/ssl/cacert.pem",
    // FreeBSD
    "/usr/local/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    // NetBSD
    "/etc/openssl/certs/ca-certificates.crt",
];

/// Where they keep them in a file each; all that are there count, beside the file.
#[cfg(all(unix, not(target_os = "macos")))]
const FOLDERS: [&str; 3] = ["/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/openssl/certs"];

/// The certificates of the system's store. The library's own search asks the variables first, so its places are named here.
#[cfg(all(unix, not(target_os = "macos")))]
fn native() -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let there = |path: &&Path| path.exists();
    let file = FILES.iter().map(Path::new).find(there);
    let mut folders = FOLDERS.iter().map(Path::new).filter(there);
    // With the file, so that what is in both is read once.
    let mut certificates = rustls_native_certs::load_certs_from_paths(file, folders.next()).certs;
    for folder in folders {
        certificates.extend(rustls_native_certs::load_certs_from_paths(None, Some(folder)).certs);
    }
    Ok(certificates)
}

/// The certificates of the system's store. The library's search asks the variables first, and there is no other way to it.
#[cfg(not(all(unix, not(target_os = "macos"))))]
fn native() -> Result<Vec<CertificateDer<'static>>, TrustError> {
    match VARIABLES
        .into_iter()
        .find(|name| std::env::var_os(name).is_some())
    {
        Some(name) => Err(TrustError::Variable(name)),
        None => Ok(rustls_native_certs::load_native_certs().certs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_without_an_authority_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        let told = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            tls(Some(&path)).expect_err("nobody to trust").to_string()
        };
        assert!(told("").contains("holds no certificate"));
        assert!(told("# none\n").contains("holds no certificate"));
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(told(damaged).contains("certificate number 1 is damaged"));
        std::fs::remove_file(&path).expect("it was there");
        let error = tls(Some(&path)).expect_err("nobody to trust").to_string();
        assert!(
            error.starts_with(&format!("CA file {}: ", path.display())),
            "{error}"
        );
    }
}
