//! Passwords in addresses. None is used, and none is shown.

/// Whether an address has a user or a password in it: whatever stands before an `@`. An address of ours needs none
/// anywhere, and a password may hold characters that end the part in which it would be allowed.
pub fn are_in(address: &str) -> bool {
    address.contains('@')
}

/// What is wrong with an address that has some, after the key that holds it.
pub const REFUSED: &str =
    "holds a user or a password, which would be seen wherever the address is; write the address without it";

/// A text with whatever stands between `://` and an `@` taken out of each address in it.
pub fn hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        shown.push_str(before);
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let (address, behind) = after.split_at(end);
        match address.rfind('@') {
            Some(at) => {
                shown.push_str("(hidden)");
                shown.push_str(&address[at..]);
            }
            None => shown.push_str(address),
        }
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_taken_out_of_addresses_and_nothing_else_is() {
        for (text, shown) in [
            (
                "is 'https://user:pass@zvm', and",
                "is 'https://(hidden)@zvm', and",
            ),
            ("https://user@zvm/x", "https://(hidden)@zvm/x"),
            ("https://u:p@ss/w?r#d@zvm:9669", "https://(hidden)@zvm:9669"),
            (
                "a https://a:b@c d http://e@f",
                "a https://(hidden)@c d http://(hidden)@f",
            ),
            (
                "https://zvm is not reached by me@example.com",
                "https://zvm is not reached by me@example.com",
            ),
            ("nothing", "nothing"),
        ] {
            assert_eq!(hidden(text), shown);
        }
    }
}
