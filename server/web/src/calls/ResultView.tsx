// What came of a call: its message, its error with the next steps, and its data.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import { type AccessRequest, AccessRequestService, AccessRequestState } from "../gen/orion/v1/accessrequest_pb";
import { type Call, CallState } from "../gen/orion/v1/tool_pb";
import { outcome } from "../lib/call";
import { type Hint, type OrionError, lacking } from "../lib/errors";
import { useMe } from "../lib/session";
import { Block, Button, Line, Time } from "../ui/basics";
import { Diff } from "../ui/Diff";
import { ErrorNote, Problem } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

/** What an admin would grant on the device so that a denied call runs: they see it as a draft of the device's permissions. */
export function AllowThis({ error, device, look = "small" }: { error: OrionError; device: string; look?: string }) {
  const me = useMe();
  const wanted = lacking(error);
  if (!me.is("admin") || wanted.length === 0 || device === "") return null;
  const owner = (error.hints ?? []).filter(({ who }) => who === "owner").map(({ text, command }) => (command?.startsWith("orion") ? command : text));
  // A file is granted with its folder, which nobody should take for the file alone.
  const folders = wanted.filter(({ kind, entry }) => kind === "path" && entry !== error.details?.attempted_path).map(({ entry }) => entry);
  return (
    <>
      <Link className={`button ${look}`} to={`/devices/${encodeURIComponent(device)}`} state={{ wanted, owner, lookAlikes: error.details?.look_alikes }}>Allow on this device…</Link>
      {folders.map((folder) => <span key={folder} className="small muted">opens the whole folder <Line text={folder} mono /></span>)}
    </>
  );
}

/** The command that asks for access, which the backend names where an admin can grant it. The page has a button for it. */
const isRequest = ({ command }: Hint) => command?.startsWith("orion request ") ?? false;

/** A denied call can be asked for: exactly what it lacked, for two hours, by an admin's yes. */
function RequestAccess({ callId }: { callId: string }) {
  const toast = useToast();
  const isOf = (it: AccessRequest) => it.callId === callId;
  const { data, isPending, refetch } = useQuery(AccessRequestService.method.listAccessRequests, { all: true }, {
    refetchInterval: ({ state: { status, data: now } }) => (status === "error" || now?.requests.find(isOf)?.state === AccessRequestState.OPEN ? 5_000 : false),
  });
  const request = useMutation(AccessRequestService.method.requestAccess, {
    onSuccess: () => {
      void refetch();
      toast("An admin sees your request under Access requests.");
    },
  });
  const made = data?.requests.find(isOf);
  if (isPending) return null;
  switch (made?.state) {
    case AccessRequestState.OPEN:
      return <Link to="/access" className="small">Requested: an admin answers</Link>;
    case AccessRequestState.GRANTED:
      return <p className="note good">Granted: make the call again. It ends <Time at={made.grantedUntil} />.</p>;
    default:
      return (
        <>
          {made?.state === AccessRequestState.REFUSED && <p className="note">Refused by <Line text={made.decidedBy} />{made.decisionReason !== "" && <>: <Line text={made.decisionReason} most={300} /></>}</p>}
          <Button look="small" busy={request.isPending} disabled={request.isSuccess && !made} onClick={() => request.mutate({ callId, reason: "" })}>Request access for two hours</Button>
          <ErrorNote error={request.error} />
        </>
      );
  }
}

function Denied({ error, call }: { error: OrionError; call: Call }) {
  const me = useMe();
  const hints = error.hints ?? [];
  const isOfBoth = hints.some(({ who }) => who === "owner") && hints.some(({ who }) => who === "admin");
  const mayAskLater = isOfBoth && !me.is("admin") && call.caller === me.user && !hints.some(isRequest);
  return (
    <>
      <Problem error={{ ...error, hints: hints.filter((it) => !isRequest(it)) }} />
      {isOfBoth && <p className="small muted">Both steps are needed: the admin's and the owner's.{mayAskLater && " Once the owner has taken theirs, make the call again, and request the admin's here."}</p>}
      <div className="row">
        <AllowThis error={error} device={call.device} />
        {call.caller === me.user && hints.some(isRequest) && <RequestAccess callId={call.callId} />}
      </div>
    </>
  );
}

function contentOf(data: unknown): string | undefined {
  const { content, stdout, text } = (data ?? {}) as Record<string, unknown>;
  return [content, stdout, text].find((it): it is string => typeof it === "string" && it !== "");
}

export function ResultView({ call, isBrief }: { call: Call; isBrief: boolean }) {
  const said = outcome(call.result);
  if (!said) return null;
  const content = contentOf(said.data);
  return (
    <>
      {!said.error && <p><Line text={said.message} most={600} /></p>}
      {said.error && (call.state === CallState.DENIED ? <Denied error={said.error} call={call} /> : <Problem error={said.error} />)}
      {said.diff && <Diff text={said.diff} />}
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
