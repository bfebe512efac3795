//! What the lists hold, and how they are filtered.

use serde_json::Value;

use crate::caller::{Caller, message};

/// Two VMs of one name, one of them in two VPGs, and one that is protected to this site and has gone.
const SITE: &str = "
[site]
name = 'Here'
identifier = 'aaaaaaaa-0000-4000-8000-000000000001'
[[vpgs]]
name = 'Gold'
identifier = 'bbbbbbbb-0000-4000-8000-000000000001'
vms = [ { name = 'app-07', identifier = 'cccccccc-0000-4000-8000-000000000001.vm-7', ip_addresses = ['192.0.2.7'] },
        { name = 'db-01' } ]
[[vpgs]]
name = 'Silver'
status = 2
sub_status = 23
vms = [ { name = 'app-07', identifier = 'cccccccc-0000-4000-8000-000000000001.vm-7' } ]
[[vpgs]]
name = 'Bronze'
vms = [ { name = 'app-07', identifier = 'dddddddd-0000-4000-8000-000000000001.vm-8' } ]
[[vpgs]]
name = 'From there'
vms = [ { name = 'far-01', direction = 'recovered-here', exists = false } ]
";

const APP: &str = "cccccccc-0000-4000-8000-000000000001.vm-7";
const GOLD: &str = "bbbbbbbb-0000-4000-8000-000000000001";

/// The values of one field of all rows.
fn column(rows: &Value, field: &str) -> Vec<String> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row[field].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_default_site_is_healthy_and_small() {
    let caller = Caller::start("");
    let vms = caller.read("/v1/vms");
    assert_eq!(
        (column(&vms, "VmName"), column(&vms, "VpgName")),
        (vec!["jp-ubuntu".into()], vec!["APP-VPG".into()])
    );
    assert_eq!(
        (&vms[0]["Status"], &vms[0]["SubStatus"], &vms[0]["IsVmExists"]),
        (&1.into(), &0.into(), &true.into())
    );
    assert_eq!(
        vms[0]["ProtectedSite"]["identifier"],
        caller.read("/v1/localsite")["SiteIdentifier"]
    );
}

#[test]
fn there_is_one_row_for_each_vm_in_each_vpg() {
    let caller = Caller::start(SITE);
    let vms = caller.read("/v1/vms");
    assert_eq!(
        column(&vms, "VmName"),
        ["app-07", "db-01", "app-07", "app-07", "far-01"]
    );
    assert_eq!(
        column(&vms, "VpgName"),
        ["Gold", "Gold", "Silver", "Bronze", "From there"]
    );
    assert_eq!(vms[0]["VmIdentifier"], vms[2]["VmIdentifier"]);
    assert_ne!(vms[0]["VmIdentifier"], vms[3]["VmIdentifier"]);
    assert_eq!(
        vms[0]["Link"]["identifier"],
        format!("{APP}?VpgIdentifier={GOLD}")
    );
    assert_eq!(
        vms[0]["VmNetworkInformation"]["networkAdapters"][0]["ipAddresses"][0],
        "192.0.2.7"
    );
    assert_eq!((&vms[2]["Status"], &vms[2]["SubStatus"]), (&2.into(), &23.into()));
}

#[test]
fn directions_and_vms_that_have_gone_are_told() {
    let caller = Caller::start(SITE);
    let vms = caller.read("/v1/vms");
    let (local, peer) = (caller.read("/v1/localsite"), caller.read("/v1/peersites"));
    assert_eq!(
        (&local["SiteName"], &peer[0]["PeerSiteName"]),
        (&"Here".into(), &"Peer".into())
    );
    for (row, protected, recovery) in [
        (0, &local["SiteIdentifier"], &peer[0]["Link"]["identifier"]),
        (4, &peer[0]["Link"]["identifier"], &local["SiteIdentifier"]),
    ] {
        assert_eq!(
            (
                &vms[row]["ProtectedSite"]["identifier"],
                &vms[row]["RecoverySite"]["identifier"]
            ),
            (protected, recovery)
        );
    }
    assert_eq!(
        (&vms[0]["IsVmExists"], &vms[4]["IsVmExists"]),
        (&true.into(), &false.into())
    );
    assert_eq!(caller.read("/v1/vpgs")[3]["ProtectedSiteName"], "Peer");
}

#[test]
fn vm_filters_compare_without_case_and_unknown_ones_give_every_row() {
    let caller = Caller::start(SITE);
    let rows = |query: &str| column(&caller.read(&format!("/v1/vms?{query}")), "VpgName");
    assert_eq!(rows("vmName=APP-07"), ["Gold", "Silver", "Bronze"]);
    assert_eq!(rows("VMNAME=db%2D01"), ["Gold"]);
    assert_eq!(rows("vpgName=from%20there"), ["From there"]);
    assert_eq!(
        rows(&format!("vmIdentifier={}", APP.to_uppercase())),
        ["Gold", "Silver"]
    );
    assert_eq!(rows("vmName=app-07&status=2"), ["Silver"]);
    assert_eq!(rows("subStatus=bitmapsync"), ["Silver"]);
    assert_eq!(
        rows("recoverySiteIdentifier=aaaaaaaa-0000-4000-8000-000000000001"),
        ["From there"]
    );
    assert_eq!(rows("vmName=app"), [""; 0]);
    assert_eq!(
        rows("vmIdentifier=eeeeeeee-0000-4000-8000-000000000001.vm-9"),
        [""; 0]
    );
    assert_eq!(rows("vpgIdentifier=whatever&vm_name=app-07").len(), 5);
}

