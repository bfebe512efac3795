//! Only what a server itself makes sure of counts: what was found where catalogs trusted more than that, and the checks
//! that keep it from coming back.

use std::collections::BTreeSet;

use holdpoint_guest::catalog::format::Class;
use holdpoint_guest::model::Verdict;
use serde_json::{Value, json};

use crate::catalogs::files;
use crate::world::{asked, call, holds, noted, site, under};

/// Words in the name of a tool that say that it does something.
const DOING: [&str; 50] = [
    "add", "apply", "backup", "call", "clear", "close", "collect", "command", "create", "delete", "deploy",
    "disable", "download", "drag", "enable", "exec", "execute", "export", "fetch", "import", "init", "kill",
    "launch", "login", "move", "open", "pulse", "query", "reboot", "reject", "remove", "reset", "restart",
    "restore", "resume", "retry", "run", "scrape", "script", "scroll", "set", "sql", "start", "stop",
    "switch", "test", "update", "upload", "wake", "write",
];

/// Reading tools with such a word in their names, and what in the server's source makes them read all the same.
const ARGUED: [(&str, &str); 41] = [
    // A GET of what launching would ask for.
    ("ansible/aap-mcp-server", "job_templates_launch_retrieve"),
    // A search of recorded events, which begins with init-query.
    ("c0tton-fluff/sentinelone-mcp-server", "s1_dv_query"),
    // A GET of a command's output; the bytes come back as the result, and no file is written.
    ("CrowdStrike/falcon-mcp", "falcon_check_rtr_command_status"),
    ("CrowdStrike/falcon-mcp", "falcon_download_report_execution"),
    // They keep a responder's session; nothing runs on the host.
    ("CrowdStrike/falcon-mcp", "falcon_delete_rtr_session"),
    ("CrowdStrike/falcon-mcp", "falcon_init_rtr_session"),
    ("CrowdStrike/falcon-mcp", "falcon_pulse_rtr_session"),
    ("RS-DEREKD/crowdstrike-mcp", "rtr_init_session"),
    ("RS-DEREKD/crowdstrike-mcp", "rtr_pulse_session"),
    // A pointer without a click.
    ("CursorTouch/Windows-MCP", "Move-Tool"),
    // Alerts and policy results that Wazuh has already, put against a framework.
    ("gensecaihq/Wazuh-MCP-Server", "run_compliance_check"),
    // What an earlier command or update did.
    ("lycorp-jp/awx-mcp", "get_ad_hoc_command"),
    ("lycorp-jp/awx-mcp", "get_inventory_update"),
    ("lycorp-jp/awx-mcp", "get_project_update"),
    ("lycorp-jp/awx-mcp", "get_project_update_stdout"),
    ("sibilleb/AAP-Enterprise-MCP-Server", "get_adhoc_command_output"),
    ("sibilleb/AAP-Enterprise-MCP-Server", "get_adhoc_command_status"),
    ("sibilleb/AAP-Enterprise-MCP-Server", "get_project_update"),
    ("sibilleb/AAP-Enterprise-MCP-Server", "get_project_update_logs"),
    ("sibilleb/AAP-Enterprise-MCP-Server", "fetch_redhat_content"),
    // Artefacts that are fixed in the server and copy files to Velociraptor.
    ("mgreen27/mcp-velociraptor", "collect_file"),
    ("mgreen27/mcp-velociraptor", "collect_forensic_triage"),
    ("mgreen27/mcp-velociraptor", "linux_last_user_login"),
    ("mgreen27/mcp-velociraptor", "macos_launch_agents"),
    ("mgreen27/mcp-velociraptor", "macos_login_items"),
    ("mgreen27/mcp-velociraptor", "windows_evidence_of_download"),
    // The script is kept or dropped, and not run.
    ("rhel-lightspeed/linux-mcp-server", "reject_script"),
    ("rhel-lightspeed/linux-mcp-server", "validate_script"),
    // Searches and reports.
    ("RS-DEREKD/crowdstrike-mcp", "case_query"),
    ("RS-DEREKD/crowdstrike-mcp", "cloud_query_assets"),
    ("RS-DEREKD/crowdstrike-mcp", "correlation_export_rule"),
    ("RS-DEREKD/crowdstrike-mcp", "host_login_history"),
    ("RS-DEREKD/crowdstrike-mcp", "ngsiem_query"),
    ("RS-DEREKD/crowdstrike-mcp", "rtr_check_command_status"),
    (
        "Virtual-Computing-bv/Defender-MCP",
        "defender_export_antivirus_health",
    ),
    ("Virtual-Computing-bv/Defender-MCP", "defender_export_assessment"),
    ("Virtual-Computing-bv/Defender-MCP", "defender_run_advanced_query"),
    (
        "Virtual-Computing-bv/Defender-MCP",
        "defender_run_xdr_hunting_query",
    ),
    // The content comes back as the result, and no file is written.
    ("tufantunc/ssh-mcp", "sftp-download"),
    // A log-in to the AWX that is set up.
    ("SurgeX-Labs/awx-mcp-server", "env_test_connection"),
    // ripgrep over files of the server's own machine, with fixed options.
    ("wonderwhy-er/DesktopCommanderMCP", "start_search"),
];

