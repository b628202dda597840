//! The built-in planner in chats of several messages, from the words to the files on a device.

use orion_tests::{Cli, Output, World};

/// Says the messages of one chat on the command line, approving each call, and returns the last answer.
async fn chat(cli: &Cli, messages: &[&str]) -> Output {
    let mut conversation = String::new();
    let mut last = None;
    for message in messages {
        let mut words = vec!["ask", "--yes", "-o", "json"];
        if !conversation.is_empty() {
            words.extend(["--conversation", &conversation]);
        }
        words.push(message);
        let answer = cli.run(&words).await;
        conversation = answer.json()["conversation_id"].as_str().unwrap().to_owned();
        last = Some(answer);
    }
    last.unwrap()
}

fn text(answer: &Output) -> String {
    answer.json()["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_is_added_is_on_a_line_of_its_own_in_both_languages() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    for (write, add, name) in [
        ("write \"Milk\" to shopping.txt", "add line \"Bread\" to shopping.txt", "shopping.txt"),
        (
            "schrijf \"Milk\" naar boodschappen.txt",
            "voeg regel \"Bread\" toe aan boodschappen.txt",
            "boodschappen.txt",
        ),
    ] {
        let added = chat(&cli, &[write, add, add]).await;
        assert_eq!(added.code, 0, "{added:?}");
        let content = std::fs::read_to_string(kiosk.path(name)).unwrap();
        assert_eq!(content, "Milk\nBread\nBread\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_steps_are_done_in_their_order_and_the_chat_goes_on_from_them() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for name in ["sea.jpg", "sun.jpg", "notes.txt"] {
        kiosk.write_file(name, name);
    }
    let cli = world.cli();
    let made = chat(&cli, &["make Photos and put all jpgs in it"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let names: Vec<String> = kiosk.tree().into_keys().collect();
    assert_eq!(names, ["Photos", "Photos/sea.jpg", "Photos/sun.jpg", "notes.txt"]);

    let chat_of = ["lees notes.txt", "verwijder het", "zet het terug"];
    let deleted = chat(&cli, &chat_of[..2]).await;
    assert_eq!((deleted.code, kiosk.tree().contains_key("notes.txt")), (0, false), "{deleted:?}");
    assert!(text(&deleted).contains("prullenbak"), "{deleted:?}");
    kiosk.write_file("notes.txt", "notes.txt");
    let back = chat(&cli, &chat_of).await;
    assert_eq!((back.code, kiosk.tree().contains_key("notes.txt")), (0, true), "{back:?}");

    // The second step is not done where the first one fails.
    let failed = chat(&cli, &["rename nothing.txt to b.txt and create folder Later"]).await;
    assert_ne!(failed.code, 0, "{failed:?}");
    assert!(
        !kiosk.tree().contains_key("Later") && text(&failed).contains("not done"),
        "{failed:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_asked_for_and_what_is_not_understood_ends_with_2() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    for (messages, said) in [
        (&["make a folder"][..], "What shall it be called?"),
        (&["maak een map"][..], "Hoe moet het heten?"),
        (&["crate folder Test"][..], "Did you mean “create folder Test”? Say yes or no."),
    ] {
        let asked = chat(&cli, messages).await;
        assert_eq!((asked.code, text(&asked).as_str()), (2, said), "{asked:?}");
    }
    for message in ["fly me to the moon", "delete everything except a.txt", "verwijder a.txt niet"]
    {
        let missed = chat(&cli, &[message]).await;
        assert_eq!((missed.code, text(&missed).lines().count()), (2, 1), "{missed:?}");
    }
    assert!(kiosk.tree().is_empty());
    let made = chat(&cli, &["make a folder", "Photos"]).await;
    assert_eq!((made.code, kiosk.tree().contains_key("Photos")), (0, true), "{made:?}");
    let made = chat(&cli, &["mak een map Test", "ja"]).await;
    assert_eq!((made.code, kiosk.tree().contains_key("Test")), (0, true), "{made:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_missing_is_not_replaced_by_another_in_a_suggestion() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("y.txt", "");
    let missing = chat(&world.cli(), &["delete x.txt"]).await;
    assert_eq!(missing.code, 3, "{missing:?}");
    assert!(!text(&missing).contains("y.txt"), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_device_that_a_request_lacks_is_asked_for_and_a_follow_up_names_another() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let laptop = world.device("laptop").start().await;
    let cli = world.cli();
    let asked = chat(&cli, &["maak een map Test"]).await;
    assert!(text(&asked).ends_with("Op welk apparaat?"), "{asked:?}");
    let made = chat(&cli, &["maak een map Test", "kiosk"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    assert!(kiosk.tree().contains_key("Test") && laptop.tree().is_empty());
    let both = chat(&cli, &["maak een map Twee op kiosk", "en op laptop?"]).await;
    assert_eq!(both.code, 0, "{both:?}");
    assert!(laptop.tree().contains_key("Twee"));
    let several = chat(&cli, &["toon de bestanden op alle laptops"]).await;
    assert_eq!((several.code, text(&several).lines().count()), (2, 1), "{several:?}");
}
