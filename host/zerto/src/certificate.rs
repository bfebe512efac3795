//! What can be read off a certificate without trusting it: what identifies it, and from when to when it counts.

use sha2::{Digest, Sha256};
use time::{Date, Month, PrimitiveDateTime, Time};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The explicit tag of a certificate's version, which the first version left out.
const VERSION: u8 = 0xa0;

/// A certificate that a ZVM showed, trusted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The SHA-256 of its DER form, in 64 hexadecimal digits: what a pin names.
    pub sha256: String,
    /// The first and the last second of its life, in seconds since 1970; none where they cannot be read.
    pub validity: Option<(i64, i64)>,
    /// Why it was not trusted, in words for a human; none where it was, or where nothing has asked.
    pub problem: Option<String>,
}

impl Certificate {
    pub(crate) fn of(der: &[u8]) -> Self {
        Self {
            sha256: Sha256::digest(der)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            validity: validity(der),
            problem: None,
        }
    }
}

/// The fields of RFC 5280's `TBSCertificate` that are read here.
struct Fields<'a> {
    /// The version as it is encoded; none where it is left out, which is what the first version does.
    version: Option<&'a [u8]>,
    validity: &'a [u8],
    /// `SubjectPublicKeyInfo`, its tag included.
    key: &'a [u8],
}

fn fields(der: &[u8]) -> Option<Fields<'_>> {
    let (certificate, _) = expect(SEQUENCE, der)?;
    let (signed, _) = expect(SEQUENCE, certificate)?;
    let (version, rest) = match element(signed)? {
        (VERSION, version, rest) => (Some(version), rest),
        _ => (None, signed),
    };
    let (_, rest) = expect(INTEGER, rest)?;
    let (_algorithm, rest) = expect(SEQUENCE, rest)?;
    let (_issuer, rest) = expect(SEQUENCE, rest)?;
    let (validity, rest) = expect(SEQUENCE, rest)?;
    let (_subject, rest) = expect(SEQUENCE, rest)?;
    let (_, after) = expect(SEQUENCE, rest)?;
    Some(Fields {
        version,
        validity,
        key: &rest[..rest.len() - after.len()],
    })
}

fn validity(der: &[u8]) -> Option<(i64, i64)> {
    let validity = fields(der)?.validity;
    let (tag, first, rest) = element(validity)?;
    let begins = moment(tag, first)?;
    let (tag, last, _) = element(rest)?;
    Some((begins, moment(tag, last)?))
}

/// The certificate's key as a DER `SubjectPublicKeyInfo`. Read here, as libraries refuse whole certificates for what
/// stands beside the key, a version 1 for one.
pub(crate) fn public_key(der: &[u8]) -> Option<&[u8]> {
    Some(fields(der)?.key)
}

/// A `SubjectPublicKeyInfo`'s algorithm, without its tag, and the key's bytes.
pub(crate) fn key_parts(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, _) = expect(SEQUENCE, key)?;
    let (algorithm, rest) = expect(SEQUENCE, body)?;
    let (bits, _) = expect(BIT_STRING, rest)?;
    // The first byte counts unused bits, of which a key has none.
    let (&unused, bits) = bits.split_first()?;
    (unused == 0).then_some((algorithm, bits))
}

/// Whether this is a certificate of X.509's first version, which can name no host.
pub(crate) fn is_version_1(der: &[u8]) -> bool {
    fields(der).is_some_and(|fields| fields.version.is_none())
}

/// `2026-11-30` of a moment in seconds since 1970.
pub(crate) fn day(seconds: i64) -> String {
    time::OffsetDateTime::from_unix_timestamp(seconds).map_or_else(
        |_| "an unknown day".to_owned(),
        |time| {
            format!(
                "{:04}-{:02}-{:02}",
                time.year(),
                u8::from(time.month()),
                time.day()
            )
        },
    )
}

fn expect(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, body, rest) = element(der)?;
    (found == tag).then_some((body, rest))
}

/// One element's tag and body, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, length], rest) = der.split_first_chunk()?;
    let (length, rest) = match length {
        short @ ..=0x7f => (usize::from(short), rest),
        // Long forms of up to four bytes: no certificate needs more.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let length = digits
                .iter()
                .fold(0, |length: u64, &digit| length << 8 | u64::from(digit));
            (usize::try_from(length).ok()?, rest)
        }
        _ => return None,
    };
    let (body, rest) = rest.split_at_checked(length)?;
    Some((tag, body, rest))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`, in seconds since 1970.
fn moment(tag: u8, body: &[u8]) -> Option<i64> {
    let digits = std::str::from_utf8(body).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (tag, digits.len()) {
        (UTC_TIME, 12) => {
            let year: i32 = digits[..2].parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, &digits[2..])
        }
        (GENERALIZED_TIME, 14) => (digits[..4].parse().ok()?, &digits[4..]),
        _ => return None,
    };
    let two = |at: usize| rest[at..at + 2].parse::<u8>().ok();
    let date = Date::from_calendar_date(year, Month::try_from(two(0)?).ok()?, two(2)?).ok()?;
    let time = Time::from_hms(two(4)?, two(6)?, two(8)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_time_are_read() {
        assert_eq!(moment(UTC_TIME, b"700101000000Z"), Some(0));
        assert_eq!(moment(UTC_TIME, b"261130123456Z"), Some(1_796_042_096));
        assert_eq!(moment(GENERALIZED_TIME, b"20261130123456Z"), Some(1_796_042_096));
        for bad in [
            &b""[..],
            b"Z",
            b"700101000000",
            b"701301000000Z",
            b"70010100000\xc3Z",
        ] {
            assert_eq!(moment(UTC_TIME, bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        for bad in [
            &b""[..],
            b"\x30",
            b"\x30\x03\x02\x01",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x80\x00\x00",
            b"hello, I am no certificate at all",
        ] {
            assert_eq!(validity(bad), None, "{bad:?}");
        }
    }
}
