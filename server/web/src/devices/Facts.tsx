// What is known of a device, and what an admin can do with it as a whole.
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Device, DeviceService, DeviceState } from "../gen/orion/v1/device_pb";
import { useMe } from "../lib/session";
import { Button, Field, Line, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";
import { labelsOf, refreshDevices } from "./state";

type Act = "quarantine" | "revoke" | "approve" | "safe";

const ACTS: Record<Act, { label: string; text: string; look: string }> = {
  approve: { label: "Approve again", text: "The device receives calls again.", look: "primary" },
  quarantine: { label: "Quarantine", text: "The device stays enrolled and receives no calls until an admin approves it again.", look: "danger" },
  revoke: { label: "Revoke", text: "This ends the device's identity at once. It must be enrolled again with a new token.", look: "danger" },
  safe: { label: "End dangerous mode", text: "The device's tool list and capabilities hold again.", look: "primary" },
};

function Confirm({ act, device, onClose }: { act: Act; device: Device; onClose: () => void }) {
  const toast = useToast();
  const [reason, setReason] = useState("");
  const done = { onSuccess: () => { toast(`${ACTS[act].label}: done.`); onClose(); return refreshDevices(); } };
  const approve = useMutation(DeviceService.method.approveDevice, done);
  const quarantine = useMutation(DeviceService.method.quarantineDevice, done);
  const revoke = useMutation(DeviceService.method.revokeDevice, done);
  const safe = useMutation(DeviceService.method.setDeviceMode, done);
  const id = device.deviceId;
  const run = { approve: () => approve.mutate({ device: id }), quarantine: () => quarantine.mutate({ device: id, reason }), revoke: () => revoke.mutate({ device: id, reason }), safe: () => safe.mutate({ device: id, dangerous: false }) };
  const { label, text, look } = ACTS[act];
  return (
    <Dialog title={`${label}: ${device.name}`} onClose={onClose}>
      <p>{text}</p>
      {(act === "quarantine" || act === "revoke") && <Field label="Reason">{(props) => <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />}</Field>}
      <ErrorNote error={approve.error ?? quarantine.error ?? revoke.error ?? safe.error} />
      <div className="row end"><Button onClick={onClose}>Back</Button><Button look={look} onClick={run[act]}>{label}</Button></div>
    </Dialog>
  );
}

export function Facts({ device }: { device: Device }) {
  const me = useMe();
  const [act, setAct] = useState<Act>();
  const acts: Act[] = [
    ...(device.dangerous ? (["safe"] as const) : []),
    ...(device.state === DeviceState.QUARANTINED ? (["approve"] as const) : []),
    ...(device.state === DeviceState.APPROVED ? (["quarantine"] as const) : []),
    ...(device.state === DeviceState.APPROVED || device.state === DeviceState.QUARANTINED ? (["revoke"] as const) : []),
  ];
  return (
    <div className="stack">
      {device.dangerous && (
        <p className="note bad">
          Dangerous mode until <Time at={device.dangerous.until} />, set by <Line text={device.dangerous.setBy} />: <Line text={device.dangerous.reason} />
        </p>
      )}
      {device.pause && (
        <p className="note">
          {device.pause.fault === "" ? <>Paused on the device by <Line text={device.pause.by} /> since <Time at={device.pause.since} />{device.pause.until > 0n && <> until <Time at={device.pause.until} /></>}. Every call is refused. Only the owner ends this, with <code>orion-agent resume</code> there.</> : <>The device counts as paused: <Line text={device.pause.fault} most={200} /></>}
        </p>
      )}
      {device.chainProblem !== "" && <p className="note bad">The device's own audit log contradicts what was seen of it: <Line text={device.chainProblem} most={300} /></p>}
      <dl className="facts panel-facts">
        <dt>Host</dt><dd><Line text={device.hostname} /></dd>
        <dt>System</dt><dd><Line text={device.os} /></dd>
        <dt>Agent</dt><dd><Line text={device.agentVersion} /></dd>
        <dt>Confined by</dt><dd><Line text={device.sandbox || "unknown until it connects"} /></dd>
        <dt>Enrolled</dt><dd><Time at={device.enrolledAt} /></dd>
        <dt>Last seen</dt><dd>{device.online ? "now" : <Time at={device.lastSeenAt} />}</dd>
        <dt>Certificate ends</dt><dd><Time at={device.certificateNotAfter} /></dd>
        <dt>Fingerprint</dt><dd><Line text={device.fingerprintWords} mono /></dd>
        <dt>Labels</dt><dd><Line text={labelsOf(device) || "none"} most={2000} /></dd>
        <dt>Own audit log</dt><dd>{device.chainSeq.toString()} entries seen</dd>
        <dt>Id</dt><dd className="mono">{device.deviceId}</dd>
      </dl>
      {me.is("admin") && <div className="row">{acts.map((it) => <Button key={it} look={ACTS[it].look} onClick={() => setAct(it)}>{ACTS[it].label}…</Button>)}</div>}
      {act && <Confirm act={act} device={device} onClose={() => setAct(undefined)} />}
    </div>
  );
}
