//! Dispatchers: what they carry decides.

use holdpoint_guest::command::{commands, option_values, positional};
use holdpoint_guest::model::Verdict;
use serde_json::{Value, json};

use crate::world::{Script, asked, call, denied, holds, noted, row, site, under};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn aws(command: Value) -> holdpoint_guest::model::Call {
    call(
        "mcp__awslabs_aws-api-mcp-server__call_aws",
        json!({"cli_command": command}),
    )
}

fn gcloud(args: Value) -> holdpoint_guest::model::Call {
    call("mcp__gcloud__run_gcloud_command", json!({"args": args}))
}

fn azure(command: &str, parameters: Value) -> holdpoint_guest::model::Call {
    call(
        "mcp__azure__compute",
        json!({"intent": "x", "command": command, "parameters": parameters}),
    )
}

fn govc(command: &str, flags: Value, args: Value) -> holdpoint_guest::model::Call {
    call(
        "mcp__vmware-mcp__govc_run",
        json!({"command": command, "flags": flags, "args": args}),
    )
}

#[track_caller]
fn reads(call: &holdpoint_guest::model::Call) {
    let mut world = site();
    assert_eq!(world.judge(call), Verdict::Pass(None), "{}", call.arguments);
    assert!(world.names.is_empty());
}

#[track_caller]
fn unknown(call: &holdpoint_guest::model::Call) {
    let mut world = site();
    let reason = asked(world.judge(&under(call.clone(), json!({"unknown_tool": "pass"}))));
    holds(&reason, &["may change machines"]);
    assert!(world.captures.is_empty());
    denied(world.judge(&under(call.clone(), json!({"unknown_tool": "deny"}))));
}

#[test]
fn a_carried_tool_is_judged_as_itself() {
    let execute = |tool: &str| {
        call(
            "mcp__falcon-mcp__falcon_execute_tool",
            json!({"tool_name": tool, "parameters": {"ids": ["1"]}}),
        )
    };
    reads(&execute("falcon_search_hosts"));
    holds(
        &asked(site().judge(&execute("falcon_update_quarantined_files"))),
        &["none of its arguments"],
    );
    holds(
        &asked(site().judge(&execute("falcon_delete_policies"))),
        &["control plane"],
    );
    unknown(&execute("falcon_invent"));
    unknown(&execute("falcon_execute_tool"));
    unknown(&call(
        "mcp__falcon-mcp__falcon_execute_tool",
        json!({"parameters": {}}),
    ));
}

#[test]
fn aws_commands_go_by_their_first_words() {
    reads(&aws(json!("aws ec2 describe-instances --region eu-west-1")));
    reads(&aws(json!(
        "ec2 describe-instances --filters Name=tag:Name,Values='a b'"
    )));
    reads(&aws(json!([
        "ec2 describe-instances",
        "aws sts get-caller-identity"
    ])));
    reads(&aws(json!(["aws", "s3", "ls"])));
    holds(
        &asked(site().judge(&aws(json!("ec2 run-instances --image-id ami-1")))),
        &["control plane"],
    );
    for text in [
        "",
        "aws",
        "ec2",
        "ec2 terminate-everything",
        "--region eu-west-1 ec2 describe-instances",
        "ec2 describe-instances; ec2 terminate-instances",
        "ec2 describe-instances | sh",
        "ec2 describe-instances > x",
        "ec2 describe-instances `id`",
        "ec2 describe-instances $(id)",
        "ec2 describe-instances\nec2 stop-instances",
        "ec2 describe-instances 'open",
        "EC2 describe-instances",
        "aws aws ec2 describe-instances",
    ] {
        unknown(&aws(json!(text)));
    }
    for odd in [
        json!(null),
        json!(7),
        json!([]),
        json!([1]),
        json!([["ec2 describe-instances"]]),
        json!({}),
    ] {
        unknown(&aws(odd));
    }
}

#[test]
fn the_strictest_of_several_commands_counts() {
    let mapped = json!({"machines": {"i-1": "web01", "i-2": "db01"}});
    let both = aws(json!([
        "ec2 describe-instances",
        "ec2 stop-instances --instance-ids i-1 i-2"
    ]));
    let note = noted(site().judge(&under(both, mapped)));
    holds(&note, &["web01", "db01"]);
    unknown(&aws(json!(["ec2 describe-instances", "ec2 invent"])));
    // As words this would read; as commands, the last one ends a machine.
    unknown(&aws(json!([
        "sts",
        "get-caller-identity",
        "ec2 terminate-instances --instance-ids i-1"
    ])));
}

