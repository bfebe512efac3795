//! Calls that wait at the same time, and calls that follow one another: what they share, and what they do without.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_rendezvous::{Directory, Place, Turn};
use serde_json::{Value, json};
use zvm_sim::{Inserted, Seen};

use crate::HOLDPOINT;
use crate::process::Running;
use crate::support::{Outcome, World, assert_denies, before, chmod};

const INSTANT: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

/// A VPG with so many VMs, so that each call can have one of its own: the look-up tells whose it is.
fn site(cadence_ms: u64, vms: usize) -> World {
    let vms: Vec<String> = (0..vms)
        .map(|number| format!("{{ name = 'vm-{number}' }}"))
        .collect();
    let vms = vms.join(", ");
    World::with_zvm(&format!(
        "[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = {cadence_ms}\nvms = [{vms}]"
    ))
}

fn power_off(vm: &str) -> Value {
    before("mcp__esxi__powerOff", json!({ "name": vm }))
}

fn number(number: usize) -> Value {
    let mut event = power_off(&format!("vm-{number}"));
    event["tool_use_id"] = format!("toolu_{number:08}").into();
    event
}

fn requests(world: &World) -> Vec<Seen> {
    world.sim.as_ref().unwrap().requests()
}

fn checkpoints(world: &World) -> Vec<Inserted> {
    world.sim.as_ref().unwrap().checkpoints()
}

fn log_ins(world: &World) -> usize {
    let is_log_in = |request: &&Seen| request.path.ends_with("/token");
    requests(world).iter().filter(is_log_in).count()
}

/// Where calls meet and log-ins are kept.
fn meeting(world: &World) -> PathBuf {
    world.path("home/.local/state/holdpoint/zerto")
}

/// The kept log-in's file.
fn kept(world: &World) -> Option<PathBuf> {
    let files = fs::read_dir(meeting(world)).ok()?;
    files
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "login"))
}

/// The checkpoint that a call's log line names, which has to be in the journal, and to have been inserted after the call
/// had looked its VM up: before that it cannot have begun to wait.
fn protecting(world: &World, line: &Value) -> Inserted {
    let named = &line["checkpoints"][0];
    let tag = named["shared_tag"]
        .as_str()
        .or_else(|| line["tag"].as_str())
        .unwrap();
    let found = checkpoints(world)
        .into_iter()
        .find(|inserted| inserted.tag == tag);
    let found = found.unwrap_or_else(|| panic!("no such checkpoint: {line}"));
    assert_eq!(named["checkpoint"], *found.checkpoint_identifier, "{line}");
    assert!(found.visible_ms.is_some(), "{line}");
    let vm = format!("vmName={}", line["targets"][0].as_str().unwrap());
    let looked_up = requests(world)
        .into_iter()
        .find(|request| request.query == vm)
        .unwrap();
    assert!(
        found.inserted_ms >= looked_up.at,
        "older than the wait: {found:?}, looked up at {}",
        looked_up.at
    );
    found
}

/// Runs so many calls at once, and says what became of each.
fn all_at_once(world: &World, calls: usize) -> Vec<Outcome> {
    thread::scope(|scope| {
        let run = |call| scope.spawn(move || world.hook(HOLDPOINT, &number(call)));
        let threads: Vec<_> = (0..calls).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_hundred_calls_at_once_share_a_few_checkpoints() {
    let world = site(2000, 100);
    let outcomes = all_at_once(&world, 100);
    let lines = world.log();
    assert_eq!(lines.len(), 100);
    let mut by_tag: BTreeMap<String, usize> = BTreeMap::new();
    for line in &lines {
        assert_eq!(line["verdict"], "pass", "{line}");
        *by_tag.entry(protecting(&world, line).tag).or_default() += 1;
    }
    // A round for every two seconds or for every tick at least; how long a hundred processes take to start is the
    // machine's business. Without sharing there would be a hundred.
    let longest = outcomes.iter().map(|outcome| outcome.took).max().unwrap();
    let most = 2 + 2 * (longest.as_millis() as usize / 2000 + 1);
    assert_eq!(checkpoints(&world).len(), by_tag.len());
    assert!(by_tag.len() <= most, "{longest:?}: {by_tag:?}");
    // Each is told of the tag that its checkpoint has.
    for outcome in &outcomes {
        assert!(
            by_tag.keys().any(|tag| outcome.text().contains(tag.as_str())),
            "{outcome:?}"
        );
    }
    assert!(
        lines
            .iter()
            .any(|line| line["checkpoints"][0]["shared_tag"].is_string())
    );
}

/// Waits until the ZVM was asked for something, or something else holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} never came");
        thread::sleep(Duration::from_millis(2));
    }
}

/// How many rounds have a leader now, or had one that was killed.
fn rounds(world: &World) -> usize {
    let files = fs::read_dir(meeting(world)).into_iter().flatten();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| {
            name.rsplit_once('.')
                .is_some_and(|(_, end)| end.parse::<u64>().is_ok())
        })
        .count()
}

