//! What the arguments that were read make of a command: its effect, its paths and its hosts.

use orion_domain::Access;

use super::Reading;
use crate::judgement::{AskReason, Effect, Known, Network};
use crate::line::CommandLine;

/// The reason of a command whose grammar has no effect for it and no words.
const NOT_COVERED: &str = "The grammar does not cover this.";

impl Reading {
    /// Returns the judgement.
    pub(super) fn finish(mut self, line: &CommandLine) -> Known {
        let node = self.node();
        let effect = self.effect();
        if effect == Effect::Other && self.asks.is_empty() {
            let token = self.subcommand.as_ref().unwrap_or(line.program()).clone();
            let why = node.why.as_deref().unwrap_or(NOT_COVERED);
            self.ask(&token, AskReason::Stated(why));
        }
        let network = match (self.nodes.iter().any(|node| node.network), self.hosts.is_empty()) {
            (true, _) => Network::Configured(std::mem::take(&mut self.hosts)),
            (false, false) => Network::Hosts(std::mem::take(&mut self.hosts)),
            (false, true) => Network::None,
        };
        let environment = self.grammar.environment.iter();
        Known {
            program: self.program,
            effect,
            paths: self.touched(effect),
            network,
            environment: environment.map(|(name, it)| (name.as_str(), it.as_str())).collect(),
            asks: self.asks,
            arguments: self.arguments,
            fixed_arguments: self.fixed,
        }
    }

    /// Returns the effect of the command, of its options and of its paths: the highest counts.
    fn effect(&self) -> Effect {
        let node = self.node();
        let only_reads = self.has_option(&node.reads_with);
        let own = if only_reads {
            Effect::Reads
        } else if self.has_option(&node.only_writes_with) {
            Effect::Writes
        } else {
            node.effect.unwrap_or(Effect::Other)
        };
        let of_paths = self.paths.iter().flat_map(|(_, access)| access.iter()).map(|it| match it {
            Access::Read => Effect::Reads,
            Access::Write | Access::Execute => Effect::Writes,
            // What is moved is written elsewhere first.
            Access::Delete if own == Effect::Writes => Effect::Writes,
            Access::Delete => Effect::Deletes,
        });
        let of_paths = of_paths.max().filter(|_| !only_reads).unwrap_or(Effect::Reads);
        let given = node.with_positionals.filter(|_| !self.positionals.is_empty());
        own.max(self.floor)
            .max(of_paths)
            .max(given.unwrap_or(Effect::Reads))
            .max(self.effect_of_options())
    }

    /// Returns every path with each of its accesses.
    fn touched(&self, effect: Effect) -> Vec<(String, Access)> {
        let only_reads = effect == Effect::Reads;
        let mut touched = Vec::new();
        for (path, accesses) in &self.paths {
            for access in *accesses {
                let access = if only_reads { Access::Read } else { *access };
                touched.push((self.below_folder(path), access));
            }
        }
        for path in &self.subjects {
            touched.push((self.below_folder(path), Access::Read));
            if !only_reads {
                touched.push((self.below_folder(path), Access::Write));
            }
        }
        let here = self.folder.clone().unwrap_or_else(|| ".".to_owned());
        if let Some(path) = self.node().default_path.as_ref().filter(|_| touched.is_empty()) {
            touched.push((self.below_folder(path), Access::Read));
        }
        let works_here = self.nodes.iter().rev().find_map(|node| node.here).unwrap_or(false);
        if works_here || self.folder.is_some() {
            touched.push((here.clone(), Access::Read));
            if !only_reads {
                touched.push((here, Access::Write));
            }
        }
        let mut once = Vec::new();
        for access in touched {
            if !once.contains(&access) {
                once.push(access);
            }
        }
        once
    }
}
