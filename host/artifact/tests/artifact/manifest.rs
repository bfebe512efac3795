//! Manifests that are none.

use holdpoint_artifact::{LARGEST_MANIFEST, MANIFEST_SECTION, Manifest, ManifestError, Refusal};

use crate::file::*;

const GOOD: &str = r#"{"name":"a","version":"1.0.0","wit":"0.1.0","made":"2027-01-01T00:00:00Z"}"#;

fn read(json: &str) -> Result<Manifest, ManifestError> {
    Manifest::read(json.as_bytes())
}

#[test]
fn is_read_as_it_is_written() {
    assert_eq!(Manifest::read(&manifest().write().unwrap()), Ok(manifest()));
    let least = read(GOOD).unwrap();
    assert_eq!(least.write().unwrap(), GOOD.as_bytes());
}

#[test]
fn refuses_what_it_does_not_know() {
    for json in [
        &GOOD.replace("\"name\"", "\"nickname\""),
        &GOOD.replace('{', r#"{"signature":"none","#),
        &GOOD.replace('{', r#"{"name":"b","#),
        &GOOD.replace("1.0.0", "1.0"),
        &GOOD.replace("2027-01-01T00:00:00Z", "soon"),
        &GOOD.replace('{', r#"{"catalog":"md5:00","#),
        &format!("{GOOD}x"),
        &format!("[{GOOD}]"),
        &GOOD[1..],
        "",
        "null",
        &"[".repeat(LARGEST_MANIFEST),
    ] {
        assert!(matches!(read(json), Err(ManifestError::Json(_))), "{json}");
    }
}

#[test]
fn a_name_is_fit_for_a_file_and_a_terminal() {
    for name in [
        "",
        "Zerto",
        "1st",
        "-x",
        "a/b",
        "..",
        "a b",
        "a\\u001bb",
        "é",
        &"a".repeat(65),
    ] {
        let json = GOOD.replace("\"a\"", &format!("\"{name}\""));
        assert_eq!(read(&json), Err(ManifestError::Name), "{name}");
    }
    let longest = "a".repeat(64);
    assert_eq!(
        read(&GOOD.replace("\"a\"", &format!("\"{longest}\"")))
            .unwrap()
            .name,
        longest
    );
}

#[test]
fn is_not_endless() {
    let json = format!("{GOOD}{}", " ".repeat(LARGEST_MANIFEST));
    assert_eq!(read(&json), Err(ManifestError::TooLarge));
    let version = format!("1.0.0-{}", "x".repeat(100));
    assert_eq!(
        read(&GOOD.replace("1.0.0", &version)),
        Err(ManifestError::Version)
    );
    assert_eq!(
        read(&GOOD.replace("0.1.0", &version)),
        Err(ManifestError::Version)
    );
}

#[test]
fn what_is_wrong_with_it_reaches_the_refusal() {
    for (json, error) in [
        (GOOD.replace("\"a\"", "\"A\""), ManifestError::Name),
        (" ".repeat(LARGEST_MANIFEST + 1), ManifestError::TooLarge),
    ] {
        let file = with_first(&component(), &custom(MANIFEST_SECTION, json.as_bytes()));
        assert_eq!(pass(&file, &lenient()).unwrap_err(), Refusal::Manifest(error));
    }
}
