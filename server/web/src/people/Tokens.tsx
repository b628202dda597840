// One's own sessions and API tokens.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type FormEvent, useState } from "react";
import { AuthService, Scope, type Token } from "../gen/orion/v1/auth_pb";
import { refresh } from "../lib/api";
import { useMe } from "../lib/session";
import { oneLine } from "../lib/text";
import { Badge, Button, Copy, Field, Line, Loading, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";

const SCOPES = [
  { scope: Scope.READ, name: "read", text: "list and show" },
  { scope: Scope.CALL, name: "call", text: "call tools" },
  { scope: Scope.CHAT, name: "chat", text: "send chat messages" },
  { scope: Scope.ADMIN, name: "admin", text: "change devices, permissions and accounts" },
];

const refreshTokens = () => refresh(AuthService.method.listTokens);

function NewToken({ onClose }: { onClose: () => void }) {
  const create = useMutation(AuthService.method.createToken, { onSuccess: refreshTokens });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const scopes = form.getAll("scope").map(Number) as Scope[];
    create.mutate({ name: String(form.get("name")), scopes, validSeconds: BigInt(String(form.get("days"))) * 86_400n });
  };
  return (
    <Dialog title="New API token" onClose={onClose}>
      {create.data ? (
        <>
          <p className="note good">This is shown only now. Keep it where only your program reads it.</p>
          <div className="command"><code>{create.data.secret}</code><Copy text={create.data.secret} /></div>
          <div className="row end"><Button look="primary" onClick={onClose}>I have kept it</Button></div>
        </>
      ) : (
        <form className="stack" onSubmit={submit}>
          <Field label="Name">{(props) => <input {...props} name="name" required autoComplete="off" />}</Field>
          <fieldset className="stack tight plain">
            <legend className="small muted">It may</legend>
            {SCOPES.map(({ scope, name, text }) => <label key={scope} className="check"><input type="checkbox" name="scope" value={scope} defaultChecked={scope === Scope.READ} /> {name}: {text}</label>)}
          </fieldset>
          <Field label="Valid for" hint="No token ever answers an approval.">{(props) => <select {...props} name="days" defaultValue="90"><option value="7">a week</option><option value="90">90 days</option><option value="365">a year</option></select>}</Field>
          <ErrorNote error={create.error} />
          <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" type="submit" busy={create.isPending}>Make the token</Button></div>
        </form>
      )}
    </Dialog>
  );
}

function Row({ token }: { token: Token }) {
  const isHere = useMe().tokenId === token.tokenId;
  const [isAsking, setAsking] = useState(false);
  const revoke = useMutation(AuthService.method.revokeToken, { onSettled: () => { setAsking(false); return refreshTokens(); } });
  const scopes = SCOPES.filter(({ scope }) => token.scopes.includes(scope)).map(({ name }) => name);
  return (
    <tr>
      <td>{token.session ? <Badge>session</Badge> : <strong><Line text={token.name} most={60} /></strong>} <span className="mono muted">{token.tokenId}</span> {isHere && <Badge tone="good">this browser</Badge>}<ErrorNote error={revoke.error} /></td>
      <td data-label="May">{token.session ? "everything of yours" : scopes.join(", ")}</td>
      <td data-label="Since"><Time at={token.createdAt} /></td>
      <td data-label="Last used"><Time at={token.lastUsedAt} /></td>
      <td data-label="Until"><Time at={token.expiresAt} /></td>
      <td>
        <Button look="small danger" busy={revoke.isPending} onClick={() => setAsking(true)}>{token.session ? "Sign out…" : "Revoke…"}</Button>
        {isAsking && (
          <Dialog title={token.session ? "Sign out this session?" : `Revoke ${oneLine(token.name, 60)}?`} onClose={() => setAsking(false)}>
            <p>{token.session ? "The browser or the command line of this session has to sign in again." : "Programs with this token are refused at once."} It was last used <Time at={token.lastUsedAt} />.</p>
            <div className="row end"><Button onClick={() => setAsking(false)}>Back</Button><Button look="danger" busy={revoke.isPending} onClick={() => revoke.mutate({ token: token.tokenId })}>{token.session ? "Sign out" : "Revoke"}</Button></div>
          </Dialog>
        )}
      </td>
    </tr>
  );
}

export function Tokens() {
  const { data, error, isPending } = useQuery(AuthService.method.listTokens, { sessions: true });
  const [isNew, setNew] = useState(false);
  return (
    <section className="stack">
      <div className="row apart"><h2>Your sessions and API tokens</h2><Button onClick={() => setNew(true)}>New token</Button></div>
      <ErrorNote error={error} />
      {isPending && <Loading what="tokens" />}
      {data && (
        <div className="panel scroll">
          <table className="stackable">
            <thead><tr><th>Name</th><th>May</th><th>Since</th><th>Last used</th><th>Until</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>{data.tokens.map((token) => <Row key={token.tokenId} token={token} />)}</tbody>
          </table>
        </div>
      )}
      {isNew && <NewToken onClose={() => setNew(false)} />}
    </section>
  );
}
