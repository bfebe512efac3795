//! Runs a policy: components, limits and the capabilities lent to them. Knows nothing of Zerto or of harnesses.

mod bindings;
pub mod capabilities;
// Where it has been tried; on other processors, code that is made executable needs more care with their caches.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod in_place;
mod measured;
mod still;
mod wasi;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use holdpoint_artifact::{Contract, Version};
use holdpoint_config::CAPABILITIES;
use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Engine, ResourceLimiter, Store, Trap};

pub use bindings::{Call, Server};
use bindings::{Guest, GuestPre};
use capabilities::{Capabilities, State};
pub use measured::{Cost, MOST_FUEL, Measured, metered_engine};
pub use still::Clock;

use crate::verdict::{Fault, FaultKind, Verdict};

/// The most memory, in bytes, that a policy gets: all of its memories together. Bulk memory operations look at the epoch
/// only as they begin, so this bounds their length too.
const MOST_MEMORY: usize = 64 * 1024 * 1024;
/// The most table elements that a policy gets, in all of its tables together.
const MOST_ELEMENTS: usize = 40_000;
/// The most core instances, memories and tables; adapters make some of each.
const MOST_INSTANCES: usize = 100;
/// The most bytes that one call between policy and host may carry, either way.
const MOST_CARRIED: usize = 2 * 1024 * 1024;
/// The most handles that a policy may hold.
const MOST_HANDLES: usize = 1_000;

/// The versions of the contract that are served.
pub static SERVED: [Version; 1] = [Version::new(0, 1, 0)];

/// What a policy is held against before it is compiled or loaded: the contract that is served, and what of it is lent.
pub fn contract(grants: &[String]) -> Contract<'_> {
    Contract {
        package: "holdpoint:policy",
        world: "guest",
        export: "policy",
        versions: &SERVED,
        types: &["types"],
        capabilities: &CAPABILITIES,
        grants,
        wasi: wasi::INTERFACES,
    }
}

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// The engine, made once.
pub fn engine() -> &'static Engine {
    ENGINE.get_or_init(|| {
        let mut config = holdpoint_engine::config();
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        in_place::configure(&mut config);
        Engine::new(&config).expect("the engine's settings are known to be good")
    })
}

/// Brings the so many first bytes of a file into memory that can run them as they lie, until the process ends.
///
/// # Errors
///
/// The operating system's, or where the file is shorter.
pub fn hold(file: &File, length: usize) -> io::Result<&'static [u8]> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return in_place::hold(file, length);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    return holdpoint_store::read_code(file, length);
}

/// Maps the so many first bytes of a file that nobody changes, until the process ends.
///
/// # Errors
///
/// The operating system's, or where the file is shorter.
pub fn map(file: &File, length: usize) -> io::Result<&'static [u8]> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return in_place::map(file, length);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    return holdpoint_store::read_code(file, length);
}

/// Loads compiled code, where it lies if that can be.
///
/// # Errors
///
/// The engine's, where the code is not for it.
///
/// # Safety
///
/// As for [`Component::deserialize`].
#[expect(unsafe_code, reason = "taking code as it stands is unsafe by nature")]
pub unsafe fn load(code: &'static [u8]) -> wasmtime::Result<Component> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: the caller's promise is the one that is asked for.
    return unsafe { in_place::load(code) };
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    // SAFETY: as above.
    return unsafe { Component::deserialize(engine(), code) };
}

/// Loads compiled code from its file, which is mapped: pages that are not needed are not read, and the policy's memory
/// begins as what stands there.
///
/// # Errors
///
/// The engine's, where the code is not for it.
///
/// # Safety
///
/// As for [`Component::deserialize_file`]: nobody may write the file from now on.
#[expect(unsafe_code, reason = "taking code as it stands is unsafe by nature")]
pub unsafe fn load_file(path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the caller's promise is the one that is asked for.
    match unsafe { Component::deserialize_file(engine(), path) } {
        Ok(component) => Ok(component),
        // Refused also where nothing may be run from the file's place, which says nothing about the file.
        Err(error) => match std::fs::read(path) {
            // SAFETY: as above.
            Ok(code) => unsafe { Component::deserialize(engine(), code) },
            Err(_) => Err(error),
        },
    }
}

/// Ends whatever a policy is doing, at its next branch. Safe to call from a signal handler.
pub fn interrupt() {
    if let Some(engine) = ENGINE.get() {
        engine.increment_epoch();
    }
}

/// A component that is linked and ready to be asked, as often as one likes and from any thread.
pub struct Prepared {
    policy: GuestPre<State>,
    /// Whether time is virtual and nothing is left to chance.
    still: bool,
}

impl Prepared {
    /// Links what the component asks for.
    ///
    /// # Errors
    ///
    /// A fault where the component asks for more than it is granted, or does not answer the contract.
    pub fn new(component: &Component, grants: &[String]) -> Result<Self, Fault> {
        Self::link(component, grants, false)
    }

