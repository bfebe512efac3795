//! Which certificates are accepted.

use std::io::Write;

use holdpoint_zerto::{Error, Settings, Trust, Zvm};
use tempfile::NamedTempFile;
use zvm_sim::{Scenario, Sim};

use crate::common::*;

fn trusting(sim: &Sim, trust: Trust) -> Zvm {
    Zvm::new(Settings {
        trust,
        ..settings(sim)
    })
    .unwrap()
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// Whether the ZVM was asked; else the text that says why not, after checking that nothing was sent.
async fn works(sim: &Sim, zvm: &Zvm) -> Result<(), String> {
    match zvm.find_vms_by_name("jp-ubuntu").await {
        Ok(_) => Ok(()),
        Err(Error::Unreachable(text)) => {
            assert_eq!(sim.requests(), []);
            Err(text)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_right_pin_is_enough() {
    let sim = sim("");
    assert_eq!(works(&sim, &zvm(&sim)).await, Ok(()));
}

#[tokio::test]
async fn a_wrong_pin_is_refused_and_what_was_shown_is_known() {
    let sim = sim("");
    let zvm = trusting(&sim, Trust::Pin([7; 32]));
    let text = works(&sim, &zvm).await.unwrap_err();
    assert!(text.contains("another one is pinned"), "{text}");
    assert_told_without_its_digest(&sim, &zvm, &text);
}

/// An agent reads the text. Who asks for the digest gets it.
#[track_caller]
fn assert_told_without_its_digest(sim: &Sim, zvm: &Zvm, text: &str) {
    let sha256 = sim.certificate_sha256();
    assert!(!text.contains(&sha256), "{text}");
    assert!(text.ends_with("holdpoint doctor"), "{text}");
    assert_eq!(zvm.certificate().map(|shown| shown.sha256), Some(sha256));
}

#[tokio::test]
async fn the_right_authority_is_enough_among_others() {
    let (sim, other) = (sim(""), sim(""));
    let one = file(sim.ca_pem());
    assert_eq!(
        works(&sim, &trusting(&sim, Trust::CaFile(one.path().into()))).await,
        Ok(())
    );
    let both = file(&format!("{}{}", other.ca_pem(), sim.ca_pem()));
    assert_eq!(
        works(&sim, &trusting(&sim, Trust::CaFile(both.path().into()))).await,
        Ok(())
    );
}

#[tokio::test]
async fn other_authorities_are_refused() {
    let (sim, other) = (sim(""), sim(""));
    let file = file(other.ca_pem());
    for trust in [Trust::CaFile(file.path().into()), Trust::System] {
        // A machine without any authority of its own cannot even begin.
        let Ok(zvm) = Zvm::new(Settings {
            trust,
            ..settings(&sim)
        }) else {
            continue;
        };
        let text = works(&sim, &zvm).await.unwrap_err();
        assert_told_without_its_digest(&sim, &zvm, &text);
    }
}

#[tokio::test]
async fn another_name_is_refused() {
    // Not a name of the certificate. Only Linux has more than one address of the loopback interface from the start.
    let Ok(sim) = Sim::start_on(Scenario::default(), "127.0.0.2:0".parse().unwrap()) else {
        return;
    };
    let url = sim.url().replace("localhost", "127.0.0.2");
    let file = file(sim.ca_pem());
    let trust = Trust::CaFile(file.path().into());
    let zvm = Zvm::new(Settings {
        url,
        trust,
        ..settings(&sim)
    })
    .unwrap();
    let text = works(&sim, &zvm).await.unwrap_err();
    assert_told_without_its_digest(&sim, &zvm, &text);
}

#[tokio::test]
async fn nothing_has_to_be_trusted_where_that_is_wanted() {
    let sim = sim("");
    assert_eq!(works(&sim, &trusting(&sim, Trust::Nothing)).await, Ok(()));
}

#[test]
fn bad_settings_are_found_outside_a_runtime_and_before_any_request() {
    let sim = sim("");
    let garbage = file("no certificate");
    let broken = file("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    for path in [garbage.path(), broken.path(), "/nonexistent/ca.pem".as_ref()] {
        let result = Zvm::new(Settings {
            trust: Trust::CaFile(path.into()),
            ..settings(&sim)
        });
        let error = result.err().expect("no authority");
        assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
    }
    for url in [
        "http://localhost",
        "localhost",
        "https://localhost/v1",
        "https://admin:secret@localhost",
    ] {
        assert!(
            Zvm::new(Settings {
                url: url.into(),
                ..settings(&sim)
            })
            .is_err(),
            "{url}"
        );
    }
    assert!(Zvm::new(settings(&sim)).is_ok());
}

/// Appliances make certificates that libraries refuse: whoever pins one knows which, and its key is what counts.
#[tokio::test]
async fn the_right_pin_is_enough_whatever_the_form_of_the_certificate() {
    for kind in ["issued", "self-signed-ca", "version1"] {
        for days in ["", "days_left = -3", "days_left = 400"] {
            let sim = sim(&format!("[certificate]\nkind = '{kind}'\n{days}"));
            assert_eq!(works(&sim, &zvm(&sim)).await, Ok(()), "{kind} {days}");
            let nothing = trusting(&sim, Trust::Nothing);
            assert_eq!(works(&sim, &nothing).await, Ok(()), "{kind} {days}");
        }
        let sim = sim(&format!("[certificate]\nkind = '{kind}'"));
        let other = trusting(&sim, Trust::Pin([7; 32]));
        assert!(works(&sim, &other).await.is_err(), "{kind}");
    }
}

#[tokio::test]
async fn a_self_signed_certificate_in_the_ca_file_is_the_servers() {
    let sim = sim("[certificate]\nkind = 'self-signed-ca'");
    let own = file(sim.ca_pem());
    let zvm = trusting(&sim, Trust::CaFile(own.path().into()));
    assert_eq!(works(&sim, &zvm).await, Ok(()));
}

/// The certificate of a server, the file that is trusted, and the words of the refusal.
#[tokio::test]
async fn a_refused_certificate_is_told_in_words_of_ours() {
    let other = sim("[certificate]\nkind = 'self-signed-ca'");
    for (server, trusted, words) in [
        ("kind = 'self-signed-ca'\ndays_left = -3", None, "it ended on 20"),
        ("days_left = -3", None, "it ended on 20"),
        (
            "kind = 'self-signed-ca'\ndays_left = 400",
            None,
            "it begins on 20",
        ),
        ("days_left = 400", None, "it begins on 20"),
        ("kind = 'version1'", Some(other.ca_pem()), "X.509 version 1"),
        (
            "kind = 'self-signed-ca'",
            Some(other.ca_pem()),
            "it is an authority's own certificate",
        ),
        ("", Some(other.ca_pem()), "no trusted authority signed it"),
    ] {
        let sim = sim(&format!("[certificate]\n{server}"));
        let file = file(trusted.unwrap_or_else(|| sim.ca_pem()));
        let zvm = trusting(&sim, Trust::CaFile(file.path().into()));
        let text = works(&sim, &zvm).await.unwrap_err();
        assert!(text.contains(words), "{server}: {text}");
        assert!(
            !text.contains("CertificateError") && !text.contains("OtherError"),
            "{text}"
        );
        assert_told_without_its_digest(&sim, &zvm, &text);
    }
}

#[tokio::test]
async fn a_self_signed_certificate_counts_for_its_names_only() {
    let scenario = Scenario::from_toml("[certificate]\nkind = 'self-signed-ca'").unwrap();
    let Ok(sim) = Sim::start_on(scenario, "127.0.0.2:0".parse().unwrap()) else {
        return;
    };
    let own = file(sim.ca_pem());
    let zvm = Zvm::new(Settings {
        url: sim.url().replace("localhost", "127.0.0.2"),
        trust: Trust::CaFile(own.path().into()),
        ..settings(&sim)
    })
    .unwrap();
    let text = works(&sim, &zvm).await.unwrap_err();
    assert!(text.contains("not issued for the host"), "{text}");
}

/// PowerShell 5.1 and Notepad begin files with a byte order mark, and write UTF-16; Windows exports DER.
#[tokio::test]
async fn a_ca_file_is_read_in_the_forms_that_people_have() {
    use base64::Engine as _;
    let sim = sim("");
    let pem = sim.ca_pem().to_owned();
    let wide = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
        let units = pem
            .replace('\n', "\r\n")
            .encode_utf16()
            .flat_map(unit)
            .collect::<Vec<_>>();
        [mark.to_vec(), units].concat()
    };
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(body).unwrap();
    for bytes in [
        [&b"\xef\xbb\xbf"[..], pem.as_bytes()].concat(),
        wide([0xff, 0xfe], u16::to_le_bytes),
        wide([0xfe, 0xff], u16::to_be_bytes),
        format!("subject=CN = x\n{pem}").into_bytes(),
        der,
    ] {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let zvm = trusting(&sim, Trust::CaFile(file.path().into()));
        assert_eq!(works(&sim, &zvm).await, Ok(()), "{:?}", &bytes[..8]);
    }
}

#[cfg(unix)]
#[test]
fn a_ca_file_that_is_not_a_file_or_far_too_long_is_refused_at_once() {
    let sim = sim("");
    let folder = tempfile::tempdir().unwrap();
    let sparse = folder.path().join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(3 << 30).unwrap();
    for path in [folder.path(), &sparse, "/dev/zero".as_ref()] {
        let trust = Trust::CaFile(path.into());
        let refused = Zvm::new(Settings {
            trust,
            ..settings(&sim)
        })
        .err();
        assert!(matches!(refused, Some(Error::Unreachable(_))), "{path:?}");
    }
}

#[test]
fn a_version_1_certificate_in_the_ca_file_is_said_to_need_a_pin() {
    let sim = sim("[certificate]\nkind = 'version1'");
    let own = file(sim.ca_pem());
    let trust = Trust::CaFile(own.path().into());
    let error = Zvm::new(Settings {
        trust,
        ..settings(&sim)
    })
    .err()
    .expect("no anchor");
    assert!(
        error.to_string().contains("version 1") && error.to_string().contains("zerto.pin"),
        "{error}"
    );
}
