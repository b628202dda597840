// Tools that devices define themselves, and that an admin has not decided about yet.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type CustomTool, ToolService } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { useSettled } from "../lib/settled";
import { json } from "../lib/text";
import { Badge, Block, Button, Line } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

function Pending({ tool, refetch }: { tool: CustomTool; refetch: () => void }) {
  const isSettled = useSettled();
  const decide = useMutation(ToolService.method.decideCustomTool, { onSettled: refetch });
  const send = (approve: boolean) => decide.mutate({ device: tool.device, name: tool.name, digest: tool.digest, approve });
  return (
    <section className="panel" aria-label="Tool that waits for a decision">
      <div className="body stack">
        <div className="row"><h2><Line text={tool.name} most={60} mono /></h2><Badge tone="warn">custom tool of <Line text={tool.device} most={40} /></Badge></div>
        <p className="small muted">The device wrote this text. Read what it would run: an approval holds for exactly this definition, with high risk.</p>
        <Block text={JSON.stringify(json(tool.definition), null, 2)} label="Definition" isWhole />
        <ErrorNote error={decide.error} />
        <div className="row"><Button look="primary" disabled={!isSettled} busy={decide.isPending} onClick={() => send(true)}>Approve this definition</Button><Button look="danger" disabled={!isSettled} onClick={() => send(false)}>Reject</Button></div>
      </div>
    </section>
  );
}

export function CustomTools() {
  const me = useMe();
  const { data, refetch } = useQuery(ToolService.method.listCustomTools, { pending: true }, { enabled: me.is("admin"), refetchInterval: 15_000 });
  return data?.tools.map((tool) => <Pending key={`${tool.device} ${tool.name} ${tool.digest}`} tool={tool} refetch={() => void refetch()} />);
}
