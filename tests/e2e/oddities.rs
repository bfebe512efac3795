//! ZVMs as they are: certificates that appliances make, files that Windows writes, and answers that releases differ in.

use serde_json::json;

use crate::HOLDPOINT;
use crate::support::{Outcome, PASSWORD, World, assert_asks, assert_denies, before};

const HEALTHY: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\n";

fn power_off(vm: &str) -> serde_json::Value {
    before("mcp__esxi__powerOff", json!({ "name": vm }))
}

fn hook(world: &World, vm: &str) -> Outcome {
    world.hook(HOLDPOINT, &power_off(vm))
}

/// A world whose ZVM is trusted by its pin. Others trust the file that the simulation gives out, which is the certificate
/// itself where that is signed by itself.
fn pinned(scenario: &str) -> World {
    let world = World::with_zvm(scenario);
    let text = std::fs::read_to_string(world.path("config.toml")).unwrap();
    let sha256 = world.sim.as_ref().unwrap().certificate_sha256();
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.split_once("ca_file") {
            Some((before, _)) => format!("{before}pin = 'sha256:{sha256}'"),
            None => line.to_owned(),
        })
        .collect();
    world.configure_bare(&lines.join("\n"));
    world
}

#[test]
fn a_pinned_certificate_of_any_form_is_the_right_one() {
    for kind in ["issued", "self-signed-ca", "version1"] {
        let world = pinned(&format!(
            "{HEALTHY}[certificate]\nkind = '{kind}'\ndays_left = -3"
        ));
        assert_eq!(hook(&world, "jp-ubuntu").decision(), "context", "{kind}");
    }
}

#[test]
fn a_self_signed_certificate_serves_as_its_own_ca_file_until_it_ends() {
    let good = World::with_zvm(&format!("{HEALTHY}[certificate]\nkind = 'self-signed-ca'"));
    assert_eq!(hook(&good, "jp-ubuntu").decision(), "context");
    for kind in ["issued", "self-signed-ca"] {
        let ended = World::with_zvm(&format!(
            "{HEALTHY}[certificate]\nkind = '{kind}'\ndays_left = -3"
        ));
        assert_denies(&hook(&ended, "jp-ubuntu"), "it ended on 20");
    }
}

#[test]
fn files_that_begin_with_a_byte_order_mark_are_read() {
    let world = World::with_zvm(HEALTHY);
    let pem = std::fs::read(world.path("ca.pem")).unwrap();
    std::fs::write(world.path("ca.pem"), [b"\xef\xbb\xbf", &pem[..]].concat()).unwrap();
    world.write_private("password", &format!("\u{feff}{PASSWORD}\r\n"));
    assert_eq!(hook(&world, "jp-ubuntu").decision(), "context");

    let wide: Vec<u8> = format!("\u{feff}{PASSWORD}\r\n")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    std::fs::write(world.path("password"), wide).unwrap();
    assert_eq!(hook(&world, "jp-ubuntu").decision(), "context");

    std::fs::write(world.path("password"), b"p\xe4ss\n").unwrap();
    assert_denies(&hook(&world, "jp-ubuntu"), "save it as UTF-8");
}

#[test]
fn an_unknown_vm_asks_also_where_the_zvm_answers_500_to_an_unknown_identifier() {
    // The name is looked up first, and answered.
    let trouble = "[[troubles]]\non = 'GET /v1/vms'\nafter = 1\ntimes = 1\nkind = 'status'\nstatus = 500\n";
    for body in [
        "",
        "body = '{\"Message\":\"failed parsing as a valid VM Identifier\"}'",
    ] {
        let world = World::with_zvm(&format!("{HEALTHY}{trouble}{body}"));
        assert_asks(&hook(&world, "web99"), "web99");
    }
    let broken = format!("{HEALTHY}{trouble}").replace("times = 1\n", "");
    let world = World::with_zvm(&broken);
    assert_eq!(
        hook(&world, "web99").decision(),
        "deny",
        "a ZVM that only fails knows nothing"
    );
}

#[test]
fn a_zvm_without_a_clock_is_not_told_as_a_missing_vpg() {
    let world = World::with_zvm(&format!(
        "{HEALTHY}[[troubles]]\non = 'GET /v1/serverDateTime/*'\nkind = 'status'\nstatus = 404"
    ));
    let outcome = hook(&world, "jp-ubuntu");
    assert_denies(&outcome, "/v1/serverDateTime/serverDateTimeUtc");
    assert!(!outcome.text().contains("no longer"), "{}", outcome.text());
}

#[test]
fn an_insert_that_is_accepted_without_a_word_is_looked_for() {
    let world = World::with_zvm(&format!(
        "{HEALTHY}[[troubles]]\non = 'POST /v1/vpgs/*/checkpoints'\nkind = 'unnamed'"
    ));
    assert_eq!(hook(&world, "jp-ubuntu").decision(), "context");
}

#[test]
fn a_password_that_was_changed_at_the_zvm_is_sent_once_and_not_at_every_call() {
    let world = World::with_zvm(HEALTHY);
    let log_ins = || {
        let requests = world.sim.as_ref().unwrap().requests();
        requests
            .iter()
            .filter(|request| request.path.ends_with("/token"))
            .count()
    };
    world.write_private("password", "rotated");
    for _ in 0..10 {
        assert_denies(&hook(&world, "jp-ubuntu"), "no log-in to Zerto succeeded");
    }
    assert_eq!(log_ins(), 1);
    // The right one is sent at once.
    world.write_private("password", PASSWORD);
    assert_eq!(hook(&world, "jp-ubuntu").decision(), "context");
    assert_eq!(log_ins(), 2);
}

#[test]
fn many_calls_at_once_send_a_wrong_password_once() {
    let world = World::with_zvm(HEALTHY);
    world.write_private("password", "rotated");
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| assert_denies(&hook(&world, "jp-ubuntu"), "no log-in to Zerto succeeded"));
        }
    });
    let requests = world.sim.as_ref().unwrap().requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
}