#[test]
fn killed_leaders_are_replaced() {
    let world = site(3000, 3);
    let mut first = Running::with(&world, &number(0));
    until("the insert", || checkpoints(&world).len() == 1);
    // It gathers, since the first one's checkpoint is on its way, and the third follows it.
    let mut second = Running::with(&world, &number(1));
    until("the second round", || {
        rounds(&world) == 2 || checkpoints(&world).len() == 2
    });
    let third = Running::with(&world, &number(2));
    until("the third's look-up", || {
        requests(&world)
            .iter()
            .any(|request| request.query == "vmName=vm-2")
    });
    thread::sleep(Duration::from_millis(100));
    for leader in [&mut first, &mut second] {
        leader.child.kill().unwrap();
        leader.child.wait().unwrap();
    }
    let outcome = third.end();
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    let lines = world.log();
    protecting(
        &world,
        lines.iter().find(|line| line["targets"][0] == "vm-2").unwrap(),
    );
}

#[test]
fn whoever_is_killed_at_whatever_point_the_others_pass_with_checkpoints_of_their_time() {
    let world = site(700, 40);
    let random = |limit: u64| RandomState::new().build_hasher().finish() % limit;
    let mut running: Vec<Running> = Vec::new();
    for call in 0..40 {
        running.push(Running::with(&world, &number(call)));
        thread::sleep(Duration::from_millis(random(60)));
        if call % 3 == 2 {
            let mut victim = running.swap_remove(random(running.len() as u64) as usize);
            victim.child.kill().unwrap();
            victim.child.wait().unwrap();
        }
    }
    for call in running {
        let outcome = call.end();
        assert_eq!(outcome.decision(), "context", "{outcome:?}");
    }
    let lines = world.log();
    assert!(lines.len() >= 27, "{}", lines.len());
    for line in lines {
        protecting(&world, &line);
    }
}

#[test]
fn after_a_leaders_failure_each_tries_for_itself() {
    let world = World::with_zvm(
        "[[vpgs]]\nname = 'APP-VPG'\noutcome = 'never-surfaces'\nvms = [{ name = 'vm-0' }, { name = 'vm-1' }, { name = 'vm-2' }]",
    );
    world.configure("zerto.longest_wait_seconds = 1\ndeadline_seconds = 20");
    for outcome in all_at_once(&world, 3) {
        assert_denies(&outcome, "not confirmed in time");
    }
    // Each has tried for itself, and has nobody else's word for it.
    assert_eq!(checkpoints(&world).len(), 3);
}

