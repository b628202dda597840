// What a person has begun and not sent: it outlasts a look at another page, a reload and a session that ended, in this
// tab. Nobody else is shown it, and signing out forgets it.
import { json } from "./text";

const BEGIN = "orion-kept ";
const key = (user: string, place: string) => `${BEGIN}${user} ${place}`;

/** Keeps what a person has begun in a place; undefined forgets it. */
export function keep(user: string, place: string, value: unknown) {
  // What is typed while the sign-in is loaded is nobody's yet.
  if (user === "") return;
  try {
    if (value === undefined) sessionStorage.removeItem(key(user, place));
    else sessionStorage.setItem(key(user, place), JSON.stringify(value));
  } catch {
    // A browser without room for it has what is on the page, and nothing older in its place.
    forget(key(user, place));
  }
}

function forget(name: string) {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // Nothing is kept here.
  }
}

export function kept(user: string, place: string): unknown {
  try {
    return json(sessionStorage.getItem(key(user, place)) ?? "");
  } catch {
    return undefined;
  }
}

export function forgetKept() {
  try {
    for (const name of Object.keys(sessionStorage).filter((it) => it.startsWith(BEGIN))) sessionStorage.removeItem(name);
  } catch {
    // Nothing was kept.
  }
}
