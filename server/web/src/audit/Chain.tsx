// Whether the audit log is intact, by the backend's own check, and its export.
import { useMutation } from "@tanstack/react-query";
import { useQuery } from "@connectrpc/connect-query";
import { AuditService } from "../gen/orion/v1/audit_pb";
import { client } from "../lib/api";
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

export function Chain() {
  const verify = useQuery(AuditService.method.verifyAudit, {}, { staleTime: 60_000, refetchOnWindowFocus: false });
  const save = useMutation({ mutationFn: download });
  const found = verify.data;
  return (
    <section className="panel" aria-label="State of the log">
      <div className="body row apart">
        <div className="row">
          {!found && !verify.error && <span className="muted">Checking the log…</span>}
          {found?.whole && <Badge tone="good">intact</Badge>}
          {found?.whole && <span className="muted">{counted(found.rows, "row")} and {counted(found.checkpoints, "signed checkpoint")} were checked.</span>}
          {found && !found.whole && <><Badge tone="bad">broken at row {found.brokenSeq.toString()}</Badge> <Line text={found.problem} most={300} /></>}
        </div>
        <div className="row">
          <Button look="small" busy={verify.isFetching} onClick={() => void verify.refetch()}>Check again</Button>
          <Button look="small" busy={save.isPending} onClick={() => save.mutate()}>Export</Button>
        </div>
      </div>
      {found?.deviceProblems.map((problem) => (
        <p key={problem.device} className="note bad">
          What <Line text={problem.device} /> says of itself contradicts what was seen of it: <Line text={problem.problem} most={300} /> (<Time at={problem.at} />)
        </p>
      ))}
      <ErrorNote error={verify.error ?? save.error} />
    </section>
  );
}
