//! OCI registries: a real one, and hostile ones.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use holdpoint_artifact::Digest;
use holdpoint_store::pull::{FetchError, Network, PullError};
use holdpoint_store::{Changed, What};
use tempfile::TempDir;

use crate::common::{House, PLAIN, set_mode};
use crate::server::{Answer, Site};

const NETWORK: Network<'static> = Network {
    ca_file: None,
    docker_config: None,
    timeout: Duration::from_secs(60),
};

/// The user `battery` with the password `horse`, as bcrypt has it.
const HTPASSWD: &str = "battery:$2y$05$abcdefghijklmnopqrstuuQc5bFU8vqejtelfg5gO9zOv6VrNOdIO\n";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// A registry's process, with a storage of its own.
struct Registry {
    address: SocketAddr,
    process: Child,
    _folder: TempDir,
}

/// Whether the registry's program is here. Where it is not, the tests that need it say so and end; never in CI, which
/// installs it.
fn have_registry() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let here = std::env::split_paths(&path).any(|directory| directory.join("docker-registry").is_file());
    assert!(
        here || std::env::var_os("CI").is_none(),
        "docker-registry is missing"
    );
    if !here {
        eprintln!(
            "NOT RUN, for want of docker-registry; on Debian and Ubuntu: apt-get install docker-registry"
        );
    }
    here
}

impl Registry {
    fn start(with_password: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Found free now and taken in a moment; where somebody else is faster, the process ends and it is tried again.
        for _ in 0..10 {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let config = folder.path().join("config.yml");
            fs::write(&config, configuration(folder.path(), address, with_password)).unwrap();
            let mut process = Command::new("docker-registry")
                .arg("serve")
                .arg(&config)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the registry starts");
            let patience = Instant::now() + Duration::from_secs(30);
            while Instant::now() < patience && process.try_wait().unwrap().is_none() {
                if TcpStream::connect(address).is_ok() {
                    return Self {
                        address,
                        process,
                        _folder: folder,
                    };
                }
                thread::sleep(Duration::from_millis(20));
            }
            let _ = process.kill();
            process.wait().unwrap();
        }
        panic!("docker-registry did not start")
    }

    /// Pushes a policy as the layout for Wasm has it, and gives the manifest's digest.
    fn push(&self, tag: &str, policy: &[u8], config_type: &str) -> Digest {
        let blob = |bytes: &[u8]| {
            let digest = Digest::of(bytes);
            let started = self.send("POST", "/v2/acme/guard/blobs/uploads/", "", b"");
            let location = started
                .lines()
                .find_map(|line| line.strip_prefix("location: "))
                .unwrap();
            let path = location
                .trim()
                .strip_prefix(&format!("http://{}", self.address))
                .unwrap_or_else(|| location.trim());
            let answer = self.send(
                "PUT",
                &format!("{path}&digest={digest}"),
                "application/octet-stream",
                bytes,
            );
            assert!(answer.starts_with("http/1.1 201"), "{answer}");
            digest
        };
        let config = br#"{"architecture":"wasm","os":"wasip2"}"#;
        let (config_digest, layer_digest) = (blob(config), blob(policy));
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}",
                "config":{{"mediaType":"{config_type}","digest":"{config_digest}","size":{}}},
                "layers":[{{"mediaType":"application/wasm","digest":"{layer_digest}","size":{}}}]}}"#,
            config.len(),
            policy.len(),
        );
        let answer = self.send(
            "PUT",
            &format!("/v2/acme/guard/manifests/{tag}"),
            MANIFEST,
            manifest.as_bytes(),
        );
        assert!(answer.starts_with("http/1.1 201"), "{answer}");
        Digest::of(manifest.as_bytes())
    }

    /// One request, as the user `battery`; gives the answer's head, names in lower case.
    fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> String {
        use std::io::{Read as _, Write as _};
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Basic YmF0dGVyeTpob3JzZQ==\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len(),
        )
        .unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let lines = answer.lines().map(|line| match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}\n", name.to_lowercase()),
            None => format!("{}\n", line.to_lowercase()),
        });
        lines.collect()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn configuration(folder: &Path, address: SocketAddr, with_password: bool) -> String {
    let folder = folder.display();
    let mut config = format!(
        "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {folder}/storage\n\
         http:\n  addr: {address}\n  secret: none\n"
    );
    if with_password {
        fs::write(format!("{folder}/htpasswd"), HTPASSWD).unwrap();
        config += &format!("auth:\n  htpasswd:\n    realm: tests\n    path: {folder}/htpasswd\n");
    }
    config
}

fn pull(house: &House, reference: &str, network: &Network<'_>) -> Result<Changed, PullError> {
    let reference = reference.parse().unwrap();
    house
        .store
        .pull(&reference, network, PLAIN, &house.team.admission())
}

#[test]
fn a_policy_comes_from_a_registry_by_tag_and_by_digest() {
    if !have_registry() {
        return;
    }
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

#[test]
fn a_registry_with_a_password_gets_it_from_dockers_configuration() {
    if !have_registry() {
        return;
    }
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
    assert!(house.store.list().unwrap().is_empty());
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

/// Not a test by itself: pulls, with a path on which there is a credential helper.
#[test]
#[ignore = "started by the test below"]
fn pull_with_a_helper() {
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
        test.args(["--exact", "registries::pull_with_a_helper", "--ignored"]);
        test.env("PATH", path)
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