    fn link(component: &Component, grants: &[String], still: bool) -> Result<Self, Fault> {
        let policy = linker(component, grants, still)?
            .instantiate_pre(component)
            .and_then(GuestPre::new)
            .map_err(|error| unusable(&error))?;
        Ok(Self { policy, still })
    }

    /// Asks before a call.
    ///
    /// # Errors
    ///
    /// A fault where the policy traps, or is interrupted.
    pub fn before(&self, lent: Box<dyn Capabilities>, call: &Call) -> Result<Verdict, Fault> {
        let mut store = self.store(lent, None);
        store.set_epoch_deadline(1);
        self.start(&mut store)
            .and_then(|policy| ask(&policy, &mut store, call))
    }

    fn store(&self, lent: Box<dyn Capabilities>, clock: Option<Clock>) -> Store<State> {
        let mut store = Store::new(self.policy.engine(), State::new(lent, clock));
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(MOST_CARRIED);
        store.set_max_component_handles(MOST_HANDLES);
        store
    }

    fn start(&self, store: &mut Store<State>) -> Result<Guest, Fault> {
        self.policy.instantiate(store).map_err(|error| unusable(&error))
    }
}

fn ask(policy: &Guest, store: &mut Store<State>, call: &Call) -> Result<Verdict, Fault> {
    let verdict = policy
        .holdpoint_policy_policy()
        .call_before(store, call)
        .map_err(|error| {
            trapped(&error)
                .unwrap_or_else(|| Fault::new(FaultKind::Trap, format!("the policy failed: {error:#}")))
        })?;
    Ok(verdict.into())
}

fn unusable(error: &wasmtime::Error) -> Fault {
    trapped(error).unwrap_or_else(|| {
        Fault::new(
            FaultKind::Policy,
            format!("the policy cannot be started: {error:#}"),
        )
    })
}

/// The fault for an error that is a trap, or a fault of what was lent.
fn trapped(error: &wasmtime::Error) -> Option<Fault> {
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return Some(fault.clone());
    }
    let trap = error.downcast_ref::<Trap>()?;
    Some(match trap {
        Trap::Interrupt | Trap::OutOfFuel => {
            Fault::new(FaultKind::Deadline, "the policy did not answer in time")
        }
        trap => Fault::new(FaultKind::Trap, format!("the policy trapped ({trap})")),
    })
}

/// Links what the component imports and nothing else: our capabilities where they are granted, WASI where it asks for
/// some.
fn linker(component: &Component, grants: &[String], still: bool) -> Result<Linker<State>, Fault> {
    let engine = component.engine();
    let mut linker = Linker::new(engine);
    for (import, _) in component.component_type().imports(engine) {
        let (package, interface) = import.split_once('/').unwrap_or((import, ""));
        let interface = interface.split('@').next().unwrap_or_default();
        let linked = match package {
            "holdpoint:policy"
                if CAPABILITIES.contains(&interface) && !grants.iter().any(|grant| grant == interface) =>
            {
                return Err(Fault::new(
                    FaultKind::Policy,
                    format!(
                        "the policy asks for the capability '{interface}', which policy.grants does not list"
                    ),
                ));
            }
            "holdpoint:policy" => link_capability(&mut linker, interface),
            "wasi:clocks" if still && interface == "monotonic-clock" => {
                still::link_monotonic_clock(&mut linker)
            }
            _ => wasi::link(&mut linker, package, interface),
        };
        linked.map_err(|error| {
            Fault::new(
                FaultKind::Policy,
                format!("'{import}' cannot be lent to the policy: {error:#}"),
            )
        })?;
    }
    Ok(linker)
}

fn link_capability(linker: &mut Linker<State>, interface: &str) -> wasmtime::Result<()> {
    use bindings::holdpoint::policy;
    match interface {
        "deadline" => policy::deadline::add_to_linker::<_, HasSelf<State>>(linker, |state| state),
        "log" => policy::log::add_to_linker::<_, HasSelf<State>>(linker, |state| state),
        "session" => policy::session::add_to_linker::<_, HasSelf<State>>(linker, |state| state),
        "zerto" => policy::zerto::add_to_linker::<_, HasSelf<State>>(linker, |state| state),
        // Types only: nothing to lend. What is unknown fails at instantiation, by name.
        _ => Ok(()),
    }
}

/// The limits of one policy's store, and what its memories and tables have together: only ever more.
#[derive(Default)]
struct Limits {
    memory: usize,
    elements: usize,
}

/// Adds what something grows by to what all have together, unless that would be more than there may be.
fn grow(sum: &mut usize, current: usize, desired: usize, most: usize) -> bool {
    let grown = sum.checked_add(desired.saturating_sub(current));
    match grown.filter(|grown| *grown <= most) {
        Some(grown) => {
            *sum = grown;
            true
        }
        None => false,
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(grow(&mut self.memory, current, desired, MOST_MEMORY))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(grow(&mut self.elements, current, desired, MOST_ELEMENTS))
    }

    fn instances(&self) -> usize {
        MOST_INSTANCES
    }

    fn memories(&self) -> usize {
        MOST_INSTANCES
    }

    fn tables(&self) -> usize {
        MOST_INSTANCES
    }
}
