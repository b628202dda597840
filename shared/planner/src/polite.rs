//! Removes what surrounds a request: courtesies and the wish for a preview.

use crate::words::Word;

/// Removes courtesies from the start.
pub(crate) fn trim_start(words: &[Word]) -> &[Word] {
    const BEFORE: &str = "\
    i_would_like_you_to do_me_a_favor_and i_want_you_to i'd_like_you_to i_need_you_to i_would_like_to \
    ik_wil_dat_je i_want_to i'd_like_to i_need_to help_me_to go_ahead_and \
    would_you_mind would_you_please tell_me_please ik_wil_graag ik_zou_graag help_me_om can_you \
    could_you would_you will_you can_u i_wanna let_us help_me go_and \
    yes_please thank_you kun_je kan_je wil_je zou_je kunt_u wilt_u zou_u kan_jij kun_jij ik_wil ik_moet \
    zullen_we zou_jij dank_je voor_mij voor_me please kindly hey hi hello orion \
    ok okay now and then also just so well quickly let's quick oh great thanks cool right alright hallo \
    hoi graag even alsjeblieft alstublieft aub nu en dan ook daarna eens snel goed dag bedankt oké oke \
";
    let mut words = words;
    while let Some(rest) = BEFORE.split_whitespace().find_map(|phrase| after(words, phrase)) {
        words = rest;
    }
    words
}

/// Removes courtesies from both ends.
pub(crate) fn trim(words: &[Word]) -> &[Word] {
    const AFTER: &str = "\
    if_you_can at_the_moment als_je_wilt als_het_kan op_dit_moment thank_you for_me right_now real_quick \
    as_well if_possible would_you will_you could_you can_you at_once dank_je dank_u voor_mij voor_me \
    please thanks thx now quickly too then ok okay immediately pls plz alsjeblieft alstublieft aub graag \
    bedankt dankjewel orion eens even nu ook meteen svp \
";
    let mut words = trim_start(words);
    while let Some(rest) = AFTER.split_whitespace().find_map(|phrase| before(words, phrase)) {
        words = rest;
    }
    words
}

/// Removes from the end what can only be a courtesy, and no part of a text: "thanks", unlike "now" and "thank you".
pub(crate) fn without_thanks(words: &[Word]) -> &[Word] {
    const THANKS: [&str; 12] = [
        "please",
        "pls",
        "plz",
        "thanks",
        "thx",
        "alsjeblieft",
        "alstublieft",
        "aub",
        "svp",
        "graag",
        "bedankt",
        "dankjewel",
    ];
    let end = words.iter().rposition(|word| !THANKS.contains(&&*word.key));
    words.get(..=end.unwrap_or_default()).unwrap_or_default()
}

/// Returns the words without the wish for a preview. `None` where there is no such wish.
pub(crate) fn preview(words: &[Word]) -> Option<&[Word]> {
    const AT_THE_START: [&str; 10] = [
        "as_a_dry_run",
        "as_a_preview",
        "dry_run",
        "dry-run",
        "dryrun",
        "preview",
        "als_proef",
        "bij_wijze_van_proef",
        "proefdraaien",
        "proef",
    ];
    const AT_THE_END: [&str; 13] = [
        "as_a_dry_run",
        "as_dry_run",
        "as_a_preview",
        "as_preview",
        "with_dry_run",
        "dry_run",
        "dry-run",
        "dryrun",
        "als_proef",
        "als_preview",
        "als_dry_run",
        "bij_wijze_van_proef",
        "proefdraaien",
    ];
    /// Words that are names as well.
    const OR_A_NAME: [&str; 2] = ["preview", "proef"];
    AT_THE_START
        .iter()
        .find_map(|phrase| after(words, phrase))
        .or_else(|| AT_THE_END.iter().find_map(|phrase| before(words, phrase)))
        .or_else(|| {
            let rest = OR_A_NAME.iter().find_map(|phrase| before(words, phrase))?;
            (!wants_a_name(rest)).then_some(rest)
        })
}

/// Returns whether the word that follows these is a name: "delete the folder Preview", "what is in Preview", "list
/// Preview".
fn wants_a_name(words: &[Word]) -> bool {
    const BEFORE_A_NAME: &str = "\
        file folder directory document device bestand map mapje apparaat a an the my een de mijn in inside \
        into on onto of to from with for by under over called named op aan van naar uit onder voor door bij \
        genaamd \
    ";
    let Some(last) = words.last() else { return true };
    let is_open = words.len() == 1 || BEFORE_A_NAME.split_whitespace().any(|it| it == last.key);
    is_open && last.quoted.is_none() && !last.breaks
}

/// Returns the name in an answer such as "call it Photos" or "on the kiosk".
pub(crate) fn name_only(words: &[Word]) -> &[Word] {
    const LEADS: &str = "\
    call_it name_it it's_called it_is_called it's called named make_it use in_the in_my into_the to_the \
    on_the on_my the_file the_folder in into to on the my noem_het noem_hem noem_die het_heet genaamd \
    doe_maar doe in_de in_mijn naar_de naar_mijn op_de op_het op_mijn het_bestand de_map naar op de het \
    mijn \
";
    LEADS
        .split_whitespace()
        .find_map(|lead| after(words, lead))
        .filter(|it| !it.is_empty())
        .unwrap_or(words)
}

/// Returns the words behind a phrase that they begin with.
pub(crate) fn after<'a>(words: &'a [Word], phrase: &str) -> Option<&'a [Word]> {
    let (head, rest) = words.split_at_checked(phrase.split('_').count())?;
    is(head, phrase).then_some(rest)
}

/// Returns the words before a phrase that they end with.
pub(crate) fn before<'a>(words: &'a [Word], phrase: &str) -> Option<&'a [Word]> {
    let (rest, tail) =
        words.split_at_checked(words.len().checked_sub(phrase.split('_').count())?)?;
    is(tail, phrase).then_some(rest)
}

fn is(words: &[Word], phrase: &str) -> bool {
    phrase.split('_').zip(words).all(|(part, word)| word.key == part)
}
