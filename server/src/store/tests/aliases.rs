//! Aliases: per person, bounded, and in the audit log.

use serde_json::json;

use super::*;
use crate::store::{AliasRow, MAX_ALIASES};

fn alias(person: &str, name: &str, tool: &str, set_at: i64) -> AliasRow {
    let arguments = json!({"path": "notes", "recursive": true});
    let arguments = arguments.as_object().unwrap().clone();
    let (name, tool) = (name.to_owned(), tool.to_owned());
    AliasRow { user: user(person), name, tool, arguments, set_at }
}

#[tokio::test]
async fn each_person_has_aliases_of_their_own_and_no_more_than_so_many() {
    let place = Place::new().await;
    let store = &place.store;
    for person in ["ann", "bob"] {
        store.create_user(&user(person), Role::Operator, None, &user("admin"), 1).await.unwrap();
    }
    let first = alias("ann", "notes", "list_directory", 1);
    assert!(store.set_alias(&first).await.unwrap());
    assert!(store.set_alias(&alias("bob", "notes", "search_files", 1)).await.unwrap());
    assert_eq!(store.alias(&user("ann"), "notes").await.unwrap(), Some(first.clone()));
    assert_eq!(store.alias(&user("ann"), "other").await.unwrap(), None);
    for number in 1..MAX_ALIASES {
        let next = alias("ann", &format!("a{number}"), "read_file", number);
        assert!(store.set_alias(&next).await.unwrap());
    }
    assert!(!store.set_alias(&alias("ann", "more", "read_file", 2)).await.unwrap(), "full");
    let second = alias("ann", "notes", "read_file", 3);
    assert!(store.set_alias(&second).await.unwrap(), "one that is there is replaced");
    assert!(!store.remove_alias(&first, 4).await.unwrap(), "it is another one by now");
    assert!(store.remove_alias(&second, 5).await.unwrap());
    assert!(store.set_alias(&alias("ann", "more", "read_file", 6)).await.unwrap());
    let names = store.aliases(&user("ann")).await.unwrap();
    assert_eq!((names.len(), &*names[0].name), (64, "a1"));
    assert_eq!(store.aliases(&user("bob")).await.unwrap().len(), 1);
    let rows = place.audit().await;
    let rows: Vec<_> = rows.iter().filter(|(kind, _)| kind.starts_with("alias.")).collect();
    assert_eq!((rows.len(), &rows[0].1["tool"]), (68, &json!("list_directory")));
}
