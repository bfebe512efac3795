//! Files that were changed, cut, stretched or put together by somebody without the key.

use holdpoint_artifact::{KeyPair, Refusal, inspect, sign};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::file::*;

/// What the signature section of a signed file contains.
fn signature_of(file: &[u8]) -> Vec<u8> {
    let section = &file[HEADER.len()..boundaries(file)[1]];
    // Its id, its size in two bytes, and the counted name.
    section[3 + 1 + "signature".len()..].to_vec()
}

/// The signed file with another signature section.
fn with_signature(contents: &[u8]) -> Vec<u8> {
    with_first(&without_first(&signed()), &custom("signature", contents))
}

/// A signature section's contents from its parts.
fn signature(sets: &[Vec<u8>]) -> Vec<u8> {
    let mut contents = vec![1, 1, 1, sets.len() as u8];
    contents.extend(sets.iter().flat_map(|set| counted(set)));
    contents
}

fn set(hashes: &[[u8; 32]], entries: &[Vec<u8>]) -> Vec<u8> {
    let mut set = vec![hashes.len() as u8];
    set.extend(hashes.iter().flatten());
    set.push(entries.len() as u8);
    set.extend(entries.iter().flat_map(|entry| counted(entry)));
    set
}

fn entry(key_id: &[u8], algorithm: u8, signature: &[u8]) -> Vec<u8> {
    [counted(key_id), vec![algorithm], counted(signature)].concat()
}

fn malformed(contents: &[u8]) -> &'static str {
    match refused(&with_signature(contents)) {
        Refusal::MalformedSignature { what, .. } => what,
        other => panic!("{other}"),
    }
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let file = signed();
    assert!(pass(&file, &trust()).is_ok());
    for (at, bit) in (0..file.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut flipped = file.clone();
        flipped[at] ^= 1 << bit;
        assert!(pass(&flipped, &trust()).is_err(), "bit {bit} of byte {at}");
    }
}

#[test]
fn a_byte_put_in_or_taken_out_anywhere_is_noticed() {
    let file = signed();
    for at in 0..file.len() {
        let mut shorter = file.clone();
        shorter.remove(at);
        assert!(pass(&shorter, &trust()).is_err(), "without byte {at}");
        let mut longer = file.clone();
        longer.insert(at, 0);
        assert!(pass(&longer, &trust()).is_err(), "a byte before byte {at}");
    }
}

#[test]
fn a_file_that_was_cut_anywhere_is_noticed() {
    let file = signed();
    for length in 0..file.len() {
        // Cut after the header, a file is an empty component; anywhere else it is not merely unsigned.
        assert_eq!(
            refused(&file[..length]) == Refusal::Unsigned,
            length == HEADER.len(),
            "{length} bytes"
        );
        assert!(
            pass(&file[..length], &lenient()).is_err(),
            "{length} bytes, unsigned files taken"
        );
    }
}

#[test]
fn a_section_put_in_anywhere_is_noticed() {
    let file = signed();
    let extra = custom("extra", b"x");
    for at in boundaries(&file) {
        let longer = [&file[..at], &extra, &file[at..]].concat();
        let expected = if at == HEADER.len() {
            Refusal::SignatureNotFirst
        } else {
            Refusal::Changed
        };
        assert_eq!(refused(&longer), expected, "at {at}");
        assert_eq!(pass(&longer, &lenient()).unwrap_err(), expected, "at {at}");
    }
}

#[test]
fn two_signatures_of_two_people_do_not_make_one_file() {
    let stranger = sign(&component(), &manifest(), &KeyPair::generate().unwrap()).unwrap();
    let second = custom("signature", &signature_of(&stranger));
    let before = with_first(&signed(), &second);
    assert_eq!(refused(&before), Refusal::SeveralSignatures);
    let after = [signed(), second].concat();
    assert_eq!(refused(&after), Refusal::SeveralSignatures);
    let twice = with_first(&signed(), &custom("signature", &signature_of(&signed())));
    assert_eq!(refused(&twice), Refusal::SeveralSignatures);
}

