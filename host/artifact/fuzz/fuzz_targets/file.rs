//! Any bytes as a policy's file: sections, manifest, imports, exports, and everything that is told of them.

#![no_main]

#[path = "host.rs"]
mod host;

use holdpoint_artifact::{Manifest, Signature, UtcTime, Version, gate, inspect, with_manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let versions = host::versions();
    let contract = host::contract(&versions);
    let strict = host::trust(Signature::Required);
    assert!(
        gate(file, &strict, &contract, host::NOW).is_err(),
        "nobody has the key"
    );

    let lenient = host::trust(Signature::NotRequired);
    let told = inspect(file, &lenient, &contract, host::NOW);
    assert_eq!(told.loads, gate(file, &lenient, &contract, host::NOW).is_ok());
    assert!(!told.to_string().contains('\u{1b}'), "nothing acts on a terminal");
    serde_json::to_string(&told).expect("everything can be told to programs");

    if let Some(manifest) = &told.manifest {
        let json = manifest.write().expect("what was read can be written");
        assert_eq!(Manifest::read(&json).as_ref(), Ok(manifest));
    }
    let manifest = Manifest {
        name: "fuzz".into(),
        version: Version::new(1, 0, 0),
        wit: Version::new(0, 1, 0),
        catalog: told.catalog.map(|catalog| catalog.digest),
        made: UtcTime::from_unix(0),
        not_after: None,
    };
    if let Ok(ready) = with_manifest(file, &manifest) {
        let told = inspect(&ready, &lenient, &contract, host::NOW);
        assert_eq!(
            told.manifest,
            Some(manifest),
            "a manifest that was put in is there"
        );
    }
});
