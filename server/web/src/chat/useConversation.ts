// The conversation that is shown: its recorded turns, and those of this visit as they stream in.
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { ChatService } from "../gen/orion/v1/chat_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { client, noticeError, queries } from "../lib/api";
import { isEnded } from "../lib/call";
import { type Turn, after, turnsOf } from "./turns";

const refreshHistory = () =>
  void queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: ChatService.method.listChats, cardinality: "finite" }) });

export function useConversation(id: string | undefined) {
  const navigate = useNavigate();
  const [turns, setTurns] = useState<Turn[]>([]);
  const [failure, setFailure] = useState<unknown>(null);
  const running = useRef<AbortController>(null);
  const [isRunning, setRunning] = useState(false);
  /** The conversation of the turns of this visit. */
  const current = useRef(id);
  const recorded = useQuery(
    ChatService.method.getChat,
    { conversationId: id ?? "" },
    { enabled: id !== undefined, staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false },
  );
  useEffect(() => {
    if (current.current === id) return;
    running.current?.abort();
    current.current = id;
    setTurns([]);
    setFailure(null);
  }, [id]);
  useEffect(() => () => running.current?.abort(), []);

  const send = useCallback(
    async (text: string, model: string) => {
      const key = crypto.randomUUID();
      const change = (next: (turn: Turn) => Turn) => setTurns((all) => all.map((turn) => (turn.key === key ? next(turn) : turn)));
      setTurns((all) => [...all, { key, turnId: "", said: text, items: [], isDone: false, isRecorded: false }]);
      setFailure(null);
      setRunning(true);
      const stop = new AbortController();
      running.current = stop;
      try {
        const stream = client(ChatService).sendMessage({ conversationId: current.current ?? "", text, model }, { signal: stop.signal });
        for await (const event of stream) {
          change((turn) => after(turn, event));
          if (event.event.case === "began" && current.current !== event.event.value.conversationId) {
            current.current = event.event.value.conversationId;
            void navigate(`/chat/${event.event.value.conversationId}`, { replace: true });
            refreshHistory();
          }
        }
      } catch (error) {
        if (!stop.signal.aborted) {
          setFailure(error);
          noticeError(error);
        }
      } finally {
        if (running.current === stop) setRunning(false);
        change((turn) => ({ ...turn, isDone: true }));
        refreshHistory();
      }
    },
    [navigate],
  );

  const stop = useCallback(() => {
    running.current?.abort();
    const open = turns.flatMap(({ items }) => items).filter((item) => item.kind === "call" && !(item.call && isEnded(item.call.state)));
    for (const item of open) {
      // A call that has ended by now needs no end.
      if (item.kind === "call") void client(ToolService).cancelCall({ callId: item.callId }).catch(noticeError);
    }
  }, [turns]);

  const earlier = useMemo(() => {
    const known = new Set(turns.map(({ turnId }) => turnId));
    return turnsOf(recorded.data?.messages ?? []).filter(({ turnId }) => turnId === "" || !known.has(turnId));
  }, [recorded.data, turns]);
  return { turns: useMemo(() => [...earlier, ...turns], [earlier, turns]), send, stop, isRunning, failure, recorded };
}
