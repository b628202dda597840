//! The context: the backend's address and the person's token, in a small file, overridden by the
//! environment and by flags. A token is only sent to the backend that it was saved for.

mod named;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use orion_domain::{Hint, Secret};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, nearest_key};
use crate::global::{Global, token_variable};
use crate::input;

pub(crate) use named::{Contexts, DEFAULT, is_name, name_for};

/// The default address of a backend.
pub(crate) const DEFAULT_BACKEND: &str = "http://127.0.0.1:7080";

/// The context file as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ContextFile {
    /// The backend's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backend: Option<String>,
    /// The API token. `None` when signed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// The user of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// PEM file with the authority that signed the backend's certificate. `None` where the system trusts
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca_file: Option<PathBuf>,
    /// The backend's data folder. `None` where the backend is on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The `orion-server` program that can read the data folder. `None` means the one beside `orion`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_binary: Option<PathBuf>,
}

/// The resolved context of this run.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The backend's address.
    pub(crate) backend: String,
    /// The token. `None` where there is none for that backend.
    pub(crate) token: Option<Secret>,
    /// The other settings of the file; empty where it is for another backend.
    pub(crate) file: ContextFile,
    /// The path of the file, whether it exists or not.
    pub(crate) path: PathBuf,
    /// Whether the file exists.
    pub(crate) found: bool,
}

/// The environment that a context is resolved from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// `--context` or `ORION_CONTEXT`.
    pub(crate) named: Option<PathBuf>,
    /// `--backend` or `ORION_BACKEND`.
    pub(crate) backend: Option<String>,
    /// `ORION_TOKEN`.
    pub(crate) token: Option<String>,
    /// `ORION_CA`: the certificate of the backend's authority, for programs that do not sign in.
    pub(crate) ca: Option<PathBuf>,
    /// The person's configuration folder for Orion.
    pub(crate) config_dir: Option<PathBuf>,
    /// The working directory at the start.
    pub(crate) working_dir: PathBuf,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn of_process(global: &Global) -> Self {
        Self {
            named: global.named_context().cloned(),
            backend: global.backend.clone(),
            token: token_variable(),
            ca: std::env::var_os("ORION_CA").filter(|ca| !ca.is_empty()).map(PathBuf::from),
            config_dir: directories::ProjectDirs::from("", "", "orion")
                .map(|dirs| dirs.config_dir().to_owned()),
            working_dir: PathBuf::from("."),
        }
    }
}

impl Context {
    /// Finds the file and applies the overrides.
    ///
    /// # Errors
    /// A named file does not exist, or a file is invalid.
    pub(crate) fn resolve(around: Environment) -> Result<Self, Failure> {
        let Environment { named, backend, token, ca, config_dir, working_dir } = around;
        let contexts = config_dir.map(Contexts::new);
        let demo = working_dir.join("orion-demo").join("context.toml");
        let own = match (&named, &contexts) {
            (Some(named), Some(contexts)) => by_name(contexts, named),
            (None, Some(contexts)) => Some(chosen(contexts)?),
            (_, None) => None,
        };
        let is_named = named.is_some();
        let (path, mut found) = match (named, own) {
            (Some(_), Some(path)) => (path.clone(), path.exists()),
            (Some(path), None) => (path.clone(), path.exists()),
            (None, Some(path)) if path.exists() => (path, true),
            (None, _) if demo.exists() => (demo, true),
            (None, Some(path)) => (path, false),
            (None, None) => (working_dir.join("orion-context.toml"), false),
        };
        let mut file = if found { ContextFile::read(&path)? } else { ContextFile::default() };
        let written = file.address().to_owned();
        let backend = backend.filter(|backend| !backend.is_empty());
        let backend = backend.as_ref().unwrap_or(&written).trim_end_matches('/').to_owned();
        let mut path = path;
        if backend != written {
            let others = contexts.filter(|_| !is_named);
            match others.and_then(|contexts| contexts.of_backend(&backend)) {
                Some(of_backend) => {
                    (path, file) = of_backend;
                    found = true;
                }
                None => file = ContextFile::default(),
            }
        }
        file.ca_file = ca.or(file.ca_file);
        let token = token.or_else(|| file.token.clone()).map(|token| Secret::new(token.trim()));
        Ok(Self { backend, token, file, path, found })
    }

