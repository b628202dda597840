// What a policy file would change: on which device, and for which recorded calls.
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { decisionOf } from "../calls/WhyDialog";
import { type DeviceChange, PolicyService, type TestPolicyResponse } from "../gen/orion/v1/policy_pb";
import { counted } from "../lib/text";
import { Badge, Button, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const DAY_MS = 86_400_000;

export function Changes({ changes }: { changes: DeviceChange[] }) {
  if (changes.length === 0) return <p className="muted">No device gets other permissions by this text.</p>;
  return (
    <dl className="facts">
      {changes.map(({ device, lines }) => (
        <div key={device} className="contents">
          <dt><Line text={device} most={60} /></dt>
          <dd>{lines.map((line) => <div key={line}><Line text={line} most={200} mono /></div>)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Counts({ test }: { test: TestPolicyResponse }) {
  const rows: [string, bigint][] = [
    ["ran or needed approval, would be denied", test.allowedToDenied],
    ["denied, would run", test.deniedToAllowed],
    ["would now need approval", test.wouldNowAsk],
    ["would no longer need approval", test.wouldNoLongerAsk],
    ["unchanged", test.unchanged],
    ["cannot be evaluated again", test.notEvaluated],
  ];
  return (
    <>
      <p>{counted(test.calls, "recorded call")} evaluated in {Math.max(1, Math.round(Number(test.tookUs) / 1000))} ms. Approvals a week: {test.approvalsPerWeekBefore.toFixed(1)} → {test.approvalsPerWeekAfter.toFixed(1)}.</p>
      <dl className="facts">{rows.map(([label, count]) => <div key={label} className="contents"><dt>{label}</dt><dd>{count.toString()}</dd></div>)}</dl>
    </>
  );
}

export function WhatIf({ text }: { text: string }) {
  const [asked, setAsked] = useState<{ text: string; since: bigint }>();
  const test = useQuery(PolicyService.method.testPolicy, asked ?? {}, { enabled: asked !== undefined, staleTime: Number.POSITIVE_INFINITY });
  const ask = () => setAsked({ text, since: BigInt(Date.now() - 30 * DAY_MS) });
  return (
    <div className="stack">
      <div className="row"><Button onClick={ask} busy={test.isFetching}>Try on the calls of the last 30 days</Button>{asked && asked.text !== text && <span className="small muted">The text has changed since.</span>}</div>
      <ErrorNote error={test.error} />
      {asked && test.isPending && <Loading what="the calls" />}
      {test.data && <Counts test={test.data} />}
      {test.data && test.data.samples.length > 0 && (
        <div className="panel scroll">
          <table className="stackable">
            <thead><tr><th>Call</th><th>Before</th><th>After</th><th>By</th><th>When</th></tr></thead>
            <tbody>
              {test.data.samples.map((sample) => {
                const [before, after] = [decisionOf(sample.before), decisionOf(sample.after)];
                return (
                  <tr key={sample.callId}>
                    <td><Link to={`/calls/${sample.callId}`}><Line text={`${sample.tool} on ${sample.device}`} most={80} /></Link> <span className="muted"><Line text={sample.user} most={40} /></span></td>
                    <td data-label="Before"><Badge tone={before.tone}>{before.text}</Badge></td>
                    <td data-label="After"><Badge tone={after.tone}>{after.text}</Badge></td>
                    <td data-label="By"><Line text={sample.rule} most={80} /></td>
                    <td data-label="When"><Time at={sample.at} /></td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
