// What came of a call: its message, its error with the next steps, and its data.
import { useMutation } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { AccessRequestService } from "../gen/orion/v1/accessrequest_pb";
import { type Call, CallState } from "../gen/orion/v1/tool_pb";
import { outcome } from "../lib/call";
import { type OrionError, lacking } from "../lib/errors";
import { useMe } from "../lib/session";
import { Block, Button, Line } from "../ui/basics";
import { Diff } from "../ui/Diff";
import { ErrorNote, Problem } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

/** What an admin would grant so that a denied call runs: they see it as a draft of the device's permissions. */
export function AllowThis({ error, device, look = "small" }: { error: OrionError; device: string; look?: string }) {
  const me = useMe();
  const wanted = lacking(error);
  if (!me.is("admin") || wanted.length === 0 || device === "") return null;
  return <Link className={`button ${look}`} to={`/devices/${encodeURIComponent(device)}`} state={{ wanted }}>Allow just this…</Link>;
}

/** A denied call can be asked for: exactly what it lacked, for two hours, by an admin's yes. */
function RequestAccess({ callId, children }: { callId: string; children?: ReactNode }) {
  const toast = useToast();
  const request = useMutation(AccessRequestService.method.requestAccess, {
    onSuccess: () => toast("An admin sees your request under Access requests."),
  });
  return (
    <>
      <div className="row">
        {children}
        <Button look="small" busy={request.isPending} disabled={request.isSuccess} onClick={() => request.mutate({ callId, reason: "" })}>
          {request.isSuccess ? "Requested" : "Request access for two hours"}
        </Button>
      </div>
      <ErrorNote error={request.error} />
    </>
  );
}

function diffOf(data: unknown): string | undefined {
  const diff = (data as { diff?: unknown } | null)?.diff;
  return typeof diff === "string" ? diff : undefined;
}

function contentOf(data: unknown): string | undefined {
  const { content, stdout, text } = (data ?? {}) as Record<string, unknown>;
  return [content, stdout, text].find((it): it is string => typeof it === "string" && it !== "");
}

export function ResultView({ call, isBrief }: { call: Call; isBrief: boolean }) {
  const said = outcome(call.result);
  if (!said) return null;
  const diff = diffOf(said.data);
  const content = contentOf(said.data);
  return (
    <>
      {said.error ? <Problem error={said.error} /> : <p><Line text={said.message} most={600} /></p>}
      {call.state === CallState.DENIED && <RequestAccess callId={call.callId}>{said.error && <AllowThis error={said.error} device={call.device} />}</RequestAccess>}
      {diff && <Diff text={diff} />}
      {!isBrief && content && <Block text={content} label="Content" />}
      {!isBrief && said.data !== null && said.data !== undefined && (
        <details>
          <summary>Data as JSON</summary>
          <Block text={JSON.stringify(said.data, null, 2)} label="Data" />
        </details>
      )}
    </>
  );
}
