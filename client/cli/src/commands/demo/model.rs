//! The language model that answers in the demo: the one that was given once, or the planner.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use orion_domain::visible;
use serde::Deserialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::failure::Failure;

/// The longest name that the backend takes, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Where Ollama listens.
const OLLAMA: &str = "127.0.0.1:11434";
/// How long Ollama may take to answer.
const OLLAMA_TIMEOUT: Duration = Duration::from_millis(500);
/// The most bytes of its answer.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A server of language models.
#[derive(Debug, Args)]
pub(super) struct ModelServer {
    /// The address of a server with OpenAI's API, such as http://127.0.0.1:11434/v1; needs --model, and is remembered
    #[arg(long, value_name = "URL", requires = "model")]
    model_url: Option<String>,
    /// The model's name at that server, or in the backend's configuration
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// A file that contains only the server's key
    #[arg(long, value_name = "FILE", requires = "model_url")]
    api_key_file: Option<PathBuf>,
}

/// A model for the backend's configuration.
#[derive(Debug)]
pub(super) struct Model<'a> {
    name: &'a str,
    url: &'a str,
    key: Option<PathBuf>,
}

impl ModelServer {
    /// Returns the model to add to the backend's configuration.
    ///
    /// # Errors
    /// What the backend would refuse to start with.
    pub(super) fn wanted(&self) -> Result<Option<Model<'_>>, Failure> {
        let (Some(url), Some(name)) = (&self.model_url, &self.model) else { return Ok(None) };
        if name.is_empty() || name.len() > MAX_NAME_BYTES || visible(name) != *name {
            return Err(Failure::Usage(format!("--model: a name has 1 to {MAX_NAME_BYTES} bytes")));
        }
        let parsed: Option<hyper::Uri> = url.parse().ok();
        let is_web = parsed.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
        });
        if !is_web {
            let message = "--model-url: give the whole address of the server's API";
            return Err(Failure::Usage(message.to_owned())
                .hint("write it like http://127.0.0.1:11434/v1 or https://api.openai.com/v1"));
        }
        let key = self.api_key_file.as_deref().map(key_file).transpose()?;
        Ok(Some(Model { name, url, key }))
    }
}

fn key_file(path: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::Usage(format!("--api-key-file: {}: {error}", path.display()));
    fs::File::open(path).map_err(failed)?;
    std::path::absolute(path).map_err(failed)
}

impl Model<'_> {
    /// Makes this the first model of the backend's configuration, which is its default.
    ///
    /// # Errors
    /// The file has its models in one line, which would be lost.
    pub(super) fn put_first(&self, config: &mut DocumentMut) -> Result<(), Failure> {
        if config.get("models").is_some_and(|models| !models.is_array_of_tables()) {
            let message = "`models` in orion-server.toml is written in one line";
            return Err(Failure::Failed(message.to_owned())
                .hint("write each model as a section [[models]]"));
        }
        let mut models = ArrayOfTables::new();
        let mut table = Table::new();
        table.insert("name", value(self.name));
        table.insert("kind", value("openai"));
        table.insert("url", value(self.url));
        table.insert("model", value(self.name));
        if let Some(key) = &self.key {
            table.insert("api_key_file", value(key.display().to_string()));
        }
        models.push(table);
        let others = config.get("models").and_then(Item::as_array_of_tables).into_iter().flatten();
        let is_other = |table: &&Table| table.get("name").and_then(Item::as_str) != Some(self.name);
        for table in others.filter(is_other) {
            models.push(table.clone());
        }
        config.insert("models", Item::ArrayOfTables(models));
        Ok(())
    }
}

/// What Ollama says of its models.
#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

/// Returns the command that uses a model of the Ollama of this machine. `None` where there is none.
pub(super) async fn of_ollama() -> Option<String> {
    let asked = tokio::time::timeout(OLLAMA_TIMEOUT, ask(OLLAMA)).await;
    let name = asked.ok()??;
    Some(format!("orion demo --model-url http://{OLLAMA}/v1 --model {name}"))
}

/// Returns the first model of an Ollama.
async fn ask(address: &str) -> Option<String> {
    let stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get("/api/tags").header("host", address);
    let response = sender.send_request(request.body(Empty::<Bytes>::new()).ok()?).await.ok()?;
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await.ok()?;
    connection.abort();
    let tags: Tags = serde_json::from_slice(&body.to_bytes()).ok()?;
    let is_plain = |name: &String| {
        name.len() <= MAX_NAME_BYTES
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte))
    };
    tags.models.into_iter().map(|tag| tag.name).find(is_plain)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn server(url: &str, name: &str, key: Option<&Path>) -> ModelServer {
        ModelServer {
            model_url: Some(url.to_owned()),
            model: Some(name.to_owned()),
            api_key_file: key.map(Path::to_owned),
        }
    }

    #[test]
    fn a_model_becomes_the_first_and_all_else_in_the_file_stays() {
        let before = "# mine\n[people]\nlisten = \"127.0.0.1:1\"\n\n[[models]]\nname = \"a\"\nkind = \"planner\"\n\n[[models]]\nname = \"b\" # old\nkind = \"planner\"\n";
        let mut config: DocumentMut = before.parse().unwrap();
        let given = server("http://127.0.0.1:9/v1", "b", None);
        given.wanted().unwrap().unwrap().put_first(&mut config).unwrap();
        let after = config.to_string();
        assert!(after.starts_with("# mine\n[people]\n"), "{after}");
        let names: Vec<_> = config["models"].as_array_of_tables().unwrap().iter().collect();
        assert_eq!(names.len(), 2, "{after}");
        assert_eq!(names[0]["url"].as_str(), Some("http://127.0.0.1:9/v1"));
        assert_eq!(names[1]["name"].as_str(), Some("a"));
    }

    #[test]
    fn what_the_backend_would_not_start_with_is_refused_before_it_is_written() {
        for (url, name) in [
            ("127.0.0.1:11434/v1", "m"),
            ("ftp://127.0.0.1/v1", "m"),
            ("http://", "m"),
            ("http://127.0.0.1/v1", ""),
            ("http://127.0.0.1/v1", "a\nb"),
        ] {
            assert_eq!(
                server(url, name, None).wanted().unwrap_err().exit_code(),
                2,
                "{url} {name}"
            );
        }
        let missing = server("http://127.0.0.1/v1", "m", Some(Path::new("/no/such/key")));
        assert!(missing.wanted().unwrap_err().to_string().contains("--api-key-file"));
    }

    #[tokio::test]
    async fn an_ollama_says_its_first_model_and_garbage_says_none() {
        for (body, found) in [
            (r#"{"models":[{"name":"qwen3:8b"},{"name":"b"}]}"#, Some("qwen3:8b")),
            (r#"{"models":[{"name":"$(reboot)"}]}"#, None),
            (r#"{"models":[]}"#, None),
            ("<html>", None),
        ] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let served = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 1024]).await.unwrap();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            });
            assert_eq!(ask(&address).await.as_deref(), found);
            served.await.unwrap();
        }
    }
}
