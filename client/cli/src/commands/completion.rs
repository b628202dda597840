//! `orion completion`: prints a shell's completion script.

use clap::Args;
use clap_complete::env::Shells;

use crate::failure::Failure;
use crate::output::Output;

/// Prints the completion script of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion completion bash > ~/.local/share/bash-completion/completions/orion
  orion completion zsh > \"${fpath[1]}/_orion\"
  orion completion fish > ~/.config/fish/completions/orion.fish

Make the folder first where there is none. Completes commands, files, tools and their arguments, and what
the backend has: devices, calls, approvals, plans, people, tokens and policies.")]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

impl Completion {
    /// Runs the command.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(crate) fn run(self, out: &Output) -> Result<u8, Failure> {
        let shells = Shells::builtins();
        let shell = shells
            .completer(&self.shell)
            .ok_or_else(|| Failure::Usage(format!("{} has no completion here", self.shell)))?;
        let mut script = Vec::new();
        shell
            .write_registration("COMPLETE", "orion", "orion", "orion", &mut script)
            .map_err(|error| Failure::Failed(format!("the script cannot be made: {error}")))?;
        out.bytes(&String::from_utf8_lossy(&script))?;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offered_shell_has_a_script() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            assert!(Shells::builtins().completer(shell).is_some(), "{shell}");
        }
    }
}
