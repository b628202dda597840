// Calls: their states in words, and what their results say.
import { type Call, CallState, Risk } from "../gen/orion/v1/tool_pb";
import { type OrionError, errorFrom } from "./errors";
import { object } from "./text";

export type Tone = "good" | "warn" | "bad" | "info" | "quiet";

export function stateOf(state: CallState): { text: string; tone: Tone } {
  switch (state) {
    case CallState.RECEIVED:
      return { text: "received", tone: "quiet" };
    case CallState.DENIED:
      return { text: "denied", tone: "bad" };
    case CallState.AWAITING_APPROVAL:
      return { text: "needs approval", tone: "warn" };
    case CallState.QUEUED:
      return { text: "waits for its device", tone: "warn" };
    case CallState.DISPATCHED:
      return { text: "sent", tone: "info" };
    case CallState.RUNNING:
      return { text: "running", tone: "info" };
    case CallState.SUCCEEDED:
      return { text: "succeeded", tone: "good" };
    case CallState.FAILED:
      return { text: "failed", tone: "bad" };
    case CallState.REFUSED:
      return { text: "refused by its device", tone: "bad" };
    case CallState.TIMED_OUT:
      return { text: "timed out", tone: "bad" };
    case CallState.CANCELLED:
      return { text: "cancelled", tone: "quiet" };
    case CallState.UNKNOWN:
      return { text: "outcome unknown", tone: "warn" };
    case CallState.UNSPECIFIED:
      return { text: "unknown state", tone: "quiet" };
  }
}

export function isEnded(state: CallState): boolean {
  switch (state) {
    case CallState.UNSPECIFIED:
    case CallState.RECEIVED:
    case CallState.AWAITING_APPROVAL:
    case CallState.QUEUED:
    case CallState.DISPATCHED:
    case CallState.RUNNING:
      return false;
    case CallState.DENIED:
    case CallState.SUCCEEDED:
    case CallState.FAILED:
    case CallState.REFUSED:
    case CallState.TIMED_OUT:
    case CallState.CANCELLED:
    case CallState.UNKNOWN:
      return true;
  }
}

export function riskOf(risk: Risk): { text: string; tone: Tone } {
  switch (risk) {
    case Risk.LOW:
      return { text: "low risk", tone: "quiet" };
    case Risk.MEDIUM:
      return { text: "medium risk", tone: "info" };
    case Risk.HIGH:
      return { text: "high risk", tone: "warn" };
    case Risk.CRITICAL:
      return { text: "critical risk", tone: "bad" };
    case Risk.UNSPECIFIED:
      return { text: "unknown risk", tone: "quiet" };
  }
}

export interface Outcome {
  message: string;
  error?: OrionError;
  data: unknown;
  /** The difference that the data have, where they have one. */
  diff?: string;
}

/** Reads a result envelope. */
export function outcome(result: Uint8Array | string): Outcome | undefined {
  const { message, error, data } = object(result);
  if (typeof message !== "string") return undefined;
  const diff = (data as { diff?: unknown } | null | undefined)?.diff;
  return { message, error: errorFrom(error), data, diff: typeof diff === "string" ? diff : undefined };
}

const HIDDEN_SECRET = "[secret: ";
const UTF8 = new TextDecoder();

/** Returns whether the backend hid secrets in the result of a call. */
export function hidesSecrets({ result }: Call): boolean {
  return UTF8.decode(result).includes(HIDDEN_SECRET);
}

/** The arguments that name what a call changes. A copy leaves its source as it is. */
const CHANGED = ["path", "source", "destination"];

/** Returns the paths that an undo of this call names; none where it changed nothing that can be undone. */
export function undoPaths(call: Call): string[] {
  if (call.state !== CallState.SUCCEEDED || call.dryRun) return [];
  const given = object(call.arguments);
  const names = call.tool === "copy_path" ? ["destination"] : CHANGED;
  return names.map((name) => given[name]).filter((path): path is string => typeof path === "string");
}
