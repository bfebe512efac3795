//! Which catalogs speak of a call, and which of them counts.

use crate::arguments::Arguments;
use crate::catalog::{Source, all_shipped, is_known_without_runs, own, shipped, shipped_builtins};
use crate::foreign;
use crate::model::Call;
use crate::name::{self, Candidate, Named};
use crate::reading::{self, Reading};
use crate::settings::{ServerSettings, Settings};
use crate::surroundings::Surroundings;

/// A call's reading and what is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What the call would do.
    pub reading: Reading,
    /// The server's key; empty for a tool of the harness.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// The catalogs that speak of the tool.
    pub catalogs: Vec<String>,
    /// True where an entry of the operator's catalogs was milder than a shipped one and did not count.
    pub ignored_own: bool,
    /// True where the call changes a control plane, also when the operator's catalogs say that it changes a machine
    /// too: what is to become of such calls then holds as well.
    pub control_plane: bool,
}

/// Reads a call.
pub fn classify(call: &Call, settings: &Settings, arguments: &Arguments<'_>) -> Judged {
    let key = call.server.as_ref().map(|server| server.name.clone());
    let named = name::read(call);
    if let Some(server) = foreign::server(call, &named, settings) {
        return Outcome::of(Reading::Foreign).judged(server, call.tool.clone());
    }
    let candidates = match named {
        Named::Builtin => return builtin(call, settings, arguments),
        Named::Mcp(candidates) => candidates,
        Named::Unclear(why) => {
            return Outcome::of(reading::obscure(why)).judged(key.unwrap_or_default(), call.tool.clone());
        }
    };
    let mut weighed = Weighed::default();
    let mut fitting: Option<&Candidate> = None;
    let mut unlisted = 0;
    let mut doubts = Vec::new();
    for candidate in &candidates {
        let mut listed = false;
        // What follows a plugin's name is that plugin's own word, and no key that the operator gave.
        let servers = settings.servers_by(&candidate.servers[0], key.as_deref());
        let around = Surroundings {
            settings,
            servers: &servers,
            unread: arguments.unread(),
            scope: &[],
        };
        let mapped = settings.servers_of(candidate, key.as_deref());
        let catalogs = mapped.iter().filter_map(|server| server.catalog.as_ref());
        for alias in candidate.servers.iter().chain(catalogs) {
            let shipped = shipped(alias).filter(|catalog| !catalog.builtin());
            let own = own(&settings.catalogs, alias).filter(|catalog| !catalog.builtin());
            listed |= weighed.weigh(shipped, own, &candidate.tool, arguments, around);
        }
        if let Some(spelt) = &candidate.connector {
            let fits = |catalog: &Source<'_>| !catalog.builtin() && is_known_without_runs(*catalog, spelt);
            let own = settings.catalogs.iter().map(Source::Operator).filter(fits);
            listed |= weighed.weigh(
                all_shipped().filter(fits),
                own,
                &candidate.tool,
                arguments,
                around,
            );
        }
        let are_mapped = servers.iter().filter(|server| server.catalog.is_some()).count();
        if (1..servers.len()).contains(&are_mapped) {
            doubts.push(ALIKE.into());
        }
        if listed {
            fitting = fitting.or(Some(candidate));
        } else {
            unlisted += 1;
        }
    }
    let shown = fitting.or_else(|| candidates.first());
    let server = key
        .or_else(|| shown.map(|shown| shown.servers[0].clone()))
        .unwrap_or_default();
    let tool = shown.map_or_else(|| call.tool.clone(), |shown| shown.tool.clone());
    let mut outcome = weighed.outcome(settings.allow_widening);
    if fitting.is_some() && unlisted > 0 {
        let doubt = "its name can be taken apart in several ways, and not all of them are in a catalog";
        doubts.push(doubt.into());
    }
    outcome.reading = outcome.reading.doubted(doubts);
    outcome.judged(server, tool)
}

/// Why a server is not known although the settings name it.
const ALIKE: &str =
    "the settings hold several servers that a harness spells alike, and not all of them have a catalog";

