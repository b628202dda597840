// Text of devices, models and people is shown as it is, and cannot pretend to be anything else: what would be invisible
// or turn the direction of a line is written out.

/** Control characters, bidirectional controls, invisible characters and tags of Unicode. Line breaks and tabs are not among them. */
// oxlint-disable-next-line no-control-regex, no-misleading-character-class
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

const escape = (character: string) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** What stands for a character here: a text that has one of these already writes it out, so that the two differ. */
const MARKS = /[\u21e5\u23ce\u2423]|\\(?=u\{)/g;

/** A character with its accents, or a syllable with its parts. */
const CLUSTER = /[\u1100-\u1112\uac00-\ud7a3][\u1161-\u1175\u11a8-\u11c2]+|\P{M}\p{M}*/gu;

const isOther = (text: string) => text.normalize("NFC") !== text;

/** Writes out what looks as other characters do: `e` and an accent as the letter that has it, the sign of Kelvin as K. */
function composed(cluster: string): string {
  if (!isOther(cluster)) return cluster;
  const [first = "", ...rest] = cluster;
  return [isOther(first) ? escape(first) : first, ...rest.map(escape)].join("");
}

/** Writes out what is not seen, and looks as something else does. */
function written(text: string): string {
  return seen(text.replace(MARKS, escape));
}

/** Returns a text with line breaks, in which everything is visible. */
export function visible(text: string): string {
  return written(text.replaceAll("\r\n", "\n"));
}

/** Does the same with a text in which names are written out already. */
export function seen(text: string): string {
  return (isOther(text) ? text.replace(CLUSTER, composed) : text).replace(HIDDEN, escape);
}

/** Returns the text of JSON, in which what would be invisible is escaped as JSON does it. */
export function visibleJson(text: string): string {
  const unit = (hidden: string) => Array.from({ length: hidden.length }, (_, at) => `\\u${hidden.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  return text.replace(HIDDEN, unit);
}

/** Returns a line in which spaces that a browser leaves out, or that only look like one, are marked: they tell names apart. */
function spaced(line: string): string {
  return line.replace(/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]/g, escape).replace(/^ +| +$| {2,}/g, (run) => "␣".repeat(run.length));
}

/** Returns the first line of what is touched that is more than read. */
export const firstChanged = (touches: string[]) => touches.find((it) => !it.startsWith("read ")) ?? touches[0] ?? "";

/** Longer than a path can be: its end says what is meant. */
export const MOST_PATH = 40_000;

/** Returns a text as one line of at most so many characters. */
export function oneLine(text: string, most = 200): string {
  const line = spaced(written(clip(text, most * 2)).replace(/\n/g, "⏎").replace(/\t/g, "⇥"));
  return clip(line, most);
}

/** Cuts a text, at no more than so many characters. */
export function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/** Returns a text as one line whose middle is left out where it is long: a path says most at its end. */
export function bothEnds(text: string, most: number): string {
  if (text.length <= most) {
    const line = oneLine(text, 10 * most);
    if (line.length <= most) return line;
  }
  const first = Math.floor(most / 3);
  const line = (part: string) => oneLine(part, 10 * most);
  const [begin, end] = [line(text.slice(0, first)).slice(0, first), line(text.slice(first + 1 - most)).slice(first + 1 - most)];
  return `${begin.replace(/[\ud800-\udbff]$/, "")}…${end.replace(/^[\udc00-\udfff]/, "")}`;
}

const UTF8 = new TextDecoder();

/** Reads JSON that the backend sends as bytes or text. Undefined where it is none. */
export function json(value: Uint8Array | string): unknown {
  const text = typeof value === "string" ? value : UTF8.decode(value);
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a JSON object. */
export function object(value: Uint8Array | string): Record<string, unknown> {
  const found = json(value);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : {};
}

export function bytesOf(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Returns the value of an argument as text. */
export function show(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Returns an argument as `name=value`. `confirm=true` of a call is no approval, and does not look like one. */
export function argument(name: string, value: unknown): string {
  // A value that could look like another argument is quoted.
  const shown = typeof value === "string" && /^$|^\s|\s$|\s\s|[="·]/.test(value) ? JSON.stringify(value) : show(value);
  return `${name}=${shown}${isConfirm(name, value) ? ` (${NO_APPROVAL})` : ""}`;
}

export const NO_APPROVAL = "given with the call; it is no approval";

export function isConfirm(name: string, value: unknown): boolean {
  return name === "confirm" && value === true;
}

export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${Number(count) === 1 ? one : many}`;
}

export function bytes(count: bigint | number): string {
  let size = Number(count);
  for (const unit of ["bytes", "kB", "MB", "GB"]) {
    if (size < 1000) return `${unit === "bytes" ? size : size.toFixed(1)} ${size === 1 && unit === "bytes" ? "byte" : unit}`;
    size /= 1000;
  }
  return `${size.toFixed(1)} TB`;
}

export const shortId = (id: string) => id.slice(0, 18);

export function title(name: string): string {
  const words = name.replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