#[test]
fn aws_instances_are_opaque_until_they_are_mapped() {
    for text in [
        "ec2 stop-instances --instance-ids i-1",
        "ec2 stop-instances --instance-ids=i-1",
        "ssm send-command --document-name X --instance-ids i-1 --parameters commands=ls",
        "ec2 terminate-instances --instance-ids i-1 --dry-run",
    ] {
        holds(&asked(site().judge(&aws(json!(text)))), &["\"i-1\" is an id"]);
        let note = noted(site().judge(&under(aws(json!(text)), json!({"machines": {"i-1": "web01"}}))));
        assert_eq!(
            note.contains("out of protection"),
            text.contains("terminate"),
            "{note}"
        );
    }
    let mapped = json!({"machines": {"i-1": "web01"}});
    for text in [
        "ec2 stop-instances",
        "ec2 stop-instances --instance-ids i-1 i-9",
        "ec2 stop-instances --instance-ids i-1 --cli-input-json file://x",
        "ssm send-command --instance-ids i-1 --targets Key=tag:a,Values=b",
    ] {
        asked(site().judge(&under(aws(json!(text)), mapped.clone())));
    }
}

#[test]
fn a_command_that_changes_machines_is_known_only_with_its_listed_options() {
    let mapped = json!({"machines": {"i-1": "web01", "web01": "web01"}});
    for text in [
        "ec2 stop-instances --instance-ids i-1 --i i-2",
        "ec2 stop-instances --instance-id i-1",
        "ec2 stop-instances --instance-ids i-1 --endpoint-url https://x",
        "ec2 stop-instances --instance-ids i-1 --endpoint https://x",
        "ec2 stop-instances --instance-ids i-1 --profile other",
        "ec2 stop-instances --instance-ids i-1 --region eu-west-1",
        "ssm send-command --instance-ids i-1 --target Key=tag:a,Values=b",
        "ec2 describe-instances --endpoint-url https://x",
        "ec2 describe-instances --prof=x",
    ] {
        let call = under(aws(json!(text)), mapped.clone());
        let mut world = site();
        holds(&asked(world.judge(&call)), &["does not know the option"]);
        assert!(world.captures.is_empty(), "{text}");
    }
    noted(site().judge(&under(
        aws(json!("ec2 stop-instances --instance-ids i-1 --force")),
        mapped.clone(),
    )));
    for option in ["--project=x", "--flags-file=x", "--zon=a", "--"] {
        let stop = gcloud(json!(["compute", "instances", "stop", "web01", option]));
        holds(
            &asked(site().judge(&under(stop, mapped.clone()))),
            &["does not know the option"],
        );
    }
    unknown(&gcloud(json!(["compute", "instances", "list", "--flags-file=x"])));
    reads(&gcloud(json!([
        "compute",
        "instances",
        "list",
        "--filter=status=RUNNING",
        "--project=x"
    ])));
    reads(&aws(json!(
        "ec2 describe-instances --instance-ids i-1 --max-items 5"
    )));
}

#[test]
fn govc_flags_are_options_too() {
    let change = |flags: Value| govc("vm.change", flags, json!(null));
    noted(site().judge(&change(
        json!({"vm": "web01", "m": 2048, "cpu-hot-add-enabled": true}),
    )));
    for key in [
        "vm.uuid", "vm.ipath", "u", "dc", "k", "-vm", "vm=db01", "vm ", "", "on -vm", "VM.dns",
    ] {
        unknown(&change(json!({"vm": "web01", key: "db01"})));
    }
    // A switch takes no value: the program would read the text as one more machine.
    unknown(&govc("vm.power", json!({"off": "db01"}), json!("web01")));
    unknown(&change(json!({"vm": "web01", "m": ["db01"]})));
    unknown(&change(json!("-vm db01")));
    for command in ["vm.power", "vm.destroy", "vm.unregister"] {
        let note = noted(site().judge(&govc(command, json!({"vm": "db01"}), json!("web01"))));
        holds(&note, &["web01", "db01"]);
    }
    reads(&govc("vm.info", json!({"r": true, "dc": "DC1"}), json!("web01")));
    unknown(&govc("vm.info", json!({"u": "https://x"}), json!("web01")));
    unknown(&govc("vm.info", json!({"-u": "https://x"}), json!("web01")));
    unknown(&govc("metric.sample", json!({"plot": "/tmp/x"}), json!("web01")));
    // Flags that were left out could have been any.
    let mut cut = govc("vm.power", json!({"off": true}), json!("web01"));
    cut.arguments_cut = true;
    asked(site().judge(&cut));
}

