//! OCI registries: a real one, and hostile ones.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use holdpoint_artifact::Digest;
use holdpoint_store::pull::{FetchError, Network, PullError};
use holdpoint_store::{Changed, What};
use mirror_sim::{Answer, CONFIG, Registry, Site};

use crate::common::{House, PLAIN, set_mode};

const NETWORK: Network<'static> = Network {
    ca_file: None,
    docker_config: None,
    timeout: Duration::from_secs(60),
};

fn pull(house: &House, reference: &str, network: &Network<'_>) -> Result<Changed, PullError> {
    let reference = reference.parse().unwrap();
    house
        .store
        .pull(&reference, network, PLAIN, &house.team.admission())
}

#[ignore = "needs docker-registry"]
#[test]
fn a_policy_comes_from_a_registry_by_tag_and_by_digest() {
    let (house, registry) = (House::new(), Registry::start(false));
    registry.push("stable", &house.team.policy("1.0.0"), CONFIG);
    let by_tag = format!("{}/acme/guard:stable", registry.address);
    assert_eq!(pull(&house, &by_tag, &NETWORK).unwrap().what, Some(What::Install));
    assert_eq!(house.in_force(), "1.0.0");

    let digest = registry.push("next", &house.team.policy("1.1.0"), CONFIG);
    let by_digest = format!("oci://{}/acme/guard@{digest}", registry.address);
    pull(&house, &by_digest, &NETWORK).unwrap();
    assert_eq!(house.in_force(), "1.1.0");
    let from = house.store.history().unwrap().pop().unwrap().from.unwrap();
    assert_eq!(format!("oci://{from}"), by_digest);

    // The tag still names the older one.
    assert!(matches!(
        pull(&house, &by_tag, &NETWORK),
        Err(PullError::Change(_))
    ));
    assert_eq!(house.in_force(), "1.1.0");
    let missing = pull(&house, &format!("{}/acme/guard:none", registry.address), &NETWORK);
    assert!(
        matches!(missing, Err(PullError::Fetch(FetchError::NotFound(_)))),
        "{missing:?}"
    );
    registry.push(
        "image",
        &house.team.policy("1.2.0"),
        "application/vnd.oci.image.config.v1+json",
    );
    let image = pull(
        &house,
        &format!("{}/acme/guard:image", registry.address),
        &NETWORK,
    );
    assert!(
        matches!(image, Err(PullError::Fetch(FetchError::Answer(..)))),
        "{image:?}"
    );
}

#[ignore = "needs docker-registry"]
#[test]
fn a_registry_with_a_password_gets_it_from_dockers_configuration() {
    let (house, registry) = (House::new(), Registry::start(true));
    registry.push("stable", &house.team.policy("1.0.0"), CONFIG);
    let reference = format!("{}/acme/guard:stable", registry.address);
    let config = house.path("config.json");
    let network = Network {
        docker_config: Some(&config),
        ..NETWORK
    };
    let unauthorized = |pulled| {
        assert!(
            matches!(pulled, Err(PullError::Fetch(FetchError::Unauthorized(_)))),
            "{pulled:?}"
        );
    };
    unauthorized(pull(&house, &reference, &network));
    // battery:wrong, then battery:horse
    let auths = |auth: &str| format!(r#"{{"auths": {{"{}": {{"auth": "{auth}"}}}}}}"#, registry.address);
    fs::write(&config, auths("YmF0dGVyeTp3cm9uZw==")).unwrap();
    unauthorized(pull(&house, &reference, &network));
    fs::write(&config, auths("YmF0dGVyeTpob3JzZQ==")).unwrap();
    pull(&house, &reference, &network).unwrap();
    assert_eq!(house.in_force(), "1.0.0");
}

/// A registry's answers for a policy, by hand.
fn site(policy: &[u8]) -> (Site, Digest, String) {
    let (site, layer) = (Site::default(), Digest::of(policy));
    let manifest = format!(
        r#"{{"config":{{"mediaType":"{CONFIG}","digest":"sha256:","size":1}},
            "layers":[{{"mediaType":"application/wasm","digest":"{layer}","size":{}}}]}}"#,
        policy.len(),
    );
    let blob = format!("/v2/acme/guard/blobs/{layer}");
    site.put(
        "/v2/acme/guard/manifests/stable",
        Answer::Body(manifest.clone().into()),
    );
    let digest = Digest::of(manifest.as_bytes());
    site.put(
        &format!("/v2/acme/guard/manifests/{digest}"),
        Answer::Body(manifest.into()),
    );
    site.put(&blob, Answer::Body(policy.to_vec()));
    (site, digest, blob)
}

#[test]
fn a_registry_cannot_give_other_bytes_than_the_digests_say() {
    let house = House::new();
    let (policy, other) = (house.team.policy("1.0.0"), house.team.policy("1.1.0"));
    let (pinned, digest, blob) = site(&policy);
    let (_, other_digest, _) = site(&other);
    let address = pinned.serve();
    pinned.put(
        &format!("/v2/acme/guard/manifests/{other_digest}"),
        Answer::Body(b"{}".to_vec()),
    );
    let changed = pull(&house, &format!("{address}/acme/guard@{other_digest}"), &NETWORK);
    assert!(
        matches!(changed, Err(PullError::Fetch(FetchError::OtherDigest(_)))),
        "{changed:?}"
    );
    pinned.put(&blob, Answer::Body(other));
    let changed = pull(&house, &format!("{address}/acme/guard@{digest}"), &NETWORK);
    assert!(
        matches!(changed, Err(PullError::Fetch(FetchError::OtherDigest(_)))),
        "{changed:?}"
    );
    assert!(house.store.list(&house.team.admission()).unwrap().is_empty());
}

