//! Applications on Windows: which program a name means, and what it receives.

use orion_domain::ErrorCode;
use orion_tests::{World, eventually};
use serde_json::json;

use super::drive::{Drive, compiled};
use super::laptop::{FILES, Laptop};

/// A program that writes where it is into a file beside the one that it is to open.
const OPENS: &str = r#"
#include <stdio.h>
#include <windows.h>

int main(int count, char **words) {
    char own[MAX_PATH], name[MAX_PATH];
    GetModuleFileNameA(NULL, own, sizeof own);
    snprintf(name, sizeof name, "%s.opened", words[count - 1]);
    FILE *file = fopen(name, "w");
    fputs(own, file);
    return fclose(file);
}
"#;

/// Tells Windows where an application is: in the registry's part of the machine or of the person.
async fn register(drive: &Drive, part: &str, name: &str, path: &str) {
    let key = format!(r"{part}\SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\{name}");
    let (code, said) = drive.says(&["reg", "add", &key, "/ve", "/d", path, "/f"]).await;
    assert_eq!(code, 0, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_means_the_program_that_an_administrator_or_the_owner_named() {
    let world = World::new().await;
    let names = ["chrome", "code", "editor", "firefox"];
    let bound = "[apps]\neditor = \"C:/tools/editor.exe\"\n";
    let prepare = async |drive: &Drive| {
        let program = compiled(OPENS, world.folder());
        for path in ["Program Files/Fox/fox.exe", "tools/editor.exe", "tools/code.exe"] {
            std::fs::create_dir_all(drive.at(path).parent().unwrap()).unwrap();
            std::fs::write(drive.at(path), &program).unwrap();
        }
        register(drive, "HKLM", "firefox.exe", r#""C:\Program Files\Fox\fox.exe""#).await;
        register(drive, "HKLM", "Code.exe", r"C:\tools\code.exe").await;
        register(drive, "HKCU", "chrome.exe", r"C:\Program Files\Fox\fox.exe").await;
    };
    let Some(laptop) = Laptop::with_apps(&world, &names, bound, prepare).await else { return };

    for (name, program) in
        [("firefox", r"C:\Program Files\Fox\fox.exe"), ("editor", r"C:\tools\editor.exe")]
    {
        std::fs::write(laptop.file(name), "").unwrap();
        let arguments = json!({"app": name, "args": [format!("{FILES}/{name}")]});
        laptop.done("open_app", arguments).await;
        let opened = laptop.file(&format!("{name}.opened"));
        let said = eventually("the program's file", async || {
            std::fs::read_to_string(&opened).ok().filter(|said| !said.is_empty())
        })
        .await;
        assert_eq!(said, program, "{name}");
    }
    let refused = async |tool: &str, arguments: serde_json::Value| {
        laptop.approved(tool, arguments).await.error().clone()
    };
    // Registered by a person, and in a folder that a person may write in.
    for (name, entry) in [("chrome", r"App Paths\chrome.exe"), ("code", r"App Paths\Code.exe")] {
        let error = refused("open_app", json!({"app": name})).await;
        assert_eq!(error.code, ErrorCode::NotSupported, "{error:?}");
        assert!(error.message.contains(entry), "{error:?}");
    }
    let closed = refused("close_app", json!({"app": "editor", "confirm": true})).await;
    assert_eq!(closed.code, ErrorCode::NotSupported, "{closed:?}");
}
