//! Channels: what is believed of them, what is remembered, and what a hostile mirror can do.

use std::fs;
use std::time::Duration;

use holdpoint_artifact::{KeyPair, UtcTime};
use holdpoint_store::pull::{Channel, ChannelError, FetchError, Network, PullError, Reference};
use holdpoint_store::{Change, ChangeError, Changed, Trouble, What};
use mirror_sim::{Answer, Site};

use crate::common::{DOWNGRADE, House, PLAIN};
use crate::policies::{Team, manifest};

const NETWORK: Network<'static> = Network {
    ca_file: None,
    docker_config: None,
    timeout: Duration::from_secs(60),
};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn now(house: &House) -> UtcTime {
    house.team.admission().now
}

/// The document for the policy, as its makers would write it now.
fn describe(house: &House, policy: &[u8]) -> Channel {
    let admission = house.team.admission();
    let admitted = holdpoint_artifact::gate(policy, admission.trust, admission.contract, admission.now);
    let facts = admitted.unwrap().into_facts();
    let location = format!("guard-{}.wasm", facts.manifest.as_ref().unwrap().version);
    Channel::of(
        &facts,
        "stable",
        &location,
        admission.now,
        admission.now.plus(DAY),
    )
    .unwrap()
}

/// Publishes document, signature and file in a folder.
fn publish(house: &House, policy: &[u8], change: impl FnOnce(&mut Channel)) {
    let mut channel = describe(house, policy);
    fs::create_dir_all(house.path("mirror")).unwrap();
    fs::write(house.path("mirror").join(&channel.location), policy).unwrap();
    change(&mut channel);
    publish_document(house, &channel, &house.team.key);
}

fn publish_document(house: &House, channel: &Channel, key: &KeyPair) {
    let (document, signature) = channel.sign(key).unwrap();
    fs::write(house.path("mirror/stable.json"), document).unwrap();
    fs::write(house.path("mirror/stable.json.sig"), signature).unwrap();
}

fn mirror(house: &House) -> Reference {
    format!("file://{}", house.path("mirror/stable.json").display())
        .parse()
        .unwrap()
}

fn pull(house: &House, change: Change<'_>) -> Result<Changed, PullError> {
    house
        .store
        .pull(&mirror(house), &NETWORK, change, &house.team.admission())
}

fn believed(pulled: Result<Changed, PullError>) -> Result<Changed, ChannelError> {
    match pulled {
        Err(PullError::Channel(error)) => Err(error),
        other => Ok(other.unwrap()),
    }
}

#[test]
fn a_channel_brings_each_new_version_once() {
    let house = House::new();
    for version in ["1.0.0", "1.1.0"] {
        publish(&house, &house.team.policy(version), |_| {});
        assert_eq!(pull(&house, PLAIN).unwrap().what, Some(What::Install));
        assert_eq!(pull(&house, PLAIN).unwrap().what, None);
        assert_eq!(house.in_force(), version);
    }
    let history = house.store.history().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[1].from, Some(mirror(&house).to_string()));
    let channels = house.store.channels().unwrap();
    assert_eq!(channels[0].1.version.to_string(), "1.1.0");
}

#[test]
fn a_document_is_signed_by_a_trusted_key_or_not_believed() {
    let house = House::new();
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    let good = fs::read(house.path("mirror/stable.json")).unwrap();
    for at in 0..good.len() {
        let mut flipped = good.clone();
        flipped[at] ^= 1;
        fs::write(house.path("mirror/stable.json"), flipped).unwrap();
        assert_eq!(
            believed(pull(&house, PLAIN)).unwrap_err(),
            ChannelError::Unsigned,
            "byte {at}"
        );
    }
    let channel = describe(&house, &house.team.policy("1.0.0"));
    publish_document(&house, &channel, &Team::new().key);
    assert_eq!(believed(pull(&house, PLAIN)).unwrap_err(), ChannelError::Unsigned);
    fs::write(house.path("mirror/stable.json.sig"), "").unwrap();
    assert_eq!(believed(pull(&house, PLAIN)).unwrap_err(), ChannelError::Unsigned);

    publish_document(&house, &channel, &house.team.key);
    house.revoke_key();
    assert_eq!(believed(pull(&house, PLAIN)).unwrap_err(), ChannelError::Unsigned);
}

#[test]
fn one_good_signature_of_several_is_enough_so_that_keys_can_change() {
    let house = House::new();
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    let ours = fs::read_to_string(house.path("mirror/stable.json.sig")).unwrap();
    let channel = describe(&house, &house.team.policy("1.0.0"));
    let (_, theirs) = channel.sign(&Team::new().key).unwrap();
    fs::write(house.path("mirror/stable.json.sig"), theirs + &ours).unwrap();
    pull(&house, PLAIN).unwrap();
}