#[test]
fn a_meeting_place_that_cannot_be_used_costs_the_sharing_and_nothing_else() {
    type Spoil = fn(&World);
    let cases: [(Spoil, &str); 5] = [
        (|world| chmod(&meeting(world), 0o755), "chmod go-rwx"),
        (
            |world| {
                fs::remove_dir_all(meeting(world)).unwrap();
                fs::write(meeting(world), "").unwrap();
            },
            "is not what has that name",
        ),
        (
            |world| {
                fs::rename(meeting(world), world.path("elsewhere")).unwrap();
                std::os::unix::fs::symlink(world.path("elsewhere"), meeting(world)).unwrap();
            },
            "is not what has that name",
        ),
        (
            |world| fs::write(board(world), "{\"form\":1,").unwrap(),
            "made no sense",
        ),
        (|world| chmod(&board(world), 0o644), "chmod go-rwx"),
    ];
    for (spoil, told) in cases {
        let world = World::with_zvm(INSTANT);
        assert_eq!(
            world.hook(HOLDPOINT, &power_off("jp-ubuntu")).decision(),
            "context"
        );
        spoil(&world);
        let outcome = world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
        assert_eq!(outcome.decision(), "context", "{told}: {outcome:?}");
        let lines = world.log();
        let troubles = lines[1]["troubles"].to_string();
        assert!(
            troubles.contains("shared") && troubles.contains(told),
            "{troubles}"
        );
        // Its own checkpoint, and no other.
        assert_eq!(lines[1]["checkpoints"][0]["shared_tag"], Value::Null);
        let tags: Vec<String> = checkpoints(&world)
            .into_iter()
            .map(|inserted| inserted.tag)
            .collect();
        assert_eq!(
            tags,
            [
                lines[0]["tag"].as_str().unwrap(),
                lines[1]["tag"].as_str().unwrap()
            ]
        );
    }
}

/// The board's file: the one without an ending.
fn board(world: &World) -> PathBuf {
    let files = fs::read_dir(meeting(world)).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    files.find(|path| path.extension().is_none()).unwrap()
}

#[test]
fn without_a_home_directory_nothing_is_shared_or_kept() {
    let world = World::with_zvm(INSTANT);
    world.configure(&format!("log.path = '{}'", world.path("log").display()));
    for _ in 0..2 {
        let mut command = world.command(HOLDPOINT);
        command.env_remove("HOME");
        let outcome = crate::support::run(command, power_off("jp-ubuntu").to_string().as_bytes());
        assert_eq!(outcome.decision(), "context", "{outcome:?}");
    }
    assert_eq!((log_ins(&world), checkpoints(&world).len()), (2, 2));
    let log = fs::read_to_string(world.path("log")).unwrap();
    assert!(log.contains("neither XDG_STATE_HOME nor HOME is set"), "{log}");
}

/// Whoever runs as this user can write the board. It can cost a checkpoint more, and can pass for none.
#[test]
fn a_file_that_names_an_old_checkpoint_lets_nothing_pass() {
    let world = World::with_zvm(INSTANT);
    world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    let old = checkpoints(&world).remove(0);
    // However little older it is: right after it the ZVM's whole seconds alone would excuse it.
    for tag in [old.tag.as_str(), old.tag.as_str(), "of no checkpoint"] {
        let before = checkpoints(&world).len();
        let directory = Arc::new(Directory::open(&meeting(&world)).unwrap());
        let url = world.sim.as_ref().unwrap().url();
        let place = Place::new(directory, &url, &old.vpg_identifier);
        let (Turn::Lead(ahead), Turn::Lead(mut forger)) = (place.arrive().unwrap(), place.arrive().unwrap())
        else {
            panic!("nobody else is there");
        };
        let asked = requests(&world).len();
        let victim = Running::with(&world, &power_off("jp-ubuntu"));
        // It looks its VM up, and reads the ZVM's clock when it has begun to follow.
        until("the follower", || {
            let all = requests(&world);
            all[asked..]
                .iter()
                .any(|request| request.path.ends_with("/serverDateTimeUtc"))
        });
        forger.close().unwrap();
        forger.finish(Some(tag.to_owned())).unwrap();
        let outcome = victim.end();
        ahead.finish(None).unwrap();
        assert_eq!(outcome.decision(), "context", "{outcome:?}");
        let inserted = checkpoints(&world);
        assert_eq!(inserted.len(), before + 1, "one of its own");
        assert!(outcome.text().contains(&inserted[before].tag), "{outcome:?}");
    }
}

