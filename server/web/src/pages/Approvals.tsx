// The inbox of approval requests: the open ones, the card of one, and those that were answered.
import { useQuery } from "@connectrpc/connect-query";
import { useCallback, useEffect, useMemo } from "react";
import { Link, NavLink, useNavigate, useParams, useSearchParams } from "react-router";
import { ApprovalCard } from "../approvals/ApprovalCard";
import { endOf } from "../approvals/Decide";
import { Notify } from "../approvals/Notify";
import { OpenPlans } from "../approvals/OpenPlans";
import { StandingRules } from "../approvals/StandingRules";
import { useKeys } from "../approvals/useKeys";
import { type Approval, ApprovalService, ApprovalState } from "../gen/orion/v1/approval_pb";
import { riskOf } from "../lib/call";
import { useMe } from "../lib/session";
import { bothEnds, firstChanged } from "../lib/text";
import { useLive } from "../shell/Live";
import { Badge, Button, Empty, Head, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const MOST_LISTED = 300;
const MOST_PATH = 160;

function Row({ approval }: { approval: Approval }) {
  const risk = riskOf(approval.risk);
  const isOpen = approval.state === ApprovalState.OPEN;
  const first = firstChanged(approval.touches);
  const more = approval.touches.length - 1;
  return (
    <NavLink to={{ pathname: `/approvals/${approval.approvalId}`, search: location.search }}>
      <div className="row">
        <strong className="clip grow"><Line text={approval.tool} most={40} /></strong>
        {isOpen && approval.passkeyRequired && <Badge>passkey</Badge>}
        {isOpen ? <Badge tone={risk.tone}>{risk.text}</Badge> : <Badge>{endOf(approval.state)}</Badge>}
      </div>
      <div className="small muted clip">
        <Line text={`${approval.device} · ${approval.requester}`} most={80} /> · <Time at={approval.createdAt} />
      </div>
      <div className="small"><bdi className="mono break">{bothEnds(first, MOST_PATH)}</bdi>{more > 0 && <span className="muted"> and {more} more</span>}</div>
    </NavLink>
  );
}

/** The card of the address, whether it is in the list or not. */
function Chosen({ id, listed, onDecided }: { id: string; listed?: Approval; onDecided: () => void }) {
  const me = useMe();
  const { data, error, isPending } = useQuery(ApprovalService.method.getApproval, { approvalId: id });
  const approval = data?.approval ?? listed;
  if (!approval) return isPending ? <Loading what="the request" /> : <ErrorNote error={error} />;
  return (
    <div className="stack">
      <ApprovalCard key={approval.approvalId} listed={approval} onDecided={onDecided} />
      {approval.state !== ApprovalState.OPEN && (approval.requester === me.user || me.is("admin")
        ? <Link to={`/calls/${encodeURIComponent(approval.callId)}`}>Open the call</Link>
        : approval.state === ApprovalState.APPROVED && <p className="small muted"><Line text={approval.requester} most={40} />, who made the call, and the admins see its result.</p>)}
    </div>
  );
}

export default function Approvals() {
  const me = useMe();
  const { id } = useParams();
  const navigate = useNavigate();
  const [search, setSearch] = useSearchParams();
  const isAll = search.get("all") === "1";
  const live = useLive();
  const past = useQuery(ApprovalService.method.listApprovals, { all: true }, { enabled: isAll });
  // The steps of a plan are answered with it, and listed as one.
  const shown = useMemo(
    () => (isAll ? (past.data?.approvals ?? []) : live.approvals).filter(({ planId }) => planId === "").slice(0, MOST_LISTED),
    [isAll, past.data, live.approvals],
  );
  const index = shown.findIndex((it) => it.approvalId === id);
  const move = useCallback(
    (step: number) => {
      const next = shown[Math.max(0, Math.min(shown.length - 1, index + step))];
      if (next) void navigate({ pathname: `/approvals/${next.approvalId}`, search: location.search });
    },
    [index, navigate, shown],
  );
  useKeys(move);
  const first = shown[0]?.approvalId;
  useEffect(() => {
    // On a wide screen one card is always shown; on a phone the list comes first.
    if (!id && first && window.matchMedia("(min-width: 861px)").matches) void navigate({ pathname: `/approvals/${first}`, search: location.search }, { replace: true });
  }, [id, first, navigate]);
  const onDecided = useCallback(() => {}, []);
  if (!me.is("operator")) {
    return <main className="page"><Head title="Approvals" /><Empty title="Operators and admins answer approvals">Your own calls show in the chat whether they wait for one.</Empty></main>;
  }
  const isPending = isAll ? past.isPending : live.isPending;
  const error = live.error ?? past.error;
  return (
    <main className="page">
      <Head title="Approvals" actions={<><Notify /><Button look="small" aria-pressed={isAll} onClick={() => setSearch(isAll ? {} : { all: "1" })}>{isAll ? "Only open ones" : "Also answered ones"}</Button></>}>
        Calls that wait for a person. <span className="small keys">Keys: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> goes to the approval and <kbd>d</kbd> to the denial, <kbd>Enter</kbd> presses it, <kbd>e</kbd> shows the details.</span>
      </Head>
      <ErrorNote error={error} />
      <OpenPlans />
      {isPending && <Loading what="approvals" />}
      {!isPending && !error && shown.length === 0 && live.waiting === 0 && !id && (
        <Empty title="Nothing waits for you">A call of high risk, or one that a rule selects, appears here the moment it is asked for. Such rules are made in the policy.</Empty>
      )}
      <div className={shown.length === 0 ? "" : id ? "split detail" : "split"}>
        {shown.length > 0 && <nav className="list" aria-label="Requests">{shown.map((approval) => <Row key={approval.approvalId} approval={approval} />)}</nav>}
        {id && (
          <div className="panel">
            <div className="body">
              <Button look="small quiet only-phone" onClick={() => void navigate({ pathname: "/approvals", search: location.search })}>← All requests</Button>
              <Chosen id={id} listed={shown[index]} onDecided={onDecided} />
            </div>
          </div>
        )}
      </div>
      <StandingRules />
    </main>
  );
}
