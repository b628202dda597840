// A call by hand: as a preview, which changes nothing, or for real.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { CallCard } from "../calls/CallCard";
import { DeviceService, DeviceState } from "../gen/orion/v1/device_pb";
import { type Tool, ToolService } from "../gen/orion/v1/tool_pb";
import { object, oneLine } from "../lib/text";
import { Button, Field } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { exampleOf } from "./example";

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export function TryTool({ tool }: { tool: Tool }) {
  const devices = useQuery(DeviceService.method.listDevices, {}, { refetchInterval: 15_000 }).data?.devices ?? [];
  const isOfBackend = tool.allowedDevices.includes("backend");
  const targets = isOfBackend ? ["backend"] : devices.filter(({ state }) => state === DeviceState.APPROVED).map(({ name }) => name);
  const [chosen, setChosen] = useState("");
  const [text, setText] = useState(() => JSON.stringify(exampleOf(tool), null, 2));
  const call = useMutation(ToolService.method.callTool);
  const device = chosen || targets[0] || "";
  const isValid = isObject(text);
  const run = (dryRun: boolean) => call.mutate({ tool: tool.name, device, arguments: new TextEncoder().encode(text), dryRun, background: !dryRun, idempotencyKey: crypto.randomUUID() });
  const made = call.data?.call;
  return (
    <section className="stack" aria-label="Try it">
      <h2>Try it</h2>
      {targets.length === 0 ? <p className="note">No device is approved yet. Enrol one first.</p> : (
        <>
          <Field label="Device">
            {(props) => <select {...props} value={device} onChange={(event) => setChosen(event.target.value)}>{targets.map((name) => <option key={name} value={name}>{oneLine(name, 60)}</option>)}</select>}
          </Field>
          <Field label="Arguments" hint={isValid ? "A JSON object; the arguments are listed below" : "This is no JSON object yet"}>
            {(props) => <textarea {...props} className="mono" rows={Math.min(14, text.split("\n").length + 1)} spellCheck={false} aria-invalid={!isValid} value={text} onChange={(event) => setText(event.target.value)} />}
          </Field>
          <div className="row">
            {tool.hasEffects && <Button look="primary" disabled={!isValid} busy={call.isPending && call.variables?.dryRun === true} onClick={() => run(true)}>Preview: changes nothing</Button>}
            <Button look={tool.hasEffects ? "" : "primary"} disabled={!isValid} busy={call.isPending && call.variables?.dryRun !== true} onClick={() => run(false)}>{tool.hasEffects ? "Call it" : "Call it: only reads"}</Button>
          </div>
        </>
      )}
      <ErrorNote error={call.error} />
      {made && <CallCard key={made.callId} callId={made.callId} known={made} tool={made.tool} device={made.device} arguments={made.arguments} />}
    </section>
  );
}

interface Property {
  type?: unknown;
  description?: unknown;
  default?: unknown;
}

/** The arguments of a tool, from its schema. */
export function Schema({ schema }: { schema: string }) {
  const { properties, required } = object(schema) as { properties?: Record<string, Property>; required?: string[] };
  const rows = Object.entries(properties ?? {});
  if (rows.length === 0) return <p className="muted">No arguments</p>;
  return (
    <div className="panel scroll">
      <table className="stackable">
        <thead><tr><th>Argument</th><th>Type</th><th>Meaning</th></tr></thead>
        <tbody>
          {rows.map(([name, property]) => (
            <tr key={name}>
              <td><code>{oneLine(name, 60)}</code>{required?.includes(name) && <span className="small muted"> required</span>}</td>
              <td data-label="Type" className="small">{oneLine([property.type].flat().join(" or ") || "any", 60)}</td>
              <td className="small">{oneLine(String(property.description ?? "").replace(/\s+/g, " "), 400)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
