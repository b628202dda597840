//! The schema's migrations. They are listed rather than found by a macro of the driver, which would build the
//! driver a second time for the compiler.

use std::borrow::Cow;
use std::sync::LazyLock;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Every migration, oldest first. A file here never changes: a database refuses another text.
const FILES: [(i64, &str, &str); 11] = [
    (1, "first", include_str!("../../../migrations/sqlite/0001_first.sql")),
    (2, "chats", include_str!("../../../migrations/sqlite/0002_chats.sql")),
    (
        3,
        "requests and habits",
        include_str!("../../../migrations/sqlite/0003_requests_and_habits.sql"),
    ),
    (4, "removals", include_str!("../../../migrations/sqlite/0004_removals.sql")),
    (16, "turns", include_str!("../../../migrations/sqlite/0016_turns.sql")),
    (
        20,
        "schedules and macros",
        include_str!("../../../migrations/sqlite/0020_schedules_and_macros.sql"),
    ),
    (22, "relayed content", include_str!("../../../migrations/sqlite/0022_relayed_content.sql")),
    (30, "passkeys", include_str!("../../../migrations/sqlite/0030_passkeys.sql")),
    (40, "invite scope", include_str!("../../../migrations/sqlite/0040_invite_scope.sql")),
    (50, "device labels", include_str!("../../../migrations/sqlite/0050_device_labels.sql")),
    (60, "pending reason", include_str!("../../../migrations/sqlite/0060_pending_reason.sql")),
];

/// The migrations in the driver's form.
pub(in crate::store) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migration = |(version, description, text)| {
        let description = Cow::Borrowed(description);
        let text = SqlStr::from_static(text);
        Migration::new(version, description, MigrationType::Simple, text, false)
    };
    Migrator::with_migrations(FILES.map(migration).into())
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_listed_under_its_own_version() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
        let mut found: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap();
                let (version, description) = name.split_once('_').unwrap();
                let text = std::fs::read_to_string(&path).unwrap();
                (version.parse().unwrap(), description.replace('_', " "), text)
            })
            .collect();
        found.sort();
        let listed = FILES
            .map(|(version, description, text)| (version, description.to_owned(), text.to_owned()));
        assert_eq!(found, listed);
    }
}
