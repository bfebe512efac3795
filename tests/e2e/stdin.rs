//! Standard input that never holds an event, or not in time.

use std::io::Write as _;
use std::time::Duration;

use crate::process::{Running, asked, redirected};
use crate::support::{World, assert_blocks};

#[test]
fn an_event_that_never_comes_or_never_ends_blocks_at_the_deadline() {
    let world = World::without_zvm();
    world.configure("deadline_seconds = 1");
    let never_comes = Running::start(&world).end();
    let mut beginning = Running::start(&world);
    beginning
        .stdin
        .write_all(br#"{"hook_event_name":"PreToolUse","#)
        .unwrap();
    for outcome in [never_comes, beginning.end()] {
        assert_blocks(&outcome, "in time");
        assert!(outcome.took < Duration::from_secs(3), "{outcome:?}");
    }
    for line in world.log() {
        assert_eq!(
            (line["verdict"].as_str(), line["fault"].as_str()),
            (Some("deny"), Some("deadline"))
        );
    }
    assert_eq!(world.log().len(), 2);
}

#[test]
fn an_event_that_dribbles_blocks_at_the_deadline() {
    let world = World::without_zvm();
    world.configure("deadline_seconds = 1");
    let Running {
        child,
        mut stdin,
        started,
    } = Running::start(&world);
    let dribble = std::thread::spawn(move || {
        let mut bytes = std::iter::once(b'{').chain(std::iter::repeat(b' '));
        while stdin.write_all(&[bytes.next().unwrap()]).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(3));
    dribble.join().unwrap();
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(2)));
    assert!(String::from_utf8(output.stderr).unwrap().contains("in time"));
    assert_eq!(world.logged()["fault"], "deadline");
}

#[test]
fn standard_input_that_holds_nothing_blocks() {
    let world = World::without_zvm();
    for (redirection, words) in [
        ("<&-", "empty"),
        ("</dev/null", "empty"),
        ("</", "cannot be read"),
    ] {
        assert_blocks(&redirected(&world, redirection, &asked()), words);
    }
}
