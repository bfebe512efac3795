//! Real processes, real locks: killed and stopped at random points, against a journal that is a file.
//!
//! The journal has one line for everything that happens, each appended in one piece, so that their order in the file is
//! the order in which they happened: nobody's clock is asked.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use holdpoint_rendezvous::{Directory, Error, Fate, Lead, Place, Turn};

const ROLE: &str = "RENDEZVOUS_CALL";
const WHERE: &str = "RENDEZVOUS_WHERE";
const PAUSE: Duration = Duration::from_millis(3);

fn place(root: &Path) -> Result<Place, Error> {
    let directory = Directory::open(&root.join("meet"))?;
    Ok(Place::new(Arc::new(directory), "https://zvm", "vpg"))
}

fn write(root: &Path, line: &str) {
    let mut journal = OpenOptions::new()
        .append(true)
        .create(true)
        .open(root.join("journal"))
        .unwrap();
    journal.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn journal(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("journal")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether the ZVM has made a checkpoint since the tag was inserted.
fn is_visible(root: &Path, tag: &str) -> bool {
    let mut lines = journal(root).into_iter();
    lines.any(|line| line == format!("insert {tag}")) && lines.any(|line| line == "tick")
}

/// One call, from its beginning to its pass, as the host does it.
fn call(root: &Path, who: &str) {
    let place = place(root).unwrap();
    write(root, &format!("begin {who}"));
    let tag = loop {
        match place.arrive().unwrap() {
            Turn::Lead(lead) => break lead_on(root, who, lead),
            Turn::Follow(mut follow) => {
                let fate = loop {
                    match follow.look().unwrap() {
                        Fate::Open => sleep(PAUSE),
                        fate => break fate,
                    }
                };
                match fate {
                    Fate::Seen(tag) => break tag,
                    Fate::Gone | Fate::Open => {}
                    Fate::Failed => panic!("no leader says that it failed"),
                }
            }
        }
    };
    assert!(is_visible(root, &tag));
    write(root, &format!("pass {who} {tag}"));
}

fn lead_on(root: &Path, who: &str, mut lead: Lead) -> String {
    let tag = format!("{who}-{}", journal(root).len());
    while !lead.may_insert() {
        lead.beat();
        sleep(PAUSE);
    }
    lead.close().unwrap();
    write(root, &format!("insert {tag}"));
    while !is_visible(root, &tag) {
        lead.beat();
        sleep(PAUSE);
    }
    lead.finish(Some(tag.clone())).unwrap();
    tag
}

/// What the other tests start as a process of its own.
#[test]
fn one_call() {
    if let (Ok(who), Some(root)) = (std::env::var(ROLE), std::env::var_os(WHERE)) {
        call(Path::new(&root), &who);
    }
}

fn start(root: &Path, who: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_call"])
        .env(ROLE, who.to_string())
        .env(WHERE, root)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// A number below a limit, from the operating system's randomness.
fn random(limit: u64) -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::hash::RandomState::new().build_hasher().finish() % limit
}

/// For each call the lines at which it began and passed, and the tag that it passed with.
fn read_back(journal: &[String]) -> BTreeMap<String, (usize, Option<(usize, String)>)> {
    let mut calls = BTreeMap::new();
    for (at, line) in journal.iter().enumerate() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("begin"), Some(who), None) => {
                calls.insert(who.to_owned(), (at, None));
            }
            (Some("pass"), Some(who), Some(tag)) => {
                calls.get_mut(who).unwrap().1 = Some((at, tag.to_owned()));
            }
            _ => {}
        }
    }
    calls
}

/// Every pass is with a checkpoint that was inserted after its call began to wait, and surfaced before it passed.
fn check(journal: &[String]) {
    for (who, (began, passed)) in read_back(journal) {
        let Some((passed, tag)) = passed else { continue };
        let inserted = journal.iter().position(|line| *line == format!("insert {tag}"));
        let inserted = inserted.unwrap_or_else(|| panic!("{who} passed without an insert"));
        let ticked = journal[inserted..passed].iter().any(|line| line == "tick");
        assert!(began < inserted && ticked, "{who}, {tag}: {journal:#?}");
    }
}

fn inserts(journal: &[String]) -> usize {
    journal.iter().filter(|line| line.starts_with("insert ")).count()
}

/// Ticks until all have ended.
fn wait_for(root: &Path, children: &mut Vec<Child>) {
    let begun = Instant::now();
    while !children.is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "somebody waits for ever"
        );
        sleep(Duration::from_millis(50));
        write(root, "tick");
        children.retain_mut(|child| match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "{status}");
                false
            }
            None => true,
        });
    }
}

