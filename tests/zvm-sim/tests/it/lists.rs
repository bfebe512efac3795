//! What the lists hold, and how they are filtered.

use crate::caller::{Caller, json, message};

#[test]
fn the_default_site_is_healthy_and_small() {
    let caller = Caller::start("");
    let vms = caller.read("/v1/vms");
    assert_eq!(vms.as_array().unwrap().len(), 1);
    assert_eq!(vms[0]["VmName"], "jp-ubuntu");
    assert_eq!(vms[0]["VpgName"], "APP-VPG");
    assert_eq!(vms[0]["Status"], 1);
    assert_eq!(vms[0]["IsVmExists"], true);
    assert_eq!(
        vms[0]["ProtectedSite"]["identifier"],
        caller.read("/v1/localsite")["SiteIdentifier"]
    );
}
