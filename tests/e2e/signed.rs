//! Signed policies, from the key to the decision: made, checked, installed, replaced, taken back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use test_policies::named;

use crate::house::House;
use crate::support::{chmod, run};

/// The file without its signature section, which is the first.
fn stripped(signed: &[u8]) -> Vec<u8> {
    assert_eq!(signed[8], 0, "a custom section");
    let (mut length, mut at) = (0, 9);
    loop {
        length |= usize::from(signed[at] & 0x7f) << (7 * (at - 9));
        at += 1;
        if signed[at - 1] < 0x80 {
            break;
        }
    }
    [&signed[..8], &signed[at + length..]].concat()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_policy_is_made_checked_installed_replaced_and_taken_back() {
    let house = House::new();
    house.decides("silence", "shipped sha256:");
    assert!(house.done(&["list"]).contains("the shipped policy decides"));

    let first = house.sign(named("passes"), "1.0.0", "team.pem");
    assert!(
        house
            .done(&["verify", &first])
            .contains("guard 1.0.0, signed by team")
    );
    house.done(&["verify", &first, "--key", &house.at("team.pem.pub")]);
    assert!(house.done(&["inspect", &first]).contains("guard"));
    let told: Value = serde_json::from_str(&house.done(&["inspect", &first, "--json"])).unwrap();
    assert_eq!(
        (&told["loads"], &told["world"], &told["signers"][0]["trusted"]),
        (
            &json!(true),
            &json!("holdpoint:policy/guest@0.1.0"),
            &json!("team")
        )
    );
    assert!(
        house
            .done(&["install", &first])
            .contains("in place of the shipped policy")
    );
    house.decides("silence", "guard 1.0.0 sha256:");
    assert!(
        house.judged().1["policy"]
            .as_str()
            .unwrap()
            .ends_with(", signed by team")
    );

    let second = house.install(named("denies-for-nothing"), "1.1.0");
    house.decides("deny", "guard 1.1.0 sha256:");
    assert!(house.done(&["install", &second]).contains("in force already"));

    assert!(house.done(&["rollback"]).contains("guard 1.0.0 is in force"));
    house.decides("silence", "guard 1.0.0 sha256:");
    house.done(&["rollback", "1.1.0"]);
    house.decides("deny", "guard 1.1.0 sha256:");

    let digest = told["digest"].as_str().unwrap();
    house.done(&["revoke", digest, "--why", "a hole"]);
    house.fails(&["rollback", "1.0.0"], "is revoked");
    house.decides("deny", "guard 1.1.0 sha256:");
    assert!(house.done(&["revoke", "team"]).contains("every call is denied"));
    house.denies_everything("'team', which is revoked");
    house.fails(&["install", &second], "'team', which is revoked");
    house.fails(&["revoke", "taem"], "neither a digest, nor a key");

    let list = house.list();
    assert_eq!(list["policies"].as_array().unwrap().len(), 2);
    assert_eq!(
        house.history(),
        [
            "install", "install", "rollback", "rollback", "revoke", "failure", "revoke", "failure"
        ]
    );
    let text = house.done(&["list"]);
    assert!(
        text.contains("revoke guard 1.0.0") && text.contains("because a hole") && text.contains("trouble: "),
        "{text}"
    );
}

#[test]
fn what_the_store_revoked_would_not_be_let_in() {
    let house = House::new();
    let first = house.install(named("passes"), "1.0.0");
    let second = house.install(named("denies-for-nothing"), "1.1.0");
    let third = house.sign(named("passes"), "1.2.0", "team.pem");
    house.fails(&["revoke", "1.2.0"], "holdpoint policy inspect FILE");
    house.fails(
        &["revoke", &house.at("component.wasm")],
        "signed it has another digest",
    );
    let told = house.done(&["revoke", &third]);
    assert!(told.contains("is revoked") && !told.contains("denied"), "{told}");
    let told = house.done(&["revoke", "1.1.0"]);
    assert!(told.contains("guard 1.1.0 sha256:"), "{told}");
    assert!(
        told.contains("go back to guard 1.0.0: holdpoint policy rollback"),
        "{told}"
    );
    for file in [&second, &third] {
        house.fails(&["verify", file], "is revoked in this host's store");
        let told = house.done(&["inspect", file]);
        assert!(told.contains("no: the policy sha256:"), "{told}");
    }
    house.denies_everything("or go back: holdpoint policy rollback");
    house.done(&["verify", &first]);
    house.done(&["rollback"]);
    house.decides("silence", "guard 1.0.0");
}

#[test]
fn a_key_is_revoked_whatever_it_is_called() {
    let house = House::new();
    let file = house.install(named("passes"), "1.0.0");
    let told = house.done(&["revoke", "team"]);
    assert!(told.contains("that another key signed"), "{told}");
    let public = |name: &str| house.at(&format!("{name}.pem.pub"));
    let key = |table: &str, file: &str| format!("policy.keys.{table}.public_file = '{file}'\n");
    house.world.configure_bare(&key("renamed", &public("team")));
    house.denies_everything("'renamed', which is revoked in this host's store");
    house.fails(&["verify", &file], "'renamed', which is revoked");
    assert_eq!(house.list()["policies"][0]["revoked"], true);

    // The name is free for another key.
    house.done(&["keygen", &house.at("other.pem")]);
    house.world.configure_bare(&key("team", &public("other")));
    let second = house.sign(named("passes"), "1.1.0", "other.pem");
    house.done(&["install", &second]);
    house.decides("silence", "guard 1.1.0");
}

#[test]
fn the_way_back_from_the_first_policy_is_told() {
    let house = House::new();
    // A revocation alone puts nothing in force, and breaks nothing.
    let digest = format!("sha256:{}", "0".repeat(64));
    house.done(&["revoke", &digest]);
    let told = house.done(&["list"]);
    assert!(told.contains(&format!("revoke {digest}")), "{told}");
    assert!(
        told.contains("the shipped policy decides") && !told.contains("trouble"),
        "{told}"
    );
    house.install(named("passes"), "1.0.0");
    house.fails(&["rollback"], "guard 1.0.0 is the first policy");
    house.fails(&["rollback", "1.0"], "three numbers, as 1.4.0");
    house.configure("policy.require.version = '1.0'");
    house.fails(&["list"], "three numbers, as 1.4.0");
}

#[test]
fn what_no_trusted_key_signed_is_refused_everywhere() {
    let house = House::new();
    house.done(&["keygen", &house.at("other.pem")]);
    let passes = named("passes");
    let good = fs::read(house.sign(passes, "1.0.0", "team.pem")).unwrap();
    let other = fs::read(house.sign(passes, "1.0.0", "other.pem")).unwrap();
    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    let bad = house.at("bad.wasm");
    for (bytes, words) in [
        (passes.component.to_vec(), "the file is not signed"),
        (stripped(&good), "the file is not signed"),
        (other, "which this host does not trust"),
        (changed, "was changed after it was signed"),
    ] {
        fs::write(&bad, &bytes).unwrap();
        for verb in ["verify", "install"] {
            house.fails(&[verb, &bad], words);
        }
        let told: Value = serde_json::from_str(&house.done(&["inspect", &bad, "--json"])).unwrap();
        assert_eq!(told["loads"], false);
        assert!(told["refusal"].as_str().unwrap().contains(words));
        house.decides("silence", "shipped");

        house.configure(&format!("policy.path = '{bad}'"));
        chmod(Path::new(&bad), 0o600);
        house.denies_everything(words);
        house.configure("");
    }
}

#[test]
fn what_is_put_into_the_store_by_hand_is_refused() {
    let house = House::new();
    let file = house.install(named("passes"), "1.0.0");
    let kept = house.object(&file).join("policy.wasm");
    let good = fs::read(&kept).unwrap();
    for bytes in [stripped(&good), named("passes").component.to_vec()] {
        fs::write(&kept, bytes).unwrap();
        house.denies_everything("is not what was installed");
    }
    fs::write(&kept, &good).unwrap();
    house.decides("silence", "guard 1.0.0");

    // What another configuration let in is let in by no more than that.
    house.configure("policy.signature = 'not-required'");
    let unsigned = house.at("unsigned.wasm");
    fs::write(&unsigned, named("passes").component).unwrap();
    house.fails(&["install", &unsigned], "--allow-downgrade");
    house.done(&["install", &unsigned, "--allow-downgrade"]);
    house.decides("silence", "sha256:");
    house.configure("");
    house.denies_everything("the file is not signed");
}

#[test]
fn an_older_version_has_to_be_meant() {
    let house = House::new();
    let old = house.install(named("passes"), "1.0.0");
    house.install(named("denies-for-nothing"), "1.1.0");
    house.fails(&["install", &old], "--allow-downgrade");
    house.decides("deny", "guard 1.1.0");
    house.done(&["install", &old, "--allow-downgrade"]);
    house.decides("silence", "guard 1.0.0");
    assert_eq!(house.history(), ["install", "install", "failure", "downgrade"]);
}

#[test]
fn a_private_key_is_its_owners_alone() {
    let house = House::new();
    let (key, public) = (house.world.path("team.pem"), house.world.path("team.pem.pub"));
    assert_eq!((mode(&key), mode(&public)), (0o600, 0o644));
    house.fails(
        &["keygen", &house.at("team.pem")],
        "team.pem: is there already and is not overwritten",
    );
    house.fails(
        &["keygen", &house.at("x.pem"), "--passphrase-env", "NOWHERE"],
        "which should hold the passphrase, is not set",
    );
    let component = house.at("component.wasm");
    fs::write(&component, named("passes").component).unwrap();
    let out = house.at("out.wasm");
    let sign = |key: &str, more: &[&str]| {
        let mut arguments = vec![
            "sign",
            &component,
            "--key",
            key,
            "--name",
            "guard",
            "--version",
            "1.0.0",
            "--out",
            &out,
        ];
        arguments.extend(more);
        house.policy(&arguments)
    };
    let outcome = sign(&house.at("team.pem.pub"), &[]);
    assert!(outcome.stderr.contains("this is a public key"), "{outcome:?}");
    for open in [0o644, 0o640, 0o604, 0o622] {
        chmod(&key, open);
        let outcome = sign(&house.at("team.pem"), &[]);
        assert_eq!(outcome.code, Some(3));
        assert!(outcome.stderr.contains("chmod 600"), "{outcome:?}");
    }

    let locked = house.at("locked.pem");
    house.done(&["keygen", &locked, "--passphrase-env", "PASSPHRASE"]);
    assert!(
        fs::read_to_string(&locked)
            .unwrap()
            .starts_with("-----BEGIN ENCRYPTED PRIVATE KEY")
    );
    house.world.write_private("right", "correct\n");
    house.world.write_private("wrong", "incorrect\n");
    let (right, wrong) = (house.at("right"), house.at("wrong"));
    for (more, words) in [
        (&[][..], "--passphrase-env"),
        (&["--passphrase-file", &wrong], "does not open"),
        (&["--passphrase-env", "NOWHERE"], "NOWHERE"),
    ] {
        let outcome = sign(&locked, more);
        assert_eq!(outcome.code, Some(3));
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
    assert!(!Path::new(&out).exists());
    assert_eq!(sign(&locked, &["--passphrase-file", &right]).code, Some(0));
    house.done(&["verify", &out, "--key", &format!("{locked}.pub")]);
}

#[test]
fn a_broken_policy_gives_way_to_the_one_before_and_the_log_says_so() {
    let house = House::new();
    house.install(named("passes"), "1.0.0");
    let second = house.install(named("denies-for-nothing"), "1.1.0");
    fs::write(house.object(&second).join("policy.wasm"), b"nothing").unwrap();
    house.decides("silence", "guard 1.0.0 sha256:");
    let line = house.judged().1;
    assert!(
        line["policy"].as_str().unwrap().contains("which is broken"),
        "{line}"
    );
    assert!(
        house.list()["troubles"][0]
            .as_str()
            .unwrap()
            .contains("is broken")
    );
}

#[test]
fn without_a_compiler_nothing_is_installed_and_it_says_where_to_get_one() {
    let house = House::new();
    house.install(named("passes"), "1.0.0");
    let second = house.sign(named("denies-for-nothing"), "1.1.0", "team.pem");
    let compiler = house.world.path("bin/holdpoint-compile");
    let elsewhere = house.world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&compiler, elsewhere.join("holdpoint-compile")).unwrap();
    house.fails(
        &["install", &second],
        "cargo install --locked --path host/compiler",
    );
    house.decides("silence", "guard 1.0.0");

    fs::write(&compiler, "#!/bin/bash\necho it cannot be done >&2\nexit 3\n").unwrap();
    chmod(&compiler, 0o700);
    house.fails(&["install", &second], "it cannot be done");
    chmod(&compiler, 0o722);
    house.fails(&["install", &second], "chmod go-w");
    house.decides("silence", "guard 1.0.0");

    fs::remove_file(&compiler).unwrap();
    let mut command = house.world.command(&house.program);
    command
        .args(["policy", "install", &second])
        .env("PATH", &elsewhere);
    let outcome = run(command, b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    house.decides("deny", "guard 1.1.0");
}

#[test]
fn a_key_that_cannot_be_used_is_a_fault_of_the_configuration() {
    let house = House::new();
    house.install(named("passes"), "1.0.0");
    let public = fs::read_to_string(house.at("team.pem.pub")).unwrap();
    house
        .world
        .configure_bare(&format!("policy.keys.team.public = '''{public}'''"));
    house.decides("silence", "guard 1.0.0");
    for (lines, words) in [
        ("policy.keys.team.public = 'nonsense'", "policy.keys.team"),
        (
            "policy.keys.team.public_file = 'team.pem'",
            "has to begin with '/'",
        ),
        ("policy.keys.team.public_file = '/nowhere'", "/nowhere"),
        ("policy.keys.team.revoked = true", "public_file"),
        ("policy.keys.team.not_after = 'tomorrow'", "2027-01-31T12:00:00Z"),
        ("policy.revoked = ['1234']", "64 hexadecimal digits"),
        ("policy.signature = 'maybe'", "maybe"),
        ("policy.store = 'policies'", "has to begin with '/'"),
    ] {
        house.world.configure_bare(lines);
        let (decided, line) = house.judged();
        assert_eq!(
            (decided.as_str(), &line["fault"]),
            ("deny", &json!("configuration")),
            "{line}"
        );
        assert!(line["why"].as_str().unwrap().contains(words), "{words}: {line}");
    }
    house.configure("policy.keys.team.not_after = '2020-01-01T00:00:00Z'");
    house.denies_everything("which counted until 2020");
    house.configure("policy.keys.team.revoked = true");
    house.denies_everything("which is revoked");
    chmod(&house.world.path("home/.local/share/holdpoint/policies"), 0o777);
    house.configure("");
    house.denies_everything("chmod go-w");
}
