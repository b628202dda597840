// A change of grants before it is applied: what changes, and which use of the last 30 days it would deny.
import { useMutation } from "@connectrpc/connect-query";
import { useEffect, useRef, useState } from "react";
import type { GrantReview } from "../gen/orion/v1/device_pb";
import { PolicyService } from "../gen/orion/v1/policy_pb";
import { counted } from "../lib/text";
import { useLive } from "../shell/Live";
import { Button, Field, Line, Time } from "../ui/basics";
import { Diff, difference } from "../ui/Diff";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";
import { type Grants, comparable, dropped, isSame, pretty, readable } from "./grants";

interface Props {
  device: string;
  before: Grants;
  /** Whether the grants have changed since the draft was begun. */
  isOlder: boolean;
  /** Whether the use of the present grants is known. */
  isReviewed: boolean;
  draft: Grants;
  version: string;
  rows: GrantReview[];
  onChange: (next: Grants) => void;
  onDiscard: () => void;
  onApplied: () => void;
}

function parsed(text: string): Grants | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Grants) : undefined;
  } catch {
    return undefined;
  }
}

export function Draft({ device, before, isOlder, isReviewed, draft, version, rows, onChange, onDiscard, onApplied }: Props) {
  const toast = useToast();
  const [text, setText] = useState<string>();
  const apply = useMutation(PolicyService.method.setDevicePermissions, {
    onSuccess: () => {
      toast("The permissions are active on the backend, and sent to the device.");
      onApplied();
    },
  });
  const open = useLive().approvals.filter((it) => it.device === device).length;
  const section = useRef<HTMLElement>(null);
  // The entry that was removed or narrowed may be far below.
  useEffect(() => {
    if (!section.current?.contains(document.activeElement)) section.current?.focus();
  }, [draft]);
  const diff = difference(readable(comparable(before, draft, rows)), readable(draft));
  const isUnchanged = isSame(before, draft);
  const [wasList, isList] = [Array.isArray(before.tools), Array.isArray(draft.tools)];
  const lost = dropped(before, draft, rows);
  const used = lost.filter(({ uses }) => uses > 0n);
  const isBroken = text !== undefined && !parsed(text);
  return (
    <section ref={section} tabIndex={-1} className="panel" aria-label="Draft">
      <header><h2>What this changes</h2></header>
      <div className="body stack">
        {isOlder && !apply.isPending && <p className="note warn" role="status">Somebody else has changed these permissions since you began, so your draft cannot be applied. What you changed is below: discard it, and make it again from the present permissions.</p>}
        {isUnchanged ? <p className="muted">Nothing yet. Remove or narrow an entry below, or grant more.</p> : <Diff text={diff} />}
        {!wasList && isList && <p className="note">The tools become a list: tools that later versions add to the profile are not granted by themselves.</p>}
        {wasList && !isList && <p className="note warn">The tools are not listed any more: every tool of the profile or of the capabilities is granted.</p>}
        {used.length > 0 && (
          <div className="note warn">
            These were used in the last 30 days and would be denied:
            <ul>{used.map((row) => <li key={row.entry}><Line text={row.entry} mono />: {counted(row.uses, "call")}, last <Time at={row.lastUsedAt} /></li>)}</ul>
          </div>
        )}
        {lost.length > used.length && <p className="note good">{counted(lost.length - used.length, "entry", "entries")} that nobody used in the last 30 days would go.</p>}
        <details>
          <summary>Edit as text</summary>
          <Field label="Grants as JSON" hint="The keys are those of the policy file">
            {(props) => (
              <textarea {...props} className="mono" rows={14} spellCheck={false} value={text ?? pretty(draft)} aria-invalid={isBroken}
                onChange={(event) => {
                  setText(event.target.value);
                  const next = parsed(event.target.value);
                  if (next) onChange(next);
                }}
                onBlur={() => !isBroken && setText(undefined)}
              />
            )}
          </Field>
          {isBroken && <p className="note bad" role="alert">This is no JSON object, so it is not taken over.</p>}
        </details>
        {open > 0 && !isUnchanged && <p className="note warn">{counted(open, "approval request")} of this device {open === 1 ? "is" : "are"} open. Applying this ends {open === 1 ? "it" : "them"} as withdrawn, whatever {open === 1 ? "it is" : "they are"} about; the calls can be made again.</p>}
        {!isReviewed && <p className="muted small">It can be applied once it is known how the present permissions were used.</p>}
        <ErrorNote error={apply.error} />
        <div className="row">
          <Button look="primary" busy={apply.isPending} disabled={isUnchanged || isBroken || isOlder || !isReviewed} onClick={() => apply.mutate({ device, grants: JSON.stringify(draft), expectedVersion: version })}>Apply</Button>
          <Button onClick={onDiscard}>Discard</Button>
        </div>
      </div>
    </section>
  );
}
