//! The path rules as tables, laws, and attack lists.

mod corpora;
mod honest;
mod laws;
mod policy;
mod reading;

use super::{DevicePath, PathError, PathPattern, PathStyle, Places};

fn ok<T>(result: Result<T, PathError>) -> T {
    result.unwrap_or_else(|error| unreachable!("{error}"))
}

fn path(style: PathStyle, text: &str) -> DevicePath {
    ok(DevicePath::parse(style, text))
}

fn posix(text: &str) -> DevicePath {
    path(PathStyle::Posix, text)
}

fn windows(text: &str) -> DevicePath {
    path(PathStyle::Windows, text)
}

/// A device with a workspace and a home of its style.
fn places(style: PathStyle) -> Places {
    ok(match style {
        PathStyle::Posix => Places::parse(style, Some("/srv/root"), Some("/home/ann")),
        PathStyle::Windows => Places::parse(style, Some("C:/root"), Some("C:/Users/ann")),
    })
}

fn resolve(style: PathStyle, text: &str) -> Result<String, PathError> {
    DevicePath::resolve(&places(style), text).map(|path| path.to_string())
}

fn pattern(style: PathStyle, text: &str) -> PathPattern {
    ok(PathPattern::parse(&places(style), text))
}
