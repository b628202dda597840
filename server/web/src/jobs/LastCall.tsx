// What became of the last call of a task.
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import type { Schedule } from "../gen/orion/v1/schedule_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { isEnded, stateOf } from "../lib/call";
import { Badge, Time } from "../ui/basics";

const REFRESH_MS = 3_000;

export function LastCall({ schedule }: { schedule: Schedule }) {
  const { lastCallId: callId, lastAt } = schedule;
  const { data } = useQuery(ToolService.method.getCall, { callId }, {
    enabled: callId !== "",
    staleTime: 60_000,
    refetchInterval: (query) => (query.state.data?.call && isEnded(query.state.data.call.state) ? false : REFRESH_MS),
  });
  if (callId === "") return <span className="muted">not yet</span>;
  const state = data?.call && stateOf(data.call.state);
  return (
    <>
      <Link to={`/calls/${encodeURIComponent(callId)}`}>{state ? <Badge tone={state.tone}>{state.text}</Badge> : "its call"}</Link> <Time at={lastAt} />
    </>
  );
}
