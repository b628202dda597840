// Chat: what is said, a card for each call, approvals where they are asked, and the history.
import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef, useState } from "react";
import { Link, useParams } from "react-router";
import { Composer } from "../chat/Composer";
import { History } from "../chat/History";
import { TurnView } from "../chat/TurnView";
import { useConversation } from "../chat/useConversation";
import { useFollow } from "../chat/useFollow";
import { MOST_WAITING, type Next, useNext } from "../chat/useNext";
import { ChatService } from "../gen/orion/v1/chat_pb";
import { DeviceService } from "../gen/orion/v1/device_pb";
import { CallState } from "../gen/orion/v1/tool_pb";
import { isMissing } from "../lib/api";
import { useMe } from "../lib/session";
import { oneLine } from "../lib/text";
import { Button, Line, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const EXAMPLES = ["Make a folder Test", "How much disk space is left?", "List files", "Which devices are connected?"];

function Welcome({ choose }: { choose: (text: string) => void }) {
  const me = useMe();
  const { data } = useQuery(DeviceService.method.listDevices, {});
  const hasDevice = (data?.devices.length ?? 0) > 0;
  return (
    <div className="empty">
      <h2>What should happen on your devices?</h2>
      <p>
        Say it in your words. What is of high risk, such as a deletion, waits until a person has seen and approved it; the
        rest runs at once, within what is allowed. Every call is recorded.
      </p>
      {data && !hasDevice && me.is("admin") ? (
        <Link className="button primary" to="/enrol">Enrol your first device</Link>
      ) : (
        <div className="row center">
          {EXAMPLES.map((text) => <Button key={text} look="small" onClick={() => choose(text)}>{text}</Button>)}
        </div>
      )}
    </div>
  );
}

function Waiting({ next, drop }: { next: Next[]; drop: (index: number) => void }) {
  if (next.length === 0) return null;
  return (
    <ol className="waiting bare" aria-label="Sent when the answer is complete">
      {next.map(({ text }, index) => (
        <li key={index} className="row">
          <span className="small muted">Next:</span>
          <span className="grow clip"><Line text={text} most={200} /></span>
          <Button look="small quiet" aria-label={`Do not send: ${oneLine(text, 60)}`} onClick={() => drop(index)}>Remove</Button>
        </li>
      ))}
    </ol>
  );
}

function CutOff({ turnId, again }: { turnId: string; again: () => void }) {
  const { data, error } = useQuery(ChatService.method.getTurn, { turnId }, { enabled: turnId !== "", refetchInterval: 3_000 });
  const isAsking = data?.calls.some(({ state }) => state === CallState.AWAITING_APPROVAL) ?? false;
  const wasAsking = useRef(false);
  useEffect(() => {
    // Once it is decided, the answer goes on by itself.
    if (wasAsking.current && !isAsking) again();
    wasAsking.current = isAsking;
  }, [isAsking, again]);
  return (
    <p className="note row">
      <span className="grow">{isAsking ? "The answer goes on here once the request above is approved or denied." : "The answer to this is not complete."}</span>
      {(!isAsking || error) && <Button look="small" onClick={again}>Show the rest of the answer</Button>}
    </p>
  );
}

export default function Chat() {
  const { id } = useParams();
  const [isOpen, setOpen] = useState(false);
  const [draft, setDraft] = useState("");
  const { turns, send, again, isCutOff, stop, isRunning, failure, recorded, switches } = useConversation(id);
  const next = useNext(switches, isRunning, isCutOff && failure !== null, send);
  const follow = useFollow(id);
  // Of another person, or of nobody: nothing is said in it.
  const isGone = isMissing(recorded.error) && turns.length === 0;
  const isEmpty = turns.length === 0 && id === undefined;
  return (
    <main className="chat">
      <h1 className="sr">Chat</h1>
      <History isOpen={isOpen} onChoose={() => setOpen(false)} />
      <div className="talk">
        <div className="row only-phone chat-bar">
          <Button look="small" onClick={() => setOpen(true)}>Chats</Button>
          <Link className="button small" to="/chat">New chat</Link>
        </div>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <div className="messages" {...follow.box} tabIndex={0} role="log" aria-label="Messages" aria-live="polite">
          <div>
            {isEmpty && <Welcome choose={setDraft} />}
            {id !== undefined && recorded.isPending && turns.length === 0 && <Loading what="the chat" />}
            {turns.map((turn) => <TurnView key={turn.key} turn={turn} />)}
            <ErrorNote error={failure ?? recorded.error} retry={failure ? () => void again() : isMissing(recorded.error) ? undefined : () => void recorded.refetch()} />
            {isCutOff && !failure && <CutOff turnId={turns.at(-1)?.turnIds.at(-1) ?? ""} again={() => void again()} />}
          </div>
        </div>
        <Waiting next={next.waiting} drop={next.drop} />
        {next.isFull && <p className="waiting small muted" role="status">At most {MOST_WAITING} messages wait at a time.</p>}
        {isGone ? (
          <div className="composer"><Link className="button" to="/chat">Begin a new chat</Link></div>
        ) : (
          <Composer
            isRunning={isRunning}
            isFull={next.isFull}
            send={(text, model) => {
              setDraft("");
              follow.toEnd();
              next.add(text, model);
            }}
            stop={() => {
              next.clear();
              stop();
            }}
            draft={draft}
          />
        )}
      </div>
    </main>
  );
}
