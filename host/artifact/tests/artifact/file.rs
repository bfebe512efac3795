//! Small files to test with.

use std::sync::LazyLock;

use holdpoint_artifact::{
    Admitted, Contract, KeyPair, Manifest, Refusal, Required, Signature, Trust, TrustedKey, UtcTime, Version,
    gate, sign,
};

pub(crate) const NOW: UtcTime = UtcTime::from_unix(1_800_000_000);
pub(crate) const DAY: u64 = 24 * 60 * 60;

/// What a policy has to export.
pub(crate) const POLICY: &str = "holdpoint:policy/policy@0.1.0";

/// The key that all tests trust, made once.
pub(crate) static KEY: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::generate().unwrap());

static SERVED: LazyLock<Vec<Version>> = LazyLock::new(|| vec![Version::new(0, 1, 3)]);
static GRANTS: LazyLock<Vec<String>> = LazyLock::new(|| vec!["zerto".into(), "log".into()]);

pub(crate) fn days(from_now: i64) -> UtcTime {
    UtcTime::from_unix(NOW.unix().saturating_add_signed(from_now * DAY.cast_signed()))
}

pub(crate) fn contract() -> Contract<'static> {
    Contract {
        package: "holdpoint:policy",
        world: "guest",
        export: "policy",
        versions: &SERVED,
        types: &["types"],
        capabilities: &["deadline", "log", "session", "zerto"],
        grants: &GRANTS,
        wasi: &["wasi:cli/environment", "wasi:io/poll"],
    }
}

pub(crate) fn trusted(key: &KeyPair) -> TrustedKey {
    TrustedKey {
        id: "ops-2027".into(),
        public: key.public(),
        not_before: None,
        not_after: None,
        revoked: false,
    }
}

pub(crate) fn trust() -> Trust {
    Trust {
        signature: Signature::Required,
        keys: vec![trusted(&KEY)],
        revoked_policies: Vec::new(),
        stored: holdpoint_artifact::StoreRevocations::default(),
        required: Required::default(),
    }
}

/// The trust of a host that takes unsigned files.
pub(crate) fn lenient() -> Trust {
    Trust {
        signature: Signature::NotRequired,
        ..trust()
    }
}

pub(crate) fn manifest() -> Manifest {
    Manifest {
        name: "zerto-guard".into(),
        version: Version::new(1, 2, 3),
        wit: Version::new(0, 1, 0),
        catalog: None,
        made: days(-1),
        not_after: Some(days(90)),
    }
}

/// A section of a component.
pub(crate) fn section(id: u8, contents: &[u8]) -> Vec<u8> {
    let mut out = vec![id];
    out.extend(counted(contents));
    out
}

pub(crate) fn custom(name: &str, contents: &[u8]) -> Vec<u8> {
    section(0, &[counted(name.as_bytes()), contents.to_vec()].concat())
}

pub(crate) fn counted(contents: &[u8]) -> Vec<u8> {
    let mut length = contents.len();
    let mut out = Vec::new();
    while length > 0x7f {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(contents);
    out
}

pub(crate) const HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// A component that imports instances and exports the first of them.
pub(crate) fn component_of(imports: &[&str], exports: &[&str]) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    // One type: an instance without anything in it.
    out.extend(section(7, &[1, 0x42, 0]));
    for import in imports {
        out.extend(section(
            10,
            &[&[1, 0][..], &counted(import.as_bytes()), &[5, 0]].concat(),
        ));
    }
    for export in exports {
        out.extend(section(
            11,
            &[&[1, 0][..], &counted(export.as_bytes()), &[5, 0, 0]].concat(),
        ));
    }
    out
}

/// A component that passes the gate once it is signed.
pub(crate) fn component() -> Vec<u8> {
    let imports = [
        "holdpoint:policy/types@0.1.0",
        "holdpoint:policy/zerto@0.1.0",
        "wasi:cli/environment@0.2.6",
    ];
    component_of(&imports, &[POLICY])
}

/// A file that passes the gate.
pub(crate) fn signed() -> Vec<u8> {
    sign(&component(), &manifest(), &KEY).unwrap()
}

/// The file with some bytes put in before its first section.
pub(crate) fn with_first(file: &[u8], section: &[u8]) -> Vec<u8> {
    [&file[..HEADER.len()], section, &file[HEADER.len()..]].concat()
}

/// Where each section begins, and where the last ends.
pub(crate) fn boundaries(file: &[u8]) -> Vec<usize> {
    let mut at = HEADER.len();
    let mut boundaries = vec![at];
    while at < file.len() {
        let (mut size, mut shift) = (0, 0);
        at += 1;
        loop {
            let byte = file[at];
            size |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        at += size;
        boundaries.push(at);
    }
    boundaries
}

/// The file without its first section.
pub(crate) fn without_first(file: &[u8]) -> Vec<u8> {
    [&file[..HEADER.len()], &file[boundaries(file)[1]..]].concat()
}

pub(crate) fn pass<'b>(file: &'b [u8], trust: &Trust) -> Result<Admitted<'b>, Refusal> {
    gate(file, trust, &contract(), NOW)
}

/// Why the usual trust does not take the file.
pub(crate) fn refused(file: &[u8]) -> Refusal {
    pass(file, &trust()).unwrap_err()
}

/// The policy signed with a changed manifest.
pub(crate) fn signed_with(change: impl FnOnce(&mut Manifest)) -> Vec<u8> {
    let mut manifest = manifest();
    change(&mut manifest);
    sign(&component(), &manifest, &KEY).unwrap()
}

/// A signed component with these imports and exports.
pub(crate) fn signed_component(imports: &[&str], exports: &[&str]) -> Vec<u8> {
    sign(&component_of(imports, exports), &manifest(), &KEY).unwrap()
}
