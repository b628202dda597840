// The keyboard shortcuts, as a dialog.
import { Button } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import type { Entry } from "./pages";

export const SEARCH_KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K";

const EVERYWHERE = { [SEARCH_KEYS]: "Search", "?": "These shortcuts", Esc: "Close a dialog" };
const CHAT = { Enter: "Send", "Shift Enter": "New line" };
const APPROVALS = { "j k": "Next, previous", a: "Go to the approval", d: "Go to the denial", Enter: "Press it", e: "Show or hide the details" };

function Group({ name, keys }: { name: string; keys: Record<string, string> }) {
  return (
    <section className="stack tight">
      <h3>{name}</h3>
      <dl className="facts">
        {Object.entries(keys).map(([pressed, text]) => (
          <div key={pressed} className="contents">
            <dt>{pressed.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function Keys({ entries, onClose }: { entries: Entry[]; onClose: () => void }) {
  const mayAnswer = entries.some(({ to }) => to === "/approvals");
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div className="shortcuts">
        <div className="stack">
          <Group name="Everywhere" keys={EVERYWHERE} />
          <Group name="Chat" keys={CHAT} />
          {mayAnswer && <Group name="Approvals" keys={APPROVALS} />}
        </div>
        <Group name="Go to" keys={Object.fromEntries(entries.map(({ key, label }) => [`g ${key}`, label]))} />
      </div>
      <div className="row end"><Button onClick={onClose}>Close</Button></div>
    </Dialog>
  );
}
