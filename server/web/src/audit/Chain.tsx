// Whether the audit log is intact, by the backend's own check, and its export.
import { useMutation } from "@tanstack/react-query";
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { AuditService, type VerifyAuditResponse } from "../gen/orion/v1/audit_pb";
import { client, queries, transport } from "../lib/api";
import { counted } from "../lib/text";
import { Badge, Button, Line, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

async function download() {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const { lines } of client(AuditService).exportAudit({})) parts.push(lines as Uint8Array<ArrayBuffer>);
  const url = URL.createObjectURL(new Blob(parts, { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `orion-audit-${new Date().toISOString().slice(0, 10)}.jsonl`;
  link.click();
  URL.revokeObjectURL(url);
}

const RECENT_MS = 3_600_000n;
const KEY = createConnectQueryKey({ schema: AuditService.method.verifyAudit, input: { maxAgeMs: RECENT_MS }, transport, cardinality: "finite" });
const keep = (checked: VerifyAuditResponse) => void queries.setQueryData(KEY, checked);

export function Chain() {
  // A check reads the whole log, so one of the last hour is enough until somebody wants a new one.
  const verify = useQuery(AuditService.method.verifyAudit, { maxAgeMs: RECENT_MS }, { staleTime: Number(RECENT_MS), refetchOnWindowFocus: false });
  const again = useMutation({ mutationFn: () => client(AuditService).verifyAudit({}), onSuccess: keep });
  const save = useMutation({ mutationFn: download });
  const found = verify.data;
  return (
    <section className="panel" aria-label="State of the log">
      <div className="body row apart">
        <div className="row">
          {!found && !verify.error && <span className="muted">Checking the log…</span>}
          {found?.whole && (found.checkpoints > 0n ? <Badge tone="good">intact</Badge> : <Badge>unbroken</Badge>)}
          {found?.whole && (
            <span className="muted">
              {counted(found.rows, "row")} {found.checkpoints > 0n ? `and ${counted(found.checkpoints, "signed checkpoint")} ` : ""}
              were checked <Time at={found.checkedAt} />{found.checkpoints > 0n ? "." : ". The first checkpoint is not signed yet."}
            </span>
          )}
          {found && !found.whole && <><Badge tone="bad">broken at row {found.brokenSeq.toString()}</Badge> <Line text={found.problem} most={300} /></>}
        </div>
        <div className="row">
          <Button look="small" busy={verify.isFetching || again.isPending} onClick={() => again.mutate()}>Check again</Button>
          <Button look="small" busy={save.isPending} onClick={() => save.mutate()}>Export</Button>
        </div>
      </div>
      {found?.deviceProblems.map((problem) => (
        <p key={problem.device} className="note bad">
          What <Line text={problem.device} /> says of itself contradicts what was seen of it: <Line text={problem.problem} most={300} /> (<Time at={problem.at} />)
        </p>
      ))}
      <ErrorNote error={verify.error ?? again.error ?? save.error} />
    </section>
  );
}
