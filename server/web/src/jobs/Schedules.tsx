// The tasks: calls at times to come.
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { type Schedule, ScheduleService } from "../gen/orion/v1/schedule_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { OWN_ZONE, fullTime } from "../lib/time";
import { Badge, Empty, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { Pages, pageOf } from "../ui/Pages";
import { LastCall } from "./LastCall";
import { stateOf } from "./state";
import { inWords } from "./times";

const REFRESH_MS = 3_000;

/** The tools that make, list and cancel tasks: an admin grants them on the backend. */
const WANTED = ["schedule_task", "list_tasks", "cancel_task"].map((entry) => ({ kind: "tool", entry, access: [] }));

function Row({ schedule, hasUser }: { schedule: Schedule; hasUser: boolean }) {
  const state = stateOf(schedule.state);
  const where = schedule.device === "" ? "" : ` on ${schedule.device}`;
  return (
    <tr>
      <td>
        <Link to={`/jobs/schedules/${encodeURIComponent(schedule.scheduleId)}`}><strong><Line text={schedule.name} most={60} /></strong></Link>
        <div className="small muted"><Line text={`${schedule.tool}${where}`} most={100} /></div>
      </td>
      {hasUser && <td data-label="As"><Line text={schedule.user} most={40} /></td>}
      <td data-label="When"><div><Line text={inWords(schedule.times, schedule.timezone)} most={60} /> <span className="small muted"><Line text={schedule.timezone} most={40} /></span></div></td>
      <td data-label="Next">{schedule.nextAt > 0n ? <><Time at={schedule.nextAt} /> <span className="small muted">{fullTime(schedule.nextAt)} {OWN_ZONE}</span></> : <Badge tone={state.tone}>{state.text}</Badge>}</td>
      <td data-label="Last"><LastCall schedule={schedule} /></td>
    </tr>
  );
}

function Nothing({ mayAdd }: { mayAdd: boolean }) {
  const me = useMe();
  if (mayAdd) {
    return (
      <Empty title="No schedule yet" action={<Link className="button primary" to="/jobs/schedules/new">Make the first schedule</Link>}>
        A schedule makes a call at times to come, such as a check of the disk each morning. It is made as you and decided at its time like any other call.
      </Empty>
    );
  }
  return (
    <Empty title="Schedules are off" action={me.is("admin") && <Link className="button primary" to="/devices/backend" state={{ wanted: WANTED }}>Turn them on: see what that grants</Link>}>
      They are off until an admin grants <code>schedule_task</code>, <code>list_tasks</code> and <code>cancel_task</code> on <code>backend</code>.
      {!me.is("admin") && " Ask an admin for that."}
    </Empty>
  );
}

export function Schedules() {
  const me = useMe();
  const [chosen, setChosen] = useState(1);
  const { data, error, isPending, refetch } = useQuery(ScheduleService.method.listSchedules, { all: me.is("admin") }, { refetchInterval: REFRESH_MS });
  const tools = useQuery(ToolService.method.listTools, { device: "backend" }, { staleTime: 5_000 });
  const mayAdd = tools.data?.tools.some(({ name }) => name === "schedule_task") ?? false;
  const schedules = data?.schedules ?? [];
  const hasUser = schedules.some(({ user }) => user !== me.user);
  const { page, pages, shown } = pageOf(schedules, chosen);
  return (
    <>
      <ErrorNote error={error ?? tools.error} retry={() => void Promise.all([refetch(), tools.refetch()])} />
      {(isPending || tools.isPending) && <Loading what="schedules" />}
      {data && schedules.length === 0 && tools.data && <Nothing mayAdd={mayAdd} />}
      {schedules.length > 0 && (
        <>
          <div className="row apart">
            <p className="muted small">“When” is in the zone that stands beside it, “Next” in this browser's. A schedule that ended stays here for 30 days.</p>
            {mayAdd && <Link className="button primary" to="/jobs/schedules/new">New schedule</Link>}
          </div>
          <div className="panel scroll">
            <table className="stackable">
              <thead><tr><th>Schedule</th>{hasUser && <th>As</th>}<th>When</th><th>Next</th><th>Last call</th></tr></thead>
              <tbody>{shown.map((schedule) => <Row key={schedule.scheduleId} schedule={schedule} hasUser={hasUser} />)}</tbody>
            </table>
          </div>
          <Pages page={page} pages={pages} go={setChosen} />
        </>
      )}
    </>
  );
}
