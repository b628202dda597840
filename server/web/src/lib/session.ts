// Who is signed in, and how one signs in and out. The session itself is in a cookie that this code cannot read.
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { AuthService } from "../gen/orion/v1/auth_pb";
import { FROM_PAGE, queries, transport } from "./api";
import { type OrionError, errorFrom } from "./errors";
import { forgetKept } from "./kept";

export type Role = "viewer" | "operator" | "admin";

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

export function useMe() {
  const { data, error, isPending } = useQuery(AuthService.method.whoAmI, {}, { staleTime: 60_000 });
  const role = (data?.role ?? "viewer") as Role;
  return { user: data?.user ?? "", tokenId: data?.token?.tokenId ?? "", role, error, isPending, is: (least: Role) => RANK[role] >= RANK[least] };
}

const WHO = createConnectQueryKey({ schema: AuthService.method.whoAmI, input: {}, transport, cardinality: "finite" });

/** Returns who was signed in when the backend last said so; empty where nobody was. */
export const lastUser = () => queries.getQueryData(WHO)?.user ?? "";

/** Asks one of the sign-in routes. Returns what it answers, or what was wrong. */
async function post<T>(path: string, body: object): Promise<{ answer: T; error?: undefined } | { error: OrionError }> {
  try {
    const headers = { ...FROM_PAGE, "content-type": "application/json" };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), credentials: "same-origin" });
    const answer: unknown = response.status === 204 ? {} : await response.json();
    if (response.ok) return { answer: answer as T };
    const { error } = answer as { error: unknown };
    return { error: errorFrom(error) ?? { code: "INTERNAL", message: "The backend did not accept this." } };
  } catch {
    return { error: { code: "UNAVAILABLE", message: "The backend does not answer.", hints: [{ text: "see whether it runs, and try again" }] } };
  }
}

/** Signs in or out. Returns what was wrong; undefined where it worked. */
async function ask(path: string, body: object): Promise<OrionError | undefined> {
  const { error } = await post(path, body);
  // What was loaded belongs to whoever was signed in before.
  if (!error) queries.clear();
  return error;
}

export const signIn = (user: string, password: string) => ask("/page/sign-in", { user, password });
export const signInByLink = (secret: string) => ask("/page/link", { secret });
/** Asks whom a link would sign in, and leaves it unused. */
export const personOfLink = (secret: string) => post<{ user: string }>("/page/link-person", { secret });
export const createFirstAdmin = (secret: string, user: string, password: string) =>
  ask("/page/first-admin", { secret, user, password });

/** Signs out. A session that has ended already is no problem. */
export async function signOut(): Promise<OrionError | undefined> {
  const problem = await ask("/page/sign-out", {});
  if (problem && problem.code !== "PERMISSION_DENIED") return problem;
  queries.clear();
  forgetKept();
  return undefined;
}

/** The secrets that stood behind `#`, by the page that they are for. A page may be drawn twice before it is shown. */
const secrets = new Map<string, string>();

/** Takes the secret behind `#` out of the address, so that it stays in no history, and returns it until it is forgotten. */
export function secretInAddress(): string {
  const { hash, pathname, search } = location;
  if (hash.length > 1) {
    secrets.set(pathname, hash.slice(1));
    history.replaceState(null, "", pathname + search);
  }
  return secrets.get(pathname) ?? "";
}

export const forgetSecret = () => secrets.clear();

/** Returns where to go after signing in: an address of this page, and nothing else. */
export function nextAddress(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
