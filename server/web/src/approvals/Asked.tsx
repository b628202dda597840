// The approval request of a call, on the card of the call.
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Approval, ApprovalService } from "../gen/orion/v1/approval_pb";
import { type Call, CallState } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { ApprovalCard } from "./ApprovalCard";

/** The request of a call that waits: as the stream gave it, and as it is by now. */
export function Asked({ approval }: { approval: Approval }) {
  const me = useMe();
  const [isDecided, setDecided] = useState(false);
  const now = useQuery(
    ApprovalService.method.getApproval,
    { approvalId: approval.approvalId },
    { enabled: me.is("operator") && !isDecided, refetchInterval: 3_000 },
  );
  return <ApprovalCard listed={now.data?.approval ?? approval} onDecided={() => setDecided(true)} />;
}

/** The request of a call that waits for none any more: who answered, when, and by which rule it was asked for. */
export function AnsweredById({ call }: { call: Call }) {
  const me = useMe();
  const isAnswered = call.state !== CallState.AWAITING_APPROVAL && call.approvalId !== "";
  const { data } = useQuery(ApprovalService.method.getApproval, { approvalId: call.approvalId }, { enabled: isAnswered && me.is("operator") });
  if (!isAnswered || !data?.approval) return null;
  return (
    <>
      <h2>Its approval request</h2>
      <ApprovalCard listed={data.approval} />
    </>
  );
}

/** The request of a call that waits for one. */
export function AskedById({ call }: { call: Call }) {
  const me = useMe();
  const isAsked = call.state === CallState.AWAITING_APPROVAL && call.approvalId !== "";
  const { data } = useQuery(ApprovalService.method.getApproval, { approvalId: call.approvalId }, { enabled: isAsked && me.is("operator") });
  return isAsked && data?.approval ? <Asked approval={data.approval} /> : null;
}
