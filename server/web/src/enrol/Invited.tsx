// After the invitation: the command, and what happens as the device appears, is approved and connects.
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "react-router";
import { PendingDevice } from "../devices/Pending";
import { DeviceService, DeviceState, type InviteDeviceResponse } from "../gen/orion/v1/device_pb";
import { Badge, Button, Copy, Line, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { Qr } from "./Qr";

const REFRESH_MS = 1_500;

interface Props {
  invitation: InviteDeviceResponse;
  /** The commands that open the folders which the command of the invitation leaves closed. */
  closed: string[];
  /** The devices that were there before. */
  before: Set<string>;
  onAgain: () => void;
}

export function Invited({ invitation, closed, before, onAgain }: Props) {
  const [hasQr, setQr] = useState(false);
  const line = invitation.installWithCurl || invitation.command;
  const { data, error } = useQuery(DeviceService.method.listDevices, {}, { refetchInterval: REFRESH_MS });
  const fresh = (data?.devices ?? []).filter(({ deviceId }) => !before.has(deviceId));
  const pending = fresh.filter(({ state }) => state === DeviceState.PENDING);
  const approved = fresh.filter(({ state }) => state === DeviceState.APPROVED);
  return (
    <div className="stack">
      <section className="panel">
        <header><h2>1. Run this on the device</h2></header>
        <div className="body stack">
          <div className="command">
            <code>{line}</code>
            <Copy text={line} label="Copy the command" />
          </div>
          <p className="small muted">
            It contains a secret that is good until <Time at={invitation.expiresAt} short />, is shown only now, and lets its holder enrol a device here.{" "}
            {invitation.installWithCurl
              ? <>It installs the agent as well. On a device that has it: <code>{invitation.command}</code></>
              : <>Then start the agent: <code>orion-agent run</code>, or <code>orion-agent install</code> to start it with the machine.</>}
          </p>
          {closed.length > 0 && (
            <div className="note">
              The folders stay closed until they are opened on the device, for what is granted or a little more. In its shell:
              {closed.map((command) => <div key={command} className="command"><code>{command}</code><Copy text={command} /></div>)}
            </div>
          )}
          <div><Button look="small" aria-expanded={hasQr} onClick={() => setQr(!hasQr)}>{hasQr ? "Hide the QR code" : "Show as a QR code"}</Button></div>
          {hasQr && <Qr text={line} label="The command as a QR code" />}
        </div>
      </section>
      <section className="panel" aria-live="polite">
        <header><h2>2. Compare and approve</h2></header>
        <div className="body stack">
          <ErrorNote error={error} />
          {fresh.length === 0 && <div className="row muted"><span className="spinner spin" aria-hidden /> Waiting for the device. It appears here by itself.</div>}
          {pending.map((device) => <PendingDevice key={device.deviceId} device={device} mayDecide />)}
          {approved.map((device) => (
            <div key={device.deviceId} className="row">
              <strong><Line text={device.name} most={60} /></strong>
              {device.online ? <Badge tone="good"><span className="dot good" /> connected</Badge> : <><Badge tone="warn">approved, not connected yet</Badge><span className="small muted">Start the agent there: <code>orion-agent run</code></span></>}
            </div>
          ))}
        </div>
      </section>
      {approved.map((device) => (
        <div key={device.deviceId} className="row">
          <Link className="button primary" to="/chat">Go to the chat</Link>
          <Link className="button" to={`/devices/${encodeURIComponent(device.name)}`}>See and grant permissions</Link>
        </div>
      ))}
      <div><Button look="quiet" onClick={onAgain}>Enrol another device</Button></div>
    </div>
  );
}