#[test]
fn a_document_whose_time_is_over_is_a_frozen_mirror() {
    let house = House::new();
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    pull(&house, PLAIN).unwrap();
    let mut admission = house.team.admission();
    admission.now = admission.now.plus(DAY + Duration::from_secs(1));
    let frozen = house.store.pull(&mirror(&house), &NETWORK, PLAIN, &admission);
    assert!(matches!(believed(frozen), Err(ChannelError::Expired(_))));
    // Nobody has to ask for it to be noticed.
    let troubles = house.store.troubles(&admission);
    assert!(
        troubles
            .iter()
            .any(|trouble| matches!(trouble, Trouble::Stale { .. })),
        "{troubles:?}"
    );
    assert_eq!(house.in_force(), "1.0.0");
}

#[test]
fn an_older_document_is_a_rolled_back_mirror() {
    let house = House::new();
    publish(&house, &house.team.policy("1.1.0"), |_| {});
    pull(&house, PLAIN).unwrap();
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    assert!(matches!(
        believed(pull(&house, PLAIN)),
        Err(ChannelError::RolledBack { .. })
    ));
    publish(&house, &house.team.policy("1.2.0"), |channel| {
        channel.issued = UtcTime::from_unix(1);
    });
    assert!(matches!(
        believed(pull(&house, PLAIN)),
        Err(ChannelError::RolledBack { .. })
    ));
    assert_eq!(house.in_force(), "1.1.0");
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    assert_eq!(pull(&house, DOWNGRADE).unwrap().what, Some(What::Downgrade));
    assert_eq!(house.in_force(), "1.0.0");
}

#[test]
fn a_version_counts_as_seen_even_where_it_could_not_be_fetched() {
    let house = House::new();
    publish(&house, &house.team.policy("1.1.0"), |channel| {
        channel.location = "nowhere.wasm".into();
    });
    assert!(matches!(
        pull(&house, PLAIN),
        Err(PullError::Fetch(FetchError::Unreachable(..)))
    ));
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    assert!(matches!(
        believed(pull(&house, PLAIN)),
        Err(ChannelError::RolledBack { .. })
    ));
}

#[test]
fn a_version_is_not_used_twice() {
    let house = House::new();
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    pull(&house, PLAIN).unwrap();
    let mut other = manifest("guard", "1.0.0");
    other.not_after = Some(now(&house).plus(DAY));
    publish(&house, &house.team.sign(&other), |_| {});
    assert!(matches!(
        believed(pull(&house, PLAIN)),
        Err(ChannelError::Reused(_))
    ));
}

#[test]
fn another_channels_document_is_not_taken_for_this_ones() {
    let house = House::new();
    publish(&house, &house.team.policy("1.0.0"), |_| {});
    pull(&house, PLAIN).unwrap();
    publish(&house, &house.team.policy("1.1.0"), |channel| {
        channel.channel = "testing".into();
    });
    assert!(matches!(
        believed(pull(&house, PLAIN)),
        Err(ChannelError::Other { .. })
    ));
}

#[test]
fn the_file_has_to_be_the_one_that_the_document_names() {
    let house = House::new();
    let old = house.team.policy("1.0.0");
    publish(&house, &house.team.policy("1.1.0"), |channel| channel.size += 100);
    fs::write(house.path("mirror/guard-1.1.0.wasm"), &old).unwrap();
    assert!(matches!(
        believed(pull(&house, PLAIN)),
        Err(ChannelError::NotTheNamed { .. })
    ));
    let foreign = Team::new().policy("1.1.0");
    fs::write(house.path("mirror/guard-1.1.0.wasm"), foreign).unwrap();
    assert!(matches!(
        pull(&house, PLAIN),
        Err(PullError::Change(ChangeError::Refused(_)))
    ));
    assert!(house.store.list(&house.team.admission()).unwrap().is_empty());
}

#[test]
fn a_document_from_the_future_is_not_believed() {
    let house = House::new();
    let later = now(&house).plus(2 * DAY);
    publish(&house, &house.team.policy("1.0.0"), |channel| {
        channel.issued = later;
        channel.expires = later;
    });
    assert_eq!(
        believed(pull(&house, PLAIN)).unwrap_err(),
        ChannelError::FromTheFuture(later)
    );
}