/// The ZVM's clock answers late, and so it is dated: by the question a checkpoint from before the call stays one.
#[test]
fn a_forged_board_gains_nothing_from_a_clock_that_answers_late() {
    let world = World::with_zvm(&format!(
        "{INSTANT}\n[[troubles]]\non = 'GET /v1/serverDateTime/serverDateTimeUtc'\nkind = 'delay'\ndelay_ms = 1500\ntimes = 100"
    ));
    world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    let old = checkpoints(&world).remove(0);
    let directory = Arc::new(Directory::open(&meeting(&world)).unwrap());
    let url = world.sim.as_ref().unwrap().url();
    let place = Place::new(directory, &url, &old.vpg_identifier);
    let (Turn::Lead(ahead), Turn::Lead(mut forger)) = (place.arrive().unwrap(), place.arrive().unwrap())
    else {
        panic!("nobody else is there");
    };
    let asked = requests(&world).len();
    let victim = Running::with(&world, &power_off("jp-ubuntu"));
    until("the follower's look-up", || {
        requests(&world)[asked..]
            .iter()
            .any(|request| request.query == "vmName=jp-ubuntu")
    });
    thread::sleep(Duration::from_millis(100));
    forger.close().unwrap();
    forger.finish(Some(old.tag.clone())).unwrap();
    let outcome = victim.end();
    ahead.finish(None).unwrap();
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    assert!(!outcome.text().contains(&old.tag), "{outcome:?}");
    let inserted = checkpoints(&world);
    assert_eq!(inserted.len(), 2, "one of its own");
    assert!(outcome.text().contains(&inserted[1].tag), "{outcome:?}");
}

#[test]
fn each_call_has_its_own_checkpoint_where_that_is_wanted() {
    let world = site(1500, 4);
    world.configure("zerto.share_checkpoints = false");
    for outcome in all_at_once(&world, 4) {
        assert_eq!(outcome.decision(), "context", "{outcome:?}");
    }
    assert_eq!(checkpoints(&world).len(), 4);
    assert_eq!(rounds(&world), 0);
    let lines = world.log();
    assert!(
        lines
            .iter()
            .all(|line| line["checkpoints"][0]["shared_tag"].is_null())
    );
}

#[test]
fn the_second_call_asks_once_before_its_insert() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_zvm(INSTANT);
    world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    let file = kept(&world).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).unwrap().contains("s3cret"));
    let asked = requests(&world).len();
    world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    let second = &requests(&world)[asked..];
    let insert = second
        .iter()
        .position(|request| request.method == "POST")
        .unwrap();
    // The ZVM's time is asked for beside the insert.
    let before: Vec<&str> = second[..insert]
        .iter()
        .map(|request| request.path.as_str())
        .filter(|path| !path.ends_with("/serverDateTimeUtc"))
        .collect();
    assert_eq!(before, ["/v1/vms"]);
    assert_eq!(log_ins(&world), 1);
    assert_eq!(
        checkpoints(&world).len(),
        2,
        "one after the other, they share nothing"
    );
}

#[test]
fn a_kept_log_in_that_is_turned_away_or_not_private_is_not_used() {
    let world = World::with_zvm(&format!(
        "{INSTANT}\n[[troubles]]\non = 'GET /v1/vms'\nkind = 'unauthorized'\nafter = 1\ntimes = 1"
    ));
    for expected in [1, 2, 2] {
        let outcome = world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
        assert_eq!(outcome.decision(), "context", "{outcome:?}");
        assert_eq!(log_ins(&world), expected);
    }
    chmod(&kept(&world).unwrap(), 0o640);
    assert_eq!(
        world.hook(HOLDPOINT, &power_off("jp-ubuntu")).decision(),
        "context"
    );
    assert_eq!(log_ins(&world), 3);
    let troubles = world.log()[3]["troubles"].to_string();
    assert!(
        troubles.contains("the log-in is not kept") && troubles.contains("chmod go-rwx"),
        "{troubles}"
    );
    fs::write(kept(&world).unwrap(), "nonsense").unwrap();
    assert_eq!(
        world.hook(HOLDPOINT, &power_off("jp-ubuntu")).decision(),
        "context"
    );
}

#[test]
fn no_log_in_is_kept_where_that_is_not_wanted() {
    let world = World::with_zvm(INSTANT);
    world.configure("zerto.keep_token = false");
    for expected in [1, 2] {
        assert_eq!(
            world.hook(HOLDPOINT, &power_off("jp-ubuntu")).decision(),
            "context"
        );
        assert_eq!(log_ins(&world), expected);
    }
    assert_eq!(kept(&world), None);
}
