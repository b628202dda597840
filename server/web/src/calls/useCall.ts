// One call, live until it has ended.
import { useQuery } from "@connectrpc/connect-query";
import { useCallback, useEffect, useState } from "react";
import { type Call, ToolService, type WatchCallResponse } from "../gen/orion/v1/tool_pb";
import { client, refresh } from "../lib/api";
import { isEnded } from "../lib/call";
import { useSlot } from "../lib/slots";
import { useStream } from "../lib/stream";

const MOST_OUTPUT = 64 * 1024;
const REFRESH_MS = 2_000;

/** Asks again for the calls that are shown: an undo has changed what is known of another one. */
export const refreshCalls = () => refresh(ToolService.method.getCall);

/** Follows a call that has not ended, by a stream where there is room for one, and loads one that has. */
export function useCall(callId: string, known?: Call) {
  const [live, setLive] = useState<Call>();
  const [polled, setPolled] = useState<Call>();
  const [output, setOutput] = useState("");
  const sources = [live, polled, known];
  // What has ended does not run again, whichever way that was said.
  const newest = sources.find((it) => it && isEnded(it.state)) ?? live ?? polled ?? known;
  const isOpen = !newest || !isEnded(newest.state);
  const hasSlot = useSlot(isOpen);
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
  useStream(isOpen && hasSlot ? watch : undefined, onEvent, clear);
  const isPolled = isOpen && !hasSlot;
  // The list of a turn has no results; the call itself does.
  const isLoaded = isPolled || (!isOpen && !newest?.result.length);
  const loaded = useQuery(
    ToolService.method.getCall,
    { callId },
    { enabled: isLoaded, staleTime: isPolled ? 0 : 5_000, ...(isPolled && { refetchInterval: REFRESH_MS }) },
  );
  useEffect(() => {
    setLive(undefined);
    setPolled(undefined);
  }, [callId]);
  useEffect(() => {
    if (loaded.data?.call?.callId === callId) setPolled(loaded.data.call);
  }, [callId, loaded.data]);
  const call = newest?.result.length ? newest : (loaded.data?.call ?? newest);
  // An error of before is over where the call has come by its stream.
  return { call, output, error: isLoaded ? loaded.error : null };
}
