// The arguments of a call, each behind its name. A value with line breaks can't look like another argument.
import { isConfirm, NO_APPROVAL, show } from "../lib/text";
import { Block, Line } from "../ui/basics";

const LONG = 160;

export function Arguments({ values }: { values: Record<string, unknown> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <p className="muted small">No arguments</p>;
  return (
    <dl className="facts small">
      {entries.map(([name, value]) => {
        const text = show(value);
        return (
          <div key={name} className="contents">
            <dt><Line text={name} most={60} /></dt>
            <dd>
              {text.length > LONG || text.includes("\n") ? <Block text={text} label={`Argument ${name}`} /> : <Line text={text} most={LONG} mono />}
              {isConfirm(name, value) && <span className="muted"> ({NO_APPROVAL})</span>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
