//! Which certificates are accepted: a rustls configuration of our own, never a process-wide default.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_net::{authorities, trust};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256};

use crate::certificate as x509;
use crate::error::Error;
use crate::settings::Trust;

/// The certificate that was shown in the last handshake.
pub(crate) type Shown = Arc<Mutex<Option<x509::Certificate>>>;

/// Builds the configuration for TLS. Reads files: the CA file, or the system's store. What a server shows is kept in
/// `shown`, trusted or not.
pub(crate) fn configuration(trust: &Trust, shown: &Shown) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let rule = match trust {
        Trust::System => Rule::Chain(chain(system_roots()?, &provider)?, Vec::new()),
        Trust::CaFile(path) => {
            let (roots, named) = file_roots(path)?;
            Rule::Chain(chain(roots, &provider)?, named)
        }
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
    trust::of_system()
        .map_err(|error| Error::unreachable(format!("{error}; give a CA file, or pin the ZVM's certificate")))
}

/// The authorities of a CA file, and the file's certificates as they are.
fn file_roots(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), Error> {
    let bad = |why: &dyn fmt::Display| Error::unreachable(format!("CA file {}: {why}", path.display()));
    let named = authorities::load(path).map_err(|error| bad(&error))?;
    let mut roots = RootCertStore::empty();
    for (number, certificate) in named.iter().enumerate() {
        roots.add(certificate.clone()).map_err(|_| {
            let why = if x509::is_version_1(certificate) {
                "is of X.509 version 1, which names no host; pin it with zerto.pin"
            } else {
                "is damaged, or of a form that is not supported"
            };
            bad(&format!("its certificate number {} {why}", number + 1))
        })?;
    }
    Ok((roots, named))
}

#[derive(Debug)]
enum Rule {
    /// Signed by an authority, or one of these certificates itself: whoever names a self-signed certificate in the CA
    /// file means the server that shows it.
    Chain(Arc<WebPkiServerVerifier>, Vec<CertificateDer<'static>>),
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
    let why = why.chars().take(120).collect();
    CertificateError::Other(OtherError(Arc::new(Distrusted { why }))).into()
}

impl Verifier {
    /// Refuses the certificate, and keeps why for a human who asks.
    fn refuse(&self, why: &str) -> rustls::Error {
        if let Some(shown) = &mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner) {
            shown.problem = Some(why.to_owned());
        }
        distrusted(why)
    }

    /// The certificate is the right one, and yet whoever shows it could not be checked.
    fn unusable_key(&self) -> rustls::Error {
        self.refuse("its holder did not prove to have its key, or the key is of a kind that is not supported")
    }
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
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(x509::Certificate::of(certificate));
        match &self.rule {
            Rule::Chain(chain, named) => chain
                .verify_server_cert(certificate, intermediates, name, ocsp, now)
                .or_else(|error| {
                    if named.contains(certificate) {
                        verify_named(certificate, name, now)
                    } else {
                        Err(error)
                    }
                })
                .map_err(|error| self.refuse(&reason(&error, certificate))),
            Rule::Pin(pin) if Sha256::digest(certificate).as_slice() == pin => {
                Ok(ServerCertVerified::assertion())
            }
            Rule::Pin(_) => Err(self.refuse("another one is pinned")),
            Rule::Nothing => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match &self.rule {
            Rule::Chain(..) => verify_tls12_signature(message, certificate, signature, algorithms),
            Rule::Pin(_) | Rule::Nothing => verify_tls12_by_key(message, certificate, signature, algorithms)
                .map_err(|()| self.unusable_key()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match &self.rule {
            Rule::Chain(..) => verify_tls13_signature(message, certificate, signature, algorithms),
            Rule::Pin(_) | Rule::Nothing => {
                let key = x509::public_key(certificate).ok_or_else(|| self.unusable_key())?;
                let key = SubjectPublicKeyInfoDer::from(key);
                verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
                    .map_err(|_| self.unusable_key())
            }
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A self-signed certificate that stands in the CA file. Libraries refuse one that is also marked as an authority's.
fn verify_named(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, rustls::Error> {
    let (begins, ends) = x509::Certificate::of(certificate)
        .validity
        .ok_or(CertificateError::BadEncoding)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < begins {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > ends {
        return Err(CertificateError::Expired.into());
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
    Ok(ServerCertVerified::assertion())
}

/// Checks a handshake's signature by the certificate's key alone, whatever else stands in the certificate. TLS 1.2
/// names no curve with ECDSA, so each algorithm that fits the scheme is tried.
fn verify_tls12_by_key(
    message: &[u8],
    certificate: &[u8],
    signature: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, ()> {
    let (algorithm, key) = x509::public_key(certificate)
        .and_then(x509::key_parts)
        .ok_or(())?;
    let (_, candidates) = algorithms
        .mapping
        .iter()
        .find(|(scheme, _)| *scheme == signature.scheme)
        .ok_or(())?;
    let is_signed = candidates.iter().any(|candidate| {
        candidate.public_key_alg_id().as_ref() == algorithm
            && candidate
                .verify_signature(key, message, signature.signature())
                .is_ok()
    });
    is_signed.then(HandshakeSignatureValid::assertion).ok_or(())
}

/// Why a certificate was refused, in words of ours: the library's name its own types.
fn reason(error: &rustls::Error, certificate: &[u8]) -> String {
    let validity = x509::Certificate::of(certificate).validity;
    let rustls::Error::InvalidCertificate(why) = error else {
        return error.to_string();
    };
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => match validity {
            Some((_, ends)) => format!(
                "it ended on {}, or this machine's clock is wrong",
                x509::day(ends)
            ),
            None => "it has ended, or this machine's clock is wrong".to_owned(),
        },
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => match validity {
            Some((begins, _)) => {
                format!(
                    "it begins on {}, or this machine's clock is wrong",
                    x509::day(begins)
                )
            }
            None => "it has not begun, or this machine's clock is wrong".to_owned(),
        },
        _ if x509::is_version_1(certificate) => {
            "it is of X.509 version 1, which names no host; only a pin can serve it".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it was not issued for the host that zerto.url names".to_owned()
        }
        CertificateError::UnknownIssuer => "no trusted authority signed it".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it was not issued for servers".to_owned()
        }
        // Webpki's own errors arrive wrapped, and only their names tell them apart.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is an authority's own certificate, and not in the CA file".to_owned()
        }
        CertificateError::Other(_) | CertificateError::BadEncoding => {
            "it is damaged, or of a form that is not supported; a pin may serve it".to_owned()
        }
        other => other.to_string(),
    }
}

/// The reason of a [`Distrusted`] certificate, where that is what ended a connection.
pub(crate) fn distrust(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    match error.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => Some(other.0.to_string()),
        _ => None,
    }
}
