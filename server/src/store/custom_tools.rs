//! The custom tools of devices: their definitions, and what admins decided about each.

use std::collections::HashMap;

use orion_domain::{DeviceId, DeviceName, Digest, Risk, UserName};
use serde::Serialize;

use super::columns::{digest, parsed};
use super::db::{AuditEvent, DecodeError, Durability, FromRow, Row, Tx, sql, values};
use super::{Store, StoreError};

/// The most tools of a device that are kept although the device has them no more. One that comes back as it was
/// needs no new decision.
const MAX_GONE: usize = 64;

/// What was decided about a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomToolState {
    /// Nobody has decided yet.
    Pending,
    /// An admin approved exactly this definition.
    Approved,
    /// An admin rejected it.
    Rejected,
}

impl CustomToolState {
    /// Returns the name that is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

/// A tool that a device announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedTool {
    /// The name.
    pub name: String,
    /// The definition, canonical JSON.
    pub definition: Vec<u8>,
    /// SHA-256 of the definition.
    pub digest: Digest,
}

/// A custom tool of a device. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomToolRow {
    /// The device.
    pub device: DeviceId,
    /// The tool, as it was announced last.
    pub tool: AnnouncedTool,
    /// What was decided about this definition.
    pub state: CustomToolState,
    /// The risk that an admin gave it. None until it is approved.
    pub risk: Option<Risk>,
    /// Whether the device has the tool now.
    pub is_announced: bool,
    /// When this definition was announced first.
    pub announced_at: i64,
    /// Who decided; empty until then.
    pub decided_by: String,
    /// When; 0 until then.
    pub decided_at: i64,
}

impl CustomToolRow {
    /// Returns whether the device has the tool and nobody has decided about it.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.is_announced && self.state == CustomToolState::Pending
    }
}

impl FromRow for CustomToolRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let state = match row.get::<&str>("state")? {
            "pending" => CustomToolState::Pending,
            "approved" => CustomToolState::Approved,
            "rejected" => CustomToolState::Rejected,
            _ => return Err(DecodeError::new("state", "not a state of a custom tool")),
        };
        let risk = match row.get::<&str>("risk")? {
            "" => None,
            text => [Risk::Low, Risk::Medium, Risk::High, Risk::Critical]
                .into_iter()
                .find(|risk| risk.as_str() == text)
                .map(Some)
                .ok_or_else(|| DecodeError::new("risk", "not a risk"))?,
        };
        Ok(Self {
            device: parsed(row, "device_id")?,
            tool: AnnouncedTool {
                name: row.get("name")?,
                definition: row.get("definition")?,
                digest: digest(row, "digest")?,
            },
            state,
            risk,
            is_announced: row.get("is_announced")?,
            announced_at: row.get("announced_at")?,
            decided_by: row.get("decided_by")?,
            decided_at: row.get("decided_at")?,
        })
    }
}

/// An admin's decision about one definition.
#[derive(Debug, Clone)]
pub struct ToolDecision<'a> {
    /// The device.
    pub device: (DeviceId, &'a DeviceName),
    /// The name of the tool.
    pub name: &'a str,
    /// The definition that the admin was shown.
    pub digest: Digest,
    /// The risk of an approved tool. None rejects it.
    pub risk: Option<Risk>,
    /// The admin.
    pub by: &'a UserName,
    /// Unix milliseconds.
    pub at: i64,
}

/// The audit event of a decision about a definition, or of its end.
#[derive(Serialize)]
struct ToolEvent<'a> {
    device_id: DeviceId,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a DeviceName>,
    tool: &'a str,
    definition: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<Risk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
}

