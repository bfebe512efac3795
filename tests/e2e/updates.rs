//! Updates through the real verbs: from a registry, from channels, and what has to be in force.

use std::fs;
use std::time::{Duration, SystemTime};

use holdpoint_artifact::KeyPair;
use holdpoint_store::pull::Channel;
use mirror_sim::{Answer, CONFIG, Registry, Site};
use serde_json::json;
use test_policies::named;

use crate::house::House;
use crate::support::run;

impl House {
    /// Says with the real verb that a file is current in the channel `stable`; the document is `stable.json`.
    fn publish(&self, file: &str) {
        let (key, out) = (self.at("team.pem"), self.at("stable.json"));
        self.done(&[
            "channel",
            file,
            "--key",
            &key,
            "--channel",
            "stable",
            "--out",
            &out,
        ]);
    }

    fn address(&self) -> String {
        format!("file://{}", self.at("stable.json"))
    }
}

#[ignore = "needs docker-registry"]
#[test]
fn an_update_is_pulled_from_a_real_registry() {
    let (house, registry) = (House::new(), Registry::start(true));
    let first = fs::read(house.sign(named("passes"), "1.0.0", "team.pem")).unwrap();
    registry.push("stable", &first, CONFIG);
    let tag = format!("{}/acme/guard:stable", registry.address);
    house.fails(&["pull", &tag], "docker login");
    fs::create_dir_all(house.world.path("home/.docker")).unwrap();
    let login = json!({ "auths": { registry.address.to_string(): { "auth": "YmF0dGVyeTpob3JzZQ==" } } });
    house
        .world
        .write_private("home/.docker/config.json", &login.to_string());
    assert!(house.done(&["pull", &tag]).contains("guard 1.0.0 is in force"));
    house.decides("silence", "guard 1.0.0");
    assert!(house.done(&["pull", &tag]).contains("in force already"));

    let second = fs::read(house.sign(named("denies-for-nothing"), "1.1.0", "team.pem")).unwrap();
    let digest = registry.push("next", &second, CONFIG);
    house.done(&["pull", &format!("{}/acme/guard@{digest}", registry.address)]);
    house.decides("deny", "guard 1.1.0");

    // The tag still names the older one; a registry cannot take anybody back.
    house.fails(&["pull", &tag], "--allow-downgrade");
    house.decides("deny", "guard 1.1.0");
    let told = house.judged().1["policy"].as_str().unwrap().to_owned();
    assert!(told.contains("a change of the policy failed at"), "{told}");
    // Nor can it give something that nobody signed.
    registry.push("stable", named("passes").component, CONFIG);
    house.fails(&["pull", &tag], "is not signed");
    house.decides("deny", "guard 1.1.0");
    assert_eq!(
        house.history(),
        ["failure", "install", "install", "failure", "failure"]
    );
}

#[test]
fn an_update_is_pulled_from_a_channel_on_a_disk() {
    let house = House::new();
    let first = house.sign(named("passes"), "1.0.0", "team.pem");
    house.publish(&first);
    house.done(&["pull", &house.address()]);
    house.decides("silence", "guard 1.0.0");
    assert_eq!(house.list()["history"][0]["from"], house.address());

    let second = house.sign(named("denies-for-nothing"), "1.1.0", "team.pem");
    house.publish(&second);
    house.done(&["pull", &house.address()]);
    house.decides("deny", "guard 1.1.0");

    // A mirror that was rolled back.
    house.publish(&first);
    house.fails(&["pull", &house.address()], "somebody serves an old document");
    house.decides("deny", "guard 1.1.0");
    let told = house.judged().1["policy"].as_str().unwrap().to_owned();
    assert!(told.contains("somebody serves an old document"), "{told}");
    let troubles = house.list()["troubles"].to_string();
    assert!(troubles.contains("somebody serves an old document"), "{troubles}");

    house.publish(&second);
    house.done(&["pull", &house.address()]);
    assert!(!house.judged().1["policy"].as_str().unwrap().contains("failed"));

    fs::remove_file(house.world.path("stable.json.sig")).unwrap();
    house.fails(&["pull", &house.address()], "stable.json.sig");
    house.fails(&["pull", "no reference"], "names no update");
}

