//! The lists of services and of logs of some grants.

use orion_domain::grants::{LogGrant, ServiceGrant};
use orion_domain::services::Service;

use crate::finding::{Code, Findings};
use crate::read::{self, Fields};
use crate::yaml::{Node, Value};

/// Reads a list of services.
pub(super) fn read(node: &Node, findings: &mut Findings) -> Vec<ServiceGrant> {
    let items = read::items(node, "`services`", findings);
    items.into_iter().filter_map(|item| service(item, findings)).collect()
}

/// Reads a list of services whose logs are granted.
pub(super) fn read_logs(node: &Node, findings: &mut Findings) -> Vec<LogGrant> {
    let items = read::items(node, "`logs`", findings);
    let log = |item: &Node| {
        let ServiceGrant { service, read_only } = service(item, findings)?;
        if read_only {
            let hint = "Leave read_only out: no tool changes a log.";
            findings.error(item.at, Code::BadValue, "A log takes no read_only.", hint);
        }
        (!read_only).then_some(LogGrant(service))
    };
    items.into_iter().filter_map(log).collect()
}

fn service(node: &Node, findings: &mut Findings) -> Option<ServiceGrant> {
    let grant = match &node.value {
        Value::Table(_) => {
            let mut fields = Fields::of(node, "a service", findings)?;
            let [unit, container, compose] = ["unit", "container", "compose"].map(|key| {
                let node = fields.take(&[key], findings)?;
                Some(read::text(node, "the name of a service", findings)?.value)
            });
            let read_only = fields
                .take(&["read_only"], findings)
                .and_then(|node| read::flag(node, "`read_only`", findings))
                .unwrap_or(false);
            fields.finish(findings);
            let service = match (unit, container, compose) {
                (Some(unit), None, None) => Service::unit(unit),
                (None, Some(container), None) => Service::container(container),
                (None, None, Some(compose)) => Service::compose(compose),
                (_, _, _) => None,
            };
            service.map(|service| ServiceGrant { service, read_only })
        }
        Value::Scalar { .. } | Value::List(_) => {
            let text = read::text(node, "a service", findings)?;
            Service::parse(text.value).map(|service| ServiceGrant { service, read_only: false })
        }
    };
    if grant.is_none() {
        let hint = "Write nginx.service, { container: pihole } or { compose: homelab/grafana }.";
        findings.error(node.at, Code::BadValue, "This entry names no service.", hint);
    }
    grant
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn services_are_read_in_each_form() {
        let mut findings = Findings::of("policy.yaml");
        let text = "[nginx, \"container:pihole\", { compose: homelab/grafana }, { unit: db, read_only: true }]";
        let node = yaml::parse(text, &mut findings).unwrap();
        let services: Vec<_> = read(&node, &mut findings).iter().map(ToString::to_string).collect();
        let expected = [
            "nginx.service",
            "container:pihole",
            "compose:homelab/grafana",
            "db.service (read only)",
        ];
        assert_eq!(services, expected);
        let text = "[nginx, { container: pihole }, { unit: db, read_only: true }]";
        let node = yaml::parse(text, &mut findings).unwrap();
        let logs: Vec<_> =
            read_logs(&node, &mut findings).iter().map(ToString::to_string).collect();
        assert_eq!(logs, ["nginx.service", "container:pihole"]);
        assert_eq!(findings.into_sorted().len(), 1, "a log is not written");
    }
}
