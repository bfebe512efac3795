//! The help texts of the command line, as they stand in the sources.

use std::ops::Range;

/// What clap derives from; the documentation of such an item, and of all in it, is shown to users.
const DERIVED: [&str; 4] = ["Parser", "Subcommand", "Args", "ValueEnum"];

/// The end of the name of a constant that clap shows.
const CONSTANT: &str = "HELP: &str";

/// The lines of help in a source, with their numbers from 1.
pub(crate) fn texts(source: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut texts = Vec::new();
    for number in (0..lines.len()).flat_map(|line| item(&lines, line)) {
        let text = lines[number].trim_start();
        if let Some(text) = text.strip_prefix("///") {
            texts.push((number + 1, text.to_owned()));
            continue;
        }
        // Every second piece stands between quotes: the first one where a backslash leads here from the line above.
        let inside = number > 0 && lines[number - 1].trim_end().ends_with('\\');
        let quoted = text.split('"').skip(usize::from(!inside)).step_by(2);
        texts.extend(quoted.map(|text| (number + 1, text.replace("\\n", " . "))));
    }
    texts
}

/// The lines of the item that is shown to users and whose derive, or whose beginning, is in this one.
fn item(lines: &[&str], line: usize) -> Range<usize> {
    let text = lines[line].trim_start();
    if text.contains(CONSTANT) {
        let end = (line..lines.len()).find(|last| lines[*last].trim_end().ends_with(';'));
        return line..end.map_or(lines.len(), |last| last + 1);
    }
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    if !text.starts_with("#[derive(") || !words.any(|word| DERIVED.contains(&word)) {
        return line..line;
    }
    let first = (0..line)
        .rev()
        .take_while(|above| is_attached(lines[*above]))
        .last();
    let end = format!("{}}}", &lines[line][..lines[line].len() - text.len()]);
    let last = (line..lines.len()).find(|last| lines[*last].starts_with(&end));
    first.unwrap_or(line)..last.map_or(lines.len(), |last| last + 1)
}

fn is_attached(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("#[")
}

#[test]
fn the_help_of_an_item_and_of_all_in_it_is_read() {
    let source = r#"
/// Not help.
struct Other;

/// Above.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:\n  one \
                        two")]
enum Command {
    /// A verb.
    Verb {
        /// An option.
        #[arg(long, value_name = "FILE")]
        file: String,
    },
}

const VERB_HELP: &str = "More.";

/// Not help either.
#[derive(Debug)]
struct Last {
    /// Nor this.
    field: u8,
}
"#;
    let texts: Vec<_> = texts(source)
        .into_iter()
        .map(|(_, text)| text.trim().to_owned())
        .collect();
    let wanted = [
        "Above.",
        "Example: .   one \\",
        "two",
        "A verb.",
        "An option.",
        "FILE",
        "More.",
    ];
    assert_eq!(texts, wanted);
}
