// The first admin, or an admin who was locked out: by the one-time secret that is in a file of the backend.
import { type FormEvent, useState } from "react";
import { Link, useNavigate } from "react-router";
import type { OrionError } from "../lib/errors";
import { createFirstAdmin, forgetSecret, secretInAddress } from "../lib/session";
import { Button, Field } from "../ui/basics";
import { Problem } from "../ui/ErrorNote";

export default function FirstAdmin() {
  const navigate = useNavigate();
  const [secret, setSecret] = useState(secretInAddress);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<OrionError>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    const failure = await createFirstAdmin(secret.trim(), String(form.get("user")), String(form.get("password")));
    setBusy(false);
    setProblem(failure);
    if (failure) return;
    forgetSecret();
    void navigate("/", { replace: true });
  };
  return (
    <div className="alone">
      <main>
        <div className="row">
          <img src="/icon.svg" alt="" width="32" height="32" />
          <h1>Make the first admin</h1>
        </div>
        {problem && <Problem error={problem} />}
        <form className="panel" onSubmit={(event) => void submit(event)}>
          <div className="body stack">
            <Field label="One-time secret" hint="It is in the file first-admin-secret of the backend's data folder. The backend's log names it.">
              {(props) => (
                <input {...props} value={secret} onChange={(event) => setSecret(event.target.value)} autoComplete="off" spellCheck={false} required />
              )}
            </Field>
            <Field label="Your name" hint="Lower-case letters and digits, such as ann">
              {(props) => <input {...props} name="user" autoComplete="username" autoCapitalize="none" required />}
            </Field>
            <Field label="Password" hint="At least 12 characters, such as four words">
              {(props) => <input {...props} name="password" type="password" autoComplete="new-password" minLength={12} required />}
            </Field>
            <Button look="primary" type="submit" busy={isBusy}>
              Make the admin and sign in
            </Button>
          </div>
        </form>
        <p className="small muted">
          There is an admin already? <Link to="/sign-in">Sign in</Link>. Locked out? Run <code>orion-server admin reset</code> on the
          backend's machine, and paste what it writes.
        </p>
      </main>
    </div>
  );
}