#[test]
fn a_frozen_mirror_is_noticed() {
    let house = House::new();
    let file = house.sign(named("passes"), "1.0.0", "team.pem");
    house.publish(&file);
    house.done(&["pull", &house.address()]);
    assert!(house.list()["troubles"].as_array().unwrap().is_empty());

    // The same document, as it was a week ago. Nobody waits a week in a test.
    let document = fs::read(house.world.path("stable.json")).unwrap();
    let mut channel: Channel = serde_json::from_slice(&document).unwrap();
    let ago = |seconds| (SystemTime::now() - Duration::from_secs(seconds)).into();
    (channel.issued, channel.expires) = (ago(7200), ago(3600));
    let key = KeyPair::from_pem(&fs::read_to_string(house.at("team.pem")).unwrap(), None).unwrap();
    let (document, signature) = channel.sign(&key).unwrap();
    fs::write(house.world.path("stable.json"), document).unwrap();
    fs::write(house.world.path("stable.json.sig"), signature).unwrap();
    house.fails(&["pull", &house.address()], "was to be believed until");
    house.decides("silence", "guard 1.0.0");

    // Nobody has to pull for it to be noticed.
    let seen = house
        .world
        .path("home/.local/share/holdpoint/policies/channels.json");
    let text = fs::read_to_string(&seen).unwrap();
    let mut all: serde_json::Value = serde_json::from_str(&text).unwrap();
    all[house.address()]["expires"] = json!(channel.expires);
    house.world.write_private(
        "home/.local/share/holdpoint/policies/channels.json",
        &all.to_string(),
    );
    let troubles = house.list()["troubles"].to_string();
    assert!(troubles.contains("may be held back"), "{troubles}");
}

#[test]
fn an_update_is_pulled_from_a_web_server_with_a_certificate_that_is_trusted() {
    let house = House::new();
    let file = house.sign(named("passes"), "1.0.0", "team.pem");
    house.publish(&file);
    let site = Site::default();
    for name in ["stable.json", "stable.json.sig", "guard-1.0.0.wasm"] {
        let bytes = fs::read(house.world.path(name)).unwrap();
        site.put(&format!("/guard/{name}"), Answer::Body(bytes));
    }
    let (address, certificate) = site.serve_tls();
    fs::write(house.world.path("ca.pem"), certificate).unwrap();
    let url = format!("https://localhost:{}/guard/stable.json", address.port());
    house.fails(&["pull", &url], "cannot be reached");
    let mut command = house.world.command(&house.program);
    command
        .args(["policy", "pull", &url])
        .env("SSL_CERT_FILE", house.at("ca.pem"));
    let outcome = run(command, b"");
    assert!(outcome.stderr.contains("cannot be reached"), "{outcome:?}");
    fs::write(house.world.path("empty.pem"), "").unwrap();
    house.fails(
        &["pull", &url, "--ca-file", &house.at("empty.pem")],
        "holds no certificate",
    );
    house.done(&["pull", &url, "--ca-file", &house.at("ca.pem")]);
    house.decides("silence", "guard 1.0.0");
}

#[test]
fn a_channel_names_only_what_its_key_signed() {
    let house = House::new();
    house.done(&["keygen", &house.at("other.pem")]);
    let file = house.sign(named("passes"), "1.0.0", "team.pem");
    let (other, out) = (house.at("other.pem"), house.at("stable.json"));
    let channel = |file: &str, key: &str, words: &str| {
        house.fails(
            &[
                "channel",
                file,
                "--key",
                key,
                "--channel",
                "stable",
                "--out",
                &out,
            ],
            words,
        );
    };
    channel(&file, &other, "which this host does not trust");
    let unsigned = house.at("component.wasm");
    channel(&unsigned, &house.at("team.pem"), "is not signed");
    assert!(!house.world.path("stable.json").exists());
}

#[test]
fn where_a_policy_is_required_nothing_else_decides() {
    let house = House::new();
    let first = house.install(named("passes"), "1.0.0");
    let advice = house.list()["advice"].to_string();
    assert!(advice.contains("policy.require"), "{advice}");

    house.configure("policy.require.name = 'guard'\npolicy.require.version = '1.1.0'");
    assert!(house.list()["advice"].is_null());
    house.denies_everything("wants guard 1.1.0 or later");
    house.fails(&["install", &first], "wants guard 1.1.0 or later");
    house.install(named("passes"), "1.1.0");
    house.decides("silence", "guard 1.1.0");
    house.fails(&["rollback"], "wants guard 1.1.0 or later");
    house.fails(
        &["install", &first, "--allow-downgrade"],
        "wants guard 1.1.0 or later",
    );

    let store = house.world.path("home/.local/share/holdpoint/policies");
    fs::remove_dir_all(&store).unwrap();
    house.denies_everything("wants guard 1.1.0 or later (policy.require), and no policy is installed");
    assert!(house.done(&["list"]).contains("every call is denied"));
    house.configure("policy.require.name = 'other'");
    house.denies_everything("wants other");
    // Without that, a store that is gone is a store that never was.
    house.configure("");
    house.decides("silence", "shipped");
}

#[test]
fn a_store_that_lost_what_is_in_force_denies() {
    let house = House::new();
    let file = house.install(named("passes"), "1.0.0");
    fs::remove_file(house.world.path("home/.local/share/holdpoint/policies/active")).unwrap();
    house.denies_everything("guard 1.0.0 was put in force");
    let listed = house.done(&["list"]);
    assert!(
        listed.contains("trouble: guard 1.0.0 was put in force")
            && !listed.contains("nothing is in force here"),
        "{listed}"
    );
    house.done(&["install", &file]);
    house.decides("silence", "guard 1.0.0");
}