#[test]
fn a_delimiter_is_refused_wherever_it_stands() {
    let file = signed();
    let delimiter = custom("signature_delimiter", &[7; 16]);
    for at in &boundaries(&file)[1..] {
        let divided = [&file[..*at], &delimiter, &file[*at..]].concat();
        assert_eq!(refused(&divided), Refusal::SignedInParts, "at {at}");
        let cut = [&file[..*at], &delimiter].concat();
        assert_eq!(refused(&cut), Refusal::SignedInParts, "cut at {at}");
    }
    let unsigned = with_first(&component(), &delimiter);
    assert_eq!(pass(&unsigned, &lenient()).unwrap_err(), Refusal::SignedInParts);
}

#[test]
fn lengths_that_lie_are_refused_and_cost_nothing() {
    let what = |section: &[u8]| match refused(&with_first(&signed(), section)) {
        Refusal::Malformed { what, .. } => what,
        other => panic!("{other}"),
    };
    assert_eq!(
        what(&[0, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        "a length reaches beyond the end"
    );
    assert_eq!(
        what(&[0, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        "a number has more than 32 bits"
    );
    assert_eq!(
        what(&[0, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00]),
        "a number has more than five bytes"
    );
    // A custom section whose name reaches beyond it, and one too short for a name.
    assert_eq!(what(&[0, 2, 0xff, 0x01]), "a length reaches beyond the end");
    assert_eq!(what(&[0, 0]), "ends too early");
}

#[test]
fn the_signature_section_is_as_short_as_it_can_be() {
    let file = signed();
    let body = &file[HEADER.len() + 3..boundaries(&file)[1]];
    let low = body.len() as u8 | 0x80;
    let padded = [&[0, low, 0x81, 0x00], body].concat();
    let refusal = refused(&with_first(&without_first(&file), &padded));
    assert!(matches!(refusal, Refusal::Malformed { .. }), "{refusal}");
    // Elsewhere, linkers may pad: that is part of the format, and of what is signed.
    let linked = with_first(&component(), &[0, 0x82, 0x80, 0x80, 0x80, 0x00, 1, b'x']);
    let linked = sign(&linked, &manifest(), &KEY).unwrap();
    assert!(pass(&linked, &trust()).is_ok());
}

#[test]
fn a_signature_section_is_read_strictly() {
    let good = signature_of(&signed());
    let hash = *good[6..].first_chunk::<32>().unwrap();
    let one = good[40..].to_vec();
    assert_eq!(signature(&[set(&[hash], std::slice::from_ref(&one))]), good);

    for at in 0..3 {
        let mut other = good.clone();
        other[at] = 2;
        assert_eq!(
            malformed(&other),
            "the format, content type or hash function is not 1, 1, 1"
        );
    }
    let sets = "there is not exactly one set of hashes";
    assert_eq!(malformed(&signature(&[])), sets);
    let whole = set(&[hash], std::slice::from_ref(&one));
    assert_eq!(malformed(&signature(&[whole.clone(), whole.clone()])), sets);
    let parts = "there is not exactly one hash, so the file is signed in parts";
    assert_eq!(
        malformed(&signature(&[set(&[], std::slice::from_ref(&one))])),
        parts
    );
    assert_eq!(
        malformed(&signature(&[set(&[hash, hash], std::slice::from_ref(&one))])),
        parts
    );
    let count = "there are not one to eight signatures";
    assert_eq!(malformed(&signature(&[set(&[hash], &[])])), count);
    assert_eq!(
        malformed(&signature(&[set(&[hash], &vec![one.clone(); 9])])),
        count
    );

    let with_entry = |entry: Vec<u8>| malformed(&signature(&[set(&[hash], &[entry])]));
    assert_eq!(with_entry(entry(&[], 2, &[0; 64])), "a signature is not Ed25519");
    assert_eq!(
        with_entry(entry(&[], 1, &[0; 63])),
        "a signature has not 64 bytes"
    );
    assert_eq!(
        with_entry(entry(&[], 1, &[0; 65])),
        "a signature has not 64 bytes"
    );
    assert_eq!(
        with_entry(entry(&[0; 65], 1, &[0; 64])),
        "a key id has more than 64 bytes"
    );
    assert_eq!(
        with_entry([&one[..], &[0]].concat()),
        "there is something after a signature"
    );
    let trailing = [&whole[..], &[0]].concat();
    assert_eq!(
        malformed(&signature(&[trailing])),
        "there is something after the signatures"
    );
    assert_eq!(
        malformed(&[&good[..], &[0]].concat()),
        "there is something after the hashes"
    );
    let overlong = [&good[..3], &[0x81, 0x00], &good[4..]].concat();
    assert_eq!(malformed(&overlong), "a number is longer than it has to be");
    for length in 0..good.len() {
        malformed(&good[..length]);
    }
}

#[test]
fn a_right_hash_without_a_right_signature_is_worth_nothing() {
    let good = signature_of(&signed());
    let hash = *good[6..].first_chunk::<32>().unwrap();
    let id = KEY.public().id();
    let forged = |key_id: &[u8]| {
        refused(&with_signature(&signature(&[set(
            &[hash],
            &[entry(key_id, 1, &[0; 64])],
        )])))
    };
    assert_eq!(
        forged(id.as_bytes()),
        Refusal::BadSignature {
            key: "ops-2027".into()
        }
    );
    assert_eq!(forged(&[]), Refusal::UnknownKey { key: None });
    assert_eq!(
        forged(&[0xab]),
        Refusal::UnknownKey {
            key: Some("ab".into())
        }
    );
}

#[test]
fn a_signature_is_not_taken_under_another_name() {
    let good = signature_of(&signed());
    let hash = *good[6..].first_chunk::<32>().unwrap();
    let bytes = good.last_chunk::<64>().unwrap();
    let named = |key_id: &[u8]| with_signature(&signature(&[set(&[hash], &[entry(key_id, 1, bytes)])]));
    assert!(pass(&named(&[]), &trust()).is_ok(), "an id is not needed");
    assert!(matches!(refused(&named(b"somebody")), Refusal::UnknownKey { .. }));
}

#[test]
fn one_good_signature_among_several_is_enough() {
    let good = signature_of(&signed());
    let hash = *good[6..].first_chunk::<32>().unwrap();
    let one = good[40..].to_vec();
    let stranger = entry(&[7; 12], 1, &[7; 64]);
    for entries in [[stranger.clone(), one.clone()], [one, stranger]] {
        let file = with_signature(&signature(&[set(&[hash], &entries)]));
        assert_eq!(
            pass(&file, &trust()).unwrap().facts().signer.as_deref(),
            Some("ops-2027")
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..300), component: bool) {
        let file = if component { [&HEADER[..], &bytes].concat() } else { bytes };
        prop_assert!(pass(&file, &trust()).is_err());
        let _ = inspect(&file, &lenient(), &contract(), NOW).to_string();
    }

    #[test]
    fn no_section_makes_it_panic(id in 0_u8..14, bytes in vec(any::<u8>(), 0..60)) {
        let file = [&component()[..], &section(id, &bytes)].concat();
        let _ = inspect(&file, &lenient(), &contract(), NOW).to_string();
        let _ = sign(&file, &manifest(), &KEY);
    }

    #[test]
    fn pieces_of_a_signed_file_are_no_signed_file(
        start in 0_usize..400, end in 0_usize..400, to in 0_usize..400, bytes in vec(any::<u8>(), 0..20),
    ) {
        let file = signed();
        let (start, end) = (start.min(end).min(file.len()), start.max(end).min(file.len()));
        let mut moved = file.clone();
        let piece = moved.splice(start..end, bytes).collect::<Vec<_>>();
        let to = to.min(moved.len());
        moved.splice(to..to, piece);
        prop_assert!(moved == file || pass(&moved, &trust()).is_err());
    }
}
