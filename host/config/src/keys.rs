//! Every key there is, once: for errors that name the nearest one and for the reference in the docs.

use toml::{Table, Value};

/// One key: its path (`*` stands for a name of the operator's), its default and what it does, both in Markdown.
struct Key {
    path: &'static str,
    default: &'static str,
    says: &'static str,
}

const fn key(path: &'static str, default: &'static str, says: &'static str) -> Key {
    Key { path, default, says }
}

/// In the order of the reference.
const KEYS: &[Key] = &[
    key(
        "deadline_seconds",
        "`330`",
        "How long one decision may take, from the start of the process: 1 to 3600. Has to be below the `timeout` of the hook entry, which the harness takes for \"go on\".",
    ),
    key(
        "zerto.url",
        "none",
        "The ZVM: `https://zvm.example`, with a port where it is not 443 (9669 on Windows). Without it, every call that needs a checkpoint is denied.",
    ),
    key(
        "zerto.login",
        "`\"password\"`",
        "`\"password\"` or `\"client-credentials\"` (Linux appliance, Keycloak), or `\"windows-session\"`.",
    ),
    key(
        "zerto.client_id",
        "`\"zerto-client\"`",
        "The Keycloak client. For `client-credentials` it has to be set.",
    ),
    key(
        "zerto.username",
        "none",
        "The user, for `password` and `windows-session`.",
    ),
    key(
        "zerto.secret_env",
        "none",
        "The environment variable that holds the password, or the client's secret.",
    ),
    key(
        "zerto.secret_file",
        "none",
        "The file that holds it, without anything else; only its owner may read it.",
    ),
    key(
        "zerto.secret_command",
        "none",
        "The program that prints it, by its absolute path, and its arguments, each by itself: `[\"/usr/bin/pass\", \"zerto\"]`. It has at most 30 seconds, and the deadline.",
    ),
    key(
        "zerto.secret_keyring",
        "none",
        "The name under which the operating system's keyring has it: the account of an item of the service `holdpoint`. One of these four has to be set.",
    ),
    key(
        "zerto.ca_file",
        "none",
        "Certificates to trust, PEM or DER. Only these are then trusted: as authorities, or, where the ZVM shows one of them itself, for its own names and dates. Default: those of the operating system.",
    ),
    key(
        "zerto.pin",
        "none",
        "`sha256:` and the SHA-256 of the ZVM's certificate in 64 hexadecimal digits. That certificate alone is then trusted, whatever its name, issuer, dates or version.",
    ),
    key(
        "zerto.verify",
        "`true`",
        "`false` turns the verification of the certificate off: anyone between here and the ZVM then gets the password.",
    ),
    key(
        "zerto.longest_wait_seconds",
        "`300`",
        "The longest wait for one checkpoint: 1 to 300.",
    ),
    key(
        "zerto.share_checkpoints",
        "`true`",
        "Whether calls of this user that need a checkpoint of one VPG at the same time share it: one inserts, all wait for it. Its tag is then the inserting call's. `false`: each call has its own.",
    ),
    key(
        "zerto.keep_token",
        "`true`",
        "Whether a log-in is kept for the next calls, in a file that only this user can read: a token until shortly before it ends, a Windows session for 25 minutes. `false`: each call logs in.",
    ),
    key(
        "zerto.directory",
        "`$XDG_STATE_HOME/holdpoint/zerto`",
        "The folder in which calls share checkpoints and log-ins are kept. Only this user may be able to enter it.",
    ),
    key(
        "policy.path",
        "what is installed, else the shipped policy",
        "A policy's file (`.wasm`) that is used in place of what `holdpoint policy install` activated, with its compiled code (`.cwasm`, made by `holdpoint-compile`) beside it.",
    ),
    key(
        "policy.store",
        "`$XDG_DATA_HOME/holdpoint/policies`",
        "The folder in which `holdpoint policy install` keeps policies. The active one decides in place of the shipped policy.",
    ),
    key(
        "policy.signature",
        "`\"required\"`",
        "Whether a policy other than the shipped one has to be signed: `\"required\"` or `\"not-required\"`. Where one carries a signature, that has to be right in either case.",
    ),
    key(
        "policy.keys.*.public",
        "none",
        "A key that may sign policies, under a name of your own: the public key, PEM. Without any key, no signed policy is admitted.",
    ),
    key(
        "policy.keys.*.public_file",
        "none",
        "The same key, in a file that nobody else may write. One of the two has to be set.",
    ),
    key(
        "policy.keys.*.not_before",
        "none",
        "The first second at which the key counts: `\"2027-01-31T12:00:00Z\"`.",
    ),
    key(
        "policy.keys.*.not_after",
        "none",
        "The last second at which it counts.",
    ),
    key(
        "policy.keys.*.revoked",
        "`false`",
        "`true` where the key was lost to somebody: whatever it signed is refused.",
    ),
    key(
        "policy.revoked",
        "`[]`",
        "Digests of policies that are refused whoever signed them: `\"sha256:…\"`.",
    ),
    key(
        "policy.require.name",
        "none",
        "The only policy that may decide here, by the name in its manifest. With this or the next key, the shipped policy never decides: where no such policy is installed, every call is denied.",
    ),
    key(
        "policy.require.version",
        "none",
        "The lowest version of it that may decide here, so that nobody can activate an older one again: `\"1.4.0\"`.",
    ),
    key(
        "policy.grants",
        "`[\"deadline\", \"log\", \"session\", \"zerto\"]`",
        "The capabilities that the policy is lent. One that asks for more does not start, and every call is then denied.",
    ),
    key(
        "policy.unknown_tool",
        "`\"ask\"`",
        "What becomes of a tool that no catalog lists: `\"ask\"`, `\"deny\"` or `\"pass\"`.",
    ),
    key(
        "policy.control_plane",
        "`\"ask\"`",
        "What becomes of a tool that changes a control plane (inventories, templates, tickets, new VMs) and no existing machine: `\"ask\"`, `\"deny\"` or `\"pass\"`.",
    ),
    key(
        "policy.domains",
        "`[]`",
        "Domains of this site. `web01.corp.example` is also looked up as `web01`, and the other way round, only for domains listed here.",
    ),
    key(
        "policy.vcenter",
        "none",
        "The UUID of the vCenter as Zerto names it, where there is only one: turns a managed object reference (`vm-38`) into Zerto's identifier.",
    ),
    key(
        "policy.machines.*",
        "none",
        "A table from ids and aliases that tools use (sensor ids, SSH profiles, inventory names) to VM names.",
    ),
    key(
        "policy.servers.*.catalog",
        "none",
        "For an MCP server under a key of your own: the usual key of the server whose catalog it follows.",
    ),
    key(
        "policy.servers.*.machine",
        "none",
        "For an MCP server that changes the machine it runs on: that VM's name.",
    ),
    key(
        "policy.servers.*.machines.*",
        "none",
        "A table from this server's ids to VM names. Where it is there, `policy.machines` does not count for this server: an id such as `104` can mean another machine on another server.",
    ),
    key(
        "policy.servers.*.templates.*",
        "none",
        "For a server that launches job templates or workflows: the VMs that each reaches, as a list, by the template's id: `{ 7 = [\"web01\", \"web02\"] }`. A launch then waits for checkpoints of all of them; without it a launch asks.",
    ),
    key(
        "policy.servers.*.scopes.*",
        "none",
        "The scope in which this server's names are those of your VMs, by the argument that says it: `{ hostname = \"vcenter01.example.com\" }`, `{ zone = \"europe-west1-b\", project = \"prod\" }`. A call that names another scope asks.",
    ),
    key(
        "policy.catalogs",
        "`[]`",
        "Catalog files of your own. They may add servers and tools and tighten what the policy says of others.",
    ),
    key(
        "policy.allow_widening",
        "`false`",
        "Lets those catalogs also read a tool less strictly than the policy's own catalog does.",
    ),
    key(
        "policy.session_ask_level",
        "none",
        "The level of the failure counter, 1 to 4, from which on a call that changes machines asks although its checkpoint was taken. Needs `session.enabled`.",
    ),
    key(
        "policy.shadow",
        "none",
        "A candidate that sees each call after the answer to it is out, and changes nothing: a policy's file, with its compiled code beside it, or the digest of one that is kept in the store. See [replay](replay.md#the-shadow).",
    ),
    key(
        "policy.shadow_share",
        "`0.01`",
        "The share of the time that is left, after the answer, in which the shadow decides: 0.001 to 0.5. What takes longer is ended. The harness waits for none of it.",
    ),
    key(
        "ask.deny_in_modes",
        "`[]`",
        "Permission modes of the harness (`default`, `acceptEdits`, `auto`, `dontAsk`, `bypassPermissions`, `plan`) in which an ask becomes a deny, because no human is there to answer it. `\"*\"` is every mode.",
    ),
    key(
        "log.path",
        "`$XDG_STATE_HOME/holdpoint/decisions.log`",
        "The decision log.",
    ),
    key(
        "log.largest_bytes",
        "`10485760`",
        "The size at which a new file is begun.",
    ),
    key(
        "log.keep",
        "`5`",
        "How many full files are kept (`decisions.log.1` is the newest).",
    ),
    key(
        "session.enabled",
        "`true`",
        "Whether a session's failed tool calls are counted.",
    ),
    key(
        "session.directory",
        "`$XDG_STATE_HOME/holdpoint/sessions`",
        "Where the counters lie.",
    ),
    key(
        "session.tools",
        "`[\"Bash\", \"mcp__*\"]`",
        "Whose failures count: names of tools, and beginnings of names that end in `*`.",
    ),
    key(
        "session.tell",
        "`true`",
        "Whether the model is told of a new level, and of the count where a session goes on after a compaction.",
    ),
    key(
        "record.enabled",
        "`false`",
        "Whether each decision leaves a record: the call with its arguments, what the policy asked and was answered, its verdict. See [replay](replay.md).",
    ),
    key(
        "record.directory",
        "`$XDG_STATE_HOME/holdpoint/records`",
        "Where records lie.",
    ),
    key(
        "record.largest_bytes",
        "`104857600`",
        "The room for all records together, at least 1048576. The oldest ones go first.",
    ),
    key(
        "record.keep_days",
        "`14`",
        "For how many days a record is kept: 1 to 3650.",
    ),
    key(
        "record.redact",
        "`[\"*password*\", \"*passwd*\", \"*passphrase*\", \"*secret*\", \"*token*\", \"*api*key*\", \"*private*key*\", \"*credential*\", \"*authorization*\"]`",
        "Names of arguments, at any depth and whatever their case, whose values are redacted. `*` stands for any run of characters.",
    ),
    key(
        "record.redact_words",
        "`[]`",
        "Words, between blanks, that are redacted in every text of the arguments: `\"AKIA*\"`.",
    ),
    key(
        "receipts.mode",
        "`\"off\"`",
        "`\"off\"`, `\"audit\"` (every decision and every end of a call gets a receipt; where that fails, only the receipt is lost) or `\"gate\"` (no receipt on the disk, no call: deny). Needs a key: `holdpoint receipts keygen`.",
    ),
    key(
        "receipts.directory",
        "`$XDG_STATE_HOME/holdpoint/receipts`",
        "Where the receipts lie.",
    ),
    key(
        "receipts.key",
        "`key.pem` in that folder",
        "The private key that signs them, which only its owner may read.",
    ),
    key(
        "receipts.arguments",
        "`false`",
        "Whether receipts hold a call's arguments, and not their digest alone. They may hold secrets.",
    ),
    key("receipts.results", "`false`", "The same for what calls return."),
    key(
        "receipts.segment_bytes",
        "`16777216`",
        "The size at which a new file of receipts is begun.",
    ),
    key(
        "receipts.signer",
        "`\"local\"`",
        "`\"local\"`, or `\"asqav\"`: the asqav service signs as well, under `ASQAV_API_KEY` and `ASQAV_AGENT_ID`. With `receipts.mode = \"gate\"` a call runs only where it says `allow`.",
    ),
    key(
        "receipts.asqav_url",
        "`$ASQAV_API_URL`, `$ASQAV_API_BASE`, else the hosted service",
        "The service's address, `https://…`. Set here, the environment cannot lead elsewhere.",
    ),
];

