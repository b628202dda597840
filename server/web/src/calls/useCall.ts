// One call, live until it has ended.
import { useQuery } from "@connectrpc/connect-query";
import { useCallback, useEffect, useState } from "react";
import { type Call, ToolService, type WatchCallResponse } from "../gen/orion/v1/tool_pb";
import { client } from "../lib/api";
import { isEnded } from "../lib/call";
import { useStream } from "../lib/stream";

const MOST_OUTPUT = 64 * 1024;

/** Follows a call that has not ended, and loads one that has. */
export function useCall(callId: string, known?: Call) {
  const [live, setLive] = useState<Call>();
  const [output, setOutput] = useState("");
  const newest = live ?? known;
  const isOpen = !newest || !isEnded(newest.state);
  const watch = useCallback(
    (signal: AbortSignal) => client(ToolService).watchCall({ callId, output: true }, { signal }),
    [callId],
  );
  const onEvent = useCallback(({ event }: WatchCallResponse) => {
    if (event.case === "call") setLive(event.value);
    if (event.case === "output") {
      const text = new TextDecoder().decode(event.value.data);
      setOutput((before) => (before + text).slice(-MOST_OUTPUT));
    }
  }, []);
  const clear = useCallback(() => setOutput(""), []);
  useStream(isOpen ? watch : undefined, onEvent, clear);
  // The list of a turn has no results; the call itself does.
  const loaded = useQuery(
    ToolService.method.getCall,
    { callId },
    { enabled: !isOpen && !newest?.result.length, staleTime: 5_000 },
  );
  useEffect(() => setLive(undefined), [callId]);
  const call = newest?.result.length ? newest : (loaded.data?.call ?? newest);
  return { call, output, error: loaded.error };
}
