// The secrets in a call's result, which are hidden: a person asks for them, and the audit log has who did.
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Call, ToolService } from "../gen/orion/v1/tool_pb";
import { hidesSecrets } from "../lib/call";
import { useMe } from "../lib/session";
import { Button } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { ResultView } from "./ResultView";

function Ask({ call, onClose }: { call: Call; onClose: () => void }) {
  // What was revealed is kept as long as this dialog is open, and in no cache.
  const reveal = useMutation(ToolService.method.revealCall, { gcTime: 0 });
  const revealed = reveal.data?.call;
  return (
    <Dialog title="Hidden secrets" onClose={onClose}>
      {revealed ? (
        <>
          <p className="note warn">These are real secrets. They are gone from this page when you close this; the audit log says that you saw them.</p>
          <ResultView call={revealed} isBrief={false} />
        </>
      ) : (
        <p>
          Keys, tokens or passwords in this result are hidden. If you show them, the audit log records that you saw them, before anything is shown. Make sure that
          nobody looks over your shoulder.
        </p>
      )}
      <ErrorNote error={reveal.error} />
      <div className="row end">
        <Button onClick={onClose}>{revealed ? "Close" : "Keep them hidden"}</Button>
        {!revealed && <Button look="danger" busy={reveal.isPending} onClick={() => reveal.mutate({ callId: call.callId })}>Show the secrets</Button>}
      </div>
    </Dialog>
  );
}

/** The button, for those whom the backend would show them to: the person of the call, and admins. */
export function Reveal({ call }: { call: Call }) {
  const me = useMe();
  const [isAsking, setAsking] = useState(false);
  if (!hidesSecrets(call) || !(me.is("admin") || me.user === call.caller)) return null;
  return (
    <>
      <Button look="small" onClick={() => setAsking(true)}>Show hidden secrets…</Button>
      {isAsking && <Ask call={call} onClose={() => setAsking(false)} />}
    </>
  );
}
