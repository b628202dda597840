// A conversation as turns: what a person said, and everything that followed from it.
import type { Approval } from "../gen/orion/v1/approval_pb";
import type { ChatMessage, SendMessageResponse } from "../gen/orion/v1/chat_pb";
import type { Call } from "../gen/orion/v1/tool_pb";

export type Item =
  | { kind: "text"; text: string }
  | { kind: "note"; text: string }
  | { kind: "call"; callId: string; tool: string; device: string; arguments: Uint8Array; isQuoted: boolean; call?: Call; approval?: Approval };

export interface Turn {
  key: string;
  /** Its ids, oldest first: none until the backend has named it, several where it went on after it was cut off. */
  turnIds: string[];
  said: string;
  /** The model that answers; empty until that is known. */
  model: string;
  items: Item[];
  isDone: boolean;
  /** Whether the calls are loaded by the turn's ids. */
  isRecorded: boolean;
  /** Whether it goes on with the turn before it, which was cut off. */
  isContinued: boolean;
}

/** Returns a turn that begins with what a person says. */
export function begun(said: string, isContinued = false): Turn {
  return { key: crypto.randomUUID(), turnIds: [], said, model: "", items: [], isDone: false, isRecorded: false, isContinued };
}

const withId = (ids: string[], id: string) => (id === "" || ids.includes(id) ? ids : [...ids, id]);

/** Returns the turns of recorded messages; `models` has the model of each turn's id. */
export function turnsOf(messages: ChatMessage[], models: Map<string, string>): Turn[] {
  const turns: Turn[] = [];
  // A turn that goes on has an id of its own and no message of a person. A result that came late is recorded just before
  // the next message, with that message's turn.
  const ofPersons = new Set(messages.filter(({ role }) => role === "user").map(({ turnId }) => turnId));
  for (const message of messages) {
    if (message.role === "user") {
      turns.push({ key: `${message.turnId}-${turns.length}`, turnIds: withId([], message.turnId), said: message.text, model: models.get(message.turnId) ?? "", items: [], isDone: true, isRecorded: true, isContinued: false });
      continue;
    }
    const turn = turns.at(-1);
    if (!turn) continue;
    if (!ofPersons.has(message.turnId)) turn.turnIds = withId(turn.turnIds, message.turnId);
    if (message.role === "assistant" && message.text !== "") turn.items.push({ kind: "text", text: message.text });
  }
  return turns;
}

function withCall(items: Item[], callId: string, change: (item: Item & { kind: "call" }) => Item): Item[] {
  return items.map((item) => (item.kind === "call" && item.callId === callId ? change(item) : item));
}

/** Returns the turn after an event of its stream. */
export function after(turn: Turn, { event }: SendMessageResponse): Turn {
  const { items } = turn;
  const last = items.at(-1);
  switch (event.case) {
    case "began":
      return { ...turn, model: event.value.model, turnIds: withId(turn.turnIds, event.value.turnId) };
    case "textDelta": {
      const text = event.value.text;
      return last?.kind === "text"
        ? { ...turn, items: [...items.slice(0, -1), { kind: "text", text: last.text + text }] }
        : { ...turn, items: [...items, { kind: "text", text }] };
    }
    case "callBegan": {
      const { callId, tool, device, arguments: given, quoted } = event.value;
      if (items.some((item) => item.kind === "call" && item.callId === callId)) return turn;
      return { ...turn, items: [...items, { kind: "call", callId, tool, device, arguments: given, isQuoted: quoted }] };
    }
    case "approvalNeeded": {
      const approval = event.value;
      return { ...turn, items: withCall(items, approval.callId, (item) => ({ ...item, approval })) };
    }
    case "callEnded": {
      const call = event.value.call;
      return call ? { ...turn, items: withCall(items, call.callId, (item) => ({ ...item, call, approval: undefined })) } : turn;
    }
    case "note":
      return { ...turn, items: [...items, { kind: "note", text: event.value.text }] };
    case "done": {
      const isSaid = items.some((item) => item.kind === "text" && item.text.trim() !== "");
      const rest: Item[] = isSaid || event.value.text === "" ? [] : [{ kind: "text", text: event.value.text }];
      return { ...turn, items: [...items, ...rest], isDone: true };
    }
    case undefined:
      return turn;
  }
}
