// One's own password.
import { useMutation } from "@connectrpc/connect-query";
import type { FormEvent } from "react";
import { AuthService } from "../gen/orion/v1/auth_pb";
import { counted } from "../lib/text";
import { Button, Field } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

export function Password() {
  const toast = useToast();
  const set = useMutation(AuthService.method.setPassword, {
    onSuccess: ({ ended }) => toast(`Your password is changed. ${counted(ended, "other session")} ended.`),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const said = new FormData(form);
    set.mutate({ oldPassword: String(said.get("old")), password: String(said.get("new")) }, { onSuccess: () => form.reset() });
  };
  return (
    <section className="stack">
      <h2>Your password</h2>
      <form className="panel" onSubmit={submit}>
        <div className="body row align-end">
          <div className="grow wide"><Field label="Old password, if you have one">{(props) => <input {...props} name="old" type="password" autoComplete="current-password" />}</Field></div>
          <div className="grow wide"><Field label="New password (12 characters or more)">{(props) => <input {...props} name="new" type="password" autoComplete="new-password" minLength={12} required />}</Field></div>
          <Button type="submit" busy={set.isPending}>Change</Button>
        </div>
      </form>
      <ErrorNote error={set.error} />
    </section>
  );
}
