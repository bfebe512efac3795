//! The API's objects as JSON, with every field of the schema.

use serde_json::{Value, json};

use crate::journal::{Checkpoint, HISTORY};
use crate::names;
use crate::scenario::{Direction, Vm, Vpg};
use crate::words;
use crate::zvm::{Task, Zvm};

/// The kind of both sites.
pub(crate) const SITE_TYPE: &str = "VCenter";

/// The type of the only task there is: inserting a tagged checkpoint.
pub(crate) const TASK_TYPE: &str = "InsertTaggedCP";

const PEER_NAME: &str = "Peer";

/// A site as a VM or a VPG names it.
pub(crate) struct SiteRef {
    pub(crate) identifier: String,
    name: String,
    path: String,
    kind: &'static str,
}

/// The protected and the recovery site of a VPG.
pub(crate) fn sites(zvm: &Zvm, vpg: &Vpg) -> (SiteRef, SiteRef) {
    let local = SiteRef {
        identifier: zvm.site.clone(),
        name: zvm.scenario.site.name.clone(),
        path: "localsite".into(),
        kind: "LocalSiteApi",
    };
    let identifier = names::guid("site", PEER_NAME);
    let path = format!("peersites/{identifier}");
    let peer = SiteRef {
        identifier,
        name: PEER_NAME.into(),
        path,
        kind: "PeerSiteApi",
    };
    match vpg.direction() {
        Direction::ProtectedHere => (local, peer),
        Direction::RecoveredHere => (peer, local),
    }
}

impl SiteRef {
    fn link(&self, zvm: &Zvm) -> Value {
        link(zvm, &self.identifier, &self.path, self.kind)
    }
}

/// Links are the part of the API whose keys are in lower case on the wire.
fn link(zvm: &Zvm, identifier: &str, path: &str, kind: &str) -> Value {
    json!({
        "identifier": identifier,
        "href": format!("{}/v1/{path}", zvm.url),
        "rel": null,
        "type": kind,
    })
}

fn vpg_link(zvm: &Zvm, vpg: &Vpg) -> Value {
    let identifier = vpg.identifier();
    link(zvm, &identifier, &format!("vpgs/{identifier}"), "VpgApi")
}

/// `LocalSiteApi`.
pub(crate) fn local_site(zvm: &Zvm) -> Value {
    let site = &zvm.scenario.site;
    json!({
        "SiteIdentifier": zvm.site,
        "SiteName": site.name,
        "SiteType": SITE_TYPE,
        "SiteTypeVersion": "8.0.3",
        "Version": site.version,
        "DisplayVersion": site.version,
        "ZvmApiVersion": site.version,
        "UtcOffsetInMinutes": site.utc_offset_minutes,
        "Location": "Machine room 1",
        "ContactName": "Operator",
        "ContactEmail": "operator@example.com",
        "ContactPhone": null,
        "IpAddress": "192.0.2.10",
        "BandwidthThrottlingInMBs": -1.0,
        "IsReplicationToSelfEnabled": false,
        "IsLoginBannerEnabled": false,
        "LoginBanner": null,
        "PlatformInformation": { "Azure": null, "VCenter": { "Ip": "192.0.2.20" } },
        "Link": link(zvm, &zvm.site, "localsite", "LocalSiteApi"),
    })
}

/// `PeerSiteApi`.
pub(crate) fn peer_site(zvm: &Zvm) -> Value {
    let identifier = names::guid("site", PEER_NAME);
    json!({
        "PeerSiteName": PEER_NAME,
        "PairingStatus": 0,
        "Location": "Machine room 2",
        "HostName": "192.0.2.11",
        "Port": 9071,
        "ProvisionedStorage": 204_800,
        "UsedStorage": 51_200,
        "IncomingThroughputInMb": 0.0,
        "OutgoingBandWidth": 0.4,
        "Version": zvm.scenario.site.version,
        "SiteType": SITE_TYPE,
        "RegionName": null,
        "Link": link(zvm, &identifier, &format!("peersites/{identifier}"), "PeerSiteApi"),
    })
}

