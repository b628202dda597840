//! Wakes tasks that wait for a change. The database holds the truth; a message here only says "look again",
//! so that a lost one costs time and nothing else.

use std::sync::Arc;

use dashmap::DashMap;
use orion_domain::{AccessRequestId, ApprovalId, CallId, DeviceId, DeviceName, PlanId, UserName};
use tokio::sync::{broadcast, watch};

/// A change in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A call was dispatched, was queued or made progress.
    CallMoved(CallId),
    /// A call reached a final state.
    CallClosed(CallId),
    /// The programs of a call printed something. Its row is the same.
    CallOutput(CallId),
    /// An approval request of this call was made, answered or expired.
    Approval(ApprovalId, CallId),
    /// A device connected, disconnected or was changed.
    Device(DeviceId),
    /// A request for access was made, answered or ended.
    AccessRequest(AccessRequestId),
    /// A plan was made, answered, made progress or ended.
    Plan(PlanId),
}

/// A call that a rule or its risk reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallNotice {
    /// The call.
    pub call: CallId,
    /// Who made it.
    pub user: UserName,
    /// Its device.
    pub device: DeviceName,
    /// Its tool.
    pub tool: &'static str,
    /// What it touches, with names as they are.
    pub touches: Vec<String>,
    /// The rules and risks that report it.
    pub rules: Vec<String>,
}

/// What a task can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Topic {
    Call(CallId),
    Output(CallId),
    Device(DeviceId),
    Plan(PlanId),
}

impl Change {
    /// Returns the topic. None where only the webhook waits.
    const fn topic(self) -> Option<Topic> {
        match self {
            Self::CallMoved(call) | Self::CallClosed(call) | Self::Approval(_, call) => {
                Some(Topic::Call(call))
            }
            Self::CallOutput(call) => Some(Topic::Output(call)),
            Self::Device(device) => Some(Topic::Device(device)),
            Self::Plan(plan) => Some(Topic::Plan(plan)),
            Self::AccessRequest(_) => None,
        }
    }
}

/// The watchers of each topic. An entry exists as long as it has a watcher.
type Topics = DashMap<Topic, watch::Sender<()>>;

/// In-process publish and subscribe. Only a change of its own topic wakes a watcher.
#[derive(Debug, Clone)]
pub struct Bus {
    topics: Arc<Topics>,
    approvals: broadcast::Sender<ApprovalId>,
    access_requests: broadcast::Sender<AccessRequestId>,
    notices: broadcast::Sender<Arc<CallNotice>>,
}

/// How many approvals a slow subscriber may lag behind before it misses some.
const BACKLOG: usize = 1024;

