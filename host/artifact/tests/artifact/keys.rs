//! Keys, against OpenSSL's and wasmsign2's ideas of them.

use holdpoint_artifact::{KeyError, KeyPair, PublicKey};

/// Made with `openssl genpkey -algorithm ed25519` for these tests, and of no use elsewhere.
const OPENSSL: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIM4Ue89K35Y5BYVGBILhIKHsqknjMZI4utAR1mnjtbPm
-----END PRIVATE KEY-----
";
const OPENSSL_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAnAlx7v1Us9njcetV4Wd0+EVGgJYbpHnqszxxeZrPNYU=
-----END PUBLIC KEY-----
";
/// The same, by `openssl pkcs8 -topk8 -scrypt`, with the passphrase `rewind`.
const OPENSSL_ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGTME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgpVz7MRH5u+QICQAAC
AQgCAQEwHQYJYIZIAWUDBAEqBBAWA13vaPeeOm14KaYBvuyYBEAECA9l/1h6Y8ZQ
vzvOhb02wmvrAZzkNkm9st3sYAlcPkwXlT/Pu4bw+rEBYDESF9E3CAyALIviZ10Z
tUrIySoQ
-----END ENCRYPTED PRIVATE KEY-----
";
/// Made with `openssl genpkey -algorithm x25519`, and its public key.
const X25519: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VuBCIEIBg7+ASwSFwLMOU+5LHOVXbAi/1uqazFHXhCmmG67OxL
-----END PRIVATE KEY-----
";
const X25519_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VuAyEAx/WrZbEiES6bnVmy29vr0HavNRXhvzCKBaxCSCCVVlI=
-----END PUBLIC KEY-----
";

fn private(text: &str, passphrase: Option<&str>) -> KeyError {
    KeyPair::from_pem(text, passphrase).unwrap_err()
}

#[test]
fn a_key_is_read_as_it_is_written() {
    let key = KeyPair::generate().unwrap();
    let again = KeyPair::from_pem(&key.to_pem(None).unwrap(), None).unwrap();
    assert_eq!(again.public(), key.public());
    assert_eq!(PublicKey::from_pem(&key.public().to_pem()).unwrap(), key.public());
    assert!(key.public().verifies(b"message", &again.sign(b"message")));
    assert!(!key.public().verifies(b"massage", &again.sign(b"message")));
}

#[test]
fn two_keys_differ() {
    assert_ne!(
        KeyPair::generate().unwrap().public(),
        KeyPair::generate().unwrap().public()
    );
}

#[test]
fn a_passphrase_protects_a_key() {
    let key = KeyPair::generate().unwrap();
    let pem = key.to_pem(Some("rewind")).unwrap();
    assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
    assert_eq!(
        KeyPair::from_pem(&pem, Some("rewind")).unwrap().public(),
        key.public()
    );
    assert_eq!(private(&pem, None), KeyError::PassphraseNeeded);
    assert_eq!(private(&pem, Some("forward")), KeyError::WrongPassphrase);
    assert_ne!(
        key.to_pem(Some("rewind")).unwrap(),
        pem,
        "the salt is fresh each time"
    );
}

#[test]
fn reads_and_writes_what_openssl_does() {
    let key = KeyPair::from_pem(OPENSSL, None).unwrap();
    assert_eq!(*key.to_pem(None).unwrap(), OPENSSL);
    assert_eq!(key.public().to_pem(), OPENSSL_PUBLIC);
    assert_eq!(
        KeyPair::from_pem(OPENSSL_ENCRYPTED, Some("rewind"))
            .unwrap()
            .public(),
        key.public()
    );
}

#[test]
fn refuses_other_keys_by_what_they_are() {
    assert_eq!(private(X25519, None), KeyError::OtherAlgorithm);
    assert_eq!(
        PublicKey::from_pem(X25519_PUBLIC).unwrap_err(),
        KeyError::OtherAlgorithm
    );
    assert_eq!(
        private(OPENSSL_PUBLIC, None),
        KeyError::NotPem {
            wanted: "PRIVATE KEY"
        }
    );
    assert_eq!(
        PublicKey::from_pem(OPENSSL).unwrap_err(),
        KeyError::NotPem { wanted: "PUBLIC KEY" }
    );
    for text in ["", "secret", "-----BEGIN PRIVATE KEY-----"] {
        assert_eq!(
            private(text, None),
            KeyError::NotPem {
                wanted: "PRIVATE KEY"
            }
        );
        assert_eq!(
            PublicKey::from_pem(text).unwrap_err(),
            KeyError::NotPem { wanted: "PUBLIC KEY" }
        );
    }
    let empty = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
    assert_eq!(private(empty, None), KeyError::Damaged);
    assert_eq!(
        PublicKey::from_pem(&empty.replace("PRIVATE", "PUBLIC")).unwrap_err(),
        KeyError::Damaged
    );
}

#[test]
fn refuses_points_that_any_signature_would_fit() {
    let mut identity = [0; 32];
    identity[0] = 1;
    assert_eq!(PublicKey::from_bytes(identity).unwrap_err(), KeyError::Weak);
    assert_eq!(PublicKey::from_bytes([0; 32]).unwrap_err(), KeyError::Weak);
}

#[test]
fn ids_are_those_of_wasmsign2() {
    let key = KeyPair::from_pem(OPENSSL, None).unwrap().public();
    let theirs = wasmsign2::PublicKey::from_pem(&key.to_pem())
        .unwrap()
        .attach_default_key_id();
    assert_eq!(theirs.key_id().map(Vec::as_slice), Some(&key.id().as_bytes()[..]));
    assert_eq!(key.id().to_string().len(), 24);
}

#[test]
fn a_private_key_is_never_printed() {
    let key = KeyPair::from_pem(OPENSSL, None).unwrap();
    assert_eq!(format!("{key:?}"), format!("KeyPair({})", key.public().id()));
}
