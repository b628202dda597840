// Sign in: by a password, or by a one-time link whose secret is behind `#`.
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import type { OrionError } from "../lib/errors";
import { nextAddress, secretInAddress, signIn, signInByLink } from "../lib/session";
import { Button, Field, Loading } from "../ui/basics";
import { Problem } from "../ui/ErrorNote";

export default function SignIn() {
  const navigate = useNavigate();
  const { search } = useLocation();
  const [secret] = useState(secretInAddress);
  const [isBusy, setBusy] = useState(secret !== "");
  const [problem, setProblem] = useState<OrionError>();
  const used = useRef(false);
  const finish = async (attempt: Promise<OrionError | undefined>) => {
    setBusy(true);
    const failure = await attempt;
    setBusy(false);
    setProblem(failure);
    if (!failure) void navigate(nextAddress(search), { replace: true });
  };
  useEffect(() => {
    // A link is good once.
    if (secret === "" || used.current) return;
    used.current = true;
    void finish(signInByLink(secret));
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void finish(signIn(String(form.get("user")), String(form.get("password"))));
  };
  return (
    <div className="alone">
      <main>
        <div className="row">
          <img src="/icon.svg" alt="" width="32" height="32" />
          <h1>Sign in to Orion</h1>
        </div>
        {problem && <Problem error={problem} />}
        {isBusy && secret !== "" ? (
          <Loading what="your session" />
        ) : (
          <form className="panel" onSubmit={submit}>
            <div className="body stack">
              <Field label="Name">
                {(props) => <input {...props} name="user" autoComplete="username" autoCapitalize="none" required />}
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
