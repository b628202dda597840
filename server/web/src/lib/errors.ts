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

const TEXT = new TextDecoder();

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
      return plain("UNAVAILABLE", "The backend does not answer.", "wait a moment: the page tries again by itself");
    case Code.Canceled:
      return plain("CANCELLED", "This was stopped.", "start it again");
    default:
      return { code: Code[error.code] ?? "INTERNAL", message: error.rawMessage, hints: [] };
  }
}