/// The reference of all keys, as a table in Markdown.
pub fn reference() -> String {
    let rows = KEYS
        .iter()
        .map(|key| format!("| `{}` | {} | {} |\n", key.path, key.default, key.says));
    ["| key | default | what it does |\n|---|---|---|\n".to_owned()]
        .into_iter()
        .chain(rows)
        .collect()
}

/// What is wrong with the first key that does not exist, naming the nearest one that does.
pub(super) fn unknown(table: &Table) -> Option<String> {
    unknown_below(table, &mut Vec::new())
}

fn unknown_below<'t>(table: &'t Table, path: &mut Vec<&'t str>) -> Option<String> {
    for (name, value) in table {
        path.push(name);
        let problem = match (fit(path), value) {
            (Fit::Key, _) => None,
            (Fit::Beginning, Value::Table(below)) => unknown_below(below, path),
            _ => Some(message(&path.join("."))),
        };
        if problem.is_some() {
            return problem;
        }
        path.pop();
    }
    None
}

/// How a path stands to the keys that there are.
#[derive(PartialEq)]
enum Fit {
    Key,
    Beginning,
    Nothing,
}

fn fit(path: &[&str]) -> Fit {
    let mut best = Fit::Nothing;
    for key in KEYS {
        let wanted: Vec<&str> = key.path.split('.').collect();
        if wanted.len() >= path.len()
            && wanted
                .iter()
                .zip(path)
                .all(|(wanted, given)| *wanted == "*" || wanted == given)
        {
            if wanted.len() == path.len() {
                return Fit::Key;
            }
            best = Fit::Beginning;
        }
    }
    best
}

