// The details of an approval request, which are shown on demand.
import { Arguments } from "../calls/Arguments";
import type { Approval, ContentLabel } from "../gen/orion/v1/approval_pb";
import { outcome } from "../lib/call";
import { MOST_PATH, object } from "../lib/text";
import { Block, Line } from "../ui/basics";
import { Diff } from "../ui/Diff";
import { Lines } from "../ui/Lines";

export const source = (label: ContentLabel) => `${label.tool} on ${label.device} ${label.place}`.trimEnd();

export function Details({ approval }: { approval: Approval }) {
  const preview = outcome(approval.preview);
  return (
    <div className="stack">
      <Arguments values={object(approval.arguments)} />
      {preview?.diff !== undefined && <Diff text={preview.diff} />}
      {preview?.data !== undefined && preview.diff === undefined && <Block text={JSON.stringify(preview.data, null, 2)} label="Preview" />}
      <dl className="facts small">
        <Lines name="All touches" texts={approval.touches} most={200} cut={MOST_PATH} />
        <Lines name="All look-alikes" texts={approval.lookAlikes} most={30} />
        <Lines name="Untrusted" texts={approval.content.map(source)} most={50} />
        <Lines name="Words from it" texts={approval.occursInContent} most={20} />
        {approval.writtenBy !== "" && <><dt>Written by</dt><dd><Line text={approval.writtenBy} /></dd></>}
        <dt>Answers so far</dt>
        <dd>{approval.votes.map((vote) => `${vote.user}: ${vote.yes ? "yes" : "no"}${vote.byPasskey ? " with a passkey" : ""}`).join(", ") || "none"}</dd>
        <dt>Id</dt><dd className="mono">{approval.approvalId}</dd>
      </dl>
    </div>
  );
}
