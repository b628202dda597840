// The grants of a device as they are edited: JSON in the grammar of the policy, changed one entry at a time.
import type { GrantReview } from "../gen/orion/v1/device_pb";
import { json } from "../lib/text";

export type Grants = Record<string, unknown>;

/** A change of grants, with those that it was begun from. */
export interface Begun {
  before: Grants;
  grants: Grants;
}

const isObject = (value: unknown): value is Grants => typeof value === "object" && value !== null && !Array.isArray(value);

export const isBegun = (value: unknown): value is Begun => isObject(value) && isObject(value.before) && isObject(value.grants);

/** The lists that say something where they are empty: without one, something else decides. */
const SAYS_NONE = new Set(["tools", "capabilities", "permissions", "commands"]);

/** Returns whether two sets of grants say the same: the order of a list says nothing. */
export function isSame(one: Grants, other: Grants): boolean {
  const text = (name: string, value: unknown) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0 && !SAYS_NONE.has(name))) return "";
    return Array.isArray(value) ? `[${value.map(flow).toSorted().join("\n")}]` : flow(value);
  };
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) => text(name, one[name]) === text(name, other[name]));
}

/** Where the grants keep the entries of a kind. */
const LISTS: Record<string, string> = { tool: "tools", path: "paths", app: "apps", command: "commands", service: "services", log: "logs", host: "hosts" };

/** Returns the rows of a review with the many tools last. */
export const byKind = (rows: GrantReview[]) => rows.toSorted((a, b) => Number(a.kind === "tool") - Number(b.kind === "tool"));

/** Returns how a review names an entry of the grants. */
function named(kind: string, entry: unknown): string {
  if (typeof entry === "string") return entry;
  if (typeof entry !== "object" || entry === null) return String(entry);
  const fields = entry as Record<string, unknown>;
  const name = kind === "path" ? fields.path : kind === "command" ? fields.program : undefined;
  if (typeof name === "string") return name;
  const [key, value] = Object.entries(fields)[0] ?? ["", ""];
  return `${key}:${String(value)}`;
}

/** Returns the entry that a row of the review is about, without the accesses that it adds to a path. */
export const entryOf = ({ kind, entry }: GrantReview) => (kind === "path" ? entry.replace(/ \([a-z, ]*\)$/, "") : entry);

const list = (grants: Grants, key: string): unknown[] | undefined => (Array.isArray(grants[key]) ? (grants[key] as unknown[]) : undefined);

/** Returns the grants without an entry. Undefined where the text must be edited. */
export function without(grants: Grants, row: GrantReview, all: GrantReview[]): Grants | undefined {
  const key = LISTS[row.kind];
  if (!key) return undefined;
  const entry = entryOf(row);
  const entries = list(grants, key);
  if (row.kind === "tool" && !entries) {
    // Without a list every tool of the profile is granted, so the others are listed.
    return { ...grants, tools: all.filter((it) => it.kind === "tool" && it.server && it.entry !== row.entry).map((it) => it.entry) };
  }
  const index = entries?.findIndex((it) => named(row.kind, it) === entry || named(row.kind, it).startsWith(`${entry} `)) ?? -1;
  if (!entries || index < 0) return undefined;
  return { ...grants, [key]: entries.filter((_, at) => at !== index) };
}

/** Returns the grants with a narrower entry, as the review proposes it. Undefined where the text must be edited. */
export function narrowed(grants: Grants, row: GrantReview, all: GrantReview[]): Grants | undefined {
  if (row.proposal === "remove it") return without(grants, row, all);
  const found = /^\{ path: (".*"), access: \[([a-z, ]*)\] \}$/.exec(row.proposal);
  const path = found?.[1] ? json(found[1]) : undefined;
  const entries = list(grants, "paths");
  if (row.kind !== "path" || typeof path !== "string" || !entries) return undefined;
  const access = (found?.[2] ?? "").split(", ").filter(Boolean);
  return { ...grants, paths: entries.map((it) => (named("path", it) === entryOf(row) ? { path, access } : it)) };
}

/** An entry that is to be granted. */
export interface Wanted {
  kind: string;
  entry: string;
  access: string[];
}

/** Returns the grants with one more entry. */
export function added(grants: Grants, { kind, entry, access }: Wanted, all: GrantReview[]): Grants {
  const key = LISTS[kind] ?? "tools";
  const entries = list(grants, key) ?? [];
  if (kind !== "path") {
    // Without a list every tool of the profile is granted, so the others are listed.
    const others = kind === "tool" && !list(grants, key) ? all.filter((it) => it.kind === "tool" && it.server).map((it) => it.entry) : entries;
    return others.includes(entry) ? grants : { ...grants, [key]: [...others, entry] };
  }
  const before = entries.find((it) => named(kind, it) === entry) as { access?: unknown } | undefined;
  if (!before) return { ...grants, [key]: [...entries, { path: entry, access }] };
  const both = [...new Set([...(Array.isArray(before.access) ? before.access : []), ...access])];
  return { ...grants, [key]: entries.map((it) => (it === before ? { ...before, access: both } : it)) };
}

/** Returns the entries that the location of a page asks for: another page of this browser put them there. */
export function wantedOf(state: unknown): Wanted[] {
  const wanted = (state as { wanted?: unknown } | null)?.wanted;
  return Array.isArray(wanted) ? (wanted as Wanted[]) : [];
}

const textsOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

/** Returns what an admin has to know before it is granted, as the location of the page says it. */
export function notesOf(state: unknown): string {
  const { owner, lookAlikes } = (state ?? {}) as { owner?: unknown; lookAlikes?: unknown };
  const alike = textsOf(lookAlikes).map((it) => `${it}: is it the one that you mean?`);
  const steps = textsOf(owner).join(", ");
  return [...alike, ...(steps === "" ? [] : [`This alone is not enough. The device's owner has to allow it there, too: ${steps}`])].join(" ");
}

/** Returns the grants with the tools of their profile as a list, where the other grants list theirs. */
export function comparable(grants: Grants, other: Grants, rows: GrantReview[]): Grants {
  if (list(grants, "tools") || !list(other, "tools")) return grants;
  return { ...grants, tools: rows.filter((it) => it.kind === "tool" && it.server).map((it) => it.entry) };
}

export const pretty = (grants: Grants) => JSON.stringify(grants, null, 2);

/** Returns a value as the policy file writes it on one line. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null) return `{ ${Object.entries(value).map(([key, it]) => `${key}: ${flow(it)}`).join(", ")} }`;
  return typeof value === "string" && /^[a-z_]+$/.test(value) ? value : JSON.stringify(value);
}

/** Returns the grants as the policy file writes them, an entry a line: a difference of two has no other lines. */
export function readable(grants: Grants): string {
  return Object.entries(grants)
    .flatMap(([key, value]) => (Array.isArray(value) ? [`${key}:`, ...value.map((it) => `  - ${flow(it)}`)] : [`${key}: ${flow(value)}`]))
    .join("\n");
}

/** Returns the rows of the review that one set of grants has and the other lacks. */
export function dropped(before: Grants, after: Grants, rows: GrantReview[]): GrantReview[] {
  const holds = (grants: Grants, row: GrantReview) => {
    const entries = list(grants, LISTS[row.kind] ?? "");
    return entries ? entries.some((it) => named(row.kind, it) === entryOf(row)) : row.server;
  };
  return rows.filter((row) => holds(before, row) && !holds(after, row));
}
