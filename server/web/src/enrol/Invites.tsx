// The tokens that devices can still use, and the way to withdraw one.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { DeviceService, type Invite } from "../gen/orion/v1/device_pb";
import { refresh } from "../lib/api";
import { oneLine } from "../lib/text";
import { Button, Line, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

const REFRESH_MS = 5_000;
/** How many devices the backend names. */
const MOST_NAMED = 100;

export const refreshInvites = () => refresh(DeviceService.method.listInvites);

const limits = ({ confirmedByCode, platforms, networks }: Invite) => [...(confirmedByCode ? ["the device that showed a code"] : []), ...platforms, ...networks].join(", ");

function Row({ invite, onWithdrawn }: { invite: Invite; onWithdrawn: (letIn: string[]) => void }) {
  const toast = useToast();
  const [isAsked, setAsked] = useState(false);
  const revoke = useMutation(DeviceService.method.revokeInvite, {
    onSuccess: ({ devices }) => {
      toast("The invitation is withdrawn.");
      setAsked(false);
      onWithdrawn(devices);
    },
    onSettled: refreshInvites,
  });
  const limited = limits(invite);
  const { inviteId, name, usesLeft, preapproved, createdBy, createdAt, expiresAt } = invite;
  return (
    <tr>
      <td>
        <div>{name === "" ? "A device with a name of its own" : <Line text={name} most={60} />}</div>
        <div className="small muted">{limited === "" ? "for anyone who has it" : <>for <Line text={limited} most={400} /></>}</div>
      </td>
      <td data-label="Uses left">{usesLeft}</td>
      <td data-label="Lets in">{preapproved ? "at once" : "after approval"}</td>
      <td data-label="Made by"><div><Line text={createdBy} most={40} /></div><div className="small muted"><Time at={createdAt} short /></div></td>
      <td data-label="Until"><Time at={expiresAt} short /></td>
      <td>
        <Button look="small" onClick={() => setAsked(true)}>Withdraw…</Button>
        {isAsked && (
          <Dialog title="Withdraw the invitation?" onClose={() => setAsked(false)}>
            <p>No device can use it any more. Devices that used it stay, those that wait for approval too: they are named then, and can be quarantined or revoked under Devices.</p>
            <ErrorNote error={revoke.error} />
            <div className="row end"><Button onClick={() => setAsked(false)}>Back</Button><Button look="primary" busy={revoke.isPending} onClick={() => revoke.mutate({ inviteId })}>Withdraw</Button></div>
          </Dialog>
        )}
      </td>
    </tr>
  );
}

export function Invites() {
  const { data, error } = useQuery(DeviceService.method.listInvites, {}, { refetchInterval: REFRESH_MS });
  const [letIn, setLetIn] = useState<string[]>([]);
  if (!error && (data?.invites.length ?? 0) === 0 && letIn.length === 0) return null;
  return (
    <section className="stack tight" aria-label="Open invitations">
      <h2>Open invitations</h2>
      <ErrorNote error={error} />
      {letIn.length > 0 && (
        <p className="note warn" role="status">
          The invitation that you withdrew had let these in, and they stay until they are quarantined or revoked:
          {letIn.map((name) => <span key={name}> <Link to={`/devices/${encodeURIComponent(name)}`}>{oneLine(name, 80)}</Link></span>)}
          {letIn.length === MOST_NAMED && " and perhaps more, which the audit log names"}
        </p>
      )}
      {data && data.invites.length > 0 && (
        <div className="panel scroll">
          <table className="stackable">
            <thead><tr><th>Device</th><th>Uses left</th><th>Lets in</th><th>Made by</th><th>Until</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>{data.invites.map((invite) => <Row key={invite.inviteId} invite={invite} onWithdrawn={setLetIn} />)}</tbody>
          </table>
        </div>
      )}
      {data?.hasMore && <p className="small muted">There are more, which end later than these.</p>}
    </section>
  );
}
