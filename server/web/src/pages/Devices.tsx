// The devices, live, with filters that are in the address.
import { useQuery } from "@connectrpc/connect-query";
import { memo, useDeferredValue, useMemo, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { PendingDevice } from "../devices/Pending";
import { deviceState, isCurrent, labelsOf } from "../devices/state";
import { type Device, DeviceService, DeviceState } from "../gen/orion/v1/device_pb";
import { useMe } from "../lib/session";
import { counted } from "../lib/text";
import { Badge, Empty, Head, Line, Loading, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { Pages, pageOf } from "../ui/Pages";

const BY_NAME = new Intl.Collator();
const REFRESH_MS = 3_000;

function matches(device: Device, text: string, state: string): boolean {
  const isState = state === "" || (state === "connected" ? device.online : state === "away" ? !device.online && device.state === DeviceState.APPROVED : device.state !== DeviceState.APPROVED);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = `${device.name} ${device.hostname} ${device.os} ${device.agentVersion} ${labelsOf(device)}`.toLowerCase();
  return isState && words.every((word) => all.includes(word));
}

const Row = memo(function Row({ device }: { device: Device }) {
  const navigate = useNavigate();
  const state = deviceState(device);
  const to = `/devices/${encodeURIComponent(device.name)}`;
  return (
    // The link in the row serves the keyboard.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <tr className="link" onClick={() => void navigate(to)}>
      <td>
        <Link to={to} onClick={(event) => event.stopPropagation()}><strong><Line text={device.name} most={60} /></strong></Link>
        <div className="small muted"><Line text={device.hostname} most={60} /></div>
      </td>
      <td data-label="State">
        <Badge tone={state.tone}><span className={`dot ${state.tone}`} /> {state.text}</Badge>
        {device.dangerous && <> <Badge tone="bad">dangerous mode</Badge></>}
        {device.chainProblem !== "" && <> <Badge tone="bad">chain contradicts</Badge></>}
      </td>
      <td data-label="System"><Line text={device.agentVersion === "" ? device.os : `${device.os} · agent ${device.agentVersion}`} most={60} /></td>
      <td data-label="Permissions">{isCurrent(device) ? <span className="muted">acknowledged</span> : <Badge tone="warn">not acknowledged yet</Badge>}</td>
      <td data-label="Last seen">{device.online ? "now" : <Time at={device.lastSeenAt} />}</td>
    </tr>
  );
});

export default function Devices() {
  const me = useMe();
  const [search, setSearch] = useSearchParams();
  const [chosen, setChosen] = useState(1);
  const [text, setText] = useState(search.get("q") ?? "");
  const wanted = useDeferredValue(text);
  const state = search.get("state") ?? "";
  const { data, error, isPending, refetch } = useQuery(DeviceService.method.listDevices, {}, {
    // A long list takes longer to send and to read, so it is asked for less often.
    refetchInterval: (query) => REFRESH_MS + 10 * (query.state.data?.devices.length ?? 0),
  });
  const devices = useMemo(() => data?.devices ?? [], [data]);
  const pending = devices.filter((device) => device.state === DeviceState.PENDING);
  const shown = useMemo(
    () => devices.filter((device) => device.state !== DeviceState.PENDING && matches(device, wanted, state)).toSorted((a, b) => Number(b.online) - Number(a.online) || BY_NAME.compare(a.name, b.name)),
    [devices, wanted, state],
  );
  const { page, pages, shown: rows } = pageOf(shown, chosen);
  const connected = devices.filter(({ online }) => online).length;
  return (
    <main className="page">
      <Head title="Devices" actions={me.is("admin") && <Link className="button primary" to="/enrol">Enrol a device</Link>}>
        {devices.length > 0 && `${counted(devices.length, "device")}, ${connected} connected`}
      </Head>
      <ErrorNote error={error} retry={() => void refetch()} />
      {isPending && <Loading what="devices" />}
      {pending.map((device) => <PendingDevice key={device.deviceId} device={device} mayDecide={me.is("admin")} />)}
      {data && devices.length === 0 && (
        <Empty title="No device yet" action={me.is("admin") && <Link className="button primary" to="/enrol">Enrol the first device</Link>}>
          A device is a laptop or a server with the agent of Orion. Enrolling takes one command there, and you approve it here.
        </Empty>
      )}
      {devices.length > pending.length && (
        <>
          <div className="row">
            <input className="grow" type="search" aria-label="Search devices" placeholder="Name, host or system" value={text} onChange={(event) => { setText(event.target.value); setChosen(1); }} />
            <select className="auto" aria-label="State" value={state} onChange={(event) => setSearch(event.target.value === "" ? {} : { state: event.target.value }, { replace: true })}>
              <option value="">All states</option>
              <option value="connected">Connected</option>
              <option value="away">Not connected</option>
              <option value="ended">Rejected, quarantined or revoked</option>
            </select>
          </div>
          <div className="panel scroll">
            <table className="stackable">
              <thead><tr><th>Device</th><th>State</th><th>System</th><th>Permissions</th><th>Last seen</th></tr></thead>
              <tbody>{rows.map((device) => <Row key={device.deviceId} device={device} />)}</tbody>
            </table>
            {shown.length === 0 && <Empty title="No device matches">Change the words or the state above.</Empty>}
          </div>
          <Pages page={page} pages={pages} go={setChosen} />
        </>
      )}
    </main>
  );
}
