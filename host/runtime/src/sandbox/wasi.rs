//! WASI for policies: present, so that any tool chain's components start, and empty.
//!
//! No files, no sockets, no environment, no arguments; what is written to stdout or stderr goes nowhere; clocks are
//! coarse. Only what a component imports is linked, and a component that imports none pays for none.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock, WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random, sockets, sync};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiView};

/// The most random bytes that one call gives.
const MOST_RANDOM: u64 = 64 * 1024;

/// The interfaces of WASI 0.2 that a policy can have: the gate turns away what asks for others, and nothing else is linked.
pub(super) const INTERFACES: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Links one of [`INTERFACES`]. Anything else is left out, and the component then fails to start by name.
pub(super) fn link<T: WasiView + 'static>(
    linker: &mut Linker<T>,
    package: &str,
    interface: &str,
) -> wasmtime::Result<()> {
    match (package, interface) {
        ("wasi:cli", "environment") => cli::environment::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "exit") => cli::exit::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "stdin") => cli::stdin::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "stdout") => cli::stdout::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "stderr") => cli::stderr::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "terminal-input") => cli::terminal_input::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "terminal-output") => cli::terminal_output::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "terminal-stdin") => cli::terminal_stdin::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "terminal-stdout") => cli::terminal_stdout::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:cli", "terminal-stderr") => cli::terminal_stderr::add_to_linker::<T, WasiCli>(linker, T::cli),
        ("wasi:clocks", "monotonic-clock") => {
            clocks::monotonic_clock::add_to_linker::<T, WasiClocks>(linker, T::clocks)
        }
        ("wasi:clocks", "wall-clock") => {
            clocks::wall_clock::add_to_linker::<T, WasiClocks>(linker, T::clocks)
        }
        ("wasi:filesystem", "preopens") => {
            filesystem::preopens::add_to_linker::<T, WasiFilesystem>(linker, T::filesystem)
        }
        ("wasi:filesystem", "types") => {
            sync::filesystem::types::add_to_linker::<T, WasiFilesystem>(linker, T::filesystem)
        }
        ("wasi:io", "error") => sync::io::error::add_to_linker::<T, Table>(linker, |state| state.ctx().table),
        ("wasi:io", "poll") => sync::io::poll::add_to_linker::<T, Table>(linker, |state| state.ctx().table),
        ("wasi:io", "streams") => {
            sync::io::streams::add_to_linker::<T, Table>(linker, |state| state.ctx().table)
        }
        ("wasi:random", "random") => {
            random::random::add_to_linker::<T, WasiRandom>(linker, |state| state.ctx().ctx.random())
        }
        ("wasi:random", "insecure") => {
            random::insecure::add_to_linker::<T, WasiRandom>(linker, |state| state.ctx().ctx.random())
        }
        ("wasi:random", "insecure-seed") => {
            random::insecure_seed::add_to_linker::<T, WasiRandom>(linker, |state| state.ctx().ctx.random())
        }
        ("wasi:sockets", _) => link_sockets(linker, interface),
        _ => Ok(()),
    }
}

/// Sockets that open nothing: Python's tool chain imports them whether or not a policy uses any.
fn link_sockets<T: WasiView + 'static>(linker: &mut Linker<T>, interface: &str) -> wasmtime::Result<()> {
    match interface {
        "instance-network" => sockets::instance_network::add_to_linker::<T, WasiSockets>(linker, T::sockets),
        "ip-name-lookup" => sockets::ip_name_lookup::add_to_linker::<T, WasiSockets>(linker, T::sockets),
        "network" => {
            sockets::network::add_to_linker::<T, WasiSockets>(linker, &Default::default(), T::sockets)
        }
        "tcp" => sync::sockets::tcp::add_to_linker::<T, WasiSockets>(linker, T::sockets),
        "tcp-create-socket" => {
            sockets::tcp_create_socket::add_to_linker::<T, WasiSockets>(linker, T::sockets)
        }
        "udp" => sync::sockets::udp::add_to_linker::<T, WasiSockets>(linker, T::sockets),
        "udp-create-socket" => {
            sync::sockets::udp_create_socket::add_to_linker::<T, WasiSockets>(linker, T::sockets)
        }
        _ => Ok(()),
    }
}

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// What every context is without.
pub(super) fn nothing(builder: &mut WasiCtxBuilder) -> &mut WasiCtxBuilder {
    builder
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(MOST_RANDOM)
}

/// The empty context.
pub(super) fn context() -> WasiCtx {
    nothing(&mut WasiCtxBuilder::new())
        .wall_clock(Seconds)
        .monotonic_clock(Milliseconds(Instant::now()))
        .build()
}

/// The time of day, in whole seconds: enough for a policy that looks at office hours.
struct Seconds;

impl HostWallClock for Seconds {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |now| now.as_secs()),
        )
    }
}

/// Time since the start, in whole milliseconds: too coarse to measure what the host does.
struct Milliseconds(Instant);

impl HostMonotonicClock for Milliseconds {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis())
            .unwrap_or(u64::MAX)
            .saturating_mul(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime_wasi::WasiCtxView;

    struct Nothing;

    impl WasiView for Nothing {
        fn ctx(&mut self) -> WasiCtxView<'_> {
            unreachable!("nothing is run")
        }
    }

    #[test]
    fn everything_that_the_gate_lets_in_is_linked() {
        for name in INTERFACES {
            let (package, interface) = name.split_once('/').unwrap();
            let mut linker = Linker::<Nothing>::new(crate::sandbox::engine());
            link(&mut linker, package, interface).unwrap();
            // A linker takes no name twice, so this tells whether the first time did anything.
            assert!(link(&mut linker, package, interface).is_err(), "{name}");
        }
    }
}
