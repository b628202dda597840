// Enrol a device: a form, one command, and the device as it appears.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type ChangeEvent, type FormEvent, useState } from "react";
import { PendingDevice } from "../devices/Pending";
import { ByCode } from "../enrol/ByCode";
import { Invited } from "../enrol/Invited";
import { Invites, refreshInvites } from "../enrol/Invites";
import { DeviceService, DeviceState, type InviteDeviceResponse } from "../gen/orion/v1/device_pb";
import { useMe } from "../lib/session";
import { Button, Empty, Field, Head } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

/** The words of a list that a person wrote with spaces or commas between. */
const wordsOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** A path as a shell reads it, with a leading ~ for the home folder. */
const quoted = (path: string) => (/^[\w/~.:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** The option of `orion-agent allow` for no more than is granted, as far as there is one. */
const opening = (access: string[]) => (access.includes("delete") ? "" : access.includes("write") ? " --write" : " --read");

const ACCESSES = ["read", "write", "delete"];
/** Each profile with the access to folders that its tools can use. */
const PROFILES = [
  { name: "reader", text: "Reader: reads files and facts", access: ["read"] },
  { name: "operator", text: "Operator: also writes, deletes, opens applications", access: ACCESSES },
  { name: "developer", text: "Developer: also programs and developer tools", access: ACCESSES },
  { name: "homelab", text: "Homelab: an operator's, and services", access: ACCESSES },
  { name: "", text: "Nothing yet: every call is denied", access: ["read"] },
];

export default function Enrol() {
  const me = useMe();
  const [invitation, setInvitation] = useState<InviteDeviceResponse>();
  const [access, setAccess] = useState(["read"]);
  const [profile, setProfile] = useState("reader");
  const [folders, setFolders] = useState("");
  const paths = folders.split("\n").map((it) => it.trim()).filter(Boolean);
  const grants = profile === "" && paths.length === 0 ? "" : JSON.stringify({ ...(profile === "" ? {} : { profile }), paths: paths.map((path) => ({ path, access })) });
  const relative = paths.find((path) => !/^([/\\]|~([/\\]|$)|[A-Za-z]:[/\\])/.test(path));
  // The command opens folders for everything or not at all: for less, the owner opens them.
  const isLess = access.length > 0 && access.length < ACCESSES.length;
  const closed = isLess ? paths.map((path) => `orion-agent allow ${quoted(path)}${opening(access)}`) : [];
  const [labels, setLabels] = useState("");
  // They are kept for the next device, so that its token has the same limits.
  const [limits, setLimits] = useState({ uses: "1", networks: "", platforms: "" });
  const limit = (name: keyof typeof limits) => ({ value: limits[name], onChange: (event: ChangeEvent<HTMLInputElement>) => setLimits({ ...limits, [name]: event.target.value }) });
  const [before, setBefore] = useState<Set<string>>(new Set());
  const devices = useQuery(DeviceService.method.listDevices, {}, { refetchInterval: 3_000 });
  const pending = devices.data?.devices.filter(({ state }) => state === DeviceState.PENDING) ?? [];
  const invite = useMutation(DeviceService.method.inviteDevice, { onSuccess: (made) => { setInvitation(made); void refreshInvites(); } });
  const choose = (name: string) => {
    setProfile(name);
    setAccess(PROFILES.find((it) => it.name === name)?.access ?? ["read"]);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    setBefore(new Set((devices.data?.devices ?? []).map(({ deviceId }) => deviceId)));
    invite.mutate({
      name: text("name"),
      validSeconds: BigInt(text("valid")),
      uses: Number(limits.uses),
      preapproved: form.get("preapproved") === "on",
      grants,
      labels: wordsOf(labels),
      networks: wordsOf(limits.networks),
      platforms: wordsOf(limits.platforms),
    });
  };
  if (!me.is("admin")) return <main className="page"><Head title="Enrol a device" /><Empty title="Admins enrol devices">Ask an admin for an invitation.</Empty></main>;
  return (
    <main className="page narrow">
      <Head title="Enrol a device">A device joins by a one-time token or a code that it shows, and is approved by comparing words.</Head>
      {!invitation && pending.map((device) => <PendingDevice key={device.deviceId} device={device} mayDecide />)}
      {invitation ? (
        <Invited invitation={invitation} closed={closed} before={before} onAgain={() => setInvitation(undefined)} />
      ) : (
        <form className="panel" onSubmit={submit}>
          <div className="body stack">
            <Field label="Name" hint="Lower-case letters, digits, - and _, such as laptop-2. Left empty, the device suggests its own.">
              {(props) => <input {...props} name="name" autoComplete="off" autoCapitalize="none" />}
            </Field>
            <Field label="What it may do at first" hint="The device's owner sets a ceiling of their own, which nothing here can exceed.">
              {(props) => <select {...props} value={profile} onChange={(event) => choose(event.target.value)}>{PROFILES.map(({ name, text }) => <option key={name} value={name}>{text}</option>)}</select>}
            </Field>
            <Field label="In these folders" hint="One a line, as the device writes them, such as ~/Projects. The first is where relative paths start.">
              {(props) => <textarea {...props} className="mono" rows={2} spellCheck={false} value={folders} onChange={(event) => setFolders(event.target.value)} />}
            </Field>
            {relative !== undefined && <p className="note bad small" role="alert">{relative} is no full path: begin it with /, ~ or a drive.</p>}
            {paths.length === 0 && profile !== "" && <p className="note small" role="status">Without a folder, every call that touches a file is denied on this device. Folders can be granted later.</p>}
            <fieldset className="row plain">
              <legend className="small muted">Access to these folders</legend>
              {ACCESSES.map((name) => (
                <label key={name} className="check"><input type="checkbox" checked={access.includes(name)} onChange={() => setAccess(ACCESSES.filter((it) => access.includes(it) !== (it === name)))} /> {name}</label>
              ))}
            </fieldset>
            <Field label="Labels" hint="Rules of the policy select devices by them. With spaces between, such as env=lab group=laptops.">
              {(props) => <input {...props} className="mono" value={labels} onChange={(event) => setLabels(event.target.value)} autoComplete="off" autoCapitalize="none" spellCheck={false} />}
            </Field>
            <Field label="The token is good for">
              {(props) => <select {...props} name="valid" defaultValue="3600"><option value="900">15 minutes</option><option value="3600">an hour</option><option value="86400">a day</option></select>}
            </Field>
            <details onInvalidCapture={(event) => { event.currentTarget.open = true; }}>
              <summary>Limits of the token</summary>
              <div className="stack">
                <Field label="How many devices may use it" hint="For more than one, leave the name above empty: each device has its own.">
                  {(props) => <input {...props} {...limit("uses")} type="number" min={1} max={1000} required />}
                </Field>
                <Field label="From these networks only" hint="Addresses or networks, such as 192.168.1.0/24. Left empty, from everywhere.">
                  {(props) => <input {...props} {...limit("networks")} className="mono" autoComplete="off" spellCheck={false} />}
                </Field>
                <Field label="On these platforms only" hint="Such as linux-x86_64 or windows-x86_64. A device states its platform itself: this prevents mistakes, not theft.">
                  {(props) => <input {...props} {...limit("platforms")} className="mono" autoComplete="off" autoCapitalize="none" spellCheck={false} />}
                </Field>
              </div>
            </details>
            <label className="check"><input type="checkbox" name="preapproved" /> Approve at once, without comparing words: whoever has the token gets in</label>
            <ErrorNote error={invite.error ?? devices.error} />
            <div><Button look="primary" type="submit" busy={invite.isPending} disabled={devices.isPending || relative !== undefined}>Make the command</Button></div>
          </div>
        </form>
      )}
      {!invitation && <ByCode grants={grants} labels={wordsOf(labels)} />}
      {!invitation && <Invites />}
    </main>
  );
}
