//! What is told of a ZVM before a call depends on it, and that telling changes nothing there.

use std::time::{Duration, SystemTime};

use holdpoint_zerto::{Error, Permission, Settings, Trust, Zvm};

use crate::common::*;

#[tokio::test]
async fn a_healthy_zvm_is_told_of() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\nstatus = 2\nsub_status = 4");
    let zvm = zvm(&sim);
    assert_eq!(zvm.certificate(), None);
    assert_eq!(zvm.log_in().await, Ok(Some(Duration::from_secs(60))));
    assert_eq!(zvm.certificate().unwrap().sha256, sim.certificate_sha256());
    let site = zvm.site_state().await.unwrap();
    assert_eq!(
        (site.name.as_deref(), site.version.as_deref()),
        (Some("Local"), Some("10.0.60"))
    );
    let vpgs = zvm.vpgs().await.unwrap();
    assert_eq!(
        (vpgs[0].vpg_name.as_str(), vpgs[0].status, vpgs[0].sub_status),
        ("APP-VPG", 2, 4)
    );
    assert!(zvm.clock_ahead().await.unwrap().abs() < 60.0);
    assert_eq!(zvm.may_insert().await, Ok(Permission::Granted));
    assert_eq!(sim.checkpoints(), []);
}

#[tokio::test]
async fn a_certificate_is_shown_before_anything_secret_is_sent() {
    let sim = sim("");
    let trusting = |trust| {
        let settings = Settings {
            trust,
            ..settings(&sim)
        };
        Zvm::new(settings).unwrap()
    };
    let stranger = trusting(Trust::Pin([0; 32]));
    let error = stranger.reach().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
    assert_eq!(stranger.certificate().unwrap().sha256, sim.certificate_sha256());
    assert!(sim.requests().is_empty());
    assert_eq!(zvm(&sim).reach().await, Ok(()));
    assert_eq!(sim.requests().len(), 1);
}

#[tokio::test]
async fn a_windows_session_has_no_end_of_its_own() {
    let sim = sim("site.platform = 'windows'");
    let login = holdpoint_zerto::Login::WindowsSession {
        username: "admin".into(),
        password: holdpoint_zerto::Secret::new("secret"),
    };
    let zvm = Zvm::new(Settings {
        login,
        ..settings(&sim)
    })
    .unwrap();
    assert_eq!(zvm.log_in().await, Ok(None));
}

#[tokio::test]
async fn a_role_that_may_not_insert_is_told_without_inserting() {
    let sim = sim("login.may_insert = false");
    let Ok(Permission::Denied(words)) = zvm(&sim).may_insert().await else {
        panic!("the role permits nothing")
    };
    assert!(words.contains("role"), "{words}");
    assert_eq!(sim.checkpoints(), []);
}

#[tokio::test]
async fn a_clock_that_is_off_is_told() {
    let sim = sim("site.clock_offset_seconds = -900");
    let ahead = zvm(&sim).clock_ahead().await.unwrap();
    assert!((-960.0..-840.0).contains(&ahead), "{ahead}");
}

#[tokio::test]
async fn the_life_of_a_certificate_is_told_although_it_is_not_trusted() {
    let sim = sim("certificate.days_left = -3");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), sim.ca_pem()).unwrap();
    let zvm = Zvm::new(Settings {
        trust: Trust::CaFile(file.path().into()),
        ..settings(&sim)
    })
    .unwrap();
    let Err(Error::Unreachable(why)) = zvm.log_in().await else {
        panic!("an expired certificate was trusted")
    };
    assert!(why.contains("not trusted"), "{why}");
    let (begins, ends) = zvm.certificate().unwrap().validity.unwrap();
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64;
    let days = |seconds: i64| (seconds as f64 / 86_400.0).round() as i64;
    assert_eq!((days(ends - now), days(ends - begins)), (-3, 365));
    assert_eq!(sim.requests(), []);
}
