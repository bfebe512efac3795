//! How a text file is written, beside what it says: its mark of order, its line ends, whether its last line has one.

/// The mark of order that some editors of Windows begin a file with.
const MARK: char = '\u{feff}';

/// How a file was written.
#[derive(Debug)]
pub(super) struct Form {
    has_mark: bool,
    /// Each line without its end, and its end.
    lines: Vec<(String, &'static str)>,
}

impl Form {
    /// The form of a text, and the text without it: lines that end in `\n`.
    pub(super) fn of(text: &str) -> (Self, String) {
        let bare = text.strip_prefix(MARK).unwrap_or(text);
        let lines: Vec<(String, &'static str)> = bare
            .split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                None => (line.to_owned(), ""),
                Some(line) => match line.strip_suffix('\r') {
                    None => (line.to_owned(), "\n"),
                    Some(line) => (line.to_owned(), "\r\n"),
                },
            })
            .collect();
        let plain = bare.replace("\r\n", "\n");
        let has_mark = bare.len() < text.len();
        (Self { has_mark, lines }, plain)
    }

    /// A changed text in this form: a line that stays keeps its end, and a new one ends as most do.
    pub(super) fn dress(&self, plain: &str) -> String {
        let windows = self.lines.iter().filter(|(_, end)| *end == "\r\n").count();
        let usual = if windows * 2 > self.lines.len() {
            "\r\n"
        } else {
            "\n"
        };
        let mut dressed = String::new();
        if self.has_mark {
            dressed.push(MARK);
        }
        let mut from = 0;
        let lines: Vec<&str> = plain.split_inclusive('\n').collect();
        for (index, line) in lines.iter().enumerate() {
            let line = line.strip_suffix('\n').unwrap_or(line);
            let rest = self.lines.get(from..).unwrap_or_default();
            let same = rest.iter().position(|(old, _)| old == line);
            let end = match same.and_then(|at| rest.get(at)) {
                Some((_, "")) if index + 1 < lines.len() => usual,
                Some((_, end)) => end,
                None => usual,
            };
            from += same.map_or(0, |at| at + 1);
            dressed.push_str(line);
            dressed.push_str(end);
        }
        dressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_stays_keeps_every_byte() {
        for text in [
            "",
            "a",
            "a\n",
            "\u{feff}a\r\nb\r\n",
            "a\r\n\r\nb",
            "a\nb\r\nc\n",
            "\u{feff}",
            "\r\n",
        ] {
            let (form, plain) = Form::of(text);
            assert!(!plain.contains("\r\n"), "{text:?}");
            assert_eq!(form.dress(&plain), text);
        }
    }

    #[test]
    fn a_new_line_ends_as_most_lines_do() {
        let (form, plain) = Form::of("\u{feff}# x\r\na = 1\r\nb = 2");
        assert_eq!(plain, "# x\na = 1\nb = 2");
        assert_eq!(form.dress("# x\na = 5\nb = 2\n"), "\u{feff}# x\r\na = 5\r\nb = 2");
        assert_eq!(
            form.dress("# x\na = 1\nb = 2\nc = 3\n"),
            "\u{feff}# x\r\na = 1\r\nb = 2\r\nc = 3\r\n"
        );
    }
}
