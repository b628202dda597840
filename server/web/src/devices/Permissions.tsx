// The permissions of a device: the matrix, and a change of them that is previewed, applied and acknowledged.
import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { type Device, DeviceService, type GrantReview } from "../gen/orion/v1/device_pb";
import { PolicyService } from "../gen/orion/v1/policy_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { isPassing, refresh } from "../lib/api";
import { useDraft } from "../lib/draft";
import { useMe } from "../lib/session";
import { counted, object } from "../lib/text";
import { Badge, Block, Button, Empty, Line, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { AddGrant } from "./AddGrant";
import { Draft } from "./Draft";
import { Matrix } from "./Matrix";
import { type Grants, added, byKind, isBegun, isSame, narrowed, notesOf, pretty, wantedOf, without } from "./grants";

const NONE: GrantReview[] = [];

/** A person has one review at a time: the one before may not have ended yet. */
const isWorthAgain = (count: number, error: unknown) => count < 5 && (isPassing(error) || ConnectError.from(error).code === Code.ResourceExhausted);

function Acknowledged({ version, acknowledged, isOnline }: { version: string; acknowledged: string; isOnline: boolean }) {
  if (version === acknowledged) return <Badge tone="good">permissions acknowledged by the device</Badge>;
  return <Badge tone="warn">{isOnline ? "permissions sent, not acknowledged by the device yet" : "permissions reach the device when it connects"}</Badge>;
}

export function Permissions({ device }: { device: Device }) {
  const me = useMe();
  const name = device.name;
  const permissions = useQuery(PolicyService.method.getDevicePermissions, { device: name }, { refetchInterval: 2_000 });
  const review = useQuery(DeviceService.method.reviewDevice, { device: name }, { enabled: me.is("admin"), staleTime: 10_000, retry: isWorthAgain });
  const tools = useQuery(ToolService.method.listTools, {}, { staleTime: 600_000 }).data?.tools ?? [];
  const [begun, setBegun] = useDraft(`permissions ${device.deviceId}`, isBegun);
  const [note, setNote] = useState("");
  const current = permissions.data;
  const isFresh = permissions.isFetchedAfterMount;
  const { state } = useLocation();
  const navigate = useNavigate();
  const taken = useRef<unknown>(undefined);
  // The review is of the grants and of the owner's ceiling that it was made of.
  const terms = current && `${current.version} ${current.ceiling}`;
  const reviewed = useRef(terms);
  useEffect(() => {
    if (terms === undefined || reviewed.current === terms) return;
    if (reviewed.current !== undefined) void refresh(DeviceService.method.reviewDevice);
    reviewed.current = terms;
  }, [terms]);
  // A denial leads here with what it lacked: the draft has it, and an admin reads and applies it.
  useEffect(() => {
    const wanted = wantedOf(state);
    // What an earlier visit loaded may have changed since.
    if (wanted.length === 0 || taken.current === state || !isFresh || !current || !review.data) return;
    taken.current = state;
    const before = object(current.grants);
    void navigate(".", { replace: true, state: null });
    // The policy file grants there, and says so below.
    if (current.policySource !== "") return;
    const from = begun && isSame(begun.before, before) ? begun.grants : before;
    setBegun({ before, grants: wanted.reduce((grants, it) => added(grants, it, review.data.grants), from) });
    setNote(notesOf(state));
  }, [state, isFresh, current, review.data, navigate, begun, setBegun]);
  // The answer to its application may have been lost: what it wanted is there.
  useEffect(() => {
    if (isFresh && begun && current && isSame(begun.grants, object(current.grants)) && !isSame(begun.before, begun.grants)) setBegun(undefined);
  }, [isFresh, begun, current, setBegun]);
  if (!current) return permissions.isPending ? <Loading what="permissions" /> : <ErrorNote error={permissions.error} retry={() => void permissions.refetch()} />;
  const grants = object(current.grants);
  const rows = review.data?.grants ?? NONE;
  const mayEdit = me.is("admin") && current.policySource === "";
  const draft = mayEdit ? begun?.grants : undefined;
  // A draft is not applied where somebody else has changed the grants that it was begun from.
  const isOlder = begun !== undefined && !isSame(begun.before, grants);
  const setDraft = (next: Grants) => setBegun({ before: begun?.before ?? grants, grants: next });
  const change = (next: Grants | undefined) => {
    setNote(next ? "" : "This entry is not listed by itself: change it in the text of the draft.");
    setDraft(next ?? draft ?? grants);
  };
  const of = draft ?? grants;
  return (
    <div className="stack">
      <div className="row apart">
        <div className="row">
          <Acknowledged version={current.version} acknowledged={current.acknowledgedVersion} isOnline={device.online} />
          {current.policySource !== "" && <span className="muted">Granted by <Link to="/policy"><Line text={current.policySource} /></Link></span>}
        </div>
        {mayEdit && !draft && <Button onClick={() => setDraft(grants)}>Edit</Button>}
      </div>
      {current.policySource !== "" && <p className="note">The policy file names this device, so its permissions are changed <Link to="/policy">there</Link>.</p>}
      {device.policyWarnings.map((warning) => <p key={warning} className="note warn"><Line text={warning} most={300} /></p>)}
      {note !== "" && <p className="note warn" role="status"><Line text={note} most={2000} /></p>}
      {draft && begun && (
        <Draft
          device={name}
          before={begun.before}
          isOlder={isOlder}
          isReviewed={review.isSuccess && !review.isFetching}
          draft={draft}
          version={current.version}
          rows={rows}
          onChange={setDraft}
          onDiscard={() => { setBegun(undefined); setNote(""); }}
          // What the owner has to do besides stays to be read.
          onApplied={() => { setBegun(undefined); void permissions.refetch(); }}
        />
      )}
      <ErrorNote error={review.error} retry={() => void review.refetch()} />
      {me.is("admin") && review.isPending && <Loading what="the review" />}
      {review.data && (
        <>
          <p className="muted small">Reviewed: {counted(review.data.calls, "call")} of {counted(review.data.days, "day")}. Everything that is not listed is denied.</p>
          {rows.length === 0 ? (
            <Empty title="Nothing is granted on this device" action={mayEdit && <Button look="primary" onClick={() => setDraft(grants)}>Grant something</Button>}>
              Every call is denied until an admin grants tools and folders.
            </Empty>
          ) : (
            <Matrix device={name} rows={byKind(rows)} tools={tools} onRemove={mayEdit ? (row) => change(without(of, row, rows)) : undefined} onNarrow={mayEdit ? (row) => change(narrowed(of, row, rows)) : undefined} />
          )}
        </>
      )}
      {mayEdit && <AddGrant tools={tools} rows={rows} grants={of} onAdd={change} />}
      <details>
        <summary>As text: the backend's grants and the owner's ceiling</summary>
        <div className="stack">
          <Block text={pretty(grants)} label="Grants" />
          {current.ceiling !== "" && <Block text={pretty(object(current.ceiling))} label="Ceiling" />}
        </div>
      </details>
    </div>
  );
}
