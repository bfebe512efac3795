//! JSON as the harness reads it: JavaScript's `JSON.parse`, and the encodings in which the client takes a file.
//!
//! It takes what other parsers refuse: a surrogate without its other half, numbers beyond every number, any depth. What
//! such a text says counts for the harness, so it must not read as nothing here.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

/// How deep values may be nested that are kept. Most parsers stop at 128, a policy's among them.
const DEEPEST: usize = 100;

/// What of a text is kept. Everything is read all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many values there may be. With more, reading ends with [`Wrong::TooMuch`].
    pub values: usize,
    /// The longest string that is kept, in bytes.
    pub string: usize,
    /// How long all strings and names together may be, in bytes. Names beyond it end reading with [`Wrong::TooMuch`].
    pub strings: usize,
    /// Whether a string that is no text (half a surrogate pair stands in it) is kept, with U+FFFD in its place.
    pub lossy: bool,
}

impl Limits {
    /// Everything is kept: for files, whose size is bounded when they are read.
    pub const FILE: Self = Self {
        values: usize::MAX,
        string: usize::MAX,
        strings: usize::MAX,
        lossy: true,
    };
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The value. What could not be kept is `null` in it; of a name that stands twice in an object the last one counts.
    pub value: Value,
    /// Whether something could not be kept or is no text.
    pub cut: bool,
    /// Whether every parser reads the text like this.
    pub is_plain: bool,
    /// How deep it is nested.
    pub depth: usize,
}

/// Why a text was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The harness does not take it either: it is no JSON, from this byte on.
    Syntax(usize),
    /// There is more in it than the limits allow, or a name in it is no text.
    TooMuch,
}

/// A file's bytes as the text that the client makes of them: UTF-16 where they begin with the mark of its little-endian
/// form, which PowerShell 5.1 writes, and UTF-8 otherwise. A byte order mark is no part of the text.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Some(units) = bytes.strip_prefix(b"\xff\xfe") {
        let units = units
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        // A lone half stays one unit, as what the client makes of it.
        return char::decode_utf16(units)
            .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
            .into();
    }
    decode_utf8(bytes)
}

/// As [`decode`], for the files that name servers (`.mcp.json`, `.claude.json`), which the client takes in UTF-8 alone.
pub fn decode_utf8(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// Reads one value and nothing after it but white space.
///
/// # Errors
///
/// Where the harness does not read it either, or more is there than the limits allow.
pub fn parse(text: &str, limits: Limits) -> Result<Parsed, Wrong> {
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        limits,
        cut: false,
        is_plain: true,
        depth: 0,
    };
    let value = reader.document()?;
    Ok(Parsed {
        value,
        depth: reader.depth,
        cut: reader.cut,
        is_plain: reader.is_plain && !reader.cut,
    })
}

/// The line and the column of a place in a text, both from 1.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    limits: Limits,
    cut: bool,
    is_plain: bool,
    depth: usize,
}

/// An array or object that is not complete yet. Those that are nested too deep are read and not kept.
enum Open {
    Array(Vec<Value>),
    Object(Map<String, Value>, String),
    DeepArray,
    DeepObject,
}

/// A string, as far as it is kept.
enum Read {
    Kept(String),
    /// It is too long.
    Long,
    /// Half a surrogate pair stands in it.
    NoText,
}

