//! Detects by name whether a file may start programs, whatever its content.
//!
//! Programs look for what they run beside their settings: in dot-files and dot-folders, and on Windows
//! in files of certain endings. No list of such places is complete, so all of these names count, except
//! a few from which no program runs anything.

use super::name::Name;
use super::{DevicePath, PathStyle};

/// Dot-files from which nothing is started, each with its documentation.
pub const HARMLESS_DOT_FILES: &[(&str, &str)] = &[
    // Patterns only. Files that they exclude are not run.
    (".gitignore", "https://git-scm.com/docs/gitignore"),
    (".hgignore", "https://www.mercurial-scm.org/doc/hgignore.5.html"),
    (".dockerignore", "https://docs.docker.com/build/concepts/context/#dockerignore-files"),
    (".containerignore", "https://docs.podman.io/en/latest/markdown/podman-build.1.html"),
    (".npmignore", "https://docs.npmjs.com/cli/using-npm/developers"),
    (".prettierignore", "https://prettier.io/docs/ignore"),
    (".eslintignore", "https://eslint.org/docs/v8.x/use/configure/ignore"),
    (".stylelintignore", "https://stylelint.io/user-guide/ignore-code"),
    (".gcloudignore", "https://cloud.google.com/sdk/gcloud/reference/topic/gcloudignore"),
    (".helmignore", "https://helm.sh/docs/chart_template_guide/helm_ignore_file/"),
    (".ignore", "https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md"),
    (".rgignore", "https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md"),
    // Indentation, line ends and character sets.
    (".editorconfig", "https://spec.editorconfig.org/"),
    // Names of people for the log.
    (".mailmap", "https://git-scm.com/docs/gitmailmap"),
    // No content: they keep an empty folder.
    (".gitkeep", "https://git-scm.com/docs/gitfaq"),
    (".keep", "https://git-scm.com/docs/gitfaq"),
    // Lists of dictionary words and of pages, in plain text.
    (".nojekyll", "https://docs.github.com/en/pages/getting-started-with-github-pages"),
    (".markdownlintignore", "https://github.com/igorshubovych/markdownlint-cli#ignoring-files"),
];

/// File endings that Windows starts by a double click or by the name alone.
const WINDOWS_PROGRAMS: &[&str] = &[
    ".appref-ms",
    ".bat",
    ".chm",
    ".cmd",
    ".com",
    ".cpl",
    ".dll",
    ".exe",
    ".hta",
    ".jse",
    ".lnk",
    ".msc",
    ".msi",
    ".msp",
    ".pif",
    ".reg",
    ".scf",
    ".scr",
    ".settingcontent-ms",
    ".url",
    ".vbe",
    ".vbs",
    ".wsf",
    ".wsh",
];

/// Returns whether a path's name shows that a file written there may start programs. The first `named`
/// components do not count: a grant names them on purpose.
pub(crate) fn may_start_programs(path: &DevicePath, named: usize) -> bool {
    let Some((last, above)) = path.names.split_last() else { return false };
    let above = above.get(named..).unwrap_or_default();
    if above.iter().any(is_dotted) {
        return true;
    }
    let ending = path.style() == PathStyle::Windows
        && WINDOWS_PROGRAMS.iter().any(|ending| last.loose().ends_with(ending));
    let is_named = path.names.len() > named;
    // `HEAD` makes any folder a Git repository, whose `config` names programs to run.
    let makes_repository = is_named && last.loose() == "head";
    // A name in other case than the list's may be another file.
    let is_harmless = || HARMLESS_DOT_FILES.iter().any(|(name, _)| *name == last.written());
    ending || makes_repository || (is_named && is_dotted(last) && !is_harmless())
}

/// Compares the loose form: where a file system drops invisible characters, they hide no dot.
fn is_dotted(name: &Name) -> bool {
    name.loose().starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(style: PathStyle, path: &str, named: usize) -> bool {
        may_start_programs(&DevicePath::parse(style, path).unwrap(), named)
    }

    #[test]
    fn a_dot_anywhere_below_what_is_named_tells() {
        for (path, named, expected) in [
            ("/home/ann/.envrc", 2, true),
            ("/home/ann/.config/tool/a.toml", 2, true),
            ("/home/ann/p/.github/workflows/ci.yml", 2, true),
            ("/home/ann/p/src/main.rs", 2, false),
            ("/home/ann/p/v1.2/a", 2, false),
            ("/srv/.data/app/a", 2, false),
            ("/srv/.data/app/.a", 2, true),
            ("/srv/.data", 2, false),
            ("/a/\u{200b}.envrc", 0, true),
            ("/home/ann/p/lib/HEAD", 2, true),
            ("/home/ann/p/lib/Head", 2, true),
            ("/home/ann/p/HEAD/x", 2, false),
            ("/home/ann/p/HEAD.md", 2, false),
            ("/", 0, false),
        ] {
            assert_eq!(starts(PathStyle::Posix, path, named), expected, "{path}");
        }
    }

    #[test]
    fn harmless_files_are_exempt_by_their_exact_name_and_not_in_a_dot_folder() {
        for (name, source) in HARMLESS_DOT_FILES {
            assert!(source.starts_with("https://"), "{name}");
            assert!(!starts(PathStyle::Posix, &format!("/p/{name}"), 0), "{name}");
            assert!(starts(PathStyle::Posix, &format!("/p/.d/{name}"), 0), "{name}");
            let upper = name.to_uppercase();
            assert!(starts(PathStyle::Posix, &format!("/p/{upper}"), 0), "{upper}");
            assert!(starts(PathStyle::Posix, &format!("/p/{name}/x"), 0), "{name}");
        }
        for name in [".gitattributes", ".prettierrc", ".nvmrc", ".npmrc", ".env", ".gitmodules"] {
            assert!(starts(PathStyle::Posix, &format!("/p/{name}"), 0), "{name}");
        }
    }

    #[test]
    fn on_windows_endings_tell_as_well() {
        for (path, expected) in [
            ("C:/p/build.BAT", true),
            ("C:/p/a.exe", true),
            ("C:/p/a.txt", false),
            ("C:/p/.vscode/tasks.json", true),
            ("C:/p/exe", false),
        ] {
            assert_eq!(starts(PathStyle::Windows, path, 1), expected, "{path}");
        }
        assert!(!starts(PathStyle::Posix, "/p/a.exe", 1));
    }
}
