//! Any bytes as the contents of a signature section, before a component that has nothing else.

#![no_main]

#[path = "host.rs"]
mod host;

use holdpoint_artifact::{Refusal, Signature, gate, inspect};
use libfuzzer_sys::fuzz_target;

const NAME: &[u8] = b"signature";

fuzz_target!(|contents: &[u8]| {
    let mut file = b"\0asm\x0d\0\x01\0\0".to_vec();
    let mut size = 1 + NAME.len() + contents.len();
    while size > 0x7f {
        file.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    file.push(size as u8);
    file.push(NAME.len() as u8);
    file.extend_from_slice(NAME);
    file.extend_from_slice(contents);

    let versions = host::versions();
    let (trust, contract) = (host::trust(Signature::Required), host::contract(&versions));
    let refusal = gate(&file, &trust, &contract, host::NOW).expect_err("nobody has the key");
    assert!(
        matches!(
            refusal,
            Refusal::MalformedSignature { .. }
                | Refusal::Changed
                | Refusal::BadSignature { .. }
                | Refusal::UnknownKey { .. }
        ),
        "{refusal}"
    );
    let told = inspect(&file, &trust, &contract, host::NOW);
    assert!(told.signers.iter().all(|signer| !signer.counts));
});
