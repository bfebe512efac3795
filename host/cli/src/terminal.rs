//! Manners at a terminal: colour and tables that fit where a human looks, and the same words plainly in a pipe.
//!
//! Texts have to be safe to show when they come here: foreign ones go through [`holdpoint_common::safe_text::clean_line`] first.

use std::env;
use std::io::{self, IsTerminal, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What stands between two columns.
const GAP: &str = "  ";
/// No column is cut to less than this, in cells of a terminal.
const NARROWEST: usize = 8;
/// Running text is not set wider than this, in cells: lines that are longer are hard to read.
const WIDEST_TEXT: usize = 100;

/// Where text goes to, and so how it is dressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    is_terminal: bool,
    colour: bool,
    /// In cells; none where nothing has to fit.
    width: Option<usize>,
}

/// What a colour says. The words beside it have to say the same: many see no colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Worth a look.
    Caution,
    /// Broken.
    Bad,
    /// A name, a heading.
    Strong,
    /// Beside the point.
    Quiet,
}

impl Tone {
    /// The parameter of the escape sequence. The eight basic colours follow whatever theme the user has.
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Caution => "33",
            Self::Bad => "31",
            Self::Strong => "1",
            Self::Quiet => "2",
        }
    }
}

impl Terminal {
    /// Text without any dress, of any width.
    pub const PLAIN: Self = Self {
        is_terminal: false,
        colour: false,
        width: None,
    };

    /// What standard output leads to.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        Self::of(&stdout, width(&stdout))
    }

    /// What standard error leads to.
    pub fn stderr() -> Self {
        let stderr = io::stderr();
        Self::of(&stderr, width(&stderr))
    }

    fn of(stream: &impl IsTerminal, width: Option<usize>) -> Self {
        if !stream.is_terminal() {
            return Self::PLAIN;
        }
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = cfg!(unix) && env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Self {
            is_terminal: true,
            colour: !(set("NO_COLOR") || dumb),
            width,
        }
    }

    /// Whether a human looks.
    pub const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The text in a tone, where there is colour.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
        } else {
            text.to_owned()
        }
    }

    /// Running text in lines that fit, each but the first behind this many blanks. Where nothing has to fit, one line.
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else {
            return text.to_owned();
        };
        let room = width.min(WIDEST_TEXT).saturating_sub(indent).max(NARROWEST);
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let line = lines.last_mut().expect("there is always a line");
            if line.is_empty() {
                line.push_str(word);
            } else if line.width() + 1 + word.width() <= room {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
        lines.join(&format!("\n{}", " ".repeat(indent)))
    }
}

#[cfg(unix)]
fn width(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Not asked for there: lines are as long as they are.
#[cfg(not(unix))]
fn width<T>(_: &T) -> Option<usize> {
    None
}

/// One field of a table.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    /// A field in a tone.
    pub fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Some(tone),
        }
    }

    /// A text in this field's tone.
    fn painted(&self, text: &str, terminal: &Terminal) -> String {
        self.tone
            .map_or_else(|| text.to_owned(), |tone| terminal.paint(tone, text))
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            tone: None,
        }
    }
}

/// Rows of as many fields as there are headings.
#[derive(Debug, Clone)]
pub struct Table<const COLUMNS: usize> {
    rows: Vec<[Cell; COLUMNS]>,
    /// A column whose fields are never cut.
    whole: Option<usize>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table with these headings.
    pub fn new(headings: [&str; COLUMNS]) -> Self {
        Self {
            rows: vec![headings.map(|heading| Cell::toned(Tone::Strong, heading))],
            whole: None,
        }
    }

    /// Keeps the fields of one column from being cut, since part of an id or a tag is of no use. The other columns give way
    /// to it. In the last column, a field that does not fit goes below its row.
    pub fn keep_whole(mut self, column: usize) -> Self {
        self.whole = Some(column);
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [Cell; COLUMNS]) {
        self.rows.push(cells);
    }

    /// Whether there is nothing but headings.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The table in lines, each with its line break. On a terminal, the widest columns are cut until a line fits; in a
    /// pipe nothing is.
    pub fn render(&self, terminal: &Terminal) -> String {
        let widths = self.widths(terminal.width);
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            // Blanks that nothing follows are left out.
            let mut owed = 0;
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if self.whole == Some(column) && cell.text.width() > width {
                    line.truncate(line.trim_end().len());
                    let below = terminal.wrap(&cell.text, GAP.len());
                    line.push_str(&format!("\n{GAP}{}", cell.painted(&below, terminal)));
                    continue;
                }
                let shown = fitted(&cell.text, width);
                line.push_str(&" ".repeat(owed));
                owed = width - shown.width() + GAP.len();
                line.push_str(&cell.painted(&shown, terminal));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self, room: Option<usize>) -> [usize; COLUMNS] {
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let Some(room) = room else { return widths };
        let gaps = GAP.len() * COLUMNS.saturating_sub(1);
        if widths.iter().sum::<usize>() + gaps <= room {
            return widths;
        }
        match self.whole {
            Some(last) if last + 1 == COLUMNS => {
                shrink(&mut widths[..last], None, room.saturating_sub(gaps));
                // What is left of the line, for the fields that fit there.
                widths[last] = room.saturating_sub(gaps + widths[..last].iter().sum::<usize>());
            }
            whole => shrink(&mut widths, whole, room.saturating_sub(gaps)),
        }
        widths
    }
}

