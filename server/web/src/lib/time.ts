// Times: Unix milliseconds as the backend sends them, in this browser's zone.
import { useSyncExternalStore } from "react";

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const SHORT = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

export const fullTime = (at: bigint | number) => FULL.format(Number(at));
/** The zone of this browser, in which times are shown. */
export const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns a moment in another zone, or in this browser's where it does not know that one. */
export function timeIn(at: bigint | number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone }).format(Number(at));
  } catch {
    return fullTime(at);
  }
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const timeOfDay = (at: bigint | number) => CLOCK.format(Number(at));
export const shortTime = (at: bigint | number) => SHORT.format(Number(at));

/** Returns how far away a moment is: `3 min ago`, `in 2 h`. */
export function relative(at: bigint | number, now: number): string {
  const seconds = Math.round((Number(at) - now) / 1000);
  const away = Math.abs(seconds);
  const text =
    away < 10 ? "" : away < 60 ? `${away} s` : away < 3600 ? `${Math.round(away / 60)} min` : away < 129_600 ? `${Math.round(away / 3600)} h` : `${Math.round(away / 86_400)} days`;
  if (text === "") return "now";
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** Returns how long something took: `340 ms`, `12 s`, `3 min 4 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const EVERY_MS = 10_000;
const listeners = new Set<() => void>();
let current = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for everything that shows how long ago something was: a long list has a thousand of them. */
function subscribe(listener: () => void) {
  listeners.add(listener);
  current = Date.now();
  timer ??= setInterval(() => {
    current = Date.now();
    for (const each of listeners) each();
  }, EVERY_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time, renewed every ten seconds. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => current);