impl Reader<'_> {
    /// Without recursion: a text may be nested a million deep.
    fn document(&mut self) -> Result<Value, Wrong> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let Some(mut value) = self.begin(&mut open)? else {
                continue;
            };
            // The value is complete; with it perhaps what it stands in.
            loop {
                let Some(parent) = open.last_mut() else {
                    self.space();
                    return if self.at == self.bytes.len() {
                        Ok(value)
                    } else {
                        Err(Wrong::Syntax(self.at))
                    };
                };
                let is_object = parent.is_object();
                self.is_plain &= parent.keep(value);
                self.space();
                match self.bytes.get(self.at) {
                    Some(b',') => {
                        self.at += 1;
                        if is_object {
                            self.name(&mut open)?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => self.at += 1,
                    Some(b']') if !is_object => self.at += 1,
                    _ => return Err(Wrong::Syntax(self.at)),
                }
                value = open.pop().map_or(Value::Null, Open::close);
            }
        }
    }

    /// Reads a value that holds no others, or opens one that does.
    fn begin(&mut self, open: &mut Vec<Open>) -> Result<Option<Value>, Wrong> {
        self.space();
        self.limits.values = self.limits.values.checked_sub(1).ok_or(Wrong::TooMuch)?;
        let is_deep = open.len() >= DEEPEST;
        match self.bytes.get(self.at) {
            Some(b'{') => {
                self.at += 1;
                self.cut |= is_deep;
                open.push(if is_deep {
                    Open::DeepObject
                } else {
                    Open::Object(Map::new(), String::new())
                });
                self.space();
                if self.bytes.get(self.at) == Some(&b'}') {
                    self.at += 1;
                    return Ok(open.pop().map(Open::close));
                }
                self.name(open)?;
                self.depth = self.depth.max(open.len());
                Ok(None)
            }
            Some(b'[') => {
                self.at += 1;
                self.cut |= is_deep;
                open.push(if is_deep {
                    Open::DeepArray
                } else {
                    Open::Array(Vec::new())
                });
                self.space();
                if self.bytes.get(self.at) == Some(&b']') {
                    self.at += 1;
                    return Ok(open.pop().map(Open::close));
                }
                self.depth = self.depth.max(open.len());
                Ok(None)
            }
            Some(b'"') => {
                let read = self.string()?;
                self.cut |= !matches!(read, Read::Kept(_));
                Ok(Some(match read {
                    Read::Kept(text) => Value::String(text),
                    Read::Long | Read::NoText => Value::Null,
                }))
            }
            Some(b'-' | b'0'..=b'9') => self.number().map(Some),
            _ => {
                for (word, value) in [
                    ("null", Value::Null),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                ] {
                    if self.bytes[self.at..].starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(Some(value));
                    }
                }
                Err(Wrong::Syntax(self.at))
            }
        }
    }

    /// Reads a member's name, and what stands between it and its value.
    fn name(&mut self, open: &mut [Open]) -> Result<(), Wrong> {
        self.space();
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(Wrong::Syntax(self.at));
        }
        // A member that is left out would make it absent, which can mean less than one that cannot be read.
        let Read::Kept(name) = self.string()? else {
            return Err(Wrong::TooMuch);
        };
        self.space();
        if self.bytes.get(self.at) != Some(&b':') {
            return Err(Wrong::Syntax(self.at));
        }
        self.at += 1;
        if let Some(Open::Object(_, next)) = open.last_mut() {
            *next = name;
        }
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<Read, Wrong> {
        let start = self.at + 1;
        let (end, is_escaped) = self.end_of_string(start)?;
        let inside = &self.text[start..end];
        self.at = end + 1;
        // An escape is up to six bytes for one.
        if inside.len() / 6 > self.limits.string {
            return Ok(Read::Long);
        }
        let (text, has_half) = if is_escaped {
            unescaped(inside)
        } else {
            (inside.to_owned(), false)
        };
        let left = self.limits.strings.checked_sub(text.len());
        match left.filter(|_| text.len() <= self.limits.string) {
            None => Ok(Read::Long),
            Some(_) if has_half && !self.limits.lossy => Ok(Read::NoText),
            Some(left) => {
                self.limits.strings = left;
                self.is_plain &= !has_half;
                Ok(Read::Kept(text))
            }
        }
    }

    /// Where a string that starts here ends, and whether escapes are in it, all of which are right.
    fn end_of_string(&self, start: usize) -> Result<(usize, bool), Wrong> {
        let mut at = start;
        let mut is_escaped = false;
        loop {
            match self.bytes.get(at) {
                Some(b'"') => return Ok((at, is_escaped)),
                Some(b'\\') => {
                    is_escaped = true;
                    at += 1;
                    match self.bytes.get(at) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 1,
                        Some(b'u') => {
                            let digits = self.bytes.get(at + 1..at + 5);
                            if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(Wrong::Syntax(at));
                            }
                            at += 5;
                        }
                        _ => return Err(Wrong::Syntax(at)),
                    }
                }
                Some(0x20..) => at += 1,
                _ => return Err(Wrong::Syntax(at)),
            }
        }
    }

    fn number(&mut self) -> Result<Value, Wrong> {
        let start = self.at;
        self.at += usize::from(self.bytes[start] == b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        let whole = self.at;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        // As it is written, since that is what the server gets as well: a whole number that other languages read exactly.
        if whole == self.at
            && text != "-0"
            && let Some(number) = as_written(text)
        {
            return Ok(Value::Number(number));
        }
        let Ok(number) = text.parse::<f64>() else {
            return Err(Wrong::Syntax(start));
        };
        if !number.is_finite() {
            // A number beyond every number. Where a file's are wanted, the largest one is as good.
            self.cut = true;
            let largest = f64::MAX.copysign(number);
            let kept = self.limits.lossy.then(|| Number::from_f64(largest)).flatten();
            return Ok(kept.map_or(Value::Null, Value::Number));
        }
        let is_whole = number.fract() == 0.0 && number.abs() <= LARGEST_EXACT;
        if is_whole {
            // `1.0` and `-0` are 1 and 0 in JavaScript, and to whoever gets them from it.
            self.is_plain = false;
            #[expect(clippy::cast_possible_truncation, reason = "it is a whole number below 2^53")]
            return Ok(Value::Number((number as i64).into()));
        }
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn digits(&mut self) -> Result<(), Wrong> {
        let start = self.at;
        while matches!(self.bytes.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err(Wrong::Syntax(self.at))
        } else {
            Ok(())
        }
    }
}

/// The largest whole number below which JavaScript has every one.
const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;

fn as_written(text: &str) -> Option<Number> {
    text.parse::<i64>()
        .map(Number::from)
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .ok()
}

/// A string without its escapes, all of which are right; and whether half a surrogate pair stood in it.
fn unescaped(inside: &str) -> (String, bool) {
    let mut text = String::with_capacity(inside.len());
    let mut has_half = false;
    let mut high: Option<u16> = None;
    let mut rest = inside;
    let unit = |rest: &str| u16::from_str_radix(&rest[..4], 16).unwrap_or(0xfffd);
    loop {
        let plain = rest.find('\\').unwrap_or(rest.len());
        if high.is_some() && !rest.starts_with("\\u") {
            text.push(char::REPLACEMENT_CHARACTER);
            has_half = true;
            high = None;
        }
        text.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let Some(escape) = rest.as_bytes().get(1) else {
            return (text, has_half);
        };
        rest = &rest[2..];
        let letter = match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let low = unit(rest);
                rest = &rest[4..];
                let whole = high.and_then(|high| char::decode_utf16([high, low]).next()?.ok());
                match (high.take(), whole) {
                    (Some(_), Some(whole)) => text.push(whole),
                    (before, _) => {
                        if before.is_some() {
                            text.push(char::REPLACEMENT_CHARACTER);
                            has_half = true;
                        }
                        match low {
                            0xd800..=0xdbff => high = Some(low),
                            0xdc00..=0xdfff => {
                                text.push(char::REPLACEMENT_CHARACTER);
                                has_half = true;
                            }
                            low => text.push(char::from_u32(low.into()).unwrap_or_default()),
                        }
                    }
                }
                continue;
            }
            other => char::from(*other),
        };
        text.push(letter);
    }
}

impl Open {
    const fn is_object(&self) -> bool {
        matches!(self, Self::Object(..) | Self::DeepObject)
    }

    /// Adds a value; says whether its name was new.
    fn keep(&mut self, value: Value) -> bool {
        match self {
            Self::Array(items) => items.push(value),
            Self::Object(members, name) => return members.insert(std::mem::take(name), value).is_none(),
            Self::DeepArray | Self::DeepObject => {}
        }
        true
    }

    fn close(self) -> Value {
        match self {
            Self::Array(items) => Value::Array(items),
            Self::Object(members, _) => Value::Object(members),
            Self::DeepArray | Self::DeepObject => Value::Null,
        }
    }
}
