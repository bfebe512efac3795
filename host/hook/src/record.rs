//! What a decision was made of, as the host itself saw it: the facts for the log, whatever a policy says of them.

use holdpoint_common::safe_text::clean_line;
use holdpoint_receipts::Zvm;
use serde::{Deserialize, Serialize};

/// The most lines that a policy can add.
const MOST_NOTES: usize = 8;
/// The most machines, checkpoints and troubles that are kept. A policy can ask for the next one without end.
const MOST_FACTS: usize = 64;
/// The longest line that a policy can add, and the longest fact, in characters.
const LONGEST: usize = 200;

/// The facts of one decision.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Record {
    /// The machines that Zerto was asked for, by name or identifier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The tag of the checkpoint that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The checkpoints that were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Seen>,
    /// The ZVM that was asked, and the identifier of its site where it told that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zvm: Option<Zvm>,
    /// The machines that Zerto answered with: for receipts, which tell the way back.
    #[serde(skip)]
    pub machines: Vec<Machine>,
    /// What went wrong with Zerto.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    /// The policy's own lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where the time with Zerto went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zerto: Option<ZertoTimes>,
}

/// A machine as Zerto knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Zerto's identifier of it.
    pub vm: String,
    /// The VPG's identifier.
    pub vpg: String,
    /// The VPG's name.
    pub vpg_name: String,
}

/// A checkpoint that was seen in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Seen {
    /// The VPG's identifier.
    pub vpg: String,
    /// Zerto's identifier of the checkpoint.
    pub checkpoint: String,
    /// When it was taken, by the ZVM's clock.
    pub time: String,
    /// The tag that it has, where another call inserted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_tag: Option<String>,
}

/// Milliseconds spent on Zerto, and how often it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ZertoTimes {
    /// Logging in.
    pub log_in_ms: u64,
    /// Looking VMs up.
    pub look_up_ms: u64,
    /// Inserting checkpoints.
    pub insert_ms: u64,
    /// Waiting for them to be seen.
    pub wait_ms: u64,
    /// Requests sent.
    pub requests: u64,
}

impl Record {
    /// The ZVM that is asked.
    pub fn zvm(&mut self, url: &str, site: Option<&str>) {
        self.zvm = Some(Zvm {
            url: clean_line(&without_user(url), LONGEST),
            site: site.map(|site| clean_line(site, LONGEST)),
        });
    }

    /// Adds a policy's line, unless it has added enough.
    pub fn note(&mut self, line: &str) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(clean_line(line, LONGEST));
        }
    }

    /// A machine that Zerto is asked for.
    pub fn target(&mut self, name: &str) {
        let name = clean_line(name, LONGEST);
        if self.targets.len() < MOST_FACTS && !self.targets.contains(&name) {
            self.targets.push(name);
        }
    }

    /// A machine that Zerto answered with.
    pub fn machine(&mut self, name: &str, vm: &str, vpg: &str, vpg_name: &str) {
        let [name, vm, vpg, vpg_name] = [name, vm, vpg, vpg_name].map(|text| clean_line(text, LONGEST));
        let machine = Machine {
            name,
            vm,
            vpg,
            vpg_name,
        };
        if self.machines.len() < MOST_FACTS && !self.machines.contains(&machine) {
            self.machines.push(machine);
        }
    }

    /// The tag that is asked for.
    pub fn tag(&mut self, tag: &str) {
        self.tag = Some(clean_line(tag, LONGEST));
    }

    /// A checkpoint that was seen, and its tag where that is not the one that was asked for.
    pub fn seen(&mut self, vpg: &str, checkpoint: &str, time: &str, shared_tag: Option<&str>) {
        if self.checkpoints.len() < MOST_FACTS {
            self.checkpoints.push(Seen {
                vpg: clean_line(vpg, LONGEST),
                checkpoint: clean_line(checkpoint, LONGEST),
                time: clean_line(time, LONGEST),
                shared_tag: shared_tag.map(|tag| clean_line(tag, LONGEST)),
            });
        }
    }

    /// Something that went wrong with Zerto.
    pub fn trouble(&mut self, words: &str) {
        if self.troubles.len() < MOST_FACTS {
            self.troubles.push(clean_line(words, 2 * LONGEST));
        }
    }
}

/// An address without what may be a user and a password in it.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_record_has_no_password() {
        let mut record = Record::default();
        record.zvm("https://me:secret@zvm.example:9669/a@b", Some("site\u{1b}"));
        let zvm = record.zvm.unwrap();
        assert_eq!(zvm.url, "https://zvm.example:9669/a@b");
        assert_eq!(zvm.site.as_deref(), Some("site\\u{1b}"));
    }
}
