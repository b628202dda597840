//! Labels of devices, as an admin writes them.

use orion_domain::{DeviceName, ErrorCode, Hint};
use orion_policy::{LabelError, Labels};
use tonic::Status;

use crate::active_policy::{Active, FILE_NAME};
use crate::rpc::status;

/// Parses the labels that a device begins with. Where its name is known, the policy file gives that name none: they
/// would not count.
pub(super) fn first_labels(
    active: &Active,
    name: Option<&DeviceName>,
    texts: &[String],
) -> Result<Labels, Status> {
    let labels = Labels::parse(texts).map_err(invalid)?;
    match name {
        Some(name) if !labels.is_empty() => outside_the_file(active, name)?,
        Some(_) | None => {}
    }
    Ok(labels)
}

/// Checks that the policy file gives a device no labels, which would count instead of those that are stored.
pub(super) fn outside_the_file(active: &Active, name: &DeviceName) -> Result<(), Status> {
    let Some(file) = active.file.as_ref().filter(|file| file.labels(name).is_some()) else {
        return Ok(());
    };
    let (version, line) = (active.version(), file.line_of(name).unwrap_or_default());
    Err(status::managed_elsewhere(
        format!("the labels of {name} are part of the policy, version {version}, line {line}"),
        Hint::run(
            format!(
                "write the policy to a file, change line {line} there and apply it, beginning with"
            ),
            format!("orion policy show > {FILE_NAME}"),
        ),
    ))
}

/// The status for what is no label.
pub(super) fn invalid(error: LabelError) -> Status {
    let hint = error.hint();
    status::hinted(ErrorCode::InvalidArgument, error, hint)
}
