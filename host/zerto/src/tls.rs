//! Which certificates are accepted: a rustls configuration of our own, never a process-wide default.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_common::read::{self, limit};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::settings::Trust;

/// The certificate that was shown in the last handshake, DER.
pub(crate) type Shown = Arc<Mutex<Option<Vec<u8>>>>;

/// Builds the configuration for TLS. Reads files: the CA file, or the system's store. What a server shows is kept in
/// `shown`, trusted or not.
pub(crate) fn configuration(trust: &Trust, shown: &Shown) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let rule = match trust {
        Trust::System => Rule::Chain(chain(system_roots()?, &provider)?),
        Trust::CaFile(path) => Rule::Chain(chain(file_roots(path)?, &provider)?),
        Trust::Pin(pin) => Rule::Pin(*pin),
        Trust::Nothing => Rule::Nothing,
    };
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::unreachable(format!("TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier {
            rule,
            provider,
            shown: Arc::clone(shown),
        }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn chain(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, Error> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| Error::unreachable(format!("TLS: {error}")))
}

fn system_roots() -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Error::unreachable(
            "this machine has no trusted certificates; give a CA file, or pin the ZVM's certificate",
        ));
    }
    Ok(roots)
}

fn file_roots(path: &Path) -> Result<RootCertStore, Error> {
    let bad = |why: &dyn fmt::Display| Error::unreachable(format!("CA file {}: {why}", path.display()));
    let mut roots = RootCertStore::empty();
    let text = read::read(path, limit::CERTIFICATES).map_err(|error| bad(&error))?;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| bad(&error))?;
        roots.add(certificate).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"holds no certificate in PEM form"));
    }
    Ok(roots)
}

#[derive(Debug)]
enum Rule {
    Chain(Arc<WebPkiServerVerifier>),
    Pin([u8; 32]),
    Nothing,
}

/// Applies the rule to the certificate. The handshake's signature is checked under every rule, so whoever answers
/// holds the certificate's key.
#[derive(Debug)]
struct Verifier {
    rule: Rule,
    provider: Arc<CryptoProvider>,
    shown: Shown,
}

/// Why a certificate was turned away. An agent reads this, and whoever stands in between would have it name what they
/// show: so it says neither the digest nor how that would come to be trusted. `holdpoint doctor` tells a human both.
#[derive(Debug)]
struct Distrusted {
    why: String,
}

impl fmt::Display for Distrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it shows a certificate that is not trusted here ({}); a human has to look at that, with: holdpoint doctor",
            self.why
        )
    }
}

impl std::error::Error for Distrusted {}

fn distrusted(why: &str) -> rustls::Error {
    // Short enough for the advice to survive the cut of the whole text.
    let why = why.chars().take(80).collect();
    CertificateError::Other(OtherError(Arc::new(Distrusted { why }))).into()
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.to_vec());
        match &self.rule {
            Rule::Chain(chain) => chain
                .verify_server_cert(certificate, intermediates, name, ocsp, now)
                .map_err(|error| match error {
                    rustls::Error::InvalidCertificate(why) => distrusted(&why.to_string()),
                    other => distrusted(&other.to_string()),
                }),
            Rule::Pin(pin) if Sha256::digest(certificate).as_slice() == pin => {
                Ok(ServerCertVerified::assertion())
            }
            Rule::Pin(_) => Err(distrusted("another one is pinned")),
            Rule::Nothing => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// The reason of a [`Distrusted`] certificate, where that is what ended a connection.
pub(crate) fn distrust(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    match error.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => Some(other.0.to_string()),
        _ => None,
    }
}