#[test]
fn what_went_wrong_is_told_until_something_goes_right() {
    let house = House::new();
    let policy = house.team.policy("1.0.0");
    publish(&house, &policy, |_| {});
    pull(&house, PLAIN).unwrap();
    fs::rename(house.path("mirror"), house.path("gone")).unwrap();
    pull(&house, PLAIN).unwrap_err();
    let troubles = house.store.troubles(&house.team.admission());
    assert!(
        matches!(troubles.as_slice(), [Trouble::NotChanged(_)]),
        "{troubles:?}"
    );
    fs::rename(house.path("gone"), house.path("mirror")).unwrap();
    assert_eq!(pull(&house, PLAIN).unwrap().what, None);
    assert_eq!(house.store.troubles(&house.team.admission()), []);
}

/// A web server with this policy's channel on it.
fn site(house: &House, policy: &[u8], change: impl FnOnce(&mut Channel)) -> Site {
    let site = Site::default();
    let mut channel = describe(house, policy);
    site.put(&format!("/{}", channel.location), Answer::Body(policy.to_vec()));
    change(&mut channel);
    let (document, signature) = channel.sign(&house.team.key).unwrap();
    site.put("/stable.json", Answer::Body(document));
    site.put("/stable.json.sig", Answer::Body(signature.into()));
    site
}

fn pull_from(house: &House, address: &str, network: Network<'_>) -> Result<Changed, PullError> {
    let reference = address.parse().unwrap();
    house
        .store
        .pull(&reference, &network, PLAIN, &house.team.admission())
}

#[test]
fn a_channel_over_https_with_a_certificate_that_is_trusted() {
    let house = House::new();
    let (address, certificate) = site(&house, &house.team.policy("1.0.0"), |_| {}).serve_tls();
    let url = format!("https://localhost:{}/stable.json", address.port());
    let refused = pull_from(&house, &url, NETWORK);
    assert!(
        matches!(refused, Err(PullError::Fetch(FetchError::Unreachable(..)))),
        "{refused:?}"
    );
    let file = house.path("ca.pem");
    fs::write(&file, certificate).unwrap();
    pull_from(
        &house,
        &url,
        Network {
            ca_file: Some(&file),
            ..NETWORK
        },
    )
    .unwrap();
    assert_eq!(house.in_force(), "1.0.0");
}

#[test]
fn nothing_is_read_without_end() {
    let house = House::new();
    let policy = house.team.policy("1.0.0");
    for path in ["/stable.json", "/stable.json.sig", "/guard-1.0.0.wasm"] {
        let site = site(&house, &policy, |_| {});
        site.put(path, Answer::Endless);
        let endless = pull_from(&house, &format!("http://{}/stable.json", site.serve()), NETWORK);
        assert!(
            matches!(endless, Err(PullError::Fetch(FetchError::TooLarge(..)))),
            "{path}: {endless:?}"
        );
    }
}

#[test]
fn nothing_is_waited_for_without_end() {
    let house = House::new();
    let site = site(&house, &house.team.policy("1.0.0"), |_| {});
    site.put("/stable.json.sig", Answer::Silence);
    let hasty = Network {
        timeout: Duration::from_millis(300),
        ..NETWORK
    };
    let late = pull_from(&house, &format!("http://{}/stable.json", site.serve()), hasty);
    assert!(
        matches!(late, Err(PullError::Fetch(FetchError::Late(..)))),
        "{late:?}"
    );
}

#[test]
fn a_channel_leads_to_no_other_host() {
    let house = House::new();
    let policy = house.team.policy("1.0.0");
    let elsewhere = site(&house, &policy, |_| {});
    let other = elsewhere.serve();

    let leading = site(&house, &policy, |_| {});
    leading.put(
        "/stable.json",
        Answer::Redirect(format!("http://{other}/stable.json")),
    );
    let led = pull_from(
        &house,
        &format!("http://{}/stable.json", leading.serve()),
        NETWORK,
    );
    assert!(
        matches!(led, Err(PullError::Fetch(FetchError::LedAway { .. }))),
        "{led:?}"
    );

    let naming = site(&house, &policy, |channel| {
        channel.location = format!("http://{other}/guard-1.0.0.wasm");
    });
    let led = believed(pull_from(
        &house,
        &format!("http://{}/stable.json", naming.serve()),
        NETWORK,
    ));
    assert!(matches!(led, Err(ChannelError::Elsewhere(_))), "{led:?}");
    assert_eq!(elsewhere.asked().len(), 0);

    let moved = site(&house, &policy, |_| {});
    moved.put("/old.json", Answer::Redirect("/stable.json".into()));
    moved.put("/old.json.sig", Answer::Redirect("/stable.json.sig".into()));
    pull_from(&house, &format!("http://{}/old.json", moved.serve()), NETWORK).unwrap();
}