impl Bus {
    /// Returns a bus without subscribers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            topics: Arc::default(),
            approvals: broadcast::channel(BACKLOG).0,
            access_requests: broadcast::channel(BACKLOG).0,
            notices: broadcast::channel(BACKLOG).0,
        }
    }

    /// Wakes the watchers of the change's topic, and no others.
    pub fn publish(&self, change: Change) {
        if let Change::Approval(id, _) = change {
            // No subscriber is no error: no task waits.
            let _ = self.approvals.send(id);
        }
        if let Change::AccessRequest(id) = change {
            let _ = self.access_requests.send(id);
        }
        let Some(topic) = change.topic() else { return };
        if let Some(watchers) = self.topics.get(&topic) {
            watchers.send_replace(());
        }
    }

    /// Watches a call from this moment on: dispatch, queueing, progress, approval requests and its end.
    #[must_use]
    pub fn watch_call(&self, call: CallId) -> Watcher {
        self.watch(Topic::Call(call))
    }

    /// Watches what the programs of a call print, from this moment on.
    #[must_use]
    pub fn watch_output(&self, call: CallId) -> Watcher {
        self.watch(Topic::Output(call))
    }

    /// Watches a device from this moment on.
    #[must_use]
    pub fn watch_device(&self, device: DeviceId) -> Watcher {
        self.watch(Topic::Device(device))
    }

    /// Watches a plan from this moment on.
    #[must_use]
    pub fn watch_plan(&self, plan: PlanId) -> Watcher {
        self.watch(Topic::Plan(plan))
    }

    /// Watches all approval requests from this moment on: made, answered or expired.
    #[must_use]
    pub fn watch_approvals(&self) -> broadcast::Receiver<ApprovalId> {
        self.approvals.subscribe()
    }

    /// Watches all requests for access from this moment on: made, answered or ended.
    #[must_use]
    pub fn watch_access_requests(&self) -> broadcast::Receiver<AccessRequestId> {
        self.access_requests.subscribe()
    }

    /// Reports a call.
    pub fn notify(&self, notice: CallNotice) {
        // No subscriber is no error: there is no webhook.
        let _ = self.notices.send(Arc::new(notice));
    }

    /// Watches reported calls from this moment on.
    #[must_use]
    pub fn watch_notices(&self) -> broadcast::Receiver<Arc<CallNotice>> {
        self.notices.subscribe()
    }

    fn watch(&self, topic: Topic) -> Watcher {
        let receiver = self.topics.entry(topic).or_insert_with(|| watch::channel(()).0).subscribe();
        Watcher { topic, receiver: Some(receiver), topics: Arc::clone(&self.topics) }
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for changes of one topic.
#[derive(Debug)]
pub struct Watcher {
    topic: Topic,
    /// Some until the watcher is dropped.
    receiver: Option<watch::Receiver<()>>,
    topics: Arc<Topics>,
}

impl Watcher {
    /// Waits for a change since the last one that was seen here. Several changes count as one: the woken
    /// task reads the database.
    pub async fn changed(&mut self) {
        let woken = match &mut self.receiver {
            Some(receiver) => receiver.changed().await.is_ok(),
            None => false,
        };
        if !woken {
            // The sender lives as long as this receiver, so this is never reached.
            std::future::pending().await
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.receiver.take());
        self.topics.remove_if(&self.topic, |_, watchers| watchers.receiver_count() == 0);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use uuid::Uuid;

    use super::*;

    const fn call(n: u128) -> CallId {
        CallId::new(Uuid::from_u128(n))
    }

    const fn plan(n: u128) -> PlanId {
        PlanId::new(Uuid::from_u128(n))
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_change_wakes_those_who_wait_for_it_and_nobody_else() {
        const WAITING: u128 = 1000;
        let bus = Bus::new();
        let mut watchers: Vec<_> = (0..WAITING).map(|n| bus.watch_call(call(n))).collect();
        watchers.push(bus.watch_plan(plan(1)));
        watchers.push(bus.watch_device(DeviceId::new(Uuid::from_u128(1))));
        let mut waiting: Vec<_> = watchers.iter_mut().map(|it| Box::pin(it.changed())).collect();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        for future in &mut waiting {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        let approval = ApprovalId::new(Uuid::from_u128(9));
        let changes = [
            Change::CallMoved(call(7)),
            Change::CallClosed(call(8)),
            Change::Approval(approval, call(9)),
            Change::Plan(plan(1)),
            Change::Device(DeviceId::new(Uuid::from_u128(1))),
        ];
        changes.into_iter().for_each(|change| bus.publish(change));
        bus.publish(Change::CallClosed(call(WAITING)));
        bus.publish(Change::Plan(plan(2)));
        assert_eq!(count.0.load(Ordering::SeqCst), changes.len());
    }

    #[tokio::test]
    async fn what_happens_between_looking_and_waiting_is_not_missed_and_counts_once() {
        let bus = Bus::new();
        let mut watcher = bus.watch_call(call(1));
        (0..3 * BACKLOG).for_each(|_| bus.publish(Change::CallMoved(call(1))));
        watcher.changed().await;
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(watcher.changed()).poll(&mut context), Poll::Pending);
        bus.publish(Change::CallClosed(call(1)));
        watcher.changed().await;
    }

    #[test]
    fn nothing_is_kept_of_those_who_wait_no_longer() {
        let bus = Bus::new();
        let (one, other) = (bus.watch_call(call(1)), bus.watch_call(call(1)));
        drop(one);
        assert_eq!(bus.topics.len(), 1);
        drop(other);
        assert!(bus.topics.is_empty());
    }
}
