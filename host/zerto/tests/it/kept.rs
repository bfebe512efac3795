//! Log-ins that one process keeps for the next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_zerto::{Error, Keeper, Login, Secret, Settings, Zvm};
use zeroize::Zeroizing;
use zvm_sim::Sim;

use crate::common::*;

/// What files are to the host. Time passes only when it is told to.
#[derive(Debug, Default)]
struct Memory {
    kept: Mutex<HashMap<String, Vec<u8>>>,
    age: Mutex<Duration>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Keeper for Memory {
    fn load(&self, name: &str) -> Option<(Zeroizing<Vec<u8>>, Duration)> {
        let bytes = self.kept.lock().unwrap().get(name)?.clone();
        Some((Zeroizing::new(bytes), *self.age.lock().unwrap()))
    }

    fn store(&self, name: &str, bytes: &[u8]) {
        self.kept
            .lock()
            .unwrap()
            .insert(name.to_owned(), bytes.to_owned());
    }

    fn discard(&self, name: &str) {
        self.kept.lock().unwrap().remove(name);
    }

    fn try_lock(&self, _: &str) -> Option<Box<dyn Send>> {
        Some(Box::new(Arc::clone(&self.turn).try_lock_owned().ok()?))
    }
}

impl Memory {
    fn texts(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap();
        kept.values()
            .map(|bytes| String::from_utf8(bytes.clone()).unwrap())
            .collect()
    }
}

/// A process of its own, as far as the ZVM can tell.
fn process(sim: &Sim, memory: &Arc<Memory>) -> Zvm {
    process_as(sim, memory, password("secret"))
}

fn process_as(sim: &Sim, memory: &Arc<Memory>, login: Login) -> Zvm {
    let keeper: Arc<dyn Keeper> = memory.clone();
    Zvm::new(Settings {
        login,
        keeper: Some(keeper),
        ..settings(sim)
    })
    .unwrap()
}

async fn look_up(zvm: &Zvm) -> Result<usize, Error> {
    zvm.find_vms_by_name("jp-ubuntu").await.map(|rows| rows.len())
}

#[tokio::test]
async fn the_second_process_asks_for_the_vm_and_for_nothing_else() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ninstant = true");
    let memory = Arc::default();
    assert_eq!(look_up(&process(&sim, &memory)).await, Ok(1));
    let asked = sim.requests().len();
    let second = process(&sim, &memory);
    let rows = second.find_vms_by_name("jp-ubuntu").await.unwrap();
    assert_eq!(rows[0].direction, holdpoint_zerto::Direction::ProtectedHere);
    let requests = sim.requests();
    let paths: Vec<_> = requests[asked..]
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(paths, ["/v1/vms"], "one round trip, and then the insert");
    second.capture(&[vpg("APP-VPG")], TAG).await.remove(0).unwrap();
    assert_eq!(log_ins(&sim).len(), 1);
}

#[tokio::test]
async fn a_log_in_is_never_used_longer_than_it_lives() {
    let sim = sim("[login]\ntoken_seconds = 60");
    let memory: Arc<Memory> = Arc::default();
    look_up(&process(&sim, &memory)).await.unwrap();
    // With ten seconds to go it is renewed.
    for (age, expected) in [(49, 1), (51, 2)] {
        *memory.age.lock().unwrap() = Duration::from_secs(age);
        look_up(&process(&sim, &memory)).await.unwrap();
        assert_eq!(log_ins(&sim).len(), expected, "after {age} s");
    }
}

#[tokio::test]
async fn a_log_in_that_is_turned_away_is_dropped_and_one_new_one_is_tried() {
    for status in [401, 403] {
        let sim = sim(&format!(
            "[[troubles]]\non = 'GET /v1/vms'\nkind = 'status'\nstatus = {status}\nafter = 1\ntimes = 1"
        ));
        let memory = Arc::default();
        look_up(&process(&sim, &memory)).await.unwrap();
        let before = memory.texts();
        assert_eq!(look_up(&process(&sim, &memory)).await, Ok(1), "{status}");
        assert_eq!(log_ins(&sim).len(), 2, "{status}");
        assert_ne!(memory.texts(), before, "{status}");
        assert_eq!(memory.texts().len(), 1);
    }
    // Twice is an answer; and what was never kept is not tried again for want of a right.
    for (status, log_ins_made) in [(401, 3), (403, 3)] {
        let sim = sim(&format!(
            "[[troubles]]\non = 'GET /v1/vms'\nkind = 'status'\nstatus = {status}\nafter = 1"
        ));
        let memory = Arc::default();
        look_up(&process(&sim, &memory)).await.unwrap();
        for _ in 0..2 {
            let result = look_up(&process(&sim, &memory)).await;
            assert!(
                matches!(result, Err(Error::Unauthorized(_))),
                "{status}: {result:?}"
            );
        }
        assert_eq!(log_ins(&sim).len(), log_ins_made, "{status}");
    }
}

#[tokio::test]
async fn a_refused_log_in_leaves_nothing_kept() {
    let sim = sim(
        "[[troubles]]\non = 'GET /v1/vms'\nkind = 'unauthorized'\nafter = 1\n\
         [[troubles]]\non = 'POST /auth/*'\nkind = 'unauthorized'\nafter = 1",
    );
    let memory: Arc<Memory> = Arc::default();
    look_up(&process(&sim, &memory)).await.unwrap();
    assert_eq!(memory.texts().len(), 1);
    assert!(matches!(
        look_up(&process(&sim, &memory)).await,
        Err(Error::Unauthorized(_))
    ));
    // The refusal is remembered, and no log-in.
    assert!(
        memory
            .texts()
            .iter()
            .all(|text| text.contains("\"why\"") && !text.contains("Bearer"))
    );
    assert_eq!(memory.texts().len(), 1);
}

