// The calls that have not ended, live and with a button that stops each, and the newest ones that have.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Link, useSearchParams } from "react-router";
import { CallTable, Touches } from "../calls/CallTable";
import { Progress } from "../calls/Progress";
import { type Call, CallState, ToolService } from "../gen/orion/v1/tool_pb";
import { isEnded, stateOf } from "../lib/call";
import { Badge, Button, Empty, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const REFRESH_MS = 2_000;
const MOST_OPEN = 200;
const MOST_RECENT = 200;
const LONG_MS = 10_000n;

function Row({ call }: { call: Call }) {
  const cancel = useMutation(ToolService.method.cancelCall);
  const state = stateOf(call.state);
  return (
    <tr>
      <td>
        <Link to={`/calls/${encodeURIComponent(call.callId)}`}><Line text={call.tool} most={60} mono /></Link>
        {call.touches.length > 0 && <Touches texts={call.touches} />}
        <ErrorNote error={cancel.error} />
      </td>
      <td data-label="Device"><Line text={call.device} most={60} /></td>
      <td data-label="State"><Badge tone={state.tone}>{state.text}</Badge> <Progress call={call} /></td>
      <td data-label="Caller"><Line text={call.caller} most={60} /></td>
      <td data-label="Since"><Time at={call.createdAt} /></td>
      <td>
        {call.approvalId !== "" && <Link className="button small" to={`/approvals/${encodeURIComponent(call.approvalId)}`}>Answer</Link>}{" "}
        <Button look="small" busy={cancel.isPending || cancel.isSuccess} onClick={() => cancel.mutate({ callId: call.callId })}>Stop<span className="sr"> {call.tool}</span></Button>
      </td>
    </tr>
  );
}

/** What the list of ended calls shows, by the name in the address. */
function wanted(call: Call, which: string): boolean {
  switch (which) {
    case "long":
      return call.closedAt - call.createdAt >= LONG_MS;
    case "failed":
      return call.state !== CallState.SUCCEEDED;
    default:
      return true;
  }
}

export function Running() {
  const [search, setSearch] = useSearchParams();
  const which = search.get("show") ?? "";
  const open = useQuery(ToolService.method.listCalls, { open: true, limit: MOST_OPEN }, { refetchInterval: REFRESH_MS });
  const recent = useQuery(ToolService.method.listCalls, { limit: MOST_RECENT }, { refetchInterval: REFRESH_MS });
  const running = (open.data?.calls ?? []).filter(({ state }) => !isEnded(state));
  const ended = (recent.data?.calls ?? []).filter(({ state }) => isEnded(state));
  const shown = ended.filter((call) => wanted(call, which));
  return (
    <>
      <ErrorNote error={open.error ?? recent.error} retry={() => void Promise.all([open.refetch(), recent.refetch()])} />
      <section className="stack tight" aria-label="Running">
        <h2>Running or waiting</h2>
        {open.isPending && <Loading what="running calls" />}
        {open.data && running.length === 0 && <p className="muted">Nothing runs, and nothing waits for a person or a device.</p>}
        {running.length > 0 && (
          <div className="panel scroll">
            <table className="stackable">
              <thead><tr><th>Tool</th><th>Device</th><th>State</th><th>Caller</th><th>Since</th><th><span className="sr">Actions</span></th></tr></thead>
              <tbody>{running.map((call) => <Row key={call.callId} call={call} />)}</tbody>
            </table>
          </div>
        )}
        {running.length >= MOST_OPEN && <p className="muted small">The newest {MOST_OPEN} are shown.</p>}
      </section>
      <section className="stack tight" aria-label="Recent">
        <div className="row apart">
          <h2>Ended</h2>
          <select className="auto" aria-label="Which ended calls" value={which} onChange={(event) => setSearch(event.target.value === "" ? {} : { show: event.target.value }, { replace: true })}>
            <option value="">All</option>
            <option value="long">Took more than ten seconds</option>
            <option value="failed">Did not succeed</option>
          </select>
        </div>
        {recent.isPending && <Loading what="calls" />}
        {recent.data && ended.length === 0 && (
          <Empty title="No call yet" action={<Link className="button primary" to="/chat">Go to the chat</Link>}>Say in the chat what should happen on a device. Each call is listed here while it runs and when it has ended.</Empty>
        )}
        {ended.length > 0 && shown.length === 0 && <p className="muted">None of the newest {ended.length} ended calls.</p>}
        {shown.length > 0 && <CallTable calls={shown} withDevice />}
      </section>
    </>
  );
}