    /// Returns whether the file is for the backend that is meant, as one that is not there yet is.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn is_of_backend(&self) -> Result<bool, Failure> {
        if !self.found {
            return Ok(true);
        }
        Ok(ContextFile::read(&self.path)?.address() == self.backend)
    }

    /// Returns the folder of the demo that wrote this context. None where no demo did.
    pub(crate) fn demo_folder(&self) -> Option<&Path> {
        // Of all contexts, only a demo's has the data folder of its backend.
        self.file.data_dir.as_ref()?;
        self.path.parent().filter(|folder| folder.join("demo.lock").is_file())
    }
}

/// Returns the file of a context that was named by its name. `None` where a path was given.
fn by_name(contexts: &Contexts, named: &Path) -> Option<PathBuf> {
    let name = named.to_str().filter(|name| is_name(name))?;
    (!named.exists()).then(|| contexts.file(name))
}

/// Returns the file of the context that is used.
fn chosen(contexts: &Contexts) -> Result<PathBuf, Failure> {
    let name = contexts.current()?;
    let path = contexts.file(&name);
    if name != DEFAULT && !path.exists() {
        let message = format!("the context {name} does not exist: {}", path.display());
        return Err(Failure::NotFound(message)
            .hint(Hint::run("choose another", "orion context use NAME"))
            .hint(Hint::run("list them", "orion context list")));
    }
    Ok(path)
}

impl ContextFile {
    /// Returns the backend's address, without a slash at its end.
    fn address(&self) -> &str {
        self.backend.as_deref().unwrap_or(DEFAULT_BACKEND).trim_end_matches('/')
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is invalid.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::file(path)?;
        // The parser's own message would quote the line, and the line may hold the token.
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
            });
            let shown = path.display();
            let failure = Failure::Usage(format!(
                "{shown} is not a context: line {line}: {}",
                error.message()
            ));
            let failure = match nearest_key(error.message()) {
                Some(near) => failure.hint(Hint::did_you_mean(vec![near.to_owned()])),
                None => failure.hint(format!("correct or delete line {line}")),
            };
            let login = format!("orion --context {shown} login --backend URL");
            failure.hint(Hint::run("or write the file again", login))
        })
    }

    /// Writes the file atomically for its owner only.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = toml::to_string(self)
            .map_err(|error| Failure::Failed(format!("the context cannot be written: {error}")))?;
        write_private(path, text.as_bytes())
    }
}