#[tokio::test]
async fn another_users_log_in_is_not_used() {
    let sim = sim("");
    let memory = Arc::default();
    look_up(&process(&sim, &memory)).await.unwrap();
    let service = Login::ClientCredentials {
        client_id: "holdpoint".into(),
        client_secret: Secret::new("service-secret"),
    };
    look_up(&process_as(&sim, &memory, service)).await.unwrap();
    assert_eq!(log_ins(&sim).len(), 2);
    assert_eq!(memory.texts().len(), 2);
    let text = memory.texts().concat();
    assert!(!text.contains("secret"), "no password is kept");
}

#[tokio::test]
async fn a_windows_session_is_kept_for_twenty_five_minutes() {
    let sim = sim("[site]\nplatform = 'windows'");
    let memory: Arc<Memory> = Arc::default();
    let windows = || Login::WindowsSession {
        username: "admin".into(),
        password: Secret::new("secret"),
    };
    look_up(&process_as(&sim, &memory, windows())).await.unwrap();
    for (minutes, expected) in [(24, 1), (26, 2)] {
        *memory.age.lock().unwrap() = Duration::from_secs(60 * minutes);
        look_up(&process_as(&sim, &memory, windows())).await.unwrap();
        assert_eq!(log_ins(&sim).len(), expected, "after {minutes} minutes");
    }
}

#[tokio::test]
async fn what_is_kept_and_makes_no_sense_is_as_good_as_nothing() {
    let sim = sim("");
    let memory: Arc<Memory> = Arc::default();
    look_up(&process(&sim, &memory)).await.unwrap();
    let good = memory.texts().remove(0);
    let forms = [
        String::new(),
        good.replace("Bearer ", "Bearer \\n"),
        good.replace("authorization", "cookie"),
        good.replace("Bearer ", "Bearer of nothing"),
    ];
    for (number, form) in forms.into_iter().enumerate() {
        for bytes in memory.kept.lock().unwrap().values_mut() {
            *bytes = form.clone().into_bytes();
        }
        assert_eq!(look_up(&process(&sim, &memory)).await, Ok(1), "{form}");
        assert_eq!(log_ins(&sim).len(), number + 2, "{form}");
    }
}

/// A password that was changed at the ZVM is sent once and not at every call: accounts are locked after a few failures.
#[tokio::test]
async fn a_refused_log_in_is_not_sent_by_the_next_process() {
    for platform in ["linux", "windows"] {
        let sim = sim(&format!("[site]\nplatform = '{platform}'"));
        let login = |text: &str| match platform {
            "linux" => password(text),
            _ => Login::WindowsSession {
                username: "admin".into(),
                password: Secret::new(text),
            },
        };
        let memory = Arc::new(Memory::default());
        let ask = async |text: &str| {
            let zvm = process_as(&sim, &memory, login(text));
            zvm.find_vms_by_name("jp-ubuntu").await
        };
        for number in 0..10 {
            let Err(Error::Unauthorized(text)) = ask("old").await else {
                panic!()
            };
            assert!(text.starts_with("log-in: HTTP 401"), "{text}");
            assert_eq!(text.contains("not sent again"), number > 0, "{text}");
        }
        assert_eq!(log_ins(&sim).len(), 1, "{platform}");
        assert!(memory.texts().iter().all(|text| !text.contains("old")));
        // A new secret is tried at once, and forgets the refusal.
        assert!(ask("secret").await.is_ok());
        assert_eq!(log_ins(&sim).len(), 2, "{platform}");
        assert!(memory.texts().iter().all(|text| !text.contains("\"why\"")));
    }
}

#[tokio::test]
async fn a_refused_log_in_is_tried_again_after_a_while_or_when_a_human_asks() {
    let sim = sim("");
    let memory = Arc::new(Memory::default());
    let ask = async |retry_refused| {
        let keeper: Arc<dyn Keeper> = memory.clone();
        let login = password("old");
        let settings = Settings {
            login,
            keeper: Some(keeper),
            keep_log_in: false,
            retry_refused,
            ..settings(&sim)
        };
        let refused = Zvm::new(settings).unwrap().find_vms_by_name("jp-ubuntu").await;
        assert!(matches!(refused, Err(Error::Unauthorized(_))));
        log_ins(&sim).len()
    };
    assert_eq!(ask(false).await, 1);
    assert_eq!(ask(false).await, 1);
    assert_eq!(ask(true).await, 2);
    *memory.age.lock().unwrap() = Duration::from_secs(599);
    assert_eq!(ask(false).await, 2);
    *memory.age.lock().unwrap() = Duration::from_secs(600);
    assert_eq!(ask(false).await, 3);
}

/// Many calls begin at once where an agent works in parallel.
#[tokio::test]
async fn of_many_that_log_in_at_once_one_alone_is_refused_by_the_zvm() {
    let sim = sim("");
    let memory = Arc::new(Memory::default());
    let zvms: Vec<_> = (0..20)
        .map(|_| process_as(&sim, &memory, password("old")))
        .collect();
    let refused =
        futures_util::future::join_all(zvms.iter().map(|zvm| zvm.find_vms_by_name("jp-ubuntu"))).await;
    assert!(
        refused
            .iter()
            .all(|result| matches!(result, Err(Error::Unauthorized(_))))
    );
    assert_eq!(log_ins(&sim).len(), 1);
}
