// Sign in: by a password, or by a one-time link whose secret is behind `#`.
import { type FormEvent, useCallback, useEffect, useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import type { OrionError } from "../lib/errors";
import { forgetSecret, nextAddress, secretInAddress, signIn } from "../lib/session";
import { ByLink } from "../sign-in/ByLink";
import { Button, Field } from "../ui/basics";
import { Problem } from "../ui/ErrorNote";

export default function SignIn() {
  const navigate = useNavigate();
  const { search, hash, state } = useLocation();
  const hasEnded = (state as { hasEnded?: unknown } | null)?.hasEnded === true;
  const [secret, setSecret] = useState(secretInAddress);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<OrionError>();
  useEffect(() => {
    // A link that is opened where this page is open already changes nothing but the part behind `#`.
    const next = secretInAddress();
    if (next !== "") setSecret(next);
  }, [hash]);
  const leave = useCallback((failure?: OrionError) => {
    forgetSecret();
    setSecret("");
    setProblem(failure);
  }, []);
  const finish = () => {
    forgetSecret();
    void navigate(nextAddress(search), { replace: true });
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    const failure = await signIn(String(form.get("user")), String(form.get("password")));
    setBusy(false);
    setProblem(failure);
    if (!failure) finish();
  };
  return (
    <div className="alone">
      <main>
        <div className="row">
          <img src="/icon.svg" alt="" width="32" height="32" />
          <h1>Sign in to Orion</h1>
        </div>
        {problem ? <Problem error={problem} /> : hasEnded && <p className="note" role="status">Your session has ended. Sign in again.</p>}
        {secret !== "" ? (
          <ByLink secret={secret} onSignedIn={finish} onLeave={leave} />
        ) : (
          <form className="panel" onSubmit={(event) => void submit(event)}>
            <div className="body stack">
              <Field label="Name">
                {(props) => <input {...props} name="user" autoFocus autoComplete="username" autoCapitalize="none" required />}
              </Field>
              <Field label="Password">
                {(props) => <input {...props} name="password" type="password" autoComplete="current-password" required />}
              </Field>
              <Button look="primary" type="submit" busy={isBusy}>
                Sign in
              </Button>
            </div>
          </form>
        )}
        <p className="small muted">
          No account yet? The first one is made with the <Link to="/first-admin">one-time secret</Link> of this backend; later
          ones are made by an admin. No password? <code>orion page</code> prints a link that signs you in.
        </p>
      </main>
    </div>
  );
}
