//! Questions that change nothing.

use std::time::Duration;

use holdpoint_zerto::{Direction, Error};
use serde_json::json;

use crate::common::*;

/// The two vCenters of the site.
const ONE: &str = "11111111-0000-4000-8000-000000000000";
const TWO: &str = "22222222-0000-4000-8000-000000000000";

const SITE: &str = r#"
[[vpgs]]
name = "APP-VPG"
status = 4
sub_status = 23
cadence_ms = 2000
vms = [
  { name = "jp-ubuntu", identifier = "11111111-0000-4000-8000-000000000000.vm-1", ip_addresses = ["10.0.0.7"] },
  { name = "Größe.example", identifier = "11111111-0000-4000-8000-000000000000.vm-2", exists = false },
]
[[vpgs]]
name = "SECOND-VPG"
cadence_ms = 400_000
vms = [ { name = "jp-ubuntu", identifier = "11111111-0000-4000-8000-000000000000.vm-1" } ]
[[vpgs]]
name = "TWIN-VPG"
vms = [ { name = "twin", identifier = "11111111-0000-4000-8000-000000000000.vm-3" }, { name = "TWIN", identifier = "22222222-0000-4000-8000-000000000000.vm-3" } ]
[[vpgs]]
name = "FOREIGN-VPG"
vms = [ { name = "elsewhere", direction = "recovered-here" } ]
"#;

#[tokio::test]
async fn a_vm_in_several_vpgs_has_several_rows() {
    let sim = sim(SITE);
    let rows = zvm(&sim).find_vms_by_name("JP-Ubuntu").await.unwrap();
    let vpgs: Vec<_> = rows.iter().map(|row| row.vpg_name.as_str()).collect();
    assert_eq!(vpgs, ["APP-VPG", "SECOND-VPG"]);
    let row = &rows[0];
    assert_eq!(
        (row.vm_identifier.as_str(), row.vm_name.as_str()),
        (&*format!("{ONE}.vm-1"), "jp-ubuntu")
    );
    assert_eq!(row.vpg_identifier, vpg("APP-VPG"));
    assert_eq!((row.status, row.sub_status, row.vm_exists), (4, 23, true));
    assert_eq!(row.direction, Direction::ProtectedHere);
    assert_eq!(row.extras["ip_addresses"], json!(["10.0.0.7"]));
    assert_eq!(row.extras["protected_site"], "Local");
}

#[tokio::test]
async fn names_are_compared_by_unicode() {
    let sim = sim(SITE);
    let zvm = zvm(&sim);
    // The simulation, like Zerto, is free to compare names by its own rules; all rows come where it has no filter.
    let rows = zvm.find_vms_by_name("Größe.example").await.unwrap();
    assert_eq!(rows.len(), 1);
    assert!(!rows[0].vm_exists);
    assert_eq!(zvm.find_vms_by_name("größe").await.unwrap(), []);
}

#[tokio::test]
async fn twins_and_foreigners_are_told_apart() {
    let sim = sim(SITE);
    let zvm = zvm(&sim);
    let twins = zvm.find_vms_by_name("twin").await.unwrap();
    let identifiers: Vec<_> = twins.iter().map(|row| row.vm_identifier.as_str()).collect();
    assert_eq!(identifiers, [format!("{ONE}.vm-3"), format!("{TWO}.vm-3")]);
    let foreign = zvm.find_vms_by_name("elsewhere").await.unwrap();
    assert_eq!(foreign[0].direction, Direction::RecoveredHere);
}

#[tokio::test]
async fn a_filter_that_the_server_ignores_is_applied_here() {
    let rows = json!([
        {"VmName": "other", "VmIdentifier": "a.vm-1", "VpgIdentifier": "v1"},
        {"VmName": "WANTED", "VmIdentifier": "A.vm-2", "VpgIdentifier": "v2"},
        {"VmName": "wanted-2", "VmIdentifier": "a.vm-22", "VpgIdentifier": "v3"},
    ]);
    let sim = sim(&format!(
        "[[troubles]]\non = 'GET /v1/vms'\nkind = 'status'\nstatus = 200\nbody = '{rows}'"
    ));
    let zvm = zvm(&sim);
    let by_name = zvm.find_vms_by_name("wanted").await.unwrap();
    let by_identifier = zvm.find_vms_by_identifier("a.vm-2").await.unwrap();
    assert_eq!(by_name.len(), 1);
    assert_eq!(by_name[0].vpg_identifier, "v2");
    assert_eq!(by_name[0].direction, Direction::Unknown);
    assert_eq!(by_identifier, by_name);
}

