// Messages that were sent while an answer was still coming: they wait for its end, in order.
import { useCallback, useEffect, useRef, useState } from "react";
import { counted } from "../lib/text";
import { useToast } from "../ui/toasts";
import { dropUnsent } from "./unsent";

/** How many messages wait at most. */
export const MOST_WAITING = 5;

export interface Next {
  text: string;
  model: string;
}

const NOTHING: Next[] = [];

/** What waits belongs to one visit of a conversation: it is never sent to another one. Who leaves sees how many were not sent. */
export function useNext(visit: number, isBusy: boolean, isCutOff: boolean, send: (text: string, model: string) => unknown) {
  const toast = useToast();
  const [state, setState] = useState({ visit, list: NOTHING });
  const waiting = state.visit === visit ? state.list : NOTHING;
  const latest = useRef(waiting);
  const change = useCallback(
    (next: (list: Next[]) => Next[]) => setState((before) => ({ visit, list: next(before.visit === visit ? before.list : NOTHING) })),
    [visit],
  );
  useEffect(() => {
    const left = latest;
    return () => {
      if (left.current.length > 0) toast(`Not sent: ${counted(left.current.length, "message")} that waited in the chat you left.`);
    };
  }, [visit, toast]);
  useEffect(() => {
    latest.current = waiting;
  }, [waiting]);
  const add = useCallback((text: string, model: string) => {
    if (isBusy || waiting.length > 0) change((all) => (all.length < MOST_WAITING ? [...all, { text, model }] : all));
    else void send(text, model);
  }, [isBusy, waiting.length, send, change]);
  useEffect(() => {
    const first = waiting[0];
    // After a failure nothing is sent by itself: what waits may depend on what failed.
    if (!first || isBusy || isCutOff) return;
    change((all) => all.slice(1));
    void send(first.text, first.model);
  }, [waiting, isBusy, isCutOff, send, change]);
  const drop = useCallback((index: number) => {
    dropUnsent(waiting[index]?.text ?? "");
    change((all) => all.filter((_, at) => at !== index));
  }, [change, waiting]);
  const clear = useCallback(() => {
    for (const { text } of waiting) dropUnsent(text);
    change(() => NOTHING);
  }, [change, waiting]);
  return { waiting, add, drop, clear, isFull: waiting.length >= MOST_WAITING };
}
