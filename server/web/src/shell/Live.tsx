// The open approval requests, live on every page: the number in the navigation, and a notification of the browser.
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { type ReactNode, createContext, useCallback, useContext, useMemo } from "react";
import { type Approval, ApprovalService, ApprovalState, type WatchApprovalsResponse } from "../gen/orion/v1/approval_pb";
import { client, queries, transport } from "../lib/api";
import { useMe } from "../lib/session";
import { type Link, useStream } from "../lib/stream";
import { oneLine } from "../lib/text";

interface Live {
  approvals: Approval[];
  /** How many answers are asked for: a plan is one. */
  waiting: number;
  isPending: boolean;
  error: unknown;
  link: Link;
}

const Context = createContext<Live>({ approvals: [], waiting: 0, isPending: true, error: null, link: "connecting" });

export const useLive = () => useContext(Context);

const LIST = { schema: ApprovalService.method.listApprovals, transport, cardinality: "finite" as const };
const refresh = () =>
  void queries.invalidateQueries({ queryKey: createConnectQueryKey(LIST) }).then(() =>
    queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: ApprovalService.method.getApproval, cardinality: "finite" }) }),
  );

function notify({ approval }: WatchApprovalsResponse) {
  if (approval?.state !== ApprovalState.OPEN || document.hasFocus()) return;
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const text = `${oneLine(approval.tool, 40)} on ${oneLine(approval.device, 40)}`;
  const shown = new Notification("Orion: approval needed", { body: text, tag: approval.approvalId });
  shown.addEventListener("click", () => {
    window.focus();
    location.assign(`/approvals/${encodeURIComponent(approval.approvalId)}`);
  });
}

const watch = (signal: AbortSignal) => client(ApprovalService).watchApprovals({}, { signal });

export function LiveProvider({ children }: { children: ReactNode }) {
  const me = useMe();
  const isApprover = me.is("operator") && me.user !== "";
  const { data, isPending, error } = useQuery(
    ApprovalService.method.listApprovals,
    {},
    { enabled: isApprover, refetchInterval: 60_000, select: (it) => it.approvals.filter((one) => one.state === ApprovalState.OPEN) },
  );
  const onEvent = useCallback((event: WatchApprovalsResponse) => {
    notify(event);
    refresh();
  }, []);
  const link = useStream(isApprover ? watch : undefined, onEvent, refresh);
  const value = useMemo(
    () => ({ approvals: data ?? [], waiting: new Set(data?.map(({ approvalId, planId }) => planId || approvalId)).size, isPending: isApprover && isPending, error, link: isApprover ? link : ("open" as const) }),
    [data, isApprover, isPending, error, link],
  );
  return <Context value={value}>{children}</Context>;
}
