//! `orion devices enroll`: lets in a device that shows a code, once a person has compared its words.

use clap::Args;
use orion_domain::Hint;
use orion_wire::v1;

use super::grant_flags::GrantFlags;
use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::EnrollmentView;
use crate::terminal;
use crate::text;

/// Lets in a device that shows a code.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices enroll BCDF-GHJK
  orion devices enroll BCDF-GHJK --name laptop-123 --profile operator --path '~/Projects'
  orion devices enroll BCDF-GHJK --words babel-dedan-livex-mobel-pahosh-zatig
  orion devices enroll BCDF-GHJK --refuse

On the device: orion-agent enroll --server HOST. Confirm only if the device in front of you shows the same words. Somebody
who gives you a code and words by telephone or in a message may have a device of their own.")]
pub(crate) struct Enroll {
    /// The code that the device shows; case and hyphen do not matter
    #[arg(value_name = "CODE")]
    code: String,
    /// The name the device will have; it suggests one itself when nothing is said
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The words that the device shows. A script needs them: --yes confirms nothing here
    #[arg(long, value_name = "WORDS")]
    words: Option<String>,
    /// Turn the device away instead
    #[arg(long, conflicts_with_all = ["name", "words", "profile", "paths", "tools", "apps", "grants"])]
    refuse: bool,
    #[command(flatten)]
    grants: GrantFlags,
}

impl Enroll {
    /// Runs the command.
    ///
    /// # Errors
    /// The code or the words are wrong, the person says no, or the backend rejects it.
    pub(crate) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        let Self { code, name, words, refuse, grants } = self;
        if refuse {
            return self::refuse(app, client, code).await;
        }
        let grants = grants.to_json()?;
        let words = match words {
            Some(words) => words,
            None => compare(app, client, &code).await?,
        };
        let name = name.unwrap_or_default();
        let request = v1::ConfirmEnrollmentRequest { code, words, name: name.clone(), grants };
        let answer = client.ask(client.devices().confirm_enrollment(request)).await?;
        let device = EnrollmentView::from(answer.enrollment.unwrap_or_default());
        let name = if name.is_empty() { &device.name } else { &name };
        app.out.note(&format!(
            "{GOOD}✓{GOOD:#} {} is confirmed and enrols by itself in a few seconds",
            text::one_line(name, 80)
        ));
        app.out.show(&device, String::new)?;
        Ok(0)
    }
}

/// Shows what asks, and returns its words once a person has said that the device shows the same.
async fn compare(app: &App<'_>, client: &Client, code: &str) -> Result<String, Failure> {
    if !terminal::is_interactive() {
        let message = "nobody was let in: there is no terminal to compare the device's words";
        return Err(Failure::Usage(message.to_owned())
            .hint("read the words on the device, and give them with --words"));
    }
    let request = v1::FindEnrollmentRequest { code: code.to_owned() };
    let found = client.ask(client.devices().find_enrollment(request)).await?;
    let device = EnrollmentView::from(found.enrollment.unwrap_or_default());
    app.out.error_line(&device.card(app.out));
    app.out.error_line(
        "Confirm only if the device in front of you shows these words. A code that somebody sent you may be of a device of theirs.",
    );
    if terminal::confirm("Does the device in front of you show the same words?").await? {
        return Ok(device.words);
    }
    let request = v1::RefuseEnrollmentRequest { code: code.to_owned() };
    client.ask(client.devices().refuse_enrollment(request)).await?;
    let message = format!("{} was refused", text::one_line(&device.name, 80));
    Err(Failure::Conflict(message).hint(Hint::new(
        "if the device shows other words, somebody may be between it and the backend: enrol it from another network, or with a token",
    )))
}

async fn refuse(app: &App<'_>, client: &Client, code: String) -> Result<u8, Failure> {
    let request = v1::RefuseEnrollmentRequest { code };
    let answer = client.ask(client.devices().refuse_enrollment(request)).await?;
    let device = EnrollmentView::from(answer.enrollment.unwrap_or_default());
    app.out.note(&format!("{GOOD}✓{GOOD:#} {} is refused", text::one_line(&device.name, 80)));
    app.out.show(&device, String::new)?;
    Ok(0)
}
