// How far a running call is, where its tool says.
import type { Call } from "../gen/orion/v1/tool_pb";
import { isEnded } from "../lib/call";
import { Line } from "../ui/basics";

export function Progress({ call }: { call: Call }) {
  const { advance } = call;
  if (!advance || isEnded(call.state)) return null;
  const total = Number(advance.total);
  return (
    <div className="stack tight">
      <progress aria-label="Progress" value={total > 0 ? Number(advance.done) : undefined} max={total > 0 ? total : undefined} />
      <span className="small muted">
        {advance.done.toLocaleString("en")}
        {total > 0 && ` of ${total.toLocaleString("en")}`} <Line text={advance.note} most={80} />
      </span>
    </div>
  );
}
