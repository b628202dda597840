//! Executes `upload_file`: writes the content that the person's client sends.

#[cfg(test)]
mod tests;

use orion_catalog::tools::upload_file::{Arguments, Returns, UploadFile};
use orion_catalog::{Content, Tool};
use orion_domain::ToolError;

use super::counted::counted;
use super::receive::{Wish, receive};
use super::{FileContext, FileTool, Outcome};

impl FileTool for UploadFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { path, size_bytes, sha256, overwrite, create_dirs } = arguments;
        let path = context.path(&path)?;
        let wish = Wish {
            tool: Self::NAME,
            content: Content::FromPerson,
            path: &path,
            overwrite,
            create_dirs,
            stated: Some((size_bytes, sha256)),
        };
        let replaced = receive(&wish, context)?.replaced;
        let over = if replaced { " in the place of the file there" } else { "" };
        let what = if context.dry_run { "Would write" } else { "Wrote" };
        let message = format!("{what} {path}{over}, {}.", counted(size_bytes, "byte"));
        let (path, sha256) = (path.to_string(), sha256.to_string());
        Ok(Outcome::new(message, Returns { path, size_bytes, sha256, replaced }))
    }
}
