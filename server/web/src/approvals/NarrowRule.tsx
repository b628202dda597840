// The answer that becomes a rule. It shows what the rule would cover, and sends that along: the backend approves nothing
// where the rule would cover something else by then.
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Approval, ApprovalService } from "../gen/orion/v1/approval_pb";
import { Button, Field, Line, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import type { More } from "./Decide";
import { MOST_PATH } from "../lib/text";
import { OTHERS_END } from "./StandingRules";

const DAY_MS = 86_400_000;

export function NarrowRule({ approval, answer }: { approval: Approval; answer: (more: More) => void }) {
  const { data, error } = useQuery(ApprovalService.method.getApproval, { approvalId: approval.approvalId, withRules: true });
  const [days, setDays] = useState("7");
  const [isFolder, setFolder] = useState(false);
  const covered = isFolder ? data?.folderRule : data?.rule;
  const paths = covered?.paths ?? [];
  const make = () =>
    answer({ case: "narrowRule", value: { expiresAt: BigInt(Date.now() + Number(days) * DAY_MS), folder: isFolder, shownPaths: paths } });
  return (
    <div className="stack tight">
      <h3>As a narrow rule</h3>
      <ErrorNote error={error} />
      {!data && !error && <Loading what="what a rule would cover" />}
      {paths.length > 0 && (
        <>
          <p className="small">
            Calls of <Line text={approval.tool} most={40} /> by <Line text={approval.requester} most={40} /> on{" "}
            <Line text={approval.device} most={40} /> run without asking, unless untrusted content or a rule of the policy asks, for {paths.length === 1 ? "this path" : "each of these paths"} and everything below it:
          </p>
          <ul className="small" aria-label="Covered by the rule">{paths.map((path) => <li key={path}><Line text={path} most={MOST_PATH} mono /></li>)}</ul>
        </>
      )}
      {covered && covered.refused !== "" && <p className="note">No rule can be made of this: <Line text={covered.refused} most={300} /></p>}
      {data && (
        <>
          <label className="check"><input type="checkbox" checked={isFolder} onChange={(event) => setFolder(event.target.checked)} /> the whole folder that holds the path</label>
          <div className="row">
            <Field label="For">
              {(props) => (
                <select {...props} value={days} onChange={(event) => setDays(event.target.value)}>
                  <option value="1">a day</option>
                  <option value="7">a week</option>
                  <option value="30">30 days</option>
                </select>
              )}
            </Field>
          </div>
          <div className="row"><Button disabled={paths.length === 0} onClick={make}>Approve and make the rule</Button></div>
          <p className="small muted">Rules are listed under Approvals, where they can be ended. {OTHERS_END}</p>
        </>
      )}
    </div>
  );
}
