// One turn: what was said, the answer, and a card for each call.
import { useQuery } from "@connectrpc/connect-query";
import { Asked } from "../approvals/Asked";
import { CallCard } from "../calls/CallCard";
import { ChatService } from "../gen/orion/v1/chat_pb";
import { visible } from "../lib/text";
import { Loading } from "../ui/basics";
import { Markdown } from "./Markdown";
import type { Item, Turn } from "./turns";

function RecordedCalls({ turnId }: { turnId: string }) {
  const { data } = useQuery(ChatService.method.getTurn, { turnId }, { staleTime: 30_000 });
  return data?.calls.map((call) => (
    <CallCard key={call.callId} callId={call.callId} known={call} tool={call.tool} device={call.device} arguments={call.arguments} />
  ));
}

/** The planner's text without the steps after an error: the card of the call has them, with buttons. */
const withoutSteps = (text: string) => text.split("\n").filter((line) => !/^(Hint|Tip( voor [a-z ]+)?): /.test(line)).join("\n");

function ItemView({ item, isPlain, hasCard }: { item: Item; isPlain: boolean; hasCard: boolean }) {
  switch (item.kind) {
    case "text":
      return <Markdown text={isPlain && hasCard ? withoutSteps(item.text) : item.text} isPlain={isPlain} />;
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
  const models = useQuery(ChatService.method.listModels, {}, { staleTime: 60_000 }).data?.models;
  // The planner writes names and contents as they are: none of them is markup. Which model answered is not known of every
  // earlier turn.
  const possible = models?.filter(({ name }) => turn.model === "" || name === turn.model) ?? [];
  const isPlain = possible.length > 0 && possible.every(({ isLanguageModel }) => !isLanguageModel);
  const asking = turn.items.some((item) => item.kind === "call" && item.approval);
  return (
    <>
      {!turn.isContinued && <div className="said" dir="auto"><span className="sr">You: </span>{visible(turn.said)}</div>}
      {turn.isRecorded && turn.turnIds.map((id) => <RecordedCalls key={id} turnId={id} />)}
      {turn.items.map((item, index) => <ItemView key={item.kind === "call" ? item.callId : index} item={item} isPlain={isPlain} hasCard={turn.isRecorded || turn.items.some((it) => it.kind === "call")} />)}
      {!turn.isDone && !asking && <Loading what="the answer" />}
    </>
  );
}