/// A tool of the harness itself: only catalogs that are meant for such tools speak of it.
fn builtin(call: &Call, settings: &Settings, arguments: &Arguments<'_>) -> Judged {
    let mut weighed = Weighed::default();
    let tool = name::normalise(&call.tool);
    let mut weigh = |catalog: Source<'_>| {
        if catalog.entry(&tool).is_none() {
            return;
        }
        let aliases = catalog.aliases();
        let servers = aliases.iter().flat_map(|alias| settings.servers_by(alias, None));
        let servers: Vec<&ServerSettings> = servers.collect();
        let around = Surroundings {
            settings,
            servers: &servers,
            unread: arguments.unread(),
            scope: &[],
        };
        let (own, shipped) = match catalog {
            Source::Operator(_) => (Some(catalog), None),
            Source::Policy(_) => (None, Some(catalog)),
        };
        weighed.weigh(shipped, own, &tool, arguments, around);
    };
    shipped_builtins().for_each(&mut weigh);
    let own = settings.catalogs.iter().filter(|catalog| catalog.server.builtin);
    own.map(Source::Operator).for_each(weigh);

    let mut outcome = weighed.outcome(settings.allow_widening);
    if outcome.reading == Reading::Unlisted {
        outcome.reading = Reading::NotMcp;
    }
    outcome.judged(String::new(), call.tool.clone())
}

/// What the shipped catalogs and the operator's own say of one call: of several readings, the strictest.
#[derive(Debug, Default)]
struct Weighed {
    shipped: Option<Reading>,
    own: Option<Reading>,
    catalogs: Vec<String>,
}

impl Weighed {
    /// Adds what these catalogs say of a tool; tells whether any of them lists it.
    fn weigh<'a, 'b>(
        &mut self,
        shipped: impl IntoIterator<Item = Source<'a>>,
        own: impl IntoIterator<Item = Source<'b>>,
        tool: &str,
        arguments: &Arguments<'_>,
        around: Surroundings<'_>,
    ) -> bool {
        let mut listed = false;
        let mut add = |sum: &mut Option<Reading>, catalog: Source<'_>| {
            let Some(group) = catalog.entry(tool) else { return };
            listed = true;
            let title = catalog.title();
            if !self.catalogs.contains(&title) {
                self.catalogs.push(title);
            }
            let reading = reading::of_group(catalog, &group, tool, arguments, around);
            *sum = Some(match sum.take() {
                Some(other) => other.or_stricter(reading),
                None => reading,
            });
        };
        shipped
            .into_iter()
            .for_each(|catalog| add(&mut self.shipped, catalog));
        own.into_iter().for_each(|catalog| add(&mut self.own, catalog));
        listed
    }

    /// What counts: the operator's catalogs may add and tighten, and widen only where they are allowed to.
    fn outcome(self, allow_widening: bool) -> Outcome {
        let outcome = match (self.shipped, self.own) {
            (None, None) => Outcome::of(Reading::Unlisted),
            (Some(only), None) | (None, Some(only)) => Outcome::of(only),
            (Some(_), Some(own)) if allow_widening => Outcome::of(own),
            (Some(shipped), Some(own)) => Outcome {
                ignored_own: own.is_milder_than(&shipped),
                control_plane: shipped.is_control_plane(),
                reading: shipped.or_stricter(own),
                catalogs: Vec::new(),
            },
        };
        Outcome {
            catalogs: self.catalogs,
            ..outcome
        }
    }
}

/// What the catalogs say of a call, still without the names that it is told under.
#[derive(Debug)]
struct Outcome {
    reading: Reading,
    ignored_own: bool,
    control_plane: bool,
    catalogs: Vec<String>,
}

impl Outcome {
    fn of(reading: Reading) -> Self {
        Self {
            control_plane: reading.is_control_plane(),
            reading,
            ignored_own: false,
            catalogs: Vec::new(),
        }
    }

    fn judged(self, server: String, tool: String) -> Judged {
        let Self {
            reading,
            ignored_own,
            control_plane,
            catalogs,
        } = self;
        Judged {
            reading,
            server,
            tool,
            catalogs,
            ignored_own,
            control_plane,
        }
    }
}
