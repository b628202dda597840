//! English sentences, each with its call.

pub(super) const SAID: &[(&str, &str)] = &[
    ("create folder Test", r#"{"tool":"create_directory","path":"Test"}"#),
    ("what is 12*7?", r#"{"tool":"calculate","expression":"12*7"}"#),
    ("What's (3 + 4) × 2?", r#"{"tool":"calculate","expression":"(3 + 4) * 2"}"#),
    ("calculate 2 ** 10 - 1", r#"{"tool":"calculate","expression":"2 ** 10 - 1"}"#),
    ("how much is 100 ÷ 8", r#"{"tool":"calculate","expression":"100 / 8"}"#),
    (
        "remember that \"The vault is in Ghent\"",
        r#"{"tool":"write_memory","text":"The vault is in Ghent"}"#,
    ),
    (
        "Remember that the backups run on nas-1",
        r#"{"tool":"write_memory","text":"the backups run on nas-1"}"#,
    ),
    ("which devices do I have?", r#"{"tool":"list_devices"}"#),
    ("show my devices", r#"{"tool":"list_devices"}"#),
    ("list devices", r#"{"tool":"list_devices"}"#),
    (
        "Please create a new folder called \"My Photos\".",
        r#"{"tool":"create_directory","path":"My Photos"}"#,
    ),
    (
        "make a folder named Summer 2026 on laptop-123",
        r#"{"tool":"create_directory","device":"laptop-123","path":"Summer 2026"}"#,
    ),
    ("Create a Test folder", r#"{"tool":"create_directory","path":"Test"}"#),
    (
        "Can you create the folder Test in Documents please?",
        r#"{"tool":"create_directory","path":"Documents/Test"}"#,
    ),
    ("in Documents create a folder Test", r#"{"tool":"create_directory","path":"Documents/Test"}"#),
    ("create folder a/b/c", r#"{"tool":"create_directory","path":"a/b/c","parents":true}"#),
    (
        "create a nested folder called Photos",
        r#"{"tool":"create_directory","path":"Photos","parents":true}"#,
    ),
    ("mkdir -p x/y", r#"{"tool":"create_directory","path":"x/y","parents":true}"#),
    (
        "create folder C:/Users/ann/Test",
        r#"{"tool":"create_directory","path":"C:/Users/ann/Test"}"#,
    ),
    (
        "create folder 'C:\\Users\\ann\\It's'",
        r#"{"tool":"create_directory","path":"C:\\Users\\ann\\It's"}"#,
    ),
    ("dry run: create folder Test", r#"{"tool":"create_directory","path":"Test","dry_run":true}"#),
    (
        "create folder Test on kiosk (dry run)",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#,
    ),
    (
        "preview create folder Test on kiosk",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#,
    ),
    (
        "create folder Test as a preview on kiosk",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#,
    ),
    ("what is in Proef", r#"{"tool":"list_directory","path":"Proef"}"#),
    ("list Preview", r#"{"tool":"list_directory","path":"Preview"}"#),
    ("how many files are in Preview", r#"{"tool":"list_directory","path":"Preview"}"#),
    ("create folder Sub in Preview", r#"{"tool":"create_directory","path":"Preview/Sub"}"#),
    ("create folder Sub, preview", r#"{"tool":"create_directory","path":"Sub","dry_run":true}"#),
    (
        "rename notes.txt to b.txt preview",
        r#"{"tool":"move_path","source":"notes.txt","destination":"b.txt","dry_run":true}"#,
    ),
    ("create folder Test (preview)", r#"{"tool":"create_directory","path":"Test","dry_run":true}"#),
    (
        "remember that I use Apple Preview",
        r#"{"tool":"write_memory","text":"I use Apple Preview"}"#,
    ),
    (
        "delete file a.txt, preview",
        r#"{"tool":"delete_file","path":"a.txt","confirm":true,"dry_run":true}"#,
    ),
    ("create folder preview", r#"{"tool":"create_directory","path":"preview"}"#),
    (
        "On the kiosk, create folder Test",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#,
    ),
    ("create folder Test on this computer", r#"{"tool":"create_directory","path":"Test"}"#),
    (
        "create folder Test on label:env=lab",
        r#"{"tool":"create_directory","device":"label:env=lab","path":"Test"}"#,
    ),
    ("list files", r#"{"tool":"list_directory","path":"."}"#),
    ("ls", r#"{"tool":"list_directory","path":"."}"#),
    (
        "list the files in Documents on Laptop-1",
        r#"{"tool":"list_directory","device":"Laptop-1","path":"Documents"}"#,
    ),
    (
        "show me everything in Documents recursively",
        r#"{"tool":"list_directory","path":"Documents","recursive":true}"#,
    ),
    ("What's in Test?", r#"{"tool":"list_directory","path":"Test"}"#),
    ("what’s in the folder \"My Photos\"", r#"{"tool":"list_directory","path":"My Photos"}"#),
    ("which files are there in Downloads?", r#"{"tool":"list_directory","path":"Downloads"}"#),
    ("what is in notes.txt?", r#"{"tool":"read_file","path":"notes.txt"}"#),
    ("list C:", r#"{"tool":"list_directory","path":"C:"}"#),
    (
        "find *.zip files in Downloads",
        r#"{"tool":"search_files","query":"*.zip","path":"Downloads"}"#,
    ),
    ("find all *.zip files", r#"{"tool":"search_files","query":"*.zip","path":"."}"#),
    (
        "find all pdf files in my folder Documents on kiosk",
        r#"{"tool":"search_files","device":"kiosk","query":"*.pdf","path":"Documents"}"#,
    ),
    ("search for .log files", r#"{"tool":"search_files","query":"*.log","path":"."}"#),
    (
        "find files named report.pdf in Documents",
        r#"{"tool":"search_files","query":"report.pdf","path":"Documents"}"#,
    ),
    (
        "find files with invoice in their name",
        r#"{"tool":"search_files","query":"*invoice*","path":"."}"#,
    ),
    ("where is report.pdf?", r#"{"tool":"search_files","query":"report.pdf","path":"."}"#),
    ("read notes.txt", r#"{"tool":"read_file","path":"notes.txt"}"#),
    ("show me the file README", r#"{"tool":"read_file","path":"README"}"#),
    ("show the contents of notes/today.md", r#"{"tool":"read_file","path":"notes/today.md"}"#),
    ("cat /etc/passwd", r#"{"tool":"read_file","path":"/etc/passwd"}"#),
    (
        "read the first 20 lines of server.log",
        r#"{"tool":"read_file","path":"server.log","limit":20}"#,
    ),
    (
        "write \"Hello, world.\" to notes.txt",
        r#"{"tool":"write_file","path":"notes.txt","content":"Hello, world."}"#,
    ),
    (
        "write go to bed to notes.txt",
        r#"{"tool":"write_file","path":"notes.txt","content":"go to bed"}"#,
    ),
    (
        "put “Milk and  bread” in the file shopping list",
        r#"{"tool":"write_file","path":"shopping list","content":"Milk and  bread\n","append":true,"own_line":true}"#,
    ),
    (
        "create a file hello.txt with the text \"hi\"",
        r#"{"tool":"write_file","path":"hello.txt","content":"hi"}"#,
    ),
    (
        "create an empty file hello.txt",
        r#"{"tool":"write_file","path":"hello.txt","content":"","append":true}"#,
    ),
    (
        "append \"more\" to notes.txt",
        r#"{"tool":"write_file","path":"notes.txt","content":"more\n","append":true,"own_line":true}"#,
    ),
    (
        "add a line \"Bread\" to shopping.txt",
        r#"{"tool":"write_file","path":"shopping.txt","content":"Bread\n","append":true,"own_line":true}"#,
    ),
    ("delete folder Test", r#"{"tool":"delete_directory","path":"Test","confirm":true}"#),
    (
        "remove the folder Test and everything in it",
        r#"{"tool":"delete_directory","path":"Test","recursive":true,"confirm":true}"#,
    ),
    (
        "delete the folder Test recursively on kiosk, dry run",
        r#"{"tool":"delete_directory","device":"kiosk","path":"Test","recursive":true,"confirm":true,"dry_run":true}"#,
    ),
    ("open Firefox", r#"{"tool":"open_app","app":"firefox"}"#),
    ("start the app terminal on kiosk", r#"{"tool":"open_app","device":"kiosk","app":"terminal"}"#),
    (
        "open Google Chrome with https://example.com/A?b=c",
        r#"{"tool":"open_app","app":"chrome","args":["https://example.com/A?b=c"]}"#,
    ),
    (
        "open example.com in firefox",
        r#"{"tool":"open_app","app":"firefox","args":["https://example.com"]}"#,
    ),
    ("device info", r#"{"tool":"get_device_info","include":["system","cpu","memory","disk"]}"#),
    (
        "How much disk space is left on kiosk?",
        r#"{"tool":"get_device_info","device":"kiosk","include":["disk"]}"#,
    ),
    ("how much memory is free", r#"{"tool":"get_device_info","include":["memory"]}"#),
    ("which programs are running?", r#"{"tool":"get_device_info","include":["processes"]}"#),
    (
        "which processes use the most memory on kiosk?",
        r#"{"tool":"list_processes","device":"kiosk","sort_by":"memory"}"#,
    ),
    ("what programs use most cpu", r#"{"tool":"list_processes","sort_by":"cpu"}"#),
    (
        "which apps are running on kiosk",
        r#"{"tool":"list_apps","device":"kiosk","running_only":true}"#,
    ),
    ("list the apps", r#"{"tool":"list_apps","running_only":false}"#),
    ("check the health on kiosk", r#"{"tool":"health_check","device":"kiosk"}"#),
    ("check the network on kiosk", r#"{"tool":"check_network","device":"kiosk"}"#),
    (
        "close Firefox on kiosk",
        r#"{"tool":"close_app","device":"kiosk","app":"firefox","confirm":true}"#,
    ),
    ("what is my ip address", r#"{"tool":"get_device_info","include":["network"]}"#),
    ("What time is it?", r#"{"tool":"get_datetime"}"#),
    ("what's the date today", r#"{"tool":"get_datetime"}"#),
    (
        "what time is it in New York on kiosk",
        r#"{"tool":"get_datetime","device":"kiosk","timezone":"America/New_York"}"#,
    ),
    ("what time is it in Asia/Kolkata", r#"{"tool":"get_datetime","timezone":"Asia/Kolkata"}"#),
    ("search for MILK in Projects", r#"{"tool":"search_text","pattern":"MILK","path":"Projects"}"#),
    (
        "search for \"fn main(\" in the folder Projects",
        r#"{"tool":"search_text","pattern":"fn main\\(","path":"Projects"}"#,
    ),
    ("find the text Milk", r#"{"tool":"search_text","pattern":"Milk","path":"."}"#),
    (
        "search Projects for MILK on kiosk",
        r#"{"tool":"search_text","device":"kiosk","pattern":"MILK","path":"Projects"}"#,
    ),
    ("which files contain \"a.b\"?", r#"{"tool":"search_text","pattern":"a\\.b","path":"."}"#),
    ("find the folder invoices", r#"{"tool":"search_directory","name":"invoices","base":"."}"#),
    (
        "where is the folder My Photos?",
        r#"{"tool":"search_directory","name":"My Photos","base":"."}"#,
    ),
    ("what takes up space", r#"{"tool":"analyze_disk","path":".","threshold_mb":0}"#),
    (
        "What is taking up the most disk space in Downloads on kiosk?",
        r#"{"tool":"analyze_disk","device":"kiosk","path":"Downloads","threshold_mb":0}"#,
    ),
    (
        "show me the largest files in Documents",
        r#"{"tool":"analyze_disk","path":"Documents","threshold_mb":0}"#,
    ),
    ("which are the biggest folders", r#"{"tool":"analyze_disk","path":".","threshold_mb":0}"#),
    ("delete file notes.txt", r#"{"tool":"delete_file","path":"notes.txt","confirm":true}"#),
    ("Please delete notes.txt", r#"{"tool":"delete_file","path":"notes.txt","confirm":true}"#),
    (
        "remove the file \"old letter\" on kiosk",
        r#"{"tool":"delete_file","device":"kiosk","path":"old letter","confirm":true}"#,
    ),
    ("move notes.txt to the trash", r#"{"tool":"delete_file","path":"notes.txt","confirm":true}"#),
    (
        "copy notes.txt to letter.txt",
        r#"{"tool":"copy_path","source":"notes.txt","destination":"letter.txt"}"#,
    ),
    (
        "copy a/notes.txt to Archive",
        r#"{"tool":"copy_path","source":"a/notes.txt","destination":"Archive/notes.txt"}"#,
    ),
    (
        "copy the folder Photos to Old Photos",
        r#"{"tool":"copy_path","source":"Photos","destination":"Old Photos"}"#,
    ),
    (
        "copy Photos into Backup",
        r#"{"tool":"copy_path","source":"Photos","destination":"Backup/Photos"}"#,
    ),
    (
        "move draft.md to Done/letter.md",
        r#"{"tool":"move_path","source":"draft.md","destination":"Done/letter.md"}"#,
    ),
    (
        "move \"My Photos\" to the folder Archive",
        r#"{"tool":"move_path","source":"My Photos","destination":"Archive/My Photos"}"#,
    ),
    (
        "rename the file Done/a.txt to b.txt",
        r#"{"tool":"move_path","source":"Done/a.txt","destination":"Done/b.txt"}"#,
    ),
    (
        "rename Test to Demo, dry run",
        r#"{"tool":"move_path","source":"Test","destination":"Demo","dry_run":true}"#,
    ),
    (
        "replace \"Milk\" with \"Oat milk\" in shopping.txt",
        r#"{"tool":"edit_file","path":"shopping.txt","old_text":"Milk","new_text":"Oat milk"}"#,
    ),
    ("show the config file settings.toml", r#"{"tool":"read_config","path":"settings.toml"}"#),
    ("file info for report.pdf", r#"{"tool":"get_file_info","path":"report.pdf"}"#),
    ("how big is report.pdf?", r#"{"tool":"get_file_info","path":"report.pdf"}"#),
    ("when was report.pdf last changed?", r#"{"tool":"get_file_info","path":"report.pdf"}"#),
    (
        "what is the sha256 of report.pdf",
        r#"{"tool":"get_file_info","path":"report.pdf","sha256":true}"#,
    ),
];
