//! `list_devices`: the devices on which the person who asks may call something.

use orion_catalog::RunsOn;
use orion_catalog::tools::list_devices::{Arguments, ListDevices, ListedDevice, Returns};
use orion_domain::{ErrorCode, ToolError};
use orion_policy::Selector;

use super::{Context, LocalTool, Outcome};
use crate::pipeline::calls::tools_on;

/// The maximum number of listed devices.
const MAX_LISTED: usize = 200;

impl LocalTool for ListDevices {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Context { caller, devices, .. } = context;
        let selector = match &arguments.selector {
            None => Selector::All,
            Some(text) => Selector::parse(text).ok_or_else(|| unreadable(text))?,
        };
        let mut selected = Vec::new();
        for known in devices.fleet.all() {
            if !known.is_approved() || known.runs() != RunsOn::Device {
                continue;
            }
            if selector.selects(&known.name, known.labels()) {
                selected.push(known);
            }
        }
        selected.sort_by(|a, b| a.name.cmp(&b.name));
        let mut listed = Vec::new();
        let mut count = 0;
        for known in selected {
            let tools: Vec<_> = tools_on(&caller, &known).iter().map(|spec| spec.name).collect();
            if tools.is_empty() {
                continue;
            }
            count += 1;
            if listed.len() < MAX_LISTED {
                listed.push(ListedDevice {
                    name: known.name.to_string(),
                    os: known.facts.as_ref().map(|facts| facts.os.as_str().to_owned()),
                    online: devices.fleet.is_online(known.id),
                    labels: known.labels().clone().into(),
                    tools: tools.into_iter().map(str::to_owned).collect(),
                    projects: known
                        .places()
                        .map(|places| places.projects.written().into_keys().collect())
                        .unwrap_or_default(),
                });
            }
        }
        let message = match (count, listed.len()) {
            (1, _) => "1 device.".to_owned(),
            (count, shown) if count > shown => {
                format!("{count} devices; the first {shown} are listed.")
            }
            (count, _) => format!("{count} devices."),
        };
        let truncated = count > listed.len();
        Ok(Outcome { message, data: Returns { devices: listed, count }, truncated })
    }
}

fn unreadable(text: &str) -> ToolError {
    let shown: String = orion_domain::strip_hidden(text, 64);
    ToolError::new(ErrorCode::InvalidArgument, format!("`{shown}` selects no devices."))
        .hint("write the name of a device, label:env=prod, group:laptops or all")
}
