//! Tests of reading pages.

use std::time::{Duration, Instant};

use super::*;

fn read(html: &str, wanted: Wanted) -> Page {
    read_page(html, wanted, &Url::parse("https://shop.example/a/b").unwrap())
}

const PAGE: &str = "<!doctype html><html><head><title> The  shop </title><style>p{}</style></head>\
    <body><script>alert('<p>no</p>')</script><h1>Milk</h1><p>One &amp; two<br>three</p>\
    <ul><li><a href='../c?d=1'>The <b>next</b></a></li><li><a href='javascript:x()'>No</a></li></ul>\
    <img src=/cow.png alt='A cow'><textarea>secret</textarea><!-- hidden --></body></html>";

#[test]
fn a_page_gives_its_title_and_its_text_its_links_or_its_images() {
    let text = read(PAGE, Wanted::Text);
    assert_eq!(text.title, "The shop");
    assert_eq!(text.content, "Milk\nOne & two\nthree\n- The next\n- No\n[image: A cow]");
    let links = read(PAGE, Wanted::Links);
    assert_eq!(links.content, "https://shop.example/c?d=1 The next");
    let images = read(PAGE, Wanted::Images);
    assert_eq!(images.content, "https://shop.example/cow.png A cow");
    assert_eq!(read("", Wanted::Text), Page::default());
}

#[test]
fn a_hostile_page_is_read_in_linear_time_and_cut() {
    let time = |html: &str, wanted| {
        let began = Instant::now();
        let page = read(html, wanted);
        assert!(page.content.len() <= MAX_CONTENT_BYTES, "{}", page.content.len());
        began.elapsed()
    };
    // A tree of some of these pages would be as deep as they are long.
    for piece in
        ["<div>", "<p><button>", "<a href=x>", "</svg>", "<svg>", "&amp", "<!--", "<b ", "\"'=<"]
    {
        let html = piece.repeat(512 * 1024 / piece.len());
        for wanted in [Wanted::Text, Wanted::Links] {
            let eighth = time(&html[..html.len() / 8], wanted);
            let whole = time(&html, wanted);
            let limit = eighth * 24 + Duration::from_secs(1);
            assert!(whole < limit, "{piece}: {whole:?}, and an eighth of it {eighth:?}");
        }
    }
}
