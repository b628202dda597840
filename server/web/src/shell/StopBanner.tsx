// What is stopped, on every page, with the button that lets it run again.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { refresh } from "../lib/api";
import { oneLine } from "../lib/text";
import { Button } from "../ui/basics";

export const refreshStops = () => refresh(ToolService.method.listStops);

export function StopBanner() {
  const { data } = useQuery(ToolService.method.listStops, {}, { refetchInterval: 15_000 });
  const resume = useMutation(ToolService.method.resumeCalls, { onSettled: refreshStops });
  const stops = data?.stops ?? [];
  const first = stops[0];
  if (!first) return null;
  const whose = first.user === "" ? "Everybody's calls" : `The calls of ${oneLine(first.user, 40)}`;
  const where = first.device === "" ? "on every device" : `on ${oneLine(first.device, 60)}`;
  const reason = first.reason === "" ? "" : ` “${oneLine(first.reason, 120)}”`;
  const more = stops.length > 1 ? ` ${stops.length - 1} more stopped.` : "";
  return (
    <div className="banner" role="status">
      <span className="grow break">
        {whose} {where} are stopped by {oneLine(first.stoppedBy, 40)}.{reason}
        {more}
      </span>
      <Button look="small" busy={resume.isPending} onClick={() => resume.mutate(first.device === "" ? { allDevices: true, user: first.user } : { device: first.device, user: first.user })}>
        Resume
      </Button>
    </div>
  );
}
