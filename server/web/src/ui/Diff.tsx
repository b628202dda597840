// A unified difference, each line in its colour and with its sign.
import { visible } from "../lib/text";

const MOST_LINES = 400;

function look(line: string): string | undefined {
  if (line.startsWith("+") && !line.startsWith("+++")) return "added";
  if (line.startsWith("-") && !line.startsWith("---")) return "removed";
  return undefined;
}

export function Diff({ text }: { text: string }) {
  const lines = text.split("\n");
  return (
    <pre className="code diff" dir="ltr" tabIndex={0} aria-label="Difference">
      {lines.slice(0, MOST_LINES).map((line, index) => (
        <span key={index} className={look(line)}>
          {visible(line.slice(0, 2_000)) || " "}
        </span>
      ))}
      {lines.length > MOST_LINES && <span>… and {lines.length - MOST_LINES} more lines</span>}
    </pre>
  );
}

/** Returns the difference of two texts by lines, with three lines around each change. */
export function difference(before: string, after: string): string {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1];
  if (start === endA && start === endB) return "";
  const from = Math.max(0, start - 3);
  const out = [`@@ line ${from + 1} @@`, ...a.slice(from, start).map((line) => ` ${line}`)];
  out.push(...middle(a.slice(start, endA), b.slice(start, endB)), ...a.slice(endA, endA + 3).map((line) => ` ${line}`));
  return out.join("\n");
}

const MOST_CELLS = 4_000_000;

/** Returns the shortest change of one list of lines into another. */
function middle(a: string[], b: string[]): string[] {
  if (a.length * b.length > MOST_CELLS) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => length[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      length[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(` ${a[i]}`);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      out.push(`-${a[i]}`);
      i += 1;
    } else {
      out.push(`+${b[j]}`);
      j += 1;
    }
  }
  return out;
}
