//! `orion devices label`: sets and removes labels of a device.

use clap::Args;
use clap_complete::ArgValueCandidates;
use orion_wire::v1;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::DeviceView;
use crate::text;

/// Sets and removes labels of a device.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices label laptop-123 env=prod group=laptops
  orion devices label laptop-123 env-                   removes the label env

Rules of the policy select devices by labels, so a label can permit something and can forbid it. It counts at once.
Where the policy file gives a device labels, they are changed there.")]
pub(super) struct Label {
    /// The device's name or id; an id may be shortened
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: String,
    /// A label to set, or the key of one to remove with `-` after it
    #[arg(value_name = "KEY=VALUE|KEY-", required = true)]
    labels: Vec<String>,
}

impl Label {
    /// Returns the device's name or id as written.
    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// Runs the command.
    ///
    /// # Errors
    /// There is no such device, a text is no label, or the backend refuses.
    pub(super) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        let (set, remove) = changes(self.labels);
        let request = v1::SetDeviceLabelsRequest { device: self.device, set, remove };
        let answer = client.ask(client.devices().set_device_labels(request)).await?;
        let device = DeviceView::from(answer.device.unwrap_or_default());
        let labels = match device.labels_text() {
            labels if labels.is_empty() => "has no labels".to_owned(),
            labels => format!("has the labels {labels}"),
        };
        app.out.note(&format!("{GOOD}✓{GOOD:#} {} {labels}", text::one_line(&device.name, 80)));
        app.out.show(&device, String::new)?;
        Ok(0)
    }
}

/// Divides what is written into labels to set and keys to remove. What is neither is left to the backend, which says
/// how a label is written.
fn changes(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (mut set, mut remove) = (Vec::new(), Vec::new());
    for word in words {
        match word.strip_suffix('-') {
            Some(key) if !word.contains('=') => remove.push(key.to_owned()),
            Some(_) | None => set.push(word),
        }
    }
    (set, remove)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_a_hyphen_after_it_is_removed_and_the_rest_is_set() {
        let words = ["env=prod", "group-", "a-=b-", "c--", "-", "plain"].map(str::to_owned);
        let (set, remove) = changes(words.to_vec());
        assert_eq!(set, ["env=prod", "a-=b-", "plain"]);
        assert_eq!(remove, ["group", "c-", ""]);
    }
}
