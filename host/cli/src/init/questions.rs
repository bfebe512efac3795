//! Questions to whoever sits at the terminal, where somebody does.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use holdpoint_common::safe_text::clean_line;

use super::InitError;
use crate::terminal::Terminal;

/// The longest wrong answer that is repeated, in characters.
const LONGEST_ECHO: usize = 40;

/// Asks, or says that there is nobody to ask.
pub(super) struct Questions {
    somebody_is_there: bool,
}

impl Questions {
    pub(super) fn at_the_terminal() -> Self {
        Self {
            somebody_is_there: io::stdin().is_terminal() && io::stderr().is_terminal(),
        }
    }

    /// Whether there is somebody to ask.
    pub(super) const fn can_ask(&self) -> bool {
        self.somebody_is_there
    }

    /// A line. An empty one is the default, or is asked again where there is none.
    pub(super) fn line(
        &self,
        what: &'static str,
        option: &'static str,
        question: &str,
        default: Option<&str>,
    ) -> Result<String, InitError> {
        if !self.somebody_is_there {
            return Err(InitError::Missing(vec![(what, option)]));
        }
        loop {
            let hint = default.map_or_else(String::new, |default| format!(" [{default}]"));
            let said = ask(&format!("{question}{hint}: "))?;
            match (said.is_empty(), default) {
                (false, _) => return Ok(said),
                (true, Some(default)) => return Ok(default.to_owned()),
                (true, None) => {}
            }
        }
    }

    /// One of several, by its number; the first one is the default.
    pub(super) fn choice(
        &self,
        what: &'static str,
        option: &'static str,
        question: &str,
        choices: &[&str],
    ) -> Result<usize, InitError> {
        if !self.somebody_is_there {
            return Err(InitError::Missing(vec![(what, option)]));
        }
        numbered(question, choices, Some(0))
    }

    /// One of several that nobody should choose unawares, by its number.
    pub(super) fn decision(&self, question: &str, choices: &[&str]) -> Result<usize, InitError> {
        numbered(question, choices, None)
    }

    /// Says something before the next question.
    pub(super) fn tell(&self, what: &str) -> Result<(), InitError> {
        writeln!(io::stderr(), "{}", wrapped(what)).map_err(InitError::Terminal)
    }

    /// Something that does not appear while it is typed.
    pub(super) fn secret(&self, question: &str) -> Result<String, InitError> {
        let hidden = Hidden::begin();
        let said = ask(&format!("{question} (it does not appear): "));
        drop(hidden);
        let _ = writeln!(io::stderr());
        said
    }
}

/// One of several, by its number.
fn numbered(question: &str, choices: &[&str], default: Option<usize>) -> Result<usize, InitError> {
    let list: String = choices
        .iter()
        .enumerate()
        .map(|(index, choice)| format!("  {}  {choice}\n", index + 1))
        .collect();
    let hint = default.map_or_else(String::new, |index| format!(" [{}]", index + 1));
    let question = wrapped(question);
    loop {
        let said = ask(&format!("{question}\n{list}Number{hint}: "))?;
        match (said.parse::<usize>(), default) {
            (_, Some(index)) if said.is_empty() => return Ok(index),
            (Ok(number @ 1..), _) if number <= choices.len() => return Ok(number - 1),
            _ => {
                let why = format!(
                    "'{}' is no number from 1 to {}.",
                    clean_line(&said, LONGEST_ECHO),
                    choices.len()
                );
                writeln!(io::stderr(), "{why}").map_err(InitError::Terminal)?;
            }
        }
    }
}

/// A text in lines that fit the terminal. Lines that begin with blanks stay as they are.
fn wrapped(text: &str) -> String {
    let terminal = Terminal::stderr();
    let lines = text.split('\n').map(|line| match line.starts_with(' ') {
        true => line.to_owned(),
        false => terminal.wrap(line, 0),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn ask(question: &str) -> Result<String, InitError> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")
        .and_then(|()| stderr.flush())
        .map_err(InitError::Terminal)?;
    let mut line = String::new();
    let read = io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(InitError::Terminal)?;
    // The end of the input is no answer to anything.
    if read == 0 {
        return Err(InitError::Declined);
    }
    Ok(line.trim().to_owned())
}

/// The terminal without its echo, until this is dropped.
#[cfg(unix)]
struct Hidden(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Hidden {
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = io::stdin();
        let before = tcgetattr(&stdin).ok();
        if let Some(mut without) = before.clone() {
            without.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(&stdin, OptionalActions::Now, &without);
        }
        Self(before)
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, before);
        }
    }
}

/// There, what is typed appears.
#[cfg(not(unix))]
struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    fn begin() -> Self {
        Self
    }
}
