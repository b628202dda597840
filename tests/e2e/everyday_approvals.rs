//! Chats of an ordinary day, which read before they write: a person is asked about what is risky, and about
//! nothing else.

use orion_tests::{Answer, Device, HeldModel, World};
use orion_wire::v1;
use serde_json::{Value, json};

/// The most questions of a chat of twenty requests.
const MAX_QUESTIONS: usize = 2;

/// Says something, approves whatever is asked, and returns the tools that were asked about.
async fn approving(world: &World, chat: &str, text: &str) -> (Answer, Vec<String>) {
    let (admin, chat, text) = (world.admin().clone(), chat.to_owned(), text.to_owned());
    let talking = tokio::spawn(async move { admin.say_in(&chat, &text).await });
    let mut asked = Vec::new();
    while !talking.is_finished() {
        let request = v1::ListApprovalsRequest { all: false };
        let open = world.admin().approvals().list_approvals(request).await.unwrap().into_inner();
        for card in open.approvals {
            if world.admin().decide(&card.approval_id, true, "").await.is_ok() {
                asked.push(card.tool);
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    (talking.await.unwrap(), asked)
}

fn files(device: &Device) {
    device.write_file("notes/monday.txt", "Call the plumber. Buy milk, bread and eggs.\n");
    device.write_file("notes/tuesday.txt", "Meeting with Bob at ten o'clock in the library.\n");
    device.write_file("shopping.txt", "Milk\nBread\n");
    device.write_file("a.jpg", "picture");
    device.write_file("b.jpg", "picture");
    device.write_file("old/draft.txt", "An old draft of nothing.\n");
    device.write_file("config.toml", "name = \"demo\"\nport = 8080\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_with_the_planner_asks_about_deletions_alone() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    files(&kiosk);
    let requests = [
        "list my files",
        "read notes/monday.txt",
        "make a folder Photos",
        "read shopping.txt",
        "add line \"Eggs\" to shopping.txt",
        "read shopping.txt",
        "write \"Call Ann\" to notes/wednesday.txt",
        "copy notes/monday.txt to notes/monday-copy.txt",
        "list notes",
        "move a.jpg to Photos/a.jpg",
        "move b.jpg to Photos/b.jpg",
        "list Photos",
        "search for draft in old",
        "read old/draft.txt",
        "write \"Milk and bread\" to list.txt",
        "read list.txt",
        "delete old/draft.txt",
        "make a folder archive",
        "move notes/monday-copy.txt to archive/monday.txt",
        "list archive",
    ];
    let (mut chat, mut asked) = (String::new(), Vec::new());
    for request in requests {
        let (answer, questions) = approving(&world, &chat, request).await;
        assert!(!answer.calls.is_empty(), "{request}: {answer:?}");
        assert!(answer.calls.iter().all(|call| call.end().1.is_none()), "{request}: {answer:?}");
        chat = answer.conversation;
        asked.extend(questions);
    }
    assert_eq!(asked, ["delete_file"]);
    assert!(asked.len() <= MAX_QUESTIONS);
}

/// A request, and the calls that the model makes of it, one after the other.
type Turn = (&'static str, Vec<(&'static str, Value)>);

/// Holds a chat with a scripted model, and returns the tools that were asked about.
async fn hold(world: &World, model: &mut HeldModel, turns: Vec<Turn>) -> Vec<String> {
    assert_eq!(turns.len(), 20);
    let (mut chat, mut asked) = (String::new(), Vec::new());
    for (request, calls) in turns {
        let count = calls.len();
        let script = async {
            for (tool, arguments) in calls {
                model.asked().await.call(&[(tool, arguments)]).await;
            }
            model.asked().await.answer("Done.").await;
        };
        let ((answer, questions), ()) = tokio::join!(approving(world, &chat, request), script);
        assert_eq!(answer.calls.len(), count, "{request}: {answer:?}");
        for call in &answer.calls {
            assert_eq!(call.end().1, None, "{request}: {call:?}");
        }
        chat = answer.conversation;
        asked.extend(questions);
    }
    asked
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": content}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_with_a_model_asks_about_what_is_copied_and_what_is_deleted() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let kiosk = world.device("kiosk").start().await;
    files(&kiosk);
    let summary = "This week: the plumber, some groceries, and a talk with Bob on Tuesday.\n";
    let turns: Vec<Turn> = vec![
        ("what is here?", vec![("list_directory", json!({"path": "."}))]),
        ("what do I have to do?", vec![read("notes/monday.txt"), read("notes/tuesday.txt")]),
        ("sum it up in week.txt", vec![write("week.txt", summary)]),
        ("what do I need to buy?", vec![read("shopping.txt")]),
        ("eggs too", vec![write("shopping.txt", "Milk\nBread\nEggs\n")]),
        (
            "the port should be 9090",
            vec![
                read("config.toml"),
                (
                    "edit_file",
                    json!({"path": "config.toml", "old_text": "8080", "new_text": "9090"}),
                ),
            ],
        ),
        (
            "put the pictures into a folder",
            vec![
                ("search_files", json!({"query": "*.jpg", "path": "."})),
                ("create_directory", json!({"path": "Photos"})),
                ("move_path", json!({"source": "a.jpg", "destination": "Photos/a.jpg"})),
                ("move_path", json!({"source": "b.jpg", "destination": "Photos/b.jpg"})),
            ],
        ),
        ("are they there?", vec![("list_directory", json!({"path": "Photos"}))]),
        ("write that the meeting is in the library", vec![write("where.txt", "In the library.")]),
        (
            "keep a copy of my notes",
            vec![("copy_path", json!({"source": "notes", "destination": "backup"}))],
        ),
        ("how big is it?", vec![("analyze_disk", json!({"path": "backup"}))]),
        ("where is the draft?", vec![("search_text", json!({"pattern": "draft", "path": "."}))]),
        ("throw it away", vec![("delete_file", json!({"path": "old/draft.txt", "confirm": true}))]),
        ("read my week again", vec![read("week.txt")]),
        (
            "and put Monday on the fridge list, exactly as it is",
            vec![write("fridge.txt", "Call the plumber. Buy milk, bread and eggs.\n")],
        ),
        ("what is on it now?", vec![read("fridge.txt")]),
        ("add Friday: swimming", vec![write("friday.txt", "Swimming at eight.\n")]),
        ("what time is it?", vec![("get_datetime", json!({}))]),
        (
            "rename friday",
            vec![("move_path", json!({"source": "friday.txt", "destination": "fri.txt"}))],
        ),
        ("list everything", vec![("list_directory", json!({"path": "."}))]),
    ];
    assert_eq!(hold(&world, &mut model, turns).await, ["delete_file", "write_file"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_on_two_devices_asks_about_what_goes_from_one_to_the_other_unasked() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let (laptop, server) = (world.device("laptop"), world.device("server"));
    let (laptop, server) = (laptop.start().await, server.start().await);
    files(&laptop);
    files(&server);
    let on = |device: &str, (tool, mut arguments): (&'static str, Value)| {
        arguments["device"] = device.into();
        (tool, arguments)
    };
    let here = |call| on("laptop", call);
    let there = |call| on("server", call);
    let list = |path: &str| ("list_directory", json!({"path": path}));
    let turns: Vec<Turn> = vec![
        ("what is on my laptop?", vec![here(list("."))]),
        ("and on the server?", vec![there(list("."))]),
        ("read Monday on the laptop", vec![here(read("notes/monday.txt"))]),
        ("make a list of it", vec![here(write("todo.txt", "1. plumber\n2. groceries\n"))]),
        ("how full is the server?", vec![there(("check_disk_space", json!({})))]),
        ("note that on the server", vec![there(write("disk.txt", "Enough room.\n"))]),
        ("make a folder logs there", vec![there(("create_directory", json!({"path": "logs"})))]),
        ("and a file in it", vec![there(write("logs/first.txt", "Nothing yet.\n"))]),
        ("read the config of the server", vec![there(read("config.toml"))]),
        (
            "set its port to 9000",
            vec![there((
                "edit_file",
                json!({"path": "config.toml", "old_text": "8080", "new_text": "9000"}),
            ))],
        ),
        ("back to the laptop: what do I need?", vec![here(read("shopping.txt"))]),
        ("butter as well", vec![here(write("shopping.txt", "Milk\nBread\nButter\n"))]),
        (
            "copy the notes",
            vec![here(("copy_path", json!({"source": "notes", "destination": "n2"})))],
        ),
        ("what time is it there?", vec![here(("get_datetime", json!({})))]),
        ("is the draft still here?", vec![here(read("old/draft.txt"))]),
        ("then tidy up everywhere", vec![there(write("tidy.txt", "All tidy.\n"))]),
        ("read Tuesday on the server", vec![there(read("notes/tuesday.txt"))]),
        ("write the day on the laptop", vec![here(write("day.txt", "Tuesday: Bob.\n"))]),
        ("list the notes", vec![here(list("notes"))]),
        ("bye", vec![here(("get_datetime", json!({})))]),
    ];
    // The last write but one went to the server while the person spoke of the laptop.
    assert_eq!(hold(&world, &mut model, turns).await, ["write_file"]);
}
