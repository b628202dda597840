// Adds one entry to the draft of a device's grants.
import { type FormEvent, useState } from "react";
import type { GrantReview } from "../gen/orion/v1/device_pb";
import type { Tool } from "../gen/orion/v1/tool_pb";
import { Button, Field } from "../ui/basics";
import { type Grants, added } from "./grants";

const KINDS = [
  { kind: "path", label: "Folder, or a closed file", example: "~/Projects" },
  { kind: "tool", label: "Tool", example: "read_file" },
  { kind: "app", label: "Application", example: "firefox" },
  { kind: "service", label: "Service", example: "nginx.service" },
  { kind: "command", label: "Program", example: "git" },
  { kind: "host", label: "Host", example: "api.example.com:443" },
];

const ACCESSES = ["read", "write", "delete"];

interface Props {
  tools: Tool[];
  rows: GrantReview[];
  grants: Grants;
  onAdd: (next: Grants) => void;
}

export function AddGrant({ tools, rows, grants, onAdd }: Props) {
  const [kind, setKind] = useState("path");
  const [entry, setEntry] = useState("");
  const [access, setAccess] = useState(["read"]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (entry.trim() === "") return;
    onAdd(added(grants, { kind, entry: entry.trim(), access }, rows));
    setEntry("");
  };
  const toggle = (name: string) => setAccess((before) => (before.includes(name) ? before.filter((it) => it !== name) : [...before, name]));
  return (
    <form className="panel" onSubmit={submit} aria-label="Grant more">
      <div className="body row align-end">
        <Field label="Grant">
          {(props) => (
            <select {...props} value={kind} onChange={(event) => setKind(event.target.value)}>
              {KINDS.map((it) => <option key={it.kind} value={it.kind}>{it.label}</option>)}
            </select>
          )}
        </Field>
        <div className="grow">
          <Field label="Which">
            {(props) => (
              <input {...props} value={entry} list={kind === "tool" ? "tools-known" : undefined} placeholder={KINDS.find((it) => it.kind === kind)?.example} onChange={(event) => setEntry(event.target.value)} />
            )}
          </Field>
        </div>
        <datalist id="tools-known">{tools.map(({ name }) => <option key={name} value={name}>{name}</option>)}</datalist>
        {kind === "path" && ACCESSES.map((name) => (
          <label key={name} className="check"><input type="checkbox" checked={access.includes(name)} onChange={() => toggle(name)} /> {name}</label>
        ))}
        <Button type="submit" disabled={entry.trim() === "" || (kind === "path" && access.length === 0)}>Add to the draft</Button>
      </div>
    </form>
  );
}