/// Writes a file atomically that only its owner may read.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok::<(), std::io::Error>(())
    };
    write().map_err(|error| input::unwritable(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(folder: &Path, name: &str, file: &ContextFile) -> PathBuf {
        let path = folder.join(name);
        file.write(&path).unwrap();
        path
    }

    fn context(backend: &str, token: &str) -> ContextFile {
        ContextFile {
            backend: Some(backend.to_owned()),
            token: Some(token.to_owned()),
            ..ContextFile::default()
        }
    }

    fn seen(context: &Context) -> (String, Option<String>) {
        (context.backend.clone(), context.token.as_ref().map(|token| token.expose().to_owned()))
    }

    #[test]
    fn the_named_file_wins_over_the_persons_own_and_that_over_the_demos() {
        let folder = tempfile::tempdir().unwrap();
        let demo = context("http://127.0.0.1:1", "demo");
        with_file(folder.path(), "orion-demo/context.toml", &demo);
        let mut around = Environment {
            config_dir: Some(folder.path().join("config")),
            working_dir: folder.path().to_owned(),
            ..Environment::default()
        };
        let expect = |around: &Environment, backend: &str, token: &str| {
            let context = Context::resolve(around.clone()).unwrap();
            assert_eq!(seen(&context), (backend.to_owned(), Some(token.to_owned())));
        };
        expect(&around, "http://127.0.0.1:1", "demo");
        with_file(folder.path(), "config/context.toml", &context("http://127.0.0.1:2", "own"));
        expect(&around, "http://127.0.0.1:2", "own");
        around.named =
            Some(with_file(folder.path(), "named.toml", &context("http://127.0.0.1:3", "named")));
        expect(&around, "http://127.0.0.1:3", "named");
        around.token = Some("from-environment".to_owned());
        expect(&around, "http://127.0.0.1:3", "from-environment");
    }

    #[test]
    fn a_token_is_never_sent_to_another_backend_than_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = context("http://127.0.0.1:3/", "secret");
        let around = Environment {
            named: Some(with_file(folder.path(), "c.toml", &file)),
            backend: Some("http://127.0.0.1:4".to_owned()),
            ..Environment::default()
        };
        let other = Context::resolve(around.clone()).unwrap();
        assert_eq!(seen(&other), ("http://127.0.0.1:4".to_owned(), None));
        let same = Environment { backend: Some("http://127.0.0.1:3".to_owned()), ..around };
        let same = Context::resolve(same).unwrap();
        assert_eq!(seen(&same), ("http://127.0.0.1:3".to_owned(), Some("secret".to_owned())));
    }

    #[test]
    fn a_context_is_named_by_its_name_or_its_path_and_a_chosen_one_must_exist() {
        let folder = tempfile::tempdir().unwrap();
        let around = Environment {
            config_dir: Some(folder.path().to_owned()),
            working_dir: folder.path().to_owned(),
            ..Environment::default()
        };
        with_file(folder.path(), "contexts/work.toml", &context("http://127.0.0.1:5", "work"));
        let named = Environment { named: Some("work".into()), ..around.clone() };
        assert_eq!(Context::resolve(named).unwrap().backend, "http://127.0.0.1:5");
        let other = Environment { named: Some("home".into()), ..around.clone() };
        let other = Context::resolve(other).unwrap();
        assert_eq!((other.path, other.found), (folder.path().join("contexts/home.toml"), false));
        let contexts = Contexts::new(folder.path().to_owned());
        contexts.set_current("work").unwrap();
        assert_eq!(Context::resolve(around.clone()).unwrap().backend, "http://127.0.0.1:5");
        let backend = Some("http://127.0.0.1:6".to_owned());
        let other = Environment { backend, ..around.clone() };
        assert!(Context::resolve(other.clone()).unwrap().token.is_none());
        with_file(folder.path(), "contexts/six.toml", &context("http://127.0.0.1:6/", "six"));
        let token = Context::resolve(other).unwrap().token.unwrap();
        assert_eq!(token.expose(), "six");
        contexts.set_current("gone").unwrap();
        assert_eq!(Context::resolve(around).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn without_any_file_the_default_backend_is_meant_and_nobody_is_signed_in() {
        let folder = tempfile::tempdir().unwrap();
        let config_dir = Some(folder.path().to_owned());
        let working_dir = folder.path().to_owned();
        let around = Environment { config_dir, working_dir, ..Environment::default() };
        let context = Context::resolve(around).unwrap();
        assert_eq!(seen(&context), (DEFAULT_BACKEND.to_owned(), None));
        assert_eq!((context.path, context.found), (folder.path().join("context.toml"), false));
    }

    #[test]
    fn a_bad_file_is_refused_without_showing_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, "token = \"hush\"\ntokens = \"hush\"\n").unwrap();
        let failure = ContextFile::read(&path).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains("tokens"), "{failure}");
        assert!(!failure.to_string().contains("hush"), "{failure}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_a_written_context() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = with_file(folder.path(), "deep/c.toml", &context("http://localhost:1", "t"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ContextFile::read(&path).unwrap(), context("http://localhost:1", "t"));
    }
}
