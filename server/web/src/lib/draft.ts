// A change that is begun and not applied yet, as it is kept.
import { useState } from "react";
import { keep, kept } from "./kept";
import { lastUser } from "./session";

/** Returns the draft of a place, and how it is changed; undefined where there is none. */
export function useDraft<T>(place: string): [T | undefined, (draft: T | undefined) => void] {
  const [draft, setDraft] = useState(() => kept(lastUser(), place) as T | undefined);
  const change = (next: T | undefined) => {
    keep(lastUser(), place, next);
    setDraft(next);
  };
  return [draft, change];
}
