// Streams that may be open at once. Over HTTP/1.1 a browser opens six connections to a host, and each stream takes one for
// as long as it is open: without a limit, some open calls would leave none for anything else.
import { useEffect, useState, useSyncExternalStore } from "react";

/** Beside these, a page has the stream of approvals and that of an answer. */
const MOST = 2;

let queue: symbol[] = [];
const listeners = new Set<() => void>();

function change(next: symbol[]) {
  queue = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns whether this component may open its stream now. The ones that have waited longest come first. */
export function useSlot(wants: boolean): boolean {
  const [id] = useState(() => Symbol("slot"));
  useEffect(() => {
    if (!wants) return undefined;
    change([...queue, id]);
    return () => change(queue.filter((other) => other !== id));
  }, [id, wants]);
  // Before the first effect there is one if there is room.
  return useSyncExternalStore(subscribe, () => wants && (queue.includes(id) ? queue.slice(0, MOST).includes(id) : queue.length < MOST));
}
