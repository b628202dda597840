// A stream of the backend that is kept open while the page is seen: it comes back after a lost link, a restart or sleep.
import { useEffect, useRef, useState } from "react";
import { isSignedOut, noticeError } from "./api";

export type Link = "connecting" | "open" | "lost";

const LONGEST_PAUSE_MS = 8_000;
/** A stream on which nothing came for so long is opened again: nobody says when a link is dead without being closed. */
const QUIET_MS = 120_000;

/** An attempt at a stream, which ends with its signal, or after a long silence. */
class Attempt {
  private readonly quiet = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  readonly signal: AbortSignal;

  constructor(stop: AbortSignal) {
    this.signal = AbortSignal.any([stop, this.quiet.signal]);
    this.heard();
  }

  heard() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.quiet.abort(), QUIET_MS);
  }

  /** Ends the wait, and says whether there was silence. */
  end(): boolean {
    clearTimeout(this.timer);
    return this.quiet.signal.aborted;
  }
}

/** Waits, or returns at once where the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Follows a stream, and reports its state. `onOpen` runs each time that it may have missed something. */
export function useStream<T>(
  open: ((signal: AbortSignal) => AsyncIterable<T>) | undefined,
  onEvent: (event: T) => void,
  onOpen: () => void,
): Link {
  const [link, setLink] = useState<Link>("connecting");
  const handlers = useRef({ onEvent, onOpen });
  useEffect(() => {
    handlers.current = { onEvent, onOpen };
  });
  useEffect(() => {
    if (!open) return undefined;
    let stop = new AbortController();
    const follow = async (signal: AbortSignal) => {
      let failures = 0;
      while (!signal.aborted) {
        const settled = setTimeout(() => !signal.aborted && setLink("open"), 300);
        const attempt = new Attempt(signal);
        let wasQuiet = false;
        try {
          handlers.current.onOpen();
          for await (const event of open(attempt.signal)) {
            failures = 0;
            attempt.heard();
            handlers.current.onEvent(event);
          }
        } catch (error) {
          if (signal.aborted) return;
          noticeError(error);
          if (isSignedOut(error)) return;
        } finally {
          clearTimeout(settled);
          wasQuiet = attempt.end();
        }
        if (wasQuiet || signal.aborted) continue;
        setLink("lost");
        await pause(Math.min(500 * 2 ** failures, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2), signal);
        failures += 1;
      }
    };
    const begin = () => {
      stop.abort();
      stop = new AbortController();
      if (document.visibilityState === "visible") void follow(stop.signal);
    };
    begin();
    document.addEventListener("visibilitychange", begin);
    window.addEventListener("online", begin);
    return () => {
      stop.abort();
      document.removeEventListener("visibilitychange", begin);
      window.removeEventListener("online", begin);
    };
  }, [open]);
  return link;
}