#[test]
fn a_registry_cannot_send_without_end() {
    let house = House::new();
    let (site, _, blob) = site(&house.team.policy("1.0.0"));
    let address = site.serve();
    for path in [blob.as_str(), "/v2/acme/guard/manifests/stable"] {
        site.put(path, Answer::Endless);
        let endless = pull(&house, &format!("{address}/acme/guard:stable"), &NETWORK);
        assert!(
            matches!(endless, Err(PullError::Fetch(FetchError::TooLarge(..)))),
            "{path}: {endless:?}"
        );
    }
}

/// A registry that wants a token, with its token server, and its storage on another host.
struct Divided {
    registry: Site,
    tokens: Site,
    storage: Site,
    address: SocketAddr,
}

impl Divided {
    fn new(policy: &[u8]) -> Self {
        let (registry, _, blob) = site(policy);
        let (tokens, storage) = (Site::default(), Site::default());
        storage.put("/storage", Answer::Body(policy.to_vec()));
        let elsewhere = storage.serve();
        registry.put(
            &blob,
            Answer::Redirect(format!("http://{elsewhere}/storage?right=secret")),
        );
        tokens.put("/token", Answer::Body(br#"{"token": "t0ken"}"#.to_vec()));
        let challenge = format!(
            "Bearer realm=\"http://{}/token\",service=\"tests\"",
            tokens.serve()
        );
        registry.guard("/v2/acme/guard/manifests/stable", &challenge);
        let address = registry.serve();
        Self {
            registry,
            tokens,
            storage,
            address,
        }
    }

    /// Pulls with this as Docker's configuration.
    fn pull(&self, house: &House, docker: &str) {
        let config = house.path("config.json");
        fs::write(&config, docker).unwrap();
        let network = Network {
            docker_config: Some(&config),
            ..NETWORK
        };
        let reference = format!("{}/acme/guard:stable", self.address);
        pull(house, &reference, &network).unwrap();
    }
}

#[test]
fn a_blob_may_lie_elsewhere_but_credentials_do_not_go_there() {
    let house = House::new();
    let divided = Divided::new(&house.team.policy("1.0.0"));
    let auth = format!(
        r#"{{"auths": {{"{}": {{"auth": "YmF0dGVyeTpob3JzZQ=="}}}}}}"#,
        divided.address
    );
    divided.pull(&house, &auth);
    assert_eq!(house.in_force(), "1.0.0");
    let asked = divided.tokens.asked().pop().unwrap();
    assert!(
        asked.contains("authorization: basic ymf0dgvyetpob3jzzq=="),
        "{asked}"
    );
    assert!(
        asked.contains("scope=repository%3aacme%2fguard%3apull"),
        "{asked}"
    );
    let asked = divided.registry.asked().pop().unwrap();
    assert!(
        asked.contains("/blobs/") && asked.contains("authorization: bearer t0ken"),
        "{asked}"
    );
    let asked = divided.storage.asked().pop().unwrap();
    assert!(!asked.contains("authorization"), "{asked}");
}

#[test]
fn a_refresh_token_is_changed_for_a_token() {
    let house = House::new();
    let divided = Divided::new(&house.team.policy("1.0.0"));
    let auth = format!(
        r#"{{"auths": {{"{}": {{"identitytoken": "refresh"}}}}}}"#,
        divided.address
    );
    divided.pull(&house, &auth);
    let asked = divided.tokens.asked().pop().unwrap();
    assert!(asked.starts_with("post /token "), "{asked}");
}

/// Says to the test below's own process that it is one.
const HELPED: &str = "HOLDPOINT_TEST_HELPER";

/// Not a test by itself: pulls, where the test below starts it with a path on which there is a credential helper.
#[test]
fn pull_with_a_helper() {
    if env::var_os(HELPED).is_none() {
        return;
    }
    let house = House::new();
    let divided = Divided::new(&house.team.policy("1.0.0"));
    let helpers = format!(r#"{{"credHelpers": {{"{}": "tests"}}}}"#, divided.address);
    divided.pull(&house, &helpers);
    let asked = divided.tokens.asked().pop().unwrap();
    assert!(
        asked.contains("authorization: basic ymf0dgvyetpob3jzzq=="),
        "{asked}"
    );
}

#[test]
fn a_credential_helper_is_asked_by_the_end_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let path = format!("{}:{}", folder.path().display(), env::var("PATH").unwrap());
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", "registries::pull_with_a_helper"]);
        test.env("PATH", path)
            .env(HELPED, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
    };
    assert!(!start().success(), "there is no helper yet");
    let helper = folder.path().join("docker-credential-tests");
    let script = "#!/bin/sh\nread registry\n[ \"$1\" = get ] && [ -n \"$registry\" ] && \
                  echo '{\"Username\": \"battery\", \"Secret\": \"horse\"}'\n";
    fs::write(&helper, script).unwrap();
    set_mode(&helper, 0o700);
    assert!(start().success());
}