/// `VmApi`: a VM in one VPG.
pub(crate) fn vm(zvm: &Zvm, index: usize, vm: &Vm) -> Value {
    let vpg = &zvm.scenario.vpgs[index];
    let identifier = vm.identifier();
    let (protected, recovery) = sites(zvm, vpg);
    let mut link = link(
        zvm,
        &format!("{identifier}?VpgIdentifier={}", vpg.identifier()),
        &format!("vms/{identifier}?vpgIdentifier={}", vpg.identifier()),
        "VmApi",
    );
    link["vpg_identifier"] = json!(vpg.identifier());
    link["instance_identifier"] = json!(identifier);
    let row = json!({
        "VmIdentifier": identifier,
        "VmName": vm.name,
        "VpgIdentifier": vpg.identifier(),
        "VpgName": vpg.name,
        "Status": vpg.status,
        "SubStatus": vpg.sub_status,
        "ActualRPO": rpo(vpg),
        "Entities": entities(),
        "IsVmExists": vm.exists,
        "ProtectedSite": protected.link(zvm),
        "ProtectedSiteName": protected.name,
        "RecoverySite": recovery.link(zvm),
        "RecoverySiteName": recovery.name,
        "EnabledActions": { "IsFlrEnabled": vm.exists },
        "LastTest": null,
        "Priority": 1,
        "OrganizationName": null,
        "Link": link,
    });
    joined(row, machine(vm))
}

/// The part of a `VmApi` that describes the machine and where it runs.
fn machine(vm: &Vm) -> Value {
    json!({
        "ProvisionedStorageInMB": 40_960,
        "UsedStorageInMB": 10_240,
        "CpuCoresNum": 2,
        "MemorySizeInMB": 4096,
        "JournalUsedStorageMb": 512,
        "JournalHardLimit": { "LimitType": 2, "LimitValue": 150 },
        "JournalWarningThreshold": { "LimitType": 2, "LimitValue": 75 },
        "IOPs": 3,
        "ThroughputInMB": 0.1,
        "OutgoingBandWidthInMbps": 0.2,
        "Volumes": [{ "VmVolumeIdentifier": "scsi:0:0", "PublicCloudVolumeIdentifier": null }],
        "Nics": [{ "NicIdentifier": "Network adapter 1" }],
        "RecoveryHostIdentifier": format!("{}.host-21", names::guid("vcenter", "peer")),
        "RecoveryHostName": "esx-21.example.com",
        "OwningHostIdentifier": format!("{}.host-11", names::guid("vcenter", "main")),
        "OwningHostName": "esx-11.example.com",
        "OwningDatastoreIdentifier": format!("{}.datastore-31", names::guid("vcenter", "main")),
        "OwningDatastoreName": "ds-31",
        "GuestOs": "ubuntu64Guest",
        "HardwareVersion": "vmx-19",
        "IsAgentInstalled": false,
        "PlatformInformation": { "Azure": null },
        "VmNetworkInformation": {
            "networkAdapters": [{
                "displayName": "Network adapter 1",
                "networkIdentifier": format!("{}.network-41", names::guid("vcenter", "main")),
                "ipAddresses": vm.ip_addresses,
            }],
        },
    })
}

