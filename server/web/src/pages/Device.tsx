// One device: its facts, its permissions, and what was done on it.
import { create } from "@bufbuild/protobuf";
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { Link, NavLink, useParams } from "react-router";
import { Activity } from "../devices/Activity";
import { Facts } from "../devices/Facts";
import { PendingDevice } from "../devices/Pending";
import { Permissions } from "../devices/Permissions";
import { deviceState } from "../devices/state";
import { DeviceService, DeviceState, GetDeviceResponseSchema } from "../gen/orion/v1/device_pb";
import { isMissing, queries, transport } from "../lib/api";
import { useMe } from "../lib/session";
import { Badge, Head, Line, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const TABS = [
  { to: "", label: "Permissions" },
  { to: "activity", label: "Activity" },
  { to: "facts", label: "Facts" },
];

const LIST = createConnectQueryKey({ schema: DeviceService.method.listDevices, input: {}, transport, cardinality: "finite" });

/** What the list of devices says of one: it is shown until the device itself is loaded. */
function listed(name: string) {
  const device = queries.getQueryData(LIST)?.devices.find((it) => it.name === name);
  return device && create(GetDeviceResponseSchema, { device });
}

export default function Device() {
  const me = useMe();
  const { name = "", tab = "" } = useParams();
  const { data, error, isPending, refetch } = useQuery(DeviceService.method.getDevice, { device: name }, { refetchInterval: 3_000, placeholderData: () => listed(name) });
  const device = data?.device;
  const base = `/devices/${encodeURIComponent(name)}`;
  const state = device && deviceState(device);
  return (
    <main className="page">
      <Link className="small" to="/devices">← Devices</Link>
      <Head title={<><Line text={device?.name ?? name} most={80} /> {state && <Badge tone={state.tone}><span className={`dot ${state.tone}`} /> {state.text}</Badge>}</>}>
        {device && <Line text={[device.hostname, device.os, device.agentVersion && `agent ${device.agentVersion}`].filter(Boolean).join(" · ")} most={160} />}
      </Head>
      {isPending && <Loading what="the device" />}
      {!device && <ErrorNote error={error} retry={isMissing(error) ? undefined : () => void refetch()} />}
      {device?.state === DeviceState.PENDING && <PendingDevice device={device} mayDecide={me.is("admin")} />}
      {device && device.state !== DeviceState.PENDING && (
        <>
          <nav className="tabs" aria-label="Parts of this device">
            {TABS.map((it) => <NavLink key={it.to} end to={it.to === "" ? base : `${base}/${it.to}`}>{it.label}</NavLink>)}
          </nav>
          {tab === "activity" ? <Activity device={device.name} /> : tab === "facts" ? <Facts device={device} /> : <Permissions key={device.deviceId} device={device} />}
        </>
      )}
    </main>
  );
}
