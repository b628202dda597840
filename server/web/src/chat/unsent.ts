// What a person has written and the backend has not taken: it outlasts a look at another page, and a session that ended.
import { lastUser } from "../lib/session";

let kept = { user: "", text: "" };

/** Keeps what is written for the person who writes it. */
export function keepUnsent(text: string) {
  const user = lastUser();
  // What is typed while the sign-in is loaded adds nothing to what was kept.
  if (user !== "") kept = { user, text };
}

/** Forgets a message that the backend has taken, or the person has taken back. */
export function dropUnsent(text: string) {
  if (kept.text.trim() === text) keepUnsent("");
}

/** Returns what this person had written, and nobody else's text. */
export const unsent = () => (kept.user === lastUser() ? kept.text : "");
