// Requests for the smallest temporary grant that a denied call lacked.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { type AccessRequest, AccessRequestService, AccessRequestState } from "../gen/orion/v1/accessrequest_pb";
import type { Tone } from "../lib/call";
import { useMe } from "../lib/session";
import { duration } from "../lib/time";
import { useSettled } from "../lib/settled";
import { Badge, Button, Empty, Field, Head, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

function stateOf(state: AccessRequestState): { text: string; tone: Tone } {
  switch (state) {
    case AccessRequestState.OPEN: return { text: "waits for an admin", tone: "warn" };
    case AccessRequestState.GRANTED: return { text: "granted", tone: "good" };
    case AccessRequestState.REFUSED: return { text: "refused", tone: "bad" };
    case AccessRequestState.WITHDRAWN: return { text: "withdrawn", tone: "quiet" };
    case AccessRequestState.EXPIRED: return { text: "expired", tone: "quiet" };
    case AccessRequestState.ENDED: return { text: "ended", tone: "quiet" };
    case AccessRequestState.UNSPECIFIED: return { text: "unknown", tone: "quiet" };
  }
}

function Request({ request, refetch }: { request: AccessRequest; refetch: () => void }) {
  const me = useMe();
  const isSettled = useSettled();
  const [seconds, setSeconds] = useState("0");
  const [reason, setReason] = useState("");
  const decide = useMutation(AccessRequestService.method.decideAccessRequest, { onSettled: refetch });
  const end = useMutation(AccessRequestService.method.endAccessRequest, { onSettled: refetch });
  const state = stateOf(request.state);
  const isOpen = request.state === AccessRequestState.OPEN;
  const send = (grant: boolean) => decide.mutate({ requestId: request.requestId, grant, digest: request.digest, seconds: BigInt(seconds), reason });
  return (
    <section className="panel" aria-label="Access request">
      <div className="body stack">
        <div className="row">
          <h2><Line text={request.tool} most={40} /> on <Line text={request.device} most={40} /></h2>
          <Badge tone={state.tone}>{state.text}</Badge>
          <span className="muted">by <Line text={request.requester} most={40} /> <Time at={request.createdAt} /></span>
          <Link className="small" to={`/calls/${request.callId}`}>The denied call</Link>
        </div>
        <div><h3>Exactly this would be granted</h3>{request.grants.map((grant) => <div key={grant}><Line text={grant} most={200} mono /></div>)}</div>
        {request.reason !== "" && <p>“<Line text={request.reason} most={500} />”</p>}
        {isOpen && <p className="muted">Asked for {duration(Number(request.seconds) * 1000)}, counted from the grant. The request ends <Time at={request.expiresAt} />.</p>}
        {request.grantedUntil > 0n && <p className="muted">Until <Time at={request.grantedUntil} />, by <Line text={request.decidedBy} /></p>}
        <ErrorNote error={decide.error ?? end.error} />
        {isOpen && me.is("admin") && (
          <div className="row align-end">
            <Field label="For">
              {(props) => <select {...props} value={seconds} onChange={(event) => setSeconds(event.target.value)}><option value="0">{`as asked for (${duration(Number(request.seconds) * 1000)})`}</option><option value="3600">an hour</option><option value="86400">a day</option><option value="604800">a week</option></select>}
            </Field>
            <div className="grow"><Field label="Reason (the requester reads it)">{(props) => <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />}</Field></div>
            <Button look="primary" disabled={!isSettled} busy={decide.isPending} onClick={() => send(true)}>Grant</Button>
            <Button look="danger" disabled={!isSettled} onClick={() => send(false)}>Refuse</Button>
          </div>
        )}
        {(request.state === AccessRequestState.GRANTED || (isOpen && request.requester === me.user)) && (
          <div><Button busy={end.isPending} onClick={() => end.mutate({ requestId: request.requestId })}>{isOpen ? "Withdraw" : "End this access"}</Button></div>
        )}
      </div>
    </section>
  );
}

export default function Access() {
  const [isAll, setAll] = useState(false);
  const { data, error, isPending, refetch } = useQuery(AccessRequestService.method.listAccessRequests, { all: isAll }, { refetchInterval: 5_000 });
  return (
    <main className="page">
      <Head title="Access requests" actions={<Button look="small" aria-pressed={isAll} onClick={() => setAll(!isAll)}>{isAll ? "Only current ones" : "Also ended ones"}</Button>}>
        After a denied call, a person can ask for exactly what it lacked, for a limited time.
      </Head>
      <ErrorNote error={error} retry={() => void refetch()} />
      {isPending && <Loading what="requests" />}
      {data?.requests.length === 0 && <Empty title="No requests">Where an admin can allow a call that was denied, its card has a button that asks for what it lacked.</Empty>}
      {data?.requests.slice(0, 200).map((request) => <Request key={request.requestId} request={request} refetch={() => void refetch()} />)}
    </main>
  );
}
