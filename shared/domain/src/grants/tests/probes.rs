//! An attacker's likely first requests: names of secrets and of start places, under a grant as wide as a
//! home folder.

use serde_json::json;

use crate::evaluate::Policy;
use crate::grants::{Grants, Scope};
use crate::path::{BuiltInKind, DevicePath, PathStyle, Places, built_in};
use crate::touches::{Access, PathTouch};

fn scope(grants: serde_json::Value) -> Scope {
    let places = Places::parse(PathStyle::Posix, None, Some("/home/ann")).unwrap();
    let grants: Grants = serde_json::from_value(grants).unwrap();
    let (scope, bad) = grants.compile(&places);
    assert_eq!(bad, []);
    scope
}

fn wide() -> Scope {
    scope(json!({"paths": ["/home/ann"]}))
}

fn refused(scope: &Scope, path: &str, access: Access) -> bool {
    let path = DevicePath::parse(PathStyle::Posix, path).unwrap();
    assert!(scope.covering(&path, access).is_some(), "{path} is not covered at all");
    scope.denying_touch(&PathTouch { path, access }).is_some()
}

fn raises(scope: &Scope, path: &DevicePath) -> bool {
    let policy = Policy { grants: scope.clone(), ..Policy::deny_all() };
    policy.raises_for_writing(path)
}

/// Names that were once readable, and similar ones.
const SECRETS: &str = include_str!("probes/secrets.txt");

#[test]
fn every_probed_secret_is_kept_out_of_a_wide_grant_in_any_case_and_for_any_access() {
    let names: Vec<&str> = SECRETS.lines().collect();
    assert!(names.len() >= 200, "{}", names.len());
    let scope = wide();
    for name in names {
        for spelled in [name.to_owned(), name.to_uppercase(), name.replacen('.', ".\u{200b}", 1)] {
            let path = format!("/home/ann/{spelled}");
            for access in [Access::Read, Access::Write, Access::Delete] {
                assert!(refused(&scope, &path, access), "{path} for {access}");
            }
        }
    }
}

#[test]
fn honest_neighbours_are_read_as_ever() {
    let scope = wide();
    for name in [
        "p/environment.md",
        "p/.env.example",
        "p/.env.sample",
        "p/.env.template",
        "p/.env.dist",
        "p/.env.defaults",
        "p/.env.schema",
        "p/environment.ts",
        "p/env.rs",
        "p/keys.md",
        "p/src/key.rs",
        "p/token.rs",
        "p/secret.rs",
        "p/credentials.rs",
        "p/src/credentials/mod.rs",
        "p/.gitignore",
        "p/.github/ci.yml",
        "p/package.json",
        "p/Cargo.toml",
        "p/README.md",
        "p/monkey.txt",
        "p/tsconfig.json",
        "p/.vscode/a",
        ".bashrc",
        ".gitconfig",
        ".config/fish/config.fish",
        "p/.git/config",
        "p/id_rsa.md",
        "p/id_rsa_work.pub",
        "p/id_ed25519-github.pub",
        "p/example.env",
        "p/notes.txt~",
        "p/main.rs.bak",
        "p/libx.so.1",
        "p/secrets.py",
        "p/model.pth",
        "p/docker-compose.yml",
        "p/.docker/Dockerfile",
        "p/history.md",
        "p/main.tf",
        "p/src/cookies/index.ts",
        "p/configuration.php",
        "p/.vercel/project.json",
    ] {
        let path = format!("/home/ann/{name}");
        assert!(!refused(&scope, &path, Access::Read), "{path}");
    }
}

