//! A shell's line in simple commands and words, as far as finding our program in it needs that.

/// The simple commands of a line, each in words, and whether anything is redirected.
pub(crate) fn commands(line: &str) -> (Vec<Vec<String>>, bool) {
    let mut reader = Reader {
        commands: vec![Vec::new()],
        word: None,
        is_redirected: false,
        awaits_target: false,
    };
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => reader.part(&until(&mut letters, '\'', false)),
            '"' => reader.part(&until(&mut letters, '"', true)),
            '`' => reader.part(&format!("`{}`", until(&mut letters, '`', false))),
            '$' if letters.peek() == Some(&'(') => {
                letters.next();
                reader.part(&format!("$({})", until(&mut letters, ')', false)));
            }
            '\\' => match letters.peek() {
                Some('\n') => drop(letters.next()),
                // A backslash in front of a letter is more likely a separator of Windows than an escape.
                Some(next) if !next.is_alphanumeric() => {
                    reader.part(&next.to_string());
                    letters.next();
                }
                _ => reader.part("\\"),
            },
            '#' if reader.word.is_none() => {
                while letters.peek().is_some_and(|next| *next != '\n') {
                    letters.next();
                }
            }
            '>' | '<' => {
                reader.redirect();
                while letters
                    .peek()
                    .is_some_and(|next| matches!(next, '>' | '<' | '&' | '|'))
                {
                    letters.next();
                }
            }
            '&' if letters.peek() == Some(&'>') => {}
            ';' | '&' | '|' | '\n' | '(' | ')' => reader.end_command(),
            letter if letter.is_whitespace() => reader.end_word(),
            letter => reader.part(letter.encode_utf8(&mut [0; 4])),
        }
    }
    reader.end_command();
    reader.commands.retain(|words| !words.is_empty());
    (reader.commands, reader.is_redirected)
}

/// What stands before the closing sign.
fn until(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, close: char, escapes: bool) -> String {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        if letter == close {
            break;
        }
        let is_escape =
            escapes && letter == '\\' && letters.peek().is_some_and(|next| "\"\\$`".contains(*next));
        text.push(if is_escape {
            letters.next().unwrap_or(letter)
        } else {
            letter
        });
    }
    text
}

struct Reader {
    commands: Vec<Vec<String>>,
    word: Option<String>,
    is_redirected: bool,
    /// Whether the next word is a file that something is redirected to.
    awaits_target: bool,
}

impl Reader {
    fn part(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.awaits_target) {
            return;
        }
        if let Some(command) = self.commands.last_mut() {
            command.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.awaits_target = false;
        self.commands.push(Vec::new());
    }

    fn redirect(&mut self) {
        // The number of a stream in front of the sign is no word.
        if self
            .word
            .as_deref()
            .is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
        {
            self.word = None;
        }
        self.end_word();
        (self.is_redirected, self.awaits_target) = (true, true);
    }
}
