//! Files as people keep them: what is changed of them, and what never is.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use holdpoint_setup::Hook;
use holdpoint_setup::file::{self, Before, Change, Copies, FileError, Readers, Transaction};
use tempfile::TempDir;

fn hook() -> Hook {
    Hook {
        program: "/usr/local/bin/holdpoint".into(),
        args: vec!["hook".into(), "--config".into(), "/c/config.toml".into()],
        timeout_seconds: 360,
        matcher: None,
        managed_only: false,
    }
}

/// A home with settings, and a folder for copies beside it.
struct Home {
    directory: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(home.path("home")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap().join(name)
    }

    fn settings(&self) -> PathBuf {
        self.path("home/settings.json")
    }

    fn copies(&self) -> Copies {
        Copies::at(self.path("state/before"))
    }

    fn install(&self) -> Result<Change, FileError> {
        file::install(&self.settings(), &hook(), &self.copies(), Readers::Owner)
    }

    fn uninstall(&self) -> Result<Change, FileError> {
        file::uninstall(&self.settings(), &self.copies())
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("home")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn files_as_people_keep_them_get_every_byte_back() {
    let with_comments = "{\n  // mine\n  \"model\": \"opus\", /* big */\n}\n";
    for (text, mode) in [
        ("{\"model\":\"opus\"}", 0o600),
        ("{\n  \"model\": \"opus\"\n}\n", 0o644),
        (
            "{\r\n\t\"model\": \"opus\",\r\n\t\"env\": {\r\n\t\t\"A\": \"b\"\r\n\t}\r\n}\r\n",
            0o640,
        ),
        ("\u{feff}{\r\n  \"model\": \"opus\"\r\n}", 0o600),
        ("{\n\t\"hooks\": {\n\t\t\"PreToolUse\": []\n\t}\n}\n\n\n", 0o664),
        (
            "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say \\u00fc\"}]}]}}",
            0o600,
        ),
        (with_comments, 0o600),
        ("{ \"a\": 1e999, \"b\": \"\\ud83d\" }\n", 0o600),
        ("", 0o600),
        ("\n", 0o600),
    ] {
        let home = Home::new();
        fs::write(home.settings(), text).unwrap();
        fs::set_permissions(home.settings(), fs::Permissions::from_mode(mode)).unwrap();
        assert!(
            matches!(home.install().unwrap(), Change::Written { copy: Some(_) }),
            "{text:?}"
        );
        assert_eq!(home.names(), ["settings.json"], "{text:?}");
        let copy = home.copies().path(&home.settings());
        assert_eq!(fs::read_to_string(&copy).unwrap(), text);
        assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
        assert_eq!(
            fs::metadata(home.path("state/before")).unwrap().mode() & 0o777,
            0o700
        );
        assert_eq!(
            fs::metadata(home.settings()).unwrap().mode() & 0o777,
            mode,
            "{text:?}"
        );
        assert_eq!(home.install().unwrap(), Change::Unchanged, "{text:?}");
        assert_eq!(home.uninstall().unwrap(), Change::Restored, "{text:?}");
        assert_eq!(fs::read_to_string(home.settings()).unwrap(), text);
        assert_eq!(
            fs::metadata(home.settings()).unwrap().mode() & 0o777,
            mode,
            "{text:?}"
        );
        assert!(home.copies().all().is_empty(), "{text:?}");
    }
}

#[test]
fn a_link_that_leads_to_nothing_yet_stays_and_its_target_is_made() {
    let home = Home::new();
    fs::create_dir(home.path("dotfiles")).unwrap();
    // Relative, and two in a row.
    symlink("../dotfiles/link.json", home.settings()).unwrap();
    symlink("claude.json", home.path("dotfiles/link.json")).unwrap();
    assert_eq!(home.install().unwrap(), Change::Written { copy: None });
    assert!(fs::symlink_metadata(home.settings()).unwrap().is_symlink());
    assert!(
        fs::symlink_metadata(home.path("dotfiles/link.json"))
            .unwrap()
            .is_symlink()
    );
    let target = home.path("dotfiles/claude.json");
    assert!(
        fs::read_to_string(&target)
            .unwrap()
            .contains("/usr/local/bin/holdpoint")
    );
    assert_eq!(home.uninstall().unwrap(), Change::Deleted);
    assert!(!target.exists());
    assert!(fs::symlink_metadata(home.settings()).unwrap().is_symlink());
    assert!(
        fs::symlink_metadata(home.path("dotfiles/link.json"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn links_that_lead_nowhere_are_refused_and_nothing_is_made() {
    let home = Home::new();
    symlink("../not-mounted/settings.json", home.settings()).unwrap();
    let error = home.install().unwrap_err().to_string();
    assert!(
        error.contains("not-mounted") && error.contains("is not there"),
        "{error}"
    );
    fs::remove_file(home.settings()).unwrap();
    symlink("settings.json", home.settings()).unwrap();
    let error = home.install().unwrap_err().to_string();
    assert!(error.contains("circle"), "{error}");
    // A folder on the way that is such a link.
    symlink(home.path("gone"), home.path("home/.claude")).unwrap();
    let path = home.path("home/.claude/settings.json");
    assert!(file::install(&path, &hook(), &home.copies(), Readers::Owner).is_err());
    assert!(
        !home.path("gone").exists() && !home.path("state").exists() && !home.path("not-mounted").exists()
    );
}

#[test]
fn a_file_with_another_name_stays_one_file() {
    let home = Home::new();
    fs::write(home.path("dotfile.json"), "{}\n").unwrap();
    fs::hard_link(home.path("dotfile.json"), home.settings()).unwrap();
    home.install().unwrap();
    let (one, other) = (
        fs::metadata(home.settings()).unwrap(),
        fs::metadata(home.path("dotfile.json")).unwrap(),
    );
    assert_eq!(one.ino(), other.ino());
    assert_eq!(home.uninstall().unwrap(), Change::Restored);
    assert_eq!(fs::read_to_string(home.path("dotfile.json")).unwrap(), "{}\n");
    assert_eq!(fs::metadata(home.settings()).unwrap().nlink(), 2);
}

#[test]
fn an_entry_that_was_written_by_hand_is_kept_in_a_copy() {
    let home = Home::new();
    let by_hand = "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"mcp__esxi__.*\", \"hooks\": [{\"type\": \"command\", \"command\": \"holdpoint hook\", \"timeout\": 600}]}]}}\n";
    fs::write(home.settings(), by_hand).unwrap();
    let Change::Written { copy: Some(copy) } = home.install().unwrap() else {
        panic!("no copy");
    };
    assert_eq!(fs::read_to_string(&copy).unwrap(), by_hand);
    // The file was there before, and does not go.
    assert!(matches!(
        home.uninstall().unwrap(),
        Change::Written { copy: Some(_) }
    ));
    assert_eq!(fs::read_to_string(home.settings()).unwrap().trim(), "{}");
    assert_eq!(fs::read_to_string(&copy).unwrap(), by_hand);
}

#[test]
fn a_file_that_was_there_before_is_never_deleted() {
    let home = Home::new();
    home.install().unwrap();
    let ours = fs::read(home.settings()).unwrap();
    // The same bytes, from a colleague's dotfiles: nothing says that we made them.
    let other = Home::new();
    fs::write(other.settings(), &ours).unwrap();
    assert_eq!(other.install().unwrap(), Change::Unchanged);
    assert!(matches!(
        other.uninstall().unwrap(),
        Change::Written { copy: Some(_) }
    ));
    assert_eq!(fs::read_to_string(other.settings()).unwrap().trim(), "{}");
    // A mark from an earlier time says nothing of a file that came later.
    assert_eq!(home.uninstall().unwrap(), Change::Deleted);
    fs::write(home.settings(), &ours).unwrap();
    assert!(matches!(
        home.uninstall().unwrap(),
        Change::Written { copy: Some(_) }
    ));
    assert!(home.settings().exists());
}

#[test]
fn what_a_user_changed_of_our_entry_is_kept_before_it_is_rewritten() {
    let home = Home::new();
    fs::write(home.settings(), "{}\n").unwrap();
    home.install().unwrap();
    let edited = fs::read_to_string(home.settings())
        .unwrap()
        .replacen("360", "999", 1);
    fs::write(home.settings(), &edited).unwrap();
    let Change::Written { copy: Some(copy) } = home.install().unwrap() else {
        panic!("no copy");
    };
    assert_eq!(fs::read_to_string(copy).unwrap(), edited);
    assert_eq!(
        fs::read_to_string(home.copies().path(&home.settings())).unwrap(),
        "{}\n"
    );
}

#[test]
fn a_copy_of_an_earlier_version_goes_where_copies_are_kept() {
    let home = Home::new();
    fs::write(home.settings(), "{}\n").unwrap();
    home.install().unwrap();
    let copy = home.copies().path(&home.settings());
    let earlier = home.path("home/settings.json.before-holdpoint");
    fs::rename(&copy, &earlier).unwrap();
    assert_eq!(home.install().unwrap(), Change::Unchanged);
    assert_eq!(home.names(), ["settings.json"]);
    assert_eq!(home.uninstall().unwrap(), Change::Restored);
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), "{}\n");
}

#[test]
fn utf_16_and_what_is_no_file_are_refused_and_stay() {
    let home = Home::new();
    let text = "\u{feff}{\"model\": \"opus\"}";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big, b"{\"a\": \"\xff\"}".to_vec()] {
        fs::write(home.settings(), &bytes).unwrap();
        let error = home.install().unwrap_err().to_string();
        assert!(error.contains("save it as UTF-8"), "{error}");
        assert_eq!(fs::read(home.settings()).unwrap(), bytes);
    }
    fs::remove_file(home.settings()).unwrap();
    fs::create_dir(home.settings()).unwrap();
    let error = home.install().unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
    assert!(!home.path("state").exists());
}

#[test]
fn a_read_only_file_is_noticed_before_anything_is_written() {
    let home = Home::new();
    fs::write(home.settings(), "{}\n").unwrap();
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o444)).unwrap();
    let mut files = Transaction::new();
    files
        .write(&home.path("home/first"), b"1".to_vec(), Readers::Owner)
        .unwrap();
    file::plan_install(
        &home.settings(),
        &hook(),
        &home.copies(),
        Readers::Owner,
        &mut files,
    )
    .unwrap();
    let error = files.apply().unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    assert_eq!(home.names(), ["settings.json"]);
    assert!(!home.path("state").exists());
}

/// What cannot be told beforehand: a file that changes between the look and the write.
#[test]
fn a_change_by_another_program_is_noticed_and_nothing_is_changed() {
    let home = Home::new();
    fs::write(home.settings(), "{}\n").unwrap();
    let mut files = Transaction::new();
    files
        .write(&home.path("home/new/first"), b"1".to_vec(), Readers::Owner)
        .unwrap();
    file::plan_install(
        &home.settings(),
        &hook(),
        &home.copies(),
        Readers::Owner,
        &mut files,
    )
    .unwrap();
    fs::write(home.settings(), "{\"theirs\": 1}\n").unwrap();
    let error = files.apply().unwrap_err();
    assert!(matches!(error, FileError::Changed { .. }), "{error}");
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), "{\"theirs\": 1}\n");
    assert_eq!(home.names(), ["settings.json"]);
    assert!(!home.path("state").exists());
}

