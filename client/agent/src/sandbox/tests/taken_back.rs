//! Undo of a call after the place that it changed became a link out.

use std::fs;

use orion_catalog::tools::undo_call::paths_of;
use orion_domain::CallId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::ground::{Ground, Layers, told};

fn calls() -> [(&'static str, Value); 9] {
    [
        ("write_file", json!({"path": "spot/old.txt", "content": "new"})),
        ("write_file", json!({"path": "spot/new.txt", "content": "new"})),
        ("edit_file", json!({"path": "spot/old.txt", "old_text": "honest", "new_text": "x"})),
        ("create_directory", json!({"path": "spot/new"})),
        ("copy_path", json!({"source": "note.txt", "destination": "spot/copy.txt"})),
        ("move_path", json!({"source": "spot/old.txt", "destination": "moved.txt"})),
        ("move_path", json!({"source": "note.txt", "destination": "spot/moved.txt"})),
        ("delete_file", json!({"path": "spot/old.txt", "confirm": true})),
        ("delete_directory", json!({"path": "spot/sub", "recursive": true, "confirm": true})),
    ]
}

/// The undone calls that changed something outside.
fn escapes(layers: Layers) -> Vec<String> {
    let mut escapes = Vec::new();
    for (tool, arguments) in calls() {
        let ground = Ground::new();
        fs::create_dir_all(ground.at("files/spot/sub")).unwrap();
        fs::write(ground.at("files/spot/old.txt"), "honest = 1\n").unwrap();
        fs::remove_dir_all(ground.at("outside/sub")).unwrap();
        let call = CallId::new(Uuid::now_v7());
        ground.call_as(call, Layers::Both, tool, arguments.clone(), false).unwrap();
        fs::rename(ground.at("files/spot"), ground.at("files/before")).unwrap();
        ground.link("files/spot", "../outside");
        let before = ground.tree("outside");
        let paths = paths_of(tool, arguments.as_object().unwrap());
        let undo = json!({"call_id": call.to_string(), "paths": paths});
        let result = ground.call(layers, "undo_call", undo, false);
        if ground.tree("outside") != before {
            escapes.push(format!("{tool}{arguments}: {}", told(&result)));
        }
    }
    escapes
}

#[test]
fn a_call_is_not_taken_back_outside() {
    for layers in [Layers::Both, Layers::Handles, Layers::Landlock] {
        assert_eq!(escapes(layers), [""; 0], "{layers:?}");
    }
    assert_ne!(escapes(Layers::Neither), [""; 0]);
}