#[test]
fn killed_leaders_are_replaced_and_nobody_passes_with_an_older_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (mut children, mut killed) = (Vec::new(), 0);
    for who in 0..60 {
        children.push(start(root, who));
        sleep(Duration::from_millis(random(12)));
        if random(3) == 0 {
            let victim = random(children.len() as u64) as usize;
            let mut victim = children.swap_remove(victim);
            // One that has ended by itself is not killed any more.
            if victim.try_wait().unwrap().is_none() {
                victim.kill().unwrap();
                killed += 1;
            }
            victim.wait().unwrap();
        }
        if random(10) == 0 {
            write(root, "tick");
        }
    }
    wait_for(root, &mut children);
    let journal = journal(root);
    check(&journal);
    let calls = read_back(&journal);
    let passed = calls.values().filter(|(_, passed)| passed.is_some()).count();
    assert!(passed >= 60 - killed, "{passed} of 60, {killed} killed");
    // What is left is looked at by the next one, and in nobody's way.
    call_alone(root, "last");
    check(&self::journal(root));
}

/// A call in this process, with ticks as it needs them.
fn call_alone(root: &Path, who: &'static str) {
    let root: PathBuf = root.to_owned();
    let ticks = root.clone();
    let caller = std::thread::spawn(move || call(&root, who));
    while !caller.is_finished() {
        write(&ticks, "tick");
        sleep(PAUSE);
    }
    caller.join().unwrap();
}

#[test]
fn calls_at_once_share_and_leave_nothing_but_the_board() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut children: Vec<Child> = (0..30).map(|who| start(root, who)).collect();
    // All have joined before the first checkpoint can be seen.
    let begun = Instant::now();
    while read_back(&journal(root)).len() < 30 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        sleep(PAUSE);
    }
    wait_for(root, &mut children);
    let journal = journal(root);
    check(&journal);
    // One for the first, one for those that came while it was on its way, and where starting them all takes longer than
    // a leader gathers, one for each such time.
    assert!(inserts(&journal) < 10, "{journal:#?}");
    let left = fs::read_dir(root.join("meet")).unwrap().count();
    assert_eq!(left, 2, "the board and its lock");
}

#[test]
fn a_stopped_leader_is_given_up() {
    use rustix::process::{Pid, Signal, kill_process};
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut leader = start(root, 0);
    while inserts(&journal(root)) == 0 {
        sleep(PAUSE);
    }
    // The second one gathers behind the first, and a third follows it.
    let mut second = start(root, 1);
    while read_back(&journal(root)).len() < 2 {
        sleep(PAUSE);
    }
    sleep(Duration::from_millis(100));
    let pid = |child: &Child| Pid::from_child(child);
    kill_process(pid(&second), Signal::STOP).unwrap();
    let mut third = vec![start(root, 2)];
    wait_for(root, &mut third);
    kill_process(pid(&second), Signal::CONT).unwrap();
    for child in [&mut leader, &mut second] {
        while child.try_wait().unwrap().is_none() {
            write(root, "tick");
            sleep(PAUSE);
        }
    }
    let journal = journal(root);
    check(&journal);
    let passed = read_back(&journal)
        .values()
        .filter(|(_, passed)| passed.is_some())
        .count();
    assert_eq!(passed, 3, "the stopped one too, when it goes on: {journal:#?}");
}

#[test]
fn what_others_could_have_touched_is_not_used() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let meet = root.join("meet");
    call_alone(root, "first");
    assert_eq!(fs::metadata(&meet).unwrap().permissions().mode() & 0o7777, 0o700);
    for file in fs::read_dir(&meet).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        mode(&file, 0o644);
        assert!(matches!(
            place(root).unwrap().arrive(),
            Err(Error::Exposed { .. })
        ));
        mode(&file, 0o600);
    }
    mode(&meet, 0o755);
    assert!(matches!(place(root), Err(Error::Exposed { .. })));
    mode(&meet, 0o700);
    fs::rename(&meet, root.join("elsewhere")).unwrap();
    symlink(root.join("elsewhere"), &meet).unwrap();
    assert!(matches!(place(root), Err(Error::Odd { .. })));
    fs::remove_file(&meet).unwrap();
    fs::write(&meet, "").unwrap();
    assert!(matches!(place(root), Err(Error::Odd { .. })));
}

#[test]
fn a_board_that_makes_no_sense_is_met_once() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    call_alone(root, "first");
    let board = fs::read_dir(root.join("meet"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_none())
        .unwrap();
    fs::write(&board, "{\"form\":1,").unwrap();
    assert!(matches!(
        place(root).unwrap().arrive(),
        Err(Error::Corrupt { .. })
    ));
    call_alone(root, "second");
    check(&journal(root));
}
