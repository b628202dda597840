// The newest calls on a device, and the button that stops them.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { CallTable } from "../calls/CallTable";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { refreshStops } from "../shell/StopBanner";
import { Button, Empty, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

export function Activity({ device }: { device: string }) {
  const { data, error, isPending } = useQuery(ToolService.method.listCalls, { device, limit: 200 }, { refetchInterval: 3_000 });
  const stop = useMutation(ToolService.method.stopCalls, { onSettled: refreshStops });
  return (
    <div className="stack">
      <div className="row apart">
        <p className="muted small">The newest 200 calls. Everything older is in the audit log.</p>
        <Button look="danger" busy={stop.isPending} onClick={() => stop.mutate({ device, reason: "Stopped on the page." })}>Stop all calls here</Button>
      </div>
      <ErrorNote error={error ?? stop.error} />
      {isPending && <Loading what="calls" />}
      {data?.calls.length === 0 && <Empty title="No call yet">Say in the chat what should happen on this device, or try a tool under Tools.</Empty>}
      {data && data.calls.length > 0 && <CallTable calls={data.calls} />}
    </div>
  );
}
