// What is granted on a device: by the backend, by the device's owner, in effect; how it is used, and what could be narrower.
import { useState } from "react";
import { WhyDialog } from "../calls/WhyDialog";
import type { GrantReview } from "../gen/orion/v1/device_pb";
import type { Tool } from "../gen/orion/v1/tool_pb";
import { riskOf } from "../lib/call";
import { bytesOf } from "../lib/text";
import { exampleOf } from "../tools/example";
import { Badge, Button, Line, Time } from "../ui/basics";
import { entryOf } from "./grants";

function Yes({ is, what }: { is: boolean; what: string }) {
  return <span className={is ? "yes" : "no"} title={`${what}: ${is ? "yes" : "no"}`}>{is ? "✓" : "–"}<span className="sr">{is ? "yes" : "no"}</span></span>;
}

interface Props {
  device: string;
  rows: GrantReview[];
  tools: Tool[];
  onRemove?: (row: GrantReview) => void;
  onNarrow?: (row: GrantReview) => void;
}

/** Returns a call that shows what the row decides. */
function callFor(row: GrantReview, tools: Tool[], rows: GrantReview[]): { tool: string; arguments: Uint8Array } {
  const path = rows.find((it) => it.kind === "path");
  const entry = entryOf(row);
  switch (row.kind) {
    case "path":
      return { tool: "list_directory", arguments: bytesOf({ path: entry }) };
    case "app":
      return { tool: "open_app", arguments: bytesOf({ app: entry }) };
    case "service":
      return { tool: "check_service", arguments: bytesOf({ service: entry }) };
    case "log":
      return { tool: "read_logs", arguments: bytesOf({ service: entry }) };
    case "command":
      return { tool: "execute_command", arguments: bytesOf({ command: entry }) };
    default: {
      const tool = tools.find(({ name }) => name === entry);
      return { tool: entry, arguments: bytesOf(tool ? exampleOf(tool, path ? entryOf(path) : ".") : {}) };
    }
  }
}

export function Matrix({ device, rows, tools, onRemove, onNarrow }: Props) {
  const [asked, setAsked] = useState<GrantReview>();
  return (
    <div className="panel scroll" tabIndex={0} role="region" aria-label="Permissions">
      <table className="matrix stackable">
        <thead>
          <tr><th>Entry</th><th>Backend grants</th><th>Owner allows</th><th>In effect</th><th>Risk</th><th>Uses</th><th>Last use</th><th>Findings</th><th><span className="sr">Actions</span></th></tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const tool = row.kind === "tool" ? tools.find(({ name }) => name === row.entry) : undefined;
            const risk = tool && riskOf(tool.risk);
            return (
              <tr key={`${row.kind} ${row.entry}`}>
                <td><span className="small muted">{row.kind} </span><Line text={row.entry} most={80} mono /></td>
                <td data-label="Backend grants"><Yes is={row.server} what="The backend grants it" /></td>
                <td data-label="Owner allows"><Yes is={row.ceiling} what="The owner allows it" /></td>
                <td data-label="In effect">{row.effective ? <Badge tone="good">yes</Badge> : <Badge tone="bad">denied</Badge>}</td>
                <td data-label="Risk">{risk && <Badge tone={risk.tone}>{risk.text.replace(" risk", "")}</Badge>}</td>
                <td data-label="Uses">{row.uses.toString()}</td>
                <td data-label="Last use">{row.lastUsedAt > 0n ? <Time at={row.lastUsedAt} /> : <span className="muted">never</span>}</td>
                <td data-label="Findings" className="small">
                  {row.lint.map((it) => <div key={it}><Line text={it} most={200} /></div>)}
                  {row.proposal === "remove it" && <span className="muted nowrap">unused: can go</span>}
                  {row.proposal !== "" && row.proposal !== "remove it" && <div>enough: <Line text={row.proposal} most={120} mono /></div>}
                </td>
                <td>
                  <div className="row nowrap">
                    <Button look="small" onClick={() => setAsked(row)}>Why?</Button>
                    {row.proposal !== "" && row.proposal !== "remove it" && onNarrow && <Button look="small" onClick={() => onNarrow(row)}>Narrow</Button>}
                    {onRemove && row.server && <Button look="small" onClick={() => onRemove(row)}>Remove<span className="sr"> {row.entry}</span></Button>}
                  </div>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {asked && <WhyDialog device={device} {...callFor(asked, tools, rows)} onClose={() => setAsked(undefined)} />}
    </div>
  );
}
