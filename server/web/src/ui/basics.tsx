// The smallest parts.
import { type ButtonHTMLAttributes, type ReactNode, useId, useState } from "react";
import { oneLine, visible } from "../lib/text";
import { fullTime, relative, shortTime, useNow } from "../lib/time";
import type { Tone } from "../lib/call";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { look?: string; busy?: boolean };

export function Button({ look = "", busy = false, children, type = "button", disabled, ...rest }: ButtonProps) {
  return (
    // oxlint-disable-next-line react/button-has-type
    <button type={type} className={`button ${look}`} disabled={disabled || busy} aria-busy={busy} {...rest}>
      {busy && <span className="spinner spin" aria-hidden />}
      {children}
    </button>
  );
}

export function Badge({ tone = "quiet", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

/** A text of a device, a model or a person, as one line that can be nothing else. */
export function Line({ text, most = 200, mono = false }: { text: string; most?: number; mono?: boolean }) {
  if (text === "") return null;
  return (
    <bdi className={mono ? "mono break" : "break"} title={text.length > most ? oneLine(text, 1000) : undefined}>
      {oneLine(text, most)}
    </bdi>
  );
}

const FIRST_CHARACTERS = 6_000;

/** A longer text, with its line breaks; the rest of a very long one on request, unless all of it must be read. */
export function Block({ text, label, isWhole = false }: { text: string; label: string; isWhole?: boolean }) {
  const [most, setMost] = useState(isWhole ? text.length : FIRST_CHARACTERS);
  return (
    <>
      <pre className="code" dir="ltr" tabIndex={0} aria-label={label}>
        {visible(text.slice(0, most))}
      </pre>
      {text.length > most && (
        <Button look="small" onClick={() => setMost(most * 8)}>
          Show more of {text.length.toLocaleString("en")} characters
        </Button>
      )}
    </>
  );
}

export function Time({ at, short = false }: { at: bigint | number; short?: boolean }) {
  const now = useNow();
  if (Number(at) === 0) return <span className="muted">never</span>;
  return (
    <time dateTime={new Date(Number(at)).toISOString()} title={fullTime(at)}>
      {short ? shortTime(at) : relative(at, now)}
    </time>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div className="row muted" role="status">
      <span className="spinner spin" aria-hidden /> Loading {what}…
    </div>
  );
}

export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}

export function Head({ title, children, actions }: { title: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="page-head">
      <div className="grow">
        <h1>{title}</h1>
        {children && <p>{children}</p>}
      </div>
      {actions && <div className="row">{actions}</div>}
    </header>
  );
}

interface FieldProps {
  label: string;
  hint?: string;
  children: (props: { id: string; "aria-describedby"?: string }) => ReactNode;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({ id, "aria-describedby": hint ? `${id}-hint` : undefined })}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 2_000);
  };
  return (
    <Button look="small" onClick={() => void copy()} aria-live="polite">
      {done ? "Copied" : label}
    </Button>
  );
}