#[test]
fn a_machine_that_begins_like_an_option_asks() {
    for (tool, arguments) in [
        ("mcp__vmware-mcp__vm_power", json!({"_args": "web01 -vm=db01"})),
        ("mcp__vmware-mcp__vm_change", json!({"vm": "-db01"})),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "web01,-idb01,"}),
        ),
        ("mcp__esxi__powerOff", json!({"name": ["web01", "-x"]})),
    ] {
        let mut world = site();
        let mapped = json!({"machines": {"-x": "db01", "-db01": "db01"}});
        holds(
            &asked(world.judge(&under(call(tool, arguments), mapped))),
            &["begins like an option"],
        );
        assert!(world.captures.is_empty());
    }
    for (tool, arguments) in [
        (
            "mcp__mcp-ssh__checkConnectivity",
            json!({"hostAlias": "-oProxyCommand=id"}),
        ),
        (
            "mcp__mcp-ssh__getHostInfo",
            json!({"hostAlias": ["web01", " -F/tmp/x"]}),
        ),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "-i/tmp/x", "check": true}),
        ),
    ] {
        holds(
            &asked(site().judge(&call(tool, arguments))),
            &["begins like an option"],
        );
    }
    let change = json!({"vm": "web01", "_args": "-vm db01"});
    holds(
        &asked(site().judge(&call("mcp__vmware-mcp__vm_change", change))),
        &["\"_args\" may change"],
    );
}

#[test]
fn gcloud_words_after_a_bare_option_are_not_guessed() {
    reads(&gcloud(json!(["gcloud", "compute", "instances", "list"])));
    reads(&gcloud(json!(["version"])));
    let stop = gcloud(json!([
        "compute",
        "instances",
        "stop",
        "web01",
        "db01",
        "--zone=a"
    ]));
    // A name in a cloud is not the name of the VM that Zerto knows by it, and one of another zone is another machine.
    let machines = json!({"web01": "web01", "db01": "db01"});
    let home = json!({"gcloud": {"scopes": {"zone": "a"}}});
    holds(
        &asked(site().judge(&under(stop.clone(), json!({"servers": home})))),
        &["\"web01\" is an id"],
    );
    for servers in [json!({}), json!({"gcloud": {"scopes": {"zone": "b"}}})] {
        let elsewhere = under(stop.clone(), json!({"machines": machines, "servers": servers}));
        holds(&asked(site().judge(&elsewhere)), &["within zone \"a\""]);
    }
    noted(site().judge(&under(
        stop.clone(),
        json!({"machines": machines, "servers": home}),
    )));
    let both = json!({"machines": {"a/web01": "web01", "a/db01": "db01"}});
    noted(site().judge(&under(stop, both)));
    holds(
        &asked(site().judge(&gcloud(json!([
            "compute",
            "instances",
            "stop",
            "web01",
            "--zone",
            "db01"
        ])))),
        &["cannot be told"],
    );
    unknown(&gcloud(json!(["--project", "x", "compute", "instances", "list"])));
    unknown(&gcloud(json!([
        "compute",
        "instances",
        "list",
        "--filter",
        "a b"
    ])));
    unknown(&gcloud(json!(["compute", "instances", "invent", "web01"])));
    asked(site().judge(&gcloud(json!(["compute", "ssh", "user@web01"]))));
}