/// Takes from the widest columns until all fit, but for one that has to stay as it is. Where that cannot be, lines are too
/// long.
fn shrink(widths: &mut [usize], spared: Option<usize>, room: usize) {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let columns = widths.iter_mut().enumerate();
        let others = columns.filter(|(column, _)| Some(*column) != spared);
        let Some(widest) = others
            .map(|(_, width)| width)
            .max()
            .filter(|widest| **widest > NARROWEST)
        else {
            break;
        };
        *widest -= 1;
        excess -= 1;
    }
}

/// The text, cut to a width where it is wider.
fn fitted(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut left = width.saturating_sub(1);
    for letter in text.chars() {
        let Some(rest) = left.checked_sub(letter.width().unwrap_or(0)) else {
            break;
        };
        left = rest;
        cut.push(letter);
    }
    cut.push('…');
    cut
}

/// A line on a terminal that says what is being waited for, and for how long; nothing elsewhere. It goes when the value
/// is dropped.
pub struct Progress {
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to show that this is being done. It is shown after a moment only: what is quick needs no excuse.
    pub fn begin(what: &str) -> Self {
        let terminal = Terminal::stderr();
        let waiting = terminal.is_terminal.then(|| {
            let (stop, stopped) = mpsc::channel::<()>();
            let what = what.to_owned();
            let begun = Instant::now();
            let show = move || {
                while stopped.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout) {
                    let line = format!("{what} … {} s", begun.elapsed().as_secs());
                    let line = fitted(&line, terminal.width.unwrap_or(usize::MAX).saturating_sub(1));
                    let _ = write!(io::stderr(), "\r{}\u{1b}[K", terminal.paint(Tone::Quiet, &line));
                }
                let _ = write!(io::stderr(), "\r\u{1b}[K");
            };
            (stop, thread::spawn(show))
        });
        Self { waiting }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.waiting.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(width: usize) -> Terminal {
        Terminal {
            is_terminal: true,
            colour: true,
            width: Some(width),
        }
    }

    fn table() -> Table<3> {
        let mut table = Table::new(["WHEN", "VM", "WHAT"]);
        table.row(["12:00".into(), "ウェブ".into(), Cell::toned(Tone::Bad, "deny")]);
        table.row(["12:01".into(), "db".into(), "a reason of some length".into()]);
        table
    }

    #[test]
    fn a_pipe_gets_whole_plain_columns() {
        assert_eq!(
            table().render(&Terminal::PLAIN),
            "WHEN   VM      WHAT\n12:00  ウェブ  deny\n12:01  db      a reason of some length\n"
        );
    }

    #[test]
    fn a_terminal_gets_colour_and_lines_that_fit() {
        let text = table().render(&terminal(26));
        assert!(text.contains("\u{1b}[31mdeny\u{1b}[0m"), "{text:?}");
        assert!(text.ends_with("12:01  db      a reason o…\n"), "{text:?}");
        // Below what can be read, a line is rather too long.
        assert!(table().render(&terminal(3)).contains("a reaso…"));
    }

    #[test]
    fn what_has_to_stay_whole_is_not_cut_at_any_width() {
        // Every word is there, and no line is longer than it has to be.
        let last = table().keep_whole(2);
        assert_eq!(
            last.render(&Terminal::PLAIN),
            table().render(&Terminal::PLAIN),
            "in a pipe nothing is cut anyway"
        );
        let plain = |width| Terminal {
            colour: false,
            ..terminal(width)
        };
        assert!(
            last.render(&plain(26))
                .ends_with("\n12:01  db\n  a reason of some length\n")
        );
        assert!(
            last.render(&plain(20))
                .ends_with("deny\n12:01  db\n  a reason of some\n  length\n")
        );
        let mut first = Table::new(["ID", "WHAT"]).keep_whole(0);
        first.row(["0123456789".into(), "a reason of some length".into()]);
        assert_eq!(
            first.render(&plain(22)),
            "ID          WHAT\n0123456789  a reason …\n"
        );
    }

    #[test]
    fn running_text_is_wrapped_behind_its_indent() {
        let text = "one two three four five";
        assert_eq!(terminal(14).wrap(text, 4), "one two\n    three four\n    five");
        assert_eq!(Terminal::PLAIN.wrap(text, 4), text);
    }

    #[test]
    fn nothing_is_painted_without_colour() {
        assert_eq!(Terminal::PLAIN.paint(Tone::Bad, "no"), "no");
        assert_eq!(terminal(80).paint(Tone::Bad, ""), "");
    }
}
