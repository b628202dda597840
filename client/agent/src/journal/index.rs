//! The journal's content in memory: applies entries and answers lookups, without I/O.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use orion_domain::{ApprovalId, CallId, CallState};

use super::entry::{Begin, Ended, Entry};

/// How long a call is remembered after its result was acknowledged, in milliseconds: one day.
const REMEMBER_MS: i64 = 24 * 60 * 60 * 1000;
/// How long a call that ran on an approval is remembered, in milliseconds. An approval that is valid for
/// longer is rejected, so that no approval outlives the memory of its use.
pub const APPROVED_REMEMBERED_MS: i64 = 8 * REMEMBER_MS;
/// The most calls with effects that are remembered.
const MAX_REMEMBERED: usize = 100_000;
/// The most reads that are remembered after their acknowledgement. A read that runs twice is harmless.
const MAX_READS: usize = 4_096;
/// The most results that may wait for their acknowledgement, and their total size in bytes.
const MAX_WAITING: usize = 1_024;
const MAX_WAITING_BYTES: usize = 32 * 1024 * 1024;

/// A call that had begun when the process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted<'a> {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// Whether the call may have changed something.
    pub has_effects: bool,
    /// Whether the call can be repeated without harm.
    pub idempotent: bool,
}

/// The journal's status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// The journal has no entry.
    New,
    /// The call runs.
    Running,
    /// The call ended, and the backend has not acknowledged the result.
    Ended,
    /// The call ended, and the backend has acknowledged the result.
    Acknowledged,
}

/// Why no further call can be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Too many results wait for their acknowledgement.
    #[error("too many results wait for the backend to take them")]
    Waiting,
    /// Too many calls with effects in one day.
    #[error("{MAX_REMEMBERED} calls with effects were run within a day")]
    Remembered,
}

#[derive(Debug, Clone)]
struct Record {
    begin: Begin,
    /// Orders results by when their calls were recorded.
    number: u64,
    progress: Progress,
}

#[derive(Debug, Clone)]
enum Progress {
    Running,
    Ended(Ended),
    Acknowledged,
    /// The backend has acknowledged that the outcome is unknown; the tool may still report one.
    AcknowledgedUnknown,
}

/// The recorded calls.
#[derive(Debug, Default)]
pub struct Index {
    calls: HashMap<CallId, Record>,
    spent: HashSet<ApprovalId>,
    waiting: BTreeMap<u64, CallId>,
    waiting_bytes: usize,
    remembered: VecDeque<(i64, CallId)>,
    /// Remembered calls that ran on an approval and are older than a day, oldest first.
    approved: VecDeque<(i64, CallId)>,
    reads: VecDeque<CallId>,
    /// The latest id of a forgotten call with effects. None if no call was forgotten.
    forgotten: Option<CallId>,
    next: u64,
}

