//! Compiled code: made once, under limits, and not used where anything about it is wrong.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use holdpoint_store::{
    Admission, Build, Change, ChangeError, ChildError, Code, Compiler, Failed, LoadError, Loaded, Recompile,
    StoreError, Trouble,
};

use crate::common::{BUILD, House, PLAIN, compiler, soon};
use crate::policies::Team;

fn installed_with_code() -> (House, Vec<u8>) {
    let house = House::new();
    let program = house.program("compile", "");
    let policy = house.team.policy("1.0.0");
    let compiler = compiler(&program);
    let change = Change {
        compile: Some((&BUILD, &compiler)),
        ..PLAIN
    };
    house.put(&policy, change).unwrap();
    (house, policy)
}

fn load(house: &House, build: &Build<'_>) -> Loaded {
    house.store.load_active(&house.team.admission(), build).unwrap()
}

#[test]
fn installing_compiles_and_loading_reads_what_was_compiled() {
    let (house, _) = installed_with_code();
    let code = load(&house, &BUILD).code.unwrap();
    let Code::Held(code) = code else {
        panic!("this user can write the store: {code:?}")
    };
    assert!(code.starts_with(b"codehpcwasm1"), "{code:?}");
    assert_eq!(house.runs("compile"), 1);
}

#[test]
fn code_for_anything_else_is_made_anew() {
    let (house, _) = installed_with_code();
    let others = [
        (
            "engine",
            Build {
                engine: "engine 2",
                ..BUILD
            },
        ),
        (
            "host",
            Build {
                host: "host 2",
                ..BUILD
            },
        ),
        (
            "processor",
            Build {
                cpu: "another",
                ..BUILD
            },
        ),
    ];
    for (differs, build) in others {
        let code = load(&house, &build).code;
        assert!(
            matches!(&code, Err(Recompile::Other { what, .. }) if *what == differs),
            "{code:?}"
        );
    }
    let code = load(
        &house,
        &Build {
            magic: b"hpcwasm2",
            ..BUILD
        },
    )
    .code;
    assert!(matches!(code, Err(Recompile::Footer)), "{code:?}");

    let next = Build {
        host: "host 2",
        ..BUILD
    };
    let program = house.path("compile");
    let admission = house.team.admission();
    let made = house
        .store
        .compile_once(&admission, &next, &compiler(&program), soon());
    assert!(made.unwrap().code.is_ok());
    assert_eq!(house.runs("compile"), 2);
}

#[test]
fn no_changed_byte_of_the_code_or_its_record_is_used() {
    let (house, policy) = installed_with_code();
    for name in ["policy.cwasm", "compiled.json"] {
        let file = house.object(&policy).join(name);
        let bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            // Stays text, so that the record is not only refused as no JSON.
            changed[at] ^= 1;
            fs::write(&file, &changed).unwrap();
            assert!(load(&house, &BUILD).code.is_err(), "{name}: byte {at}");
        }
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert!(load(&house, &BUILD).code.is_err(), "{name} cut short");
        fs::write(&file, &bytes).unwrap();
        assert!(load(&house, &BUILD).code.is_ok());
    }
}

/// Once its record says what the component was, a start does not compute the policy's digest again. A change is seen all
/// the same.
#[test]
fn no_changed_byte_of_a_component_that_is_known_decides() {
    let (house, policy) = installed_with_code();
    let quick = Admission {
        map: Some(|_, _| panic!("this user can write the store")),
        ..house.team.admission()
    };
    let load = || house.store.load_active(&quick, &BUILD);
    assert!(load().unwrap().code.is_ok());
    let file = house.object(&policy).join("policy.wasm");
    let bytes = fs::read(&file).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        assert!(load().is_err(), "byte {at}");
    }
    fs::write(&file, &bytes).unwrap();
    // What has to be looked at each time is: whom this host trusts, among the rest.
    let stranger = Team::new();
    let other = Admission {
        map: quick.map,
        ..stranger.admission()
    };
    let refused = house.store.load_active(&other, &BUILD);
    assert!(matches!(refused, Err(LoadError::Refused { .. })), "{refused:?}");
    assert!(load().is_ok());
}

