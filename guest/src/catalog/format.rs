//! What a catalog file says, and the checks that every one of them passes.
//!
//! The same types read the files in the build script, the operator's own catalogs at run time, and are the static
//! tables that the build script writes: a text or a list is either borrowed from the program or owned.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

/// A text of a catalog.
pub type Text = Cow<'static, str>;
/// A list of a catalog.
pub type List<T> = Cow<'static, [T]>;

/// One catalog file: what is known of the tools of one MCP server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Where and when the server was read. The shipped files all have it; an operator's own may leave it out.
    pub source: Option<Source>,
    /// How the server is known to a harness.
    pub server: Server,
    /// Groups of tools of one nature.
    pub tools: List<Group>,
}

/// Where a catalog's facts come from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// `owner/name` of the repository.
    pub repository: Text,
    /// The commit that was read: 40 hexadecimal digits.
    pub commit: Text,
    /// The date of that commit, `YYYY-MM-DD`.
    pub date: Text,
    /// The files that were read.
    pub files: Text,
    /// A remark for people.
    pub note: Option<Text>,
}

/// How a server is known to a harness.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The usual keys of this server in a harness's configuration.
    pub aliases: List<Text>,
    /// True for tools of the harness itself, which have no server.
    #[serde(default)]
    pub builtin: bool,
    /// True where the server builds a command line out of the arguments: then an argument that a tool's group does not
    /// name asks, and so does one that holds more than a plain value.
    #[serde(default)]
    pub command_line: bool,
}

/// Tools of one nature.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What the tools do at their worst.
    pub class: Class,
    /// The tools' names.
    pub names: List<Text>,
    /// Where a call names its machine; absent where it names none.
    pub machine: Option<Machine>,
    /// A remark for people.
    pub note: Option<Text>,
    /// Arguments that may change which machine is reached or what is done: names or JSON Pointers. Where one of them is
    /// there, no rule applies, and the call asks.
    #[serde(default)]
    pub doubtful: List<Text>,
    /// Arguments that have to be `true`, `false` or absent.
    #[serde(default)]
    pub switches: List<Text>,
    /// Arguments that hold one value: a number, or a text that does not begin with `-`.
    #[serde(default)]
    pub values: List<Text>,
    /// Arguments whose text the server splits into words, none of which may begin with `-`.
    #[serde(default)]
    pub words: List<Text>,
    /// Whether the server builds a command line, from [`Server::command_line`].
    #[serde(skip)]
    pub command_line: bool,
    /// Arguments that the server puts into the path of an address as they stand: names or JSON Pointers. One that is
    /// more than one part of a path asks.
    #[serde(default)]
    pub segments: List<Text>,
    /// Arguments that make a call milder than `class`. The first that fits counts.
    #[serde(default)]
    pub rules: List<Rule>,
    /// For the class `dispatch`: where the real command stands.
    pub dispatch: Option<Dispatch>,
}

/// What a tool does at its worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Changes nothing on a guest or a machine.
    Read,
    /// Changes a control plane or makes a new VM; touches no existing guest.
    Other,
    /// Runs code in a guest or changes its files, processes, network or services.
    Guest,
    /// Changes an existing VM from outside: power, hardware, deletion, going back to an earlier state.
    Machine,
    /// Carries another command in an argument.
    Dispatch,
}

/// What the value of a machine argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The VM's name in the hypervisor's inventory.
    VmName,
    /// A host name, an SSH alias, an inventory name.
    Name,
    /// A fully qualified domain name.
    Fqdn,
    /// A pattern that may fit many machines.
    Pattern,
    /// A number that Zerto does not know (Proxmox).
    Vmid,
    /// vSphere's managed object reference, `vm-38`.
    Moref,
    /// A security product's own id of a machine.
    SensorId,
    /// An id that tells nothing of a machine by itself.
    Opaque,
    /// An id of a session that was opened earlier.
    Session,
    /// The machine that the server runs on.
    ServerBound,
    /// A vCenter or the like: never the VM.
    ControlPlane,
    /// Something that says by itself which machines it reaches, such as a job template; only the operator can tell.
    Template,
}

/// How several names stand in one text, beside commas, which always separate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separator {
    /// Blanks separate names.
    Space,
}

/// Where a call names its machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Names of arguments, or JSON Pointers that start with `/`. All that are present count.
    #[serde(default)]
    pub arguments: List<Text>,
    /// In a dispatched command: options whose values are machines. All that are present count.
    #[serde(default, deserialize_with = "one_or_many")]
    pub option: List<Text>,
    /// In a dispatched command: every word that is no option, from this one on (0 is the first), is a machine.
    pub position: Option<usize>,
    /// What the values are.
    pub kind: Kind,
    /// Set where one text holds several names.
    pub separator: Option<Separator>,
    /// Arguments within whose value a machine's name is unique (a vCenter, a resource group), and in a command also
    /// options, which begin with `-`. Beside a scope that the operator did not name, a machine's name asks.
    #[serde(default)]
    pub scope: List<Text>,
}

/// An argument that makes a call milder, because the server itself keeps to it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A name or a JSON Pointer.
    pub argument: Text,
    /// The value that fits.
    pub equals: Option<Scalar>,
    /// Or the values that fit.
    #[serde(default)]
    pub one_of: List<Scalar>,
    /// Whether the rule also fits where the argument is absent.
    #[serde(default)]
    pub or_absent: bool,
    /// An argument that says the same once more, as a whole command line. Where it is there, its first word has to be the
    /// value that fitted: which of the two the server goes by is not known.
    pub repeated_in: Option<Text>,
    /// What the call is then.
    pub class: Class,
    /// Why the server can be trusted with it.
    pub because: Text,
    /// The place in the server's source that makes sure of it. A file that names its source has to say it.
    pub enforced: Option<Text>,
}

/// A value that a rule compares with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A text, compared as it stands.
    Text(Text),
}

/// Where a dispatcher's real command stands: either `tool` and `arguments`, or `command` and `commands`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dispatch {
    /// The argument that names another tool of the same file.
    pub tool: Option<Text>,
    /// The argument that holds that tool's arguments.
    pub arguments: Option<Text>,
    /// The argument that holds a command: a text, a list of words, or a list of commands.
    pub command: Option<Text>,
    /// True where the server knows commands by their exact names only: then the argument has to be one of them, and
    /// nothing else.
    #[serde(default)]
    pub exact: bool,
    /// The argument whose fields are further options, written without dashes.
    pub flags: Option<Text>,
    /// Options that no command may carry, since they lead it to another place or write a file.
    #[serde(default)]
    pub refused: List<Text>,
    /// The program's name, which may lead the command.
    pub program: Option<Text>,
    /// Further arguments whose words follow the command's.
    #[serde(default)]
    pub extra_words: List<Text>,
    /// The commands that are known. Every other one is unknown.
    #[serde(default)]
    pub commands: List<Command>,
}

/// A known command of a dispatcher.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The first words. A word may end in `*`.
    pub words: List<Text>,
    /// What the command does at its worst; never `dispatch`.
    pub class: Class,
    /// The options that a command of the classes `guest` and `machine` may carry beside those that name machines, as
    /// written, with `=` at the end where a value belongs to it. With any other one the command is unknown.
    #[serde(default)]
    pub options: List<Text>,
    /// Where the command names its machine.
    pub machine: Option<Machine>,
}

/// Reads `"--a"` as `["--a"]`.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<List<Text>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(Text),
        Many(Vec<Text>),
    }
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(option) => Cow::Owned(vec![option]),
        OneOrMany::Many(options) => Cow::Owned(options),
    })
}
