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