#[tokio::test]
async fn nothing_known_is_an_empty_list() {
    let sim = sim(SITE);
    let zvm = zvm(&sim);
    assert_eq!(zvm.find_vms_by_name("nobody").await, Ok(vec![]));
    assert_eq!(
        zvm.find_vms_by_identifier(&format!("{ONE}.vm-99")).await,
        Ok(vec![])
    );
    // The simulation answers 400 to what is no identifier, as a real ZVM does.
    assert_eq!(zvm.find_vms_by_identifier("no identifier?&").await, Ok(vec![]));
    assert_eq!(
        zvm.find_vms_by_identifier(&format!("{ONE}.vm-1"))
            .await
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_missing_list_is_no_miss() {
    let sim = sim("[[troubles]]\non = 'GET /v1/vms'\nkind = 'status'\nstatus = 404");
    let zvm = zvm(&sim);
    let by_name = zvm.find_vms_by_name("jp-ubuntu").await;
    assert!(matches!(by_name, Err(Error::Unreachable(_))), "{by_name:?}");
    assert_eq!(
        zvm.find_vms_by_identifier(&format!("{ONE}.vm-1")).await,
        Ok(vec![])
    );
}

#[tokio::test]
async fn without_a_site_no_direction_is_known() {
    for answer in ["status = 404", "status = 200\nbody = '{}'"] {
        let sim = sim(&format!(
            "[[troubles]]\non = 'GET /v1/localsite'\nkind = 'status'\n{answer}"
        ));
        let rows = zvm(&sim).find_vms_by_name("jp-ubuntu").await.unwrap();
        assert_eq!(rows[0].direction, Direction::Unknown, "{answer}");
    }
}

#[tokio::test]
async fn a_look_up_takes_two_round_trips() {
    let sim = sim("[[troubles]]\non = 'GET /*'\nkind = 'delay'\ndelay_ms = 300");
    let zvm = zvm(&sim);
    zvm.find_vms_by_name("jp-ubuntu").await.unwrap();
    let requests = sim.requests();
    assert!(requests[0].path.ends_with("/token"));
    let mut paths: Vec<_> = requests[1..]
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/v1/localsite", "/v1/vms"]);
    // Neither waited for the answer of the other.
    assert!(requests[2].at - requests[1].at < 300, "{requests:?}");

    zvm.find_vms_by_name("other").await.unwrap();
    let requests = sim.requests();
    assert_eq!(
        requests[3..]
            .iter()
            .map(|request| request.path.as_str())
            .collect::<Vec<_>>(),
        ["/v1/vms"]
    );
    assert_eq!(zvm.timings().requests, 4);
    assert!(zvm.timings().look_up >= 600, "{:?}", zvm.timings());
}

#[tokio::test]
async fn the_clock_is_not_needed_for_a_look_up() {
    let sim = sim("[[troubles]]\non = 'GET /v1/serverDateTime/*'\nkind = 'status'\nstatus = 500");
    let zvm = zvm(&sim);
    assert_eq!(zvm.find_vms_by_name("jp-ubuntu").await.unwrap().len(), 1);
    assert!(matches!(
        zvm.cadence(&vpg("APP-VPG")).await,
        Err(Error::Unreachable(_))
    ));
}

#[tokio::test]
async fn a_vpg_says_its_state() {
    let sim = sim(SITE);
    let zvm = zvm(&sim);
    let state = zvm.vpg(&vpg("APP-VPG")).await.unwrap();
    assert_eq!(
        (state.vpg_name.as_str(), state.status, state.sub_status),
        ("APP-VPG", 4, 23)
    );
    assert!(state.description.contains("BitmapSync"), "{}", state.description);
    for unknown in ["00000000-0000-4000-8000-000000000000", "..", "a/../b", ""] {
        assert_eq!(zvm.vpg(unknown).await, Err(Error::NotFound), "{unknown}");
    }
}

#[tokio::test]
async fn the_cadence_comes_from_the_journal() {
    let sim = sim(SITE);
    let zvm = zvm(&sim);
    assert_eq!(
        zvm.cadence(&vpg("APP-VPG")).await,
        Ok(Some(Duration::from_secs(2)))
    );
    assert_eq!(zvm.cadence(&vpg("SECOND-VPG")).await, Ok(None));
    assert_eq!(
        zvm.cadence("00000000-0000-4000-8000-000000000000").await,
        Err(Error::NotFound)
    );
}

/// Old releases answer 500 to an identifier that they do not know, and to one that is no identifier.
#[tokio::test]
async fn where_an_unknown_identifier_is_a_500_the_whole_list_decides() {
    const UNKNOWN: &str =
        "kind = 'status'\nstatus = 500\nbody = '{\"Message\":\"failed parsing as a valid VM Identifier\"}'";
    for (trouble, named) in [(UNKNOWN, true), ("kind = 'status'\nstatus = 500", false)] {
        let sim = sim(&format!(
            "{SITE}[[troubles]]\non = 'GET /v1/vms'\ntimes = 1\n{trouble}"
        ));
        let rows = zvm(&sim).find_vms_by_identifier("web01").await;
        assert_eq!(rows.as_deref(), Ok(&[][..]), "{named}");
    }
    let sim = sim(&format!(
        "{SITE}[[troubles]]\non = 'GET /v1/vms'\ntimes = 1\n{UNKNOWN}"
    ));
    let rows = zvm(&sim)
        .find_vms_by_identifier(&format!("{ONE}.vm-2"))
        .await
        .unwrap();
    assert_eq!(rows.len(), 1, "the list knows it");
    let lists = seen(&sim, "GET", "/v1/vms");
    assert_eq!(lists.last().map(|request| request.query.as_str()), Some(""));
}

/// A ZVM that answers 500 to everything knows nothing, and nothing is known of its VMs.
#[tokio::test]
async fn a_zvm_that_only_fails_is_no_miss() {
    for body in ["", "body = '{\"Message\":\"out of memory\"}'"] {
        let sim = sim(&format!(
            "{SITE}[[troubles]]\non = 'GET /v1/vms'\nkind = 'status'\nstatus = 500\n{body}"
        ));
        for result in [
            zvm(&sim).find_vms_by_identifier("web01").await,
            zvm(&sim).find_vms_by_name("web01").await,
        ] {
            assert!(
                matches!(result, Err(Error::Unreachable(_) | Error::Refused(_))),
                "{result:?}"
            );
        }
    }
}

/// "Not found" is what a VPG is, and not what a ZVM lacks.
#[tokio::test]
async fn a_resource_that_is_missing_on_the_zvm_is_not_a_vpg_that_is() {
    for resource in ["serverDateTime/*", "localsite", "vms", "vpgs"] {
        let sim = sim(&format!(
            "{SITE}[[troubles]]\non = 'GET /v1/{resource}'\nkind = 'status'\nstatus = 404"
        ));
        let zvm = zvm(&sim);
        let errors = [
            zvm.cadence(&vpg("APP-VPG")).await.err(),
            zvm.clock_ahead().await.err(),
            zvm.site_state().await.err(),
            zvm.vpgs().await.err(),
            zvm.find_vms_by_name("jp-ubuntu").await.err(),
        ];
        let told: Vec<_> = errors.into_iter().flatten().collect();
        assert!(!told.is_empty(), "{resource}");
        for error in told {
            let Error::Unreachable(text) = &error else {
                panic!("{resource}: {error:?}")
            };
            assert!(text.contains("404") && text.contains("/v1/"), "{text}");
        }
    }
}
