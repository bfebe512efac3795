//! The simulation's own certificate authority and certificate.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SigningKey as _,
};
use rustls::ServerConfig;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use sha2::{Digest, Sha256};

use crate::names::hex;
use crate::scenario::{Certificate, CertificateKind};

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
        let (leaf, ca_pem) = match certificate.kind {
            CertificateKind::Issued => (leaf.signed_by(&key, &ca)?.der().clone(), ca.pem()),
            CertificateKind::SelfSignedCa => {
                leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
                leaf.use_authority_key_identifier_extension = false;
                let leaf = leaf.self_signed(&key)?;
                (leaf.der().clone(), leaf.pem())
            }
            CertificateKind::Version1 => {
                let leaf = version_1(leaf.self_signed(&key)?.der(), &key)?;
                let pem = pem(&leaf);
                (leaf, pem)
            }
        };

        let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        // Not by `with_single_cert`, which reads the certificate and refuses version 1.
        let shown = CertifiedKey::new(vec![leaf.clone()], any_supported_type(&secret)?);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let certificate_sha256 = hex(&Sha256::digest(&leaf));
        Ok(Self {
            config: Arc::new(config),
            ca_pem,
            certificate_sha256,
        })
    }
}

/// The same certificate without what X.509's first version lacks: the version and the extensions. No library makes one.
fn version_1(der: &[u8], key: &KeyPair) -> anyhow::Result<CertificateDer<'static>> {
    const SEQUENCE: u8 = 0x30;
    const BIT_STRING: u8 = 0x03;
    const VERSION: u8 = 0xa0;
    const EXTENSIONS: u8 = 0xa3;
    let certificate = elements(elements(der)[0].1);
    let signed: Vec<u8> = elements(certificate[0].1)
        .into_iter()
        .filter(|(whole, _)| ![VERSION, EXTENSIONS].contains(&whole[0]))
        .flat_map(|(whole, _)| whole.iter().copied())
        .collect();
    let signed = tagged(SEQUENCE, &signed);
    let signature = [&[0][..], &key.sign(&signed)?].concat();
    let algorithm = certificate[1].0;
    let body = [&signed[..], algorithm, &tagged(BIT_STRING, &signature)].concat();
    Ok(tagged(SEQUENCE, &body).into())
}

/// Each DER element of a sequence's body: the whole, and its own body. For DER that was just made.
fn elements(mut der: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    while der.len() > 1 {
        let (header, length) = match der[1] {
            short @ ..=0x7f => (2, usize::from(short)),
            long => {
                let digits = usize::from(long & 0x7f);
                let length = der[2..2 + digits]
                    .iter()
                    .fold(0, |length, &digit| length << 8 | usize::from(digit));
                (2 + digits, length)
            }
        };
        let (whole, rest) = der.split_at(header + length);
        found.push((whole, &whole[header..]));
        der = rest;
    }
    found
}

fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let header = if length < 0x80 {
        vec![tag, length as u8]
    } else {
        vec![tag, 0x82, (length >> 8) as u8, length as u8]
    };
    [header, body.to_vec()].concat()
}

fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = body
        .as_bytes()
        .chunks(64)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}