fn message(path: &str) -> String {
    // A table may be what was misspelt: then the key's beginning, as long as what was written, is what to compare with.
    let length = path.split('.').count();
    let beginning = |key: &Key| key.path.split('.').take(length).collect::<Vec<_>>().join(".");
    let likeness = |key: &Key| strsim::jaro_winkler(&beginning(key), path);
    let nearest = KEYS
        .iter()
        .max_by(|left, right| likeness(left).total_cmp(&likeness(right)));
    format!(
        "there is no key '{path}'; did you mean '{}'?",
        nearest.map(beginning).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_told_with_the_nearest_one() {
        let problem = |text: &str| unknown(&text.parse().unwrap());
        assert_eq!(
            problem("[zerto]\nurl = 'x'\n[policy.machines]\n'a.b' = 'c'"),
            None
        );
        let told = problem("[zerto]\nlogin = 'password'\nca_flie = 'x'").unwrap();
        assert_eq!(
            told,
            "there is no key 'zerto.ca_flie'; did you mean 'zerto.ca_file'?"
        );
        let told = problem("[zretos]\nurl = 'x'").unwrap();
        assert!(told.starts_with("there is no key 'zretos'"), "{told}");
        let told = problem("[policy.servers.'my.ssh']\ncatalogue = 'ssh-mcp'").unwrap();
        assert!(
            told.ends_with("did you mean 'policy.servers.*.catalog'?"),
            "{told}"
        );
    }

    /// The reference in the docs is this table. To bring it up to date: `UPDATE=1 cargo test --release reference`.
    #[test]
    fn the_reference_in_the_docs_is_current() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let text = std::fs::read_to_string(page).unwrap();
        let (head, rest) = text.split_once("<!-- keys -->\n").unwrap();
        let (old, tail) = rest.split_once("<!-- end of keys -->").unwrap();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(
                page,
                format!("{head}<!-- keys -->\n{}<!-- end of keys -->{tail}", reference()),
            )
            .unwrap();
        } else {
            assert_eq!(old, reference(), "run it with UPDATE=1");
        }
    }
}
