// The stories of the page, told by real browsers to a real backend and real agents, in one world.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test as testOf } from "node:test";
import { World, eventually, proxy } from "./world.mjs";

const PASSWORD = "four words of a test";
const ADMIN_PAGES = ["/chat", "/approvals", "/devices", "/devices/laptop", "/devices/laptop/activity", "/devices/laptop/facts", "/enrol", "/audit", "/tools", "/tools/write_file", "/policy", "/access", "/people", "/insights"];
const world = new World();
let admin;
let ann;
let device;

const heading = (page, name) => page.getByRole("heading", { level: 1, name });
const say = async (page, text) => {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
};
const card = (page, tool) => page.getByRole("article", { name: `Call of ${tool}` }).last();

/** A test that says what each browser showed when it failed. */
const test = (name, options, story = options) =>
  testOf(name, story === options ? {} : options, async (context) => {
    try {
      await story(context);
    } catch (error) {
      for (const [who, page] of Object.entries({ admin, ann })) {
        context.diagnostic(`${who} at ${page?.url()}:\n${await page?.locator("body").innerText().catch(String)}`);
      }
      throw error;
    }
  });

before(() => world.start());
after(() => world.end());

test("the first admin signs in by the secret behind #, which leaves the address, and gets a cookie that no script reads", async () => {
  admin = await world.browser();
  await admin.goto(`/first-admin#${world.secret()}`);
  assert.equal(await admin.getByLabel("One-time secret").inputValue(), world.secret());
  assert.equal(new URL(admin.url()).hash, "");
  await admin.getByLabel("Your name").fill("admin");
  await admin.getByLabel("Password").fill(PASSWORD);
  await admin.getByRole("button", { name: "Make the admin" }).click();
  await admin.getByText("What should happen on your devices?").waitFor();
  const [cookie, ...others] = await admin.context().cookies();
  assert.deepEqual(others, []);
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path, cookie.secure], [true, "Strict", "/", false]);
  assert.equal(await admin.evaluate(() => document.cookie), "");
  assert.ok(!world.log("orion-server").includes(cookie.value));
});

test("a device is enrolled by one command, and approved by its words", async () => {
  await admin.getByRole("link", { name: "Enrol your first device" }).click();
  await admin.getByLabel("Name").fill("laptop");
  await admin.getByLabel("What it may do at first").selectOption("operator");
  const files = join(world.folder, "laptop", "files");
  await admin.getByLabel("In these folders").fill(files);
  for (const access of ["write", "delete"]) await admin.getByLabel(access, { exact: true }).check();
  await admin.getByRole("button", { name: "Make the command" }).click();
  const command = await admin.locator(".command code").textContent();
  await admin.getByRole("button", { name: "Show as a QR code" }).click();
  await admin.getByRole("img", { name: "The command as a QR code" }).waitFor();
  await admin.getByText("Waiting for the device").waitFor();
  device = await world.enrol("laptop", command.split(" ")[2]);
  const waiting = admin.getByRole("region", { name: "Device that waits for approval" });
  await waiting.waitFor();
  const words = await waiting.locator(".words code").allTextContents();
  await eventually("the words on the device", () => words.every((word) => world.log("orion-agent.laptop").includes(word)));
  assert.ok(words.length >= 4, `${words}`);
  await waiting.getByRole("button", { name: "The words are the same: approve" }).click();
  await device.enrolled;
  device.connect();
  await admin.getByText("connected", { exact: true }).waitFor();
});

