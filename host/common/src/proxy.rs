//! The proxies that the environment names.

/// Variables that name a proxy, as HTTP clients read them.
const VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "HTTP_PROXY",
    "http_proxy",
];

/// Refuses a proxy whose address holds a user or a password: addresses end up in errors and logs.
///
/// # Errors
///
/// What is wrong, with the variable's name and without its value.
pub fn check() -> Result<(), String> {
    check_by(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

fn check_by(variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let has_credentials = |name: &&&str| variable(name).is_some_and(|value| value.contains('@'));
    match VARIABLES.iter().find(has_credentials) {
        Some(name) => Err(format!(
            "{name} holds a user or a password, which would be seen wherever the address is; name a proxy that needs none"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_with_a_password_is_refused_without_quoting_it() {
        let with = |name: &str, value: &str| check_by(|asked| (asked == name).then(|| value.to_owned()));
        for name in VARIABLES {
            assert_eq!(with(name, "http://proxy.example:3128"), Ok(()));
            let told = with(name, "http://user:hunter2@proxy.example:3128").unwrap_err();
            assert!(told.starts_with(name) && !told.contains("hunter2"), "{told}");
        }
        assert_eq!(with("NO_PROXY", "a@b"), Ok(()));
    }
}
