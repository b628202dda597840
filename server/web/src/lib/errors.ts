// What went wrong, as the backend says it: a sentence and the next steps.
import { Code, ConnectError, decodeBinaryHeader } from "@connectrpc/connect";

export interface Hint {
  text: string;
  command?: string;
  who?: string;
  values?: string[];
}

export interface OrionError {
  code: string;
  message: string;
  details?: Record<string, unknown>;
  hints?: Hint[];
}

/** An entry of a device's grants that a denied call lacked. */
export interface Lacking {
  kind: string;
  entry: string;
  access: string[];
}

const KINDS: Record<string, string> = { tools: "tool", paths: "path", apps: "app", services: "service", logs: "log", hosts: "host" };

/** Returns the entries that the backend says an admin could grant: where its sentence is another, none. */
export function lacking({ hints }: OrionError): Lacking[] {
  return (hints ?? []).flatMap(({ text, who }) => {
    const [, entry = "", list = ""] = /^add (.+) to the (tools|paths|apps|services|logs|hosts) of (?!the ceiling of )\S+$/su.exec(text) ?? [];
    const kind = KINDS[list];
    if (who !== "admin" || !kind) return [];
    if (kind === "tool") return [{ kind, entry, access: [] }];
    const path = /^\{ path: (".+"), access: \[([a-z]+)\] \}$/su.exec(entry);
    const name = quoted(kind === "path" ? (path?.[1] ?? "") : entry);
    return name === undefined || (kind === "path" && !path) ? [] : [{ kind, entry: name, access: path?.[2] ? [path[2]] : [] }];
  });
}

function quoted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

const TEXT = new TextDecoder();

/** The failures of requests that the page makes again by itself. */
const repeated = new WeakSet<Error>();

/** Notes that the page makes the request again by itself that failed so. */
export const willRepeat = (failure: Error) => void repeated.add(failure);

/** Reads an error of the backend from JSON of any origin. */
export function errorFrom(value: unknown): OrionError | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { code, message, details, hints } = value as Record<string, unknown>;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  const steps = Array.isArray(hints) ? hints.filter((it): it is Hint => typeof it?.text === "string") : [];
  return { code, message, details: (details ?? {}) as Record<string, unknown>, hints: steps };
}

/** Returns what a person is told about any failure. */
export function describe(failure: unknown): OrionError {
  const error = ConnectError.from(failure);
  const packed = error.metadata.get("orion-error-bin");
  if (packed) {
    try {
      const found = errorFrom(JSON.parse(TEXT.decode(decodeBinaryHeader(packed))));
      if (found) return found;
    } catch {
      // The status itself says it, too.
    }
  }
  const plain = (code: string, message: string, hint: string) => ({ code, message, hints: [{ text: hint }] });
  switch (error.code) {
    case Code.Unauthenticated:
      return plain("PERMISSION_DENIED", "Your session has ended.", "sign in again");
    case Code.Unavailable:
    case Code.Unknown:
      return plain("UNAVAILABLE", "The backend does not answer.", repeated.has(error) ? "wait a moment: the page tries again by itself" : "try again once the backend answers");
    case Code.Canceled:
      return plain("CANCELLED", "This was stopped.", "start it again");
    default:
      return { code: Code[error.code] ?? "INTERNAL", message: error.rawMessage, hints: [] };
  }
}
