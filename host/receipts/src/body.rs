//! What a receipt says, apart from where it stands in the chain.

use std::collections::BTreeSet;

use holdpoint_artifact::{Digest, PublicKey};
use serde::{Deserialize, Serialize};

use crate::bound::{Arguments, Results};

/// What a receipt is of. Each has facts of its own: an observation has no place for a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A verdict, before a call.
    Decision(Call, Decision),
    /// What was seen of a call afterwards.
    Observation(Call, Observation),
    /// Something that happened to the log itself.
    Event(Event),
}

impl Body {
    /// The call, where it is about one.
    pub const fn call(&self) -> Option<&Call> {
        match self {
            Self::Decision(call, _) | Self::Observation(call, _) => Some(call),
            Self::Event(_) => None,
        }
    }

    /// The checkpoints that it names.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        match self {
            Self::Decision(_, decision) => &decision.checkpoints,
            Self::Observation(_, observation) => &observation.checkpoints,
            Self::Event(_) => &[],
        }
    }
}

/// The call that a receipt is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The harness, where the event told which one it came from.
    pub harness: Option<String>,
    /// The session's id, where the harness sent one.
    pub session: Option<String>,
    /// The call's id (`tool_use_id`), where the harness sent one. It joins a decision and its observation.
    pub id: Option<String>,
    /// The tool, as the harness spells it; empty where the event could not be read so far.
    pub tool: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Where it came from.
    pub environment: Environment,
}

/// Where a call came from, as far as it is known: for whoever looks into an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    /// The system's user that the hook ran as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The machine's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// The session's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The harness's transcript of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The subagent that made the call, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The kind of agent, where the harness names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

impl Environment {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is known, by name.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let facts = [
            ("user", &self.user),
            ("host_name", &self.host_name),
            ("cwd", &self.cwd),
            ("transcript", &self.transcript),
            ("agent_id", &self.agent_id),
            ("agent_type", &self.agent_type),
        ];
        facts
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// A verdict's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing against the call.
    Pass,
    /// A human decides.
    Ask,
    /// The call must not run.
    Deny,
}

impl Verdict {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a fault in handling the event becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// The call is denied.
    Closed,
    /// Nothing is said to the harness.
    Open,
}

/// A verdict and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The verdict, as the harness was told it.
    pub verdict: Verdict,
    /// What a fault would have become.
    pub stance: Stance,
    /// The kind of fault, where the verdict is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The reason or note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How the harness asks for permission, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The policy that decided; none where none could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The machines that Zerto was asked for, by name or identifier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The machines that Zerto answered with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
    /// The checkpoints that were seen in the journals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    /// What went wrong with Zerto.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    /// The ZVM that was asked; none where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zvm: Option<Zvm>,
    /// The remote signer's receipt of the same decision, or why there is none; none where there is no remote signer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
}

/// A Zerto Virtual Manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zvm {
    /// Its address, as it is configured, without a user or password.
    pub url: String,
    /// The identifier of its site, where it told that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// Which policy decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Its digest.
    pub digest: Digest,
    /// Where it came from: `shipped`, a file, or a name in the store.
    pub origin: String,
    /// Its version, where it states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The key that signed it, by the name that the configuration has for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The version of the contract (WIT) that it was run by.
    pub wit: String,
}

/// A machine as Zerto knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Zerto's identifier of it.
    pub vm: String,
    /// The identifier of the VPG that protects it.
    pub vpg: String,
    /// That VPG's name.
    pub vpg_name: String,
}

/// A checkpoint that was seen in a VPG's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Zerto's identifier of it.
    pub id: String,
    /// The VPG's identifier.
    pub vpg: String,
    /// Its tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// When it was taken, by the ZVM's clock.
    pub time: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran to its end, as the harness saw it.
    Ran,
    /// It failed.
    Failed,
    /// It was interrupted.
    Interrupted,
}

impl Outcome {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What was seen of a call afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// How it ended.
    pub outcome: Outcome,
    /// What a fault would have become.
    pub stance: Stance,
    /// What it returned, or its error; none where the harness sent neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
    /// The decision's receipt, where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Digest>,
    /// That decision's checkpoints: what to go back to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Checkpoint>,
    /// How what ran differs from what was decided; none where no difference was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Deviation>,
}

/// How a call that ran differs from what was decided on before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// In which ways, the gravest first.
    pub kinds: BTreeSet<DeviationKind>,
    /// The digest of the arguments that were decided on, where they were other ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Digest>,
    /// The machines that the decision was about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<String>,
    /// The machines that the policy reads from the arguments that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<String>,
}

/// One way in which what ran differs from what was decided. The order is that in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviationKind {
    /// It ran with other arguments than those that were decided on.
    OtherArguments,
    /// Another tool ran than the one that was decided on.
    OtherTool,
    /// It ran although it was denied.
    Denied,
    /// Nothing was decided before it ran.
    Undecided,
    /// There are several decisions about it, and they differ.
    DecidedTwice,
}

impl DeviationKind {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::OtherArguments => "ran with other arguments",
            Self::OtherTool => "ran as another tool",
            Self::Denied => "ran although denied",
            Self::Undecided => "ran without a decision",
            Self::DecidedTwice => "decided more than once",
        }
    }
}

impl Deviation {
    /// In words: "ran with other arguments, ran although denied".
    pub fn words(&self) -> String {
        let words: Vec<_> = self.kinds.iter().map(|kind| kind.words()).collect();
        words.join(", ")
    }

    /// The machines on both sides: "checked jp-ubuntu, ran on web01".
    pub fn machines(&self) -> String {
        let list = |names: &[String], none: &str| match names {
            [] => none.to_owned(),
            names => names.join(", "),
        };
        format!(
            "checked {}, ran on {}",
            list(&self.checked, "no machine"),
            list(&self.ran, "a machine that is not known")
        )
    }
}

/// Something that happened to the log itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// From the next receipt on, another key signs. The old key says so, so who trusts that one can trust this one.
    KeyChanged {
        /// The new key.
        #[serde(with = "crate::public_key")]
        public_key: PublicKey,
    },
    /// What stood after the last whole receipt was moved out of the log: a line whose writer did not get to its end.
    LineSetAside {
        /// The file beside the log that it is in now.
        file: String,
        /// Its SHA-256.
        digest: Digest,
        /// Its length, in bytes.
        bytes: u64,
    },
    /// What came before was moved into an archive. A log that no longer begins with its first receipt begins at this
    /// base: it is signed, and names the receipt that the log goes on from.
    Archived {
        /// The number of the last receipt in the archive.
        through: u64,
        /// That receipt's digest: what the first one after it has to name.
        digest: Digest,
        /// The archive's file name.
        file: String,
    },
}