#[test]
fn what_was_changed_is_put_back_where_the_last_step_fails() {
    let home = Home::new();
    let old = home.path("home/old");
    fs::write(&old, "before").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
    let time = fs::metadata(&old).unwrap().modified().unwrap();
    fs::write(home.path("home/gone"), "kept").unwrap();
    let mut files = Transaction::new();
    files.write(&old, b"after".to_vec(), Readers::Owner).unwrap();
    files
        .write(&home.path("home/a/b/new"), b"new".to_vec(), Readers::Everybody)
        .unwrap();
    files.remove(&home.path("home/gone")).unwrap();
    let failing = || {
        assert_eq!(fs::read_to_string(&old).unwrap(), "after");
        let path = Path::new("/x").to_owned();
        Err(FileError::Refused {
            path,
            why: "no".into(),
        })
    };
    let error = files.apply_then(failing).unwrap_err().to_string();
    assert_eq!(error, "/x: no");
    assert_eq!(home.names(), ["gone", "old"]);
    assert_eq!(fs::read_to_string(&old).unwrap(), "before");
    assert_eq!(fs::read_to_string(home.path("home/gone")).unwrap(), "kept");
    let metadata = fs::metadata(&old).unwrap();
    assert_eq!(
        (metadata.mode() & 0o777, metadata.modified().unwrap()),
        (0o640, time)
    );
}

