// Why a call is decided as it is: each layer's line, the deciding one first, and the smallest change that would allow it.
import { useQuery } from "@connectrpc/connect-query";
import { type ExplainCallResponse, PolicyService } from "../gen/orion/v1/policy_pb";
import type { Tone } from "../lib/call";
import { errorFrom } from "../lib/errors";
import { json } from "../lib/text";
import { Badge, Button, Line, Loading } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote, Problem } from "../ui/ErrorNote";
import { LookAlikes } from "../ui/Lines";
import { AllowThis } from "./ResultView";

export function decisionOf(decision: string): { text: string; tone: Tone } {
  switch (decision) {
    case "allow":
      return { text: "allowed", tone: "good" };
    case "dry_run_first":
      return { text: "preview first", tone: "warn" };
    case "ask":
      return { text: "needs approval", tone: "warn" };
    case "deny":
      return { text: "denied", tone: "bad" };
    default:
      return { text: decision, tone: "quiet" };
  }
}

export function Explained({ why }: { why: ExplainCallResponse }) {
  const decision = decisionOf(why.decision);
  const error = why.error.length > 0 ? errorFrom(json(why.error)) : undefined;
  return (
    <>
      <div className="row">
        <Badge tone={decision.tone}>{decision.text}</Badge>
        <span className="muted">for <Line text={why.user} most={40} /> ({why.role})</span>
        {why.mode !== "" && <Badge tone="bad">{why.mode} mode</Badge>}
      </div>
      {error && <Problem error={error} />}
      <LookAlikes texts={why.lookAlikes} />
      {error && <div className="row"><AllowThis error={error} device={why.device} look="primary" /></div>}
      <div className="scroll" tabIndex={0} role="region" aria-label="Evidence">
        <table className="small">
          <thead>
            <tr><th>Layer</th><th>Decision</th><th>By</th></tr>
          </thead>
          <tbody>
            {why.evidence.map((line, index) => {
              const { text, tone } = decisionOf(line.decision);
              return (
                <tr key={index}>
                  <td>{line.layer}{line.deciding && <span className="sr"> (decides)</span>}</td>
                  <td><Badge tone={tone}>{text}</Badge></td>
                  <td><Line text={line.name} most={300} />{line.deciding && <strong> decides</strong>}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {why.remedies.length > 0 && (
        <div>
          <h3>{why.remedies.length > 1 ? "The smallest changes that would allow it, all of them together" : "The smallest change that would allow it"}</h3>
          <ul>{why.remedies.map((remedy) => <li key={remedy}><Line text={remedy} most={300} /></li>)}</ul>
        </div>
      )}
      {why.touches.length > 0 && (
        <p className="small muted">Touches: {why.touches.slice(0, 8).map((it) => <span key={it}><Line text={it} mono /> </span>)}</p>
      )}
    </>
  );
}

interface Props {
  tool: string;
  device: string;
  arguments: Uint8Array;
  onClose: () => void;
}

export function WhyDialog({ tool, device, arguments: given, onClose }: Props) {
  const why = useQuery(PolicyService.method.explainCall, { tool, device, arguments: given }, { staleTime: 0 });
  return (
    <Dialog title="Why?" onClose={onClose}>
      <p className="muted small">What each layer decides for this call at this moment. Nothing is run.</p>
      {why.isPending && <Loading what="the decision" />}
      <ErrorNote error={why.error} retry={() => void why.refetch()} />
      {why.data && <Explained why={why.data} />}
      <div className="row end"><Button onClick={onClose}>Close</Button></div>
    </Dialog>
  );
}
