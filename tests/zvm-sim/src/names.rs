//! Identifiers that follow from names.

use sha2::{Digest, Sha256};

/// A GUID that is the same for the same kind and name.
pub(crate) fn guid(kind: &str, name: &str) -> String {
    let hex = hex(&Sha256::digest(format!("{kind} {name}")));
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}

/// The identifier of the VM of that name in this simulation's one vCenter.
pub(crate) fn vm_identifier(name: &str) -> String {
    let digest = Sha256::digest(name);
    let number = u32::from_be_bytes([0, digest[0], digest[1], digest[2]]);
    format!("{}.vm-{number}", guid("vcenter", "main"))
}

/// Whether a text has the form `<server id>.<moref>`, where the server's id is a GUID.
pub(crate) fn is_vm_identifier(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(server, moref)| is_guid(server) && !moref.is_empty())
}

fn is_guid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