/// One object with the fields of both.
fn joined(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

/// `VpgApi`.
pub(crate) fn vpg(zvm: &Zvm, index: usize) -> Value {
    let vpg = &zvm.scenario.vpgs[index];
    let (protected, recovery) = sites(zvm, vpg);
    let minutes = HISTORY / 60_000;
    json!({
        "VpgIdentifier": vpg.identifier(),
        "VpgName": vpg.name,
        "VpgDescription": null,
        "VpgType": "Remote",
        "VmsCount": vpg.vms.len(),
        "Status": vpg.status,
        "StatusDescription": words::statuses(zvm.scenario.site.platform).get(usize::from(vpg.status)),
        "SubStatus": vpg.sub_status,
        "SubStatusDescription": words::SUB_STATUSES.get(usize::from(vpg.sub_status)),
        "ActualRPO": rpo(vpg),
        "ConfiguredRpoSeconds": 300,
        "ProgressPercentage": 0.0,
        "Entities": entities(),
        "ProtectedSite": protected.link(zvm),
        "ProtectedSiteName": protected.name,
        "RecoverySite": recovery.link(zvm),
        "RecoverySiteName": recovery.name,
        "ActiveProcessesApi": { "RunningFailOverTestApi": null },
        "HistoryStatusApi": {
            "ActualHistoryInMinutes": minutes,
            "ConfiguredHistoryInMinutes": minutes,
            "EarliestCheckpoint": ends(zvm, index).0,
        },
        "FailSafeHistory": {
            "ActualFailSafeHistory": minutes,
            "ConfiguredFailSafeHistory": minutes,
            "FailSafeDescription": null,
        },
        "AlertStatus": 0,
        "BackupEnabled": false,
        "Priority": 1,
        "ProvisionedStorageInMB": 40_960,
        "UsedStorageInMB": 10_240,
        "IOPs": 3,
        "ThroughputInMB": 0.1,
        "LastTest": null,
        "Zorg": null,
        "ServiceProfile": null,
        "Link": vpg_link(zvm, vpg),
    })
}

/// `CheckpointApi`. Of the type numbers only their range is documented; 1 for a tagged one is a guess.
pub(crate) fn checkpoint(zvm: &Zvm, checkpoint: &Checkpoint) -> Value {
    json!({
        "CheckpointIdentifier": checkpoint.number.to_string(),
        "TimeStamp": zvm.clock.date(checkpoint.at),
        "Tag": checkpoint.tag,
        "Type": i32::from(checkpoint.tag.is_some()),
    })
}

/// `VpgCheckpointsStatsApi`.
pub(crate) fn stats(zvm: &Zvm, index: usize) -> Value {
    let (earliest, latest) = ends(zvm, index);
    json!({ "Earliest": earliest, "Latest": latest })
}

/// The oldest and the newest checkpoint of a VPG.
fn ends(zvm: &Zvm, index: usize) -> (Option<Value>, Option<Value>) {
    let now = zvm.clock.now();
    let all = zvm.state().journals[index].between(i64::MIN, i64::MAX, now);
    let row = |found: Option<&Checkpoint>| found.map(|found| checkpoint(zvm, found));
    (row(all.first()), row(all.last()))
}

/// A list of `PointInTimeApi`.
pub(crate) fn points_in_time(zvm: &Zvm, checkpoints: &[Checkpoint]) -> Value {
    let point = |found| {
        json!({
            "Checkpoint": checkpoint(zvm, found),
            "RetentionSet": null,
            "CanMount": { "IsAllowed": true, "Reason": null },
        })
    };
    checkpoints.iter().map(point).collect()
}

/// `TaskApi`.
pub(crate) fn task(zvm: &Zvm, task: &Task) -> Value {
    let now = zvm.clock.now();
    let running = now < task.ends;
    let progress = match running {
        true => (now - task.started) * 100 / (task.ends - task.started),
        false => 100,
    };
    let reason = task.failure.as_deref().filter(|_| !running).unwrap_or_default();
    json!({
        "TaskIdentifier": task.identifier,
        "Type": TASK_TYPE,
        "Status": { "State": task.state(now), "Progress": progress },
        "InitiatedBy": task.user,
        "Started": zvm.clock.date(task.started),
        "Completed": (!running).then(|| zvm.clock.date(task.ends)),
        "CompleteReason": reason,
        "IsCancellable": false,
        "RelatedEntities": {
            "Vpgs": [vpg_link(zvm, &zvm.scenario.vpgs[task.vpg])],
            "Sites": [link(zvm, &zvm.site, "localsite", "LocalSiteApi")],
            "Hosts": [],
            "FlrSessions": [],
        },
        "Generation": 1,
        "Link": link(zvm, &task.identifier, &format!("tasks/{}", task.identifier), "TaskApi"),
    })
}

/// vCenter on both sides.
fn entities() -> Value {
    json!({ "Protected": 0, "Recovery": 0 })
}

/// Seconds since the newest checkpoint, at worst.
fn rpo(vpg: &Vpg) -> u64 {
    vpg.cadence_ms.div_ceil(1000)
}
