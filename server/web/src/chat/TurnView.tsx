// One turn: what was said, the answer, and a card for each call.
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { ApprovalCard } from "../approvals/ApprovalCard";
import { CallCard } from "../calls/CallCard";
import { type Approval, ApprovalService } from "../gen/orion/v1/approval_pb";
import { ChatService } from "../gen/orion/v1/chat_pb";
import { CallState } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { visible } from "../lib/text";
import { Loading } from "../ui/basics";
import { Markdown } from "./Markdown";
import type { Item, Turn } from "./turns";

/** The request of a call that waits: as the stream gave it, and as it is by now. */
function Asked({ approval }: { approval: Approval }) {
  const me = useMe();
  const [isDecided, setDecided] = useState(false);
  const now = useQuery(
    ApprovalService.method.getApproval,
    { approvalId: approval.approvalId },
    { enabled: me.is("operator") && !isDecided, refetchInterval: 3_000 },
  );
  return <ApprovalCard listed={now.data?.approval ?? approval} onDecided={() => setDecided(true)} />;
}

function RecordedCalls({ turnId }: { turnId: string }) {
  const { data } = useQuery(ChatService.method.getTurn, { turnId }, { staleTime: 30_000 });
  return data?.calls.map((call) => (
    <CallCard key={call.callId} callId={call.callId} known={call} tool={call.tool} device={call.device} arguments={call.arguments}>
      {call.state === CallState.AWAITING_APPROVAL && call.approvalId !== "" && <AskedById approvalId={call.approvalId} />}
    </CallCard>
  ));
}

function AskedById({ approvalId }: { approvalId: string }) {
  const me = useMe();
  const { data } = useQuery(ApprovalService.method.getApproval, { approvalId }, { enabled: me.is("operator") });
  return data?.approval ? <Asked approval={data.approval} /> : null;
}

function ItemView({ item }: { item: Item }) {
  switch (item.kind) {
    case "text":
      return <Markdown text={item.text} />;
    case "note":
      return <p className="note small">{visible(item.text)}</p>;
    case "call":
      return (
        <CallCard callId={item.callId} known={item.call} tool={item.tool} device={item.device} arguments={item.arguments} isQuoted={item.isQuoted}>
          {item.approval && <Asked approval={item.approval} />}
        </CallCard>
      );
  }
}

export function TurnView({ turn }: { turn: Turn }) {
  const asking = turn.items.some((item) => item.kind === "call" && item.approval);
  return (
    <>
      {!turn.isContinued && <div className="said" dir="auto"><span className="sr">You: </span>{visible(turn.said)}</div>}
      {turn.isRecorded && turn.turnIds.map((id) => <RecordedCalls key={id} turnId={id} />)}
      {turn.items.map((item, index) => <ItemView key={item.kind === "call" ? item.callId : index} item={item} />)}
      {!turn.isDone && !asking && <Loading what="the answer" />}
    </>
  );
}
