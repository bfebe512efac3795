//! HTML that cannot be broken out of: markup is what stands in the program, and everything else is text.

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup. Only what the program itself holds can be some.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, whatever it holds.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                c if is_unseen(c) => self.0.push_str(&format!("[U+{:04X}]", u32::from(c))),
                c => self.0.push(c),
            }
        }
        self
    }

    /// An attribute, to stand where a tag is open. The name is the program's, the value is anybody's.
    pub(super) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.markup(" ")
            .markup(name)
            .markup("=\"")
            .text(value)
            .markup("\"")
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// What changes how a text looks without being seen itself: control characters, and those that turn the direction of
/// writing round, by which one name can be made to look like another.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let mut html = Html::default();
        html.text(text);
        html.finish()
    }

    #[test]
    fn text_is_text() {
        assert_eq!(
            escaped("<img src=x onerror='alert(1)'>&amp;\"\u{202e}\u{0}\r\n"),
            "&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;amp;&quot;[U+202E][U+0000][U+000D]\n"
        );
    }

    proptest! {
        /// Nothing that a text holds ends it, and what is read back is what was written.
        #[test]
        fn no_text_gets_out(text in any::<String>()) {
            let html = escaped(&text);
            prop_assert!(!html.contains(['<', '>', '"', '\'']), "{html}");
            let back = html
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&");
            let shown: String = text
                .chars()
                .map(|c| match c {
                    '\n' | '\t' => c.to_string(),
                    c if is_unseen(c) => format!("[U+{:04X}]", u32::from(c)),
                    c => c.to_string(),
                })
                .collect();
            prop_assert_eq!(back, shown);
        }
    }
}
