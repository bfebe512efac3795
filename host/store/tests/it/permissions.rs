//! Files and folders that others may write.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs};

use holdpoint_artifact::PublicKey;

use holdpoint_store::{
    Admission, Build, Change, ChangeError, Code, LoadError, Recompile, Store, StoreError, Target, What,
    read_code,
};

use crate::common::{BUILD, House, PLAIN, compiler, set_mode, soon};
use crate::policies::Team;

#[test]
fn what_others_may_write_is_refused_with_the_command_that_mends_it() {
    let house = House::new();
    house.install("1.0.0");
    let policy = house.install("1.1.0");
    let root = house.store.root();
    let object = house.object(&policy);
    for path in [
        root.to_owned(),
        root.join("active"),
        root.join("objects"),
        root.join("revoked.json"),
        object.clone(),
        object.join("policy.wasm"),
    ] {
        let before = fs::metadata(&path).unwrap().permissions();
        for more in [0o020, 0o002] {
            let mode = std::os::unix::fs::PermissionsExt::mode(&before) & 0o777;
            set_mode(&path, mode | more);
            let loaded = Store::open(root)
                .map_err(Into::into)
                .and_then(|store| store.load_active(&house.team.admission(), &BUILD));
            let error = loaded.unwrap_err().to_string();
            assert!(
                error.contains(&format!("chmod go-w {}", path.display())),
                "{error}"
            );
            set_mode(&path, mode);
        }
    }
    assert_eq!(house.in_force(), "1.1.0");
}

#[test]
fn so_is_a_folder_on_the_way_in_which_others_could_put_another_store() {
    let house = House::new();
    house.install("1.0.0");
    let parent = house.store.root().parent().unwrap();
    set_mode(parent, 0o777);
    let refused = Store::open(house.store.root());
    assert!(
        matches!(&refused, Err(StoreError::Exposed { path }) if path == parent),
        "{refused:?}"
    );
    set_mode(parent, 0o1777);
    Store::open(house.store.root()).unwrap();
}

#[test]
fn a_key_that_others_can_read_authenticates_nothing() {
    let house = House::new();
    house.install("1.0.0");
    let program = house.program("compile", "");
    house
        .store
        .compile_once(&house.team.admission(), &BUILD, &compiler(&program), soon())
        .unwrap();
    let key = house.store.root().join("key");
    set_mode(&key, 0o640);
    let loaded = house.store.load_active(&house.team.admission(), &BUILD).unwrap();
    let Err(Recompile::Store(error)) = loaded.code else {
        panic!()
    };
    assert!(error.to_string().contains("chmod 600"), "{error}");
}

#[test]
fn a_link_in_a_files_place_is_not_followed() {
    let house = House::new();
    let policy = house.install("1.0.0");
    let file = house.object(&policy).join("policy.wasm");
    let elsewhere = house.path("elsewhere.wasm");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert!(house.store.load_active(&house.team.admission(), &BUILD).is_err());
}

#[test]
fn a_compiler_that_others_may_write_is_not_started() {
    let house = House::new();
    let program = house.program("compile", "");
    set_mode(&program, 0o777);
    let compiler = compiler(&program);
    let change = Change {
        compile: Some((&BUILD, &compiler)),
        ..PLAIN
    };
    let refused = house.put(&house.team.policy("1.0.0"), change);
    assert!(matches!(refused, Err(ChangeError::Compile(_))), "{refused:?}");
    assert_eq!(house.runs("compile"), 0);
    let history = house.store.history().unwrap();
    assert_eq!(history.last().unwrap().what, What::Failure);
}

/// Nobody's number on every system with users.
const NOBODY: u32 = 65534;

/// Not a test by itself: what a user sees of a store that belongs to root, where the test below starts it as another user.
#[test]
fn as_another_user() {
    let Ok(root) = env::var("HOLDPOINT_TEST_STORE") else {
        return;
    };
    let mut team = Team::new();
    team.trust.keys[0].public = PublicKey::from_pem(&env::var("HOLDPOINT_TEST_KEY").unwrap()).unwrap();
    let store = Store::open(root.as_ref()).unwrap();
    let loaded = store.load_active(&team.admission(), &BUILD).unwrap();
    // The store's key cannot be read from here; owners and modes have to be proof enough.
    assert!(fs::read(store.root().join("key")).is_err());
    assert!(
        matches!(loaded.code, Ok(Code::Unchanging(_))),
        "{:?}",
        loaded.code
    );
    // Who need not look at every byte maps the component.
    static MAPPED: AtomicBool = AtomicBool::new(false);
    let quick = Admission {
        map: Some(|file, length| {
            MAPPED.store(true, Ordering::Relaxed);
            read_code(file, length)
        }),
        ..team.admission()
    };
    let quick = store.load_active(&quick, &BUILD).unwrap();
    assert_eq!((quick.facts, quick.wasm), (loaded.facts, loaded.wasm));
    assert!(MAPPED.load(Ordering::Relaxed));

    let next = Build {
        host: "host 2",
        ..BUILD
    };
    let made = store.compile_once(
        &team.admission(),
        &next,
        &compiler(Path::new("/bin/true")),
        soon(),
    );
    assert!(
        matches!(made, Err(LoadError::Store(StoreError::Io { .. }))),
        "{made:?}"
    );
    let target = Target::Key {
        id: team.key.public().id(),
        name: None,
    };
    assert!(store.revoke(&target, "", &team.admission()).is_err());
}

#[ignore = "needs root"]
#[test]
fn in_a_store_of_roots_code_is_trusted_for_its_owner_and_mode() {
    let house = House::new();
    let owner = fs::metadata(house.store.root()).unwrap().uid();
    assert_eq!(owner, 0, "only root can make a store of root's");
    let program = house.program("compile", "");
    let compiler = compiler(&program);
    let policy = house.team.policy("1.0.0");
    let change = Change {
        compile: Some((&BUILD, &compiler)),
        ..PLAIN
    };
    house.put(&policy, change).unwrap();
    set_mode(house.store.root().parent().unwrap(), 0o755);
    let test = house.path("test");
    fs::copy(env::current_exe().unwrap(), &test).unwrap();
    let seen = || {
        let mut test = Command::new(&test);
        test.args(["--exact", "permissions::as_another_user"])
            .env("HOLDPOINT_TEST_KEY", house.team.key.public().to_pem())
            .env("HOLDPOINT_TEST_STORE", house.store.root());
        test.uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    let output = seen();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    std::os::unix::fs::chown(house.object(&policy).join("policy.cwasm"), Some(NOBODY), None).unwrap();
    let output = seen();
    assert!(!output.status.success(), "the user can write the code now");
}
