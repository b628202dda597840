// The card of an approval request: at most twelve lines that matter, and all of the arguments; the rest on demand.
import { useQuery } from "@connectrpc/connect-query";
import { type ReactNode, useState } from "react";
import { Arguments } from "../calls/Arguments";
import { type Approval, ApprovalService, ApprovalState } from "../gen/orion/v1/approval_pb";
import { DeviceService } from "../gen/orion/v1/device_pb";
import { outcome, riskOf } from "../lib/call";
import { useMe } from "../lib/session";
import { MOST_PATH, argument, bytes, clip, counted, object, oneLine } from "../lib/text";
import { Badge, Block, Button, Line, Time } from "../ui/basics";
import { Diff } from "../ui/Diff";
import { ErrorNote } from "../ui/ErrorNote";
import { Lines, LookAlikes } from "../ui/Lines";
import { Decide } from "./Decide";
import { Details, source } from "./Details";

/** Returns the full card of a request that a list has cut. */
export function useApproval(listed: Approval) {
  const whole = useQuery(ApprovalService.method.getApproval, { approvalId: listed.approvalId }, { enabled: listed.isCut });
  return { approval: whole.data?.approval ?? listed, isWhole: !listed.isCut || whole.isSuccess, error: whole.error };
}

/** A line of a card, or where it is long all of it: nothing that is approved is left out of the card. */
function Whole({ name, text, most, children }: { name: string; text: string; most: number; children?: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{text.length <= most ? <bdi className="break">{oneLine(text, 10 * most)}</bdi> : (children ?? <Block text={text} label={name} />)}</dd>
    </>
  );
}

function untrusted(approval: Approval): string[] {
  const from = approval.copiedFrom.length > 0 ? approval.copiedFrom : approval.content;
  if (from.length === 0) return [];
  const what = approval.quoted ? "The call is copied from " : approval.copiedFrom.length > 0 ? "Its text stands in " : "In this chat: ";
  return [what + from.map(source).join(", ")];
}

/** Returns what asks besides the risk, which is said already. */
const ruleOf = ({ rule }: Approval) => (rule === "" || rule.startsWith("risk ") ? [] : [`Required by: ${rule}`]);

/** So much of a difference is shown at once: it says what is lost. */
const MOST_DIFF_LINES = 12;
const MOST_DIFF = 1500;

function beginning(diff: string): { diff: string; left: number } {
  const lines = diff.trimEnd().split("\n");
  let most = Math.min(lines.length, MOST_DIFF_LINES);
  while (most > 1 && lines.slice(0, most).join("\n").length > MOST_DIFF) most -= 1;
  return { diff: clip(lines.slice(0, most).join("\n"), MOST_DIFF), left: lines.length - most };
}

function effect(approval: Approval): string {
  const parts = [approval.canUndo ? "can be undone" : "cannot be undone"];
  if (approval.entries !== undefined) parts.push(counted(approval.entries, "file or folder", "files and folders"));
  if (approval.bytes !== undefined) parts.push(bytes(approval.bytes));
  return parts.join(" · ");
}

export function approvers(approval: Approval): string {
  const who = approval.approverCount > 1 ? `${approval.approverCount} people of role ${approval.approverRole} or more` : `${approval.approverRole === "admin" ? "an admin" : "an operator or an admin"}`;
  const how = approval.passkeyRequired ? ", with a passkey" : "";
  if (approval.notRequester) return `${who}, not ${approval.requester}${how}`;
  if (approval.secondIfAny) return `${who}${how}; somebody other than ${approval.requester} where there is one`;
  return `${who}${how}`;
}

/** An approval is used up by a call that fails because its device is away. */
function NotConnected({ device }: { device: string }) {
  const { data } = useQuery(DeviceService.method.getDevice, { device }, { refetchInterval: 5_000 });
  if (!data?.device || data.device.online) return null;
  return <p className="note warn" role="status"><Line text={device} most={40} /> is not connected now. Approved now, the call fails unless it may wait for its device, and has to be made again.</p>;
}

/** The requests whose details were shown to whom in this tab, on whichever of its cards. */
const opened = new Set<string>();

export function ApprovalCard({ listed, onDecided }: { listed: Approval; onDecided?: () => void }) {
  const { approval, isWhole, error } = useApproval(listed);
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const [isAnswered, setAnswered] = useState(false);
  const mayEnd = approval.state === ApprovalState.OPEN && !isAnswered;
  const risk = riskOf(approval.risk);
  const preview = outcome(approval.preview);
  const shown = preview?.diff ? beginning(preview.diff) : undefined;
  const given = Object.entries(object(approval.arguments))
    .toSorted(([one], [other]) => Number(one === "confirm") - Number(other === "confirm"))
    .map(([name, value]) => argument(name, value));
  const seen = `${me.user} ${approval.approvalId}`;
  const toggle = () => {
    setOpen(!isOpen);
    opened.add(seen);
  };
  const decided = (now: Approval | undefined) => {
    setAnswered(now !== undefined && now.state !== ApprovalState.OPEN);
    onDecided?.();
  };
  return (
    <section className="stack" aria-label="Approval request" data-approval={approval.approvalId}>
      <div className="row">
        <h2><Line text={approval.tool} most={40} /> on <Line text={approval.device} most={40} /></h2>
        <Badge tone={risk.tone}>{risk.text}</Badge>
      </div>
      <dl className="facts">
        {preview && <Whole name="Preview" text={preview.message} most={1000} />}
        {shown && (
          <>
            <dt>Difference</dt>
            <dd><Diff text={shown.diff} />{shown.left > 0 && <strong>and {counted(shown.left, "more line")}, in the details</strong>}</dd>
          </>
        )}
        <dt>Effect</dt><dd>{effect(approval)}</dd>
        <Lines name="Touches" texts={approval.touches} most={2} cut={MOST_PATH} />
        {approval.lookAlikes.length > 0 && <><dt>Look-alikes</dt><dd><LookAlikes texts={approval.lookAlikes} most={3} /></dd></>}
        <dt>Asked by</dt>
        <dd><Line text={approval.requester} most={60} />{approval.requester === me.user && " (you)"}, <Time at={approval.createdAt} /></dd>
        {given.length > 0 && <Whole name="Arguments" text={given.join(" · ")} most={200}><Arguments values={object(approval.arguments)} /></Whole>}
        <Lines name="Why asked" texts={[...ruleOf(approval), ...approval.riskBecause.slice(-2)]} most={3} />
        <Lines name="Untrusted" texts={untrusted(approval)} most={1} />
        <dt>Who may</dt><dd>{approvers(approval)}{mayEnd && <> · ends <Time at={approval.expiresAt} /></>}</dd>
      </dl>
      <ErrorNote error={error} />
      {mayEnd && me.is("operator") && <NotConnected device={approval.device} />}
      <div>
        <Button look="small" aria-expanded={isOpen} onClick={toggle} data-key="e">{isOpen ? "Hide the details" : "Show the details"}</Button>
      </div>
      {isOpen && <Details approval={approval} />}
      <Decide key={approval.approvalId} approval={approval} isWhole={isWhole} detailsShown={opened.has(seen)} onDecided={decided} />
    </section>
  );
}
