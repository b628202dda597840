// The text of the policy with line numbers; each finding is at its line, and leads there.
import { useRef } from "react";
import type { Finding } from "../gen/orion/v1/policy_pb";
import { Badge, Line } from "../ui/basics";

interface Props {
  text: string;
  onChange: (text: string) => void;
  findings: Finding[];
  isReadOnly: boolean;
}

const LINE_HEIGHT = 20;

export function Editor({ text, onChange, findings, isReadOnly }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const lines = text.split("\n");
  const worst = new Map<number, string>();
  for (const { line, isError } of findings) if (worst.get(line) !== "bad") worst.set(line, isError ? "bad" : "warn");
  const show = ({ line }: Finding) => {
    const area = field.current;
    if (!area) return;
    const start = lines.slice(0, Math.max(0, line - 1)).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    area.closest(".editor")?.scrollTo({ top: Math.max(0, (line - 5) * LINE_HEIGHT) });
  };
  return (
    <div className="stack tight">
      <div className="editor">
        <ol className="gutter" aria-hidden>
          {lines.map((_, index) => <li key={index} className={worst.get(index + 1)}>{index + 1}</li>)}
        </ol>
        <textarea ref={field} aria-label="Policy file" className="mono" spellCheck={false} wrap="off" rows={lines.length + 1} value={text} readOnly={isReadOnly} onChange={(event) => onChange(event.target.value)} />
      </div>
      <ul className="bare stack tight" aria-live="polite">
        {findings.map((finding, index) => (
          <li key={index} className="row">
            <Badge tone={finding.isError ? "bad" : "warn"}>{finding.isError ? "error" : "warning"}</Badge>
            <button type="button" className="link-button" onClick={() => show(finding)}>line {finding.line}</button>
            <Line text={finding.message} most={300} /> <span className="muted"><Line text={finding.hint} most={300} /></span>
          </li>
        ))}
      </ul>
    </div>
  );
}