#[test]
fn what_a_run_that_was_killed_left_beside_a_file_goes() {
    let home = Home::new();
    fs::write(home.settings(), "{}\n").unwrap();
    fs::write(home.path("home/.settings.json.holdpoint-1-0"), "half").unwrap();
    fs::write(home.path("home/.settings.json.swp"), "theirs").unwrap();
    home.install().unwrap();
    assert_eq!(home.names(), [".settings.json.swp", "settings.json"]);
}

#[test]
fn the_switch_for_managed_hooks_comes_and_goes_with_ours() {
    for (before, after) in [
        ("{\n  \"model\": \"opus\"\n}\n", "{\n  \"model\": \"opus\"\n}\n"),
        (
            "{\"allowManagedHooksOnly\": true}\n",
            "{\"allowManagedHooksOnly\": true}\n",
        ),
        (
            "{\"allowManagedHooksOnly\": false}\n",
            "{\"allowManagedHooksOnly\": false}\n",
        ),
    ] {
        let home = Home::new();
        fs::write(home.settings(), before).unwrap();
        let hook = Hook {
            managed_only: true,
            ..hook()
        };
        file::install(&home.settings(), &hook, &home.copies(), Readers::Everybody).unwrap();
        let text = fs::read_to_string(home.settings()).unwrap();
        assert!(text.contains("\"allowManagedHooksOnly\": true"), "{text}");
        // Also where something else was changed since, the switch does not outlive the guard that it came with.
        let edited = text.replacen('{', "{ \"x\": 1,", 1);
        fs::write(home.settings(), edited).unwrap();
        home.uninstall().unwrap();
        let text = fs::read_to_string(home.settings()).unwrap();
        assert_eq!(
            text.contains("allowManagedHooksOnly"),
            before.contains("allowManagedHooksOnly"),
            "{text}"
        );

        fs::write(home.settings(), before).unwrap();
        file::install(&home.settings(), &hook, &home.copies(), Readers::Everybody).unwrap();
        assert_eq!(home.uninstall().unwrap(), Change::Restored);
        assert_eq!(fs::read_to_string(home.settings()).unwrap(), after);
    }
}

