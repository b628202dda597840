// What waits for this person, live on every page: the numbers in the navigation, and a notification of the browser.
import { useQuery } from "@connectrpc/connect-query";
import { type ReactNode, createContext, useCallback, useContext, useMemo } from "react";
import { AccessRequestService, AccessRequestState } from "../gen/orion/v1/accessrequest_pb";
import { type Approval, ApprovalService, ApprovalState, type WatchApprovalsResponse } from "../gen/orion/v1/approval_pb";
import { client, refresh } from "../lib/api";
import { useMe } from "../lib/session";
import { type Link, useStream } from "../lib/stream";
import { oneLine } from "../lib/text";

interface Live {
  approvals: Approval[];
  /** How many answers are asked for: a plan is one. */
  waiting: number;
  /** How many requests for access wait for an admin; none for anybody else. */
  access: number;
  isPending: boolean;
  error: unknown;
  link: Link;
}

const Context = createContext<Live>({ approvals: [], waiting: 0, access: 0, isPending: true, error: null, link: "connecting" });

export const useLive = () => useContext(Context);

const refreshApprovals = () =>
  void refresh(ApprovalService.method.listApprovals).then(() => refresh(ApprovalService.method.getApproval));

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
  const { data: access = 0 } = useQuery(
    AccessRequestService.method.listAccessRequests,
    { all: false },
    { enabled: me.is("admin"), refetchInterval: 15_000, select: (it) => it.requests.filter(({ state }) => state === AccessRequestState.OPEN).length },
  );
  const onEvent = useCallback((event: WatchApprovalsResponse) => {
    notify(event);
    refreshApprovals();
  }, []);
  const link = useStream(isApprover ? watch : undefined, onEvent, refreshApprovals);
  const value = useMemo(
    () => ({ approvals: data ?? [], waiting: new Set(data?.map(({ approvalId, planId }) => planId || approvalId)).size, access, isPending: isApprover && isPending, error, link: isApprover ? link : ("open" as const) }),
    [data, access, isApprover, isPending, error, link],
  );
  return <Context value={value}>{children}</Context>;
}
