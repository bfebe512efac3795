//! Rust sources as words and signs: enough to follow paths, without comments and without what only tests compile.

/// A word, a sign (`::` is one), or a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Sign,
    String,
}

impl Token {
    /// Whether this is the word or sign; a string of the same text is not.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != Kind::String && self.text == text
    }
}

/// Splits a source whose first line has this number.
pub(crate) fn split(source: &str, mut line: usize) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next(rest, first);
        let (text, after) = rest.split_at(length);
        if let Some(kind) = kind {
            let text = match kind {
                Kind::String => text.trim_matches(['"', '#']),
                Kind::Word => text.strip_prefix("r#").unwrap_or(text),
                Kind::Sign => text,
            };
            tokens.push(Token {
                text: text.into(),
                line,
                kind,
            });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// What comes next and its length in bytes; no kind where it means nothing here.
fn next(rest: &str, first: char) -> (Option<Kind>, usize) {
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, block_comment(rest));
    }
    if let Some(length) = raw_string(rest) {
        return (None, length);
    }
    match first {
        '"' => (Some(Kind::String), string(rest)),
        '\'' => (None, quoted(rest)),
        _ if is_word(first) => {
            let raw = if rest.starts_with("r#") { 2 } else { 0 };
            let word = &rest[raw..];
            (
                Some(Kind::Word),
                raw + word.find(|char| !is_word(char)).unwrap_or(word.len()),
            )
        }
        _ if first.is_whitespace() => (None, first.len_utf8()),
        _ if rest.starts_with("::") => (Some(Kind::Sign), 2),
        _ => (Some(Kind::Sign), first.len_utf8()),
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of a raw string, where one begins here.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let quote = prefix.len() + rest[prefix.len()..].find('"')?;
    let end = format!("\"{}", &rest[prefix.len()..quote]);
    let length = rest[quote + 1..].find(&end);
    Some(length.map_or(rest.len(), |length| quote + 1 + length + end.len()))
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character in quotes, or a lifetime.
fn quoted(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((escaped, _))) => {
            let after = escaped + rest[escaped..].chars().next().map_or(1, char::len_utf8);
            after + rest[after..].find('\'').map_or(0, |end| end + 1)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// Takes out what only tests compile; nothing is left of a file that begins with `#![cfg(test)]`.
pub(crate) fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let Some((inner, end)) = attribute(tokens, at) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        if !is_for_tests(&tokens[at..end]) {
            kept.extend_from_slice(&tokens[at..end]);
            at = end;
        } else if inner {
            return Vec::new();
        } else {
            at = after_item(tokens, end);
        }
    }
    kept
}

/// Whether an attribute that begins here is an inner one (`#![…]`), and where it ends; none where none begins.
pub(crate) fn attribute(tokens: &[Token], at: usize) -> Option<(bool, usize)> {
    let is = |at: usize, text| tokens.get(at).is_some_and(|token| token.is(text));
    let inner = is(at + 1, "!");
    let open = at + 1 + usize::from(inner);
    (is(at, "#") && is(open, "[")).then(|| (inner, closing(tokens, open) + 1))
}

/// Where the bracket that opens here is closed.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            _ if token.kind != Kind::Sign => {}
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len() - 1
}

/// `cfg(test)` and `cfg(all(test, …))`; what is under `any` or `not` is compiled without tests, too.
fn is_for_tests(attribute: &[Token]) -> bool {
    let words: Vec<_> = attribute
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| token.text.as_str())
        .collect();
    match words.as_slice() {
        ["cfg", "test"] => true,
        ["cfg", "all", rest @ ..] => {
            rest.contains(&"test") && !rest.contains(&"any") && !rest.contains(&"not")
        }
        _ => false,
    }
}

/// Where the item, statement or field that begins here has ended.
fn after_item(tokens: &[Token], mut at: usize) -> usize {
    const WITHOUT_BODY: [&str; 5] = ["use", "const", "static", "type", "let"];
    const WITH_BODY: [&str; 10] = [
        "mod", "fn", "struct", "enum", "union", "impl", "trait", "extern", "unsafe", "async",
    ];
    while let Some((_, end)) = attribute(tokens, at) {
        at = end;
    }
    let mut first = at;
    if tokens.get(first).is_some_and(|token| token.is("pub")) {
        first += 1;
        if tokens.get(first).is_some_and(|token| token.is("(")) {
            first = closing(tokens, first) + 1;
        }
    }
    let is_one_of = |words: &[&str]| {
        tokens
            .get(first)
            .is_some_and(|token| words.iter().any(|word| token.is(word)))
    };
    // A constant function, or a macro.
    let second = tokens.get(first + 1);
    let has_body = second.is_some_and(|token| token.is("fn") || token.is("!"));
    let ends_with_body = is_one_of(&WITH_BODY) || has_body;
    let ends_with_comma = !ends_with_body && !is_one_of(&WITHOUT_BODY);
    while let Some(token) = tokens.get(at).filter(|token| !token.is("}")) {
        let is_block = token.is("{");
        // A block by itself, or a match arm's.
        let stands_alone = is_block && (at == first || tokens[at - 1].is(">"));
        if token.is("(") || token.is("[") || is_block {
            at = closing(tokens, at);
        }
        at += 1;
        if token.is(";") || is_block && ends_with_body || stands_alone || token.is(",") && ends_with_comma {
            break;
        }
    }
    at
}
