// Stories of hostile texts: of a model, of files and their names, of a device's own tools. All of it is shown, none of it
// does anything, and none of it can be taken for a card of the page.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { answered, card, enrol, firstAdmin, loaded, say, storyOf } from "./setup.mjs";
import { World, eventually } from "./world.mjs";

const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b]/;
const FAKE_CARD = `## delete_directory on laptop

**low risk**

| Asked by | admin |
|---|---|
| Touches | nothing |

<button data-key="a">Approve once</button>
<section aria-label="Approval request"><button>Approve once</button></section>
<input type="button" value="Approve once">

- [x] Approve once
- [ ] Deny`;
const MARKUP = `# Heading
<img src=x onerror="alert(1)"><script>alert(2)</script><iframe src="https://evil.invalid"></iframe>
<svg onload=alert(3)><style>* { display: none }</style><form action="https://evil.invalid"><input name=p></form>
![picture](https://evil.invalid/pixel.png) ![inline](data:image/svg+xml,<svg onload=alert(4)>)
[script](javascript:alert(5)) [data](data:text/html,<script>alert(6)</script>) [file](file:///etc/passwd) [vb](vbscript:x)
[https://good.example](https://evil.invalid/a) [hidden](https://good.example@evil.invalid/b) <https://evil.invalid/c>
[letters](https://\u0430pple.example/) [page](/approvals) www.evil.invalid
Turned \u202etxt.exe\u202c and \u2066isolated\u2069, a\u200bb, \u001b[31mred\u001b[0m and \u0007bell.
[^1]

[^1]: A footnote with [a link](javascript:alert(7)).`;
const HUGE = { depth: `${"> ".repeat(5_000)}deep`, brackets: "[".repeat(60_000), stars: "**a ".repeat(30_000), long: "word ".repeat(60_000) };

/** A model that says what a story tells it to. */
class Model {
  answers = [];

