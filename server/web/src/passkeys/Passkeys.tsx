// One's own passkeys, with which one signs approvals.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type FormEvent, useState } from "react";
import { type Passkey, PasskeyService } from "../gen/orion/v1/passkey_pb";
import { client, noticeError, refresh } from "../lib/api";
import { useMe } from "../lib/session";
import { Button, Field, Line, Loading, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";
import { create, obstacle } from "./browser";

const refreshPasskeys = () => refresh(PasskeyService.method.listPasskeys);

function NewPasskey({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const register = async (name: string, password: string) => {
    setBusy(true);
    setError(undefined);
    try {
      const service = client(PasskeyService);
      const { request, userHandle, algorithms } = await service.startPasskeyRegistration({ password });
      await service.finishPasskeyRegistration({ name, ...(await create(request, me.user, userHandle, algorithms)) });
      toast("The passkey is registered.");
      onClose();
      await refreshPasskeys();
    } catch (problem) {
      noticeError(problem);
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void register(String(form.get("name")), String(form.get("password")));
  };
  return (
    <Dialog title="New passkey" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" hint="What you will know it by, such as the key's colour or the phone">{(props) => <input {...props} name="name" required maxLength={64} autoComplete="off" />}</Field>
        <Field label="Your password" hint="Your browser then asks for the passkey">{(props) => <input {...props} name="password" type="password" autoComplete="current-password" required />}</Field>
        <ErrorNote error={error} />
        <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" type="submit" busy={isBusy}>Register</Button></div>
      </form>
    </Dialog>
  );
}

function Row({ passkey }: { passkey: Passkey }) {
  const [isSure, setSure] = useState(false);
  const remove = useMutation(PasskeyService.method.removePasskey, { onSettled: refreshPasskeys });
  return (
    <tr>
      <td><strong><Line text={passkey.name} most={64} /></strong> <span className="muted">{passkey.algorithm}</span><ErrorNote error={remove.error} /></td>
      <td data-label="Registered"><Time at={passkey.createdAt} /></td>
      <td data-label="Last used"><Time at={passkey.lastUsedAt} /></td>
      <td>
        {isSure ? (
          <div className="row">
            <Button look="small danger" busy={remove.isPending} onClick={() => remove.mutate({ passkeyId: passkey.passkeyId })}>Remove for good</Button>
            <Button look="small quiet" onClick={() => setSure(false)}>Keep</Button>
          </div>
        ) : (
          <Button look="small danger" aria-label={`Remove the passkey ${passkey.name}`} onClick={() => setSure(true)}>Remove</Button>
        )}
      </td>
    </tr>
  );
}

export function Passkeys() {
  const { data, error, isPending } = useQuery(PasskeyService.method.listPasskeys, {});
  const [isNew, setNew] = useState(false);
  const stop = data && obstacle(data.origin);
  const elsewhere = data && data.origin !== "" && data.origin !== location.origin ? data.origin : undefined;
  return (
    <section className="stack" aria-label="Your passkeys">
      <div className="row apart"><h2>Your passkeys</h2><Button disabled={!data || stop !== undefined} onClick={() => setNew(true)}>New passkey</Button></div>
      <p className="muted">Where the policy asks for it, you sign an approval with one. Your password alone is not enough then, and neither is a session.</p>
      <ErrorNote error={error} />
      {stop && <p className="note">{stop} {elsewhere && <a href={`${elsewhere}/people`}>Open the page there</a>}</p>}
      {isPending && <Loading what="passkeys" />}
      {data && data.passkeys.length > 0 && (
        <div className="panel scroll">
          <table className="stackable">
            <thead><tr><th>Name</th><th>Registered</th><th>Last used</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>{data.passkeys.map((passkey) => <Row key={passkey.passkeyId} passkey={passkey} />)}</tbody>
          </table>
        </div>
      )}
      {isNew && <NewPasskey onClose={() => setNew(false)} />}
    </section>
  );
}