#[test]
fn a_grant_of_the_file_itself_lifts_a_secret_for_that_access_and_that_file_alone() {
    let scope = scope(json!({"paths": [
        "/home/ann/p",
        {"path": "/home/ann/p/public.pem", "access": ["read"]},
        {"path": "/home/ann/p/.env.test", "access": ["read", "write"]},
        {"path": "/home/ann/p/old.pem.bak", "access": ["read"]},
        {"path": "/home/ann/p/vault", "access": ["read"]},
        {"path": "/home/ann/p/.aws", "access": ["read"]},
        {"path": "/home/ann/p/.aws/config", "access": ["read"]},
        {"path": "/home/ann/p/.config/orion/agent.toml", "access": ["read"]},
    ]}));
    for (name, access, expected) in [
        ("public.pem", Access::Read, false),
        ("public.pem", Access::Write, true),
        ("public.pem", Access::Delete, true),
        ("PUBLIC.pem", Access::Read, true),
        ("public.pem/inside.pem", Access::Read, true),
        ("private.pem", Access::Read, true),
        (".env.test", Access::Write, false),
        (".env", Access::Read, true),
        (".env.test.bak", Access::Read, true),
        ("public.pem~", Access::Read, true),
        ("old.pem.bak", Access::Read, false),
        ("vault/server.key", Access::Read, true),
        (".aws/config", Access::Read, false),
        (".aws/credentials", Access::Read, true),
        (".config/orion/agent.toml", Access::Read, true),
    ] {
        assert_eq!(
            refused(&scope, &format!("/home/ann/p/{name}"), access),
            expected,
            "{name} {access}"
        );
    }
}

/// Names that start programs and were once writable.
const START_PLACES: &[&str] = &[
    "p/.git/config",
    "p/.git/hooks/pre-commit",
    "p/.git/hooks",
    "p/.git/config.worktree",
    "p/.git/worktrees/w/config.worktree",
    "p/.git/modules/sub/config",
    "p/.git/modules/a/b/hooks/x",
    "p/.git/info/attributes",
    "p/bare.git/config",
    "p/bare.git/hooks/update",
    ".gitconfig",
    ".config/git/config",
    ".config/git/attributes",
    "p/.husky/pre-commit",
    "p/.githooks/a",
    "p/.hg/hgrc",
    ".hgrc",
    ".subversion/config",
    ".config/jj/config.toml",
    ".local/bin/ls",
    "bin/ls",
    ".cargo/env",
    ".cargo/config.toml",
    ".cargo/bin/cargo",
    ".bashrc",
    ".bashrc.d/x",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".oh-my-zsh/custom/a.zsh",
    ".config/fish/config.fish",
    ".inputrc",
    ".vimrc",
    ".vim/plugin/a.vim",
    ".config/nvim/init.lua",
    ".exrc",
    ".emacs",
    ".emacs.d/init.el",
    "p/.dir-locals.el",
    "p/.vscode/tasks.json",
    "p/.vscode/settings.json",
    ".config/Code/User/settings.json",
    "p/.idea/workspace.xml",
    "p/.devcontainer/devcontainer.json",
    ".local/share/applications/a.desktop",
    ".config/autostart/a.desktop",
    "Desktop/a.desktop",
    ".config/mimeapps.list",
    ".config/systemd/user/a.service",
    ".config/environment.d/a.conf",
    ".config/i3/config",
    ".config/sway/config",
    ".config/hypr/hyprland.conf",
    ".tmux.conf",
    ".config/kitty/kitty.conf",
    ".screenrc",
    ".local/lib/python3.12/site-packages/usercustomize.py",
    "p/usercustomize.py",
    "p/sitecustomize.py",
    "p/venv/lib/site-packages/a.pth",
    ".pythonrc",
    ".ipython/profile_default/startup/a.py",
    ".jupyter/jupyter_config.py",
    ".pdbrc",
    ".irbrc",
    ".pryrc",
    ".Rprofile",
    ".gdbinit",
    ".lldbinit",
    ".lessfilter",
    ".mailcap",
    ".wgetrc",
    ".curlrc",
    ".psqlrc",
    ".ssh/authorized_keys",
    ".ssh/rc",
    "Library/LaunchAgents/a.plist",
    ".npmrc",
    ".yarnrc.yml",
    ".gradle/init.d/a.gradle",
    ".mavenrc",
    ".ghci",
    ".iex.exs",
    ".claude/settings.json",
    ".mcp.json",
    ".xprofile",
    ".xinitrc",
    ".pam_environment",
    ".forward",
    ".procmailrc",
    ".rustup/a",
    ".nvm/nvm.sh",
    ".rbenv/shims/ruby",
    ".asdf/shims/node",
    ".hammerspoon/init.lua",
    "google-cloud-sdk/path.bash.inc",
    "emsdk/emsdk_env.sh",
    "perl5/lib/perl5/a.pm",
    "quicklisp/setup.lisp",
];

