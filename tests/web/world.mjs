// A backend, devices and browsers for the tests of the page: the real programs, in a folder that is removed afterwards.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const PROGRAMS = process.env.ORION_PROGRAMS;
const CHROMIUM = process.env.ORION_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 30_000;

/** Waits until a function returns something. */
export async function eventually(what, look, patience = PATIENCE_MS) {
  const deadline = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const exited = (child) => new Promise((resolve) => (child.exitCode !== null || child.signalCode ? resolve() : child.once("exit", resolve)));

export class World {
  children = [];
  violations = [];

  /** `server` is added to the backend's configuration; `folder` may have its data already. */
  constructor({ server = "", folder } = {}) {
    this.config = server;
    this.folder = folder ?? mkdtempSync(join(tmpdir(), "orion-web-"));
  }

  run(name, args, input) {
    const log = openSync(join(this.folder, `${name}.log`), "a");
    const child = spawn(join(PROGRAMS, name.split(".")[0]), args, { stdio: [input === undefined ? "ignore" : "pipe", log, log], cwd: this.folder });
    if (input !== undefined) child.stdin.end(input);
    this.children.push(child);
    return child;
  }

  log(name) {
    return readFileSync(join(this.folder, `${name}.log`), "utf8");
  }

  async start() {
    const config = join(this.folder, "server.toml");
    const [people, devices] = this.ports ?? ["127.0.0.1:0", "127.0.0.1:0"];
    writeFileSync(config, `[people]\nlisten = "${people}"\n[devices]\nlisten = "${devices}"\n[calls]\nper_person_per_second = 100000\nburst_per_person = 100000\n${this.config}`);
    const addresses = join(this.folder, "data/addresses.toml");
    rmSync(addresses, { force: true });
    this.server = this.run("orion-server", ["run", "--config", config, "--data-dir", join(this.folder, "data")]);
    const text = await eventually("the start of the backend", () => {
      if (this.server.exitCode !== null) throw new Error(this.log("orion-server"));
      try {
        return readFileSync(addresses, "utf8");
      } catch {
        return undefined;
      }
    });
    const of = (name) => new RegExp(`^${name} = "(.*)"$`, "m").exec(text)[1];
    this.ports = [of("people"), of("devices")];
    this.url = of("people_url");
  }

  async stopServer() {
    this.server.kill("SIGTERM");
    await exited(this.server);
  }

  secret() {
    return readFileSync(join(this.folder, "data/first-admin-secret"), "utf8").trim();
  }

  /** Writes what a device's owner allows. Returns its folder, its agent's options, and what connects it once it is enrolled. */
  device(name, { ceiling = "", paths = [], profile = "operator" } = {}) {
    const files = join(this.folder, name, "files");
    mkdirSync(files, { recursive: true });
    const config = join(this.folder, name, "agent.toml");
    writeFileSync(config, `[ceiling]\nprofile = "${profile}"\npaths = ${JSON.stringify([files, ...paths])}\n${ceiling}`);
    const options = ["--state-dir", join(this.folder, name, "state"), "--config", config];
    return { files, options, connect: () => this.run(`orion-agent.${name}`, ["run", ...options]) };
  }

  /** Enrols a device with the token of a command, and returns its folder. */
  async enrol(name, token, allowed) {
    const { files, options, connect } = this.device(name, allowed);
    const enrolling = this.run(`orion-agent.${name}`, ["enroll", "-", "--name", name, ...options], token);
    return { files, enrolled: exited(enrolling), connect };
  }

  /** Starts the agent of a device that asks to be enrolled, at a terminal of its own. Its log is `terminal.NAME`. */
  askByCode(name) {
    const { files, options, connect } = this.device(name);
    const line = [join(PROGRAMS, "orion-agent"), "enroll", "--server", this.ports[1], "--name", name, ...options];
    const log = openSync(join(this.folder, `terminal.${name}.log`), "a");
    const command = line.map((word) => `'${word}'`).join(" ");
    const terminal = spawn("script", ["--quiet", "--flush", "--return", "--command", command, "/dev/null"], { stdio: ["pipe", log, log] });
    this.children.push(terminal);
    return { files, connect, type: (text) => terminal.stdin.write(`${text}\n`), ended: exited(terminal) };
  }

  /** Opens a browser of its own, in which no content security policy may be violated and no script may fail. */
  async browser(options = {}) {
    this.chromium ??= await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    const context = await this.chromium.newContext({ baseURL: this.url, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("pageerror", (error) => this.violations.push(`${page.url()}: ${error}`));
    page.on("console", (message) => {
      if (/Content Security Policy|Trusted Type|TrustedScript|TrustedHTML/.test(message.text())) this.violations.push(`${page.url()}: ${message.text()}`);
    });
    page.on("dialog", (dialog) => {
      this.violations.push(`${page.url()}: a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    return page;
  }

  pages() {
    return this.chromium?.contexts().flatMap((context) => context.pages()) ?? [];
  }

  async end() {
    await this.chromium?.close();
    for (const child of this.children.toReversed()) {
      if (child.exitCode === null) child.kill("SIGTERM");
    }
    await Promise.all(this.children.map(exited));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A proxy in front of the backend, whose connections can be cut. */
export async function proxy(target, story) {
  const [host, port] = target.split(":");
  const sockets = new Set();
  let isCut = false;
  const server = net.createServer((incoming) => {
    if (isCut) return incoming.destroy();
    const outgoing = net.connect(Number(port), host);
    for (const [from, to] of [[incoming, outgoing], [outgoing, incoming]]) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    return undefined;
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  // Also where the story fails: an open server would hold up the end of the whole run.
  story.after(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut,
    mend() {
      isCut = false;
    },
  };
}