#[test]
fn azure_commands_are_known_by_their_exact_names() {
    reads(&azure("vm_get", json!({"vm-name": "web01"})));
    for command in [
        "vm get",
        "compute vm get",
        "compute_vm_get",
        "vm_get ",
        "vm_get vm_delete",
        "VM_get",
        "vm_get_x",
    ] {
        unknown(&azure(command, json!({"vm-name": "web01"})));
    }
    unknown(&call(
        "mcp__azure__compute",
        json!({"command": ["vm_get"], "parameters": {}}),
    ));
    let servers = json!({"azure": {"scopes": {"resource-group": "rg", "subscription": "s"}}});
    let mapped = |call| under(call, json!({"machines": {"web01": "web01"}, "servers": servers}));
    for command in ["vm_power-state", "vm_delete", "vm_update", "vm_create"] {
        let named = azure(command, json!({"vm-name": "web01", "resource-group": "rg"}));
        holds(
            &asked(site().judge(&under(named.clone(), json!({"servers": servers})))),
            &["\"web01\" is an id"],
        );
        holds(
            &asked(site().judge(&under(named.clone(), json!({"machines": {"web01": "web01"}})))),
            &["within resource-group \"rg\""],
        );
        noted(site().judge(&mapped(named)));
        let elsewhere = json!({"vm-name": "web01", "resource-group": "rg", "subscription": "other"});
        asked(site().judge(&mapped(azure(command, elsewhere))));
        for key in ["vm_name", "tenant", "subscription", "VM-Name"] {
            asked(site().judge(&mapped(azure(command, json!({"vm-name": "web01", key: "web01"})))));
        }
    }
    asked(site().judge(&azure("vmss_delete", json!({"vmss-name": "web01"}))));
    unknown(&azure("vm_run-command", json!({"vm-name": "web01"})));
    unknown(&call(
        "mcp__azure__compute",
        json!({"intent": "stop web01", "learn": true}),
    ));
}

#[test]
fn govc_takes_machines_from_flags_and_words() {
    reads(&govc("vm.info", json!({}), json!("web01")));
    noted(site().judge(&govc("vm.power", json!({"off": true}), json!(["web01", "db01"]))));
    noted(site().judge(&govc("guest.run", json!({"vm": "web01"}), json!("/bin/ls"))));
    let note = noted(site().judge(&govc("vm.destroy", json!({}), json!("web01"))));
    holds(&note, &["out of protection"]);
    let mut world = Script {
        rows: vec![row("web 1", 1, "A")],
        ..Script::default()
    };
    noted(world.judge(&govc("vm.power", json!({"on": true}), json!("\"web 1\""))));
    // Another flag that picks the VM wins over `vm`, so it has to be known as well.
    asked(site().judge(&govc(
        "vm.change",
        json!({"vm": "web01", "vm.uuid": "42"}),
        json!(null),
    )));
    asked(site().judge(&govc("vm.change", json!({}), json!("web01"))));
    unknown(&govc("vm.change", json!({"vm": "web01"}), json!(["-vm=db01"])));
    unknown(&govc("object.destroy", json!({}), json!("web01")));
    unknown(&govc("vm.info -json", json!({}), json!({})));
}

#[test]
fn texts_are_split_at_blanks_outside_quotation_marks() {
    let split = |text: &str| commands(&json!(text)).unwrap();
    assert_eq!(split("a  'b c' d\"e f\" ''"), [vec!["a", "b c", "de f", ""]]);
    assert_eq!(
        commands(&json!(["a", "b c"])).unwrap(),
        [vec!["a"], vec!["b", "c"], vec!["a", "b c"]]
    );
    assert!(commands(&json!("a\\b")).is_err());
}

#[test]
fn options_and_positions() {
    let line = words("--ids a b --flag c --ids=d -x e");
    assert_eq!(option_values(&line, "--ids"), ["a", "b", "d"]);
    assert_eq!(
        option_values(&words("--id a --i b"), "--ids"),
        Vec::<String>::new()
    );
    assert_eq!(positional(&words("a b --c=d --e"), 1).unwrap(), ["b"]);
    assert_eq!(positional(&words("a"), 5).unwrap(), Vec::<String>::new());
    assert!(positional(&words("--quiet a"), 0).is_err());
}

/// The server reads a field's name in any case, and others accept the beginning of an option's name.
#[test]
fn an_option_that_leads_elsewhere_is_refused_in_every_spelling() {
    reads(&azure("disk_get", json!({"resource-group": "prod"})));
    for field in ["tenant", "Tenant", "TENANT", "tenan", "Auth-Method", "auth"] {
        let mut parameters = json!({});
        parameters[field] = json!("x");
        unknown(&azure("disk_get", parameters));
    }
    for word in ["--profile", "--PROFILE", "--prof", "--profile=x"] {
        unknown(&aws(json!(format!("aws ec2 describe-instances {word} x"))));
    }
}
