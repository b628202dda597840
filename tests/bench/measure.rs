//! Rounds of calls and what they took; medians and their spread.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use orion_wire::v1;
use orion_wire::v1::tool_service_client::ToolServiceClient;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;

/// A way in, with a person's token where one is wanted.
#[derive(Clone)]
pub(crate) struct Door {
    client: ToolServiceClient<Channel>,
    token: Option<String>,
}

impl Door {
    pub(crate) async fn open(address: &str, token: Option<String>) -> anyhow::Result<Self> {
        let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"))?
            .tcp_nodelay(true)
            .connect()
            .await?;
        Ok(Self { client: ToolServiceClient::new(channel), token })
    }

    /// One call to its end.
    pub(crate) async fn call(
        &mut self,
        device: &str,
        tool: &str,
        arguments: String,
    ) -> anyhow::Result<()> {
        let mut request = tonic::Request::new(v1::CallToolRequest {
            tool: tool.to_owned(),
            device: device.to_owned(),
            arguments: arguments.into(),
            ..v1::CallToolRequest::default()
        });
        if let Some(token) = &self.token {
            let value = MetadataValue::try_from(format!("Bearer {token}"))?;
            request.metadata_mut().insert("authorization", value);
        }
        let call = self.client.call_tool(request).await?.into_inner().call.context("no call")?;
        if call.state() != v1::CallState::Succeeded {
            bail!("a call ended as {:?}: {}", call.state(), String::from_utf8_lossy(&call.result));
        }
        Ok(())
    }
}

/// What one round took.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// Every device gets `calls` calls one after another; the devices side by side, each over a
/// connection of `doors` shared in turn.
pub(crate) async fn round(
    doors: &[Door],
    devices: &[String],
    calls: usize,
    tool: &'static str,
    arguments: fn(usize, usize) -> String,
) -> anyhow::Result<Round> {
    let started = Instant::now();
    let mut callers = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let mut door = doors.get(index % doors.len()).context("no door")?.clone();
        let device = device.clone();
        callers.push(tokio::spawn(async move {
            let mut took = Vec::with_capacity(calls);
            for call in 0..calls {
                let began = Instant::now();
                door.call(&device, tool, arguments(index, call)).await?;
                took.push(began.elapsed());
            }
            anyhow::Ok(took)
        }));
    }
    let mut took = Vec::with_capacity(devices.len() * calls);
    for caller in callers {
        took.extend(caller.await??);
    }
    let whole = started.elapsed();
    took.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a position in a list of thousands"
        )]
        let position = (took.len() as f64 * share) as usize;
        took.get(position.min(took.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let per_second = took.len() as f64 / whole.as_secs_f64();
    Ok(Round { per_second, p50: at(0.5), p99: at(0.99) })
}

/// The middle value, with the smallest and the largest.
pub(crate) fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    (at(values.len() / 2), at(0), at(values.len().saturating_sub(1)))
}
