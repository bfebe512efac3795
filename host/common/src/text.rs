//! Text files as people's programs write them.

/// The text of a file: UTF-8 with or without a byte order mark, or UTF-16 with one, which PowerShell 5.1 and Notepad
/// write; none where it is neither. A mark is no part of the text.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = units.iter().map(|&pair| unit(pair)).collect();
        rest.is_empty().then(|| String::from_utf16(&units).ok())?
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        plain => String::from_utf8(plain.to_vec()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(decoded("pä".as_bytes()).as_deref(), Some("pä"));
        assert_eq!(decoded(b"\xef\xbb\xbfp\xc3\xa4").as_deref(), Some("pä"));
        assert_eq!(decoded(b"\xff\xfep\0\xe4\0").as_deref(), Some("pä"));
        assert_eq!(decoded(b"\xfe\xff\0p\0\xe4").as_deref(), Some("pä"));
        assert_eq!(decoded(b"").as_deref(), Some(""));
    }

    #[test]
    fn what_is_not_text_is_not_guessed_at() {
        for bad in [
            &b"p\xe4"[..],
            b"\xff\xfep",
            b"\xff\xfe\x3d\xd8",
            b"\xef\xbb\xbf\xff",
        ] {
            assert_eq!(decoded(bad), None, "{bad:?}");
        }
    }
}