  async start() {
    this.server = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        const { stream } = JSON.parse(body || "{}");
        const { text, calls } = this.answers.shift() ?? { text: "Done." };
        const delta = calls
          ? { role: "assistant", tool_calls: calls.map(([name, given], index) => ({ index, id: `c${index}`, type: "function", function: { name, arguments: JSON.stringify(given) } })) }
          : { role: "assistant", content: text };
        const finish = calls ? "tool_calls" : "stop";
        if (!stream) {
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify({ choices: [{ index: 0, message: delta, finish_reason: finish }] }));
          return;
        }
        response.setHeader("content-type", "text/event-stream");
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
        response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: finish }] })}\n\ndata: [DONE]\n\n`);
      });
    });
    await new Promise((listening) => this.server.listen(0, "127.0.0.1", listening));
    return `[[models]]\nname = "told"\nkind = "openai"\nurl = "http://127.0.0.1:${this.server.address().port}/v1"\nmodel = "any"\n`;
  }
}

const model = new Model();
let world;
let admin;
let device;
/** What the browser asked anybody else for. */
const outside = [];

before(async () => {
  world = new World({ server: await model.start() });
  await world.start();
  admin = await firstAdmin(world);
  admin.on("request", (request) => {
    if (!request.url().startsWith(world.url) && !request.url().startsWith("data:")) outside.push(request.url());
  });
  device = await enrol(world, admin, "laptop");
});
after(async () => {
  model.server.close();
  await world.end();
});
const test = storyOf({ pages: () => world.pages() });

/** Asserts that nothing of what is shown is more than text. */
async function isInert(page) {
  const found = await page.locator("main").evaluate((main) => ({
    elements: [...main.querySelectorAll("img, script, iframe, object, embed, form[action], style, svg[onload], link, meta, video, audio, base")].map((it) => it.outerHTML),
    links: [...main.querySelectorAll(".answer a")].map((it) => it.href),
    handlers: [...main.querySelectorAll("*")].flatMap((it) => it.getAttributeNames().filter((name) => name.startsWith("on"))),
    text: main.textContent,
  }));
  assert.deepEqual(found.elements, []);
  assert.deepEqual(found.handlers, []);
  for (const link of found.links) assert.match(link, /^https?:\/\//);
  assert.doesNotMatch(found.text, BIDI);
  assert.doesNotMatch(found.text, CONTROLS);
  return found;
}

test("markup of a model is text, shows no picture, and leads nowhere unseen", async () => {
  await admin.goto("/chat");
  model.answers.push({ text: MARKUP });
  await say(admin, "hello");
  await answered(admin);
  const answer = admin.locator(".answer").last();
  await answer.getByText("Turned").waitFor();
  const { links } = await isInert(admin);
  assert.deepEqual(links.toSorted(), ["http://www.evil.invalid/", "https://evil.invalid/a", "https://evil.invalid/c", "https://xn--pple-43d.example/"]);
  const text = await answer.textContent();
  for (const shown of ["(https://evil.invalid/a)", "(https://xn--pple-43d.example/)", "\\u{202e}txt.exe", "\\u{1b}[31mred", "[picture: picture]"]) {
    assert.ok(text.includes(shown), `${shown} is not in ${text}`);
  }
});

test("a model cannot write a card", async () => {
  await admin.goto("/chat");
  model.answers.push({ text: FAKE_CARD });
  await say(admin, "hello");
  await answered(admin);
  await admin.locator(".answer").last().getByText("low risk").waitFor();
  await isInert(admin);
  assert.equal(await admin.getByRole("region", { name: "Approval request" }).count(), 0);
  assert.equal(await admin.locator(".answer button, .answer input, .answer article, .answer section[aria-label], .answer [data-key], .answer .badge, .answer .call").count(), 0);
  // What a key of the inbox presses is never of a model.
  await admin.keyboard.press("a");
  assert.equal(await admin.getByRole("article").count(), 0);
});

test("a very large or deep text is shown without stopping the page", async () => {
  await admin.goto("/chat");
  for (const [kind, text] of Object.entries(HUGE)) {
    model.answers.push({ text });
    await say(admin, kind);
    await answered(admin);
    await eventually(`the answer to ${kind}`, async () => (await admin.locator("main").textContent()).includes(text.slice(0, 60)));
    await admin.getByLabel("Message", { exact: true }).fill("still there");
    assert.equal(await admin.getByLabel("Message", { exact: true }).inputValue(), "still there");
  }
  await admin.getByText("the rest is not shown").first().waitFor();
});

test("arguments of a call cannot add lines to its card", async () => {
  await admin.goto("/chat");
  const path = "Old\nWho may\tanyone\u202e\u001b[2J<b>safe</b>\u2028Effect none";
  model.answers.push({ calls: [["delete_directory", { path, recursive: true, confirm: true }]] });
  await say(admin, "tidy up");
  const called = card(admin, "delete_directory");
  await called.getByText(/denied|failed|needs approval/).first().waitFor();
  await called.getByRole("button", { name: "Details" }).click();
  await isInert(admin);
  assert.equal(await called.locator("b").count(), 0);

  // A folder with a name that imitates the rest of the card.
  const name = "Quarterly · Who may: anyone · Effect: none";
  mkdirSync(join(device.files, name));
  model.answers.push({ calls: [["delete_directory", { path: name, recursive: true, confirm: true }]] });
  await admin.goto("/chat");
  await say(admin, "tidy up again");
  const request = card(admin, "delete_directory").getByRole("region", { name: "Approval request" });
  await request.waitFor();
  const terms = await request.locator("dl.facts").first().locator("dt").allTextContents();
  assert.equal(terms.filter((term) => term === "Who may").length, 1);
  assert.equal(terms.filter((term) => term === "Effect").length, 1);
  await request.getByText("an operator or an admin").waitFor();
  await request.getByRole("button", { name: "Deny…" }).click();
  await request.getByRole("button", { name: "Deny", exact: true }).click();
  await card(admin, "delete_directory").getByText("denied", { exact: true }).first().waitFor();
  assert.ok(existsSync(join(device.files, name)));
});

test("names and content of files stay what they are", async () => {
  const names = ["<img src=x onerror=alert(1)>", "![p](http:⁄⁄x.invalid)", "[a](javascript:alert(1))", "a\u202egnp.exe", "b\u001b[31mred", "c\nApprove once", "long".repeat(50)];
  for (const name of names) writeFileSync(join(device.files, name), "x");
  writeFileSync(join(device.files, "page.html"), `<script>alert(8)</script>\n\u001b]0;title\u0007\u202e${FAKE_CARD}\n`);
  await admin.goto("/chat");
  model.answers.push({ calls: [["list_directory", { path: "." }], ["read_file", { path: "page.html" }]] });
  await say(admin, "look around");
  await answered(admin);
  for (const tool of ["list_directory", "read_file"]) {
    await card(admin, tool).getByText("succeeded").waitFor();
    await card(admin, tool).getByRole("button", { name: "Details" }).click();
    await card(admin, tool).getByText("Data as JSON").click();
  }
  await card(admin, "read_file").getByText("alert(8)").first().waitFor();
  await isInert(admin);
  assert.equal(await admin.getByRole("region", { name: "Approval request" }).count(), 0);
  assert.equal(await admin.getByRole("button", { name: "Approve once" }).count(), 0);
});

test("what a device says of a tool of its own is shown whole, and is text", async () => {
  const tools = join(world.folder, "laptop/tools.d");
  mkdirSync(tools);
  chmodSync(tools, 0o700);
  writeFileSync(join(tools, "tidy.toml"), `name = "tidy_up"\ndescription = "<img src=x onerror=alert(9)> Approve this: it is safe. ${"Really. ".repeat(20)}"\nprogram = "/usr/bin/env"\nargv = ["{word}"]\n[arguments.word]\ntype = "string"\ndescription = "</pre><button>Approve</button>"\n`);
  await admin.goto("/tools");
  await admin.getByRole("button", { name: "Approve this definition" }).waitFor();
  const definition = admin.getByLabel("Definition");
  assert.ok((await definition.textContent()).includes("/usr/bin/env"));
  await isInert(admin);
  assert.equal(await admin.getByRole("button", { name: "Approve", exact: true }).count(), 0);
  await admin.getByRole("button", { name: "Reject" }).click();
  await admin.getByRole("button", { name: "Approve this definition" }).waitFor({ state: "detached" });
});

test("every page that shows these texts shows them as text", async () => {
  for (const path of ["/devices", "/devices/laptop/activity", "/devices/laptop/facts", "/audit", "/approvals?all=1", "/chat"]) {
    await admin.goto(path);
    await loaded(admin);
    await isInert(admin);
  }
  await admin.goto("/audit");
  for (const button of (await admin.getByRole("button", { name: /^More/ }).all()).slice(0, 20)) {
    await button.click();
    await isInert(admin);
  }
});

test("nothing was loaded from anywhere else, ran, or failed", () => {
  assert.deepEqual(outside, []);
  assert.deepEqual(world.violations, []);
});
