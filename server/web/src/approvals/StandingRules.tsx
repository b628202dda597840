// The rules that answers made: what runs without asking anybody, until when, and the way to end it.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { ApprovalService, type StandingRule } from "../gen/orion/v1/approval_pb";
import { refresh } from "../lib/api";
import { MOST_PATH, oneLine } from "../lib/text";
import { Button, Line, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

/** What a change of the rules does besides: an open request was evaluated by those before. */
export const OTHERS_END = "Other requests that are open for this device end as withdrawn, and can be made again.";

export const refreshRules = () => refresh(ApprovalService.method.listStandingRules);

function Row({ rule }: { rule: StandingRule }) {
  const toast = useToast();
  const [isAsked, setAsked] = useState(false);
  const revoke = useMutation(ApprovalService.method.revokeStandingRule, {
    onSuccess: () => { toast("The rule has ended."); setAsked(false); },
    onSettled: refreshRules,
  });
  return (
    <tr>
      <td><span><Line text={rule.tool} most={40} /> on <Line text={rule.device} most={40} /></span></td>
      <td data-label="Calls of"><Line text={rule.user} most={40} /></td>
      <td data-label="Paths, with everything below">{rule.paths.map((path) => <div key={path}><Line text={path} most={MOST_PATH} mono /></div>)}</td>
      <td data-label="Made by"><span><Line text={rule.madeBy} most={40} />, <Time at={rule.createdAt} short /></span></td>
      <td data-label="Until"><Time at={rule.expiresAt} short /></td>
      <td>
        <Button look="small" onClick={() => setAsked(true)}>End the rule…</Button>
        {isAsked && (
          <Dialog title="End the rule?" onClose={() => setAsked(false)}>
            <p>It no longer answers for calls of {oneLine(rule.user, 40)} of {oneLine(rule.tool, 40)} on {oneLine(rule.device, 40)}. A rule that has ended does not come back: another approval makes a new one. {OTHERS_END}</p>
            <p>The rule covers, with everything below:</p>
            {rule.paths.map((path) => <div key={path}><Line text={path} most={MOST_PATH} mono /></div>)}
            <ErrorNote error={revoke.error} />
            <div className="row end"><Button onClick={() => setAsked(false)}>Back</Button><Button look="primary" busy={revoke.isPending} onClick={() => revoke.mutate({ approvalId: rule.approvalId })}>End the rule</Button></div>
          </Dialog>
        )}
      </td>
    </tr>
  );
}

export function StandingRules() {
  const { data, error } = useQuery(ApprovalService.method.listStandingRules, {}, { refetchInterval: 30_000 });
  if (!error && (data?.rules.length ?? 0) === 0) return null;
  return (
    <section className="stack tight" aria-label="Rules made from approvals">
      <h2>Rules made from approvals</h2>
      <ErrorNote error={error} />
      {data && data.rules.length > 0 && (
        <>
          <p className="small muted">
            Calls that fit one of these run without asking until it ends, unless untrusted content or a rule of the policy asks, and only while
            who made it still has the role.
          </p>
          <div className="panel scroll">
            <table className="stackable">
              <thead><tr><th>Calls</th><th>Calls of</th><th>Paths, with everything below</th><th>Made by</th><th>Until</th><th><span className="sr">Actions</span></th></tr></thead>
              <tbody>{data.rules.map((rule) => <Row key={rule.approvalId} rule={rule} />)}</tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
