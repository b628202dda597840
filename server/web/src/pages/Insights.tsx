// Insights: how much is used, denied and approved, and how people decide.
import { useQuery } from "@connectrpc/connect-query";
import { useMemo } from "react";
import { ApprovalService } from "../gen/orion/v1/approval_pb";
import { type Call, CallState, ToolService } from "../gen/orion/v1/tool_pb";
import { type Bar, Bars } from "../insights/Bars";
import { useMe } from "../lib/session";
import { counted } from "../lib/text";
import { duration } from "../lib/time";
import { Empty, Head, Line, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const DAYS = 14;
const DAY_MS = 86_400_000;
const MOST_CALLS = 1_000;

type Kind = "succeeded" | "denied" | "other";

function kindOf(state: CallState): Kind {
  if (state === CallState.SUCCEEDED) return "succeeded";
  return state === CallState.DENIED || state === CallState.REFUSED ? "denied" : "other";
}

function bar(label: string, calls: Call[]): Bar {
  const count = (kind: Kind) => calls.filter(({ state }) => kindOf(state) === kind).length;
  return {
    label,
    parts: [
      { name: "succeeded", count: count("succeeded"), color: "#2f9e5b" },
      { name: "denied", count: count("denied"), color: "#cf4343" },
      { name: "other", count: count("other"), color: "#8a94a0" },
    ],
  };
}

function byDay(calls: Call[]): Bar[] {
  const day = (at: number) => new Date(at).toDateString();
  return Array.from({ length: DAYS }, (_, index) => {
    const at = Date.now() - (DAYS - 1 - index) * DAY_MS;
    const label = new Date(at).toLocaleDateString(undefined, { day: "numeric", month: "numeric" });
    return bar(label, calls.filter(({ createdAt }) => day(Number(createdAt)) === day(at)));
  });
}

interface Used {
  tool: string;
  count: number;
  denied: number;
  /** In milliseconds; none where no call has succeeded. */
  median?: number;
}

function byTool(calls: Call[]): Used[] {
  const tools = [...new Set(calls.map(({ tool }) => tool))];
  return tools
    .map((tool) => {
      const own = calls.filter((call) => call.tool === tool);
      const times = own.filter(({ state, closedAt }) => state === CallState.SUCCEEDED && closedAt > 0n).map(({ createdAt, closedAt }) => Number(closedAt - createdAt)).toSorted((a, b) => a - b);
      return { tool, count: own.length, denied: own.filter(({ state }) => kindOf(state) === "denied").length, median: times[Math.floor(times.length / 2)] };
    })
    .toSorted((a, b) => b.count - a.count);
}

export default function Insights() {
  const me = useMe();
  const calls = useQuery(ToolService.method.listCalls, { limit: MOST_CALLS }, { enabled: me.is("admin"), staleTime: 30_000 });
  const stats = useQuery(ApprovalService.method.getApprovalStats, {}, { enabled: me.is("admin"), staleTime: 60_000 });
  const all = useMemo(() => calls.data?.calls ?? [], [calls.data]);
  const days = useMemo(() => byDay(all), [all]);
  const tools = useMemo(() => byTool(all), [all]);
  if (!me.is("admin")) return <main className="page"><Head title="Insights" /><Empty title="Admins see insights">They cover the calls of everybody.</Empty></main>;
  return (
    <main className="page">
      <Head title="Insights">{calls.data && (all.length === MOST_CALLS ? `The newest ${MOST_CALLS.toLocaleString("en")} calls` : counted(all.length, "call"))}</Head>
      <ErrorNote error={calls.error ?? stats.error} />
      {calls.isPending && <Loading what="calls" />}
      {calls.data && all.length === 0 && <Empty title="Nothing to count yet">Plots of calls, denials and approvals appear with the first calls.</Empty>}
      {all.length > 0 && (
        <>
          <section className="panel"><div className="body"><Bars title={`Calls a day, ${DAYS} days`} bars={days} /></div></section>
          <section className="stack tight">
            <h2>By tool</h2>
            <div className="panel scroll">
              <table className="stackable">
                <thead><tr><th>Tool</th><th>Calls</th><th>Denied</th><th>Median time, with waiting</th></tr></thead>
                <tbody>{tools.map((it) => <tr key={it.tool}><td><Line text={it.tool} most={60} mono /></td><td data-label="Calls">{it.count}</td><td data-label="Denied">{it.denied}</td><td data-label="Median time, with waiting">{it.median === undefined ? "–" : duration(it.median)}</td></tr>)}</tbody>
              </table>
            </div>
          </section>
        </>
      )}
      {stats.data && (
        <section className="stack tight">
          <h2>How approvals are decided, 30 days</h2>
          {stats.data.approvers.length === 0 ? <p className="muted">Nobody has answered a request yet.</p> : (
            <div className="panel scroll">
              <table className="stackable">
                <thead><tr><th>Person</th><th>Approved</th><th>Denied</th><th>Median time to approve</th><th>Within five seconds</th><th>Without opening the details</th></tr></thead>
                <tbody>
                  {stats.data.approvers.map((it) => (
                    <tr key={it.user}><td><Line text={it.user} most={40} /></td><td data-label="Approved">{it.approved.toString()}</td><td data-label="Denied">{it.denied.toString()}</td><td data-label="Median">{(Number(it.medianMs) / 1000).toFixed(1)} s</td><td data-label="Fast">{it.fast.toString()}</td><td data-label="No details">{it.withoutDetails.toString()}</td></tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </section>
      )}
    </main>
  );
}