impl Store {
    /// Returns whether a device has exactly these tools by what it announced before.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn has_announced(
        &self,
        device: DeviceId,
        tools: &[AnnouncedTool],
    ) -> Result<bool, StoreError> {
        let known: Vec<CustomToolRow> = self.custom_tools_of(device).await?;
        let is_same =
            |tool: &AnnouncedTool| known.iter().any(|row| row.is_announced && row.tool == *tool);
        let announced = known.iter().filter(|row| row.is_announced).count();
        Ok(announced == tools.len() && tools.iter().all(is_same))
    }

    /// Stores the tools that a device has now. A tool with another definition than before waits for a decision
    /// again.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn announce_tools(
        &self,
        device: DeviceId,
        tools: Vec<AnnouncedTool>,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move { announce(tx, device, tools, now).await })
        })
        .await
    }

    /// Stores a decision with its audit event.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]: the device has no such tool. [`StoreError::Conflict`]: it has another
    /// definition by now.
    pub async fn decide_tool(
        &self,
        decision: ToolDecision<'_>,
    ) -> Result<CustomToolRow, StoreError> {
        let ToolDecision { device: (device, device_name), name, digest, risk, by, at } = decision;
        let state =
            if risk.is_some() { CustomToolState::Approved } else { CustomToolState::Rejected };
        let (device_name, name, by) = (device_name.clone(), name.to_owned(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let one = "SELECT * FROM custom_tools WHERE device_id = $1 AND name = $2";
                let row: CustomToolRow =
                    tx.query_one(sql(one).bind(device).bind(name.as_str())).await?;
                if row.tool.digest != digest {
                    return Err(StoreError::Conflict);
                }
                tx.execute(
                    sql("UPDATE custom_tools SET state = $3, risk = $4, decided_by = $5, \
                         decided_at = $6 WHERE device_id = $1 AND name = $2")
                    .with(values![
                        device,
                        name.as_str(),
                        state.as_str(),
                        risk.map_or("", Risk::as_str),
                        &by,
                        at
                    ]),
                )
                .await?;
                let body = ToolEvent {
                    device_id: device,
                    device: Some(&device_name),
                    tool: &name,
                    definition: digest,
                    risk,
                    by: Some(&by),
                };
                let kind = if risk.is_some() { "tool.approved" } else { "tool.rejected" };
                tx.record(AuditEvent::new(at, kind, String::new(), &body)?);
                let decided_by = by.to_string();
                Ok(CustomToolRow { state, risk, decided_by, decided_at: at, ..row })
            })
        })
        .await
    }

    /// Returns the tools of a device, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn custom_tools_of(
        &self,
        device: DeviceId,
    ) -> Result<Vec<CustomToolRow>, StoreError> {
        let text = "SELECT * FROM custom_tools WHERE device_id = $1 ORDER BY name";
        self.db().query(sql(text).bind(device)).await
    }

    /// Returns the tools of every device, each by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn custom_tools(&self) -> Result<HashMap<DeviceId, Vec<CustomToolRow>>, StoreError> {
        let text = "SELECT * FROM custom_tools ORDER BY device_id, name";
        let rows: Vec<CustomToolRow> = self.db().query(sql(text)).await?;
        let mut of_devices: HashMap<DeviceId, Vec<CustomToolRow>> = HashMap::new();
        for row in rows {
            of_devices.entry(row.device).or_default().push(row);
        }
        Ok(of_devices)
    }
}

async fn announce(
    tx: &mut Tx,
    device: DeviceId,
    tools: Vec<AnnouncedTool>,
    now: i64,
) -> Result<(), StoreError> {
    let text = "SELECT * FROM custom_tools WHERE device_id = $1 ORDER BY name";
    let known: Vec<CustomToolRow> = tx.query(sql(text).bind(device)).await?;
    let mut gone: Vec<&CustomToolRow> =
        known.iter().filter(|row| !tools.iter().any(|tool| tool.name == row.tool.name)).collect();
    // Those that were decided last stay.
    gone.sort_by_key(|row| std::cmp::Reverse(row.decided_at));
    for (index, row) in gone.into_iter().enumerate() {
        let text = if row.state == CustomToolState::Pending || index >= MAX_GONE {
            "DELETE FROM custom_tools WHERE device_id = $1 AND name = $2"
        } else {
            "UPDATE custom_tools SET is_announced = FALSE WHERE device_id = $1 AND name = $2"
        };
        tx.execute(sql(text).with(values![device, row.tool.name.as_str()])).await?;
    }
    for tool in tools {
        let before = known.iter().find(|row| row.tool.name == tool.name);
        if before.is_some_and(|row| row.tool == tool) {
            let text =
                "UPDATE custom_tools SET is_announced = TRUE WHERE device_id = $1 AND name = $2";
            tx.execute(sql(text).with(values![device, tool.name])).await?;
            continue;
        }
        if let Some(row) = before.filter(|row| row.state == CustomToolState::Approved) {
            // The approval was for the earlier definition.
            let body = ToolEvent {
                device_id: device,
                device: None,
                tool: &row.tool.name,
                definition: row.tool.digest,
                risk: row.risk,
                by: None,
            };
            tx.record(AuditEvent::new(now, "tool.changed", String::new(), &body)?);
        }
        tx.execute(
            sql("INSERT INTO custom_tools (device_id, name, definition, digest, state, is_announced, \
                 announced_at) VALUES ($1, $2, $3, $4, 'pending', TRUE, $5) \
                 ON CONFLICT (device_id, name) DO UPDATE SET definition = $3, digest = $4, \
                 state = 'pending', risk = '', is_announced = TRUE, announced_at = $5, \
                 decided_by = '', decided_at = 0")
            .with(values![device, tool.name, tool.definition, tool.digest, now]),
        )
        .await?;
    }
    Ok(())
}
