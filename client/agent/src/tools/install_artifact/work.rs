//! The steps of an installation.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::time::Duration;

use orion_catalog::tools::install_artifact::{Step, Wanted};
use orion_domain::{ErrorCode, ToolError};

use super::super::CommandContext;
use super::super::artifact::folder::Place;
use super::super::artifact::manifest::Manifest;
use super::super::artifact::{archive, compose, download, health};
use crate::programs::run_in_own_folder;

/// The number of steps of an installation.
pub(super) const STEPS: usize = 8;
/// How long an install script may take.
const SCRIPT_TIME: Duration = Duration::from_mins(20);

/// An installation under way.
pub(super) struct Work<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) place: &'a Place,
    /// The steps that were done, and the one that failed.
    pub(super) steps: Vec<Step>,
    /// Whether there is a folder of this installation.
    pub(super) has_folder: bool,
    /// Whether there may be containers of this installation.
    pub(super) has_containers: bool,
}

impl<'a> Work<'a> {
    pub(super) const fn new(wanted: &'a Wanted, place: &'a Place) -> Self {
        let steps = Vec::new();
        Self { wanted, place, steps, has_folder: false, has_containers: false }
    }

    /// Installs the artifact and returns its version.
    pub(super) fn run(&mut self, context: &CommandContext<'_>) -> Result<String, ToolError> {
        self.step("docker", context, |work| work.docker(context))?;
        let (mut archive, bytes, found) = self.step("download", context, |work| {
            let mut file = work.place.download()?;
            let (bytes, found) = download::download(work.wanted, &mut file, context)?;
            let detail = format!("{bytes} bytes came from {}.", work.wanted.address.address);
            Ok(((file, bytes, found), detail))
        })?;
        self.step("sha256", context, |work| {
            download::refuse_other(work.wanted, found)?;
            Ok(((), format!("The archive is the one that was approved: {}.", work.wanted.sha256)))
        })?;
        self.step("extract", context, |work| work.extract(&mut archive, bytes, context))?;
        drop(archive);
        let manifest = self.step("manifest", context, |work| {
            let manifest = Manifest::parse(&work.place.manifest()?, &work.wanted.name)?;
            let detail = format!("It is version {}.", manifest.version);
            Ok((manifest, detail))
        })?;
        self.step("install", context, |work| {
            let time = SCRIPT_TIME;
            run_in_own_folder(&work.place.folder(), manifest.install.path(), time, context)?;
            Ok(((), format!("{} ended well.", manifest.install)))
        })?;
        self.step("start", context, |work| {
            work.has_containers = true;
            let folder = work.place.folder();
            compose::up(&work.wanted.name, &folder, &manifest.compose_file, context)?;
            Ok(((), format!("The services of {} were started.", manifest.compose_file)))
        })?;
        self.step("health", context, |work| {
            let (is_well, answer) = health::wait(&manifest, context)?;
            if !is_well {
                let message = format!("The services do not become well: {answer}");
                return Err(ToolError::new(ErrorCode::ExecutionFailed, message));
            }
            work.place.record(&manifest, work.wanted.sha256)?;
            Ok(((), answer))
        })?;
        Ok(manifest.version)
    }

    /// Does a step and adds it with what it says, or with why it failed.
    fn step<T>(
        &mut self,
        name: &str,
        context: &CommandContext<'_>,
        work: impl FnOnce(&mut Self) -> Result<(T, String), ToolError>,
    ) -> Result<T, ToolError> {
        (context.progress)(self.steps.len() as u64, Some(STEPS as u64), name);
        let done = context.check().and_then(|()| work(self));
        let (ok, detail) = match &done {
            Ok((_, detail)) => (true, detail.clone()),
            Err(error) => (false, error.message.clone()),
        };
        self.steps.push(Step { name: name.to_owned(), ok, detail });
        done.map(|(made, _)| made)
    }

    /// Looks whether Docker is there and the artifact is not.
    fn docker(&self, context: &CommandContext<'_>) -> Result<((), String), ToolError> {
        let name = &self.wanted.name;
        let mut detail = compose::ready(context)?;
        if self.place.is_interrupted()? {
            compose::down(name, context)?;
            self.place.remove()?;
            detail.push_str(" What an interrupted installation left was removed.");
        }
        refuse_containers(self.wanted, context)?;
        Ok(((), detail))
    }

    fn extract(
        &mut self,
        archive: &mut File,
        bytes: u64,
        context: &CommandContext<'_>,
    ) -> Result<((), String), ToolError> {
        let rewound = archive.seek(SeekFrom::Start(0));
        rewound.map_err(|_| {
            ToolError::new(ErrorCode::ExecutionFailed, "The archive cannot be read again.")
        })?;
        let folder = self.place.create()?;
        self.has_folder = true;
        let unpacked = archive::unpack(archive, bytes, &folder, context)?;
        let files = if unpacked.files == 1 { "file" } else { "files" };
        Ok(((), format!("{} {files} with {} bytes.", unpacked.files, unpacked.bytes)))
    }
}

/// Refuses an artifact of which there are containers that no installation here accounts for.
pub(super) fn refuse_containers(
    wanted: &Wanted,
    context: &CommandContext<'_>,
) -> Result<(), ToolError> {
    if compose::count(&wanted.name, false, context)? == 0 {
        return Ok(());
    }
    let project = wanted.name.project();
    let message = format!("There are containers of the compose project {project} already.");
    Err(ToolError::new(ErrorCode::AlreadyExists, message).hint(format!(
        "remove them on the device first: docker compose --project-name {project} down"
    )))
}
