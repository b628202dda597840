// On which devices what is decided here holds: a version holds where the device has acknowledged it.
import { Link } from "react-router";
import type { PolicyOnDevice } from "../gen/orion/v1/policy_pb";
import { counted } from "../lib/text";
import { Badge, Line } from "../ui/basics";

const MOST = 50;

export function OnDevices({ devices, isApplied }: { devices: PolicyOnDevice[]; isApplied: boolean }) {
  const lagging = devices.filter((it) => it.version !== it.acknowledgedVersion || it.warnings.length > 0);
  return (
    <section className="stack tight">
      <h2>On the devices</h2>
      <p className="muted">{counted(devices.length - lagging.length, "device has", "devices have")} acknowledged {isApplied ? "the active policy" : "what is granted there"} without a finding.</p>
      {lagging.slice(0, MOST).map((it) => (
        <div key={it.device} className="row">
          <Link to={`/devices/${encodeURIComponent(it.device)}`}><Line text={it.device} most={60} /></Link>
          {it.version !== it.acknowledgedVersion && <Badge tone="warn">{it.online ? "not acknowledged yet" : "not connected"}</Badge>}
          {it.warnings.map((warning) => <span key={warning} className="small"><Line text={warning} most={200} /></span>)}
        </div>
      ))}
      {lagging.length > MOST && <p className="muted">and {lagging.length - MOST} more</p>}
    </section>
  );
}