test("a chat makes a folder, and a second person approves its deletion by keyboard alone", async () => {
  await admin.goto("/people");
  await admin.getByRole("button", { name: "New account" }).click();
  await admin.getByLabel("Name", { exact: true }).fill("ann");
  await admin.getByLabel("First password").fill(PASSWORD);
  await admin.getByRole("button", { name: "Make the account" }).click();
  await admin.getByText("The account is made.").waitFor();
  ann = await world.browser();
  await ann.goto("/approvals");
  await ann.waitForURL("**/sign-in?next=*");
  await ann.getByLabel("Name").fill("ann");
  await ann.getByLabel("Password").fill(PASSWORD);
  await ann.keyboard.press("Enter");
  await ann.getByText("Nothing waits for you").waitFor();

  await admin.goto("/chat");
  await say(admin, "make a folder Test");
  await card(admin, "create_directory").getByText("succeeded").waitFor();
  assert.ok(existsSync(join(device.files, "Test")));
  await say(admin, "delete the folder Test with everything in it");
  await card(admin, "delete_directory").getByRole("region", { name: "Approval request" }).waitFor();
  assert.ok(existsSync(join(device.files, "Test")));

  const request = ann.getByRole("region", { name: "Approval request" });
  await request.waitFor();
  await request.getByText("high risk", { exact: true }).waitFor();
  const lines = await request.locator("dl.facts").first().locator("dt").count();
  assert.ok(lines <= 11, `the card has ${lines} lines`);
  await ann.keyboard.press("e");
  await request.getByText("All touches").waitFor();
  await ann.locator('button[data-key="a"]:enabled').waitFor();
  await ann.keyboard.press("a");
  await card(admin, "delete_directory").getByText("succeeded").waitFor();
  await ann.getByText("approved", { exact: true }).waitFor();
  assert.ok(!existsSync(join(device.files, "Test")));

  await card(admin, "delete_directory").getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", () => existsSync(join(device.files, "Test")));
  // The conversation is found again after a reload, with its cards.
  await admin.reload();
  await card(admin, "delete_directory").getByText("succeeded").waitFor();
});

test("a permission is reviewed, taken away, acknowledged by the device, and its absence explained", async () => {
  await admin.goto("/devices/laptop");
  const matrix = admin.getByRole("region", { name: "Permissions" });
  await matrix.waitFor();
  await admin.getByRole("button", { name: "Edit", exact: true }).click();
  const draft = admin.getByRole("region", { name: "Draft" });
  await draft.getByText("Edit as text").click();
  const grants = JSON.parse(await draft.getByLabel("Grants as JSON").inputValue());
  assert.equal(grants.profile, "operator");
  await draft.getByRole("button", { name: "Discard" }).click();
  // What the call deleted is in use, so taking its folder away says which calls that would deny.
  await matrix.getByRole("row", { name: `path ${device.files}` }).getByRole("button", { name: /^Remove/ }).click();
  await draft.getByText("These were used in the last 30 days and would be denied").waitFor();
  await draft.getByRole("button", { name: "Apply" }).click();
  await admin.getByText("acknowledged by the device").waitFor();
  await admin.goto("/chat");
  await say(admin, "make a folder Two");
  const denied = card(admin, "create_directory");
  await denied.getByText("denied", { exact: true }).waitFor();
  await denied.getByRole("button", { name: "Why?" }).click();
  await admin.getByRole("dialog").getByText("decides").first().waitFor();
  await admin.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  assert.ok(!existsSync(join(device.files, "Two")));

  await admin.goto("/devices/laptop");
  await admin.getByLabel("Which").fill(device.files);
  for (const access of ["write", "delete"]) await admin.getByLabel(access, { exact: true }).check();
  await admin.getByRole("button", { name: "Add to the draft" }).click();
  await admin.getByRole("button", { name: "Apply" }).click();
  await admin.getByText("The permissions are active").waitFor();
  await admin.getByText("acknowledged by the device").waitFor();
});

