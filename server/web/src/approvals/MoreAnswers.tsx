// The answers that cover more than one call, or another one: for this chat, as a narrow rule, with changed arguments.
import { useState } from "react";
import type { Approval } from "../gen/orion/v1/approval_pb";
import { visibleJson } from "../lib/text";
import { Button } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import type { More } from "./Decide";
import { NarrowRule } from "./NarrowRule";

interface Props {
  approval: Approval;
  disabled: boolean;
  send: (more: More) => void;
}

function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the arguments for editing, on several lines where nothing is lost by it: a large number would be. */
function editable(given: Uint8Array): string {
  const text = new TextDecoder().decode(given);
  const parsed = asObject(text);
  return visibleJson(parsed && JSON.stringify(parsed) === text ? JSON.stringify(parsed, null, 2) : text);
}

export function MoreAnswers({ approval, disabled, send }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState(() => editable(approval.arguments));
  const changed = asObject(text);
  const answer = (more: More) => {
    setOpen(false);
    send(more);
  };
  return (
    <>
      <Button look="quiet" disabled={disabled} onClick={() => setOpen(true)}>More…</Button>
      {isOpen && (
        <Dialog title="Other answers" onClose={() => setOpen(false)}>
          {approval.mayStand ? (
            <>
              <div className="stack tight">
                <h3>For this chat</h3>
                <p className="small muted">
                  Also approves later calls of this tool on this device from this chat, for eight hours at most, and never while
                  untrusted content is in the chat.
                </p>
                <div><Button disabled={approval.conversationId === ""} title={approval.conversationId === "" ? "The call is of no chat" : undefined} onClick={() => answer({ case: "forThisChat", value: {} })}>Approve for this chat</Button></div>
              </div>
              <NarrowRule approval={approval} answer={answer} />
            </>
          ) : (
            <p className="note">This request can be approved once only: its risk, its paths or untrusted content in its chat allow no more.</p>
          )}
          <div className="stack tight">
            <h3>With changed arguments</h3>
            <p className="small muted">The requested call ends, and this one is made in its place and decided from the start.</p>
            <textarea aria-label="Arguments as JSON" className="mono" rows={6} value={text} onChange={(event) => setText(event.target.value)} />
            <div className="row">
              <Button disabled={!changed} onClick={() => changed && answer({ case: "changedArguments", value: { arguments: new TextEncoder().encode(text) } })}>
                Change and approve
              </Button>
              {!changed && <span className="small">This is no JSON object.</span>}
            </div>
          </div>
          <div className="row end"><Button onClick={() => setOpen(false)}>Back</Button></div>
        </Dialog>
      )}
    </>
  );
}
