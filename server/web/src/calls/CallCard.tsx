// A call as a card: what was called where, with what, what was decided, how far it is, what came of it.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import { AskedById } from "../approvals/Asked";
import { type Call, CallState, ToolService } from "../gen/orion/v1/tool_pb";
import { isEnded, outcome, stateOf, undoPaths } from "../lib/call";
import { bytesOf, object } from "../lib/text";
import { Badge, Block, Button, Line } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";
import { Arguments } from "./Arguments";
import { Progress } from "./Progress";
import { ResultView } from "./ResultView";
import { Reveal } from "./Reveal";
import { WhyDialog } from "./WhyDialog";
import { refreshCalls, useCall } from "./useCall";

interface Props {
  callId: string;
  known?: Call;
  tool: string;
  device: string;
  arguments: Uint8Array;
  children?: ReactNode;
  isQuoted?: boolean;
}

function Undo({ call }: { call: Call }) {
  const toast = useToast();
  const tools = useQuery(ToolService.method.listTools, {}, { staleTime: 600_000 }).data?.tools ?? [];
  const paths = undoPaths(call);
  const isOffered = paths.length > 0 && tools.some((tool) => tool.name === call.tool && tool.undo);
  const now = useQuery(ToolService.method.getCall, { callId: call.callId }, { enabled: isOffered, staleTime: 5_000 });
  const undo = useMutation(ToolService.method.callTool, {
    onSuccess: ({ call: made }) => {
      if (!made) return;
      const said = outcome(made.result)?.message;
      toast(made.state === CallState.AWAITING_APPROVAL ? "The undo needs an approval." : (said ?? `Undo: ${stateOf(made.state).text}`));
      return refreshCalls();
    },
  });
  const { undone = false, undoneBy = "" } = now.data?.call ?? {};
  if (!isOffered) return null;
  if (undone) return undoneBy === "" ? <span className="small muted">Taken back by somebody else</span> : <Link className="small" to={`/calls/${encodeURIComponent(undoneBy)}`}>Taken back</Link>;
  const made = undo.data?.call;
  return (
    <>
      <Button
        look="small"
        busy={undo.isPending}
        disabled={now.isPending}
        onClick={() => undo.mutate({ tool: "undo_call", device: call.device, arguments: bytesOf({ call_id: call.callId, paths }), idempotencyKey: crypto.randomUUID() })}
      >
        Undo
      </Button>
      {made && made.state !== CallState.SUCCEEDED && <ResultView call={made} isBrief />}
      <ErrorNote error={undo.error} />
    </>
  );
}

function stateShown(call: Call | undefined, code: string | undefined): ReturnType<typeof stateOf> {
  if (!call) return { text: "starting", tone: "info" };
  // A question back is no denial.
  return code === "DEVICE_REQUIRED" ? { text: "names no device", tone: "warn" } : stateOf(call.state);
}

export function CallCard({ callId, known, tool, device, arguments: given, children, isQuoted }: Props) {
  const { call, output, error } = useCall(callId, known);
  const [isOpen, setOpen] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const cancel = useMutation(ToolService.method.cancelCall);
  const isRunning = call ? !isEnded(call.state) : true;
  // Where a person names no device, the backend chooses it.
  const where = call?.device || device;
  const shown = call?.arguments.length ? call.arguments : given;
  const said = call?.result.length ? outcome(call.result) : undefined;
  const state = stateShown(call, said?.error?.code);
  return (
    <article className={`call fade ${call?.state === CallState.AWAITING_APPROVAL ? "ask" : ""}`} aria-label={`Call of ${tool}`} data-call={callId}>
      <header>
        {isRunning && <span className="spinner spin" aria-hidden />}
        <strong className="mono"><Line text={tool} most={60} /></strong>
        {where !== "" && <span className="muted">on <Line text={where} most={40} /></span>}
        <Badge tone={state.tone}>{state.text}</Badge>
        {call?.dryRun && <Badge>preview</Badge>}
        {isQuoted && <Badge tone="warn">stands in untrusted content</Badge>}
        <span className="grow" />
        <Button look="small quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Less" : "Details"}
        </Button>
      </header>
      {(isOpen || isRunning || said || output !== "" || children) && (
        <div className="inside">
          {call && <Progress call={call} />}
          {call && <ResultView call={call} isBrief={!isOpen} />}
          {isOpen && <Arguments values={object(shown)} />}
          {output !== "" && isRunning && <Block text={output} label="Output" />}
          {children || (call && <AskedById call={call} />)}
          <ErrorNote error={error ?? cancel.error} />
          <div className="row">
            {call && <Undo call={call} />}
            {call && isRunning && (
              <Button look="small" busy={cancel.isPending} onClick={() => cancel.mutate({ callId })}>
                Stop
              </Button>
            )}
            {call && <Reveal call={call} />}
            {where !== "" && <Button look="small" onClick={() => setAsking(true)}>Why?</Button>}
            {isOpen && <Link className="small" to={`/calls/${encodeURIComponent(callId)}`}>Open the call</Link>}
          </div>
        </div>
      )}
      {isAsking && <WhyDialog tool={tool} device={where} arguments={shown} onClose={() => setAsking(false)} />}
    </article>
  );
}
