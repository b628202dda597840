// What has just appeared cannot be pressed: a tap that was meant for what was there before does nothing.
import { useEffect, useState } from "react";

const SETTLE_MS = 600;

/** Returns whether what is shown has been there for a moment. With another `view`, something else has just appeared. */
export function useSettled(view: unknown = null): boolean {
  const [settled, setSettled] = useState<{ view: unknown }>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ view }), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      setSettled(undefined);
    };
  }, [view]);
  return settled !== undefined && settled.view === view;
}
