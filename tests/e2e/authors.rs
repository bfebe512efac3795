//! What policies begin with: other catalogs in the shipped policy, and a crate of one's own.

use std::fs;

use serde_json::{Value, json};

use crate::house::{House, with_real_compiler};
use crate::support::before;

/// The catalog of a server that nobody ships.
const TICKETS: &str = "[server]\naliases = ['tickets']\n[[tools]]\nclass = 'read'\nnames = ['get_ticket', 'list_tickets']\n\
                       [[tools]]\nclass = 'guest'\nnames = ['run_fix']\nmachine = { arguments = ['host'], kind = 'name' }\n";

impl House {
    fn packed(&self, base: &str, out: &str) -> String {
        let (folder, out) = (self.at("catalogs"), self.at(out));
        self.done(&["pack", base, "--catalog", &folder, "--out", &out]);
        out
    }

    fn decision(&self, tool: &str) -> String {
        let program = self.program.to_str().unwrap();
        self.world.hook(program, &before(tool, json!({}))).decision()
    }
}

#[test]
fn other_catalogs_are_packed_and_signed() {
    let house = House::new();
    let (_, told) = packed_and_signed(&house);
    assert_eq!(told["loads"], true, "{told}");
    let summary = &told["catalog"]["summary"];
    assert_eq!(summary["servers"], json!(["tickets"]));
    assert_eq!(summary["tools"], json!({ "read": 2, "guest": 1 }));
    assert_eq!(told["manifest"]["catalog"], told["catalog"]["digest"]);
}

/// A signed policy that knows one server, and what `inspect` says of it.
fn packed_and_signed(house: &House) -> (String, Value) {
    fs::create_dir(house.world.path("catalogs")).unwrap();
    fs::write(house.world.path("catalogs/tickets.toml"), TICKETS).unwrap();
    let packed = house.packed("shipped", "packed.wasm");
    let key = house.at("team.pem");
    let signed = house.at("guard.wasm");
    house.done(&[
        "sign",
        &packed,
        "--key",
        &key,
        "--name",
        "guard",
        "--version",
        "1.0.0",
        "--out",
        &signed,
    ]);
    let told = house.done(&["inspect", &signed, "--json"]);
    (signed, serde_json::from_str(&told).unwrap())
}

#[test]
fn what_a_policy_knows_is_told_by_lines() {
    let house = House::new();
    let (signed, _) = packed_and_signed(&house);
    let told = house.done(&["inspect", &signed]);
    for line in ["\nservers     1: tickets\n", "\ntools       guest 1, read 2\n"] {
        assert!(told.contains(line), "{told}");
    }
    let told = house.done(&["inspect", "shipped"]);
    assert!(told.contains("\nloads       yes\n"), "{told}");
    for verb in [
        &["inspect", "shiped"][..],
        &["pack", "shiped", "--catalog", "x", "--out", "y"],
    ] {
        house.fails(verb, "the policy inside this program is called shipped");
    }
}

#[test]
fn what_packs_says_what_comes_next_and_what_two_files_say() {
    let house = House::new();
    fs::create_dir(house.world.path("catalogs")).unwrap();
    for file in ["tickets.toml", "more.toml"] {
        fs::write(house.world.path("catalogs").join(file), TICKETS).unwrap();
    }
    let (folder, out) = (house.at("catalogs"), house.at("packed.wasm"));
    let pack = ["pack", "shipped", "--catalog", &folder, "--out", &out];
    let told = house.done(&pack);
    for words in [
        "note: tickets/get_ticket and 2 more: in more.toml and in tickets.toml; the stricter entry counts",
        "test it: holdpoint test ",
        "--key KEY.pem --name NAME --version 1.0.0 --out",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let starred = TICKETS.replace("'list_tickets'", "'list_*'");
    fs::write(house.world.path("catalogs/more.toml"), starred).unwrap();
    house.fails(&pack, "the tool `list_*` holds a `*`");
}

#[test]
fn packed_catalogs_decide() {
    let house = House::new();
    with_real_compiler(&house.world);
    let (signed, _) = packed_and_signed(&house);
    assert_eq!(house.decision("mcp__tickets__get_ticket"), "ask", "not known yet");
    house.done(&["install", &signed]);
    assert_eq!(house.decision("mcp__tickets__get_ticket"), "silence");
    assert_eq!(house.decision("mcp__tickets__run_fix"), "ask");
    assert_eq!(house.decision("mcp__esxi__listVMs"), "ask", "known no more");
}

#[test]
fn packing_twice_is_packing_once() {
    let house = House::new();
    fs::create_dir(house.world.path("catalogs")).unwrap();
    fs::write(house.world.path("catalogs/tickets.toml"), TICKETS).unwrap();
    let once = house.packed("shipped", "once.wasm");
    let twice = house.packed(&once, "twice.wasm");
    assert_eq!(fs::read(once).unwrap(), fs::read(twice).unwrap());

    let folder = house.at("catalogs");
    let out = house.at("out.wasm");
    let fails = |base: &str, words: &str| {
        house.fails(&["pack", base, "--catalog", &folder, "--out", &out], words);
    };
    fs::write(
        house.world.path("passes.wasm"),
        test_policies::named("passes").component,
    )
    .unwrap();
    fails(&house.at("passes.wasm"), "has no place for catalogs");
    fails(&house.at("nowhere.wasm"), "nowhere.wasm");
    fs::write(
        house.world.path("catalogs/bad.toml"),
        TICKETS.replace("'guest'", "'gest'"),
    )
    .unwrap();
    fails("shipped", "bad.toml");
    for file in ["bad.toml", "tickets.toml"] {
        fs::remove_file(house.world.path("catalogs").join(file)).unwrap();
    }
    fails("shipped", "holds no catalog");
    assert!(!house.world.path("out.wasm").exists());
}

#[test]
fn a_new_policy_has_all_that_it_is_built_from() {
    let house = House::new();
    let told = house.done(&["new", "my-guard"]);
    assert!(told.contains("my-guard/README.md"), "{told}");
    let read = |path: &str| fs::read_to_string(house.world.path("project/my-guard").join(path)).unwrap();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    assert_eq!(manifest["package"]["name"].as_str(), Some("my-guard"));
    assert_eq!(read("wit/policy.wit"), include_str!("../../wit/policy.wit"));
    assert!(read("README.md").contains("release/my_guard.wasm"));
    let cases: toml::Table = read("cases/my-guard.toml").parse().unwrap();
    assert_eq!(cases["case"].as_array().unwrap().len(), 2);
    assert!(read("src/lib.rs").contains("impl Guest for Policy"));
    house.fails(
        &["new", "my-guard"],
        "my-guard: is there already and is not overwritten",
    );
    for name in ["", "Guard", "9guard", "a/b", "-x", "a_b"] {
        let outcome = house.policy(&["new", "--", name]);
        assert_eq!(outcome.code, Some(3), "{name}: {outcome:?}");
    }
}
