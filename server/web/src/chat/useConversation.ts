// The conversation that is shown: its recorded turns, and those of this visit as they stream in.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { refreshCalls } from "../calls/useCall";
import { ChatService, type SendMessageRequestSchema } from "../gen/orion/v1/chat_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { client, isPassing, noticeError, refresh } from "../lib/api";
import { isEnded } from "../lib/call";
import { pause } from "../lib/stream";
import { dropUnsent } from "./unsent";
import { type Turn, after, begun, turnsOf } from "./turns";

/** How often an answer that was cut off is taken up again by itself. */
const MOST_RETRIES = 6;
const PAUSE_MS = 500;

/** Returns whether an answer may go on that ended so, and that this page did not stop: a backend that ends cancels it. */
const isCut = (error: unknown) => isPassing(error) || ConnectError.from(error).code === Code.Canceled;

const refreshHistory = () => void refresh(ChatService.method.listChats);

export function useConversation(id: string | undefined) {
  const navigate = useNavigate();
  const [turns, setTurns] = useState<Turn[]>([]);
  const [failure, setFailure] = useState<unknown>(null);
  const running = useRef<AbortController>(null);
  const [isRunning, setRunning] = useState(false);
  /** The conversation of the turns of this visit. */
  const current = useRef(id);
  /** The conversation that is shown, and how often another one was chosen: both change at once. */
  const [shown, setShown] = useState({ id, switches: 0 });
  /** The conversation that began here: its address is no other conversation. */
  const [begunHere, setBegunHere] = useState<string>();
  if (shown.id !== id) setShown({ id, switches: shown.switches + (shown.id === undefined && id === begunHere ? 0 : 1) });
  const recorded = useQuery(
    ChatService.method.getChat,
    { conversationId: id ?? "" },
    // The turns of this visit are kept beside it, so another visit loads it again.
    { enabled: id !== undefined, staleTime: Number.POSITIVE_INFINITY, gcTime: 0, refetchOnWindowFocus: false },
  );
  useEffect(() => {
    if (current.current === id) return;
    running.current?.abort();
    current.current = id;
    setTurns([]);
    setFailure(null);
  }, [id]);
  useEffect(() => () => running.current?.abort(), []);

  const run = useCallback(
    async (turn: Turn, first: MessageInitShape<typeof SendMessageRequestSchema>) => {
      const change = (next: (turn: Turn) => Turn) => setTurns((all) => all.map((it) => (it.key === turn.key ? next(it) : it)));
      setTurns((all) => [...all, turn]);
      setFailure(null);
      setRunning(true);
      const stop = new AbortController();
      running.current = stop;
      let request = first;
      let isKnown = first.resume === true;
      const follow = async () => {
        for await (const event of client(ChatService).sendMessage({ ...request, conversationId: current.current ?? "" }, { signal: stop.signal })) {
          change((it) => after(it, event));
          if (event.event.case === "callEnded" && event.event.value.call?.tool === "undo_call") void refreshCalls();
          if (event.event.case !== "began") continue;
          isKnown = true;
          dropUnsent(request.text ?? "");
          if (current.current === event.event.value.conversationId) continue;
          current.current = event.event.value.conversationId;
          setBegunHere(event.event.value.conversationId);
          void navigate(`/chat/${event.event.value.conversationId}`, { replace: true });
          refreshHistory();
        }
      };
      try {
        for (let retries = 0; !stop.signal.aborted; retries += 1) {
          try {
            await follow();
            break;
          } catch (error) {
            // What the backend never began may be sent again only by the person.
            if (stop.signal.aborted || !isKnown || !isCut(error) || retries === MOST_RETRIES) throw error;
          }
          await pause(PAUSE_MS * 2 ** retries, stop.signal);
          const chat = await client(ChatService).getChat({ conversationId: current.current ?? "" }, { signal: stop.signal }).catch(() => undefined);
          if (chat?.canGoOn === false) {
            // The answer was complete before the link was cut.
            await refresh(ChatService.method.getChat);
            setTurns((all) => all.filter(({ turnIds }) => turnIds.length === 0));
            break;
          }
          request = { resume: true, model: first.model };
        }
      } catch (error) {
        if (!stop.signal.aborted) {
          setFailure(error);
          noticeError(error);
        }
      } finally {
        if (running.current === stop) setRunning(false);
        change((it) => ({ ...it, isDone: true }));
        refreshHistory();
      }
    },
    [navigate],
  );
  const send = useCallback((text: string, model: string) => run(begun(text), { text, model }), [run]);
  /** Takes the newest turn up again: sends what never arrived, and goes on with what was cut off. */
  const again = useCallback(() => {
    const last = turns.at(-1);
    if (!last || last.isContinued || last.turnIds.length > 0) return run(begun("", true), { resume: true });
    setTurns((all) => all.filter(({ key }) => key !== last.key));
    return send(last.said, "");
  }, [run, send, turns]);

  const stop = useCallback(() => {
    running.current?.abort();
    const open = turns.flatMap(({ items }) => items).filter((item) => item.kind === "call" && !(item.call && isEnded(item.call.state)));
    for (const item of open) {
      // A call that has ended by now needs no end.
      if (item.kind === "call") void client(ToolService).cancelCall({ callId: item.callId }).catch(noticeError);
    }
  }, [turns]);

  const earlier = useMemo(() => {
    const known = new Set(turns.filter(({ isContinued }) => !isContinued).flatMap(({ turnIds }) => turnIds));
    const models = new Map(recorded.data?.turns.map(({ turnId, model }) => [turnId, model]));
    return turnsOf(recorded.data?.messages ?? [], models).filter(({ turnIds }) => !turnIds.some((it) => known.has(it)));
  }, [recorded.data, turns]);
  const isCutOff = !isRunning && (turns.length === 0 ? recorded.data?.canGoOn === true : failure !== null);
  return { turns: useMemo(() => [...earlier, ...turns], [earlier, turns]), send, again, isCutOff, stop, isRunning, failure, recorded, switches: shown.switches };
}
