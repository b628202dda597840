//! Executes `list_apps`.

use std::path::Path;

use orion_catalog::tools::list_apps::{App, Arguments, ListApps, Returns};
use orion_domain::{ToolError, visible};

use super::running::running;
use super::{AppContext, AppTool, Outcome};

impl AppTool for ListApps {
    fn run(arguments: Arguments, context: &AppContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let bound: Vec<_> = context.apps.list().collect();
        let programs: Vec<_> = bound.iter().map(|(_, program)| *program).collect();
        let running = running(&programs, context)?;
        let mut apps: Vec<_> = bound
            .iter()
            .zip(&running)
            .map(|((app, program), pids)| App {
                app: (*app).to_owned(),
                name: program.file_stem().map(|name| visible(&name.to_string_lossy())),
                executable: Some(shown(program)),
                installed: program.is_file(),
                running: !pids.is_empty(),
            })
            .collect();
        let missing = context.apps.missing().map(|app| App {
            app: app.to_owned(),
            name: None,
            executable: None,
            installed: false,
            running: false,
        });
        apps.extend(missing);
        apps.sort_by(|a, b| a.app.cmp(&b.app));
        if arguments.running_only {
            apps.retain(|app| app.running);
        }
        let count = running.iter().filter(|pids| !pids.is_empty()).count();
        let listed = programs.len() + context.apps.missing().count();
        let message = format!("{count} of {listed} applications of this device's list run.");
        Ok(Outcome::new(message, Returns { apps }))
    }
}

fn shown(program: &Path) -> String {
    visible(&program.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use orion_domain::ErrorCode;
    use serde_json::json;

    use super::*;
    use crate::apps::Apps;
    use crate::tools::testing::Device;

    const TOOL: &str = "list_apps";

    #[test]
    fn an_application_that_is_not_installed_is_listed_as_such() {
        let mut device = Device::new();
        device.put("outside/gone", "");
        let explicit = BTreeMap::from([("gone".to_owned(), device.at("outside/none"))]);
        device.apps = Apps::discover(["other"], &explicit).0;
        let app = |app: &str| json!({"app": app, "name": null, "executable": null, "installed": false, "running": false});
        assert_eq!(device.data(TOOL, json!({})), json!({"apps": [app("gone"), app("other")]}));
        assert_eq!(device.data(TOOL, json!({"running_only": true})), json!({"apps": []}));
        let wrong = device.refused(TOOL, json!({"running_only": "yes"}));
        assert_eq!(wrong, ErrorCode::InvalidArgument);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_application_runs_while_a_process_has_its_program() {
        let _alone = crate::tools::testing::alone();
        let mut device = Device::new();
        device.bind_shells(&[("note", "note"), ("other", "other")]);
        let state = |device: &Device| -> Vec<_> {
            let data = device.data(TOOL, json!({}));
            let apps = serde_json::from_value::<Returns>(data).unwrap().apps;
            apps.into_iter().map(|app| (app.app, app.installed, app.running)).collect()
        };
        let expected = |runs| [("note".to_owned(), true, runs), ("other".to_owned(), true, false)];
        assert_eq!(state(&device), expected(false));
        let running = device.open_waiting("note", "");
        assert_eq!(state(&device), expected(true));
        drop(running);
    }
}
