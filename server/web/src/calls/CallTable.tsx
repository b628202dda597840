// Calls as a table.
import { Link } from "react-router";
import type { Call } from "../gen/orion/v1/tool_pb";
import { stateOf } from "../lib/call";
import { bothEnds, firstChanged, oneLine } from "../lib/text";
import { duration, timeOfDay } from "../lib/time";
import { Badge, Line, Time } from "../ui/basics";

interface Props {
  calls: Call[];
  withDevice?: boolean;
  /** All of them are of one day that is named above: the time of day says more than how long ago it was. */
  isOfDay?: boolean;
}

/** What a call would touch, shortened in the middle: a path says most at its end. */
export function Touches({ texts }: { texts: string[] }) {
  const first = firstChanged(texts);
  const more = texts.slice(1);
  return (
    <div className="small muted touches">
      <bdi className="mono break" title={oneLine(first, 1000)}>{bothEnds(first, 60)}</bdi>
      {more.length > 0 && ` and ${more.length} more`}
    </div>
  );
}

export function CallTable({ calls, withDevice = false, isOfDay = false }: Props) {
  return (
    <div className="panel scroll">
      <table className="stackable">
        <thead><tr><th>Call</th>{withDevice && <th>Device</th>}<th>State</th><th>Caller</th><th>When</th><th>Took, with waiting</th></tr></thead>
        <tbody>
          {calls.map((call) => {
            const state = stateOf(call.state);
            return (
              <tr key={call.callId}>
                <td><Link to={`/calls/${encodeURIComponent(call.callId)}`}><Line text={call.tool} most={60} mono /></Link>{call.dryRun && <span className="muted small"> preview</span>}
                  {call.touches.length > 0 && <Touches texts={call.touches} />}
                </td>
                {withDevice && <td data-label="Device"><Line text={call.device} most={60} /></td>}
                <td data-label="State"><Badge tone={state.tone}>{state.text}</Badge>{call.undone && <> <Badge>taken back</Badge></>}</td>
                <td data-label="Caller"><Line text={call.caller} most={60} /></td>
                <td data-label="When">{isOfDay ? <time dateTime={new Date(Number(call.createdAt)).toISOString()}>{timeOfDay(call.createdAt)}</time> : <Time at={call.createdAt} />}</td>
                <td data-label="Took, with waiting">{call.closedAt > 0n && duration(Number(call.closedAt - call.createdAt))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
