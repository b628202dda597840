// What a person has written and the backend has not taken.
import { keep, kept } from "../lib/kept";
import { lastUser } from "../lib/session";

const PLACE = "chat";

/** Keeps what is written for the person who writes it. */
export const keepUnsent = (text: string) => keep(lastUser(), PLACE, text === "" ? undefined : text);

/** Returns what this person had written, and nobody else's text. */
export function unsent(): string {
  const text = kept(lastUser(), PLACE);
  return typeof text === "string" ? text : "";
}

/** Forgets a message that the backend has taken, or the person has taken back. */
export function dropUnsent(text: string) {
  if (unsent().trim() === text) keepUnsent("");
}
