// Calls as a table.
import { Link } from "react-router";
import type { Call } from "../gen/orion/v1/tool_pb";
import { stateOf } from "../lib/call";
import { Badge, Line, Time } from "../ui/basics";

export function CallTable({ calls, withDevice = false }: { calls: Call[]; withDevice?: boolean }) {
  return (
    <div className="panel scroll">
      <table className="stackable">
        <thead><tr><th>Tool</th>{withDevice && <th>Device</th>}<th>State</th><th>Caller</th><th>When</th></tr></thead>
        <tbody>
          {calls.map((call) => {
            const state = stateOf(call.state);
            return (
              <tr key={call.callId}>
                <td><Link to={`/calls/${encodeURIComponent(call.callId)}`}><Line text={call.tool} most={60} mono /></Link>{call.dryRun && <span className="muted small"> preview</span>}</td>
                {withDevice && <td data-label="Device"><Line text={call.device} most={60} /></td>}
                <td data-label="State"><Badge tone={state.tone}>{state.text}</Badge></td>
                <td data-label="Caller"><Line text={call.caller} most={60} /></td>
                <td data-label="When"><Time at={call.createdAt} /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
