// Devices that wait for approval. Their words are compared with those on the device itself.
import { useMutation } from "@connectrpc/connect-query";
import { type Device, DeviceService } from "../gen/orion/v1/device_pb";
import { useSettled } from "../lib/settled";
import { json } from "../lib/text";
import { Badge, Button, Line, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";
import { flow } from "./grants";
import { refreshDevices } from "./state";

/** What an approval lets happen on the device: its grants, which its invitation gave it. */
function Granted({ device }: { device: Device }) {
  const granted = json(device.grants);
  if (typeof granted !== "object" || granted === null) return <p className="note warn">What it would be granted cannot be read.</p>;
  const grants = Object.entries(granted);
  if (grants.length === 0) return <p>Nothing is granted on it yet: once approved, every call is denied until an admin grants tools and folders.</p>;
  return (
    <div>
      <p>Once approved, this is in effect on it, as far as the device's owner allows it too:</p>
      <dl className="facts">{grants.map(([key, value]) => <div key={key} className="contents"><dt>{key}</dt><dd>{Array.isArray(value) && value.length === 0 ? "none" : (Array.isArray(value) ? value : [value]).map((it) => <div key={flow(it)}><Line text={flow(it)} most={40_000} mono /></div>)}</dd></div>)}</dl>
    </div>
  );
}

export function PendingDevice({ device, mayDecide }: { device: Device; mayDecide: boolean }) {
  const toast = useToast();
  const isSettled = useSettled();
  const approve = useMutation(DeviceService.method.approveDevice, {
    onSuccess: () => { toast("The device is approved. It connects once its agent runs there: orion-agent run"); return refreshDevices(); },
  });
  const reject = useMutation(DeviceService.method.rejectDevice, { onSuccess: () => { toast("The device is rejected."); return refreshDevices(); } });
  return (
    <section className="panel" aria-label="Device that waits for approval" data-device={device.name}>
      <div className="body stack">
        <div className="row">
          <h2><Line text={device.name} most={60} /></h2>
          <Badge tone="warn">waits for approval</Badge>
          <span className="muted"><Line text={device.hostname} most={80} /> · <Line text={device.os} most={40} /> · <Time at={device.enrolledAt} /></span>
        </div>
        {device.pendingReason && <p>It waits because <Line text={device.pendingReason} most={400} />.</p>}
        {device.policySource === "" ? <Granted device={device} /> : <p>Once approved, what the policy grants it is in effect: <Line text={device.policySource} />.</p>}
        <div>
          <p>Compare these words with those that the device printed. Approve only where they are the same:</p>
          <p className="words">{device.fingerprintWords.split(/[\s-]+/).map((word, index) => <code key={index}>{word}</code>)}</p>
        </div>
        <ErrorNote error={approve.error ?? reject.error} />
        {mayDecide ? (
          <div className="row">
            <Button look="primary" disabled={!isSettled} busy={approve.isPending} onClick={() => approve.mutate({ device: device.deviceId })}>The words are the same: approve</Button>
            <Button look="danger" disabled={!isSettled} busy={reject.isPending} onClick={() => reject.mutate({ device: device.deviceId })}>Reject</Button>
          </div>
        ) : <p className="muted">An admin approves devices.</p>}
      </div>
    </section>
  );
}