test("an approval takes two taps on a phone", async () => {
  const phone = await world.browser({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.goto("/sign-in?next=/approvals");
  await phone.getByLabel("Name").fill("ann");
  await phone.getByLabel("Password").fill(PASSWORD);
  await phone.getByRole("button", { name: "Sign in" }).tap();
  await phone.getByText("Nothing waits for you").waitFor();
  await admin.goto("/chat");
  mkdirSync(join(device.files, "Phone"));
  await say(admin, "delete the folder Phone with everything in it");
  await phone.getByRole("navigation", { name: "Requests" }).getByRole("link").tap();
  await phone.getByRole("button", { name: "Approve once" }).tap();
  await card(admin, "delete_directory").getByText("succeeded").waitFor();
  const [wide, shown] = await phone.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(wide <= shown, `${wide} of ${shown} pixels`);
  await phone.context().close();
});

test("names, markup and control characters of a device are shown and do nothing", async () => {
  const names = ["<img src=x onerror=alert(1)>", "![p](http:⁄⁄x.invalid)", "[a](javascript:alert(1))", "a\u202egnp.exe", "b\u001b[31mred", "c\nApprove once", `${"long".repeat(50)}`];
  for (const name of names) writeFileSync(join(device.files, name), "<script>alert(2)</script>");
  await admin.goto("/chat");
  await say(admin, "list files");
  const listed = card(admin, "list_directory");
  await listed.getByText("succeeded").waitFor();
  await listed.getByRole("button", { name: "Details" }).click();
  await listed.getByText("Data as JSON").click();
  const text = await admin.locator("main").textContent();
  assert.ok(text.includes("\\u{202e}") || text.includes("\\u202e"), text);
  assert.ok(!/[\u202e\u001b]/.test(text));
  assert.equal(await admin.locator("main img, main script, main iframe").count(), 0);
  assert.equal(await admin.locator('main a[href^="javascript"]').count(), 0);
  assert.equal(await admin.getByRole("button", { name: "Approve once" }).count(), 0);
  await say(admin, "<script>alert(3)</script> **bold** \u202eevil");
  await admin.getByText("<script>alert(3)</script>").waitFor();
});

test("pictures of every page are taken where they are asked for", { skip: !process.env.ORION_PICTURES }, async () => {
  const folder = process.env.ORION_PICTURES;
  mkdirSync(folder, { recursive: true });
  const asked = await world.browser({ storageState: await admin.context().storageState() });
  mkdirSync(join(device.files, "Old"), { recursive: true });
  await asked.goto("/chat");
  await say(asked, "delete the folder Old with everything in it");
  await asked.getByRole("region", { name: "Approval request" }).waitFor();
  const chat = new URL(asked.url()).pathname;
  for (const [size, viewport] of [["wide", { width: 1440, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await world.browser({ viewport, colorScheme, storageState: await admin.context().storageState() });
      for (const path of [chat, ...ADMIN_PAGES]) {
        await page.goto(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await eventually("the page", async () => (await page.getByRole("status").filter({ hasText: "Loading" }).count()) === 0).catch(() => {});
        if (path === "/approvals" && size === "phone") await page.getByRole("navigation", { name: "Requests" }).getByRole("link").first().click();
        await page.waitForLoadState("load");
        const name = path === chat ? "chat-asked" : path.slice(1).replaceAll("/", "-");
        await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`) });
      }
      await page.context().close();
    }
  }
  await asked.context().close();
});

test("every page opens by its address and has no serious finding of axe, in both colours", async () => {
  const axe = readFileSync(join(import.meta.dirname, "node_modules/axe-core/axe.min.js"), "utf8");
  const findings = [];
  for (const colorScheme of ["light", "dark"]) {
    await admin.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const path of ADMIN_PAGES) {
      await admin.goto(path);
      await admin.getByRole("heading", { level: 1 }).waitFor();
      await eventually("the page", async () => (await admin.getByRole("status").filter({ hasText: "Loading" }).count()) === 0);
      // By the debugger: the page's own policy lets no script of a test in.
      await admin.evaluate(axe);
      const { violations } = await admin.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      for (const it of violations.filter(({ impact }) => impact === "serious" || impact === "critical")) {
        findings.push(`${colorScheme} ${path} ${it.id}: ${it.nodes.slice(0, 2).map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
      }
    }
  }
  await admin.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(findings, []);
});

test("a cut link is shown and mended, and a restart of the backend needs no reload", async () => {
  const between = await proxy(world.ports[0]);
  const page = await world.browser({ baseURL: between.url });
  await page.goto("/sign-in?next=/approvals");
  await page.getByLabel("Name").fill("ann");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.keyboard.press("Enter");
  await page.getByText("Nothing waits for you").waitFor();
  between.cut();
  await page.getByText("The backend does not answer.").first().waitFor();
  between.mend();
  await page.getByText("The backend does not answer.").first().waitFor({ state: "hidden" });

  await world.stopServer();
  await page.getByText("The backend does not answer.").first().waitFor();
  await world.start();
  await page.getByText("The backend does not answer.").first().waitFor({ state: "hidden" });
  mkdirSync(join(device.files, "Restart"));
  await admin.goto("/devices/laptop");
  await admin.getByText("connected", { exact: true }).waitFor();
  await admin.goto("/chat");
  await say(admin, "delete the folder Restart with everything in it");
  await page.getByRole("region", { name: "Approval request" }).waitFor();
  await page.getByRole("button", { name: "Deny…" }).click();
  await page.getByLabel(/^Reason/).fill("Not this one.");
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await card(admin, "delete_directory").getByText("denied", { exact: true }).waitFor();
  await page.context().close();
  between.end();
});

test("a session that ends leads to the sign-in and back", async () => {
  await ann.goto("/devices");
  await heading(ann, "Devices").waitFor();
  await admin.goto("/people");
  await admin.getByRole("row", { name: /^ann/ }).getByRole("button", { name: "Disable" }).click();
  await ann.waitForURL("**/sign-in?next=%2Fdevices");
  await admin.getByRole("row", { name: /^ann/ }).getByRole("button", { name: "Enable" }).click();
  await admin.getByRole("row", { name: /^ann/ }).getByRole("button", { name: "Disable" }).waitFor();
  await ann.getByLabel("Name").fill("ann");
  await ann.getByLabel("Password").fill("wrong words of a test");
  await ann.keyboard.press("Enter");
  await ann.getByText("the name or the password is wrong").waitFor();
  await ann.getByLabel("Password").fill(PASSWORD);
  await ann.keyboard.press("Enter");
  await heading(ann, "Devices").waitFor();
  await ann.getByRole("button", { name: "Sign out" }).click();
  await ann.waitForURL("**/sign-in");
  assert.deepEqual(await ann.context().cookies(), []);
});

test("a cookie is good for nothing without the page, and what a browser loads first is small", async () => {
  const [{ name, value }] = await admin.context().cookies();
  const body = new Uint8Array(5);
  const ask = async (headers) => {
    const answer = await fetch(`${world.url}/orion.v1.AuthService/WhoAmI`, { method: "POST", body, headers: { "content-type": "application/grpc-web+proto", cookie: `${name}=${value}`, ...headers } });
    const text = Buffer.from(await answer.arrayBuffer()).toString("latin1");
    return answer.headers.get("grpc-status") ?? /grpc-status: ?(\d+)/i.exec(text)?.[1];
  };
  assert.equal(await ask({ "x-orion-page": "1" }), "0");
  assert.equal(await ask({}), "16");
  assert.equal(await ask({ "x-orion-page": "1", origin: "http://evil.invalid" }), "16");
  assert.equal((await fetch(`${world.url}/page/sign-out`, { method: "POST", headers: { cookie: `${name}=${value}` } })).status, 401);
  assert.equal((await fetch(`${world.url}/v1/nothing`)).status, 404);

  const index = await fetch(world.url);
  assert.equal(index.headers.get("cache-control"), "no-store");
  const policy = index.headers.get("content-security-policy");
  assert.match(policy, /script-src 'self';.*frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  const fresh = await world.browser({ storageState: await admin.context().storageState() });
  const sizes = [];
  fresh.on("response", async (answer) => {
    if (answer.url().endsWith(".js")) sizes.push(answer.request().sizes().then((it) => it.responseBodySize));
  });
  const began = Date.now();
  await fresh.goto("/");
  await fresh.getByLabel("Message", { exact: true }).waitFor();
  const ready = Date.now() - began;
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  console.log(`first load: ${(total / 1000).toFixed(1)} kB of scripts, ${ready} ms to the first field`);
  assert.ok(total > 50_000 && total < 250_000, `${total}`);
});

test("nothing violated the content security policy, and no script failed", () => {
  assert.deepEqual(world.violations, []);
});