#[test]
fn every_probed_place_that_starts_programs_is_neither_written_nor_deleted() {
    let scope = wide();
    for name in START_PLACES {
        for spelled in [(*name).to_owned(), name.to_uppercase()] {
            let path = format!("/home/ann/{spelled}");
            assert!(refused(&scope, &path, Access::Write), "{path}");
            assert!(refused(&scope, &path, Access::Delete), "{path}");
        }
    }
}

#[test]
fn a_grant_that_names_a_place_or_a_folder_of_it_lifts_it_and_writing_there_still_asks() {
    let paths = |execute: bool| {
        let mut access = vec!["read", "write"];
        access.extend(execute.then_some("execute"));
        json!({"paths": ["/home/ann/p", {"path": "/home/ann/p/.git/hooks", "access": access}]})
    };
    for execute in [false, true] {
        let scope = scope(paths(execute));
        for (name, refused_too) in [
            (".git/hooks/pre-commit", false),
            (".git/config", true),
            ("sub/.git/hooks/pre-commit", true),
        ] {
            assert_eq!(refused(&scope, &format!("/home/ann/p/{name}"), Access::Write), refused_too);
        }
        assert!(refused(&scope, "/home/ann/p/.git/hooks/pre-commit", Access::Delete));
        let hook =
            DevicePath::parse(PathStyle::Posix, "/home/ann/p/.git/hooks/pre-commit").unwrap();
        assert_eq!(raises(&scope, &hook), !execute);
    }
    // Without dot-names in the path, the table's names still require approval.
    let named = scope(json!({"paths": ["/home/ann/p/usercustomize.py"]}));
    let path = DevicePath::parse(PathStyle::Posix, "/home/ann/p/usercustomize.py").unwrap();
    assert!(named.denying(&path).is_none() && raises(&named, &path));
}

#[test]
fn an_allow_compares_bytes_and_a_deny_does_not() {
    let scope =
        scope(json!({"paths": ["/srv/caf\u{e9}"], "deny_paths": ["/srv/caf\u{e9}/pri\u{e9}"]}));
    let path = |text: &str| DevicePath::parse(PathStyle::Posix, text).unwrap();
    assert!(scope.covering(&path("/srv/caf\u{e9}/a"), Access::Read).is_some());
    assert!(scope.covering(&path("/srv/cafe\u{301}/a"), Access::Read).is_none());
    assert!(scope.denying(&path("/srv/caf\u{e9}/prie\u{301}/a")).is_some());
}

#[test]
fn no_entry_of_a_table_is_dead() {
    let scope = wide();
    for entry in built_in(PathStyle::Posix) {
        let example =
            entry.pattern.replace("**/", "/x/").replace("//", "/").replace(['*', '?'], "a");
        let path = DevicePath::parse(PathStyle::Posix, &example).unwrap();
        let found = scope.denied.keeping_out(&path, Access::Write);
        assert!(found.is_some(), "{} does not keep out {path}", entry.pattern);
        let may_be_read = entry.kind == BuiltInKind::StartPlace;
        assert!(may_be_read || scope.denying(&path).is_some(), "{path}");
    }
}
