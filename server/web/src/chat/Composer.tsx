// Where a person writes: Enter sends, Shift-Enter begins a line. A chosen device is named in the message.
import { useQuery } from "@connectrpc/connect-query";
import { type FormEvent, type KeyboardEvent, memo, useEffect, useRef, useState } from "react";
import { ChatService } from "../gen/orion/v1/chat_pb";
import { DeviceService, DeviceState } from "../gen/orion/v1/device_pb";
import { oneLine } from "../lib/text";
import { Button } from "../ui/basics";
import { keepUnsent, unsent } from "./unsent";

interface Props {
  isRunning: boolean;
  /** Whether as many messages wait as may. */
  isFull: boolean;
  send: (text: string, model: string) => void;
  stop: () => void;
  draft: string;
}

/** The devices that a message can name: not drawn again for each key. */
const Devices = memo(function Devices({ device, setDevice }: { device: string; setDevice: (name: string) => void }) {
  const devices = useQuery(DeviceService.method.listDevices, {}, { refetchInterval: 15_000 }).data?.devices ?? [];
  const approved = devices.filter(({ state }) => state === DeviceState.APPROVED);
  return (
    <select aria-label="Device" value={device} onChange={(event) => setDevice(event.target.value)}>
      <option value="">Any device</option>
      {approved.map(({ deviceId, name, online }) => (
        <option key={deviceId} value={name}>{oneLine(name, 40)}{online ? "" : " (not connected)"}</option>
      ))}
    </select>
  );
});

export function Composer({ isRunning, isFull, send, stop, draft }: Props) {
  const [text, setText] = useState(() => draft || unsent());
  const [device, setDevice] = useState("");
  const [model, setModel] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const models = useQuery(ChatService.method.listModels, {}, { staleTime: 60_000 }).data?.models ?? [];
  useEffect(() => {
    if (draft === "") return;
    setText(draft);
    field.current?.focus();
  }, [draft]);
  // On a phone the keyboard would cover the page.
  useEffect(() => {
    if (document.activeElement === document.body && matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const said = text.trim();
    if (said === "" || isFull) return;
    const isNamed = device === "" || said.toLowerCase().includes(device.toLowerCase());
    const whole = isNamed ? said : `${said} on ${device}`;
    keepUnsent(whole);
    send(whole, model);
    setText("");
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <div className="composer">
      <form onSubmit={submit}>
        <textarea
          ref={field}
          aria-label="Message"
          placeholder="Ask for something, such as: make a folder Test"
          rows={Math.min(8, text.split("\n").length + 1)}
          value={text}
          maxLength={100_000}
          onChange={(event) => {
            setText(event.target.value);
            keepUnsent(event.target.value);
          }}
          onKeyDown={press}
        />
        <div className="row">
          <Devices device={device} setDevice={setDevice} />
          {models.length > 1 && (
            <select aria-label="Model" value={model} onChange={(event) => setModel(event.target.value)}>
              {models.map((it, index) => <option key={it.name} value={index === 0 ? "" : it.name}>{oneLine(it.name, 40)}</option>)}
            </select>
          )}
          <span className="small muted grow">{models.length === 1 && !models[0]?.isLanguageModel && "Built-in planner, no language model"}</span>
          {isRunning && <Button onClick={stop}>Stop</Button>}
          {(!isRunning || text.trim() !== "") && <Button look="primary" type="submit" disabled={text.trim() === "" || isFull}>{isRunning ? "Send next" : "Send"}</Button>}
        </div>
      </form>
    </div>
  );
}
