// A change that is begun and not applied yet, as it is kept.
import { useCallback, useState } from "react";
import { keep, kept } from "./kept";
import { useMe } from "./session";

/** Returns this person's draft of a place, and how it is changed; undefined where there is none. */
export function useDraft<T>(place: string, isDraft: (value: unknown) => value is T): [T | undefined, (draft: T | undefined) => void] {
  const { user } = useMe();
  const [held, setHeld] = useState<{ user: string; draft: unknown }>();
  const now = held?.user === user ? held : { user, draft: kept(user, place) };
  if (now !== held) setHeld(now);
  const change = useCallback((draft: T | undefined) => {
    keep(user, place, draft);
    setHeld({ user, draft });
  }, [user, place]);
  return [isDraft(now.draft) ? now.draft : undefined, change];
}
