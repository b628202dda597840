// The calls on a device, by day, and the button that stops them.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { CallTable } from "../calls/CallTable";
import { type Call, ToolService } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { oneLine } from "../lib/text";
import { refreshStops } from "../shell/StopBanner";
import { Button, Empty, Loading } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";

const MOST = 200;
/** A chosen day may be further back. */
const MOST_OF_DAYS = 1_000;
const DAYS = ["Today", "Yesterday"];
const NAMED = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

/** Returns how many days ago a moment was, by this browser's midnight. */
function daysAgo(at: bigint): number {
  const midnight = (time: Date) => new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
  return Math.round((midnight(new Date()) - midnight(new Date(Number(at)))) / 86_400_000);
}

function byDay(calls: Call[]): [number, Call[]][] {
  const days = new Map<number, Call[]>();
  for (const call of calls) {
    const day = daysAgo(call.createdAt);
    days.set(day, [...(days.get(day) ?? []), call]);
  }
  return [...days];
}

function Stop({ device, onClose }: { device: string; onClose: () => void }) {
  const me = useMe();
  const stop = useMutation(ToolService.method.stopCalls, { onSuccess: onClose, onSettled: refreshStops });
  const whose = me.is("admin") ? "Every call" : "Every call of yours";
  return (
    <Dialog title={`Stop all calls on ${oneLine(device, 60)}?`} onClose={onClose}>
      <p>{whose} that runs or waits on this device ends now. New ones are denied until somebody presses <em>Resume</em> in the banner that then shows on each page.</p>
      <ErrorNote error={stop.error} />
      <div className="row end">
        <Button onClick={onClose}>Back</Button>
        <Button look="danger" busy={stop.isPending} onClick={() => stop.mutate({ device, reason: "Stopped on the page." })}>Stop all calls here</Button>
      </div>
    </Dialog>
  );
}

export function Activity({ device }: { device: string }) {
  const me = useMe();
  const [search, setSearch] = useSearchParams();
  const chosen = DAYS.findIndex((day) => day.toLowerCase() === search.get("day"));
  const limit = chosen > 0 ? MOST_OF_DAYS : MOST;
  const { data, error, isPending } = useQuery(ToolService.method.listCalls, { device, limit }, { refetchInterval: chosen > 0 ? 30_000 : 3_000 });
  const [isStopping, setStopping] = useState(false);
  const calls = data?.calls ?? [];
  const days = byDay(calls).filter(([day]) => chosen < 0 || day === chosen);
  // The oldest call that was loaded is within the day: there may be more of it.
  const isCut = calls.length === limit && (chosen < 0 || daysAgo(calls.at(-1)?.createdAt ?? 0n) <= chosen);
  return (
    <div className="stack">
      <div className="row apart">
        <div className="row" role="group" aria-label="Day">
          {["All", ...DAYS].map((name, index) => (
            <Button key={name} look="small" aria-pressed={index - 1 === chosen} onClick={() => setSearch(index === 0 ? {} : { day: name.toLowerCase() }, { replace: true })}>{name}</Button>
          ))}
        </div>
        <Button look="danger" onClick={() => setStopping(true)}>Stop all calls here…</Button>
      </div>
      <ErrorNote error={error} />
      {isStopping && <Stop device={device} onClose={() => setStopping(false)} />}
      {isPending && <Loading what="calls" />}
      {data && calls.length === 0 && <Empty title={me.is("admin") ? "No call yet" : "No call of yours yet"}>Say in the chat what should happen on this device, or try a tool under Tools.</Empty>}
      {data && !me.is("admin") && <p className="muted small">Only calls of yours are listed: admins see everybody's.</p>}
      {calls.length > 0 && days.length === 0 && <p className="muted">No call {DAYS[chosen]?.toLowerCase()}.</p>}
      {days.map(([day, of]) => (
        <section key={day} className="stack tight">
          <h2>{DAYS[day] ?? NAMED.format(Number(of[0]?.createdAt))}</h2>
          <CallTable calls={of} isOfDay />
        </section>
      ))}
      {isCut && (
        <p className="muted small">
          The newest {limit.toLocaleString("en")} calls.{" "}
          {me.is("admin") ? <>Everything older is in the <Link to={`/audit?device=${encodeURIComponent(device)}${chosen < 0 ? "" : `&when=${DAYS[chosen]?.toLowerCase()}`}`}>audit log</Link>.</> : "Everything older is in the audit log, which admins read."}
        </p>
      )}
    </div>
  );
}