/// The words of a tool's name: `sftp-download`, `downloadFile`, `Scrape-Tool`.
fn words(name: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    for c in name.chars() {
        let begins = c.is_uppercase() && word.chars().last().is_some_and(char::is_lowercase);
        if begins || !c.is_alphanumeric() {
            words.insert(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.insert(word);
    words
}

#[test]
fn a_tool_whose_name_says_that_it_does_something_reads_only_where_that_was_argued() {
    let mut found = BTreeSet::new();
    for catalog in files().values() {
        let repository = catalog.source.as_ref().unwrap().repository.as_ref();
        for group in catalog.tools.iter().filter(|group| group.class == Class::Read) {
            let doing = |name: &&str| words(name).iter().any(|word| DOING.contains(&word.as_str()));
            let names = group.names.iter().map(AsRef::as_ref).filter(doing);
            found.extend(names.map(|name| (repository.to_owned(), name.to_owned())));
        }
    }
    let argued = ARGUED.map(|(repository, name)| (repository.to_owned(), name.to_owned()));
    assert_eq!(found, BTreeSet::from(argued));
}

#[test]
fn every_rule_names_the_place_in_the_source_that_makes_sure_of_it() {
    for (file, catalog) in files() {
        for rule in catalog.tools.iter().flat_map(|group| group.rules.iter()) {
            let place = rule.enforced.as_deref().unwrap_or_default();
            let path = place.split([',', ':']).next().unwrap_or_default();
            let is_source = [".py", ".ts", ".js", ".go", ".cs"]
                .iter()
                .any(|end| path.ends_with(end));
            assert!(is_source, "{file}: the rule on {}: {place:?}", rule.argument);
        }
    }
}

#[test]
fn what_only_seems_to_read_asks() {
    let control = json!({"control_plane": "pass", "unknown_tool": "pass", "machines": {"0a1b": "web01"}});
    let cases = [
        // Downloads overwrite a file of the machine that the server runs on.
        (
            "mcp__mcp-ssh__downloadFile",
            json!({"hostAlias": "web01", "remotePath": "/x", "localPath": "/home/me/.bashrc"}),
        ),
        (
            "mcp__ssh-manager__ssh_download",
            json!({"server": "web01", "remotePath": "/x", "localPath": "/home/me/.bashrc"}),
        ),
        (
            "mcp__ssh-mcp-server__download",
            json!({"connectionName": "web01", "remotePath": "/x", "localPath": ".mcp.json"}),
        ),
        // A file's name that is an option, with which ansible-vault runs a program.
        (
            "mcp__ansible-mcp__vault-view",
            json!({"file_path": "--vault-password-file=/tmp/x.py"}),
        ),
        // A wheel and a window that stays on top change what stands on the screen.
        ("mcp__windows-mcp__Scroll-Tool", json!({"loc": [1, 2]})),
        ("mcp__windows-mcp__Switch-Tool", json!({"name": "notepad"})),
        // Commands of Falcon's end point for read-only commands that write, and a line that is not the command's.
        (
            "mcp__falcon-mcp__falcon_execute_rtr_read_only_command",
            json!({"session_id": "s", "base_command": "eventlog", "command_string": "eventlog backup System C:\\x.evtx"}),
        ),
        (
            "mcp__falcon-mcp__falcon_execute_rtr_read_only_command",
            json!({"session_id": "s", "base_command": "eventlog backup"}),
        ),
        (
            "mcp__falcon-mcp__falcon_execute_rtr_read_only_command",
            json!({"session_id": "s", "base_command": "mount"}),
        ),
        (
            "mcp__falcon-mcp__falcon_execute_rtr_read_only_command",
            json!({"session_id": "s", "base_command": "ls", "command_string": "eventlog backup System C:\\x.evtx"}),
        ),
        (
            "mcp__falcon-mcp__falcon_run_rtr_read_only_command_and_wait",
            json!({"session_id": "s", "base_command": "ls", "command_string": "cswindiag"}),
        ),
        (
            "mcp__falcon-mcp__falcon_run_rtr_read_only_command_and_wait",
            json!({"session_id": "s", "base_command": "ls", "command_string": ["ls"]}),
        ),
        (
            "mcp__falcon-mcp__falcon_execute_rtr_read_only_command",
            json!({"session_id": "s", "base_command": "ls", "Command_String": "cswindiag"}),
        ),
        (
            "mcp__falcon-mcp__falcon_execute_tool",
            json!({"tool_name": "falcon_execute_rtr_read_only_command", "parameters": {"session_id": "s", "base_command": "cswindiag"}}),
        ),
        // A dispatcher that nobody had listed.
        (
            "mcp__limacharlie__lc_call_tool",
            json!({"tool_name": "task_sensor", "parameters": {"sid": "x", "task": "restart"}}),
        ),
        (
            "mcp__limacharlie__lc_call_tool",
            json!({"tool_name": "set_rule", "parameters": {}}),
        ),
        // A bare word is an expression over sensors, and not the VM of that name.
        (
            "mcp__limacharlie__reliable_tasking",
            json!({"selector": "web01", "task": "restart"}),
        ),
        // What was called a control plane's, and stops or changes machines.
        ("mcp__proxmox-mcp-plus__retry_job", json!({"job_id": "17"})),
        (
            "mcp__proxmox-mcp-plus__create_backup",
            json!({"vmid": "100", "node": "pve1", "mode": "stop"}),
        ),
        (
            "mcp__proxmox__proxmox_create_backup_vm",
            json!({"vmid": "100", "node": "pve1", "mode": "suspend"}),
        ),
        (
            "mcp__proxmox__proxmox_move_disk_lxc",
            json!({"vmid": "100", "node": "pve1"}),
        ),
        (
            "mcp__kubernetes__resources_delete",
            json!({"kind": "VirtualMachine", "apiVersion": "kubevirt.io/v1", "name": "web01"}),
        ),
        (
            "mcp__kubernetes__resources_create_or_update",
            json!({"resource": "kind: VirtualMachine"}),
        ),
        (
            "mcp__kubernetes__resources_scale",
            json!({"name": "web01", "scale": 0}),
        ),
        ("mcp__kubernetes__helm_uninstall", json!({"name": "web01"})),
        (
            "mcp__kubernetes__pods_delete",
            json!({"name": "virt-launcher-web01"}),
        ),
        ("mcp__kubernetes__vm_create", json!({"name": "web01"})),
        (
            "mcp__kubernetes__tekton_pipeline_start",
            json!({"name": "deploy"}),
        ),
        (
            "mcp__azure__compute",
            json!({"command": "vm_create", "parameters": {"vm-name": "web01", "image": "x"}}),
        ),
        (
            "mcp__azure__compute",
            json!({"command": "disk_create", "parameters": {"disk-name": "web01"}}),
        ),
        // A syntax check and a linter evaluate lookups on the machine that they run on, and so does a pattern of hosts.
        (
            "mcp__ansible__lint_playbook",
            json!({"content": "- import_tasks: x"}),
        ),
        ("mcp__ansible__lint_role", json!({"role_path": "/tmp/r"})),
        (
            "mcp__ansible-mcp__validate-playbook",
            json!({"playbook_path": "/tmp/p.yml"}),
        ),
        ("mcp__awx__validate_playbook", json!({"playbook": "/tmp/p.yml"})),
        (
            "mcp__ansible-mcp__ansible-ping",
            json!({"host_pattern": "localhost,{{ lookup('pipe', 'x') }}"}),
        ),
        (
            "mcp__ansible-mcp__ansible-gather-facts",
            json!({"host_pattern": "{% if true %}all{% endif %}"}),
        ),
        // The controller replaces the limit, or an id leads to another resource.
        (
            "mcp__aap-mcp__groups_ad_hoc_commands_create",
            json!({"id": "5", "requestBody": {"limit": "web01"}}),
        ),
        (
            "mcp__aap-mcp__inventories_ad_hoc_commands_create",
            json!({"id": "1/../../groups/5", "requestBody": {"limit": "web01"}}),
        ),
        (
            "mcp__aap-mcp__jobs_cancel_create",
            json!({"id": "1/../../job_templates/9/launch/?x="}),
        ),
        (
            "mcp__defender__defender_cancel_machine_action",
            json!({"actionId": "1/../../machines/ABC/restrictCodeExecution?x=", "comment": "c"}),
        ),
        (
            "mcp__proxmox-mcp-plus__delete_backup",
            json!({"node": "pve1", "storage": "local", "volid": "../../../qemu/200"}),
        ),
        (
            "mcp__proxmox-mcp-plus__delete_iso",
            json!({"node": "pve1", "filename": "../../../qemu/200"}),
        ),
        // A limit is a name within an inventory, which another argument chooses.
        (
            "mcp__ansible-mcp__project-run-playbook",
            json!({"playbook_path": "p.yml", "limit": "web01", "project": "other"}),
        ),
        (
            "mcp__awx__project_run_playbook",
            json!({"playbook": "p.yml", "limit": "web01", "project_name": "other"}),
        ),
        (
            "mcp__awx__run_ad_hoc_command",
            json!({"inventory_id": 99, "credential_id": 1, "limit": "web01"}),
        ),
        (
            "mcp__ansible__run_adhoc_command",
            json!({"inventory_id": 99, "limit": "web01"}),
        ),
        (
            "mcp__aap-mcp__ad_hoc_commands_create",
            json!({"requestBody": {"inventory": 99, "limit": "web01"}}),
        ),
        (
            "mcp__kubernetes__vm_lifecycle",
            json!({"workspace": "root:other", "name": "web01", "action": "stop"}),
        ),
        // Any request in the session's name, and another machine's disk.
        (
            "mcp__vmware-mcp__govc_run",
            json!({"command": "session.login", "flags": {"r": true, "X": "POST"}, "args": "/rest/vcenter/vm/vm-38/power/stop"}),
        ),
        (
            "mcp__vmware-mcp__vm_disk_attach",
            json!({"vm": "web01", "disk": "[ds1] db01/db01.vmdk", "link": false}),
        ),
        (
            "mcp__vmware-mcp__govc_run",
            json!({"command": "vm.disk.attach", "flags": {"vm": "web01", "disk": "db01/db01.vmdk"}}),
        ),
        // What decides where later calls go, or starts something later.
        ("mcp__awx__env_set_active", json!({"env_name": "other"})),
        (
            "mcp__ansible-mcp__register-project",
            json!({"name": "other", "make_default": true}),
        ),
        ("mcp__awx__create_schedule", json!({"template_id": 7})),
        ("mcp__aap-mcp__schedules_create", json!({"requestBody": {}})),
        (
            "mcp__ssh-mcp__close-session",
            json!({"name": "bg", "session": "bg"}),
        ),
        // Files of the machine that the server runs on.
        (
            "mcp__ansible-mcp__create-playbook",
            json!({"playbook": "x", "output_path": "/etc/cron.d/x"}),
        ),
        (
            "mcp__crowdstrike__rtr_get_extracted_file_contents",
            json!({"session_id": "s", "sha256": "../../../x"}),
        ),
    ];
    for (tool, arguments) in cases {
        let mut world = site();
        let reason = asked(world.judge(&under(call(tool, arguments.clone()), control.clone())));
        assert!(world.captures.is_empty(), "{tool} {arguments}: {reason}");
    }
}

#[test]
fn what_does_read_still_passes_in_silence() {
    let falcon = |tool: &str, arguments: Value| (format!("mcp__falcon-mcp__{tool}"), arguments);
    let run = "falcon_run_rtr_read_only_command_and_wait";
    let cases = [
        (
            "mcp__mcp-ssh__checkConnectivity".to_owned(),
            json!({"hostAlias": "web01"}),
        ),
        (
            "mcp__windows-mcp__State-Tool".to_owned(),
            json!({"use_vision": true}),
        ),
        (
            "mcp__desktop-commander__read_file".to_owned(),
            json!({"path": "/etc/hosts"}),
        ),
        (
            "mcp__desktop-commander__read_file".to_owned(),
            json!({"path": "/etc/hosts", "isUrl": false}),
        ),
        (
            "mcp__velociraptor__linux_pslist".to_owned(),
            json!({"client_id": "C.1"}),
        ),
        ("mcp__wazuh__get_iso27001_dashboard".to_owned(), json!({})),
        (
            "mcp__limacharlie__lc_call_tool".to_owned(),
            json!({"tool_name": "get_processes", "parameters": {"sid": "x"}}),
        ),
        falcon(
            "falcon_execute_rtr_read_only_command",
            json!({"session_id": "s", "base_command": "ps"}),
        ),
        falcon(
            run,
            json!({"session_id": "s", "base_command": "cat", "command_string": "cat C:\\Windows\\win.ini"}),
        ),
        falcon(
            run,
            json!({"session_id": "s", "base_command": "ls", "command_string": null}),
        ),
        falcon(
            "falcon_execute_tool",
            json!({"tool_name": run, "parameters": {"session_id": "s", "base_command": "ps"}}),
        ),
    ];
    for (tool, arguments) in cases {
        let mut world = site();
        assert_eq!(
            world.judge(&call(&tool, arguments.clone())),
            Verdict::Pass(None),
            "{tool} {arguments}"
        );
        assert!(world.names.is_empty(), "{tool}");
    }
}

#[test]
fn what_a_backup_does_to_the_vm_depends_on_its_mode() {
    let passing = json!({"control_plane": "pass", "machines": {"100": "web01"}});
    for tool in [
        "mcp__proxmox-mcp-plus__create_backup",
        "mcp__proxmox__proxmox_create_backup_vm",
    ] {
        let judged = |mode: Value| {
            let arguments = json!({"vmid": "100", "node": "pve1", "storage": "local", "mode": mode});
            site().judge(&under(call(tool, arguments), passing.clone()))
        };
        assert_eq!(judged(json!("snapshot")), Verdict::Pass(None), "{tool}");
        noted(judged(json!("stop")));
        noted(judged(json!("Snapshot")));
        noted(judged(Value::Null));
    }
}

#[test]
fn an_argument_that_comes_into_an_address_is_one_part_of_it() {
    let mapped = json!({"machines": {"100": "web01"}});
    let with = |tool: &str, more: Value| {
        let mut arguments = json!({"vmid": "100", "node": "pve1", "snapname": "before", "command": "id"});
        let fields = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(fields);
        under(call(tool, arguments), mapped.clone())
    };
    let rollback = "mcp__proxmox-mcp-plus__rollback_snapshot";
    for tool in [
        rollback,
        "mcp__proxmox-mcp-plus__stop_vm",
        "mcp__proxmox-mcp-plus__execute_vm_command",
        "mcp__proxmox__execute_vm_command",
    ] {
        noted(site().judge(&with(tool, json!({}))));
        for node in [
            json!("pve1/qemu/200/snapshot/s1/rollback?x="),
            json!("pve1#"),
            json!("pve1%2Fqemu%2F200"),
            json!(".."),
            json!("pve1\\qemu"),
            json!(["pve1"]),
        ] {
            let mut world = site();
            let reason = asked(world.judge(&with(tool, json!({"node": node}))));
            holds(&reason, &["node", "part of an address"]);
            assert!(world.captures.is_empty(), "{tool}");
        }
    }
    asked(site().judge(&with(rollback, json!({"snapname": "../../200/snapshot/s1"}))));
    noted(site().judge(&with(rollback, json!({"snapname": "before update_2.1"}))));
    let mut cut = under(call(rollback, json!({"vmid": "100", "node": "pve1"})), mapped);
    noted(site().judge(&cut));
    cut.arguments_cut = true;
    asked(site().judge(&cut));
}

#[test]
fn a_get_of_any_address_is_no_reading() {
    let calls = [
        call(
            "mcp__windows-mcp__Scrape-Tool",
            json!({"url": "http://10.0.0.1/reboot"}),
        ),
        call(
            "mcp__desktop-commander__read_file",
            json!({"path": "http://10.0.0.1/reboot", "isUrl": true}),
        ),
        call(
            "mcp__desktop-commander__read_file",
            json!({"path": "http://10.0.0.1/reboot", "isUrl": "true"}),
        ),
        call(
            "mcp__awslabs_aws-api-mcp-server__call_aws",
            json!({"cli_command": "aws ec2 get-flow-logs-integration-template --flow-log-id f"}),
        ),
    ];
    for judged in calls {
        asked(site().judge(&judged));
        let passing = under(judged, json!({"control_plane": "pass"}));
        assert_eq!(site().judge(&passing), Verdict::Pass(None), "{passing:?}");
    }
}

#[test]
fn an_id_that_is_unique_in_a_scope_only_is_another_machine_in_another_one() {
    let machines = json!({"003": "web01", "web01": "web01"});
    let cases = [
        (
            "mcp__wazuh__wazuh_isolate_host",
            json!({"agent_id": "003"}),
            "wazuh",
            "cluster_id",
        ),
        (
            "mcp__wazuh__wazuh_block_ip",
            json!({"agent_id": "003"}),
            "wazuh",
            "cluster_id",
        ),
        (
            "mcp__wazuh__wazuh_restart",
            json!({"target": "003"}),
            "wazuh",
            "cluster_id",
        ),
        (
            "mcp__kubernetes__vm_lifecycle",
            json!({"name": "web01"}),
            "kubernetes",
            "namespace",
        ),
        (
            "mcp__kubernetes__pods_exec",
            json!({"name": "web01"}),
            "kubernetes",
            "context",
        ),
    ];
    for (tool, mut arguments, server, scope) in cases {
        let plain = call(tool, arguments.clone());
        noted(site().judge(&under(plain, json!({"machines": machines}))));
        arguments[scope] = json!("east");
        let elsewhere = call(tool, arguments);
        let mut world = site();
        let reason = asked(world.judge(&under(elsewhere.clone(), json!({"machines": machines}))));
        holds(&reason, &[scope, "east"]);
        assert!(world.captures.is_empty(), "{tool}");
        let home = json!({server: {"scopes": {scope: "east"}}});
        noted(site().judge(&under(elsewhere, json!({"machines": machines, "servers": home}))));
    }
    let vm = call(
        "mcp__vsphere__power_off_vm",
        json!({"hostname": "vcenter02", "vm_id": "vm-38"}),
    );
    let vcenter = json!({"vcenter": crate::world::VCENTER});
    holds(
        &asked(site().judge(&under(vm.clone(), vcenter))),
        &["hostname", "vcenter02"],
    );
    let home = json!({"vcenter": crate::world::VCENTER, "servers": {"vsphere": {"scopes": {"hostname": "vcenter02"}}}});
    noted(site().judge(&under(vm, home)));
}
