// Messages that were sent while an answer was still coming: they wait for its end, in order.
import { useCallback, useEffect, useState } from "react";

/** How many messages wait at most. */
export const MOST_WAITING = 5;

export interface Next {
  text: string;
  model: string;
}

/** What waits belongs to one conversation: it is dropped where another one is chosen. */
export function useNext(conversation: number, isBusy: boolean, isCutOff: boolean, send: (text: string, model: string) => unknown) {
  const [waiting, setWaiting] = useState<Next[]>([]);
  const add = useCallback((text: string, model: string) => {
    if (isBusy) setWaiting((all) => (all.length < MOST_WAITING ? [...all, { text, model }] : all));
    else void send(text, model);
  }, [isBusy, send]);
  useEffect(() => setWaiting([]), [conversation]);
  useEffect(() => {
    const first = waiting[0];
    // After a failure nothing is sent by itself: what waits may depend on what failed.
    if (!first || isBusy || isCutOff) return;
    setWaiting(waiting.slice(1));
    void send(first.text, first.model);
  }, [waiting, isBusy, isCutOff, send]);
  const drop = useCallback((index: number) => setWaiting((all) => all.filter((_, at) => at !== index)), []);
  const clear = useCallback(() => setWaiting([]), []);
  return { waiting, add, drop, clear, isFull: waiting.length >= MOST_WAITING };
}