#[test]
fn a_matcher_that_was_chosen_counts_and_comes_out_again() {
    let home = Home::new();
    fs::write(home.settings(), "{}\n").unwrap();
    home.install().unwrap();
    let all = Hook {
        matcher: Some("*".into()),
        ..hook()
    };
    file::install(&home.settings(), &all, &home.copies(), Readers::Owner).unwrap();
    let text = fs::read_to_string(home.settings()).unwrap();
    assert_eq!(text.matches("\"matcher\": \"*\"").count(), 3, "{text}");
    assert!(!text.contains("mcp__"), "{text}");
    // A later run that says nothing of it leaves it.
    assert_eq!(home.install().unwrap(), Change::Unchanged);
    assert_eq!(home.uninstall().unwrap(), Change::Restored);
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), "{}\n");
}

#[test]
fn others_can_read_what_is_made_for_them_and_nothing_else() {
    let home = Home::new();
    home.install().unwrap();
    assert_eq!(fs::metadata(home.settings()).unwrap().mode() & 0o777, 0o600);
    let managed = home.path("etc/claude-code/managed-settings.json");
    file::install(&managed, &hook(), &home.copies(), Readers::Everybody).unwrap();
    assert_eq!(fs::metadata(&managed).unwrap().mode() & 0o777, 0o644);
    assert_eq!(
        fs::metadata(managed.parent().unwrap()).unwrap().mode() & 0o777,
        0o755
    );
    let mut files = Transaction::new();
    assert_eq!(
        home.copies().before(&mut files, &managed).unwrap(),
        Some(Before::Absent)
    );
}
