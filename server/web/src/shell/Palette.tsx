// The command palette: pages, devices and a few actions, by typing a part of their name.
import { useQuery } from "@connectrpc/connect-query";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { DeviceService } from "../gen/orion/v1/device_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { useMe } from "../lib/session";
import { oneLine } from "../lib/text";
import type { Entry } from "./pages";

interface Command {
  id: string;
  label: string;
  kind: string;
  /** Where it leads; without it, to the keyboard shortcuts. */
  to?: string;
}

const MOST = 30;

function useCommands(entries: Entry[], text: string): Command[] {
  const me = useMe();
  const devices = useQuery(DeviceService.method.listDevices, {}, { staleTime: 10_000 }).data?.devices ?? [];
  const tools = useQuery(ToolService.method.listTools, {}, { staleTime: 600_000 }).data?.tools ?? [];
  const all: Command[] = [
    ...entries.map(({ to, label }) => ({ id: to, label, kind: "Page", to })),
    { id: "new-chat", label: "New chat", kind: "Action", to: "/chat" },
    { id: "new-schedule", label: "New schedule", kind: "Action", to: "/jobs/schedules/new" },
    { id: "keys", label: "Keyboard shortcuts", kind: "Action" },
    ...(me.is("admin") ? [{ id: "enrol", label: "Enrol a device", kind: "Action", to: "/enrol" }] : []),
    ...devices.map(({ name }) => ({ id: `d-${name}`, label: name, kind: "Device", to: `/devices/${encodeURIComponent(name)}` })),
    ...tools.map(({ name }) => ({ id: `t-${name}`, label: name, kind: "Tool", to: `/tools/${encodeURIComponent(name)}` })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(({ label, kind }) => words.every((word) => `${label} ${kind}`.toLowerCase().includes(word))).slice(0, MOST);
}

export function Palette({ entries, showKeys, onClose }: { entries: Entry[]; showKeys: () => void; onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const navigate = useNavigate();
  const dialog = useRef<HTMLDialogElement>(null);
  const commands = useCommands(entries, text);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const go = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    if (command.to === undefined) showKeys();
    else void navigate(command.to);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((before) => Math.max(0, Math.min(commands.length - 1, before + step)));
    }
    if (event.key === "Enter") {
      // The same press would press a button of the dialog that opens.
      event.preventDefault();
      go(commands[chosen]);
    }
  };
  return (
    <dialog ref={dialog} className="palette fade" aria-label="Go to" onClose={onClose}>
      <input
        aria-label="Search pages, devices and tools"
        placeholder="Search pages, devices and tools"
        role="combobox"
        aria-expanded
        aria-controls="commands"
        aria-activedescendant={commands[chosen] ? `command-${chosen}` : undefined}
        value={text}
        onKeyDown={press}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
      />
      <ul id="commands" role="listbox" aria-label="Results">
        {commands.map((command, index) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <li key={command.id} id={`command-${index}`} role="option" aria-selected={index === chosen} tabIndex={-1} onClick={() => go(command)} onMouseMove={() => setChosen(index)}>
            <bdi className="grow clip">{oneLine(command.label, 80)}</bdi>
            <span className="small">{command.kind}</span>
          </li>
        ))}
      </ul>
      {commands.length === 0 && <p className="dialog-body muted">Nothing has this name.</p>}
    </dialog>
  );
}