#[test]
fn code_of_another_store_or_another_policy_is_not_used() {
    let (house, policy) = installed_with_code();
    let (other, _) = installed_with_code();
    other
        .store
        .install(&policy, "a file", PLAIN, &other.team.admission())
        .unwrap_err();

    fs::copy(other.store.root().join("key"), house.store.root().join("key")).unwrap();
    let code = load(&house, &BUILD).code;
    assert!(matches!(code, Err(Recompile::NotAuthentic)), "{code:?}");

    let (house, first) = installed_with_code();
    let second = house.install("2.0.0");
    for name in ["policy.cwasm", "compiled.json"] {
        fs::copy(house.object(&first).join(name), house.object(&second).join(name)).unwrap();
    }
    let code = load(&house, &BUILD).code;
    assert!(
        matches!(code, Err(Recompile::Other { what: "policy", .. })),
        "{code:?}"
    );
}

#[test]
fn a_compiler_that_takes_too_long_is_ended_with_all_that_it_started() {
    let house = House::new();
    house.install("1.0.0");
    let alive = house.path("alive");
    let before = format!(
        "(while :; do date > {}; sleep 0.02; done) & wait",
        alive.display()
    );
    let program = house.program("slow", &before);
    let compiler = Compiler {
        timeout: Duration::from_millis(300),
        ..compiler(&program)
    };
    let second = house.team.policy("1.1.0");
    let change = Change {
        compile: Some((&BUILD, &compiler)),
        ..PLAIN
    };
    let late = house.put(&second, change);
    let Err(ChangeError::Compile(Failed::Program {
        cause: ChildError::Late(_),
        ..
    })) = late
    else {
        panic!("{late:?}")
    };
    assert_eq!(house.in_force(), "1.0.0");
    let _ = fs::remove_file(&alive);
    thread::sleep(Duration::from_millis(200));
    assert!(!alive.exists(), "something it started still runs");
}

#[test]
fn a_compiler_cannot_use_more_memory_than_it_is_given() {
    let house = House::new();
    house.install("1.0.0");
    // 400 MB in a shell's variable.
    let program = house.program(
        "greedy",
        "x=$(head -c 400000000 /dev/zero | tr '\\0' x); [ -n \"$x\" ] || exit 9",
    );
    let compiler = Compiler {
        memory: 100 << 20,
        ..compiler(&program)
    };
    let failed = house
        .store
        .compile_once(&house.team.admission(), &BUILD, &compiler, soon());
    let Err(LoadError::Compile(Failed::Program {
        cause: ChildError::Failed { .. },
        ..
    })) = failed
    else {
        panic!("{failed:?}")
    };
}

#[test]
fn what_a_compiler_says_about_its_failure_is_passed_on() {
    let house = House::new();
    house.install("1.0.0");
    let program = house.program("failing", "echo the component is invalid >&2; exit 3");
    let failed = house
        .store
        .compile_once(&house.team.admission(), &BUILD, &compiler(&program), soon());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("the component is invalid"), "{error}");

    let program = house.program("empty", "exit 0");
    let failed = house
        .store
        .compile_once(&house.team.admission(), &BUILD, &compiler(&program), soon());
    assert!(
        matches!(failed, Err(LoadError::Compile(Failed::Result(_)))),
        "{failed:?}"
    );
}

#[test]
fn of_many_at_once_one_compiles() {
    let house = House::new();
    house.install("1.0.0");
    let program = house.program("compile", "sleep 0.3");
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let admission = house.team.admission();
                let loaded = house
                    .store
                    .compile_once(&admission, &BUILD, &compiler(&program), soon());
                assert!(loaded.unwrap().code.is_ok());
            });
        }
    });
    assert_eq!(house.runs("compile"), 1);
}

