//! `InviteDevice`: a token that enrolls devices.

use orion_domain::{Access, DeviceName, ErrorCode, Profile};
use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use super::invite_scope::scope;
use super::labels::first_labels;
use super::parse_grants::parse_grants;
use crate::downloads::{InstallLines, Words};
use crate::fleet::enrollment::{Invitation, MAX_USES, invite};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Makes an enrollment token for as many devices as `uses` says. With `preapproved`, a device that uses it
/// needs no approval and has these grants and labels.
pub(super) async fn invite_device(
    api: &DeviceApi,
    request: Signed<v1::InviteDeviceRequest>,
) -> Result<v1::InviteDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::InviteDeviceRequest {
        name,
        valid_seconds,
        uses,
        preapproved,
        grants,
        platforms,
        networks,
        labels,
    } = message;
    let name = device_name(&name)?;
    if uses > MAX_USES {
        return Err(status::invalid(format!("a token is for at most {MAX_USES} devices")));
    }
    let active = api.enrollment.devices.policies.active();
    let labels = first_labels(&active, name.as_ref(), &labels)?;
    let scope = scope(&platforms, &networks)?;
    let grants = parse_grants(&grants)?;
    // The option allows everything at a path, so a path that is granted for less is left to the owner.
    let every = [Access::Read, Access::Write, Access::Delete];
    let whole = grants.paths.iter().filter(|it| every.iter().all(|one| it.access.contains(one)));
    let whole: Vec<_> = whole.map(|it| it.path.clone()).collect();
    let paths = |quoted: fn(&str) -> String| -> String {
        whole.iter().map(|path| format!(" --allow-path {}", quoted(path))).collect()
    };
    let (for_a_shell, for_powershell) = (paths(quoted), paths(quoted_for_powershell));
    // The first file of an owner has the profile operator.
    let profile = grants.profile.filter(|it| *it != Profile::Operator);
    let profile = profile.map(|it| format!(" --profile {it}")).unwrap_or_default();
    let invitation = Invitation { name, valid_seconds, uses, preapproved, grants, labels, scope };
    let token = invite(&api.enrollment, &identity.caller, invitation).await;
    let token = token.map_err(status::store)?;
    let text = token.to_string();
    let words = Words {
        shell: format!("{text}{profile}{for_a_shell}"),
        powershell: format!("{text}{profile}{for_powershell}"),
    };
    let lines = api.downloads.lines(&words).unwrap_or_else(|error| {
        tracing::error!(%error, "the agents for devices cannot be served");
        None
    });
    let (install_with_curl, install_with_wget, install_with_powershell) = lines
        .map(|InstallLines { curl, wget, powershell }| (curl, wget, powershell.unwrap_or_default()))
        .unwrap_or_default();
    Ok(v1::InviteDeviceResponse {
        command: format!("orion-agent enroll {}", words.shell),
        install_with_powershell,
        install_with_curl,
        install_with_wget,
        token: text,
        invite_id: token.invite_id.to_string(),
        expires_at: token.expires_at,
    })
}

/// Parses the name that an admin gives a device; empty for the one that it suggests.
pub(super) fn device_name(name: &str) -> Result<Option<DeviceName>, Status> {
    if DeviceName::is_reserved(name) {
        return Err(status::hinted(
            ErrorCode::InvalidArgument,
            "`backend` is the name of the backend itself",
            "choose another name for the device",
        ));
    }
    (!name.is_empty()).then(|| name.parse()).transpose().map_err(status::invalid)
}

/// Quotes a path for a shell. A leading `~` stays, which the agent reads as the shell does.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-~:".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// Quotes a path for PowerShell, which takes curved quotes for straight ones.
fn quoted_for_powershell(path: &str) -> String {
    let doubled = |text: String, c: char| {
        let is_quote = matches!(c, '\'' | '\u{2018}'..='\u{201b}');
        if is_quote { format!("{text}{c}{c}") } else { format!("{text}{c}") }
    };
    format!("'{}'", path.chars().fold(String::new(), doubled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("~/files"), "~/files");
        assert_eq!(quoted("C:/Users/ann"), "C:/Users/ann");
        assert_eq!(quoted("/srv/my files"), "'/srv/my files'");
        assert_eq!(quoted("/srv/$(x)'y"), "'/srv/$(x)'\\''y'");
    }

    #[test]
    fn a_path_is_one_word_of_powershell() {
        assert_eq!(quoted_for_powershell("C:/Users/ann"), "'C:/Users/ann'");
        assert_eq!(quoted_for_powershell("C:/$(x)`y"), "'C:/$(x)`y'");
        assert_eq!(quoted_for_powershell("C:/it's"), "'C:/it''s'");
        assert_eq!(quoted_for_powershell("C:/\u{2019};x"), "'C:/\u{2019}\u{2019};x'");
    }
}
