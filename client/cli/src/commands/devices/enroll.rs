//! `orion devices enroll`: lets in a device that shows a code, once a person has typed its words.

use clap::Args;
use orion_domain::Hint;
use orion_wire::v1;

use super::grant_flags::GrantFlags;
use super::grants::note_no_tool;
use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{ConfirmedView, EnrollmentView};
use crate::terminal;
use crate::text;

/// What a person types instead of words to turn the device away.
const REFUSE: &str = "refuse";
/// What to keep in mind of a code.
const SENT: &str = "A code that somebody sent you may be of a device of theirs.";

/// Lets in a device that shows a code.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices enroll BCDF-GHJK
  orion devices enroll BCDF-GHJK --name laptop-123 --profile operator --path '~/Projects'
  orion devices enroll BCDF-GHJK --words babel-dedan-livex --yes
  orion devices enroll BCDF-GHJK --refuse

On the device: orion-agent enroll --server HOST. Type the words from the device in front of you; it then asks for the two
words that you see here. Somebody who gives you a code and words by telephone or in a message may have a device of their
own.")]
pub(crate) struct Enroll {
    /// The code that the device shows; case and hyphen do not matter
    #[arg(value_name = "CODE")]
    code: String,
    /// The name the device will have; it suggests one itself when nothing is said
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The words that the device shows. A script gives them with --yes, which alone confirms nothing
    #[arg(long, value_name = "WORDS")]
    words: Option<String>,
    /// Turn the device away instead
    #[arg(long, conflicts_with_all = ["name", "words", "profile", "paths", "tools", "apps", "grants", "labels"])]
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
        let (labels, grants) = (grants.labels.clone(), grants.to_json()?);
        let words = match words {
            Some(words) if app.yes => words,
            Some(words) => {
                agree(app, client, &code).await?;
                words
            }
            None => typed_words(app, client, &code).await?,
        };
        let name = name.unwrap_or_default();
        let request = v1::ConfirmEnrollmentRequest {
            code,
            words,
            name: name.clone(),
            grants: grants.clone(),
            labels,
        };
        let answer = client.ask(client.devices().confirm_enrollment(request)).await?;
        let v1::ConfirmEnrollmentResponse { enrollment, valid_until: _, answer } = answer;
        let device = EnrollmentView::from(enrollment.unwrap_or_default());
        let name = if name.is_empty() { &device.name } else { &name };
        app.out.note(&format!(
            "{GOOD}✓{GOOD:#} {}, which asked from {}, may enrol within 10 min",
            text::one_line(name, 80),
            text::one_line(&device.address, 80),
        ));
        let granted = if grants.is_empty() { "{}" } else { &grants };
        let (name, granted) = (name.clone(), serde_json::from_str(granted));
        let answer = text::one_line(&answer, 80);
        let shown = format!("Confirmed. On the device, type: {answer}");
        app.out.show(&ConfirmedView { device, answer }, || shown)?;
        if let Ok(granted) = granted {
            note_no_tool(app, &name, &granted);
        }
        Ok(0)
    }
}

/// Shows what asks, and returns the words that a person reads on the device and types.
async fn typed_words(app: &App<'_>, client: &Client, code: &str) -> Result<String, Failure> {
    let device = seen(app, client, code).await?;
    app.out.error_line(&format!(
        "Type the words only from the device in front of you. {SENT} To turn it away, type: {REFUSE}"
    ));
    // A mere Enter decides nothing.
    loop {
        let typed =
            terminal::Question::new("Type the words that the device shows:").answer().await?;
        match typed.trim() {
            "" => {}
            REFUSE => return Err(turned_away(client, code, &device).await?),
            words => return Ok(words.to_owned()),
        }
    }
}

/// Shows what asks, and has a person agree to the words that were given.
async fn agree(app: &App<'_>, client: &Client, code: &str) -> Result<(), Failure> {
    let device = seen(app, client, code).await?;
    app.out.error_line(SENT);
    if terminal::confirm("Does the device in front of you show these words?").await? {
        return Ok(());
    }
    let message =
        format!("{} was not let in, and nothing was decided", text::one_line(&device.name, 80));
    Err(Failure::Conflict(message).hint(Hint::new("turn it away with --refuse")))
}

async fn seen(app: &App<'_>, client: &Client, code: &str) -> Result<EnrollmentView, Failure> {
    if !terminal::is_interactive() {
        let message =
            "nobody was let in: there is no terminal to see the device and to type its words";
        return Err(Failure::Usage(message.to_owned())
            .hint("read the words on the device, and give them with --words and --yes"));
    }
    let request = v1::FindEnrollmentRequest { code: code.to_owned() };
    let found = client.ask(client.devices().find_enrollment(request)).await?;
    let device = EnrollmentView::from(found.enrollment.unwrap_or_default());
    app.out.error_line(&device.card(app.out));
    Ok(device)
}

async fn turned_away(
    client: &Client,
    code: &str,
    device: &EnrollmentView,
) -> Result<Failure, Failure> {
    let request = v1::RefuseEnrollmentRequest { code: code.to_owned() };
    client.ask(client.devices().refuse_enrollment(request)).await?;
    let message = format!("{} was refused", text::one_line(&device.name, 80));
    Ok(Failure::Conflict(message).hint(Hint::new(
        "if its words were not accepted, somebody may be between it and the backend: enrol it from another network, or with a token",
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
