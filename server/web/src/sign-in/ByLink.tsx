// A one-time link: the page says whose account it is and waits for a click. Otherwise whoever sends a link could sign
// others in to an account of their own, and read there what they do.
import { useEffect, useState } from "react";
import { AuthService } from "../gen/orion/v1/auth_pb";
import { client } from "../lib/api";
import type { OrionError } from "../lib/errors";
import { personOfLink, signInByLink } from "../lib/session";
import { useSettled } from "../lib/settled";
import { Button, Line, Loading } from "../ui/basics";

interface Props {
  secret: string;
  onSignedIn: () => void;
  /** The link signs nobody in, or is not wanted. */
  onLeave: (problem?: OrionError) => void;
}

/** Returns who is signed in here already; nobody where that cannot be said. */
async function signedIn(): Promise<string> {
  try {
    return (await client(AuthService).whoAmI({})).user;
  } catch {
    return "";
  }
}

function Ask({ user, before, isBusy, go, leave }: { user: string; before: string; isBusy: boolean; go: () => void; leave: () => void }) {
  const isSettled = useSettled();
  return (
    <section className="panel" aria-label="Sign in by a link">
      <div className="body stack">
        <p>
          This link signs this browser in as <strong><Line text={user} most={60} /></strong>. Go on only if you made it
          yourself, with <code>orion page</code> or <code>orion demo</code>: what you do here is done as this person.
        </p>
        {before !== "" && before !== user && <p className="note">You are signed in as <Line text={before} most={60} /> now.</p>}
        <div className="row">
          <Button look="primary" disabled={!isSettled} busy={isBusy} onClick={go}>Go on as <Line text={user} most={60} /></Button>
          <Button look="quiet" onClick={leave}>Do not use it</Button>
        </div>
      </div>
    </section>
  );
}

export function ByLink({ secret, onSignedIn, onLeave }: Props) {
  const [who, setWho] = useState<{ user: string; before: string }>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    let isShown = true;
    void Promise.all([personOfLink(secret), signedIn()]).then(([{ error, ...found }, before]) => {
      if (!isShown) return;
      if (error) onLeave(error);
      else if ("answer" in found) setWho({ user: found.answer.user, before });
    });
    return () => {
      isShown = false;
    };
  }, [secret, onLeave]);
  const go = async () => {
    setBusy(true);
    const problem = await signInByLink(secret);
    if (problem) onLeave(problem);
    else onSignedIn();
  };
  if (!who) return <Loading what="the link" />;
  return <Ask {...who} isBusy={isBusy} go={() => void go()} leave={() => onLeave()} />;
}