#[test]
fn where_one_of_many_cannot_compile_none_of_them_tries_again() {
    let house = House::new();
    house.install("1.0.0");
    let program = house.program("failing", "sleep 0.5; echo it cannot be done >&2; exit 3");
    let load = || {
        let admission = house.team.admission();
        let failed = house
            .store
            .compile_once(&admission, &BUILD, &compiler(&program), soon());
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("it cannot be done"), "{error}");
    };
    let together = Barrier::new(16);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                together.wait();
                load();
            });
        }
    });
    assert_eq!(house.runs("failing"), 1);
    let troubles = house.store.troubles(&house.team.admission());
    assert!(
        matches!(troubles.as_slice(), [Trouble::NotCompiled(_)]),
        "{troubles:?}"
    );

    // Whoever comes later does, since it may have been mended.
    load();
    assert_eq!(house.runs("failing"), 2);
    let program = house.program("compile", "");
    let admission = house.team.admission();
    let made = house
        .store
        .compile_once(&admission, &BUILD, &compiler(&program), soon());
    assert!(made.unwrap().code.is_ok());
    assert_eq!(house.store.troubles(&admission), []);
}

#[test]
fn code_that_the_host_cannot_load_is_not_kept() {
    let house = House::new();
    house.install("1.0.0");
    let program = house.program("compile", "");
    let compiler = Compiler {
        loads: |code| Err(format!("{} bytes of another engine", code.len())),
        ..compiler(&program)
    };
    let change = Change {
        compile: Some((&BUILD, &compiler)),
        ..PLAIN
    };
    let refused = house.put(&house.team.policy("1.1.0"), change);
    let Err(ChangeError::Compile(Failed::Foreign { cause, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert!(cause.contains("of another engine"), "{cause}");
    assert_eq!(house.in_force(), "1.0.0");
}

/// Not a test by itself: compiles with what the environment names, where the test below starts it, and is ended before it is
/// done.
#[test]
fn compile_without_end() {
    let Some(program) = env::var_os("HOLDPOINT_TEST_COMPILER").map(PathBuf::from) else {
        return;
    };
    let house = House::new();
    house.install("1.0.0");
    let _ = house
        .store
        .compile_once(&house.team.admission(), &BUILD, &compiler(&program), soon());
}

#[cfg(target_os = "linux")]
#[test]
fn a_compiler_ends_with_whoever_started_it() {
    let house = House::new();
    let alive = house.path("alive");
    let program = house.program(
        "slow",
        &format!(
            "while :; do date > {}; read -t 0.02 <> <(:); done",
            alive.display()
        ),
    );
    let mut host = Command::new(env::current_exe().unwrap())
        .args(["--exact", "compiled::compile_without_end"])
        .env("HOLDPOINT_TEST_COMPILER", &program)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while !alive.exists() {
        assert!(Instant::now() < patience, "the compiler was not started");
        thread::sleep(Duration::from_millis(5));
    }
    host.kill().unwrap();
    host.wait().unwrap();
    // What it had begun to write may still come.
    thread::sleep(Duration::from_millis(300));
    let _ = fs::remove_file(&alive);
    thread::sleep(Duration::from_millis(300));
    assert!(!alive.exists(), "the compiler still runs");
}

#[test]
fn nobody_waits_past_the_deadline() {
    let house = House::new();
    house.install("1.0.0");
    let program = house.program("compile", "sleep 60");
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let deadline = begun + Duration::from_secs(1);
                let admission = house.team.admission();
                let late = house
                    .store
                    .compile_once(&admission, &BUILD, &compiler(&program), deadline);
                let expected = matches!(
                    late,
                    Err(LoadError::Store(StoreError::Busy { .. })
                        | LoadError::Compile(Failed::Program {
                            cause: ChildError::Late(_),
                            ..
                        }))
                );
                assert!(expected, "{late:?}");
            });
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
