// A person who sees the page for the first time: finds things by what can be read, and is counted.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** The keystroke-level model of Card, Moran and Newell: seconds to point and click, to press a key, and to think. */
const CLICK_S = 1.3;
const KEY_S = 0.2;
const THINK_S = 1.35;

export class Newcomer {
  tasks = [];

  /** `pictures` is a folder for a picture of each step. */
  constructor(page, pictures) {
    this.page = page;
    this.pictures = pictures;
    if (pictures) mkdirSync(pictures, { recursive: true });
  }

  /** Does a task, and keeps what it took. A paste is one keystroke. */
  async task(name, work) {
    this.now = { name, clicks: 0, keys: 0, steps: 0 };
    this.tasks.push(this.now);
    const began = performance.now();
    await work();
    this.now.machine = performance.now() - began;
    await this.picture();
    return this.now;
  }

  async picture() {
    if (!this.pictures) return;
    const number = String(this.now.steps).padStart(2, "0");
    await this.page.screenshot({ path: join(this.pictures, `${this.now.name.replaceAll(" ", "-")}-${number}.png`) });
  }

  /** Returns what has this label: what can be read on it, or read out of it. */
  async found(kinds, label, of) {
    const all = kinds.map((kind) => (kind === "label" ? of.getByLabel(label, { exact: true }) : of.getByRole(kind, { name: label, exact: typeof label === "string" })));
    const any = all.reduce((one, other) => one.or(other)).filter({ visible: true }).first();
    await any.waitFor();
    return any;
  }

  async click(label, of = this.page) {
    const it = await this.found(["button", "link", "checkbox"], label, of);
    await this.picture();
    this.now.steps += 1;
    this.now.clicks += 1;
    await it.click();
  }

  /** Clicks into a field and writes, or pastes. */
  async write(label, text, { paste = false } = {}) {
    const it = await this.found(["label"], label, this.page);
    await this.picture();
    this.now.steps += 1;
    this.now.clicks += 1;
    this.now.keys += paste ? 1 : text.length;
    await it.fill(text);
  }

  /** Opens a list and takes one of its lines: two clicks. */
  async choose(label, option) {
    const it = await this.found(["label"], label, this.page);
    await this.picture();
    this.now.steps += 1;
    this.now.clicks += 2;
    await it.selectOption(option);
  }

  async press(key) {
    this.now.keys += 1;
    this.now.steps += 1;
    await this.page.keyboard.press(key);
  }

  async sees(text, of = this.page) {
    await of.getByText(text, { exact: typeof text === "string" }).filter({ visible: true }).first().waitFor();
  }

  /** Returns a table of all tasks. */
  table() {
    const line = ({ name, clicks, keys, steps, machine }) => {
      const person = clicks * CLICK_S + keys * KEY_S + steps * THINK_S;
      return `${name.padEnd(44)} ${String(clicks).padStart(6)} ${String(keys).padStart(5)} ${person.toFixed(0).padStart(9)} s ${(machine / 1000).toFixed(1).padStart(8)} s`;
    };
    return [`${"task".padEnd(44)} clicks  keys     person  machine`, ...this.tasks.map(line)].join("\n");
  }
}
