//! The simulation's own certificate authority and certificate.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::names::hex;
use crate::scenario::Certificate;

const DAY: u64 = 24 * 60 * 60;

/// What a server needs to speak TLS, and a caller to trust it.
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) ca_pem: String,
    pub(crate) certificate_sha256: String,
}

impl Tls {
    /// Makes a CA and a certificate for `localhost` and 127.0.0.1. The keys are P-256 because those are quick to make.
    pub(crate) fn generate(certificate: &Certificate) -> anyhow::Result<Self> {
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        ca.distinguished_name.push(DnType::CommonName, "Simulated ZVM CA");
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

        let mut leaf = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        leaf.distinguished_name.push(DnType::CommonName, "Simulated ZVM");
        if let Some(days) = certificate.days_left {
            let now = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)?
                .as_secs();
            let end = now.saturating_add_signed(i64::from(days) * DAY as i64);
            let epoch = rcgen::date_time_ymd(1970, 1, 1);
            leaf.not_before = epoch + Duration::from_secs(end.saturating_sub(365 * DAY));
            leaf.not_after = epoch + Duration::from_secs(end);
        }
        let key = KeyPair::generate()?;
        let leaf = leaf.signed_by(&key, &ca)?;

        let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], secret)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let certificate_sha256 = hex(&Sha256::digest(leaf.der()));
        Ok(Self {
            config: Arc::new(config),
            ca_pem: ca.pem(),
            certificate_sha256,
        })
    }
}
