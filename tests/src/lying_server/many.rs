//! Sends many calls to one device, several at once, with any arguments.

use orion_catalog::ToolSpec;
use orion_domain::CanonicalArguments;
use orion_wire::v1::{link_request, link_response};
use orion_wire::{DeviceFacts, v1};
use serde_json::Value;
use uuid::Uuid;

use super::Link;

impl Link {
    /// Returns a valid call, except for arguments that an honest backend might reject. Where the call
    /// needs approval, it has one.
    ///
    /// # Panics
    /// The device did not report its facts.
    #[must_use]
    pub fn any_order(&self, spec: &ToolSpec, arguments: &Value, dry_run: bool) -> v1::Dispatch {
        let order = v1::Dispatch {
            call_id: Uuid::now_v7().to_string(),
            tool: spec.name.to_owned(),
            arguments: CanonicalArguments::from_value(arguments).as_bytes().to_vec().into(),
            dry_run,
            time_left_ms: 30_000,
            risk: orion_wire::risk(spec.risk).into(),
            policy_version: self.policy_version.clone(),
            user: "ann".to_owned(),
            role: "operator".to_owned(),
            conversation_id: String::new(),
            approval: None,
            traceparent: String::new(),
            device_id: self.device.to_string(),
            observe: false,
            observed: Vec::new().into(),
            definition: Vec::new().into(),
        };
        if !spec.risk.is_dangerous() || dry_run {
            return order;
        }
        let facts = DeviceFacts::try_from(self.hello.facts.clone().unwrap()).unwrap();
        let is_call = arguments
            .as_object()
            .is_some_and(|arguments| spec.parse(arguments.clone(), &facts.places).is_ok());
        let approval = is_call.then(|| self.approval_of(&order));
        v1::Dispatch { approval, ..order }
    }

    /// Sends the calls, at most `in_flight` at once, and returns each answer with the value beside its
    /// call. Each answer is acknowledged.
    ///
    /// # Panics
    /// The device disconnects.
    pub async fn run_all<T>(
        &mut self,
        orders: impl IntoIterator<Item = (T, v1::Dispatch)>,
        in_flight: usize,
        mut answered: impl FnMut(T, v1::CallResult),
    ) {
        let mut orders = orders.into_iter();
        let mut under_way: Vec<(String, T)> = Vec::new();
        loop {
            while under_way.len() < in_flight
                && let Some((beside, order)) = orders.next()
            {
                under_way.push((order.call_id.clone(), beside));
                self.send(link_response::Message::Dispatch(order)).await;
            }
            if under_way.is_empty() {
                return;
            }
            match self.receive().await {
                Some(link_request::Message::CallResult(result)) => {
                    let call_id = result.call_id.clone();
                    self.send(link_response::Message::ResultAck(v1::ResultAck {
                        call_id: call_id.clone(),
                        audit: None,
                        state: 0,
                    }))
                    .await;
                    if let Some(at) = under_way.iter().position(|(id, _)| *id == call_id) {
                        answered(under_way.swap_remove(at).1, result);
                    }
                }
                Some(_) => {}
                None => panic!("the device left with {} calls under way", under_way.len()),
            }
        }
    }
}
