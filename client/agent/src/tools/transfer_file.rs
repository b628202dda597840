//! Executes `transfer_file`: writes the content that the backend reads from another device.

#[cfg(test)]
mod tests;

use orion_catalog::tools::transfer_file::{Arguments, Returns, TransferFile};
use orion_catalog::{Content, Tool};
use orion_domain::ToolError;

use super::counted::counted;
use super::receive::{Wish, receive};
use super::{FileContext, FileTool, Outcome};

impl FileTool for TransferFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { from_device, from_path, path, overwrite, create_dirs } = arguments;
        let path = context.path(&path)?;
        let wish = Wish {
            tool: Self::NAME,
            content: Content::FromDevice,
            path: &path,
            overwrite,
            create_dirs,
            stated: None,
        };
        let written = receive(&wish, context)?;
        let over = if written.replaced { " in the place of the file there" } else { "" };
        let message = match written.content {
            Some((size, _)) => {
                let size = counted(size, "byte");
                format!("Brought {from_path} of {from_device} to {path}{over}, {size}.")
            }
            None => format!("Would bring {from_path} of {from_device} to {path}{over}."),
        };
        let data = Returns {
            from_device,
            from_path,
            path: path.to_string(),
            size_bytes: written.content.map(|(size, _)| size),
            sha256: written.content.map(|(_, digest)| digest.to_string()),
            replaced: written.replaced,
        };
        Ok(Outcome::new(message, data))
    }
}
