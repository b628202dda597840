//! The English sentences of the grammar. The order matters: more specific sentences come first.

use crate::grammar::{Filled, Row};
use crate::plan::{self, Plan};

const fn row(pattern: &'static str, plan: fn(&Filled) -> Plan) -> Row {
    Row { pattern, plan }
}

const ALL: &[&str] = &["system", "cpu", "memory", "disk"];

/// The sentences.
pub(crate) const ROWS: &[Row] = &[
    // Folders.
    row(
        "create|make|add ?me ?a|an|the ?new|empty nested|whole|deep folder|directory|path ?called|named|with_the_name <path>",
        |f| plan::nested(f.get("path")),
    ),
    row(
        "create|make|add ?me ?a|an|the ?new|empty folder|directory|dir ?called|named|with_the_name <path> with|including|and ?all|any ?missing|its parents|parent_folders",
        |f| plan::nested(f.get("path")),
    ),
    row(
        "create|make|add|new ?me ?a|an|the ?new|empty folder|directory|dir|subfolder ?called|named|with_the_name <path>",
        |f| plan::create(f.get("path")),
    ),
    row(
        "create|make|add|new ?me ?a|an|the ?new|empty folder|directory|dir|subfolder ?called|named|with_the_name <name> in|inside|under|within ?the|my ?folder|directory <parent>",
        |f| plan::create_in(f.get("parent"), f.get("name")),
    ),
    row("create|make|add ?a|the|an ?new|empty <path> folder|directory", |f| {
        plan::create(f.get("path"))
    }),
    row(
        "in ?the|my ?folder|directory <parent> create|make|add ?a|an|the ?new|empty folder|directory|subfolder ?called|named <name>",
        |f| plan::create_in(f.get("parent"), f.get("name")),
    ),
    row("mkdir -p|--parents <path>", |f| plan::nested(f.get("path"))),
    row("mkdir|md <path>", |f| plan::create(f.get("path"))),
    row("delete|remove|erase|trash ?the|my empty folder|directory <path>", |f| {
        plan::delete(f.get("path"))
    }),
    row(
        "delete|remove|erase|trash ?the|my folder|directory|dir ?called|named <path> and|with|including everything|all|all_files ?that_is|that's ?in|inside|below|within ?it",
        |f| plan::delete_all(f.get("path")),
    ),
    row(
        "delete|remove|erase|trash ?the|my folder|directory|dir ?called|named <path> recursively|with_contents|and_contents|and_its_contents|with_all_its_contents|with_its_contents",
        |f| plan::delete_all(f.get("path")),
    ),
    row("delete|remove|erase|trash ?the|my folder|directory|dir ?called|named <path>", |f| {
        plan::delete(f.get("path"))
    }),
    row("delete|remove|erase|trash ?the|my <path> folder|directory", |f| {
        plan::delete(f.get("path"))
    }),
    row("rmdir|rd <path>", |f| plan::delete(f.get("path"))),
    row("move|put ?the|my folder|directory <path> to|in|into ?the trash|bin", |f| {
        plan::delete_all(f.get("path"))
    }),
    // Undo.
    row("undo|revert ?that|this|it ?again", |_| Plan::undo()),
    row("undo|revert|take_back ?the|my last|previous ?call|change|action|thing|step", |_| {
        Plan::undo()
    }),
    row("take that|it|this back", |_| Plan::undo()),
    // Files.
    row("delete|remove|erase|trash ?the|my file ?called|named <path>", |f| {
        plan::delete_file(f.get("path"))
    }),
    row("delete|remove|erase|trash|rm ?the|my <file>", |f| plan::delete_file(f.get("file"))),
    row("move|put|throw ?the|my file ?called|named <path> to|in|into ?the trash|bin", |f| {
        plan::delete_file(f.get("path"))
    }),
    row("move|put|throw ?the|my <file> to|in|into ?the trash|bin", |f| {
        plan::delete_file(f.get("file"))
    }),
    row(
        "copy|duplicate ?the|my ?file|folder|directory <source> to|into|in ?the|my folder|directory <parent>",
        |f| plan::copy_into(f.get("source"), f.get("parent")),
    ),
    row("copy|duplicate ?the|my ?file|folder|directory <source> into ?the|my <parent>", |f| {
        plan::copy_into(f.get("source"), f.get("parent"))
    }),
    row("copy|duplicate ?the|my ?file|folder|directory <source> to|as ?the ?file <target>", |f| {
        plan::copy(f.get("source"), f.get("target"))
    }),
    row(
        "move ?the|my ?file|folder|directory <source> to|into|in ?the|my folder|directory <parent>",
        |f| plan::move_into(f.get("source"), f.get("parent")),
    ),
    row("move ?the|my ?file|folder|directory <source> into ?the|my <parent>", |f| {
        plan::move_into(f.get("source"), f.get("parent"))
    }),
    row("move ?the|my ?file|folder|directory <source> to ?the ?file <target>", |f| {
        plan::move_to(f.get("source"), f.get("target"))
    }),
    row("rename ?the|my ?file|folder|directory <source> to|as|into <target>", |f| {
        plan::rename(f.get("source"), f.get("target"))
    }),
    row(
        "replace|change ?the ?text|word <old> with|by|to|into <new> in ?the|my ?file <path>",
        |f| plan::edit(f.get("path"), f.get("old"), f.get("new")),
    ),
    row(
        "read|show|open|view|display ?me ?the|my config|configuration|settings ?file ?in <path>",
        |f| plan::read_config(f.get("path")),
    ),
    row(
        "?show|give|get|tell|what_is|what's ?me ?the sha256|sha-256|checksum|hash ?sum of|for ?the|my ?file <path>",
        |f| plan::file_hash(f.get("path")),
    ),
    row(
        "?show|give|get|tell ?me ?the ?file info|information|details|facts about|of|for ?the|my file|folder|directory <path>",
        |f| plan::file_info(f.get("path")),
    ),
    row(
        "?show|give|get|tell ?me ?the ?file info|information|details|facts about|of|for ?the|my <file>",
        |f| plan::file_info(f.get("file")),
    ),
    row(
        "?show|give|get|tell ?me file info|information|details ?about|of|for ?the|my <path>",
        |f| plan::file_info(f.get("path")),
    ),
    row("how big|large is ?the|my file <path>", |f| plan::file_info(f.get("path"))),
    row("how big|large is ?the|my <file>", |f| plan::file_info(f.get("file"))),
    row("what_is|what's ?the size of ?the|my ?file <file>", |f| plan::file_info(f.get("file"))),
    row("when was ?the|my ?file|folder <path> ?last changed|modified|edited|written ?last", |f| {
        plan::file_info(f.get("path"))
    }),
    row(
        "create|make|add ?a|an|the ?new ?text file ?called|named <path> with|containing|saying|that_says ?the ?text|content|contents|line|words <text>",
        |f| plan::write(f.get("path"), f.get("text")),
    ),
    row("create|make|add|touch ?a|an|the ?new|empty ?empty ?text file ?called|named <path>", |f| {
        plan::touch(f.get("path"))
    }),
    row("touch <path>", |f| plan::touch(f.get("path"))),
    row(
        "add|append|write|put ?a|the|another ?new line <text> to|into|in|at_the_end_of|to_the_end_of ?the|my ?file <path>",
        |f| plan::append_line(f.get("path"), f.get("text")),
    ),
    row("append|add <text> to|to_the_end_of|at_the_end_of ?the|my ?file <path>", |f| {
        plan::append(f.get("path"), f.get("text"))
    }),
    row(
        "write|put|save|store ?the ?text|words <text> to|into|in|as ?the|a|my ?new ?file ?called|named <path>",
        |f| plan::write(f.get("path"), f.get("text")),
    ),
    row("append <words> to|to_the_end_of ?the|my ?file <path>", |f| {
        plan::append(f.get("path"), f.get("words"))
    }),
    row("write <words> to|into ?the|my ?file <path>", |f| {
        plan::write(f.get("path"), f.get("words"))
    }),
    row(
        "read|show|print|display|view|give ?me ?the first <count> lines of|from|in ?the|my ?file <path>",
        |f| plan::read_lines(f.get("path"), f.get("count")),
    ),
    row(
        "read|show|print|display|view|cat|open|tell ?me ?the|what ?contents|content|text ?of|in ?the|my file <path>",
        |f| plan::read(f.get("path")),
    ),
    row(
        "show|print|display|view|give|read ?me ?the contents|content|text of ?the|my <file>",
        |f| plan::read(f.get("file")),
    ),
    row("show|print|display|view|open|read ?me ?the|my <file>", |f| plan::read(f.get("file"))),
    row("what_is|what's|whats in|inside ?the|my file <path>", |f| plan::read(f.get("path"))),
    row("what_is|what's|whats in|inside ?the|my <file>", |f| plan::read(f.get("file"))),
    row("what_does ?the|my ?file <file> say|contain", |f| plan::read(f.get("file"))),
    row("read|cat <path>", |f| plan::read(f.get("path"))),
    // Searching.
    row(
        "find|search|locate|list|show|get ?me ?for ?all|every|any ?the|my <glob> ?files|file in|inside|under|below|within ?the|my ?folder|directory <path>",
        |f| plan::search(f.get("glob"), f.get("path")),
    ),
    row(
        "find|search|locate|list|show|get ?me ?for ?all|every|any ?the|my <glob> ?files|file",
        |f| plan::search(f.get("glob"), "."),
    ),
    row(
        "search|look in|inside|under ?the|my ?folder|directory <path> for ?all|any ?the <glob> ?files",
        |f| plan::search(f.get("glob"), f.get("path")),
    ),
    row(
        "find|search|locate|list|show|get ?me ?for ?all|every|any ?the|my <kind> files|file|documents in|inside|under|below|within ?the|my ?folder|directory <path>",
        |f| plan::search(f.get("kind"), f.get("path")),
    ),
    row(
        "find|search|locate|list|show|get ?me ?for ?all|every|any ?the|my <kind> files|documents",
        |f| plan::search(f.get("kind"), "."),
    ),
    row(
        "find|search|locate ?for ?all|every|any ?the|my files|file with|containing <name> in ?the|their|its name|names ?in|under ?the|my ?folder <path>",
        |f| plan::search_part(f.get("name"), f.get("path")),
    ),
    row(
        "find|search|locate ?for ?all|every|any ?the|my files|file with|containing <name> in ?the|their|its name|names",
        |f| plan::search_part(f.get("name"), "."),
    ),
    row(
        "find|search|locate|look ?for ?all|every|any|a|the|my ?the file|files ?called|named|with_the_name <name> in|inside|under|below ?the|my ?folder|directory <path>",
        |f| plan::search(f.get("name"), f.get("path")),
    ),
    row(
        "find|search|locate|look ?for ?all|every|any|a|the|my ?the file|files ?called|named|with_the_name <name>",
        |f| plan::search(f.get("name"), "."),
    ),
    row(
        "find|search|locate|look ?for ?the|my <file> in|inside|under|below ?the|my ?folder|directory <path>",
        |f| plan::search(f.get("file"), f.get("path")),
    ),
    row("find|search|locate|look ?for ?the|my <file>", |f| plan::search(f.get("file"), ".")),
    row("where_is|where's|where_are ?the|my ?file|files ?called|named <file>", |f| {
        plan::search(f.get("file"), ".")
    }),
    row(
        "find|search|locate|look ?for ?a|the|my folder|directory ?called|named <name> in|inside|under|below ?the|my ?folder|directory <path>",
        |f| plan::search_folder(f.get("name"), f.get("path")),
    ),
    row("find|search|locate|look ?for ?a|the|my folder|directory ?called|named <name>", |f| {
        plan::search_folder(f.get("name"), ".")
    }),
    row("where_is|where's ?the|my folder|directory ?called|named <name>", |f| {
        plan::search_folder(f.get("name"), ".")
    }),
    row(
        "find|search|look|grep ?for ?the text|word|words|phrase <name> in|inside|under|below|within ?the|my ?file|files|folder|directory ?in|under <path>",
        |f| plan::search_text(f.get("name"), f.get("path")),
    ),
    row("find|search|look|grep ?for ?the text|word|words|phrase <name>", |f| {
        plan::search_text(f.get("name"), ".")
    }),
    row(
        "find|search|look|grep ?for <text> in|inside|under|below|within ?the|my ?file|files|folder|directory ?in|under <path>",
        |f| plan::search_text(f.get("text"), f.get("path")),
    ),
    row("find|search|look|grep ?for <text>", |f| plan::search_text(f.get("text"), ".")),
    row(
        "search|look|grep ?for <name> in|inside|under|below|within ?the|my ?file|files|folder|directory ?in|under <path>",
        |f| plan::search_text(f.get("name"), f.get("path")),
    ),
    row("search ?in ?the|my ?folder|directory|file <path> for ?the ?text|word|words <name>", |f| {
        plan::search_text(f.get("name"), f.get("path"))
    }),
    row(
        "which|what files contain|mention|have|hold ?the ?text|word|words <name> in|under ?the|my ?folder|directory <path>",
        |f| plan::search_text(f.get("name"), f.get("path")),
    ),
    row("which|what files contain|mention|have|hold ?the ?text|word|words <name>", |f| {
        plan::search_text(f.get("name"), ".")
    }),
    // Disk usage, before listings: both are lists.
    row(
        "what|which ?files|folders ?is|are takes|take|uses|use|taking|using ?up ?all|the|so ?most|much ?disk space|room in|inside|under|below ?the|my ?folder|directory <path>",
        |f| plan::analyze(f.get("path")),
    ),
    row(
        "what|which ?files|folders ?is|are takes|take|uses|use|taking|using ?up ?all|the|so ?most|much|my ?disk space|room",
        |_| plan::analyze("."),
    ),
    row(
        "?find|show|list|which|what|get ?me ?are ?the ?my largest|biggest files|folders|files_and_folders|folders_and_files ?are ?there in|inside|under|below ?the|my ?folder|directory <path>",
        |f| plan::analyze(f.get("path")),
    ),
    row(
        "?find|show|list|which|what|get ?me ?are ?the ?my largest|biggest files|folders|files_and_folders|folders_and_files ?are ?there",
        |_| plan::analyze("."),
    ),
    // Processes, before listings: both are lists.
    row(
        "list|show|which|what|get ?me ?all ?the|are ?running processes|programs|tasks ?are ?running ?now",
        |_| plan::info(&["processes"]),
    ),
    row("which|what processes|programs use|uses|take|takes ?up ?the ?most memory|ram", |_| {
        plan::processes("memory")
    }),
    row(
        "which|what processes|programs use|uses|take|takes ?up ?the ?most cpu|processor ?time",
        |_| plan::processes("cpu"),
    ),
    row("?list|show|which|what ?me ?all ?the apps|applications ?are running|run ?now", |_| {
        plan::apps(true)
    }),
    row("?list|show|which|what ?me ?all ?the ?installed|allowed apps|applications", |_| {
        plan::apps(false)
    }),
    row("?check|show|how_is ?me ?the health ?check", |_| plan::health()),
    row("check ?the network|internet ?connection", |_| plan::network()),
    row(
        "?show|list|get ?me ?the ?my network ?info|information|status|interfaces|addresses",
        |_| plan::info(&["network"]),
    ),
    row("what_is|what's|show|tell ?me ?my|the|its ?local ip ?address", |_| {
        plan::info(&["network"])
    }),
    // Listings.
    row(
        "list|show ?me ?all ?of ?the|my ?files|contents|content|everything in|inside|of|below|under ?the|my ?folder|directory <path> recursively|and_below|and_its_subfolders|with_subfolders",
        |f| plan::list_deep(f.get("path")),
    ),
    row(
        "list|show ?me ?all ?the|my files|folders|files_and_folders|contents|content|everything ?that_is|there_is in|inside|of|under ?the|my ?folder|directory <path>",
        |f| plan::list(f.get("path")),
    ),
    row("list|show|open ?me ?the|my ?contents_of ?the folder|directory <path>", |f| {
        plan::list(f.get("path"))
    }),
    row("list|show ?me ?the|my <path> folder|directory", |f| plan::list(f.get("path"))),
    row(
        "list|show|ls|dir ?me ?all ?the|my ?files|folders|files_and_folders|everything|workspace|folder|directory ?here",
        |_| plan::list("."),
    ),
    row("what_is|what's|whats in|inside ?the|my ?folder|directory <path>", |f| {
        plan::list(f.get("path"))
    }),
    row("what_is|what's here|there|in_here|in_there", |_| plan::list(".")),
    row(
        "what|which files|folders|files_and_folders are ?there ?stored in|inside ?the|my ?folder|directory <path>",
        |f| plan::list(f.get("path")),
    ),
    row("what|which files|folders are ?there|here", |_| plan::list(".")),
    row("list|ls|dir <path>", |f| plan::list(f.get("path"))),
    // The device.
    row(
        "?show|give|get|tell ?me ?the ?my device|system|computer|machine info|information|status|details|specs|overview",
        |_| plan::info(ALL),
    ),
    row("what_kind_of|what|which device|computer|machine|system is this|it|that", |_| {
        plan::info(&["system"])
    }),
    row("how_is|how's ?the|my ?this device|computer|machine|system|it ?doing|today", |_| {
        plan::info(ALL)
    }),
    row(
        "how_much disk_space|space|room|disk|storage ?space is|do_i_have|have_i|are ?there ?still ?left|free|available",
        |_| plan::info(&["disk"]),
    ),
    row("how_full is|are ?the|my disk|disks|drive|drives", |_| plan::info(&["disk"])),
    row(
        "?show|check|get|give|what_is|what's ?me ?the|my ?free|available disk|storage ?space|usage|info|free",
        |_| plan::info(&["disk"]),
    ),
    row(
        "how_much ?free memory|ram is|do_i_have|have_i|does_it_have ?there ?still ?left|free|available|used|in_use",
        |_| plan::info(&["memory"]),
    ),
    row(
        "?show|check|get|give|what_is|what's ?me ?the|my ?free|available memory|ram ?usage|use|info|status",
        |_| plan::info(&["memory"]),
    ),
    row("?show|check|get|what_is|what's ?me ?the|my cpu|processor ?usage|load|use|info", |_| {
        plan::info(&["cpu"])
    }),
    row("how_busy is ?the|my cpu|processor|computer|device|machine|it", |_| plan::info(&["cpu"])),
    row("where|which_folders may|can ?you|i work|write|use|read", |_| plan::info(&["workspace"])),
    row("?show ?me ?the allowed folders|paths", |_| plan::info(&["workspace"])),
    // Applications, after files: the same verb opens both.
    row(
        "open|start|launch ?the ?app|application|program|browser <app> with|at|and_go_to ?the ?page|site|address <url>",
        |f| plan::open_at(f.get("app"), f.get("url")),
    ),
    row("open|show|browse_to|go_to <url> in|with|using ?the ?browser <app>", |f| {
        plan::open_at(f.get("app"), f.get("url"))
    }),
    row("open|start|launch|run ?the app|application|program <app>", |f| plan::open(f.get("app"))),
    row("open|start|launch ?the|my ?browser <app> ?app|browser", |f| plan::open(f.get("app"))),
    row("close|quit|exit ?the|my ?app|application|program|browser <app> ?app|browser", |f| {
        plan::close(f.get("app"))
    }),
    // The clock.
    row("what_time is_it ?now in <zone>", |f| plan::clock_in(f.get("zone"))),
    row("what_is|what's ?the|current ?current time|date in <zone>", |f| {
        plan::clock_in(f.get("zone"))
    }),
    row("time in <zone>", |f| plan::clock_in(f.get("zone"))),
    row("what|which time|day|date is it|today ?today|now", |_| plan::clock()),
    row(
        "?what_is|what's|show|tell|give ?me ?the|today's ?current|today's time|date|date_and_time|time_and_date ?now|today",
        |_| plan::clock(),
    ),
    // The backend's own tools.
    row("what_is|what's|whats|calculate|compute|how_much_is <expression>", |f| {
        plan::calculate(f.get("expression"))
    }),
    row("what|which devices do|can i|you have|use|see", |_| plan::devices()),
    row("what|which devices are there|connected|online|mine", |_| plan::devices()),
    row("list|show ?me ?all ?my|the devices", |_| plan::devices()),
    // Help.
    row("help ?me", |_| Plan::Help),
    row("what can|could|do you ?do|understand|know", |_| Plan::Help),
    row("who|what are you", |_| Plan::Help),
];
