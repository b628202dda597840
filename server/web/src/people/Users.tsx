// The accounts: their roles, and the way to make, change and disable them.
import { createConnectQueryKey, useMutation, useQuery } from "@connectrpc/connect-query";
import { type FormEvent, useState } from "react";
import { AuthService, type User } from "../gen/orion/v1/auth_pb";
import { queries } from "../lib/api";
import { useMe } from "../lib/session";
import { Badge, Button, Field, Line, Loading, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

const ROLES = ["viewer", "operator", "admin"];
const refresh = () => queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: AuthService.method.listUsers, cardinality: "finite" }) });

function NewUser({ onClose }: { onClose: () => void }) {
  const toast = useToast();
  const create = useMutation(AuthService.method.createUser, { onSuccess: () => { toast("The account is made."); onClose(); return refresh(); } });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    create.mutate({ user: String(form.get("user")), role: String(form.get("role")), password: String(form.get("password")) });
  };
  return (
    <Dialog title="New account" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name">{(props) => <input {...props} name="user" autoComplete="off" autoCapitalize="none" required />}</Field>
        <Field label="Role" hint="Viewers read. Operators call tools and answer approvals. Admins decide who may do what.">{(props) => <select {...props} name="role" defaultValue="operator">{ROLES.map((role) => <option key={role}>{role}</option>)}</select>}</Field>
        <Field label="First password" hint="At least 12 characters; left empty, the account has tokens only">{(props) => <input {...props} name="password" type="password" autoComplete="new-password" minLength={12} />}</Field>
        <ErrorNote error={create.error} />
        <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" type="submit" busy={create.isPending}>Make the account</Button></div>
      </form>
    </Dialog>
  );
}

function Row({ user }: { user: User }) {
  const me = useMe();
  const options = { onSettled: refresh };
  const role = useMutation(AuthService.method.setUserRole, options);
  const disable = useMutation(AuthService.method.disableUser, options);
  const enable = useMutation(AuthService.method.enableUser, options);
  const isMe = user.user === me.user;
  const error = role.error ?? disable.error ?? enable.error;
  return (
    <>
      <tr>
        <td><strong><Line text={user.user} most={60} /></strong>{isMe && <span className="muted"> you</span>} {user.disabledAt > 0n && <Badge tone="bad">disabled</Badge>}</td>
        <td data-label="Role">
          <select className="auto" aria-label={`Role of ${user.user}`} value={user.role} disabled={isMe} onChange={(event) => role.mutate({ user: user.user, role: event.target.value })}>{ROLES.map((it) => <option key={it}>{it}</option>)}</select>
        </td>
        <td data-label="Sessions">{user.sessions}</td>
        <td data-label="Tokens">{user.tokens}</td>
        <td data-label="Last used"><Time at={user.lastUsedAt} /></td>
        <td>{!isMe && (user.disabledAt > 0n ? <Button look="small" onClick={() => enable.mutate({ user: user.user })}>Enable</Button> : <Button look="small danger" onClick={() => disable.mutate({ user: user.user })}>Disable</Button>)}</td>
      </tr>
      {error && <tr><td colSpan={6}><ErrorNote error={error} /></td></tr>}
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
