// An error: what happened, and the next steps with their commands.
import { Link } from "react-router";
import { isSignedOut } from "../lib/api";
import { type OrionError, describe } from "../lib/errors";
import { Button, Line } from "./basics";

const BY: Record<string, string> = { admin: "An admin can ", owner: "The device's owner can ", operator: "An operator can " };

function Steps({ error }: { error: OrionError }) {
  if (!error.hints?.length) return null;
  return (
    <ul>
      {error.hints.map((hint, index) => (
        <li key={index}>
          {BY[hint.who ?? ""] ?? ""}
          <Line text={hint.text} most={300} />
          {hint.values?.length ? <>: {hint.values.map((value, at) => <span key={value}>{at > 0 && ", "}<Line text={value} mono /></span>)}</> : null}
          {hint.command && (
            <>
              : <code>{<Line text={hint.command} most={400} />}</code>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** An error that the backend described already. */
export function Problem({ error }: { error: OrionError }) {
  return (
    <div className="note bad" role="alert">
      <Line text={error.message} most={600} />
      <Steps error={error} />
    </div>
  );
}

/** Any failure of a request. */
export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  if (!error) return null;
  const described = describe(error);
  return (
    <div className="note bad" role="alert">
      <Line text={described.message} most={600} />
      <Steps error={described} />
      <div className="row">
        {isSignedOut(error) && <Link to="/sign-in">Sign in</Link>}
        {retry && !isSignedOut(error) && (
          <Button look="small" onClick={retry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}
