// Messages that were sent while an answer was still coming: they wait for its end, in order.
import { useCallback, useEffect, useRef, useState } from "react";

/** How many messages wait at most. */
export const MOST_WAITING = 5;

export interface Next {
  text: string;
  model: string;
}

/** What waited in a conversation when another page or conversation was chosen, until the person comes back. */
const kept = new Map<string, Next[]>();

interface Conversation {
  id: string | undefined;
  /** How often another one was chosen. */
  switches: number;
  isBusy: boolean;
  isCutOff: boolean;
  send: (text: string, model: string) => unknown;
}

/** What waits belongs to one conversation. What waited when the person left is sent behind the next answer. */
export function useNext({ id, switches, isBusy, isCutOff, send }: Conversation) {
  const [waiting, setWaiting] = useState<Next[]>([]);
  const [isHeld, setHeld] = useState(false);
  /** The conversation, and what waits in it. It stays that of before until another one is shown. */
  const latest = useRef({ id, waiting });
  const chosen = useRef(id);
  useEffect(() => {
    chosen.current = id;
    const { id: before } = latest.current;
    if (before === undefined || before === id) latest.current = { id, waiting };
  }, [id, waiting]);
  useEffect(() => {
    const now = chosen.current ?? "";
    const restored = kept.get(now) ?? [];
    kept.delete(now);
    latest.current = { id: chosen.current, waiting: restored };
    setWaiting(restored);
    setHeld(restored.length > 0);
    return () => {
      const { id: left, waiting: rest } = latest.current;
      if (left !== undefined && rest.length > 0) kept.set(left, rest);
    };
  }, [switches]);
  useEffect(() => {
    if (isBusy) setHeld(false);
  }, [isBusy]);
  const add = useCallback((text: string, model: string) => {
    if (isBusy || waiting.length > 0) {
      setHeld(false);
      setWaiting((all) => (all.length < MOST_WAITING ? [...all, { text, model }] : all));
    } else void send(text, model);
  }, [isBusy, waiting.length, send]);
  useEffect(() => {
    const first = waiting[0];
    // After a failure nothing is sent by itself: what waits may depend on what failed.
    if (!first || isBusy || isCutOff || isHeld) return;
    setWaiting(waiting.slice(1));
    void send(first.text, first.model);
  }, [waiting, isBusy, isCutOff, isHeld, send]);
  const drop = useCallback((index: number) => setWaiting((all) => all.filter((_, at) => at !== index)), []);
  const clear = useCallback(() => setWaiting([]), []);
  return { waiting, add, drop, clear, isFull: waiting.length >= MOST_WAITING };
}
