// The accounts: their roles, and the way to make, change and disable them.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type FormEvent, useState } from "react";
import { AuthService, type User } from "../gen/orion/v1/auth_pb";
import { refresh } from "../lib/api";
import { useMe } from "../lib/session";
import { counted, oneLine } from "../lib/text";
import { Badge, Button, Field, Line, Loading, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

const ROLES = ["viewer", "operator", "admin"];
const refreshUsers = () => refresh(AuthService.method.listUsers);

const MAY: Record<string, string> = {
  viewer: "see the devices, and call tools of low risk that change nothing, but answer no approvals",
  operator: "call tools of every kind and answer approvals",
  admin: "decide who may do what, on every device",
};

function NewUser({ onClose }: { onClose: () => void }) {
  const toast = useToast();
  const create = useMutation(AuthService.method.createUser, { onSuccess: () => { toast("The account is made."); onClose(); return refreshUsers(); } });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    create.mutate({ user: String(form.get("user")), role: String(form.get("role")), password: String(form.get("password")) });
  };
  return (
    <Dialog title="New account" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name">{(props) => <input {...props} name="user" autoComplete="off" autoCapitalize="none" required />}</Field>
        <Field label="Role" hint={`Viewers may ${MAY.viewer}. Operators may ${MAY.operator}. Admins may also ${MAY.admin}.`}>{(props) => <select {...props} name="role" defaultValue="operator">{ROLES.map((role) => <option key={role}>{role}</option>)}</select>}</Field>
        <Field label="First password" hint="At least 12 characters; left empty, nobody signs in with it until orion users password NAME sets one">{(props) => <input {...props} name="password" type="password" autoComplete="new-password" minLength={12} />}</Field>
        <ErrorNote error={create.error} />
        <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" type="submit" busy={create.isPending}>Make the account</Button></div>
      </form>
    </Dialog>
  );
}

type Change = { role: string } | "disable" | "enable";

/** A change of an account, said before it is made. */
function Ask({ user, change, onClose }: { user: User; change: Change; onClose: () => void }) {
  const toast = useToast();
  const done = (said: string) => ({ onSuccess: () => { toast(said); onClose(); return refreshUsers(); } });
  const name = oneLine(user.user, 60);
  const role = useMutation(AuthService.method.setUserRole, done(`The role of ${name} is changed.`));
  const disable = useMutation(AuthService.method.disableUser, done(`${name} is disabled.`));
  const enable = useMutation(AuthService.method.enableUser, done(`${name} is enabled.`));
  const busy = role.isPending || disable.isPending || enable.isPending;
  const error = role.error ?? disable.error ?? enable.error;
  if (change === "disable") {
    return (
      <Dialog title={`Disable ${name}?`} onClose={onClose}>
        <p>{counted(user.sessions, "session")} and {counted(user.tokens, "token")} of {name} end at once, and nobody can sign in as {name} until an admin enables the account again. That does not bring back API tokens, passkeys, schedules and temporary access of {name}: they end for good.</p>
        <ErrorNote error={error} />
        <div className="row end"><Button onClick={onClose}>Back</Button><Button look="danger" busy={busy} onClick={() => disable.mutate({ user: user.user })}>Disable {name}</Button></div>
      </Dialog>
    );
  }
  if (change === "enable") {
    return (
      <Dialog title={`Enable ${name}?`} onClose={onClose}>
        <p>{name} can sign in again, with the role {user.role}.</p>
        <ErrorNote error={error} />
        <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" busy={busy} onClick={() => enable.mutate({ user: user.user })}>Enable {name}</Button></div>
      </Dialog>
    );
  }
  return (
    <Dialog title={`Make ${name} ${change.role === "viewer" ? "a viewer" : `an ${change.role}`}?`} onClose={onClose}>
      <p>{name} is {user.role === "viewer" ? "a viewer" : `an ${user.role}`} now. As {change.role === "viewer" ? "a viewer" : `an ${change.role}`}, {name} may {MAY[change.role]}.</p>
      <ErrorNote error={error} />
      <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" busy={busy} onClick={() => role.mutate({ user: user.user, role: change.role })}>Change the role</Button></div>
    </Dialog>
  );
}

function Row({ user }: { user: User }) {
  const me = useMe();
  const [asked, setAsked] = useState<Change>();
  const isMe = user.user === me.user;
  return (
    <>
      <tr>
        <td><strong><Line text={user.user} most={60} /></strong>{isMe && <span className="muted"> you</span>} {user.disabledAt > 0n && <Badge tone="bad">disabled</Badge>}</td>
        <td data-label="Role">
          <select className="auto" aria-label={`Role of ${user.user}`} value={user.role} disabled={isMe} onChange={(event) => setAsked({ role: event.target.value })}>{ROLES.map((it) => <option key={it}>{it}</option>)}</select>
        </td>
        <td data-label="Sessions">{user.sessions}</td>
        <td data-label="Tokens">{user.tokens}</td>
        <td data-label="Last used">{user.sessions + user.tokens === 0 ? <span className="muted">nothing is open</span> : <Time at={user.lastUsedAt} />}</td>
        <td>{!isMe && (user.disabledAt > 0n ? <Button look="small" onClick={() => setAsked("enable")}>Enable</Button> : <Button look="small danger" onClick={() => setAsked("disable")}>Disable</Button>)}</td>
      </tr>
      {asked && <Ask user={user} change={asked} onClose={() => setAsked(undefined)} />}
    </>
  );
}

export function Users() {
  const { data, error, isPending } = useQuery(AuthService.method.listUsers, {});
  const [isNew, setNew] = useState(false);
  return (
    <section className="stack">
      <div className="row apart"><h2>Accounts</h2><Button look="primary" onClick={() => setNew(true)}>New account</Button></div>
      <ErrorNote error={error} />
      {isPending && <Loading what="accounts" />}
      {data && (
        <div className="panel scroll">
          <table className="stackable">
            <thead><tr><th>Name</th><th>Role</th><th>Sessions</th><th>Tokens</th><th>Last used</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>{data.users.map((user) => <Row key={user.user} user={user} />)}</tbody>
          </table>
        </div>
      )}
      {isNew && <NewUser onClose={() => setNew(false)} />}
    </section>
  );
}
