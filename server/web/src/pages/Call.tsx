// One call: everything that was recorded of it.
import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "react-router";
import { AnsweredById } from "../approvals/Asked";
import { Arguments } from "../calls/Arguments";
import { CallCard } from "../calls/CallCard";
import { AuditService } from "../gen/orion/v1/audit_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { AuditTable } from "../audit/AuditTable";
import { isMissing } from "../lib/api";
import { useMe } from "../lib/session";
import { object } from "../lib/text";
import { Head, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

export default function Call() {
  const me = useMe();
  const { id = "" } = useParams();
  const { data, error, isPending, refetch } = useQuery(ToolService.method.getCall, { callId: id });
  const rows = useQuery(AuditService.method.listAudit, { callId: id, limit: 100 }, { enabled: me.is("admin"), refetchInterval: 5_000 });
  const call = data?.call;
  return (
    <main className="page">
      <Head title={call ? <><Line text={call.tool} most={60} /> on <Line text={call.device} most={60} /></> : "Call"}>
        {call && <>By <Line text={call.caller} most={60} />, <Time at={call.createdAt} /> · <span className="mono">{call.callId}</span></>}
      </Head>
      {isMissing(error) && <Link className="small" to="/audit">← Audit, which lists every call</Link>}
      {isPending && <Loading what="the call" />}
      <ErrorNote error={error} retry={isMissing(error) ? undefined : () => void refetch()} />
      {call && (
        <>
          <CallCard callId={call.callId} known={call} tool={call.tool} device={call.device} arguments={call.arguments} />
          <h2>Arguments</h2>
          <Arguments values={object(call.arguments)} />
          <AnsweredById call={call} />
        </>
      )}
      {rows.data && rows.data.rows.length > 0 && (
        <>
          <h2>In the audit log</h2>
          <AuditTable rows={rows.data.rows} />
        </>
      )}
    </main>
  );
}
