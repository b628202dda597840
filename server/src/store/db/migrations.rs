//! The schema's migrations. They are listed rather than found by a macro of the driver, which would build the
//! driver a second time for the compiler.

use std::borrow::Cow;
use std::sync::LazyLock;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Every migration, oldest first. A file here never changes: a database refuses another text.
const FILES: [(i64, &str, &str); 13] = [
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
    (70, "undoings", include_str!("../../../migrations/sqlite/0070_undoings.sql")),
    (80, "revoked invites", include_str!("../../../migrations/sqlite/0080_revoked_invites.sql")),
];

/// The migrations in the driver's form.
pub(in crate::store) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migration = |(version, description, text)| {
        let description = Cow::Borrowed(description);
        let text = SqlStr::from_static(text);
        // The driver's own mark.
        let alone = text.as_str().starts_with("-- no-transaction");
        Migration::new(version, description, MigrationType::Simple, text, alone)
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

    /// A database that has applied a migration opens only with the same text.
    #[test]
    fn no_migration_has_changed() {
        let known = [
            (1, "73d7f6d7aae25e5f"),
            (2, "064b62f19ef41206"),
            (3, "14d111ef4119f066"),
            (4, "87839c330bd3271a"),
            (16, "b82d1e1977a46fe3"),
            (20, "751b2b1ce64c6420"),
            (22, "e2c2d497e4d3b3e0"),
            (30, "b36b6823329cca24"),
            (40, "951121db44cb9198"),
            (50, "a31fd9e4ce8d11aa"),
            (60, "33fe11caef0f8732"),
            (70, "1aa83a415c8c406c"),
            (80, "57c71438e3726457"),
        ];
        let short =
            |migration: &Migration| (migration.version, hex::encode(&migration.checksum[..8]));
        let now: Vec<_> = MIGRATIONS.iter().map(short).collect();
        let now: Vec<_> = now.iter().map(|(version, sum)| (*version, sum.as_str())).collect();
        assert_eq!(now, known, "a new migration is added here, and an old one stays as it is");
    }
}
