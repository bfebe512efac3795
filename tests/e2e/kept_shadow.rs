//! A shadow that is kept in the store, named by its digest, and its promotion.

use serde_json::{Value, json};
use test_policies::named;

use crate::house::House;
use crate::support::before;

#[test]
fn a_kept_policy_looks_on_by_its_digest_until_it_is_put_in_force() {
    let house = House::new();
    house.install(named("passes"), "1.0.0");
    let candidate = house.install(named("answers-nothing"), "2.0.0");
    let told: Value = serde_json::from_str(&house.done(&["verify", &candidate, "--json"])).unwrap();
    let digest = told["digest"].as_str().unwrap().to_owned();
    house.done(&["rollback"]);
    house.configure(&format!("policy.shadow = '{digest}'"));

    let program = house.program.to_str().unwrap();
    let outcome = house
        .world
        .hook(program, &before("mcp__esxi__listVMs", json!({})));
    assert_eq!(outcome.decision(), "silence", "{outcome:?}");
    let log = house.world.log();
    assert!(
        log[0]["policy"].as_str().unwrap().starts_with("guard 1.0.0"),
        "{log:#?}"
    );
    let shadow = &log[1]["shadow"];
    assert!(log[1].to_string().contains("guard 2.0.0"), "{log:#?}");
    assert_eq!(
        (&shadow["change"], &shadow["active"]),
        (&json!("fault"), &json!("pass")),
        "{shadow}"
    );

    // Promotion is nothing but the installing of the same digest.
    house.done(&["install", &candidate]);
    house.configure("");
    let (_, line) = house.judged();
    assert!(
        line["policy"].as_str().unwrap().starts_with("guard 2.0.0"),
        "{line}"
    );
}
