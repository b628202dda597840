// One task: what it calls, when, as whom, and what an owner or an admin can do with it.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { Arguments } from "../calls/Arguments";
import { type Schedule as Task, ScheduleService, ScheduleState } from "../gen/orion/v1/schedule_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { object, oneLine } from "../lib/text";
import { OWN_ZONE, fullTime, timeIn } from "../lib/time";
import { Badge, Button, Empty, Line, Loading, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { LastCall } from "./LastCall";
import { refreshSchedules, stateOf } from "./state";
import { inWords } from "./times";

function Cancel({ task, onClose }: { task: Task; onClose: () => void }) {
  const cancel = useMutation(ScheduleService.method.cancelSchedule, { onSuccess: () => { onClose(); return refreshSchedules(); } });
  return (
    <Dialog title={`Cancel: ${oneLine(task.name, 60)}`} onClose={onClose}>
      <p>It makes no more calls. A call that it made already goes on. A cancelled schedule cannot be taken up again: make a new one.</p>
      <ErrorNote error={cancel.error} />
      <div className="row end">
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate({ scheduleId: task.scheduleId })}>Cancel the schedule</Button>
      </div>
    </Dialog>
  );
}

/** The task's call, made once more at this moment and decided like any other. */
function MakeNow({ task }: { task: Task }) {
  const navigate = useNavigate();
  const call = useMutation(ToolService.method.callTool, {
    onSuccess: ({ call: made }) => made && void navigate(`/calls/${encodeURIComponent(made.callId)}`),
  });
  return (
    <>
      <Button busy={call.isPending} onClick={() => call.mutate({ tool: task.tool, device: task.device, arguments: task.arguments, background: true, idempotencyKey: crypto.randomUUID() })}>
        Make this call now
      </Button>
      <ErrorNote error={call.error} />
    </>
  );
}

function Facts({ task }: { task: Task }) {
  const me = useMe();
  const [isCancelling, setCancelling] = useState(false);
  const state = stateOf(task.state);
  const isOwn = task.user === me.user;
  return (
    <section className="panel" aria-label="Schedule">
      <div className="body stack">
        <div className="row"><h2><Line text={task.name} most={80} /></h2><Badge tone={state.tone}>{state.text}</Badge></div>
        <dl className="facts">
          <dt>Calls</dt><dd><span className="mono"><Line text={task.tool} most={60} /></span>{task.device !== "" && <> on <Line text={task.device} most={60} /></>}</dd>
          <dt>As</dt><dd><Line text={task.user} most={60} />, with the rights of that moment</dd>
          <dt>When</dt><dd><Line text={inWords(task.times, task.timezone)} most={100} /> <span className="muted">in <Line text={task.timezone} most={60} /></span></dd>
          <dt>Next</dt><dd>{task.nextAt > 0n ? <>{fullTime(task.nextAt)} {OWN_ZONE}{task.timezone !== OWN_ZONE && <span className="muted">, {timeIn(task.nextAt, task.timezone)} in its own zone</span>}<span className="muted"> · <Time at={task.nextAt} /></span></> : "none"}</dd>
          <dt>Last call</dt><dd><LastCall schedule={task} /></dd>
          <dt>Made</dt><dd>{fullTime(task.createdAt)}</dd>
          {task.untrusted && <><dt>Untrusted</dt><dd>There was untrusted content in the chat in which it was made: each change waits for an approval.</dd></>}
        </dl>
        <div><h3>Arguments</h3><Arguments values={object(task.arguments)} /></div>
        <div className="row">
          {isOwn && !task.untrusted && <MakeNow task={task} />}
          {task.state === ScheduleState.ACTIVE && <Button look="danger" onClick={() => setCancelling(true)}>Cancel the schedule…</Button>}
        </div>
      </div>
      {isCancelling && <Cancel task={task} onClose={() => setCancelling(false)} />}
    </section>
  );
}

export function Schedule({ id }: { id: string }) {
  const me = useMe();
  const { data, error, isPending, refetch } = useQuery(ScheduleService.method.listSchedules, { all: me.is("admin"), scheduleId: id }, { refetchInterval: 3_000 });
  const task = data?.schedules.find(({ scheduleId }) => scheduleId === id) ?? data?.schedules[0];
  return (
    <>
      <Link className="small" to="/jobs/schedules">← Schedules</Link>
      {isPending && <Loading what="the schedule" />}
      <ErrorNote error={error} retry={() => void refetch()} />
      {data && !task && <Empty title="There is no such schedule">It may have ended more than 30 days ago, or be somebody else's.</Empty>}
      {task && <Facts task={task} />}
    </>
  );
}
