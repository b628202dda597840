// A new task: its call and its times, which a preview shows before anything is asked for.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type FormEvent, useState } from "react";
import { Link } from "react-router";
import { CallCard } from "../calls/CallCard";
import { DeviceService, DeviceState } from "../gen/orion/v1/device_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { bytesOf, json, oneLine } from "../lib/text";
import { OWN_ZONE } from "../lib/time";
import { exampleOf } from "../tools/example";
import { Button, Field } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const TIMES = [
  { value: "0 8 * * *", text: "every day at 8:00" },
  { value: "0 8 * * 1-5", text: "Monday to Friday at 8:00" },
  { value: "every 1h", text: "every hour" },
  { value: "every 10m", text: "every ten minutes" },
];

export function NewSchedule() {
  const devices = useQuery(DeviceService.method.listDevices, {}).data?.devices ?? [];
  const names = devices.filter(({ state }) => state === DeviceState.APPROVED).map(({ name }) => name);
  const [device, setDevice] = useState("");
  const where = device || names[0] || "";
  const tools = useQuery(ToolService.method.listTools, { device: where }, { enabled: where !== "", staleTime: 60_000 }).data?.tools ?? [];
  const [tool, setTool] = useState("");
  const [text, setText] = useState<string>();
  const chosen = tools.find(({ name }) => name === tool);
  const written = text ?? (chosen ? JSON.stringify(exampleOf(chosen), null, 2) : "{}");
  const given = json(written);
  const isValid = typeof given === "object" && given !== null && !Array.isArray(given);
  const call = useMutation(ToolService.method.callTool);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const of = (name: string) => String(form.get(name) ?? "").trim();
    const isPreview = (event.nativeEvent as SubmitEvent).submitter?.dataset.preview === "true";
    const task = { name: of("name"), when: of("when"), timezone: of("timezone"), call: { tool, device: where, arguments: given }, confirm: true };
    call.mutate({ tool: "schedule_task", arguments: bytesOf(task), dryRun: isPreview, background: !isPreview, idempotencyKey: crypto.randomUUID() });
  };
  const made = call.data?.call;
  return (
    <div className="stack">
      <Link className="small" to="/jobs/schedules">← Schedules</Link>
      <form className="panel" onSubmit={submit} aria-label="New schedule">
        <header><h2>New schedule</h2></header>
        <div className="body stack">
          <Field label="Name">{(props) => <input {...props} name="name" required maxLength={60} autoComplete="off" />}</Field>
          <div className="two">
            <Field label="When" hint="Minute, hour, day, month and weekday as in cron, such as 0 8 * * 1-5; or every 10m, every 2h, every 1d; or once: 2026-12-24T18:00">
              {(props) => <input {...props} name="when" required maxLength={100} list="times-known" autoComplete="off" />}
            </Field>
            <Field label="Time zone">{(props) => <input {...props} name="timezone" required maxLength={64} defaultValue={OWN_ZONE} autoComplete="off" />}</Field>
          </div>
          <datalist id="times-known">{TIMES.map(({ value, text: words }) => <option key={value} value={value}>{words}</option>)}</datalist>
          <div className="two">
            <Field label="Device">
              {(props) => <select {...props} value={where} onChange={(event) => setDevice(event.target.value)}>{names.map((name) => <option key={name} value={name}>{oneLine(name, 60)}</option>)}</select>}
            </Field>
            <Field label="Tool" hint={chosen && oneLine(chosen.description, 140)}>
              {(props) => (
                <select {...props} required value={tool} onChange={(event) => { setTool(event.target.value); setText(undefined); }}>
                  <option value="">Choose a tool</option>
                  {tools.map(({ name }) => <option key={name} value={name}>{name}</option>)}
                </select>
              )}
            </Field>
          </div>
          <Field label="Arguments" hint={isValid ? "A JSON object" : "This is no JSON object yet"}>
            {(props) => <textarea {...props} className="mono" rows={Math.min(10, written.split("\n").length + 1)} spellCheck={false} aria-invalid={!isValid} value={written} onChange={(event) => setText(event.target.value)} />}
          </Field>
          <p className="small muted">Making a schedule needs an approval, whose card shows the next times. Each of its calls is made as you and decided at its time: what needs approval then waits for one.</p>
          <ErrorNote error={call.error} />
          <div className="row">
            <Button type="submit" look="primary" disabled={!isValid || tool === ""} busy={call.isPending}>Make the schedule</Button>
            <Button type="submit" data-preview="true" disabled={!isValid || tool === "" || call.isPending}>Show the next times</Button>
          </div>
        </div>
      </form>
      {made && <CallCard key={made.callId} callId={made.callId} known={made} tool={made.tool} device={made.device} arguments={made.arguments} />}
    </div>
  );
}
