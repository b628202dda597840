//! What a person reads of an HTML page. The page is read as a sequence of tokens, in linear time: no tree is
//! built that a page could make deep.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, StartTag, Token, Tokenizer};
use reqwest::Url;

/// The most bytes that are returned of a page.
const MAX_CONTENT_BYTES: usize = 128 * 1024;
/// The most bytes of a title, and of the text of a link.
const MAX_TITLE_BYTES: usize = 512;

/// Elements whose text is not shown.
const UNSEEN: [&[u8]; 9] = [
    b"script",
    b"style",
    b"noscript",
    b"template",
    b"svg",
    b"iframe",
    b"object",
    b"select",
    b"textarea",
];

/// Elements that begin a new line.
const LINES: [&[u8]; 38] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"br",
    b"caption",
    b"dd",
    b"details",
    b"dialog",
    b"div",
    b"dl",
    b"dt",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"hr",
    b"li",
    b"main",
    b"nav",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"td",
    b"th",
    b"tr",
    b"ul",
    b"option",
];

/// What is wanted of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::local_tools) enum Wanted {
    /// The text.
    Text,
    /// The links.
    Links,
    /// The images.
    Images,
}

/// What was read of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::local_tools) struct Page {
    /// The title.
    pub(in crate::local_tools) title: String,
    /// The text, or one link or image a line.
    pub(in crate::local_tools) content: String,
    /// Whether the page goes on.
    pub(in crate::local_tools) truncated: bool,
}

impl Page {
    /// Reads a text that is no page.
    pub(in crate::local_tools) fn plain(text: &str, wanted: Wanted) -> Self {
        if wanted != Wanted::Text {
            return Self::default();
        }
        let end = text.floor_char_boundary(MAX_CONTENT_BYTES);
        let content = text.get(..end).unwrap_or_default().to_owned();
        Self { title: String::new(), truncated: end < text.len(), content }
    }
}

/// Reads a page.
pub(in crate::local_tools) fn read_page(html: &str, wanted: Wanted, url: &Url) -> Page {
    let mut reader = Reader { wanted, ..Reader::new(url) };
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        reader.take(token);
        if reader.page.truncated {
            break;
        }
    }
    reader.end()
}

struct Reader {
    page: Page,
    wanted: Wanted,
    base: Url,
    /// The element whose text is not shown, and how many of its name are open.
    unseen: Option<(HtmlString, usize)>,
    in_title: bool,
    /// The link that is open, and its text so far.
    link: Option<(String, String)>,
}

impl Reader {
    fn new(url: &Url) -> Self {
        let (page, base) = (Page::default(), url.clone());
        Self { page, wanted: Wanted::Text, base, unseen: None, in_title: false, link: None }
    }

    fn take(&mut self, token: Token) {
        match token {
            Token::StartTag(tag) => self.open(&tag),
            Token::EndTag(tag) => self.close(&tag.name),
            Token::String(text) => self.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = &tag.name;
        if let Some((unseen, open)) = &mut self.unseen {
            if unseen == name && !tag.self_closing {
                *open += 1;
            }
            return;
        }
        if UNSEEN.contains(&name.as_slice()) {
            self.unseen = (!tag.self_closing).then(|| (name.clone(), 1));
            return;
        }
        match name.as_slice() {
            b"title" => self.in_title = self.page.title.is_empty(),
            b"a" => {
                self.end_link();
                self.link = attribute(tag, b"href")
                    .and_then(|it| self.absolute(&it))
                    .map(|it| (it, String::new()));
            }
            b"img" => self.image(tag),
            _ => {}
        }
        if LINES.contains(&name.as_slice()) {
            self.line();
            if name.as_slice() == b"li" && self.wanted == Wanted::Text {
                self.push("- ");
            }
        }
    }

    fn close(&mut self, name: &HtmlString) {
        if let Some((unseen, open)) = &mut self.unseen {
            if unseen == name {
                *open -= 1;
                if *open == 0 {
                    self.unseen = None;
                }
            }
            return;
        }
        match name.as_slice() {
            b"title" => self.in_title = false,
            b"a" => self.end_link(),
            name if LINES.contains(&name) => self.line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.unseen.is_some() {
            return;
        }
        if self.in_title {
            return append(&mut self.page.title, text, MAX_TITLE_BYTES);
        }
        if let Some((_, label)) = &mut self.link {
            append(label, text, MAX_TITLE_BYTES);
        }
        if self.wanted == Wanted::Text {
            self.push(text);
        }
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let alternative = attribute(tag, b"alt").unwrap_or_default();
        match self.wanted {
            Wanted::Text if !alternative.trim().is_empty() => {
                self.push(&format!("[image: {}]", alternative.trim()));
            }
            Wanted::Images => {
                if let Some(address) = attribute(tag, b"src").and_then(|it| self.absolute(&it)) {
                    self.entry(&address, &alternative);
                }
            }
            Wanted::Text | Wanted::Links => {}
        }
    }

    fn end_link(&mut self) {
        if let Some((address, label)) = self.link.take()
            && self.wanted == Wanted::Links
        {
            self.entry(&address, &label);
        }
    }

    fn entry(&mut self, address: &str, label: &str) {
        let mut line = String::new();
        append(&mut line, label, MAX_TITLE_BYTES);
        self.push(&format!("{address} {}", line.trim()));
        self.line();
    }

    /// Returns an http or https address as it is from this page. None for any other.
    fn absolute(&self, address: &str) -> Option<String> {
        let url = self.base.join(address.trim()).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.into())
    }

    fn line(&mut self) {
        let content = &mut self.page.content;
        content.truncate(content.trim_end_matches([' ']).len());
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
    }

    fn push(&mut self, text: &str) {
        append(&mut self.page.content, text, MAX_CONTENT_BYTES);
        self.page.truncated |= self.page.content.len() >= MAX_CONTENT_BYTES;
    }

    fn end(mut self) -> Page {
        self.end_link();
        let Page { title, content, truncated } = self.page;
        Page { title: title.trim().to_owned(), content: content.trim().to_owned(), truncated }
    }
}

/// Appends a text with single spaces, up to a limit.
fn append(to: &mut String, text: &str, limit: usize) {
    for c in text.chars() {
        let c = if c.is_whitespace() { ' ' } else { c };
        if c == ' ' && (to.is_empty() || to.ends_with([' ', '\n'])) {
            continue;
        }
        if to.len() + c.len_utf8() > limit {
            return;
        }
        to.push(c);
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests;
