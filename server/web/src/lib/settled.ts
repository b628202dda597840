// What has just appeared cannot be pressed: a tap that was meant for what was there before does nothing.
import { useEffect, useState } from "react";

const SETTLE_MS = 600;

export function useSettled(): boolean {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSettled;
}
