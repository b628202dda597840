// What became of an approved call: an approval is not yet its end.
import { useQuery } from "@connectrpc/connect-query";
import { type Approval, ApprovalService } from "../gen/orion/v1/approval_pb";
import { CallState } from "../gen/orion/v1/tool_pb";
import { isEnded, stateOf } from "../lib/call";
import { useMe } from "../lib/session";
import { Badge } from "../ui/basics";

const FOLLOW_MS = 1_500;

export function CallEnd({ approval }: { approval: Approval }) {
  const me = useMe();
  const { data } = useQuery(ApprovalService.method.getApproval, { approvalId: approval.approvalId }, {
    enabled: me.is("operator"),
    refetchInterval: ({ state: { data: now, status } }) => {
      const callState = now?.approval?.callState ?? CallState.UNSPECIFIED;
      if (status === "error" || isEnded(callState)) return false;
      return callState === CallState.QUEUED ? 10 * FOLLOW_MS : FOLLOW_MS;
    },
  });
  const { callState = CallState.UNSPECIFIED, callCode = "" } = data?.approval ?? approval;
  if (callState === CallState.UNSPECIFIED) return null;
  const { text, tone } = stateOf(callState);
  return <><span>The call:</span> <Badge tone={tone}>{text}</Badge>{callCode !== "" && <span className="muted">{callCode}</span>}</>;
}