impl Index {
    /// Applies one entry. An entry that contradicts the earlier ones changes nothing.
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Began(begin) => {
                if self.calls.contains_key(&begin.call) {
                    return;
                }
                self.spent.extend(begin.approval);
                self.next += 1;
                let (call, number) = (begin.call, self.next);
                self.calls.insert(call, Record { begin, number, progress: Progress::Running });
            }
            Entry::Ended { call, ended, at: _ } => {
                let Some(record) = self.calls.get_mut(&call) else { return };
                // A call that missed its deadline may still end: the later result is the true one.
                match &record.progress {
                    Progress::Running => {}
                    Progress::Ended(before) if before.state == CallState::Unknown => {
                        self.waiting_bytes -= before.result.len();
                    }
                    // The same holds after the backend has acknowledged the first result.
                    Progress::AcknowledgedUnknown if ended.state != CallState::Unknown => {
                        self.remembered.retain(|(_, remembered)| *remembered != call);
                        self.approved.retain(|(_, remembered)| *remembered != call);
                    }
                    Progress::Ended(_) | Progress::Acknowledged | Progress::AcknowledgedUnknown => {
                        return;
                    }
                }
                self.waiting_bytes += ended.result.len();
                self.waiting.insert(record.number, call);
                record.progress = Progress::Ended(ended);
            }
            Entry::Acked { call, at } => {
                let Some(record) = self.calls.get_mut(&call) else { return };
                let Progress::Ended(ended) = &record.progress else { return };
                self.waiting_bytes -= ended.result.len();
                self.waiting.remove(&record.number);
                record.progress = if ended.state == CallState::Unknown {
                    Progress::AcknowledgedUnknown
                } else {
                    Progress::Acknowledged
                };
                if record.begin.is_durable() {
                    self.remembered.push_back((at, call));
                } else {
                    self.reads.push_back(call);
                }
            }
            Entry::Forgot { until } => self.forgotten = self.forgotten.max(Some(until)),
            Entry::Spent { call, approval, at } => {
                if self.calls.contains_key(&call) {
                    return self.apply(Entry::Acked { call, at });
                }
                self.apply(Entry::Began(Begin {
                    call,
                    tool: String::new(),
                    approval,
                    has_effects: true,
                    idempotent: false,
                    at,
                }));
                if let Some(record) = self.calls.get_mut(&call) {
                    record.progress = Progress::Acknowledged;
                    self.remembered.push_back((at, call));
                }
            }
        }
    }

    /// Forgets calls that were acknowledged long enough ago; `now` in Unix milliseconds.
    pub fn expire(&mut self, now: i64) {
        // If the clock was set back, earlier entries would be kept for as long as it was ahead.
        if self.remembered.front().is_some_and(|(at, _)| *at > now) {
            for (at, _) in &mut self.remembered {
                *at = now.min(*at);
            }
        }
        while let Some((at, call)) = self.remembered.front().copied()
            && at.saturating_add(REMEMBER_MS) < now
        {
            self.remembered.pop_front();
            match self.calls.get(&call).and_then(|record| record.begin.approval) {
                Some(_) => self.approved.push_back((at, call)),
                None => {
                    self.calls.remove(&call);
                    self.forgotten = self.forgotten.max(Some(call));
                }
            }
        }
        while let Some((at, call)) = self.approved.front().copied()
            && at.saturating_add(APPROVED_REMEMBERED_MS) < now
        {
            self.approved.pop_front();
            self.forgotten = self.forgotten.max(Some(call));
            if let Some(record) = self.calls.remove(&call)
                && let Some(approval) = record.begin.approval
            {
                self.spent.remove(&approval);
            }
        }
        while self.reads.len() > MAX_READS {
            if let Some(call) = self.reads.pop_front() {
                self.calls.remove(&call);
            }
        }
    }

    /// Checks that one more call can be recorded.
    ///
    /// # Errors
    /// [`Full`], which names the limit that was reached.
    pub fn check_room(&self, begin: &Begin) -> Result<(), Full> {
        if self.waiting.len() >= MAX_WAITING || self.waiting_bytes >= MAX_WAITING_BYTES {
            return Err(Full::Waiting);
        }
        if begin.is_durable() && self.approved.len() + self.remembered.len() >= MAX_REMEMBERED {
            return Err(Full::Remembered);
        }
        Ok(())
    }

    /// Returns the status of a call.
    #[must_use]
    pub fn seen(&self, call: CallId) -> CallStatus {
        match self.calls.get(&call).map(|record| &record.progress) {
            None => CallStatus::New,
            Some(Progress::Running) => CallStatus::Running,
            Some(Progress::Ended(_)) => CallStatus::Ended,
            Some(Progress::Acknowledged | Progress::AcknowledgedUnknown) => {
                CallStatus::Acknowledged
            }
        }
    }

    /// Returns the tool of a call. None if the call is unknown.
    #[must_use]
    pub fn tool(&self, call: CallId) -> Option<&str> {
        self.calls.get(&call).map(|record| record.begin.tool.as_str())
    }

    /// Returns whether an unknown call with effects was never recorded: no call this late was forgotten.
    #[must_use]
    pub fn remembers(&self, call: CallId) -> bool {
        self.forgotten.is_none_or(|until| call > until)
    }

    /// Returns the latest id of a recorded call. None if there is none.
    #[must_use]
    pub fn latest(&self) -> Option<CallId> {
        self.calls.keys().max().copied()
    }

    /// Returns whether the call's entries belong on disk.
    #[must_use]
    pub fn is_durable(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|record| record.begin.is_durable())
    }

    /// Returns whether a call was run on this approval.
    #[must_use]
    pub fn is_spent(&self, approval: ApprovalId) -> bool {
        self.spent.contains(&approval)
    }

    /// Returns how a call ended. None once the result was acknowledged.
    #[must_use]
    pub fn result(&self, call: CallId) -> Option<&Ended> {
        match &self.calls.get(&call)?.progress {
            Progress::Ended(ended) => Some(ended),
            Progress::Running | Progress::Acknowledged | Progress::AcknowledgedUnknown => None,
        }
    }

    /// Returns the calls that began and did not end.
    pub fn interrupted(&self) -> impl Iterator<Item = Interrupted<'_>> {
        self.running().map(|record| Interrupted {
            call: record.begin.call,
            tool: &record.begin.tool,
            has_effects: record.begin.has_effects,
            idempotent: record.begin.idempotent,
        })
    }

    /// Returns the running calls, and those whose outcome is unknown.
    #[must_use]
    pub fn unfinished(&self) -> Vec<CallId> {
        let unknown = self.waiting.values().copied().filter(|call| {
            self.result(*call).is_some_and(|ended| ended.state == CallState::Unknown)
        });
        self.running().map(|record| record.begin.call).chain(unknown).collect()
    }

    /// Returns the calls whose results wait for an acknowledgement, oldest first.
    #[must_use]
    pub fn unacknowledged(&self) -> Vec<CallId> {
        self.waiting.values().copied().collect()
    }

    /// Returns the number of entries that the file needs.
    #[must_use]
    pub fn lines(&self) -> usize {
        let closed = self.approved.len() + self.remembered.len();
        usize::from(self.forgotten.is_some())
            + closed
            + 2 * self.calls.len().saturating_sub(closed + self.reads.len())
    }

    /// Returns the entries that the file needs, in order.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Entry> {
        let spent = self.closed().filter_map(|(at, call)| {
            let approval = self.calls.get(call)?.begin.approval;
            Some(Entry::Spent { call: *call, approval, at: *at })
        });
        let mut open: Vec<_> = self
            .calls
            .values()
            .filter(|record| record.begin.is_durable())
            .filter(|record| matches!(record.progress, Progress::Running | Progress::Ended(_)))
            .collect();
        open.sort_unstable_by_key(|record| record.number);
        let open = open.into_iter().flat_map(|record| {
            let began = Entry::Began(record.begin.clone());
            let ended = match &record.progress {
                Progress::Ended(ended) => Some(Entry::Ended {
                    call: record.begin.call,
                    ended: ended.clone(),
                    at: record.begin.at,
                }),
                Progress::Running | Progress::Acknowledged | Progress::AcknowledgedUnknown => None,
            };
            std::iter::once(began).chain(ended)
        });
        let forgot = self.forgotten.map(|until| Entry::Forgot { until });
        forgot.into_iter().chain(spent).chain(open).collect()
    }

    /// Returns the acknowledged calls with effects, oldest first.
    fn closed(&self) -> impl Iterator<Item = &(i64, CallId)> {
        self.approved.iter().chain(&self.remembered)
    }

    fn running(&self) -> impl Iterator<Item = &Record> {
        self.calls.values().filter(|record| matches!(record.progress, Progress::Running))
    }
}