#[test]
fn a_vm_identifier_of_another_form_is_a_bad_request() {
    let caller = Caller::start(SITE);
    for path in [
        "/v1/vms?vmIdentifier=app-07",
        "/v1/vms?vmIdentifier=app-07.example.com",
        "/v1/vms/app-07",
    ] {
        let response = caller.get(path);
        assert_eq!(response.status(), 400, "{path}");
        assert!(message(response).contains("serverid.moref"));
    }
}

#[test]
fn one_vm_is_given_when_it_is_only_one() {
    let caller = Caller::start(SITE);
    let far = caller.read("/v1/vms")[4]["VmIdentifier"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(caller.read(&format!("/v1/vms/{far}"))["VmName"], "far-01");
    let unclear = caller.get(&format!("/v1/vms/{APP}"));
    assert_eq!(unclear.status(), 400);
    assert!(message(unclear).contains("several VPGs"));
    assert_eq!(
        caller.read(&format!("/v1/vms/{APP}?vpgIdentifier={GOLD}"))["VpgName"],
        "Gold"
    );
    assert_eq!(
        caller
            .get("/v1/vms/eeeeeeee-0000-4000-8000-000000000001.vm-9")
            .status(),
        404
    );
}

#[test]
fn vpgs_are_listed_filtered_and_looked_up() {
    let caller = Caller::start(SITE);
    assert_eq!(
        column(&caller.read("/v1/vpgs"), "VpgName"),
        ["Gold", "Silver", "Bronze", "From there"]
    );
    assert_eq!(
        column(&caller.read("/v1/vpgs?name=SILVER"), "VpgName"),
        ["Silver"]
    );
    assert_eq!(
        column(&caller.read("/v1/vpgs?status=NotMeetingSLA"), "VpgName"),
        ["Silver"]
    );
    let gold = caller.read(&format!("/V1/Vpgs/{}", GOLD.to_uppercase()));
    assert_eq!((&gold["VpgName"], &gold["VmsCount"]), (&"Gold".into(), &2.into()));
    let unknown = caller.get("/v1/vpgs/eeeeeeee-0000-4000-8000-000000000001");
    assert_eq!(unknown.status(), 404);
    assert!(!message(unknown).is_empty());
}

#[test]
fn every_status_and_sub_status_has_its_words() {
    let mut scenario = String::new();
    for sub_status in 0..43 {
        scenario += &format!(
            "[[vpgs]]\nname = 'V{sub_status}'\nstatus = {}\nsub_status = {sub_status}\n",
            sub_status % 9
        );
    }
    let caller = Caller::start(&scenario);
    let (statuses, sub_statuses) = (
        caller.read("/v1/vpgs/statuses"),
        caller.read("/v1/vpgs/substatuses"),
    );
    assert_eq!(
        (
            statuses.as_array().unwrap().len(),
            sub_statuses.as_array().unwrap().len()
        ),
        (9, 43)
    );
    assert_eq!(
        (&sub_statuses[23], &sub_statuses[32]),
        (&"BitmapSync".into(), &"VmNotProtectedError".into())
    );
    for (number, vpg) in caller.read("/v1/vpgs").as_array().unwrap().iter().enumerate() {
        assert_eq!(
            (&vpg["Status"], &vpg["SubStatus"]),
            (&(number % 9).into(), &number.into())
        );
        assert_eq!(vpg["StatusDescription"], statuses[number % 9]);
        assert_eq!(vpg["SubStatusDescription"], sub_statuses[number]);
    }
}

#[test]
fn the_platforms_read_statuses_3_and_4_differently() {
    let linux = Caller::start("").read("/v1/vpgs/statuses");
    let windows = Caller::start("[site]\nplatform = 'windows'").read("/v1/vpgs/statuses");
    assert_eq!(
        (&linux[3], &linux[4]),
        (&"HistoryNotMeetingSLA".into(), &"RpoNotMeetingSLA".into())
    );
    assert_eq!((&windows[3], &windows[4]), (&linux[4], &linux[3]));
}

#[test]
fn everything_else_is_not_found() {
    let caller = Caller::start("");
    for path in [
        "/",
        "/v1",
        "/v2/vms",
        "/v1/flrs",
        "/v1/vms/a/b/c",
        "/v1/vpgs/x/checkpoints/y",
    ] {
        let response = caller.get(path);
        assert_eq!(response.status(), 404, "{path}");
        assert!(!message(response).is_empty());
    }
    assert_eq!(
        caller
            .request(reqwest::Method::PUT, "/v1/vms")
            .send()
            .unwrap()
            .status(),
        404
    );
}
